"""Section 4 of shen2019: the mean squared error of each gradient estimate."""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pfbench.base.protocols import Algorithm
from pfbench.base.status import Verdict
from pfbench.claims.shen2019.epoch_estimators import (
    CURVATURE_AIDED,
    MEAN_SQUARED,
    METHODS,
    error_law,
    estimate_error_vectors,
    make_law_attaining_path,
)
from pfbench.verification import Claim, Evidence, Floats, Trial, make_instance, statistics
from pfbench.verification.instruments import enumerated_random
from pfbench.verification.instruments.forced_path import ForcedPath
from pfbench.verification.reproducibility import (
    check_reproducible,
    check_seed_changes_runs,
    mark_unrepeatable,
)
from pfbench.verification.units import LENGTH, SQUARE, formula

LAWS = {
    "sg": ("sigma^2/S", 0.0, 0.0),
    "svrg": ("L_ms^2 (j eta)^2/S", 2.0, 2.0),
    "spiderg": ("L_ms^2 j eta^2/S", 1.0, 2.0),
    "casvrg": ("L2^2 (j eta)^4/(4S)", 4.0, 4.0),
    "caspiderg": ("L2^2 eta^4 j(4j^2-1)/(12S)", 3.0, 4.0),
}
"""Each error law, and its exponents in j and in eta."""

_ROUNDING = 1e-13
"""Largest error at a snapshot, in units of the gradient, which has length 1."""


def slack_forced_path(estimator: str) -> ForcedPath:
    """Return a forced path on which the mean squared error is strictly below its bound.

    If draws cannot be enumerated, a confidence limit of a sampled mean can lie below the bound.
    """
    slopes = {"L": 1.0, "L2": 0.5}
    if estimator == "sg":
        slopes = {"sigma": 0.5, "L": 1.0}
    elif estimator in CURVATURE_AIDED:
        slopes = {"L": 1.0, "L2": 1.0, "kappa": 0.4}
    return ForcedPath(2048, 65, begin=0.5, **slopes)


FEWEST = {
    name: make_instance(make_law_attaining_path, estimator=name, n=4, d=3) for name in METHODS
}
MANY = {
    name: make_instance(make_law_attaining_path, estimator=name, n=2048, d=65) for name in METHODS
}
BELOW = {name: make_instance(slack_forced_path, estimator=name) for name in METHODS}


def check_law(trial: Trial, *, estimator: str) -> Evidence:
    """Test the bound of an estimator's error j steps after a snapshot, and its growth with j.

    Also test how the error grows with the step size eta and the batch size S.
    """
    _, in_j, in_eta = LAWS[estimator]
    parts = {
        "inequality": _decide_inequality_in_j(trial, estimator),
        "exponent in j": _decide_exponent_in_j(trial, estimator),
        "exponent in eta": _decide_exponent_in_eta_or_S(trial, estimator, "eta", in_eta),
        "exponent in S": _decide_exponent_in_eta_or_S(trial, estimator, "S", -1.0),
    }
    claimed = {"exponent in j": in_j, "exponent in eta": in_eta, "exponent in S": -1.0, "ratio": 1}
    return Evidence(statistics.combine_all(parts), claimed, 512)


def _decide_inequality_in_j(trial: Trial, estimator: str) -> statistics.Decision:
    """Decide for each j if the mean squared error j steps after a snapshot is at most its bound.

    All draws of two epochs with one sample, and of one epoch with two samples, are enumerated. If
    that is impossible, the draws are sampled, on a path where the error is strictly below the
    bound.
    """
    results = []
    for S, T in ((1, 2), (2, 2)) if estimator == "sg" else ((1, 6), (2, 3)):
        try:
            results.append(_errors_and_bounds(trial, estimator, S, T))
        except enumerated_random.NotEnumerable as why:
            return mark_unrepeatable(_decide_sampled(trial, estimator), why)
    means, laws = np.concatenate(results, axis=1)
    steps = laws > 0.0
    if (means[~steps] > _ROUNDING**2).any():
        words = "The estimate at a snapshot is not the gradient."
        return statistics.Decision("violated", words, {}, None)
    # The step shrinks by the weight eta at each t, which only lowers the ratio.
    decision = statistics.decide_inequality(means[steps] / laws[steps], 1e-6)
    if decision.verdict == Verdict.VIOLATED:
        problem = FEWEST[estimator]()
        check_seed_changes_runs(trial, problem, _make_algorithm(trial, problem, S, 3, T, 1e-6))
    return decision


def _errors_and_bounds(trial: Trial, estimator: str, S: int, T: int) -> tuple[Floats, Floats]:
    """Return an estimator's mean squared errors over all draws, and their bounds, at each t < T."""
    p, eta = 3, 1e-6
    problem = FEWEST[estimator]()
    check_reproducible(trial, problem, _make_algorithm(trial, problem, S, p, T, eta))

    def squares(rng: np.random.Generator) -> Floats:
        return _error_norms_sq(trial, problem, S, p, T, eta, rng=rng)

    mean = sum(chance * square for chance, square in enumerated_random.enumerate_draws(squares))
    return np.asarray(mean), _predict_errors_along_run(problem, estimator, p, T, eta, S)


def _decide_sampled(trial: Trial, estimator: str) -> statistics.Decision:
    S, p, T, eta = 10, 12, 24, 1e-6
    problem = BELOW[estimator]()
    laws = _predict_errors_along_run(problem, estimator, p, T, eta * 0.5, S)
    steps = laws > 0.0

    def ratio(seed: int) -> float:
        squares = _error_norms_sq(trial, problem, S, p, T, eta, seed=seed)
        return float(np.mean(squares[steps] / laws[steps]))

    return trial.decide_mean_sequentially(ratio, purpose="sampled law", batch=20, limit=200)[0]


def _predict_errors_along_run(
    problem: ForcedPath, estimator: str, p: int, T: int, eta: float, S: int
) -> Floats:
    """Return the bound of the mean squared error at each t < T (0 at snapshots), shape (T,)."""
    constants = problem.constants(problem.start())
    numbers = {"L": constants.L_ms, "L2": constants.L2_ms, "sigma2": constants.sigma2}
    distances = [1 if estimator == "sg" else t % p for t in range(T)]
    return np.array([error_law(estimator, j, eta, S, **numbers) if j else 0.0 for j in distances])


def _make_algorithm(
    trial: Trial, problem: ForcedPath, S: int, p: int, T: int, eta: float
) -> Algorithm:
    return trial.make(batch=S, period=p, iterations=T, step=eta / problem.length)


def _error_norms_sq(
    trial: Trial, problem: ForcedPath, S: int, p: int, T: int, eta: float, **stream: Any
) -> Floats:
    """Return |g_t - grad f(x_t)|^2 for each t < T in a run along the forced path; shape (T,).

    The first step has the length eta. `stream` is the argument `rng` or `seed` of `Trial.follow`.
    """
    steps = trial.follow(problem, _make_algorithm(trial, problem, S, p, T, eta), **stream)
    return np.array([float(error @ error) for error in estimate_error_vectors(problem, steps, T)])


def _decide_exponent_in_j(trial: Trial, estimator: str) -> statistics.Decision:
    """Decide how the mean squared error grows with the number j of steps since a snapshot.

    The fit is over 4 <= j < p.
    """
    T, first = 40, 4
    p = 1 if estimator == "sg" else T
    problem = MANY[estimator]()

    def mean(k: int) -> Floats:
        seeds = trial.seeds(trial.choose_by_effort(16, 30), f"j {k}")
        runs = [_error_norms_sq(trial, problem, 10, p, T, 1e-7, seed=seed) for seed in seeds]
        return np.asarray(np.mean(runs, axis=0))

    rows = statistics.SeedRows(lambda k: mean(k)[first:], range(statistics.MOST_SEEDS))
    return _decide_exponent(np.arange(first, T), rows, LAWS[estimator][1], least_decades=0.9)


def _decide_exponent_in_eta_or_S(
    trial: Trial, estimator: str, subject: str, claimed: float
) -> statistics.Decision:
    """Decide the exponent of the step size eta or of the batch size S in the mean squared error.

    The fit is over two decades.

    The error is averaged over an epoch.
    """
    problem = MANY[estimator]()
    p = 1 if estimator == "sg" else 8
    grid = (
        np.logspace(-8, -6, 8) if subject == "eta" else np.unique(np.logspace(0.3, 2.4, 8).round())
    )

    def means(seed: int) -> list[float]:
        means = []
        for column, number in enumerate(grid):
            eta, S = (number, 10) if subject == "eta" else (1e-7, int(number))
            seeds = np.random.SeedSequence((seed, column)).generate_state(
                trial.choose_by_effort(2, 8)
            )
            runs = [_error_norms_sq(trial, problem, S, p, 8, eta, seed=int(s)) for s in seeds]
            means.append(float(np.mean(runs)))
        return means

    rows = statistics.SeedRows(means, trial.seeds(statistics.MOST_SEEDS, subject))
    return _decide_exponent(grid, rows, claimed)


def _decide_exponent(
    point: npt.ArrayLike, rows: statistics.SeedRows[Any, Any], claimed: float, **options: float
) -> statistics.Decision:
    """Decide whether the mean squared error scales in `point` with the claimed exponent.

    The decision is inconclusive if an error is exactly 0.
    """
    if not np.all(rows(1)):
        return statistics.Decision(
            "inconclusive", "Without an error there is no exponent.", {}, None
        )
    return statistics.decide_exponent(
        statistics.make_fit_function(point, rows, **options), claimed, statistics.LAW_MARGIN
    )


LAW = {
    name: Claim(
        name=f"shen2019-mse-{name}",
        source="shen2019 section 4, lemmas of the estimators",
        kind="law",
        statement=f"E|g-grad f|^2 <= {LAWS[name][0]}",
        check=partial(check_law, estimator=name),
        formulas=(formula(error_law, SQUARE, {"estimator": name}, eta=LENGTH),),
        instances=(FEWEST[name], MANY[name], BELOW[name]),
        algorithm=method.name,
        assumptions=(MEAN_SQUARED,),
        expected_seconds=(0.7, 2.0),
    )
    for name, method in METHODS.items()
}
