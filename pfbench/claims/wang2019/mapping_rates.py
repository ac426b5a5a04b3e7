"""The rates of wang2019: exponents of the calls until |G| <= epsilon.

G is the gradient mapping with lambda = 1/(2L). Each method runs with the schedule of its theorem.
On a long slope, a run needs as many steps as the theorem says. On the finite-sum chain, every
method needs that many. Robust regression is easy. On these problems, the cost of a step is the
schedule's formula, however the samples are used. So an exponent that this cost determines follows
from the schedule. Only on the turning bowl, where batch and epoch length are chosen freely, is it
evidence about the method.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pfbench.base.constants import Constants
from pfbench.base.protocols import Problem, State
from pfbench.base.status import Status
from pfbench.claims.wang2019 import cheapest
from pfbench.claims.wang2019.shared import chain, mapping_sq_function, output_point
from pfbench.problems.linear_models import RobustRegression
from pfbench.problems.row_data import draw_synthetic_rows
from pfbench.runs.loop.run import Stop
from pfbench.sets.penalties import L1Penalty
from pfbench.sets.whole_space import WholeSpace
from pfbench.verification import (
    Evidence,
    Floats,
    Instance,
    NotTestable,
    Trial,
    make_instance,
    statistics,
)
from pfbench.verification.claim import MAPPING, Complexity, complexity
from pfbench.verification.instruments.slopes import ConstantSlopeProblem
from pfbench.verification.subject import instantiate_with_accepted_parameters

# --- the instances --------------------------------------------------------------------------------


def long_slope_problem(
    rng: np.random.Generator,
    epsilon: float = 0.25,
    *,
    n: int,
    sigma: float,
    stride: float,
    steps: float,
    shrink: float,
) -> ConstantSlopeProblem:
    """Return a linear function plus a penalty; their sum has slope 2 epsilon down to a far minimum.

    Half of the slope is the penalty's. The way down is drawn between one and two times `steps`, and
    the phase is drawn too, so that seeds differ. The number of steps grows as epsilon^-2, as in
    the theorem, because no run can move down faster. So the claimed rate is nearly attained.

    Parameters
    ----------
    rng
        Generator of the length and the phase.
    epsilon
        Accuracy at which its end is reached.
    n, sigma
        Parameters of `ConstantSlopeProblem`.
    stride
        Approximate length of one step, in units of the slope over L.
    steps
        Least number of steps at epsilon = 1.
    shrink
        Delta shrinks as this power of epsilon.
    """
    walked = steps * rng.uniform(1.0, 2.0) * epsilon ** (shrink - 2.0)
    return ConstantSlopeProblem(
        n,
        g=epsilon,
        gap=walked * _decrease_per_step(stride, epsilon),
        sigma=sigma,
        weight=epsilon,
        phase=rng.uniform(0.0, 2.0 * math.pi),
    )


def _decrease_per_step(stride: float, epsilon: float) -> float:
    """Return the decrease of f plus the penalty in one step on a case's linear function."""
    return 4.0 * stride * epsilon**2


def robust(seed: int = 0) -> RobustRegression:
    """Return robust regression with an l1 penalty, on 64 rows in 4 variables.

    The problem is easy: every method needs far fewer calls than its rate allows.
    """
    features, labels = draw_synthetic_rows(rows=64, columns=4, seed=seed)
    return RobustRegression(features, labels, WholeSpace(4), penalty=L1Penalty(0.01))


_ROBUST = make_instance(robust)
_CHAIN = make_instance(chain, n=9, links=3)
"""Instance with the same number of links at every n, so that epsilon^-2 grows as sqrt n."""

# --- what is claimed ------------------------------------------------------------------------------

SFO, PO, IN_N = "SFO in 1/epsilon", "PO in 1/epsilon", "SFO in n"
"""Names of the exponents."""

Given = Callable[[float, Constants], Mapping[str, Any]]
"""(epsilon, constants) -> additional parameters of a schedule."""


def no_parameters(epsilon: float, constants: Constants) -> Mapping[str, Any]:
    """Return no additional parameters, for a schedule that needs none."""
    return {}


@dataclass(frozen=True, kw_only=True)
class RateCase:
    """Claimed exponents of one method's calls, and the problems on which they are fitted.

    Attributes
    ----------
    sfo, po
        Exponents of 1/epsilon in SFO and PO.
    size
        Exponent of n in SFO; 0 for the online forms, where it is not fitted.
    is_squared
        Whether the schedule's epsilon bounds the square.
    stride
        Approximate length of one step, in units of the slope over L.
    sizes
        The n of the fit in n, chosen so that roots need little rounding.
    epsilons
        The epsilon of the fits in 1/epsilon.
    n, sigma
        Components and noise of the fits in 1/epsilon.
    shrink
        Delta shrinks as this power of epsilon, and is divided out: every claim is O(Delta).
    steps
        Least number of steps at the largest epsilon.
    relative_target
        The epsilon of the fit in n.
    chain
        Whether the fit in n is repeated on the finite-sum chain.
    curvature
        Curvature of the turning bowl for the cheapest batch and epoch; None for no bowl.
    formulas
        Names of the exponents that the cost of a step, a formula of the schedule, decides.
    parameters
        Additional parameters of the schedule.
    """

    sfo: float = 2.0
    po: float = 2.0
    size: float = 0.0
    is_squared: bool = True
    stride: float = 0.5
    sizes: tuple[int, ...] = ()
    epsilons: tuple[float, ...] = tuple(np.logspace(0.0, -2.0, 8))
    n: int = 64
    sigma: float = 1.0
    shrink: float = 2 / 3
    steps: int = 24
    relative_target: float = 0.25
    chain: bool = False
    curvature: float | None = None
    formulas: tuple[str, ...] = (IN_N,)
    parameters: Given = no_parameters

    @property
    def slope_instance(self) -> Instance:
        """Instance of long slopes, on which the exponents of 1/epsilon are fitted.

        In the fit in n, Delta does not shrink with epsilon.
        """
        fixed = {name: getattr(self, name) for name in ("n", "sigma", "stride", "steps", "shrink")}
        return make_instance(long_slope_problem, **fixed)

    @property
    def instances(self) -> tuple[Instance, ...]:
        """Instances on which the exponents are fitted, long slopes first.

        Robust regression and the finite-sum chain are used with full effort only.
        """
        rest = (_ROBUST,) if self.size else ()
        bowl = (cheapest.TURNING,) if self.curvature else ()
        return (self.slope_instance, *bowl, *rest, *((_CHAIN,) if self.chain else ()))

    def complexity(self, method: str) -> Complexity:
        """Return the claimed exponents of this case as the `Complexity` of a method."""
        return complexity(method, MAPPING, SFO=(self.sfo, self.size), PO=self.po)


# --- the fits -------------------------------------------------------------------------------------

_Fits = dict[str, statistics.Exponent | Callable[[int], statistics.Exponent]]
"""Exponents on one family by name, or functions from a number of seeds to an exponent."""


def check_rates(trial: Trial, cases: Sequence[RateCase]) -> Evidence:
    """Test the exponents of the calls until |G| <= epsilon, G the gradient mapping.

    They are exponents of 1/epsilon and of n.

    Slopes and the turning bowl are used with each effort, and other families with full effort. The
    verdict on an exponent is *attained* if the exponent is near its bound on at least one family.
    """
    parts: dict[str, dict[str, statistics.Decision]] = {}
    claimed: dict[str, float] = {}
    runs = 0
    for form in cases:
        if trial.effort == "quick":
            form = replace(form, steps=min(form.steps, 24), relative_target=0.25)
        exponents = {SFO: form.sfo, PO: form.po, IN_N: form.size}
        decided: dict[str, dict[str, statistics.Decision]] = {}
        for family in _list_family_fits(trial, form):
            results, count = family(trial, form)
            for name, fits in results.items():
                for key, exponent in fits.items():
                    decision = statistics.decide_exponent(exponent, exponents[key])
                    free = family is _fit_exponents_on_bowl or key not in form.formulas
                    decided.setdefault(key, {})[name] = (
                        decision if free else statistics.cap_at_holds_by_schedule_alone(decision)
                    )
            runs += count()
        for key, by_family in decided.items():
            name = key if len(cases) == 1 else f"{key}, n={form.n:g}"
            parts[name] = by_family
            claimed |= {f"{name}: {family}": exponents[key] for family in by_family}
    return Evidence(statistics.combine_all(parts), claimed, runs)


_FitsAndRunCount = tuple[dict[str, _Fits], Callable[[], int]]
"""Fits of a family by problem, and a function that returns the number of their runs."""

_Family = Callable[[Trial, RateCase], _FitsAndRunCount]


def _list_family_fits(trial: Trial, case: RateCase) -> list[_Family]:
    """Return, for each problem family, a function that fits the exponents of a case on it."""
    families: list[_Family] = [_fit_exponents_on_slopes]
    if case.curvature:
        families.append(_fit_exponents_on_bowl)
    if trial.effort == "full" and case.size:
        families += (
            [_fit_exponents_on_regression, _fit_exponents_on_finite_sum_chain]
            if case.chain
            else [_fit_exponents_on_regression]
        )
    return families


def _fit_exponents_on_bowl(trial: Trial, case: RateCase) -> _FitsAndRunCount:
    """Fit the exponent of n in SFO calls on the rotating bowl, for the cheapest batch and epoch.

    No exponent is fitted for a method whose schedule takes neither batch nor epoch length.
    """
    try:
        exponent, runs = cheapest.fit_min_sfo_exponent_in_n(trial, case.curvature or 1.0)
    except NotTestable:
        return {}, lambda: 0
    return {"turning bowl, cheapest": {IN_N: exponent}}, lambda: runs


def _fit_exponents_on_slopes(trial: Trial, case: RateCase) -> _FitsAndRunCount:
    """Fit the exponent of 1/epsilon at one n, and that of n at one epsilon, on linear functions."""
    seeds = trial.seeds(statistics.MOST_SEEDS, f"slopes {case.sfo} {case.n}")
    rows = statistics.SeedRows(
        lambda s: [_count_calls_on_slope(trial, case, e, case.n, s) for e in case.epsilons], seeds
    )
    fits = _fit_in_epsilon(case, rows, case.shrink)
    steady = replace(case, shrink=0.0)
    counts = statistics.SeedRows(
        lambda s: [
            _count_calls_on_slope(trial, steady, case.relative_target, n, s)[0] for n in case.sizes
        ],
        seeds,
    )
    if case.size:
        fits[IN_N] = statistics.make_fit_function(case.sizes, counts, least_decades=1.99)

    def runs() -> int:
        return len(rows.computed) * len(case.epsilons) + len(counts.computed) * len(case.sizes)

    return {f"slope, n={case.n:g}": fits}, runs


def _count_calls_on_slope(
    trial: Trial, case: RateCase, epsilon: float, n: int, seed: int
) -> tuple[float, float]:
    """Return the SFO and PO counts until accuracy epsilon, on the case's linear function."""
    problem = case.slope_instance(np.random.default_rng(seed), epsilon, n=n)
    steps = problem.gap / _decrease_per_step(case.stride, epsilon)
    return _sfo_and_po_to_target(
        trial, case, problem, epsilon, seed, frequency=max(1, round(steps / 500))
    )


def _fit_in_epsilon(
    case: RateCase, calls_of_seeds: Callable[[int], Any], shrink: float = 0.0
) -> _Fits:
    """Fit the exponents of 1/epsilon in component gradients and in proximal calls.

    `calls_of_seeds` returns both numbers of calls, shape (seeds, epsilons, 2).
    """
    x = 1.0 / np.array(case.epsilons)

    def fit_kind(kind: int) -> Callable[[int], statistics.Exponent]:
        def calls(seeds: int) -> Floats:
            return np.asarray(np.array(calls_of_seeds(seeds))[..., kind])

        return statistics.make_fit_function(
            x, calls, log_known_factors=-shrink * np.log(x), least_decades=1.99
        )

    return {SFO: fit_kind(0), PO: fit_kind(1)}


def _fit_exponents_on_regression(trial: Trial, case: RateCase) -> _FitsAndRunCount:
    """Fit exponents of oracle calls on robust regression."""

    def row(seed: int) -> list[tuple[float, float]]:
        problem = _ROBUST(seed)
        first = 0.5 * math.sqrt(mapping_sq_function(problem)(problem.start()))
        epsilons = first * np.array(case.epsilons)
        return [_sfo_and_po_to_target(trial, case, problem, e, seed) for e in epsilons]

    rows = statistics.SeedRows(row, trial.seeds(statistics.MOST_SEEDS, "robust regression"))
    fits = {"robust regression": _fit_in_epsilon(case, rows)}
    return fits, lambda: len(rows.computed) * len(case.epsilons)


def _fit_exponents_on_finite_sum_chain(trial: Trial, case: RateCase) -> _FitsAndRunCount:
    """Fit the exponent of n in SFO calls on the finite-sum chain, without the effect of epsilon.

    The batches hardly matter here. Seeds give nearly equal counts, so a few seeds are enough.
    """
    sizes = tuple(k * k for k in (3, 4, 6, 8, 11, 16, 22, 30))
    problems = [_CHAIN(n=n) for n in sizes]
    table = [
        [
            _sfo_and_po_to_target(trial, case, chain, chain.epsilon, seed, frequency=20)[0]
            for chain in problems
        ]
        for seed in trial.seeds(6, "chains")
    ]
    product = -2.0 * np.log([chain.epsilon for chain in problems])
    exponent = statistics.fit_exponent(sizes, table, log_known_factors=product)
    return {"chain": {IN_N: exponent}}, lambda: 6 * len(sizes)


def _sfo_and_po_to_target(
    trial: Trial, case: RateCase, problem: Problem, epsilon: float, seed: int, frequency: int = 1
) -> tuple[float, float]:
    """Return the numbers of component gradients and proximal calls until accuracy epsilon.

    A run has this accuracy if |G| <= epsilon for the gradient mapping G.

    G is taken at the points among which the output is drawn. Both numbers of calls are infinite if
    the run never reaches the target.
    """
    constants = problem.constants(problem.start())
    accuracy = epsilon**2 if case.is_squared else epsilon
    algorithm: Any = trial.make_scheduled(
        accuracy, constants, **case.parameters(epsilon, constants)
    )
    square = mapping_sq_function(problem)

    def measure(_: Problem, state: State) -> float:
        return square(output_point(state))

    run = trial.run(
        problem,
        instantiate_with_accepted_parameters(
            algorithm, ("iterations",), iterations=4 * algorithm.iterations
        ),
        seed=seed,
        stop=Stop("mapping", epsilon**2),
        measures={"mapping": measure},
        frequency=frequency,
    )
    if run.status != Status.TARGET:
        return math.inf, math.inf
    return float(run.counts.sfo), float(max(1, run.counts.po))
