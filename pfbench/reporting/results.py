"""Runs of a report, grouped by study, panel and algorithm, and truncated to a common budget.

A panel is one problem at one setting, on which algorithms are compared. For a comparison at equal
counts, each run of a panel is truncated to the least budget of these runs.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from pfbench.base.counts import COUNTED, Counts
from pfbench.base.selectors import Selector
from pfbench.base.status import Status
from pfbench.reporting.seed_curves import SeedTraces
from pfbench.runs.loop.run import Run, Stop
from pfbench.runs.planning.plan import PlannedRun
from pfbench.runs.planning.study import LabelledSelector, Study
from pfbench.runs.planning.tune import StudySetting

if TYPE_CHECKING:
    from pfbench.runs.storage.serialization import StoredRun


Limits = Mapping[str, float]
"""Largest number of oracle calls of each kind, by name of the count."""


OBJECTIVE, SUBOPTIMALITY = "objective", "suboptimality"
"""Trace columns: the objective, and the suboptimality computed from it."""


@dataclass(frozen=True, eq=False)  # of very many runs a hash takes long
class RunGroup:
    """Runs of one algorithm on one problem at one setting, by seed.

    Attributes
    ----------
    problem, setting, label
        Display names of the problem, the setting and the algorithm.
    algorithm
        Name of the algorithm, without its parameters.
    plans, runs
        Planned runs and the runs themselves, in the order of the seeds.
    best_known
        The least known objective of each run's problem; None if none is stored.
    guarantees
        For each run, the measure that the theorem of its schedule bounds, and the bound. None if no
        bound is stored, or if the run did not finish the schedule.
    groups_by_target
        For a method that is tuned to several targets: each target with the group tuned for it;
        `runs` are then those for the hardest target. Empty if all targets have the same runs.
    """

    problem: str
    setting: str
    label: str
    algorithm: str
    plans: tuple[PlannedRun, ...]
    runs: tuple[Run, ...]
    best_known: tuple[float | None, ...] = ()
    guarantees: tuple[tuple[str, float] | None, ...] = ()
    groups_by_target: "tuple[tuple[Stop, RunGroup], ...]" = ()

    @cached_property
    def traces(self) -> SeedTraces:
        """Traces of the runs, with the suboptimality if the best values are known.

        The suboptimality is the objective minus its least known value. It is negative if a run has
        found a better point than was known; this is no error.
        """
        traces = SeedTraces.from_runs(self.runs)
        is_computed = SUBOPTIMALITY in traces.columns or OBJECTIVE not in traces.columns
        if is_computed or not self.best_known or set(self.best_known) == {None}:
            return traces
        best_values = np.array(self.best_known, dtype=float)  # NaN for None
        values = traces.stack_column(OBJECTIVE) - best_values[traces.run_of_row]
        return traces.with_column(SUBOPTIMALITY, values)

    @cached_property
    def is_deterministic(self) -> bool:
        """Whether the runs are equal for all seeds."""
        return self.traces.is_deterministic

    def group_tuned_for_target(self, target: Stop) -> "RunGroup":
        """Return the runs that were tuned for the given target, or this group if no run was."""
        return next((part for stop, part in self.groups_by_target if stop == target), self)

    @property
    def groups_by_tuning_target(self) -> "list[RunGroup]":
        """Groups of the algorithm's runs by the targets of their tuning; this group comes last."""
        groups = {part.plans: part for _, part in self.groups_by_target if part.plans != self.plans}
        return [*groups.values(), self]

    def makes_calls(self, count: str) -> bool:
        """Return whether any run makes oracle calls of the given kind; true for ``"seconds"``."""
        return count == "seconds" or count in self._counts_in_use

    @cached_property
    def _counts_in_use(self) -> frozenset[str]:
        """Kinds of the oracle calls that any run makes."""
        return frozenset(k for k in COUNTED if any(map(attrgetter(f"counts.{k}"), self.runs)))


@dataclass(frozen=True)
class SettingResults:
    """Runs of all algorithms on one problem at one setting.

    Attributes
    ----------
    problem, setting
        Display names.
    title
        Name that distinguishes the panel from the others of its study. For a single panel, it is
        the setting if there is one, and the problem otherwise.
    groups
        Runs of each algorithm, in the study's order; algorithms without runs are left out.
    """

    problem: str
    setting: str
    title: str
    groups: tuple[RunGroup, ...]

    @property
    def best_known(self) -> float | None:
        """Least known objective value; None if it is unknown or not the same for all runs."""
        values = {value for group in self.groups for value in group.best_known}
        return values.pop() if len(values) == 1 else None

    @cached_property
    def limits(self) -> Limits:
        """Common budget of the runs."""
        return min_budget_by_kind(plan for group in self.groups for plan in group.plans)

    @cached_property
    def results_at_common_budget(self) -> "SettingResults":
        """Results of this panel, with all runs truncated to their common budget."""
        groups = tuple(_truncate_group(group, self.limits) for group in self.groups)
        return replace(self, groups=groups)

    def find(self, label: str) -> RunGroup | None:
        """Return the runs of the algorithm with the given label; None if there are no such runs."""
        return next((group for group in self.groups if group.label == label), None)


@dataclass(frozen=True)
class StudyResults:
    """Study of a report, with its runs."""

    study: Study
    panels: tuple[SettingResults, ...]
    """Ordered by problem, then by setting."""

    def __iter__(self) -> Iterator[RunGroup]:
        return (group for panel in self.panels for group in panel.groups)

    @cached_property
    def runs(self) -> list[tuple[RunGroup, Run]]:
        """All runs of the study, as (group, run) pairs."""
        return [(group, run) for group in self for run in group.runs]

    def restrict_algorithms(self, labels: Collection[str]) -> "StudyResults":
        """Return the results with only the algorithms that have these labels."""
        algorithms = tuple(entry for entry in self.study.algorithms if entry.label in labels)
        panels = tuple(
            replace(panel, groups=tuple(group for group in panel.groups if group.label in labels))
            for panel in self.panels
        )
        return StudyResults(replace(self.study, algorithms=algorithms), panels)

    def iterate_groups(self) -> Iterator[tuple[SettingResults, RunGroup]]:
        """Yield (panel, group) pairs: a problem at one setting, and one algorithm's runs on it."""
        return ((panel, group) for panel in self.panels for group in panel.groups)

    @property
    def panel_column_heading(self) -> str:
        """Heading of the column for problems and settings: ``problem``, ``setting`` or both."""
        parts = {"problem": self.study.problems, "setting": self.study.settings}
        names = [name for name, listed in parts.items() if len(listed) > 1]
        return ", ".join(names) or ("setting" if self.panels[0].setting else "problem")

    @property
    def panel_noun(self) -> str:
        """Noun for one problem at one setting: ``problem``, ``setting`` or ``panel``."""
        heading = self.panel_column_heading
        return "panel" if "," in heading else heading


def group_results(study: Study, stored_runs: "Mapping[PlannedRun, StoredRun]") -> StudyResults:
    """Return the stored runs of a study, grouped by problem, setting and algorithm."""
    panels = (
        SettingResults(
            problem.label,
            setting.title,
            _setting_title(study, problem, setting),
            tuple(_make_groups(study, problem, setting, stored_runs)),
        )
        for problem, setting in product(study.problems, study.settings)
    )
    return StudyResults(study, tuple(panels))


def _make_groups(
    study: Study,
    problem: LabelledSelector,
    setting: StudySetting,
    stored_runs: "Mapping[PlannedRun, StoredRun]",
) -> Iterator[RunGroup]:
    def make_group(label: str, plans: tuple[PlannedRun, ...]) -> RunGroup:
        entries = [stored_runs[plan] for plan in plans]
        return RunGroup(
            problem.label,
            setting.title,
            label,
            Selector.parse(plans[0].algorithm).name,
            plans,
            tuple(entry.run for entry in entries),
            tuple(map(_best_known, entries)),
            tuple(map(_read_guarantee, entries)),
        )

    for algorithm in study.algorithms:
        planned = study.plans_by_target(problem, algorithm, setting)
        last = list(planned.values())[-1]
        if not last:
            continue
        group = make_group(algorithm.label, last)
        if len(set(planned.values())) > 1:
            parts = (
                (target, make_group(algorithm.label, plans))
                for target, plans in planned.items()
                if target
            )
            group = replace(group, groups_by_target=tuple(parts))
        yield group


def _best_known(entry: "StoredRun") -> float | None:
    best_known = entry.notes.get("best_known")
    return float(best_known["value"]) if best_known else None


def _read_guarantee(entry: "StoredRun") -> tuple[str, float] | None:
    promised = entry.notes.get("promised")
    if not promised or entry.run.status != Status.FINISHED or not math.isfinite(promised["value"]):
        return None
    return str(promised["measure"]), float(promised["value"])


def _setting_title(study: Study, problem: LabelledSelector, setting: StudySetting) -> str:
    group = [problem.label] if len(study.problems) > 1 else []
    group += [setting.title] if len(study.settings) > 1 else []
    return ", ".join(group) or setting.title or problem.label


# --- equal counts ---------------------------------------------------------------------------------


def truncate_study(results: StudyResults) -> StudyResults:
    """Return a study's results, with the runs on each problem truncated to a common budget."""
    return replace(
        results, panels=tuple(panel.results_at_common_budget for panel in results.panels)
    )


def _truncate_group(group: RunGroup, limits: Limits) -> RunGroup:
    parts = tuple(
        (target, _truncate_group(part, limits)) for target, part in group.groups_by_target
    )
    runs = tuple(truncate_run(run, limits) for run in group.runs)
    if runs == group.runs and parts == group.groups_by_target:
        return group  # with its traces
    return replace(group, runs=runs, groups_by_target=parts)


def min_budget_by_kind(plans: Iterable[PlannedRun]) -> Limits:
    """Return, for each kind of oracle calls, the least budget of any planned run.

    If a spec gives all its runs one budget, the result is that budget, and does not depend on
    which methods are compared.
    """
    common_limits: dict[str, float] = {}
    for budget in dict.fromkeys(plan.budget for plan in plans):
        for name, limit in (budget.limits if budget else {}).items():
            common_limits[name] = min(limit, common_limits.get(name, math.inf))
    return common_limits


def truncate_run(run: Run, limits: Limits) -> Run:
    """Return a run truncated to limits on its counts, or the run itself if it is within them.

    The trace ends at the last recorded row within all limits. The counts of the truncated run are
    those of the next row, but at most the limits. So a run with a larger budget has no advantage.
    """
    if all(getattr(run.counts, name) <= limit for name, limit in limits.items()):
        return run
    numbers = np.asarray(run.rows, dtype=float).reshape(len(run.rows), len(run.columns))
    counted = [name for name in limits if name in run.columns]
    is_beyond = numbers[:, [*map(run.columns.index, counted)]] > [limits[name] for name in counted]
    rows_beyond = np.flatnonzero(is_beyond.any(axis=1)).tolist()
    number = rows_beyond[0] if rows_beyond else len(run.rows)
    further = {**run.counts.as_dict(), "iteration": run.iterations, "seconds": run.seconds}
    if number < len(run.rows):
        further = dict(zip(run.columns, run.rows[number], strict=True))
    counts = {name: int(min(further[name], limits.get(name, math.inf))) for name in COUNTED}
    allowed = ", ".join(f"{name}={limit:g}" for name, limit in limits.items())
    return replace(
        run,
        status=Status.BUDGET,
        stop_reason=f"compared within {allowed}",
        iterations=int(further["iteration"]),
        counts=Counts(**counts),
        final={},
        seconds=float(further["seconds"]),
        oracle_seconds=math.nan,
        rows=run.rows[:number],
    )
