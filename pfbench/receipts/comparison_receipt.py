"""A method on a suite, with all runs that its place follows from, in one archive.

The pages of a receipt are drawn from the runs in it alone, here as where it is checked.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.selectors import list_user_code_names, module_name, replace_file_by_module
from pfbench.base.user_code import is_builtin
from pfbench.receipts.receipt_page import PageTable, pages
from pfbench.receipts.theorem_receipt import BADGE, MACROS, MARKDOWN, PAGE
from pfbench.reporting.documents.paper_table import paper_table
from pfbench.reporting.findings import tuning_effects
from pfbench.reporting.findings.candidate_front import (
    CandidateFront,
    front_sentence,
    make_candidate_front,
    rank_sentence,
)
from pfbench.reporting.findings.result_tables import compare_by_each_price
from pfbench.reporting.statistics.cost import Cost
from pfbench.reporting.suite_comparison import SuiteComparison, compare_on_suite
from pfbench.runs.execute import PlanOutcome
from pfbench.runs.pack import (
    collect_archive_inputs,
    collect_user_sources,
    data_digests,
    write_archive_with_code,
)
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.spec import load_spec
from pfbench.runs.planning.study import Spec, Study
from pfbench.runs.planning.suite import search_trials
from pfbench.runs.rerun import drop_file_paths
from pfbench.runs.storage.archive import SPEC, ArchiveKind
from pfbench.runs.storage.field_types import mapping_type, text
from pfbench.runs.storage.serialization import StoredRun
from pfbench.runs.suite_archive import (
    CURVE,
    MOST_BYTES,
    SuiteArchive,
    read_suite_archive,
    write_suite_archive,
)

RUNS = "runs.gz"
"""The name of all runs inside, as those that are shipped with a suite."""

COMPARISON = ArchiveKind(
    "comparison.json",
    {
        r"comparison\.json": 2**24,
        r"spec\.toml": 2**22,
        r"runs\.gz": MOST_BYTES,
        rf"{PAGE}|{MARKDOWN}|{MACROS}|{BADGE}".replace(".", r"\."): 2**22,
    },
    {
        "suite": text,
        "method": text,
        "price": text,
        "others": text,
        "environment": mapping_type(text),
    },
    frozenset({SPEC, RUNS}),
)
"""A method on a suite with its runs and theirs."""

_COLOUR = "#1f4e79"


@dataclass(frozen=True)
class RecomputedReceipt:
    """What follows from the runs of a receipt.

    Attributes
    ----------
    pages
        By their names inside.
    candidate_plans, other_plans
        The runs of the method, and those of the others, searches among them.
    cells
        The final runs of the method that differ in their seeds alone, by what they are of; and
        those of new seeds beside them.
    targets
        Of the suite.
    """

    pages: Mapping[str, str]
    candidate_plans: Sequence[PlannedRun]
    other_plans: Sequence[PlannedRun]
    cells: Mapping[str, tuple[Sequence[PlannedRun], Sequence[PlannedRun]]]
    targets: tuple[Any, ...]


@dataclass(frozen=True)
class ReceiptRuns:
    """The runs of a receipt; what is not there cannot be made."""

    stored_runs: Mapping[PlannedRun, StoredRun]

    def find_cached(self, plans: Sequence[PlannedRun]) -> Collection[PlannedRun]:
        """Return those runs that are there."""
        return {plan for plan in plans if drop_file_paths(plan) in self.stored_runs}

    def fetch(
        self, title: str, plans: Sequence[PlannedRun], candidate_plans: Collection[PlannedRun]
    ) -> Sequence[PlanOutcome]:
        """Return runs; refuse to go on without one."""
        placed = [drop_file_paths(plan) for plan in plans]
        lacking = [plan for plan in placed if plan not in self.stored_runs]
        if lacking:
            raise InputError(
                f"{len(lacking)} runs of {title} are not in the receipt, as that of "
                f"{lacking[0].algorithm} on {lacking[0].problem}, seed {lacking[0].seed}."
            )
        return [PlanOutcome(plan, self.stored_runs[plan]) for plan in placed]

    def provenance(
        self, spec: Spec, outcomes: Sequence[PlanOutcome], omitted: Sequence[str]
    ) -> list[str]:
        """Say nothing of where they come from."""
        return []


def standings(suite: Spec, archive: SuiteArchive) -> Iterator[tuple[str, str]]:
    """Yield each method of a suite that has runs, the strongest first, and where it stands.

    It is compared with all of its class, as on the page of a comparison.
    """
    name, _, _ = suite.study.algorithms[0].selector.partition("[")  # any, to stand in its place
    (results,) = compare_on_suite(suite, name, ReceiptRuns(archive.runs)).report.results
    compared = tuple(compare_by_each_price(results))[:1]
    fronts = [make_candidate_front(compared, (label,)) for label in results.study.labels]
    for item in sorted(fronts, key=lambda front: -len(front.duels_by_outcome[1])):
        yield item.label, " · ".join(rank_sentence(item))


def write(
    path: Path,
    suite: Spec,
    method: str,
    price: str,
    comparison: SuiteComparison,
    environment: Mapping[str, str],
    version: str,
) -> Mapping[str, Any]:
    """Write a receipt of a comparison.

    Parameters
    ----------
    suite, method, price
        What was compared on what, and by which price if one is stated.
    comparison
        What came of it.
    environment
        Of the engine that made the runs of the method.
    version
        Of pfbench.

    Returns
    -------
    mapping of str to object
        ``comparison.json``, without the hashes.

    Raises
    ------
    InputError
        If what its code reads cannot be in an archive, or comes out otherwise elsewhere.
    StorageError
        If it cannot be written.
    """
    plans = [outcome.plan for outcome in comparison.all_outcomes if outcome.origin != "shipped"]
    named = {
        name
        for plan in plans
        for user_selector in plan.user_selectors
        for name in list_user_code_names(user_selector)
    }
    modules = frozenset(module for module in map(module_name, named) if not is_builtin(module))
    code = collect_user_sources(modules)
    subject = {
        "pfbench": version,
        "name": comparison.report.spec.name,
        "suite": suite.name,
        "method": replace_file_by_module(method),
        "price": price,
        "others": "shipped"
        if any(outcome.origin == "shipped" for outcome in comparison.all_outcomes)
        else "made",
        "environment": dict(environment),
        "data": data_digests(iter(plans)),
    }
    with TemporaryDirectory(prefix="pfbench-receipt-") as temporary:
        folder = Path(temporary)
        (folder / SPEC).write_text(suite.text, encoding="utf-8")
        _ship(folder / RUNS, comparison, version)
        files = {
            SPEC: suite.text.encode(),
            RUNS: (folder / RUNS).read_bytes(),
            **{name: page.encode() for name, page in recompute(folder, subject, ()).pages.items()},
        }
    return write_archive_with_code(
        path, subject, files, code, collect_archive_inputs(plans, code), COMPARISON
    )


def _ship(path: Path, comparison: SuiteComparison, version: str) -> None:
    outcomes = {
        drop_file_paths(outcome.plan): replace(outcome, plan=drop_file_paths(outcome.plan))
        for outcome in comparison.all_outcomes
    }
    targets = study_targets(comparison.report.spec.study)
    write_suite_archive(
        path, [(outcome, targets, CURVE) for outcome in outcomes.values()], text=version
    )


def study_targets(study: Study) -> tuple[Any, ...]:
    """Return the targets to which the runs of a study, and of its searches, are judged."""
    return tuple(dict.fromkeys([*study.targets, *(study.tune.targets if study.tune else ())]))


def load_suite(folder: Path, fields: Mapping[str, Any]) -> Spec:
    """Return the suite of an unpacked receipt."""
    spec = replace(load_spec(folder / SPEC), name=fields["suite"])
    if fields["price"]:
        price = dict(Cost.parse(fields["price"]).weights)
        spec = spec.map_studies(lambda study: replace(study, price=price))
    return spec


def recompute(folder: Path, fields: Mapping[str, Any], seeds: Sequence[int]) -> RecomputedReceipt:
    """Return what follows from the runs of an unpacked receipt; the method is imported.

    Parameters
    ----------
    seeds
        Those of new runs.

    Raises
    ------
    InputError
        If it lacks a run, or is none.
    """
    shipped = read_suite_archive(folder / RUNS)
    compared = compare_on_suite(
        load_suite(folder, fields), fields["method"], ReceiptRuns(shipped.runs)
    )
    spec, (results,) = compared.report.spec, compared.report.results
    about_it = make_candidate_front(tuple(compare_by_each_price(results)), compared.labels)
    own = {outcome.plan for outcome in compared.candidate_outcomes}
    used = dict.fromkeys(outcome.plan for outcome in compared.all_outcomes)
    searched = set(map(drop_file_paths, search_trials(spec, compared.labels)))
    return RecomputedReceipt(
        _pages(fields, about_it, spec.study, compared, used),
        [plan for plan in used if plan in own or plan in searched],
        [plan for plan in used if not (plan in own or plan in searched)],
        _cells(spec.study, compared.labels, seeds),
        study_targets(spec.study),
    )


def _cells(
    study: Study, labels: Sequence[str], seeds: Sequence[int]
) -> dict[str, tuple[Sequence[PlannedRun], Sequence[PlannedRun]]]:
    """Return the final runs of a method that differ in their seeds alone, and new ones."""
    planned_runs: dict[str, tuple[Sequence[PlannedRun], Sequence[PlannedRun]]] = {}
    later = replace(study, seeds=tuple(seeds))
    selectors = [entry for entry in study.algorithms if entry.label in labels]
    for setting, problem, selector in product(study.settings, study.problems, selectors):
        new = later.plans_by_target(problem, selector, setting)
        for target, plans in study.plans_by_target(problem, selector, setting).items():
            cell = tuple(map(drop_file_paths, plans)), tuple(map(drop_file_paths, new[target]))
            if cell not in planned_runs.values():
                name = f"{selector.label} on {problem.label}, {setting.title}".rstrip(", ")
                planned_runs[f"{name}, to {target.target:g}" if target else name] = cell
    return planned_runs


# --- its page -------------------------------------------------------------------------------------


def _pages(
    fields: Mapping[str, Any],
    front: CandidateFront,
    study: Study,
    comparison: SuiteComparison,
    used: Mapping[PlannedRun, None],
) -> dict[str, str]:
    words = rank_sentence(front)
    words[0] = f"{fields['suite']}: {words[0]}"
    tables = [front.table]
    if study.tune:
        tables.append(tuning_effects.choice_table(study, study.tune, comparison.labels))
    versions = ", ".join(
        f"{name} {source}" for name, source in sorted(fields["environment"].items())
    )
    come = "come with the suite" if fields["others"] == "shipped" else "were made with them"
    statement = [
        front.sentence,
        *front_sentence(front),
        f"{len(used)} runs, of them {len({o.plan for o in comparison.candidate_outcomes})} of the method once its "  # noqa: E501
        f"parameters are chosen; those of the others {come}. Its code and all versions "
        f"are inside: {fields['method']}; pfbench {fields['pfbench']}; {versions}.",
        "Check it: pfbench receipt --check FILE.zip makes its runs again, with new seeds, too.",
    ]
    parts = [
        PageTable(each.caption, each.head, [row for *_, row in each.lines()]) for each in tables
    ]
    subject = f"{fields['method']} on the suite {fields['suite']}"
    return {
        **pages(subject, words, _COLOUR, [part for part in parts if part.rows], statement),
        MACROS: paper_table(front.comparisons[0], (), fields["name"], front),
    }
