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
from pfbench.base.selectors import by_module, module_of, own_in
from pfbench.base.user_code import is_ours
from pfbench.receipts.content import BADGE, MACROS, MARKDOWN, PAGE
from pfbench.receipts.page import Part, pages
from pfbench.reporting.documents.paper import Paper
from pfbench.reporting.findings import tuning
from pfbench.reporting.findings.front import Front, front, front_in_words, standing_in_words
from pfbench.reporting.findings.result_tables import comparisons
from pfbench.reporting.on_suite import OnSuite, put_on
from pfbench.reporting.statistics.prices import Price
from pfbench.runs.execute import Outcome
from pfbench.runs.pack import code_of, contents_of, data_digests, sealed
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.spec import read_spec
from pfbench.runs.planning.study import Spec, Study
from pfbench.runs.planning.suite import trials_of
from pfbench.runs.rerun import placed_anywhere
from pfbench.runs.shipped import CURVE, MOST_BYTES, Shipped, read_shipped, ship
from pfbench.runs.storage.archive import SPEC, Form
from pfbench.runs.storage.content import Entry
from pfbench.runs.storage.schema import table_of, text

RUNS = "runs.gz"
"""The name of all runs inside, as those that are shipped with a suite."""

COMPARISON = Form(
    "comparison.json",
    {
        r"comparison\.json": 2**24,
        r"spec\.toml": 2**22,
        r"runs\.gz": MOST_BYTES,
        rf"{PAGE}|{MARKDOWN}|{MACROS}|{BADGE}".replace(".", r"\."): 2**22,
    },
    {"suite": text, "method": text, "price": text, "others": text, "environment": table_of(text)},
    frozenset({SPEC, RUNS}),
)
"""A method on a suite with its runs and theirs."""

_COLOUR = "#1f4e79"


@dataclass(frozen=True)
class Drawn:
    """What follows from the runs of a receipt.

    Attributes
    ----------
    pages
        By their names inside.
    mine, others
        The runs of the method, and those of the others, searches among them.
    cells
        The final runs of the method that differ in their seeds alone, by what they are of; and
        those of new seeds beside them.
    targets
        Of the suite.
    """

    pages: Mapping[str, str]
    mine: Sequence[PlannedRun]
    others: Sequence[PlannedRun]
    cells: Mapping[str, tuple[Sequence[PlannedRun], Sequence[PlannedRun]]]
    targets: tuple[Any, ...]


@dataclass(frozen=True)
class Kept:
    """The runs of a receipt; what is not there cannot be made."""

    known: Mapping[PlannedRun, Entry]

    def there(self, plans: Sequence[PlannedRun]) -> Collection[PlannedRun]:
        """Return those runs that are there."""
        return {plan for plan in plans if placed_anywhere(plan) in self.known}

    def of(
        self, title: str, plans: Sequence[PlannedRun], mine: Collection[PlannedRun]
    ) -> Sequence[Outcome]:
        """Return runs; refuse to go on without one."""
        placed = [placed_anywhere(plan) for plan in plans]
        lacking = [plan for plan in placed if plan not in self.known]
        if lacking:
            raise InputError(
                f"{len(lacking)} runs of {title} are not in the receipt, as that of "
                f"{lacking[0].algorithm} on {lacking[0].problem}, seed {lacking[0].seed}."
            )
        return [Outcome(plan, self.known[plan]) for plan in placed]

    def told(self, spec: Spec, outcomes: Sequence[Outcome], left_out: Sequence[str]) -> list[str]:
        """Say nothing of where they come from."""
        return []


def standings(suite: Spec, shipped: Shipped) -> Iterator[tuple[str, str]]:
    """Yield each method of a suite that has runs, the strongest first, and where it stands.

    It is compared with all of its class, as on the page of a comparison.
    """
    name, _, _ = suite.study.algorithms[0].selector.partition("[")  # any, to stand in its place
    (results,) = put_on(suite, name, Kept(shipped.runs)).report.results
    compared = tuple(comparisons(results))[:1]
    fronts = [front(compared, (label,)) for label in results.study.labels]
    for one in sorted(fronts, key=lambda one: -len(one.standing[1])):
        yield one.label, " · ".join(standing_in_words(one))


def write(
    path: Path,
    suite: Spec,
    method: str,
    price: str,
    compared: OnSuite,
    environment: Mapping[str, str],
    version: str,
) -> Mapping[str, Any]:
    """Write a receipt of a comparison.

    Parameters
    ----------
    suite, method, price
        What was compared on what, and by which price if one is stated.
    compared
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
    plans = [one.plan for one in compared.every if one.origin != "shipped"]
    named = {name for plan in plans for of in plan.own_selectors for name in own_in(of)}
    modules = frozenset(module for module in map(module_of, named) if not is_ours(module))
    code = code_of(modules)
    about = {
        "pfbench": version,
        "name": compared.report.spec.name,
        "suite": suite.name,
        "method": by_module(method),
        "price": price,
        "others": "shipped" if any(one.origin == "shipped" for one in compared.every) else "made",
        "environment": dict(environment),
        "data": data_digests(iter(plans)),
    }
    with TemporaryDirectory(prefix="pfbench-receipt-") as temporary:
        folder = Path(temporary)
        (folder / SPEC).write_text(suite.text, encoding="utf-8")
        _ship(folder / RUNS, compared, version)
        files = {
            SPEC: suite.text.encode(),
            RUNS: (folder / RUNS).read_bytes(),
            **{name: of.encode() for name, of in drawn(folder, about, ()).pages.items()},
        }
    return sealed(path, about, files, code, contents_of(plans, code), COMPARISON)


def _ship(path: Path, compared: OnSuite, version: str) -> None:
    outcomes = {
        placed_anywhere(one.plan): replace(one, plan=placed_anywhere(one.plan))
        for one in compared.every
    }
    targets = targets_of(compared.report.spec.study)
    ship(path, [(one, targets, CURVE) for one in outcomes.values()], made=version)


def targets_of(study: Study) -> tuple[Any, ...]:
    """Return the targets to which the runs of a study, and of its searches, are judged."""
    return tuple(dict.fromkeys([*study.targets, *(study.tune.targets if study.tune else ())]))


def suite_of(folder: Path, about: Mapping[str, Any]) -> Spec:
    """Return the suite of an unpacked receipt."""
    spec = replace(read_spec(folder / SPEC), name=about["suite"])
    if about["price"]:
        price = dict(Price.parse(about["price"]).weights)
        spec = spec.each(lambda study: replace(study, price=price))
    return spec


def drawn(folder: Path, about: Mapping[str, Any], seeds: Sequence[int]) -> Drawn:
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
    shipped = read_shipped(folder / RUNS)
    compared = put_on(suite_of(folder, about), about["method"], Kept(shipped.runs))
    spec, (results,) = compared.report.spec, compared.report.results
    about_it = front(tuple(comparisons(results)), compared.labels)
    own = {one.plan for one in compared.own}
    used = dict.fromkeys(one.plan for one in compared.every)
    searched = set(map(placed_anywhere, trials_of(spec, compared.labels)))
    return Drawn(
        _pages(about, about_it, spec.study, compared, used),
        [plan for plan in used if plan in own or plan in searched],
        [plan for plan in used if not (plan in own or plan in searched)],
        _cells(spec.study, compared.labels, seeds),
        targets_of(spec.study),
    )


def _cells(
    study: Study, labels: Sequence[str], seeds: Sequence[int]
) -> dict[str, tuple[Sequence[PlannedRun], Sequence[PlannedRun]]]:
    """Return the final runs of a method that differ in their seeds alone, and new ones."""
    found: dict[str, tuple[Sequence[PlannedRun], Sequence[PlannedRun]]] = {}
    later = replace(study, seeds=tuple(seeds))
    mine = [one for one in study.algorithms if one.label in labels]
    for setting, problem, one in product(study.settings, study.problems, mine):
        new = later.plans_by_target(problem, one, setting)
        for target, plans in study.plans_by_target(problem, one, setting).items():
            cell = tuple(map(placed_anywhere, plans)), tuple(map(placed_anywhere, new[target]))
            if cell not in found.values():
                name = f"{one.label} on {problem.label}, {setting.title}".rstrip(", ")
                found[f"{name}, to {target.target:g}" if target else name] = cell
    return found


# --- its page -------------------------------------------------------------------------------------


def _pages(
    about: Mapping[str, Any],
    one: Front,
    study: Study,
    compared: OnSuite,
    used: Mapping[PlannedRun, None],
) -> dict[str, str]:
    words = standing_in_words(one)
    words[0] = f"{about['suite']}: {words[0]}"
    shown = [one.table]
    if study.tune:
        shown.append(tuning.chosen(study, study.tune, compared.labels))
    versions = ", ".join(f"{name} {of}" for name, of in sorted(about["environment"].items()))
    come = "come with the suite" if about["others"] == "shipped" else "were made with them"
    said = [
        one.sentence,
        *front_in_words(one),
        f"{len(used)} runs, of them {len({o.plan for o in compared.own})} of the method once its "
        f"parameters are chosen; those of the others {come}. Its code and all versions "
        f"are inside: {about['method']}; pfbench {about['pfbench']}; {versions}.",
        "Check it: pfbench receipt --check FILE.zip makes its runs again, with new seeds, too.",
    ]
    parts = [Part(each.caption, each.head, [row for *_, row in each.lines()]) for each in shown]
    paper = Paper(one, about["name"])
    of = f"{about['method']} on the suite {about['suite']}"
    return {
        **pages(of, words, _COLOUR, [part for part in parts if part.rows], said),
        MACROS: paper.macros() + paper.table(),
    }
