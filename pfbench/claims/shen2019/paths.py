"""Paths on which the error laws are attained, errors along them, and exact mean squares."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from pfbench.base.protocols import Problem
from pfbench.claims.shen2019.epoch_estimators import CURVATURE_AIDED, RECURSIVE
from pfbench.verification import Floats, NotTestable, StepRecord
from pfbench.verification.instruments.forced_path import ForcedPath
from pfbench.verification.statistics import Decision, EProcess, is_doubtful
from pfbench.verification.step_record import is_multiple, is_unit_length


def make_law_attaining_path(estimator: str, n: int, d: int, length: float = 1.0) -> ForcedPath:
    """Return signed bilinear and cubic components on a segment.

    The path is forced, and each component attains L and L2 along it, with balanced signs. So the
    error law of the estimator holds with equality, up to the weight by which a step shrinks the
    rest of the segment.
    """
    if estimator == "sg":
        return ForcedPath(n, d, sigma=1.0, L=0.0, length=length)
    return ForcedPath(n, d, L=1.0, L2=float(estimator in CURVATURE_AIDED), length=length)


def iterate_errors(problem: Problem, steps: Iterable[StepRecord]) -> Iterator[Floats]:
    """Yield g_t - grad f(x_t) along a run.

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
    """Return g_t - grad f(x_t) of a step; raise as `iterate_errors` does."""
    g = step.estimate
    if g.shape != gradient.shape:
        raise NotTestable(f"its estimate has shape {g.shape}, the gradient {gradient.shape}")
    if step.state.estimate is None and _is_normalised_or_scaled(g, gradient):
        raise NotTestable(
            "it minimises a multiple of its estimate, and does not yield the estimate"
        )
    return g - gradient


def _is_normalised_or_scaled(g: Floats, gradient: Floats) -> bool:
    """Return whether the minimised vector is no estimate: a multiple of g, or of length 1."""
    length, true = float(np.linalg.norm(g)), float(np.linalg.norm(gradient))
    if abs(length - true) <= 1e-9 * true:
        return False
    return is_multiple(g, gradient) or is_unit_length(g)


def estimate_errors(problem: Problem, steps: Iterable[StepRecord], T: int) -> list[Floats]:
    """Return g_t - grad f(x_t) for t < T.

    Raises
    ------
    NotTestable
        As `iterate_errors`; also if the number of yielded states is not T.
    """
    results = list(iterate_errors(problem, steps))
    if len(results) != T:
        raise NotTestable(f"it yields {len(results)} states in {T} iterations, not one in each")
    return results


def decide_not_rejected(ratios: Sequence[float], subject: str = "(9)") -> Decision:
    """Decide a bound that is met with equality, by an e-process that may reject it.

    No confidence limit of a mean could lie below such a bound.

    Parameters
    ----------
    ratios
        Measured over bound, e.g. squared errors over epsilon^2/4.
    subject
        Name of the bound in the reason.
    """
    process = EProcess(1.0)
    for ratio in ratios:
        process.add(ratio)
    p_value = process.p_value
    measured = {"sampled ratio": float(np.mean(ratios)), "log_e_value": process.log_largest}
    if process.has_rejected:
        return Decision("violated", f"The e-process rejects {subject}.", measured, p_value)
    if is_doubtful(p_value):
        reason = f"The e-process is evidence against {subject}, but rejects nothing."
        return Decision("inconclusive", reason, measured, p_value)
    return Decision("holds", f"The e-process does not reject {subject}.", measured, p_value)


def exact_mean_squared_errors(estimator: str, problem: ForcedPath, eta: float, p: int) -> Floats:
    """Return E|g - grad f|^2 for S = 1 at j = 0 .. p-1 of NFWU from the start, shape (p,).

    It is exact, as single draws are enumerated. Draws are independent and have mean 0, so the error
    of a recursive estimate is the sum of the mean squares of its steps.
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
    """Return E|d_i - E d_i|^2 of single draws; the components repeat after 2 (d-1).

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
