"""Comparison in an archive, whose sentence and table are recomputed from its runs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pfbench.archive.reruns import replace_files_by_modules
from pfbench.base.errors import InputError, PfbenchError
from pfbench.reporting.candidate_front import make_candidate_front
from pfbench.reporting.report import SuiteComparison, compare_with_suite
from pfbench.reporting.result_tables import compare_by_each_price
from pfbench.reporting.runtimes import Cost
from pfbench.runs.execute import PlanOutcome
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.spec import load_spec
from pfbench.runs.planning.study import Spec
from pfbench.runs.planning.suite import CandidateInterface, add_candidate, read_method_interface
from pfbench.runs.storage.serialization import StoredRun
from pfbench.runs.suite_archive import SUFFIX, read_suite_archive


@dataclass(frozen=True)
class ArchivedRuns:
    """Stored runs of a comparison, from its archive and from the file shipped with the suite."""

    stored_runs: Mapping[PlannedRun, StoredRun]

    def find_cached(self, plans: Sequence[PlannedRun]) -> Collection[PlannedRun]:
        """Return the planned runs in `plans` that the archive has."""
        return {plan for plan in plans if replace_files_by_modules(plan) in self.stored_runs}

    def fetch(
        self, title: str, plans: Sequence[PlannedRun], candidate_plans: Collection[PlannedRun]
    ) -> Sequence[PlanOutcome]:
        """Return the outcomes of planned runs from the archive; raise if a run is missing."""
        placed = [replace_files_by_modules(plan) for plan in plans]
        lacking = [plan for plan in placed if plan not in self.stored_runs]
        if lacking:
            raise InputError(
                f"{len(lacking)} runs of {title} are not in the archive, e.g. that of "
                f"{lacking[0].algorithm} on {lacking[0].problem}, seed {lacking[0].seed}."
            )
        return [PlanOutcome(plan, self.stored_runs[plan]) for plan in placed]

    def provenance(
        self, spec: Spec, outcomes: Sequence[PlanOutcome], omitted: Sequence[str]
    ) -> list[str]:
        """Return the lines on where the runs come from: none, as they are archived."""
        return []


def describe_method(name: str) -> list[Any]:
    """Return a method's requirements and parameters as JSON data that `read_interface` reads."""
    interface = read_method_interface(name)
    parts = [*map(str, interface.requires)], [*interface.required_parameters]
    return [*parts, dict(interface.defaults)]


def read_interface(answer: Any) -> CandidateInterface:
    """Return a method's interface, given the result of `describe_method`.

    Raises
    ------
    ValueError
        If the result does not describe an interface.
    """
    requires, required, defaults = answer
    if not all(isinstance(name, str) for name in [*requires, *required, *defaults]):
        raise ValueError("a name is not a string")
    if not all(isinstance(value, int) for value in defaults.values()):
        raise ValueError("a default is not an integer")
    return CandidateInterface(frozenset(requires), tuple(required), defaults)


def recompute_table_or_explain(
    spec_path: str,
    manifest: Mapping[str, Any],
    shipped_spec_path: str,
    stored_runs: Sequence[tuple[PlannedRun, StoredRun]],
    interface: CandidateInterface | None,
) -> list[Any]:
    """Return [sentence, table, ""] of `rank_sentence_and_table`; ["", [], reason] if it fails.

    Nothing in the archive is imported: the table follows from runs and from plain data.

    Parameters
    ----------
    spec_path, manifest, stored_runs
        Path of the archive's suite, the manifest, and the runs.
    shipped_spec_path
        Path of the suite of that name in this pfbench; empty if there is none.
    interface
        The interface of the method if it is user-defined.
    """
    runs: dict[PlannedRun, StoredRun] = {}
    try:
        if manifest["others"] == "shipped" and shipped_spec_path:
            path = Path(shipped_spec_path)
            runs |= read_suite_archive(path.with_name(path.stem + SUFFIX)).runs
        runs |= dict(stored_runs)
        suite = replace(load_spec(Path(spec_path)), name=manifest["suite"])
        if manifest["price"]:
            price = dict(Cost.parse(manifest["price"]).weights)
            suite = suite.map_studies(lambda study: replace(study, price=price))
        candidate = add_candidate(suite, manifest["method"], interface)
        source = ArchivedRuns(runs)
        comparison = compare_with_suite(suite, manifest["method"], candidate, source)
        return [*rank_sentence_and_table(comparison), ""]
    except PfbenchError as error:
        return ["", [], str(error).rstrip(".")]


def rank_sentence_and_table(comparison: SuiteComparison) -> tuple[str, list[list[str]]]:
    """Return a sentence on the rank of a method, and the comparison table with its header."""
    (results,) = comparison.report.results
    front = make_candidate_front(tuple(compare_by_each_price(results)), comparison.labels)
    sentences = [front.outcome_counts_sentence, *front.candidate_failure_texts]
    rows = [[*map(str, row)] for *_, row in front.calls_table.lines()]
    return front.outcome_counts_phrase, [sentences, [*front.calls_table.head], *rows]
