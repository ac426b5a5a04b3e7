"""Claimed and measured orders of oracle calls, for each method of the folder `relatives`.

A method's schedule for an accuracy epsilon is run until the theorem's guarantee is met. For convex
f, that is when f(x_t) - min f at the last iterate is at most the bound. For other f, it is when
the mean of the measure over the iterates so far is at most the bound. This mean is the expected
measure of an output drawn among these iterates.

On |x|^2/2 no step decreases f by more than the theory guarantees. So the sum of the measure is
f(x_0) - min f over the step size, for any number of steps. So the schedules need nearly as many
steps as their theorems allow. A method that queries more, or makes smaller steps, needs more
calls.

Delta shrinks as a known power of epsilon, which the fit divides out: every bound for non-convex f
is O(Delta). The schedule determines the cost of a step, so the exponents of n follow from the
schedule alone.
"""

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pfbench.base.constants import Constants
from pfbench.claims.relatives.shared_instances import (
    compute_squared_gradient_norm,
    gradient_mapping_sq_with_multiple,
)
from pfbench.problems.additive_noise import SeparableQuadratic
from pfbench.sets import Simplex
from pfbench.sets.whole_space import WholeSpace
from pfbench.verification import Claim, Evidence, Instance, Trial, make_instance, statistics
from pfbench.verification.claim import ComplexityOrder, complexity
from pfbench.verification.instruments import quadratics
from pfbench.verification.instruments.indefinite import IndefiniteQuadratic, noisy_ball
from pfbench.verification.statements import path_mean

# --- the instances --------------------------------------------------------------------------------


def make_bowl_problem(
    epsilon: float = 0.3,
    n: int = 64,
    *,
    size: float,
    shrink: float = 1.0,
    noise: float = 0.0,
    spread: float = 0.5,
    bounded: bool = True,
) -> IndefiniteQuadratic:
    """Return |x|^2/2 on R^4, or on its unit ball if `bounded`, as a mean of different components.

    At the start, f(x_0) - min f = size epsilon^shrink. Components differ by linear terms with
    slopes of length `noise`, and by +-spread |x|^2/2.
    """
    problem = noisy_ball(4, n, 1.0, noise, spread)
    begin = np.full(4, math.sqrt(size * epsilon**shrink / 2.0))
    return replace(problem, start_point=begin, set=problem.set if bounded else WholeSpace(4))


def make_ball_slope_problem(
    epsilon: float = 0.1, n: int = 256, *, noise: float
) -> IndefiniteQuadratic:
    """Return a noisy linear function of slope 2 epsilon on a unit ball; the start is its maximum.

    The ball is in R^(n/2). Each component gradient differs from the mean by a vector of length
    `noise`, each pair of components along an axis of its own. So an estimate shows the direction of
    descent only once its error is about epsilon.
    """
    d = n // 2
    problem = noisy_ball(d, n, 1.0, noise)
    up = np.full(d, 1.0 / math.sqrt(d))
    slope = 2.0 * epsilon
    return replace(problem, A=np.zeros((d, d)), b=slope * up, start_point=up, minimum_value=-slope)


def uniform_simplex_problem(epsilon: float = 0.06, n: int = 4) -> SeparableQuadratic:
    """Return |x - 1/d|^2/2 on the simplex of d = 2/epsilon vertices, started at a vertex.

    All components are equal. After t linear minimisations, at most t + 1 entries are positive. So
    f(x) - min f >= (1/(t+1) - 1/d)/2 for every method.
    """
    d = math.ceil(2.0 / epsilon)
    vertex, ones = np.eye(d)[0], np.ones(d)
    return SeparableQuadratic(
        set=Simplex(d), start_point=vertex, noise=np.zeros((n, d)), weights=ones, centre=ones / d
    )


# --- what is claimed ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """Claimed exponents of one method's oracle calls, and the problems on which they are fitted.

    Attributes
    ----------
    powers, exponent_in_n
        Exponents of 1/epsilon by the kind of calls, and the exponent of n in SFO.
    criterion
        The quantity that is at most epsilon, one of `criteria`.
    measure
        The measure of a problem and a point, in the units of the guarantee.
    family
        The problems, by epsilon and n.
    epsilons
        The accuracies of the fits in 1/epsilon, over a decade or more.
    epsilon_and_ns_of_n_fit
        The accuracy of the fit in n, and the values of n in it.
    uses_last_iterate
        Whether the guarantee is for the last iterate, not for the mean over all.
    source
        Source of the orders.
    """

    powers: Mapping[str, float]
    exponent_in_n: float
    criterion: str
    measure: Callable[[Any, Any], float]
    family: Instance
    epsilons: tuple[float, ...]
    epsilon_and_ns_of_n_fit: tuple[float, list[int]]
    uses_last_iterate: bool
    source: str

    @property
    def orders(self) -> dict[str, tuple[float, float]]:
        """Claimed exponents of 1/epsilon and of n, for each kind of oracle calls."""
        return {
            k: (power, self.exponent_in_n if k == "SFO" else 0.0)
            for k, power in self.powers.items()
        }

    @property
    def delta_power_of_epsilon(self) -> float:
        """Exponent a of the problems' f(x_0) - min f, which is proportional to epsilon^a.

        The fits divide it out.
        """
        return 0.0 if self.uses_last_iterate else float(self.family.parameters.get("shrink", 1.0))


_FAMILIES: Mapping[str, Callable[..., Any]] = {
    "bowl": make_bowl_problem,
    "slope": make_ball_slope_problem,
    "simplex": uniform_simplex_problem,
}

_MEASURES: Mapping[str, Callable[[Any, Any], float]] = {
    "gradient": compute_squared_gradient_norm,
    "mapping at 1/L": partial(gradient_mapping_sq_with_multiple, smoothness_multiple=1.0),
    "mapping at 1/(4L)": partial(gradient_mapping_sq_with_multiple, smoothness_multiple=4.0),
    "gap": path_mean.gap,
    "suboptimality": quadratics.suboptimality,
}


def _read_rows() -> dict[str, TableRow]:
    """Return the rows of ``table1.toml`` by the method's name."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {
        name: _make_row(**{**table["kinds"][row.pop("kind")], **row})
        for name, row in table["rows"].items()
    }


def _make_row(
    *,
    family: tuple[str, Mapping[str, Any]],
    epsilons: tuple[float, float, int],
    measure: str,
    n: str = "0",
    fit_in_n: tuple[float, list[int]] = (0.0, []),
    uses_last_iterate: bool = False,
    **fields: Any,
) -> TableRow:
    """Return a method's row of claimed exponents, from its fields in ``table1.toml``.

    Fits use fewer than two decades where the number of calls grows fast.
    """
    (title, parameters), (largest, decades, points) = family, epsilons
    return TableRow(
        exponent_in_n=float(Fraction(n)),
        measure=_MEASURES[measure],
        family=make_instance(_FAMILIES[title], **parameters).with_title(title),
        epsilons=tuple(largest * np.logspace(0.0, -decades, points)),
        epsilon_and_ns_of_n_fit=fit_in_n,
        uses_last_iterate=uses_last_iterate,
        **fields,
    )


ROWS: Mapping[str, TableRow] = _read_rows()
"""The rows by the method's name."""


# --- how it is tested -----------------------------------------------------------------------------


def compute_guarantee(trial: Trial, epsilon: float, c: Constants | None) -> float:
    """Return the bound that the theorem guarantees, in the units of the row's measure."""
    promise = trial.original_algorithm.guarantee
    return float(promise.bound(epsilon, c) ** (1.0 / promise.power))


def make_call_counter(
    trial: Trial, row: TableRow, epsilon: float, **sizes: int
) -> Callable[[int], dict[str, float]]:
    """Return a function of a seed that counts the calls of a run until the guarantee is met.

    The counts are by kind of calls; they are infinite if the guarantee is never met. All runs are
    on one problem for the accuracy `epsilon`. `sizes` is n, if it is not the family's default.
    """
    problem = row.family(epsilon, **sizes)
    c = problem.constants(problem.start())
    guarantee = compute_guarantee(trial, epsilon, c)

    def count_calls(seed: int) -> dict[str, float]:
        algorithm = trial.make_scheduled(epsilon, c)
        last, total = row.uses_last_iterate, 0.0
        moves = trial.follow_with_previous_point(problem, algorithm, seed)
        for t, (x, step) in enumerate(moves, 1):
            current = row.measure(problem, step.state.x if last else x)
            total += current
            if (current if last else total / t) <= guarantee:
                spent = step.counts()
                full = spent.sfo / problem.n
                return {"SFO": spent.sfo, "FO": full, "LO": spent.lo, "PO": spent.po}
        return dict.fromkeys(("SFO", "FO", "LO", "PO"), math.inf)

    return count_calls


def check_row(trial: Trial, *, row: TableRow) -> Evidence:
    """Test the claimed exponents, in 1/epsilon and in n, of the calls until the guarantee is met.

    The exponent in n is tested only if the row has values of n.
    """
    x = 1.0 / np.array(row.epsilons)
    seeds = trial.seeds(statistics.MOST_SEEDS, "runs")
    counters = [make_call_counter(trial, row, epsilon) for epsilon in row.epsilons]
    rows = statistics.SeedRows(lambda seed: [count(seed) for count in counters], seeds)
    parts, claimed = dict[str, statistics.Decision](), dict[str, float]()
    for kind, power in row.powers.items():

        def counts(k: int, kind: str = kind) -> Any:
            return np.array([[item[kind] for item in line] for line in rows(k)])

        product, name = -row.delta_power_of_epsilon * np.log(x), f"{kind} in 1/epsilon"
        fit = statistics.make_fit_function(x, counts, log_known_factors=product, least_decades=0.99)
        parts[name], claimed[name] = statistics.decide_exponent(fit, power), power
    runs, (epsilon, sizes) = len(rows.computed) * x.size, row.epsilon_and_ns_of_n_fit
    if sizes:
        growing = [make_call_counter(trial, row, epsilon, n=n) for n in sizes]
        grown = statistics.SeedRows(lambda seed: [count(seed)["SFO"] for count in growing], seeds)
        name, fit = "SFO in n", statistics.make_fit_function(sizes, grown, least_decades=1.99)
        claimed[name] = row.exponent_in_n
        decision = statistics.decide_exponent(fit, row.exponent_in_n)
        parts[name] = statistics.cap_at_holds_by_schedule_alone(decision)
        runs += len(grown.computed) * len(sizes)
    return Evidence(statistics.combine_all(parts), claimed, runs)


def _claim(name: str, row: TableRow) -> Claim:
    text = ", ".join(f"{ComplexityOrder(*order)} {kind}" for kind, order in row.orders.items())
    mean = "in the mean, f convex" if row.uses_last_iterate else "in the mean over the iterates"
    return Claim(
        name=f"relatives-table1-{name}",
        source=row.source,
        kind="rate",
        statement=f"{row.criterion} {mean} after {text}, in order",
        check=partial(check_row, row=row),
        instances=(row.family,),
        algorithm=name,
        assumptions=("f convex",) if row.uses_last_iterate else ("L = L_ms", "L_f"),
        schedule="theory, cut where its promise is kept",
        expected_seconds=(None, 15.0),
        complexity=complexity(name, row.criterion, **row.orders),
    )


TABLE = {name: _claim(name, row) for name, row in ROWS.items()}
