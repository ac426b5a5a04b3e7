"""The checks of a gradient estimator: its mean over all draws, its references, its ledger.

Along points that are chosen beforehand, the mean of every estimate over all draws is the gradient:
of plain batches, of differences from a snapshot, and of recursive differences, too. On a problem of
three components all draws are enumerated, so that the mean is exact.
"""

import inspect
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.counts import Counts
from pfbench.base.protocols import Problem
from pfbench.base.state import Point
from pfbench.checking.bypass import Bypass, Guarded, accuse, guarded, in_words
from pfbench.checking.examples import copies_of_old_points, moving_points
from pfbench.checking.findings import (
    Examination,
    Patience,
    Skipped,
    Wrong,
    as_usual,
    in_brief,
    places,
)
from pfbench.checking.lines import Space, norm
from pfbench.checking.trails import entries
from pfbench.oracles import Ledger
from pfbench.points import combine, keep
from pfbench.problems.linear_models import LogCosh
from pfbench.problems.rows import synthetic_rows
from pfbench.sets import L2Ball
from pfbench.verification.instruments.draws import Unscripted, branches
from pfbench.verification.instruments.witness import Tally
from pfbench.verification.subject import Untestable, make

USUAL: Mapping[str, Any] = MappingProxyType(
    {"batch": 2, "period": 3, "snapshot": None, "refresh": 0.4, "alpha": 0.3, "lam": 0.3}
)
"""What a parameter without default is set to."""

_STEPS = 7
"""Points of a walk."""

_BRANCHES = 3000
"""Up to so many sequences of draws are enumerated."""

_SAMPLES = 4000
_SIGMAS = 7.0
"""How many standard errors a sampled mean may be off: chance does that once in 10^11."""

_CLOSE = 1e-10


@dataclass(frozen=True)
class Walked:
    """The estimates along a walk, with what was counted."""

    estimates: tuple[Floats, ...]
    counts: Counts
    tallied: Counts


def check_estimator(
    estimator: Any, examination: Examination, problem: Problem | None = None
) -> Problem:
    """Look at an estimator, a class or an object; return the problem that it was tried on."""
    look = examination.look
    on = problem or small_problem()
    where = places(estimator, "start")
    if not look("it can be made", _made, estimator, where=places(estimator, "__init__")):
        return on
    walk = Walk(usual(estimator), on)
    if not look("it estimates gradients", walk.formed, where=where):
        return on
    for check, at in (
        ("its calls go through the oracles", walk.through_the_oracles),
        ("the same stream gives the same bits", walk.repeats),
        ("it keeps nothing from run to run", walk.fresh),
        ("points and earlier estimates stay as they were", walk.untouched),
        ("it keeps the points that it needs", walk.kept),
        ("its reference is the gradient", walk.reference),
        ("its mean is the gradient", walk.unbiased),
    ):
        look(check, at, where=where)
    return on


def small_problem(n: int = 3) -> Problem:
    """Return a small problem with Hessians."""
    features, labels = synthetic_rows(rows=n, columns=4, seed=1)
    return LogCosh(3.0 * features, labels, L2Ball(4, 1.5))


def usual(estimator: Any, **wanted: Any) -> Any:
    """Return an estimator with usual values of the parameters that it needs."""
    if not inspect.isclass(estimator):
        return estimator
    signature = inspect.signature(estimator).parameters.values()
    needed = [one.name for one in signature if one.default is one.empty]
    return make(estimator, (), **{k: v for k, v in USUAL.items() if k in needed} | wanted)


def _made(estimator: Any) -> str:
    made = as_usual(usual, estimator)
    if not is_dataclass(made):
        return type(made).__name__
    given = {f.name: getattr(made, f.name) for f in fields(made)}
    return ", ".join(f"{k}={v}" for k, v in given.items() if v is not None)


class Walk:
    """An estimator, asked along points that do not depend on what it answers."""

    def __init__(self, estimator: Any, problem: Any) -> None:
        self.estimator, self.problem = estimator, problem
        space = Space(problem, seed=3)
        self.path = [space.start()]
        for _ in range(_STEPS - 1):
            # Not far apart, as the iterates of a method.
            self.path.append(keep(space.near(self.path[-1])))

    def along(self, rng: Any, steps: int = _STEPS) -> Walked:
        """Return the estimates along the first points."""
        ledger, backend = Ledger(), Tally(self.problem.open(np.random.default_rng(0)))
        ask = guarded(self.problem, backend, ledger)
        self.touched = ask.touched
        estimate = self.estimator.start(ask, rng)
        found = [np.array(estimate(x)) for x in self._points(steps)]
        return Walked(tuple(found), ledger.counts(), Counts(*backend.spent))

    def _ask(self) -> Guarded:
        return guarded(self.problem, self.problem.open(np.random.default_rng(0)))

    def _points(self, steps: int) -> list[Point]:
        return [keep(x) for x in self.path[:steps]]

    @property
    def _period(self) -> int | None:
        period = getattr(self.estimator, "period", None)
        return period if isinstance(period, int) else None

    # --- checks -----------------------------------------------------------------------------------

    def formed(self) -> str:
        """Each estimate is an array like a gradient."""
        walked = self.along(np.random.default_rng(0))
        right = np.asarray(self.problem.gradient(keep(self.path[0])))
        for t, g in enumerate(walked.estimates):
            if g.shape != right.shape or not np.isfinite(g).all():
                raise Wrong(
                    f"finite estimates of shape {right.shape}",
                    f"{in_brief(g)}, of shape {g.shape}, at t = {t}",
                    {"x": self.path[t]},
                )
        return f"{_STEPS} estimates, {in_words(walked.counts)}"

    def through_the_oracles(self) -> str:
        """Check: what is computed of the problem is what the ledger has counted."""
        with Bypass(self.problem) as bypass:
            walked = self.along(np.random.default_rng(0))
        accuse(bypass, self.touched, walked.tallied, walked.counts)
        return f"{in_words(walked.counts)}, all counted"

    def repeats(self) -> str:
        """Check: what is random comes from the stream."""
        first, second, other = (self.along(np.random.default_rng(s)).estimates for s in (0, 0, 1))
        if not _same(first, second):
            raise Wrong(
                "the same estimates from the same stream", "two walks differ: draw from `rng` alone"
            )
        return "bit for bit" + (", whatever the stream" if _same(first, other) else "")

    def fresh(self) -> str:
        """Two runs of one estimator do not disturb each other."""
        alone = self.along(np.random.default_rng(0)).estimates
        runs = [self.estimator.start(self._ask(), np.random.default_rng(seed)) for seed in (0, 1)]
        mine = []
        for x, y in zip(self._points(_STEPS), reversed(self._points(_STEPS)), strict=True):
            mine.append(np.array(runs[0](x)))
            runs[1](y)
        if not _same(alone, mine):
            raise Wrong(
                "each start(ask, rng) to begin anew",
                "two runs at a time change each other: keep the state inside start, not in self",
            )
        return "two runs at a time are as one after the other"

    def untouched(self) -> str:
        """No call changes its point, or an estimate that was handed out."""
        estimate = self.estimator.start(self._ask(), np.random.default_rng(0))
        last: tuple[Any, Floats] | None = None
        for t, x in enumerate(self._points(_STEPS)):
            before = entries(x).copy()
            g = estimate(x)
            if not np.array_equal(before, entries(x)):
                raise Wrong("x as it was", f"it is changed at t = {t}", {"x": self.path[t]})
            if last is not None and not np.array_equal(last[0], last[1]):
                raise Wrong(
                    "an estimate that was handed out to stay as it was",
                    f"that of t = {t - 1} is changed at t = {t}: add in a new array, not in place",
                    {"x": self.path[t]},
                )
            last = g, np.array(g)
        return "nothing is changed in place"

    def kept(self) -> str:
        """Check: it keeps a copy of each point that it needs later than the next one."""
        problem = moving_points()
        rng = np.random.default_rng(0)
        # Within a short period, a snapshot may still be the point before.
        estimator = self.estimator
        if self._period:
            estimator = make(estimator, (), period=_STEPS)
        estimate = estimator.start(guarded(problem, problem.open(rng)), rng)
        x, space = problem.start(), Space(problem)
        with copies_of_old_points("take"):
            for _ in range(_STEPS):
                estimate(x)
                x = combine(x, space.vertex(), 0.2)
        return "old points are copies"

    def reference(self) -> str:
        """Where the reference is renewed, the error is 0, whatever is drawn."""
        period = self._period
        if period is None:
            raise Skipped("it has no period")
        if getattr(self.estimator, "snapshot", None) not in (None, self.problem.n):
            raise Skipped("its reference is a batch")
        looked = range(0, _STEPS, period)
        for seed in range(3):
            found = self.along(np.random.default_rng(seed)).estimates
            for t in looked:
                right = np.asarray(self.problem.gradient(keep(self.path[t])))
                off = norm(found[t] - right)
                if not off <= _CLOSE * max(norm(right), norm(found[t])):
                    raise Wrong(
                        f"the gradient at t = {t}, as the period is {period}",
                        f"{in_brief(found[t])}, not {in_brief(right)}, off by {in_brief(off)}",
                        {"x": self.path[t], "seed": seed},
                    )
        return f"the gradient at t = {', '.join(map(str, looked))}"

    def unbiased(self) -> str:
        """Check: the mean of each estimate over all draws is the gradient."""
        claimed = getattr(self.estimator, "unbiased", True)
        means, errors, how = self._means()
        off = [norm(mean - self._right(t)) for t, mean in enumerate(means)]
        allowed = [
            error + _CLOSE * max(norm(mean), norm(self._right(t)), 1e-3)
            for t, (mean, error) in enumerate(zip(means, errors, strict=True))
        ]
        wrong = next((t for t in range(len(means)) if not off[t] <= allowed[t]), None)
        if wrong is None:
            return f"at {len(means)} points, {how}"
        if not claimed:
            return f"biased from t = {wrong} on, as it says"
        raise Wrong(
            f"the mean of the estimates at t = {wrong} to be the gradient "
            f"{in_brief(self._right(wrong))} ({how}); say unbiased = False if it is meant",
            f"{in_brief(means[wrong])}, off by {in_brief(off[wrong])}{self._ratio(means, wrong)}",
            {"x": self.path[wrong]},
        )

    def _means(self) -> tuple[list[Floats], list[float], str]:
        """Return the means of the estimates, how far they may be off, and how they were taken."""
        try:
            return self._enumerated()
        except Unscripted as why:
            reason = str(why)
        if getattr(self.estimator, "batch", 1) != 1 and is_dataclass(self.estimator):
            with suppress(Unscripted, Untestable):
                alone = Walk(make(self.estimator, (), batch=1), self.problem)
                means, errors, how = alone._enumerated()
                return means, errors, f"{how} with batch = 1"
        return self._sampled(reason)

    def _right(self, t: int) -> Floats:
        return np.asarray(self.problem.gradient(keep(self.path[t])))

    def _ratio(self, means: Sequence[Floats], t: int) -> str:
        """Return by which factor a mean is off, if it is one."""
        right = self._right(t)
        ratio = float(np.vdot(means[t], right) / max(norm(right) ** 2, 1e-300))
        straight = norm(means[t] - ratio * right) <= 1e-6 * norm(right)
        return f": {in_brief(ratio)} times the gradient" if straight else ""

    def _enumerated(self) -> tuple[list[Floats], list[float], str]:
        """Return exact means over all draws, for as many points as can be."""
        patience = Patience(1.5)
        means, number = self._mean_of(1)
        with suppress(Unscripted):
            for steps in range(2, _STEPS + 1):
                if patience.over:
                    break
                means, number = self._mean_of(steps)
        if len(means) < min(_STEPS, 3):
            raise Unscripted("too few points can be enumerated")
        return means, [0.0] * len(means), f"by all {number:,} draws"

    def _mean_of(self, steps: int) -> tuple[list[Floats], int]:
        """Return the exact means of the first estimates, and the number of draws."""
        total: Any = 0.0
        number = 0
        for chance, found in branches(lambda rng: self.along(rng, steps).estimates, _BRANCHES):
            total, number = total + chance * np.array(found), number + 1
        return list(total), number

    def _sampled(self, why: str) -> tuple[list[Floats], list[float], str]:
        """Return means over sampled walks, and how far they may be off."""
        walks = [
            np.array([g.ravel() for g in self.along(np.random.default_rng((7, k))).estimates])
            for k in Patience(2.5).rounds(_SAMPLES)
        ]
        table = np.array(walks)
        means, deviations = table.mean(axis=0), table.std(axis=0)
        allowed = _SIGMAS * np.linalg.norm(deviations, axis=1) / math.sqrt(max(len(walks) - 1, 1))
        shape = self._right(0).shape
        how = f"by {len(walks):,} sampled walks, since not all draws can be enumerated ({why})"
        return [mean.reshape(shape) for mean in means], allowed.tolist(), how


def _same(a: Sequence[Floats], b: Sequence[Floats]) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(a, b, strict=True))
