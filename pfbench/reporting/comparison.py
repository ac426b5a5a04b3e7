"""Who needs how many calls: the algorithms of a study at equal counts, and how they stand.

Every number is that of one algorithm on one problem. The others decide nothing but marks and ranks.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache

import numpy as np

from pfbench.reporting.results import Group, Panel, Results
from pfbench.reporting.statistics.bootstrap import Interval, ert_interval
from pfbench.reporting.statistics.curves import Array, nothing_varies, numbers
from pfbench.reporting.statistics.limits import Limits, common_limits, shortened
from pfbench.reporting.statistics.prices import Price
from pfbench.reporting.statistics.runtimes import Runtimes, ert, runtimes
from pfbench.reporting.statistics.significance import Sample, leaders, middle
from pfbench.reporting.statistics.suboptimality import OBJECTIVE, SUBOPTIMALITY, with_suboptimality
from pfbench.runs.loop.stop import Stop


@dataclass(frozen=True)
class Expected:
    """The expected calls of an algorithm to a target.

    Attributes
    ----------
    value, interval
        Infinite where no run reached it; None with a single run, or no hit.
    hits, planned
        How many runs of how many reached it.
    """

    value: float
    interval: Interval | None
    hits: int
    planned: int


@dataclass(frozen=True)
class Within(Group):
    """A group at equal counts, and what is computed of its runs once for all prices."""

    def to(self, target: Stop) -> "Within":
        """Return the runs in which it is judged at a target."""
        found = super().to(target)
        return found if isinstance(found, Within) else self

    @cached_property
    def traces(self) -> tuple[Array, ...]:
        """The traces as arrays."""
        return tuple(map(numbers, self.runs))

    @cached_property
    def fixed(self) -> bool:
        """Whether nothing varies over the seeds."""
        return nothing_varies(self.runs)


@dataclass(frozen=True)
class Scored:
    """An algorithm in one panel, at equal counts.

    Attributes
    ----------
    group
        Its runs, none longer than the budget that all have.
    to
        Its runs to each target: the same, but where a method was tuned to each.
    calls
        Its calls to each target.
    expected
        What is expected of them; None where it reaches the target without such calls.
    last
        The last value of each run, by measure; infinite for one that failed.
    """

    group: Within
    to: tuple[Within, ...]
    calls: tuple[Runtimes, ...]
    expected: tuple[Expected | None, ...]
    last: Mapping[str, tuple[float, ...]]

    def needs(self, target: int) -> float:
        """Return the expected calls to a target, by its number; infinite where it needs none."""
        expected = self.expected[target]
        return math.inf if expected is None else expected.value

    def sample(self, target: int) -> Sample:
        """Return the calls to a target over the seeds, for a test; none where it needs none."""
        calls = np.empty(0) if self.expected[target] is None else self.calls[target].calls
        return Sample(calls, self.to[target].fixed)

    def median(self, measure: str) -> float:
        """Return the median of the last values; infinite if half of the runs or more failed."""
        return middle(self.last[measure])


@dataclass(frozen=True)
class Compared:
    """One panel with what was computed of it.

    Attributes
    ----------
    panel, limits
        Algorithms on one problem at one setting, and the budget within which they are compared.
    scored
        By algorithm.
    by_target, by_measure
        The number of the algorithm that is told from every other in each column of the table.
    """

    panel: Panel
    limits: Limits
    scored: tuple[Scored, ...]
    by_target: tuple[int | None, ...]
    by_measure: Mapping[str, int | None]

    def of(self, label: str) -> Scored | None:
        """Return an algorithm by its label, None if it has no run here."""
        return next((one for one in self.scored if one.group.label == label), None)


@dataclass(frozen=True)
class Comparison:
    """A study, compared in one price of calls.

    Attributes
    ----------
    results
        The runs, as they were made.
    price
        What a call costs.
    panels
        By problem and setting.
    """

    results: Results
    price: Price
    panels: tuple[Compared, ...]

    @property
    def targets(self) -> tuple[Stop, ...]:
        """The targets, hardest last."""
        return self.results.study.targets

    @property
    def measures(self) -> tuple[str, ...]:
        """What is compared where runs end."""
        return measures(self.results)


Equal = Sequence[tuple[Limits, Panel]]
"""The panels of a study within the budgets that all of their runs have, and these."""


def compare(results: Results, price: Price, equal: Equal | None = None) -> Comparison:
    """Return the comparison of a study, in a price of calls.

    Parameters
    ----------
    equal
        Its panels at equal counts, where they are known already.
    """
    equal = equal or list(map(at_equal_counts, results.panels))
    scored = [(limits, _scored(results, panel, price)) for limits, panel in equal]
    columns: list[_Column] = []
    for _, several in scored:
        columns += [_to_target(several, k) for k in range(len(results.study.targets))]
        columns += [_last(several, one, results.study.stop) for one in measures(results)]
    samples, shown = zip(*columns, strict=True) if columns else ((), ())
    found = iter(leaders(samples, shown))
    return Comparison(
        results,
        price,
        tuple(
            Compared(
                panel,
                limits,
                several,
                tuple(next(found) for _ in results.study.targets),
                {measure: next(found) for measure in measures(results)},
            )
            for panel, (limits, several) in zip(results.panels, scored, strict=True)
        ),
    )


def all_at_equal_counts(results: Results) -> Results:
    """Return a study with the runs of each panel within the least budget of it."""
    return replace(results, panels=tuple(at_equal_counts(panel)[1] for panel in results.panels))


@lru_cache(maxsize=32)
def at_equal_counts(panel: Panel) -> tuple[Limits, Panel]:
    """Return the least budget that runs of a panel were planned with, and them within it.

    Its groups are `Within`.
    """
    limits = common_limits(plan for group in panel.groups for plan in group.plans)
    return limits, replace(panel, groups=tuple(_within(one, limits) for one in panel.groups))


def _within(group: Group, limits: Limits) -> Within:
    parts = tuple((target, _within(part, limits)) for target, part in group.parts)
    best = group.best_known or (None,) * len(group.runs)
    runs = (shortened(run, limits) for run in map(with_suboptimality, group.runs, best))
    given = {one.name: getattr(group, one.name) for one in fields(Group)}
    return Within(**{**given, "runs": tuple(runs), "parts": parts})


def measures(results: Results) -> tuple[str, ...]:
    """Return the measures of a study, and the suboptimality if all runs have a best value."""
    known = all(group.best_known and None not in group.best_known for group in results)
    found = results.study.measures
    return (*found, SUBOPTIMALITY) if known and OBJECTIVE in found else found


def _scored(results: Results, equal: Panel, price: Price) -> tuple[Scored, ...]:
    study = results.study
    found = []
    for group in equal.groups:
        if not isinstance(group, Within):
            raise AssertionError("panels are compared at equal counts")
        to = tuple(map(group.to, study.targets))
        calls = tuple(
            runtimes(one.runs, target, price, one.traces)
            for one, target in zip(to, study.targets, strict=True)
        )
        last = {
            measure: tuple(run.last(measure) for run in group.runs) for measure in measures(results)
        }
        found.append(Scored(group, to, calls, tuple(map(_expected, calls)), last))
    return tuple(found)


def _expected(calls: Runtimes) -> Expected | None:
    if calls.hits and not calls.charged.any():
        return None
    return Expected(ert(calls), ert_interval(calls), calls.hits, calls.calls.size)


_Column = tuple[list[Sample], list[float]]
"""By algorithm: the values over the seeds, and the number that is shown."""


def _to_target(scored: Sequence[Scored], target: int) -> _Column:
    return [one.sample(target) for one in scored], [one.needs(target) for one in scored]


def _last(scored: Sequence[Scored], measure: str, stop: Stop | None) -> _Column:
    """Return the last values; where runs stop at a target, all that reach it count as equal."""
    least = stop.target if stop and stop.measure == measure else -math.inf
    samples = [Sample(np.maximum(one.last[measure], least), one.group.fixed) for one in scored]
    return samples, [max(one.median(measure), least) for one in scored]
