"""Table 1 of shen2019, and crossovers: the least cost over the S and p for which (9) holds.

The cost is the number of component gradients in an iteration.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pfbench.claims.shen2019.epoch_estimators import (
    MEAN_SQUARED,
    METHODS,
    error_law,
    estimate_error,
    make_law_attaining_path,
)
from pfbench.verification import Claim, Evidence, Floats, Instance, Trial, make_instance, statistics
from pfbench.verification.claim import GAP, complexity
from pfbench.verification.units import GRADIENT, formula

# --- the least cost ------------------------------------------------------------------------------


@dataclass(frozen=True)
class MinimumCost:
    """Batch S and period p with the least cost for which condition (9) of shen2019 holds.

    Attributes
    ----------
    cost
        n/p + 2S(p-1)/p; S for SG.
    S, p
        Integers that attain it.
    """

    cost: float
    S: int
    p: int


def find_min_cost(
    estimator: str, n: int, epsilon: float, *, L: float = 1.0, L2: float = 1.0, sigma2: float = 1.0
) -> MinimumCost:
    """Return the least cost over batches S and periods p with E|g - grad f|^2 <= epsilon^2/4.

    The cost is the number of component gradients in an iteration. The step is eta = epsilon/L, and
    the error is largest at j = p-1. The cost first decreases and then increases in p, up to the
    rounding of S. So a fine geometric grid of p, refined around its best point, finds the least
    cost.
    """
    if estimator == "sg":
        S = math.ceil(4.0 * sigma2 / epsilon**2)
        return MinimumCost(float(S), S, 1)

    def cost_at_period(p: int) -> MinimumCost:
        law = error_law(estimator, p - 1, epsilon / L, 1.0, L=L, L2=L2, sigma2=sigma2)
        S = max(1, math.ceil(4.0 * law / epsilon**2 * (1.0 - 1e-12)))
        return MinimumCost((n + 2.0 * S * (p - 1)) / p, S, p)

    def best(periods: set[int]) -> MinimumCost:
        return min((cost_at_period(p) for p in periods if 2 <= p <= n), key=lambda cost: cost.cost)

    grid = {round(2.0 * 1.05**k) for k in range(math.ceil(math.log(n) / math.log(1.05)))}
    coarse = best(grid)
    around = range(int(coarse.p / 1.1), math.ceil(coarse.p * 1.1) + 1)
    step = max(1, len(around) // 400)
    return best({*around[::step], coarse.p})


@dataclass(frozen=True)
class PathCase:
    """Problem that forces one path on all methods, for one accuracy; it attains the error bound.

    The least batch for which (9) holds is found from measured errors. The period with the least
    cost is found from measured costs. The law is used only for the period at which the search
    begins.

    Attributes
    ----------
    trial
        Trial that makes the runs.
    path
        The path; n is a multiple of 2(d-1), d its dimension.
    n, epsilon
        Number of components, and accuracy.
    """

    trial: Trial
    path: Instance
    n: int
    epsilon: float

    def cheapest_period(self, seeds: Sequence[int]) -> int:
        """Return the period with the least cost, averaged over the given seeds.

        The period is multiplied or divided by `_STRIDE` while the cost decreases.
        """

        def mean(p: int) -> float:
            return float(np.mean([self._min_sfo_per_iteration_uncapped(p, seed) for seed in seeds]))

        p = find_min_cost(self.path.parameters["estimator"], self.n, self.epsilon).p
        costs = {p: mean(p)}
        for stride in (_STRIDE, 1.0 / _STRIDE) if p > 1 else ():
            while (largest := max(2, round(p * stride))) not in costs:
                costs[largest] = mean(largest)
                if costs[largest] >= costs[p]:
                    break
                p = largest
        return p

    def min_sfo_per_iteration(self, p: int, seed: int) -> float:
        """Return the component gradients per iteration, for the least batch that period p allows.

        A batch is allowed if condition (9) of shen2019 holds: the squared error is at most
        epsilon^2/4.

        The result is at most n, because a full gradient has no
        error.
        """
        return min(self._min_sfo_per_iteration_uncapped(p, seed), float(self.n))

    def _min_sfo_per_iteration_uncapped(self, p: int, seed: int) -> float:
        """Return the result of `sfo_per_iteration` before it is limited to n.

        If a batch S has the squared error r epsilon^2/4, the next batch is r S, until r is near 1.
        """
        S = _FIRST
        for sample in np.random.SeedSequence(seed).generate_state(_TRIES):
            cost, ratio = self.sfo_per_iteration_and_final_error_ratio(S, p, int(sample))
            expected = max(1.0, S * ratio)
            if expected >= self.n:
                return cost * expected / S
            if max(expected, S) <= _STRIDE * min(expected, S):
                return self.sfo_per_iteration_and_final_error_ratio(math.ceil(expected), p, seed)[0]
            S = math.ceil(expected)
        return float(self.n)

    def sfo_per_iteration_and_final_error_ratio(
        self, S: int, p: int, seed: int
    ) -> tuple[float, float]:
        """Return an epoch's component gradients per iteration, and its final error over its bound.

        The error is |g - grad f|^2, and its bound epsilon^2/4. The path has p steps of length
        epsilon. The segment is so long that the steps hardly shrink.
        """
        length = 1e6 * self.epsilon * p
        problem = self.path(n=self.n, length=length)
        algorithm = self.trial.make(batch=S, period=p, iterations=p, step=self.epsilon / length)
        *_, (x, step) = self.trial.follow_with_previous_point(problem, algorithm, seed)
        error = estimate_error(step, problem.gradient(x))
        return step.counts().sfo / p, float(error @ error) / (self.epsilon**2 / 4.0)


_STRIDE = 1.5
"""Factor between compared periods; batches that differ by less count as equal."""

_FIRST, _TRIES = 16, 12
"""First batch of a search, and the largest number of batches that it tries."""


def make_path_case(trial: Trial, path: Instance, n: float, epsilon: float) -> PathCase:
    """Return the `PathCase` for n, rounded to a multiple that the path's dimension requires."""
    unit = 2 * (path.parameters["d"] - 1)
    return PathCase(trial, path, unit * max(1, round(n / unit)), float(epsilon))


# --- table 1 --------------------------------------------------------------------------------------

ORDERS = {
    "sg": complexity("sfw", GAP, SFO=4.0, LO=2.0),
    "svrg": complexity("svfw", GAP, SFO=(2.0, 2 / 3), LO=2.0),
    "spiderg": complexity("nfwu-spiderg", GAP, SFO=(2.0, 1 / 2), LO=2.0),
    "casvrg": complexity("nfwu-casvrg", GAP, SFO=(1.6, 0.8), LO=2.0),
    "caspiderg": complexity("nfwu-caspiderg", GAP, SFO=(1.5, 0.75), LO=2.0),
}
"""The rows of the table, for T = L Delta/eps^2 iterations."""

PATHS = {
    name: make_instance(make_law_attaining_path, estimator=name, n=2**20, d=129) for name in METHODS
}
"""Paths on which the squared error is the sum of 128 independent squares."""

_FOR_PERIOD = 4
"""Number of seeds for the choice of the period, in addition to those of the costs."""

GRIDS: Mapping[str, Mapping[str, tuple[Floats, float, float]]] = {
    "sg": {"1/epsilon": (np.logspace(-2.25, -0.25, 5), 1e8, 2.0)},
    "svrg": {"n": (np.logspace(4.5, 6.5, 5), 1e-3, 2 / 3)},
    "spiderg": {"n": (np.logspace(4, 6, 5), 1e-3, 1 / 2)},
    "casvrg": {
        "n": (np.logspace(4, 6, 4), 1e-3, 0.8),
        "1/epsilon": (np.logspace(-5, -3, 4), 1e5, -0.4),
    },
    "caspiderg": {
        "n": (np.logspace(3.5, 5.5, 4), 1e-3, 0.75),
        "1/epsilon": (np.logspace(-5, -3, 4), 1e5, -0.5),
    },
}
"""For each estimator and exponent: the grid, the fixed other number, the claimed exponent."""


def check_table_entry(trial: Trial, *, estimator: str) -> Evidence:
    """Test shen2019's table 1: exponents of the least cost at which errors satisfy shen2019 (9).

    The cost is the number of component gradients in an iteration, counted in runs.
    """
    parts, claimed, runs = {}, {}, 0
    for key, (grid, other, exponent) in GRIDS[estimator].items():
        seeds = trial.seeds(statistics.MOST_SEEDS + _FOR_PERIOD, key)
        cases = []
        for number in grid:
            n, epsilon = (number, other) if key == "n" else (other, number)
            current = make_path_case(trial, PATHS[estimator], n, epsilon)
            cases.append((current, current.cheapest_period(seeds[statistics.MOST_SEEDS :])))

        def costs(seed: int, cases: Sequence[tuple[PathCase, int]] = cases) -> list[float]:
            return [case.min_sfo_per_iteration(p, seed) for case, p in cases]

        rows = statistics.SeedRows(costs, seeds[: statistics.MOST_SEEDS])
        fit = statistics.make_fit_function(
            grid if key == "n" else 1.0 / grid, rows, least_decades=1.99
        )
        parts[f"exponent in {key}"] = statistics.decide_exponent(fit, exponent)
        claimed[f"exponent in {key}"] = exponent
        runs += len(rows.computed) * len(grid)
    return Evidence(statistics.combine_all(parts), claimed, runs)


_STATEMENTS = {
    "sg": "epsilon^-2 while 4 sigma^2/epsilon^2 < n",
    "svrg": "n^(2/3)",
    "spiderg": "n^(1/2)",
    "casvrg": "n^0.8 epsilon^0.4, n^-2 << epsilon << n^-1/3",
    "caspiderg": "n^0.75 epsilon^0.5, n^-1.5 << epsilon << n^-0.5",
}

TIMES = {
    "sg": (2.0, 2.0),
    "svrg": (4.0, 4.0),
    "spiderg": (4.0, 4.0),
    "casvrg": (9.0, 9.0),
    "caspiderg": (None, 40.0),
}

TABLE = {
    name: Claim(
        name=f"shen2019-table1-{name}",
        source="shen2019 table 1",
        kind="rate",
        statement=f"least SFO an iteration with (9): {_STATEMENTS[name]}",
        check=partial(check_table_entry, estimator=name),
        instances=(PATHS[name],),
        algorithm=method.name,
        assumptions=(MEAN_SQUARED,),
        schedule="least cost over S and p for which (9) is measured",
        expected_seconds=TIMES[name],
        complexity=ORDERS[name],
    )
    for name, method in METHODS.items()
}


# --- crossovers, section 4 ------------------------------------------------------------------------


@dataclass(frozen=True)
class Crossover:
    """Crossover: an estimator costs less than SPIDERG if epsilon < factor (L^2/L2) n^power.

    The cost is counted in component gradients.
    """

    factor: float
    power: float

    def epsilon(self, n: float, L: float = 1.0, L2: float = 1.0) -> float:
        """Return the accuracy epsilon below which the estimator is cheaper than SPIDERG."""
        return float(self.factor * L**2 / L2 * n**self.power)


CROSSOVERS = {"casvrg": Crossover(15.4, -0.75), "caspiderg": Crossover(6.4, -0.5)}
"""Crossovers of the least costs with SPIDERG's, by the constants of the corrected laws."""


def check_crossover_with_spiderg(trial: Trial, *, estimator: str) -> Evidence:
    """Test that an estimator costs less than SPIDERG below the stated accuracy, and not above.

    The costs are component gradients, counted in runs on both sides of the crossover.
    """
    spider = replace(trial, subject=replace(trial.subject, algorithm=METHODS["spiderg"]))
    parts, epsilons, runs = {}, {}, 0
    for n in trial.choose_by_effort((1e5,), (1e5, 1e6)):
        epsilon = CROSSOVERS[estimator].epsilon(n)
        for factor in (0.25, 0.8, 1.25, 4.0):
            computed = make_path_case(trial, PATHS[estimator], n, factor * epsilon)
            reference = make_path_case(spider, PATHS["spiderg"], n, factor * epsilon)
            few, many = (computed, reference) if factor < 1.0 else (reference, computed)
            seeds = trial.seeds(statistics.MOST_SEEDS + _FOR_PERIOD, f"{n} {factor}")
            p = few.cheapest_period(seeds[statistics.MOST_SEEDS :])
            q = many.cheapest_period(seeds[statistics.MOST_SEEDS :])

            def ratio(
                seed: int, few: PathCase = few, many: PathCase = many, p: int = p, q: int = q
            ) -> float:
                return few.min_sfo_per_iteration(p, seed) / many.min_sfo_per_iteration(q, seed)

            ratios = statistics.SeedRows(ratio, seeds[: statistics.MOST_SEEDS])
            parts[f"n={n:g}, {factor:g} of the crossover"] = statistics.decide_median(ratios, 1.0)
            runs += 2 * len(ratios.computed)
        epsilons[f"n={n:g}: crossover"] = epsilon
    return Evidence(statistics.combine_all(parts), epsilons, runs)


CROSSOVER = tuple(
    Claim(
        name=f"shen2019-crossover-{name}",
        source="shen2019 section 4, corrected constants",
        kind="separation",
        statement=(
            f"{name.upper()} needs fewer SFO than SPIDERG below epsilon = {point.factor:g} (L^2/L2) "  # noqa: E501
            f"n^{point.power:g}, not above"
        ),
        check=partial(check_crossover_with_spiderg, estimator=name),
        formulas=(formula(partial(Crossover.epsilon, point), GRADIENT),),
        instances=(PATHS[name], PATHS["spiderg"]),
        algorithm=METHODS[name].name,
        assumptions=(MEAN_SQUARED,),
        schedule="least cost over S and p for which (9) is measured",
        expected_seconds=(6.0, 30.0),
    )
    for name, point in CROSSOVERS.items()
)
