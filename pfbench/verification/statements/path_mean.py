"""Check of a bound on a mean over x_1 .. x_K, in terms of the constants of a norm.

An instance has its number of steps as the attribute K. If the problem has one component, nothing is
drawn, and one run decides. Otherwise the mean over runs decides.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.status import Verdict
from pfbench.sets.norms import LmoQuality
from pfbench.verification.statistics import (
    Decision,
    Evidence,
    best_if_all_hold_else_worst,
    decide_inequality,
)
from pfbench.verification.trial import Trial

_LONGEST = 20_000
"""Largest horizon of an instance that is tested with quick effort."""

_RUNS = (120, 240)

Numbers = dict[str, Any]
"""Arguments of a bound by name: constants and parameters."""


def constants_with_norm(problem: Any) -> Numbers:
    """Return the constants of a problem with a norm, by name: K, L, L_f, rho, zeta, sigma, delta.

    L is the smoothness constant from the norm to the dual norm.
    """
    c = problem.constants(problem.start())
    return {
        "K": problem.K,
        "L": c.L_norm,
        "L_f": c.L_f,
        "rho": c.rho,
        "zeta": c.zeta,
        "sigma": float(np.sqrt(c.sigma2)),
        "delta": c.delta,
    }


def gradient_dual_norm(problem: Any, x: Floats) -> float:
    """Return the dual norm |grad f(x)|_* of the gradient at x."""
    return float(problem.norm.dual_norm(problem.gradient(x)))


def mean_norm_and_lmo_quality_limits(
    trial: Trial, problem: Any, algorithm: Any, seed: int
) -> tuple[float, float, float]:
    """Return the mean dual norm of a run's gradients, and two bounds on the accuracy of its LMO.

    The norms are |grad f(W_t)|_*. The constants are the least lo and the largest hi of the run: at
    each step, <N, O> >= lo |N|_* and |O| <= hi for the estimate N and the minimiser O.
    """
    measured, lo, hi = [], 1.0, 1.0
    ball: Any = problem.norm
    for x, step in trial.follow_with_previous_point(problem, algorithm, seed):
        measured.append(gradient_dual_norm(problem, x))
        worth = LmoQuality(1.0, 1.0) if ball.lmo == "exact" else ball.lmo_quality(step.estimate)
        lo, hi = min(lo, worth.lower), max(hi, worth.upper)
    return float(np.mean(measured)), lo, hi


def decide_run_or_mean(
    trial: Trial,
    problem: Any,
    measure_run: Callable[[int], float],
    bound: float = 1.0,
    *,
    purpose: str,
    limit: int,
) -> tuple[Decision, int]:
    """Decide a bound on one run or on the mean over runs; return decision and number of runs.

    One run decides if the problem has one component, so that nothing is drawn.
    """
    if problem.n == 1:
        return decide_inequality([measure_run(0) / bound]), 1
    return trial.decide_mean_sequentially(
        measure_run, bound, purpose=purpose, batch=10, limit=limit
    )


def gap(problem: Any, x: Floats) -> float:
    """Return the Frank-Wolfe gap at x, over the problem's set."""
    g = problem.gradient(x)
    return float(np.vdot(g, x)) - float(problem.set.minimum(g)[0])


Given = Callable[[Numbers], Numbers]


@dataclass(frozen=True, kw_only=True)
class IterateMeanBound:
    """Check that a quantity's mean over x_1 .. x_K is at most each of several bounds.

    Attributes
    ----------
    bounds
        Bounds by label: functions of arguments named after `constants_with_norm`, L_ms, L2, r (the
        smaller side of a matrix), the method's parameters, and `problem`. A bound may take lo and
        hi, the accuracy of the run's linear minimisation. One that is infinite is not tested.
    parameters
        Function of the constants by name, and of `problem`, that returns the method's parameters;
        or a mapping from labels to such functions, for several settings.
    quantity
        Function of a problem and a point that is measured.
    """

    kind: ClassVar[str] = "bound"

    bounds: Mapping[str, Callable[..., float]]
    parameters: Given | Mapping[str, Given]
    quantity: Callable[[Any, Floats], float] = gradient_dual_norm

    def __call__(self, trial: Trial) -> Evidence:
        """Test each of the bounds on every instance, with every setting."""
        parts: dict[str, Decision] = {}
        settings, runs = self.parameters, 0
        settings = settings if isinstance(settings, Mapping) else {"": settings}
        for instance, (setting, choose) in product(trial.claim.instances, settings.items()):
            problem = instance()
            if trial.effort == "quick" and problem.K > _LONGEST:
                continue
            c = problem.constants(problem.start())
            numbers = constants_with_norm(problem) | {"L_ms": c.L_ms, "L2": c.L2_ms}
            numbers |= {"r": min(problem.shape), "problem": problem}
            parameters = choose(numbers)
            algorithm = trial.make(iterations=problem.K, batch=1, **parameters)
            measure_run = cache(partial(self._measure_run, trial, problem, algorithm))
            for label, upper in self.bounds.items():
                bound = partial(call_with_named, upper, numbers | parameters)
                if math.isinf(bound(lo=1.0, hi=1.0)):
                    continue

                def ratio(seed: int, measure_run: Any = measure_run, bound: Any = bound) -> float:
                    measured, quality = measure_run(seed)
                    return float(measured / bound(**quality))

                name = ", ".join(filter(None, (label, instance.label, setting)))
                limit, purpose = trial.choose_by_effort(*_RUNS), instance.stream_key
                parts[name], _ = decide_run_or_mean(
                    trial, problem, ratio, purpose=purpose, limit=limit
                )
            runs += measure_run.cache_info().currsize
            if any(part.verdict == Verdict.VIOLATED for part in parts.values()):
                break
        return Evidence(best_if_all_hold_else_worst(parts), {"ratio": 1.0}, runs)

    def _measure_run(
        self, trial: Trial, problem: Any, algorithm: Any, seed: int
    ) -> tuple[float, Numbers]:
        """Return the mean of the quantity over a run, and lo and hi if a bound takes them."""
        if any("lo" in _parameter_names(bound) for bound in self.bounds.values()):
            mean, lo, hi = mean_norm_and_lmo_quality_limits(trial, problem, algorithm, seed)
            return mean, {"lo": lo, "hi": hi}
        points = (x for x, _ in trial.follow_with_previous_point(problem, algorithm, seed))
        return float(np.mean([self.quantity(problem, x) for x in points])), {}


def call_with_named(bound: Callable[..., float], numbers: Numbers, **quality: float) -> float:
    """Return a bound of those numbers that its arguments name."""
    usable = numbers | quality
    return bound(**{name: usable[name] for name in _parameter_names(bound)})


def _parameter_names(bound: Callable[..., float]) -> tuple[str, ...]:
    code = bound.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
