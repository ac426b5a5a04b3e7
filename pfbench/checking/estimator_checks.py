"""Checks of a gradient estimator: its mean over all draws, its exact gradients and its counts.

The points are fixed, so the mean of an unbiased estimate over all draws is the gradient. This is
true of plain batches, of differences from a snapshot, and also of recursive differences. On a
problem with three components, all draws are enumerated, so the mean is exact.
"""

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.counts import Counts
from pfbench.base.protocols import Problem
from pfbench.base.state import Point
from pfbench.checking.findings import (
    CheckFailed,
    CheckRunner,
    CheckSkipped,
    TimeLimit,
    check_construction,
    format_brief,
    locate_methods,
    require,
)
from pfbench.checking.lines import PointSampler, norm
from pfbench.checking.traced_runs import (
    PrivateAccessRecordingOracles,
    UncountedCallDetector,
    fail_on_expired_point,
    format_counts,
    guard_oracles,
    make_expiring_points_problem,
    point_entries,
    refuse_uncounted_calls,
)
from pfbench.oracles import Ledger
from pfbench.points import combine, keep
from pfbench.problems.linear_models import LogCosh
from pfbench.problems.row_data import draw_synthetic_rows
from pfbench.sets import L2Ball
from pfbench.verification.instruments.enumerated_random import NotEnumerable, enumerate_draws
from pfbench.verification.instruments.oracle_tally import ComponentTally
from pfbench.verification.subject import instantiate_with_accepted_parameters

USUAL: Mapping[str, Any] = MappingProxyType(
    {"batch": 2, "period": 3, "snapshot": None, "refresh": 0.4, "alpha": 0.3, "lam": 0.3}
)
"""Values for parameters that have no default."""

_STEPS = 7
"""Number of fixed points at which gradients are estimated."""

_BRANCHES = 3000
"""Maximum number of sequences of random draws that are enumerated."""

_SAMPLES, _FEWEST_SAMPLES = 4000, 30
_SIGMAS = 7.0
"""Number of standard errors allowed for a sampled mean: chance exceeds it once in 10^11."""

_CLOSE = 1e-10


@dataclass(frozen=True)
class PathEstimates:
    """Gradient estimates at a fixed sequence of points, with counted and actual oracle calls."""

    estimates: tuple[Floats, ...]
    counts: Counts
    tally: Counts


def check_estimator(estimator: Any, runner: CheckRunner, problem: Problem | None = None) -> Problem:
    """Check a gradient estimator (a class or an object), and return the problem used."""
    look = runner.run_check
    on = problem or make_small_problem()
    points, at_init = locate_methods(estimator, "start"), locate_methods(estimator, "__init__")
    if not look(
        "it can be instantiated",
        check_construction,
        with_test_parameters,
        estimator,
        locations=at_init,
    ):
        return on
    walk = EstimatorChecks(with_test_parameters(estimator), on)
    if not look("it estimates gradients", walk.check_estimates_finite_and_shaped, locations=points):
        return on
    for check, point in (
        ("its calls go through the oracles", walk.check_all_computations_counted),
        ("the same stream gives the same bits", walk.check_reproducibility),
        ("it keeps nothing from run to run", walk.check_independent_runs),
        ("points and earlier estimates stay as they were", walk.check_inputs_unchanged),
        ("it keeps the points that it needs", walk.check_copies_needed_points),
        ("its reference is the gradient", walk.check_exact_at_reference_renewal),
        ("its mean is the gradient", walk.check_unbiased),
    ):
        look(check, point, locations=points)
    return on


def make_small_problem(n: int = 3) -> Problem:
    """Return a small test problem with n components, which has a Hessian oracle."""
    features, labels = draw_synthetic_rows(rows=n, columns=4, seed=1)
    return LogCosh(3.0 * features, labels, L2Ball(4, 1.5))


def with_test_parameters(estimator: Any, **requested: Any) -> Any:
    """Instantiate an estimator class with test values for its required parameters.

    An object is returned unchanged.
    """
    if not inspect.isclass(estimator):
        return estimator
    signature = inspect.signature(estimator).parameters.values()
    needed = [parameter.name for parameter in signature if parameter.default is parameter.empty]
    return instantiate_with_accepted_parameters(
        estimator, (), **{k: v for k, v in USUAL.items() if k in needed} | requested
    )


class EstimatorChecks:
    """Checks of a gradient estimator at a fixed sequence of points."""

    def __init__(self, estimator: Any, problem: Any) -> None:
        self.estimator, self.problem = estimator, problem
        space = PointSampler(problem, seed=3)
        self.path = [space.start()]
        for _ in range(_STEPS - 1):
            # Not far apart, as the iterates of a method.
            self.path.append(keep(space.sample_near(self.path[-1])))

    def estimates_and_counts_along_path(self, rng: Any, steps: int = _STEPS) -> PathEstimates:
        """Return the estimates and oracle calls at the first `steps` points of a fixed path."""
        ledger, backend = Ledger(), ComponentTally(self.problem.open(np.random.default_rng(0)))
        ask = guard_oracles(self.problem, backend, ledger)
        self.accessed_privates = ask.accessed_privates
        estimate = self.estimator.start(ask, rng)
        results = [np.array(estimate(x)) for x in self._points(steps)]
        return PathEstimates(tuple(results), ledger.counts(), Counts(*backend.charged))

    def _make_guarded_oracles(self) -> PrivateAccessRecordingOracles:
        return guard_oracles(self.problem, self.problem.open(np.random.default_rng(0)))

    def _points(self, steps: int) -> list[Point]:
        return [keep(x) for x in self.path[:steps]]

    @property
    def _period(self) -> int | None:
        period = getattr(self.estimator, "period", None)
        return period if isinstance(period, int) else None

    # --- checks -----------------------------------------------------------------------------------

    def check_estimates_finite_and_shaped(self) -> str:
        """Check that each estimate is finite and has the shape of the gradient."""
        walked = self.first_walk = self.estimates_and_counts_along_path(np.random.default_rng(0))
        right = np.asarray(self.problem.gradient(keep(self.path[0])))
        for t, g in enumerate(walked.estimates):
            is_right = g.shape == right.shape and np.isfinite(g).all()
            needed = f"each estimate must be finite and of shape {right.shape}"
            observed = f"{format_brief(g)}, of shape {g.shape}, at step {t}"
            require(is_right, needed, observed, x=self.path[t])
        return f"{_STEPS} estimates, {format_counts(walked.counts)}"

    def check_all_computations_counted(self) -> str:
        """Check that all evaluations of the problem go through the counting oracles."""
        with UncountedCallDetector(self.problem) as bypass:
            walked = self.estimates_and_counts_along_path(np.random.default_rng(0))
        refuse_uncounted_calls(bypass, self.accessed_privates, walked.tally, walked.counts)
        return f"{format_counts(walked.counts)}, all counted"

    def check_reproducibility(self) -> str:
        """Check that random generators with equal seeds give equal estimates."""
        first = self.first_walk
        second, other = (
            self.estimates_and_counts_along_path(np.random.default_rng(s)) for s in (0, 1)
        )
        is_same = _equal_sequences(first.estimates, second.estimates)
        needed = "equal seeds must give equal estimates and calls"
        observed = "two runs differ: draw from `rng` alone, and keep nothing from run to run"
        require(is_same and first.counts == second.counts, needed, observed)
        is_fixed = _equal_sequences(first.estimates, other.estimates)
        return "bit for bit" + (", with any stream" if is_fixed else "")

    def check_independent_runs(self) -> str:
        """Check that two interleaved runs of one estimator do not affect each other."""
        alone = self.estimates_and_counts_along_path(np.random.default_rng(0)).estimates
        runs = [
            self.estimator.start(self._make_guarded_oracles(), np.random.default_rng(seed))
            for seed in (0, 1)
        ]
        candidate = []
        for x, y in zip(self._points(_STEPS), reversed(self._points(_STEPS)), strict=True):
            candidate.append(np.array(runs[0](x)))
            runs[1](y)
        require(
            _equal_sequences(alone, candidate),
            "each call of start(ask, rng) must begin an independent run",
            "two interleaved runs affect each other: keep the state inside start, not in self",
        )
        return "interleaved runs do not affect each other"

    def check_inputs_unchanged(self) -> str:
        """Check that no call changes its point x or the preceding estimate in place."""
        estimate = self.estimator.start(self._make_guarded_oracles(), np.random.default_rng(0))
        last = copy = np.empty(0)
        for t, x in enumerate(self._points(_STEPS)):
            before, g = point_entries(x).copy(), estimate(x)
            is_same = np.array_equal(before, point_entries(x))
            require(is_same, "x must not change", f"changed at step {t}", x=self.path[t])
            needed = "the estimator must not change an estimate that it has returned"
            observed = f"step {t} changes the estimate of step {t - 1}: return a new array"
            require(np.array_equal(last, copy), needed, observed, x=self.path[t])
            last, copy = g, np.array(g)
        return "nothing is changed in place"

    def check_copies_needed_points(self) -> str:
        """Check that the estimator copies each point that it still reads after the next call."""
        problem = make_expiring_points_problem()
        rng = np.random.default_rng(0)
        # Within a short period, a snapshot may still be the point before.
        estimator = self.estimator
        if self._period:
            estimator = instantiate_with_accepted_parameters(estimator, (), period=_STEPS)
        estimate = estimator.start(guard_oracles(problem, problem.open(rng)), rng)
        x, space = problem.start(), PointSampler(problem)
        with fail_on_expired_point("take"):
            for _ in range(_STEPS):
                estimate(x)
                x = combine(x, space.vertex(), 0.2)
        return "it copies the points that it reads later"

    def check_exact_at_reference_renewal(self) -> str:
        """Check that the estimate at the first step of each period is the full gradient."""
        period = self._period
        if period is None:
            raise CheckSkipped("the estimator has no parameter `period`")
        if getattr(self.estimator, "snapshot", None) not in (None, self.problem.n):
            raise CheckSkipped(
                "the estimator starts each period with a batch, not with the full gradient"
            )
        looked = range(0, _STEPS, period)
        for seed in range(3):
            estimates = self.estimates_and_counts_along_path(np.random.default_rng(seed)).estimates
            for t in looked:
                right = np.asarray(self.problem.gradient(keep(self.path[t])))
                deviation = norm(estimates[t] - right)
                observed = f"{format_brief(estimates[t])}, not {format_brief(right)}"
                require(
                    deviation <= _CLOSE * max(norm(right), norm(estimates[t])),
                    f"the estimate at step {t} must be the gradient, as a period of {period} steps "
                    "begins there",
                    f"{observed}, off by {format_brief(deviation)}",
                    **{"x": self.path[t], "seed": seed},
                )
        return f"the estimates at steps {', '.join(map(str, looked))} are the gradient"

    def check_unbiased(self) -> str:
        """Check that the mean of each estimate over all draws is the gradient."""
        try:
            means, errors, how = self._enumerate_means_and_tolerances()
        except NotEnumerable as why:
            means, errors, how = self._sample_means_and_tolerances(str(why))
        for t, (mean, error) in enumerate(zip(means, errors, strict=True)):
            right = self._exact_gradient(t)
            deviation = norm(mean - right)
            if deviation <= error + _CLOSE * max(norm(mean), norm(right), 1e-3):
                continue
            if not getattr(self.estimator, "unbiased", True):
                return f"biased from step {t} on, as declared (unbiased = False)"
            raise CheckFailed(
                f"the mean of the estimates at step {t} must be the gradient "
                f"{format_brief(right)} ({how}); set unbiased = False if the bias is intended",
                f"{format_brief(mean)}, off by {format_brief(deviation)}",
                {"x": self.path[t]},
            )
        return f"at {len(means)} points, {how}"

    def _exact_gradient(self, t: int) -> Floats:
        return np.asarray(self.problem.gradient(keep(self.path[t])))

    def _enumerate_means_and_tolerances(self) -> tuple[list[Floats], list[float], str]:
        """Return exact means of the estimates, tolerances 0, and a text on how means were computed.

        The number of points is limited by time.
        """
        patience, means, number = TimeLimit(1.5), list[Floats](), 0
        reason = "the draws of 3 estimates cannot be enumerated in the time limit"
        try:
            for k in patience.rounds(_STEPS):
                means, number = self._enumerate_first_means(k + 1)
        except NotEnumerable as error:
            reason = str(error)
        if len(means) < 3:
            raise NotEnumerable(reason)
        return means, [0.0] * len(means), f"over all {number:,} sequences of draws"

    def _enumerate_first_means(self, steps: int) -> tuple[list[Floats], int]:
        """Return the exact means of the first `steps` estimates over all sequences of draws.

        Also return the number of sequences.
        """
        total, number = 0.0, 0
        outcomes = enumerate_draws(
            lambda rng: self.estimates_and_counts_along_path(rng, steps).estimates, _BRANCHES
        )
        for chance, result in outcomes:
            total, number = total + chance * np.array(result), number + 1
        return list(np.asarray(total)), number

    def _sample_means_and_tolerances(self, reason: str) -> tuple[list[Floats], list[float], str]:
        """Return means of the estimates over random runs, their tolerances, and an explanation.

        The explanation states `reason`: why the draws cannot be enumerated.
        """
        streams = (np.random.default_rng((7, k)) for k in TimeLimit(2.5).rounds(_SAMPLES))
        walks = [self.estimates_and_counts_along_path(rng).estimates for rng in streams]
        if len(walks) < _FEWEST_SAMPLES:
            raise CheckSkipped(
                f"only {len(walks)} runs can be sampled in the time limit, too few for a mean, and "
                f"the draws cannot be enumerated ({reason})"
            )
        table = np.array(walks)
        means = table.mean(axis=0)
        spreads = np.linalg.norm(table.std(axis=0).reshape(_STEPS, -1), axis=1)
        allowed = _SIGMAS * spreads / math.sqrt(max(len(walks) - 1, 1))
        how = f"over {len(walks):,} sampled runs, since the draws cannot be enumerated ({reason})"
        return list(means), allowed.tolist(), how


def _equal_sequences(a: Sequence[Floats], b: Sequence[Floats]) -> bool:
    return all(np.array_equal(item, other) for item, other in zip(a, b, strict=True))
