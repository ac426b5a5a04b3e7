"""Theorem 3.1 of NorMuon: T_0 steps keep |grad F|_* = 2 epsilon, on a function built along the run.

Let H = (m, 1, ..., 1)' e_1'/sqrt(m^2 + m - 1) and D = (1, ..., 1)' e_1'/sqrt(m), of shape (m, n),
lambda = <H, D>, P = H - lambda D, and q = <D, X - X_0>. The function is

    F(X) = f(q) + (L/(2 |P|^2)) (<P, X - X_0> + 2 epsilon |P|^2/L)^2,
    f'(q) = max over t of max(2 epsilon lambda - L |q - q_t|, 0),

where q_t is the q of X_t. So grad F(X_t) = 2 epsilon lambda D + (L <P, X_t - X_0>/|P|^2 + 2
epsilon) P, whatever the other q_t are: the oracle answers before it knows them. On the line X_0 + q
D this is 2 epsilon H, whose normalised rows are those of D, so that the run stays on the line. As f
falls by 4 epsilon^2 lambda^2/L at most from q_t to q_{t+1}, F(X_0) - min F <= Delta for

    T_0 = floor((Delta L - 2 epsilon^2)/(4 epsilon^2 lambda^2))

steps, which is pfbench's count; the printed one is floor(m Delta L/(32 epsilon^2)).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.problems.base import FiniteSum
from pfbench.problems.wrapper import NormedProblem
from pfbench.sets.catalogue import norm_ball
from pfbench.sets.whole_space import WholeMatrices
from pfbench.verification import Claim, Instance, Trial, make_instance
from pfbench.verification.statements.each_instance import Parts, check_each_instance
from pfbench.verification.statistics import decide_inequality
from pfbench.verification.units import GRADIENT, NUMBER, formula

L, DELTA, EPSILON = 1.0, 1.0, 0.1
"""Constants of the instances; epsilon is below sqrt(Delta L)/4."""

# --- the counts, and the answers ------------------------------------------------------------------


def alignment(m: float) -> float:
    """Return lambda = <H, D> for the matrices H and D of a `RowAnswers` problem with m rows."""
    return (2.0 * m - 1.0) / math.sqrt(m * (m * m + m - 1.0))


def count_printed_steps(m: float, L: float, delta: float, epsilon: float) -> float:
    """Return zhang2026's number of steps m delta L/(32 epsilon^2), before rounding down."""
    return m * delta * L / (32.0 * epsilon**2)


def count_steps(m: float, L: float, delta: float, epsilon: float) -> float:
    """Return pfbench's number of steps with |grad F|_* = 2 epsilon, before rounding down."""
    return (delta * L - 2.0 * epsilon**2) / (2.0 * epsilon * alignment(m)) ** 2


@dataclass(frozen=True, eq=False)
class RowAnswers(FiniteSum):
    """Oracle that answers with gradients of a function F that is built along the run from X_0 = 0.

    Attributes
    ----------
    shape
        (m, n).
    """

    name: ClassVar[str] = "row-answers"
    n: ClassVar[int] = 1

    shape: tuple[int, int]

    @property
    def set(self) -> WholeMatrices:
        """Feasible set: all matrices of this shape."""
        return WholeMatrices(self.shape)

    @cached_property
    def H(self) -> Floats:
        """Matrix H of Frobenius norm 1, whose first column is proportional to (m, 1, ..., 1)."""
        column = np.append(float(self.shape[0]), np.ones(self.shape[0] - 1))
        return self._first_column(column / np.linalg.norm(column))

    @cached_property
    def D(self) -> Floats:
        """Matrix D of Frobenius norm 1, whose only nonzero column has equal entries."""
        return self._first_column(np.full(self.shape[0], self.shape[0] ** -0.5))

    @cached_property
    def P(self) -> Floats:
        """Part P of the matrix H that is orthogonal to the matrix D: P = H - <H, D> D."""
        return self.H - alignment(self.shape[0]) * self.D

    def _first_column(self, column: Floats) -> Floats:
        matrix = np.zeros(self.shape)
        matrix[:, 0] = column
        return matrix

    def start(self) -> Floats:
        """Return X_0 = 0."""
        return np.zeros(self.shape)

    def gradient(self, x: Floats) -> Floats:
        """Return the answer at x: at iterates, the gradient of F, which is built along the run."""
        across = L * float(np.vdot(self.P, x)) / float(np.vdot(self.P, self.P)) + 2.0 * EPSILON
        return np.asarray(2.0 * EPSILON * alignment(self.shape[0]) * self.D + across * self.P)

    def value(self, x: Floats) -> float:
        """Return F(x) - F(X_0) as if the function F had a constant slope in <D, x>.

        At the iterates, F has this slope. The value is for f(q) = 2 epsilon lambda q, q = <D, x>.
        """
        across, size = float(np.vdot(self.P, x)), float(np.vdot(self.P, self.P))
        part_by_D = alignment(self.shape[0]) * float(np.vdot(self.D, x))
        return 2.0 * EPSILON * (part_by_D + across) + L * across**2 / (2.0 * size)

    def constants(self, start: Floats) -> Constants:
        """Return the constants; L_f is the smoothness in the spectral norm of the function F."""
        return Constants(n=1, D=math.inf, L_f=L, L_ms=L, sigma2=0.0, delta=DELTA)

    def initial_suboptimality(self, points: Floats) -> float:
        """Return F(X_0) - min F for the function F that is built along the given points."""
        slope = 2.0 * EPSILON * alignment(self.shape[0])
        q = np.unique([float(np.vdot(self.D, x)) for x in points])
        gaps = np.minimum(np.diff(q[q <= 0.0]), 2.0 * slope / L)
        fall_by_D = float((slope * gaps - L * gaps**2 / 4.0).sum()) + slope**2 / (2.0 * L)
        return fall_by_D + 2.0 * EPSILON**2 * float(np.vdot(self.P, self.P)) / L


def make_answers(m: int, n: int, step: float) -> Any:
    """Return a `RowAnswers` problem for points of shape (m, n), with the spectral norm.

    The steps are eta = `step`/(0.2 sqrt(m n)).

    With long steps, F falls by Delta, up to the rounding of T_0.
    """
    problem: Any = NormedProblem(RowAnswers((m, n)), norm_ball("spectral", (m, n)))
    problem.step = step / (0.2 * math.sqrt(m * n))
    return problem


# --- the check ------------------------------------------------------------------------------------


@check_each_instance(repetitions=1)
def check_gradient_stays_large(trial: Trial, instance: Instance, problem: Any) -> Parts:
    """Test |grad F|_* = 2 epsilon for the claimed number of steps, and the bound of F's fall."""
    parts = Parts()
    answers: RowAnswers = problem.inner
    T = math.floor(count_steps(answers.shape[0], L, DELTA, EPSILON))
    method = trial.make(iterations=T + 1, batch=1, step=problem.step, beta=0.9, beta2=0.95)
    points = np.array([x for x, _ in trial.follow_with_previous_point(problem, method)])
    norms = np.array([problem.norm.dual_norm(answers.gradient(x)) for x in points])
    name = instance.label
    parts[f"{name}, gradient"] = decide_inequality([2.0 * EPSILON / norms.min()])
    parts[f"{name}, fall"] = decide_inequality([answers.initial_suboptimality(points) / DELTA])
    return parts


LOWER = Claim(
    name="zhang2026-thm3.1",
    source="Zhang, Lin 2026 theorem 3.1; the larger number of steps: pfbench",
    kind="certificate",
    statement=(
        "NorMuon, exact polar factor: for every step rule there is F with F(X_0) - min F <= Delta, "
        "|grad F(X) - grad F(Y)|_* <= L |X - Y|, and |grad F(X_t)|_* = 2 epsilon for t <= T_0 = "
        "floor((Delta L - 2 epsilon^2)/(4 epsilon^2 lambda^2)) (pfbench), which is at least the "
        "printed floor(m Delta L/(32 epsilon^2)); Muon needs 2 Delta L/epsilon^2 steps at most"
    ),
    check=check_gradient_stays_large,
    instances=(
        make_instance(make_answers, m=4, n=1, step=2.0),
        make_instance(make_answers, m=16, n=1, step=0.025),
        make_instance(make_answers, m=16, n=1, step=2.0),
        make_instance(make_answers, m=4, n=3, step=0.5),
    ),
    algorithm="normuon",
    assumptions=("gradients exact", "epsilon < sqrt(Delta L)/4"),
    schedule="explicit: two constant steps; beta1 = 0.9, beta2 = 0.95",
    expected_seconds=(1.0, 1.0),
    formulas=(
        formula(count_printed_steps, NUMBER, epsilon=GRADIENT, m=NUMBER),
        formula(count_steps, NUMBER, epsilon=GRADIENT, m=NUMBER),
    ),
)
