"""The geometry of norm balls: one constant in place of two, and a bound of |grad f|_* by the gap.

Pethick et al. 2025 use both rho_2/rho and zeta. The two constants are the same number: both are
the maximum of <x, v> over |x| <= 1 and |v|_2 <= 1. The remark that they are equal is pfbench's.
"""

import math
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.problems.additive_noise import MatrixLeastSquares
from pfbench.problems.wrapper import NormedProblem
from pfbench.sets.catalogue import norm_ball
from pfbench.sets.norms import NormBall, NormProduct
from pfbench.sets.whole_space import WholeMatrices
from pfbench.verification import Claim, Instance, Trial, make_instance, statistics
from pfbench.verification.instruments.normed_quadratics import vector_quadratic
from pfbench.verification.statements.each_instance import Parts, check_each_instance, check_ratios
from pfbench.verification.units import GRADIENT, VALUE, formula

ROUNDING = 1e-9
"""Largest error of an identity, relative to the numbers in it."""

_PAIRS = 40

# --- instances ------------------------------------------------------------------------------------


def make_vector_problem(norm: str) -> NormedProblem:
    """Return the problem sum h_j x_j^2/2 with h = (1, 2, 3, 4), whose steps are taken in `norm`.

    In the l-infinity norm, the smoothness constant is the sum of the h_j, which every vertex
    attains.
    """
    return vector_quadratic(norm, weights=(1.0, 2.0, 3.0, 4.0), begin=(1.0, -1.0, 1.0, -1.0))


def make_matrix_problem(norm: str) -> NormedProblem:
    """Return the problem |A W|^2/2 in a matrix W of shape (3, 5), whose steps are taken in `norm`.

    In the spectral norm, the smoothness constant is |A|_F^2, as A has no more columns than W.
    """
    A = np.random.default_rng(5).standard_normal((4, 3))
    begin = np.eye(3, 5)
    return NormedProblem(
        MatrixLeastSquares(
            set=WholeMatrices((3, 5)),
            start_point=begin,
            noise=np.zeros((1, 3, 5)),
            A=A,
            B=np.zeros((4, 5)),
        ),
        norm_ball(norm, (3, 5)),
    )


def blocks() -> NormedProblem:
    """Return the problem |x|^2/2 for x of three blocks, whose norms have different radii.

    The three blocks of x have the spectral norm, the largest column norm, and the l-infinity norm.
    """
    balls = (
        norm_ball("spectral[radius=2]", (2, 3)),
        norm_ball("max-column-norm[radius=0.7]", (3, 2)),
        norm_ball("linf[radius=0.5]", (4,)),
    )
    plain = vector_quadratic("l2", weights=(1.0,) * 16, begin=(1.0,) * 16)
    return NormedProblem(plain.inner, NormProduct(balls))


_MATRICES = ("spectral", "nuclear", "max-row-norm", "max-column-norm", "linf", "l1")
EVERY = (
    *(
        make_instance(make_vector_problem, norm=f"{name}[radius=1.7]")
        for name in ("l1", "l2", "linf")
    ),
    *(make_instance(make_matrix_problem, norm=f"{name}[radius=1.7]") for name in _MATRICES),
    make_instance(blocks),
)


def extreme_and_random_points(ball: NormBall, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield points at which |x|/|x|_2 or |x|_*/|x|_2 is extreme, and then random points.

    The extreme points have a single nonzero entry, are isometries, have equal entries, or are
    vertices.
    """
    balls = ball.balls if isinstance(ball, NormProduct) else (ball,)
    for number in range(len(balls)):
        for created in (_single_entry_array, _isometry, np.ones):
            parts = [
                created(ball.shape) if number == index else np.zeros(ball.shape)
                for index, ball in enumerate(balls)
            ]
            yield np.concatenate([part.ravel() for part in parts]).reshape(ball.shape)
    for _ in range(_PAIRS):
        vertex = ball.random_vertex(rng)
        yield vertex if isinstance(vertex, np.ndarray) else np.asarray(vertex.matrix())
        yield rng.standard_normal(ball.shape)


def _single_entry_array(shape: tuple[int, ...]) -> Floats:
    entry = np.zeros(shape)
    entry.flat[0] = 1.0
    return entry


def _isometry(shape: tuple[int, ...]) -> Floats:
    """Return a matrix of the given shape with ones on the diagonal; for vectors, one entry is 1."""
    return _single_entry_array(shape) if len(shape) == 1 else np.eye(shape[0], shape[1])


# --- the checks -----------------------------------------------------------------------------------


@check_each_instance({"off": ROUNDING}, statistics.combine_all)
def check_ball_geometry(trial: Trial, instance: Instance, problem: Any) -> Parts:
    """Test that a ball's constants, dual norm, minimisers and projections meet their definitions.

    The constants are zeta, rho_2 and omega. The tests are made at random points, vertices, points
    with a single nonzero entry, and isometries. Vertices, single entries and isometries attain the
    extreme ratios.
    """
    file = trial.open_oracles(problem)
    rng = trial.rng(instance.stream_key)
    return {instance.label: _decide_ball(file, problem.norm, rng)}


def _decide_ball(
    oracles: Any, reference: NormBall, rng: np.random.Generator
) -> statistics.Decision:
    """Decide whether a ball's constants and operations agree with their definitions at many points.

    `reference` is the correct ball. The norm and the test points are those of `reference`.
    """
    ball, points = oracles.norm, list(extreme_and_random_points(reference, rng))
    gradients = [*points, *(rng.standard_normal(reference.shape) for _ in range(_PAIRS))]
    lengths = [float(np.linalg.norm(x)) for x in points]
    duals = [max_inner(reference, x) for x in points]
    deviation = {
        "zeta": max(a / b for a, b in zip(duals, lengths, strict=True)) / ball.zeta - 1.0,
        "rho_2": max(
            float(np.linalg.norm(oracles.lo(g))) for g in gradients
        ) / (ball.radius * ball.zeta) - 1.0,
        "omega": max(reference.norm(x) / b for x, b in zip(points, lengths, strict=True))
        / ball.omega
        - 1.0,
        "dual norm": _max_finite(ball.dual_norm(x) / a - 1.0 for x, a in zip(points, duals, strict=True)),  # noqa: E501
        "lmo": _max_finite(_minimality_error(oracles, reference, g) for g in gradients),
        "free directions": _free_entry_error(oracles, reference),
        "projection": _max_finite(_projection_condition_violation(ball, reference, 3.0 * g) for g in gradients),  # noqa: E501
    }  # fmt: skip
    return statistics.decide_deviations(deviation, ROUNDING)


def _max_finite(numbers: Iterator[float]) -> float:
    return max(numbers, key=abs)


def max_inner(ball: NormBall, x: Floats) -> float:
    """Return the largest <x, v> over the unit ball |v| <= 1, computed at a maximising vertex v."""
    v = ball.lo(x)
    return -float(np.vdot(x, v if isinstance(v, np.ndarray) else v.matrix())) / ball.radius


def _minimality_error(oracles: Any, ball: NormBall, g: Floats) -> float:
    """Return the relative error of lmo(g) in its value or in its norm, whichever is larger.

    The error in value is the relative difference between <g, lmo(g)> and -rho |g|_*. The error in
    norm is the relative excess of |lmo(g)| over rho. The larger of the two is returned.
    """
    v = oracles.lo(g)
    missed = float(np.vdot(g, v)) / (ball.radius * max_inner(ball, g)) + 1.0
    excess = max(0.0, ball.norm(v) / ball.radius - 1.0)
    return missed if abs(missed) > excess else excess


def _free_entry_error(oracles: Any, ball: NormBall) -> float:
    """Return the largest of those entries of lmo(g) that should be 0, divided by the radius.

    If g has a single nonzero entry, the entries that g leaves undetermined should be 0. For g = 0
    all entries should be 0.
    """
    results = [float(np.abs(oracles.lo(np.zeros(ball.shape))).max())]
    v = np.array(oracles.lo(_single_entry_array(ball.shape)))
    v.flat[0] = 0.0
    return max(*results, float(np.abs(v).max())) / ball.radius


def _projection_condition_violation(ball: Any, reference: NormBall, y: Floats) -> float:
    """Return the larger of project(y)'s relative violations of the two conditions of a projection.

    The conditions are |p| <= rho and rho |y - p|_* <= <y - p, p>.
    """
    p = ball.project(y)
    size = reference.radius * float(np.linalg.norm(y)) + 1e-300
    excess = max(0.0, reference.norm(p) / reference.radius - 1.0)
    beaten = reference.radius * max_inner(reference, y - p) - float(np.vdot(y - p, p))
    return max(excess, beaten / size)


def gradient_dual_norm_bound(L: float, gap: float) -> float:
    """Return sqrt(2 L gap), the bound of |grad f(x)|_* for an L-smooth f with f(x) - min f = gap.

    The gap is f(x) - min f. A step (|grad f|_*/(L rho)) lmo(grad f) decreases f by at least |grad
    f|_*^2/(2L), and f cannot fall below min f.
    """
    return math.sqrt(2.0 * L * gap)


def gradient_dual_norm_ratios(trial: Trial, problem: Any) -> Iterator[float]:
    """Yield |grad f(x)|_* over sqrt(2 L gap) at vertices and at random points."""
    ask = trial.open_oracles(problem)
    L, lower = problem.constants(problem.start()).L_norm, problem.inner.minimum_value
    points = extreme_and_random_points(problem.norm, trial.rng(problem.norm.name))
    for x in islice(points, trial.choose_by_effort(40, None)):
        bound = gradient_dual_norm_bound(L, problem.value(x) - lower)
        yield ask.norm.dual_norm(ask.gradient(x)) / bound


# --- the claims -----------------------------------------------------------------------------------

GEOM = Claim(
    name="pethick2025-geom",
    source="pethick2025 table 1, appendix; one constant in place of two: pfbench",
    kind="identity",
    statement=(
        "zeta = max |x|_*/|x|_2 = rho_2/rho, omega = max |x|/|x|_2, min <d, x> = -rho |d|_*, null "
        "directions get 0, and projections are nearest points, as stated for each ball"
    ),
    check=check_ball_geometry,
    instances=EVERY,
    schedule="none: a statement about balls",
    expected_seconds=(0.2, 0.2),
)

DUAL_GAP = Claim(
    name="pethick2025-dual-gap",
    source="pethick2025 assumption 5.1; the bound is pfbench's",
    kind="bound",
    statement="|grad f(x)|_*^2 <= 2 L (f(x) - min f), L the smoothness in the norm",
    check=partial(check_ratios, measure=gradient_dual_norm_ratios),
    instances=EVERY,
    schedule="none: a statement about f",
    assumptions=("|grad f(x) - grad f(y)|_* <= L |x - y|", "f bounded below"),
    expected_seconds=(0.2, 0.2),
    formulas=(formula(gradient_dual_norm_bound, GRADIENT, gap=VALUE),),
)
