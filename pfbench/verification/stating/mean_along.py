"""A bound of the mean of something over x_1 .. x_K, in the constants of a norm.

An instance has its horizon as an attribute K. Where it has one component nothing is drawn, and one
run decides; else the mean over runs does.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.verification.evidence import Evidence
from pfbench.verification.statistics import Decision, across, decide_inequality
from pfbench.verification.trial import Trial

_LONGEST = 20_000
"""Instances with a longer horizon are left to full verifications."""

_RUNS = (120, 240)

Numbers = dict[str, Any]
"""What a bound is a function of, by name: `known` and the parameters."""


def known(problem: Any) -> Numbers:
    """Return K, L (from norm to dual norm), L_f, rho, zeta, sigma and delta of an instance."""
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


def dual_norm(problem: Any, x: Floats) -> float:
    """Return |grad f(x)|_*."""
    return float(problem.norm.dual(problem.gradient(x)))


def gap(problem: Any, x: Floats) -> float:
    """Return the Frank-Wolfe gap V(x), over the problem's set."""
    g = problem.gradient(x)
    return float(np.vdot(g, x)) - float(problem.set.minimum(g)[0])


@dataclass(frozen=True, kw_only=True)
class MeanAlong:
    """The check that a mean over x_1 .. x_K is at most each of several bounds.

    Attributes
    ----------
    bounds
        By label functions of what is `known`, of L_ms and of the parameters, by name.
    of
        What is measured of a problem and a point.
    parameters
        Returns the method's parameters from what is known.
    """

    kind: ClassVar[str] = "bound"

    bounds: Mapping[str, Callable[..., float]]
    of: Callable[[Any, Floats], float]
    parameters: Callable[[Numbers], Numbers]

    def __call__(self, trial: Trial) -> Evidence:
        """Put it to the test on every instance."""
        parts: dict[str, Decision] = {}
        runs = 0
        for one in trial.claim.instances:
            problem = one()
            if trial.effort == "quick" and problem.K > _LONGEST:
                continue
            numbers = {**known(problem), "L_ms": problem.constants(problem.start()).L_ms}
            given = self.parameters(numbers)
            algorithm = trial.make(iterations=problem.K, batch=1, **given)
            seen: dict[int, float] = {}

            def measured(
                seed: int, on: Any = problem, made: Any = algorithm, seen: dict[int, float] = seen
            ) -> float:
                if seed not in seen:
                    points = (x for x, _ in trial.moves(on, made, seed))
                    seen[seed] = float(np.mean([self.of(on, x) for x in points]))
                return seen[seed]

            usable = {**numbers, **given}
            for label, most in self.bounds.items():
                name = f"{label}, {one.name} {one.key}"
                bound = most(**{key: usable[key] for key in _names(most)})
                if problem.n == 1:
                    parts[name] = decide_inequality([measured(0) / bound])
                else:
                    parts[name], _ = trial.sequential(
                        measured, bound, purpose=one.key, batch=10, most=trial.pick(*_RUNS)
                    )
            runs += len(seen)
            if any(part.verdict == "violated" for part in parts.values()):
                break
        return Evidence(across(parts), {"ratio": 1.0}, runs)


def _names(most: Callable[..., float]) -> tuple[str, ...]:
    code = most.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
