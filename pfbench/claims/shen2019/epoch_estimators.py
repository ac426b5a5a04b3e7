"""The five estimators of shen2019: laws of their errors, problems, and errors along paths."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pfbench.algorithms.nfwu import NFWU, NFWUCASPIDERG, NFWUCASVRG, NFWUSG, NFWUSPIDERG, NFWUSVRG
from pfbench.base.protocols import Problem
from pfbench.problems.linear_models import LogCosh
from pfbench.problems.matrix_recovery import RobustMatrixRecovery
from pfbench.problems.observations import draw_synthetic_entries
from pfbench.problems.row_data import draw_synthetic_rows
from pfbench.sets import L2Ball
from pfbench.verification import Floats, Instance, NotTestable, StepRecord, Trial
from pfbench.verification.instruments.forced_path import ForcedPath
from pfbench.verification.instruments.slopes import Valley
from pfbench.verification.statistics import Decision, is_doubtful, max_log_e_value, rejects
from pfbench.verification.step_record import is_positive_multiple, is_unit_length

METHODS: Mapping[str, type[NFWU]] = {
    "sg": NFWUSG,
    "svrg": NFWUSVRG,
    "spiderg": NFWUSPIDERG,
    "casvrg": NFWUCASVRG,
    "caspiderg": NFWUCASPIDERG,
}
"""Algorithm 1 with each of the estimators GE 1 to 5, by the estimator's name."""

CURVATURE_AIDED = frozenset({"casvrg", "caspiderg"})
"""The estimators that use component Hessians."""

RECURSIVE = frozenset({"spiderg", "caspiderg"})
"""The estimators that add to the previous estimate."""

MEAN_SQUARED = "L_ms, L2_ms: mean-squared smoothness of gradients and Hessians"
"""Assumption of the error laws."""


def error_law(
    estimator: str, j: float, eta: float, S: float, *, L: float, L2: float, sigma2: float
) -> float:
    """Return the bound of the mean squared error E|g - grad f|^2, j >= 1 steps after the snapshot.

    The bounds are those of section 4, with the constants that the integral form of the mean value
    theorem gives.
    """
    laws = {
        "sg": sigma2,
        "svrg": L**2 * (j * eta) ** 2,
        "spiderg": L**2 * j * eta**2,
        "casvrg": L2**2 * (j * eta) ** 4 / 4.0,
        "caspiderg": L2**2 * eta**4 * j * (4.0 * j**2 - 1.0) / 12.0,
    }
    return laws[estimator] / S


def log_cosh(n: int, d: int, seed: int = 0) -> LogCosh:
    """Return the log-cosh loss of a linear model with random rows, on a ball.

    All constants in the schedules are known. The initial gap V is not far below the schedules'
    bounds of V.
    """
    features, labels = draw_synthetic_rows(rows=n, columns=d, seed=seed)
    return LogCosh(features, labels, L2Ball(d, 2.0))


def recovery(rows: int, columns: int, seed: int = 0) -> RobustMatrixRecovery:
    """Return robust recovery of a rank-2 matrix in a nuclear-norm ball, as in shen2019, section 6.

    The iterates are stored as factors, so that methods run as they do at the paper's size. D is
    large compared with V, so the bounds of V are far above V.
    """
    data = draw_synthetic_entries(rows=rows, columns=columns, rank=2, density=0.6, seed=seed)
    return RobustMatrixRecovery(data, radius=20.0, sigma=1.0)


def valley(estimator: str, g: float = 8.0) -> Valley:
    """Return a problem on a segment, with L = epsilon = 1: a long descent of slope g, and a valley.

    Its epsilon and L are 1.

    Before the valley, the mean of V reaches half of its bound. A method that passes through the
    valley has V = g epsilon D to the end. In the valley, the sign of the estimate decides each
    step. For SG the components' derivatives differ by sigma. For the other estimators they differ
    as fast as L or L2 allows.
    """
    L, way = 1.0, 40.0
    sigma, phase = (g, 0.5 * math.pi) if estimator not in ("svrg", "spiderg") else (25.0 * g, 0.0)
    gap = g * way - math.sqrt(2.0) * g * g * math.log(2.0) / L
    return Valley(256, g, gap, L, sigma=sigma, phase=phase, overshoot=way)


def draw_problem_of_family(trial: Trial, family: Instance) -> Any:
    """Return a problem of a family (log-cosh or recovery), with data from a seed of the trial."""
    if family.build is recovery:
        return family(seed=trial.seeds(1, "recovery")[0])
    n, d = family.parameters["n"], family.parameters["d"]
    return family(seed=trial.seeds(1, f"log cosh {n} {d}")[0])


def make_law_attaining_path(estimator: str, n: int, d: int, length: float = 1.0) -> ForcedPath:
    """Return a `ForcedPath` along which the estimator's mean squared error equals its bound.

    All methods make the same steps along its segment, and each component attains L and L2 along
    it. The equality is only up to the decreasing step length: each step shrinks the rest of the
    segment.
    """
    if estimator == "sg":
        return ForcedPath(n, d, sigma=1.0, L=0.0, length=length)
    return ForcedPath(n, d, L=1.0, L2=float(estimator in CURVATURE_AIDED), length=length)


def iterate_errors(problem: Problem, steps: Iterable[StepRecord]) -> Iterator[Floats]:
    """Yield the error g_t - grad f(x_t) of the gradient estimate, for each step of a run.

    Raises
    ------
    NotTestable
        If the algorithm shows its estimates neither in what it minimises nor in what it yields.
    """
    x = problem.start()
    for step in steps:
        yield estimate_error(step, problem.gradient(x))
        x = step.state.x


def estimate_error(step: StepRecord, gradient: Floats) -> Floats:
    """Return the error g_t - grad f(x_t) of a step's gradient estimate; raise if it has none.

    It raises the errors of `iterate_errors`.
    """
    g = step.estimate
    if g.shape != gradient.shape:
        raise NotTestable(f"the estimate has shape {g.shape}, not the gradient's {gradient.shape}")
    if step.state.estimate is None and _is_normalised_or_scaled(g, gradient):
        raise NotTestable(
            "the method yields no gradient estimate, and gives lo a multiple of its estimate: "
            "yield the estimate by State(x, at, estimate)"
        )
    return g - gradient


def _is_normalised_or_scaled(g: Floats, gradient: Floats) -> bool:
    """Return whether g, a vector passed to `lo`, is a multiple of the gradient or has length 1.

    Then the vector is not the estimate itself. A vector of the gradient's length counts as the
    estimate.
    """
    length, true = float(np.linalg.norm(g)), float(np.linalg.norm(gradient))
    if abs(length - true) <= 1e-9 * true:
        return False
    return is_positive_multiple(g, gradient) or is_unit_length(g)


def estimate_error_vectors(problem: Problem, steps: Iterable[StepRecord], T: int) -> list[Floats]:
    """Return the errors g_t - grad f(x_t) of a run's gradient estimates for all t < T.

    Raises
    ------
    NotTestable
        As `iterate_errors`; also if the number of yielded states is not T.
    """
    results = list(iterate_errors(problem, steps))
    if len(results) != T:
        raise NotTestable(f"the method yields {len(results)} states in {T} iterations, not {T}")
    return results


def decide_not_rejected(ratios: Sequence[float], subject: str = "(9)") -> Decision:
    """Decide, by an e-process, whether ratios reject the hypothesis that their mean is at most 1.

    The rule is for bounds that hold with equality: no confidence limit of a mean could lie below
    such a bound.

    Parameters
    ----------
    ratios
        Measured over bound, e.g. squared errors over epsilon^2/4.
    subject
        Name of the bound in the reason.
    """
    largest = max_log_e_value(ratios, 1.0)
    p_value = math.exp(-largest)
    measured = {"sampled ratio": float(np.mean(ratios)), "log_e_value": largest}
    if rejects(largest):
        return Decision("violated", f"The e-process rejects {subject}.", measured, p_value)
    if is_doubtful(p_value):
        reason = f"The e-process is evidence against {subject}, but rejects nothing."
        return Decision("inconclusive", reason, measured, p_value)
    return Decision("holds", f"The e-process does not reject {subject}.", measured, p_value)


def exact_mean_squared_errors(estimator: str, problem: ForcedPath, eta: float, p: int) -> Floats:
    """Return the exact E|g - grad f|^2 for batches of 1 at the first p iterations, shape (p,).

    The errors are those of normalised Frank-Wolfe updates from the start. The mean squared errors
    are exact, as all single draws are enumerated. Draws are independent and have mean 0, so the
    error of a recursive estimate is the sum of the mean squares of its steps.
    """
    weight = eta / problem.length
    snapshot = x = problem.start()
    if estimator == "sg":
        return np.array([single_draw_variance(problem, x, None, None)])
    point = snapshot if estimator in CURVATURE_AIDED else None
    variances, end = np.zeros(p), problem.length * np.eye(problem.d)[0]
    for j in range(1, p):
        before, x = x, x + weight * (end - x)
        variances[j] = single_draw_variance(
            problem, x, before if estimator in RECURSIVE else snapshot, point
        )
    return np.cumsum(variances) if estimator in RECURSIVE else variances


def single_draw_variance(
    problem: ForcedPath, x: Floats, y: Floats | None, hessian_point: Floats | None
) -> float:
    """Return the variance over components of the gradient at x, or of its change from y to x.

    It is E|d_i - E d_i|^2. The components of the problem repeat after 2 (d-1), so only these are
    enumerated.

    Parameters
    ----------
    x, y
        d_i = grad f_i(x), or grad f_i(x) - grad f_i(y).
    hessian_point
        Point of the component Hessians that correct d_i; None for no correction.
    """
    sample = []
    for i in range(2 * (problem.d - 1)):
        item = np.array([i])
        d = problem.batch(item, x) if y is None else problem.difference(item, x, y)
        if y is not None and hessian_point is not None:
            d = d - problem.hessian(hessian_point).batch(item, x, y)
        sample.append(d)
    return float(np.var(sample, axis=0).sum())
