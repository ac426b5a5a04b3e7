"""uSCG along transported gradients, for f whose Hessian is Lipschitz with the constant L2.

Steps have the length s = gamma rho. Let Z(a, b) = grad f(a) - grad f(b) - Hessian(b) (a - b), so
that |Z(a, b)|_* <= L2 |a - b|^2/2, and let y_k = x_k + ((1-alpha)/alpha)(x_k - x_{k-1}). The error
of d_k has the mean

    e_k = (1-alpha) (e_{k-1} + Z(x_{k-1}, x_k)) + alpha Z(y_k, x_k),    e_1 = 0,

as the linear terms cancel. Both Z together have at most L2 s^2 (1-alpha)/(2 alpha), and

    |e_k|_* <= L2 s^2 (1-alpha)/(2 alpha^2) (1 - (1-alpha)^(k-1)),

with equality where all Z have one direction. The noise is that of an average, as for uSCG.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.base.constants import Constants
from pfbench.base.sample import Indices
from pfbench.problems.base import FiniteSum, index_weights
from pfbench.problems.noisy_gradients import CubedNorm
from pfbench.problems.wrapper import NormedProblem
from pfbench.sets.catalogue import norm_ball
from pfbench.sets.norms import NormBall
from pfbench.sets.whole_space import WholeSpace
from pfbench.verification import Claim, Instance, Trial, make_instance, statistics
from pfbench.verification.statements import path_mean
from pfbench.verification.statements.each_instance import Parts, check_each_instance
from pfbench.verification.units import GRADIENT, LENGTH, NUMBER, formula

# --- the instances --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SeparableLogCosh(FiniteSum):
    """Function f(x) = sum_j log cosh x_j; component i has the additional term noise_i sum_j x_j.

    Attributes
    ----------
    begin
        The start, shape (d,).
    noise
        The noise_i, of mean 0, shape (n,).
    """

    name: ClassVar[str] = "separable-log-cosh"

    begin: Floats
    noise: Floats

    @property
    def n(self) -> int:
        """Number of components."""
        return len(self.noise)

    @property
    def set(self) -> WholeSpace:
        """Feasible set: all vectors of length d."""
        return WholeSpace(len(self.begin))

    def start(self) -> Floats:
        """Return a copy of the start point."""
        return self.begin.copy()

    def value(self, x: Floats) -> float:
        """Return f(x)."""
        return float(np.sum(np.logaddexp(x, -x) - math.log(2.0)))

    def gradient(self, x: Floats) -> Floats:
        """Return the gradient of f, shape (d,)."""
        return np.tanh(x)

    def batch(self, sample: Indices, x: Floats) -> Floats:
        """Return the mean of the sampled component gradients at x, shape (d,)."""
        indices, weights = index_weights(sample, self.n)
        return np.asarray(np.tanh(x) + weights @ self.noise[indices])

    def smoothness_in_norm(self, norm: NormBall) -> tuple[float, str] | None:
        """Return 1, the smoothness constant in the l2 norm and, for one variable, in any norm."""
        return 1.0, "log cosh has curvatures of at most 1"

    def constants(self, start: Floats) -> Constants:
        """Return the constants; L2 is the largest third derivative of log cosh."""
        return Constants(
            n=self.n,
            D=math.inf,
            L_f=1.0,
            L_ms=1.0,
            L2_ms=4.0 / (3.0 * math.sqrt(3.0)),
            sigma2=float(np.mean(self.noise**2)) * len(start),
            delta=self.value(start),
        )


def _problem_with_norm_and_parameters(
    function: FiniteSum, norm: str, K: int, step: float, weight: float
) -> Any:
    """Return the function as a problem with a norm, storing K, gamma = `step`, alpha = `weight`."""
    problem = NormedProblem(function, norm_ball(norm, function.shape))
    vars(problem).update(K=K, step=step, weight=weight)
    return problem


def make_cube(norm: str, d: int) -> Any:
    """Return |x|^3/6, started at 4/sqrt(d) times the vector of ones; steps lead straight to 0."""
    cube = CubedNorm(rho=1.0, set=WholeSpace(d), start_point=np.full(d, 4.0 / math.sqrt(d)))
    return _problem_with_norm_and_parameters(cube, norm, 200, 0.01, 0.1)


def make_curved_path() -> Any:
    """Return the sum of log cosh x_j of three variables in the l2 norm; runs follow curved paths.

    There is no noise.
    """
    begin = np.array([0.3, 1.0, 2.0])
    return _problem_with_norm_and_parameters(
        SeparableLogCosh(begin, np.zeros(1)), "l2", 100, 0.05, 0.3
    )


def make_travel(K: int) -> Any:
    """Return log cosh x from the start K^(1/4), without noise, for K steps of size K^(-3/4).

    They arrive at 0, and |f'| is nearly 1 on most of the way. With smaller steps runs end far away.
    """
    f = SeparableLogCosh(np.array([K**0.25]), np.zeros(1))
    return _problem_with_norm_and_parameters(f, "linf", K, K**-0.75, 1.0)


def make_noisy_log_cosh(K: int, begin: float, sigma: float, step: float, weight: float) -> Any:
    """Return log cosh x with gradient noise of plus or minus `sigma`."""
    f = SeparableLogCosh(np.array([begin]), np.array([sigma, -sigma]))
    return _problem_with_norm_and_parameters(f, "linf", K, step, weight)


# --- the bounds -----------------------------------------------------------------------------------


def bias_bound(k: float, L2: float, s: float, alpha: float) -> float:
    """Return the bound of |e_k|_*, the dual norm of the gradient estimate's bias in step k."""
    left = math.pow(1.0 - alpha, k - 1.0)
    return L2 * s**2 * (1.0 - alpha) / (2.0 * alpha**2) * (1.0 - left)


def mean_norm_bound(
    K: int,
    L: float,
    L2: float,
    rho: float,
    zeta: float,
    sigma: float,
    delta: float,
    step: float,
    alpha: float,
) -> float:
    """Return the upper bound of the mean of E|grad f(x_k)|_* over the iterates k = 1, ..., K."""
    s, left = rho * step, (1.0 - alpha) ** np.arange(K)
    noise = zeta * sigma * np.sqrt((alpha + left**2 * (2.0 - 2.0 * alpha)) / (2.0 - alpha))
    bias = [bias_bound(k, L2, s, alpha) for k in range(1, K + 1)]
    return float(delta / (s * K) + L * s / 2.0 + 2.0 * np.mean(noise + bias))


# --- the checks -----------------------------------------------------------------------------------


def _make_method(trial: Trial, problem: Any) -> Any:
    return trial.make(iterations=problem.K, batch=1, step=problem.step, alpha=problem.weight)


@check_each_instance(repetitions=1)
def check_bias(trial: Trial, instance: Instance, problem: Any) -> Parts:
    """Test the bound of the gradient estimates' errors in the dual norm, without noise.

    On the cubes |x|^3/6 the errors must equal the bound.
    """
    parts = Parts()
    L2, s = problem.constants(problem.start()).L2_ms, problem.norm.radius * problem.step
    steps = trial.follow_with_previous_point(problem, _make_method(trial, problem))
    errors = [problem.norm.dual_norm(step.estimate - problem.gradient(x)) for x, step in steps]
    ratios = [
        error / bias_bound(k, L2, s, problem.weight) for k, error in enumerate(errors[1:], start=2)
    ]
    name = instance.label
    parts[name] = statistics.decide_inequality(ratios)
    if instance.build is make_cube:
        smallest = min(ratios)
        wrong = f"A bias is {smallest:.6g} times its bound, not equal."
        parts[f"{name}, equality"] = statistics.decide_exact(smallest > 1.0 - 1e-6, wrong, {})
    return parts


def explicit_parameters(c: path_mean.Numbers) -> path_mean.Numbers:
    """Return the step gamma and the weight alpha that an instance states."""
    return {"step": c["problem"].step, "alpha": c["problem"].weight}


_CURVED = ("|grad f(x) - grad f(y) - Hessian(y) (x - y)|_* <= L2 |x - y|^2/2",)

BIAS = Claim(
    name="jang2026-law",
    source="Jang, Lee 2026, the setting; the bound: pfbench",
    kind="law",
    statement=(
        "uSCG along transported gradients, steps of length s: |E d_k - grad f(x_k)|_* <= L2 s^2 "
        "(1-alpha)/(2 alpha^2) (1 - (1-alpha)^(k-1)), an equality for |x|^3/6 on a straight path"
    ),
    check=check_bias,
    instances=(
        make_instance(make_cube, norm="linf", d=1),
        make_instance(make_cube, norm="l2", d=3),
        make_instance(make_curved_path),
    ),
    algorithm="uscg-transport",
    assumptions=_CURVED,
    schedule="explicit: constant gamma and alpha",
    expected_seconds=(0.5, 0.5),
    formulas=(formula(bias_bound, GRADIENT, {"alpha": 0.3}, s=LENGTH),),
)

MEAN = Claim(
    name="jang2026-thm",
    source="Jang, Lee 2026, the setting and the order; the bound: pfbench",
    kind="bound",
    statement=(
        "uSCG along transported gradients: mean E|grad f(x_k)|_* <= Delta/(s K) + L s/2 + 2 mean_k["
        "L2 s^2 (1-alpha)/(2 alpha^2) (1 - (1-alpha)^(k-1)) + zeta sigma (alpha/(2-alpha) + "
        "(1-alpha)^(2k-2) (2-2alpha)/(2-alpha))^(1/2)], s = rho gamma"
    ),
    check=path_mean.IterateMeanBound(bounds={"": mean_norm_bound}, parameters=explicit_parameters),
    instances=(
        make_instance(make_travel, K=100),
        make_instance(make_travel, K=1000),
        make_instance(make_noisy_log_cosh, K=100, begin=3.0, sigma=0.3, step=1 / 8, weight=1 / 3),
    ),
    algorithm="uscg-transport",
    assumptions=(*_CURVED, "gradients unbiased, of variance at most sigma^2"),
    schedule="explicit: constant gamma and alpha",
    expected_seconds=(4.0, 8.0),
    formulas=(
        formula(mean_norm_bound, GRADIENT, {"alpha": 0.3}, K=NUMBER, sigma=GRADIENT, step=NUMBER),
    ),
)
