"""How the rates of wang2019 are tested: exponents of the calls until |G| <= epsilon.

lambda = 1/(2L) for all methods, with the schedule of each method's theorem: on a long slope, where
the steps are as many as the theorem says; on the finite-sum chain, where they are for every method;
and on robust regression, which is easy. What a step costs there is the schedule's formula, whatever
the samples are used for: so an exponent that the cost of a step decides is by schedule, and only
the turning bowl, where batch and epoch length are free, can come near it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pfbench.base.constants import Constants
from pfbench.base.counts import Budget
from pfbench.base.protocols import Problem, State
from pfbench.claims.wang2019 import cheapest
from pfbench.claims.wang2019.common import chain, mapping_sq, output_of
from pfbench.problems.linear_models import RobustRegression
from pfbench.problems.rows import synthetic_rows
from pfbench.runs.loop.stop import Stop
from pfbench.sets.penalties import L1Penalty
from pfbench.sets.whole import WholeSpace
from pfbench.verification import Evidence, Floats, Instance, Trial, Untestable, instance
from pfbench.verification.instruments.slopes import Slope
from pfbench.verification.scales import MAPPING, Complexity, complexity
from pfbench.verification.statistics import (
    MOST_SEEDS,
    SEEDS,
    Decision,
    Exponent,
    Rows,
    across,
    all_of,
    by_schedule,
    decide_exponent,
    fit_exponent,
    fitted,
)
from pfbench.verification.subject import changed

# --- the instances --------------------------------------------------------------------------------


def long_slope(
    rng: np.random.Generator,
    epsilon: float = 0.25,
    *,
    n: int,
    sigma: float,
    stride: float,
    steps: float,
    shrink: float,
) -> Slope:
    """Return a slope of 2 epsilon, half of it the penalty's, that takes a method so many steps.

    Its length is drawn between one and two times that, and its phase anew, so that seeds differ.
    The number of steps grows as the theorem's, epsilon^-2, and the claim binds: there is no way
    down but step by step.

    Parameters
    ----------
    rng
        For the length and the phase.
    epsilon
        Accuracy at which its end is reached.
    n, sigma
        Of `Slope`.
    stride
        What one step moves, about, in units of the slope over L.
    steps
        Steps needed at epsilon = 1, at least.
    shrink
        Delta shrinks as this power of epsilon.
    """
    walked = steps * rng.uniform(1.0, 2.0) * epsilon ** (shrink - 2.0)
    return Slope(
        n,
        g=epsilon,
        gap=walked * _lowered(stride, epsilon),
        sigma=sigma,
        weight=epsilon,
        phase=rng.uniform(0.0, 2.0 * math.pi),
    )


def _lowered(stride: float, epsilon: float) -> float:
    """Return what one step on a long slope lowers f + h by."""
    return 4.0 * stride * epsilon**2


def robust(seed: int = 0) -> RobustRegression:
    """Return robust regression on 64 rows in 4 variables with an l1 penalty.

    It is easy: every method needs far fewer calls than its rate allows.
    """
    features, labels = synthetic_rows(rows=64, columns=4, seed=seed)
    return RobustRegression(features, labels, WholeSpace(4), penalty=L1Penalty(0.01))


_ROBUST = instance(robust)
_CHAIN = instance(chain, n=9, links=3)
"""The same number of links at every n: so epsilon^-2 grows as sqrt n."""

# --- what is claimed ------------------------------------------------------------------------------

SFO, PO, IN_N = "SFO in 1/epsilon", "PO in 1/epsilon", "SFO in n"
"""The exponents."""

Given = Callable[[float, Constants], Mapping[str, Any]]
"""epsilon, constants -> parameters that a schedule takes besides."""


def nothing(epsilon: float, constants: Constants) -> Mapping[str, Any]:
    """Return no parameters."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Rate:
    """What is claimed of one method, and the slopes on which it is fitted.

    Attributes
    ----------
    sfo, po
        Exponents in 1/epsilon.
    size
        Exponent of SFO in n; 0 for the online forms, where it is not fitted.
    squared
        Whether the schedule's epsilon bounds the square.
    stride
        What one step moves, about, in units of the slope over L.
    sizes
        The n of the fit in n, such that roots hardly need rounding.
    epsilons
        The epsilon of the fits in 1/epsilon, the same way.
    n, sigma
        Of these fits.
    shrink
        Delta shrinks as this power of epsilon, and is divided out: every claim is O(Delta).
    steps
        Steps needed at the largest epsilon, at least.
    at
        The epsilon of the fit in n.
    chain
        Whether the fit in n is repeated on the finite-sum chain.
    curvature
        That of the turning bowl on which the cheapest batch and epoch are found; None for no bowl.
    formulas
        The exponents that the cost of a step decides, a formula of the schedule.
    given
        Parameters that the schedule takes besides.
    """

    sfo: float = 2.0
    po: float = 2.0
    size: float = 0.0
    squared: bool = True
    stride: float = 0.5
    sizes: tuple[int, ...] = ()
    epsilons: tuple[float, ...] = tuple(np.logspace(0.0, -2.0, 8))
    n: int = 64
    sigma: float = 1.0
    shrink: float = 2 / 3
    steps: int = 24
    at: float = 0.25
    chain: bool = False
    curvature: float | None = None
    formulas: tuple[str, ...] = (IN_N,)
    given: Given = nothing

    @property
    def slope(self) -> Instance:
        """The slopes of the fits in 1/epsilon; those of the fit in n do not shrink."""
        fixed = {name: getattr(self, name) for name in ("n", "sigma", "stride", "steps", "shrink")}
        return instance(long_slope, **fixed)

    @property
    def instances(self) -> tuple[Instance, ...]:
        """All problems on which it is fitted, the slopes first; the others with full effort."""
        others = (_ROBUST,) if self.size else ()
        bowl = (cheapest.TURNING,) if self.curvature else ()
        return (self.slope, *bowl, *others, *((_CHAIN,) if self.chain else ()))

    def complexity(self, method: str) -> Complexity:
        """Return it as the complexity of a method."""
        return complexity(method, MAPPING, SFO=(self.sfo, self.size), PO=self.po)


# --- the fits -------------------------------------------------------------------------------------

_Fits = dict[str, Exponent | Callable[[int], Exponent]]
"""Exponents on one family by name, or what fits them to so many seeds."""

_FACTORS = (1.0, 2.0, 4.0)
"""The steps that are tried, in units of the theorem's; none gets more calls than that one."""


def fit(trial: Trial, forms: Sequence[Rate]) -> Evidence:
    """Fit the calls until |G| <= epsilon on slopes and the bowl, and on others with full effort.

    Each exponent is decided over all families: it is near its bound if one of them binds.
    """
    parts: dict[str, Decision] = {}
    claimed: dict[str, float] = {}
    runs = 0
    for form in forms:
        if trial.effort == "quick":
            form = replace(form, steps=min(form.steps, 24), at=0.25)
        exponents = {SFO: form.sfo, PO: form.po, IN_N: form.size}
        decided: dict[str, dict[str, Decision]] = {}
        for family in _families(trial, form):
            found, count = family(trial, form)
            for name, fits in found.items():
                for what, exponent in fits.items():
                    decision = decide_exponent(exponent, exponents[what])
                    free = family is _bowl or what not in form.formulas
                    decided.setdefault(what, {})[name] = decision if free else by_schedule(decision)
            runs += count()
        for what, by_family in decided.items():
            name = what if len(forms) == 1 else f"{what}, n={form.n:g}"
            parts[name] = across(by_family)
            claimed |= {f"{name}: {family}": exponents[what] for family in by_family}
    return Evidence(all_of(parts), claimed, runs)


_Made = tuple[dict[str, _Fits], Callable[[], int]]
"""What is fitted on a family, by problem, and the number of runs that were made for it."""

_Family = Callable[[Trial, Rate], _Made]


def _families(trial: Trial, form: Rate) -> list[_Family]:
    """Return the functions that fit one form, each on its family of problems."""
    families: list[_Family] = [_slopes]
    if form.curvature:
        families.append(_bowl)
    if trial.effort == "full" and form.size:
        families += [_easy, _chains] if form.chain else [_easy]
    return families


def _bowl(trial: Trial, form: Rate) -> _Made:
    """Fit one form in n on the turning bowl, by its cheapest batch and epoch length.

    Nothing is fitted for a subject whose schedule takes neither.
    """
    try:
        exponent, runs = cheapest.exponent(trial, form.curvature or 1.0)
    except Untestable:
        return {}, lambda: 0
    return {"turning bowl, cheapest": {IN_N: exponent}}, lambda: runs


def _slopes(trial: Trial, form: Rate) -> _Made:
    """Fit one form on slopes: in 1/epsilon at one n, and in n at one epsilon."""
    seeds = trial.seeds(MOST_SEEDS, f"slopes {form.sfo} {form.n}")
    rows = Rows(lambda s: [_on_slope(trial, form, e, form.n, s) for e in form.epsilons], seeds)
    fits = _in_epsilon(form, rows, form.shrink)
    steady = replace(form, shrink=0.0)
    counts = Rows(lambda s: [_on_slope(trial, steady, form.at, n, s)[0] for n in form.sizes], seeds)
    if form.size:
        fits[IN_N] = fitted(form.sizes, counts, least_decades=1.99)

    def runs() -> int:
        return len(rows.made) * len(form.epsilons) + len(counts.made) * len(form.sizes)

    return {f"slope, n={form.n:g}": fits}, runs


def _on_slope(trial: Trial, form: Rate, epsilon: float, n: int, seed: int) -> tuple[float, float]:
    """Return SFO and PO on a long slope."""
    problem = form.slope(np.random.default_rng(seed), epsilon, n=n)
    steps = problem.gap / _lowered(form.stride, epsilon)
    return _calls(trial, form, problem, epsilon, seed, every=max(1, round(steps / 500)))


def _in_epsilon(form: Rate, found: Callable[[int], Any], shrink: float = 0.0) -> _Fits:
    """Fit the exponents in 1/epsilon of SFO and PO to calls of shape (seeds, epsilons, 2)."""
    x = 1.0 / np.array(form.epsilons)

    def fit_kind(kind: int) -> Callable[[int], Exponent]:
        def calls(seeds: int) -> Floats:
            return np.asarray(np.array(found(seeds))[..., kind])

        return fitted(x, calls, known=-shrink * np.log(x), least_decades=1.99)

    return {SFO: fit_kind(0), PO: fit_kind(1)}


def _easy(trial: Trial, form: Rate) -> _Made:
    """Fit one form on robust regression: with the theorem's step, and with the best of a grid."""

    def row(seed: int) -> Floats:
        """Return SFO and PO, shape (epsilons, factors, 2)."""
        problem = _ROBUST(seed)
        first = 0.5 * math.sqrt(mapping_sq(problem)(problem.start()))
        found = np.empty((len(form.epsilons), len(_FACTORS), 2))
        for i, epsilon in enumerate(first * np.array(form.epsilons)):
            found[i, 0] = _calls(trial, form, problem, epsilon, seed)
            for k, factor in enumerate(_FACTORS[1:], 1):
                limits = {"factor": factor, "most": found[i, 0, 0]}
                found[i, k] = _calls(trial, form, problem, epsilon, seed, **limits)
        return found

    rows = Rows(row, trial.seeds(MOST_SEEDS, "robust regression"))

    def best(seeds: int) -> Floats:
        """Return those of the factor that is the best for the seeds of the first look."""
        found, first = np.array(rows(seeds)), np.array(rows(SEEDS))
        chosen = first[..., 0].mean(axis=0).argmin(axis=1)
        return found[:, np.arange(len(chosen)), chosen]

    fits = {
        "robust regression": _in_epsilon(form, lambda seeds: np.array(rows(seeds))[:, :, 0]),
        f"robust regression, best of {_FACTORS} times the step": _in_epsilon(form, best),
    }
    return fits, lambda: len(rows.made) * len(form.epsilons) * len(_FACTORS)


def _chains(trial: Trial, form: Rate) -> _Made:
    """Fit one form in n on the finite-sum chain, at the epsilon of its links, divided out.

    The batches hardly matter here: seeds give the same counts, so that a few are enough.
    """
    sizes = tuple(k * k for k in (3, 4, 6, 8, 11, 16, 22, 30))
    problems = [_CHAIN(n=n) for n in sizes]
    table = [
        [_calls(trial, form, chain, chain.epsilon, seed, every=20)[0] for chain in problems]
        for seed in trial.seeds(6, "chains")
    ]
    known = -2.0 * np.log([chain.epsilon for chain in problems])
    exponent = fit_exponent(sizes, table, known=known)
    return {"chain": {IN_N: exponent}}, lambda: 6 * len(sizes)


def _calls(
    trial: Trial,
    form: Rate,
    problem: Problem,
    epsilon: float,
    seed: int,
    every: int = 1,
    factor: float = 1.0,
    most: float = math.inf,
) -> tuple[float, float]:
    """Return SFO and PO until |G| <= epsilon where the output is drawn; inf if never."""
    constants = problem.constants(problem.start())
    accuracy = epsilon**2 if form.squared else epsilon
    algorithm: Any = trial.scheduled(accuracy, constants, **form.given(epsilon, constants))
    square = mapping_sq(problem)

    def measure(_: Problem, state: State) -> float:
        return square(output_of(state))

    run = trial.run(
        problem,
        changed(algorithm, iterations=4 * algorithm.iterations, step=factor * algorithm.step),
        seed=seed,
        stop=Stop("mapping", epsilon**2),
        measures={"mapping": measure},
        every=every,
        budget=Budget(sfo=int(most)) if math.isfinite(most) else None,
    )
    if run.status != "target":
        return math.inf, math.inf
    return float(run.counts.sfo), float(max(1, run.counts.po))
