"""Shared problems and measures of the claims about loopless and recursive estimates."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from pfbench.base.constants import Constants
from pfbench.sets import L2Ball
from pfbench.sets.whole_space import WholeSpace
from pfbench.verification import make_instance
from pfbench.verification.instruments.indefinite import IndefiniteQuadratic

N, BATCH = 64, 8

PAGED = {"batch": BATCH, "refresh": BATCH / (N + BATCH)}
"""Sizes of PAGE: b = sqrt n and p = b/(n + b)."""


def make_signed_curvature_problem(radius: float = 0.0, spread: float = 1.0) -> IndefiniteQuadratic:
    """Return the mean of f_i = x'(A + t_i I)x/2, whose large curvatures t_i = +-spread cancel.

    A is diagonal, with entries from 0.05 to 0.3. With spread = 1, L_f = 0.3 is far below L_ms =
    1.04, because the component gradients nearly cancel. So the estimates err by a third of the
    distance moved. With a positive radius the set is the l2 ball, and the start is on its boundary.
    """
    d = 4
    A = np.diag(np.linspace(0.05, 0.3, d))
    over = L2Ball(d, radius) if radius else WholeSpace(d)
    begin = np.full(d, (radius or 1.0) / math.sqrt(d))
    signs = np.where(np.arange(N) % 2 == 0, spread, -spread)
    return IndefiniteQuadratic(over, A, np.zeros(d), begin, 0.0, 1.0, np.zeros((N, d)), signs)


def make_unequal_smoothness_problem(
    n: int = N, ratio: float = 1000.0, opposed: bool = False
) -> IndefiniteQuadratic:
    """Return a quadratic on the unit ball of R^4; one component's smoothness constant L_i is large.

    The components are f_i(x) = x'(A + t_i I)x/2. The large L_i is `ratio` times the least. For the
    other components t_i = +-1, as in `make_signed_curvature_problem`; the large one adds to A. With
    n = 256 the mean of the L_i is 4.8, and their root mean square 59. With `opposed`, a second
    large component has the opposite t_i, so that f is nearly flat.
    """
    a = np.linspace(0.05, 0.3, 4)
    t = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    t[0] = ratio * 0.95 - a[-1]
    if opposed:
        t[1] = -t[0]
    mean = float(t.mean())
    problem = make_signed_curvature_problem(radius=1.0)
    return replace(problem, A=np.diag(a + mean), noise=np.zeros((n, a.size)), spread=t - mean)


SPACE, BALL = (
    # The title seeds its random streams: another one changes every number.
    make_instance(make_signed_curvature_problem).with_title("signed"),
    make_instance(make_signed_curvature_problem, radius=1.0),
)


def compute_squared_gradient_norm(problem: Any, x: Any) -> float:
    """Return the squared Euclidean norm |grad f(x)|^2."""
    g = problem.gradient(np.asarray(x))
    return float(g @ g)


def gradient_mapping_sq_with_multiple(problem: Any, x: Any, *, smoothness_multiple: float) -> float:
    """Return the squared gradient mapping at x for the step size 1/(smoothness_multiple L_ms).

    G = L' (x - P(x - grad f(x)/L')), where L' = smoothness_multiple L_ms.
    """
    return compute_squared_gradient_mapping(
        problem, x, smoothness_multiple * problem.constants(problem.start()).L_ms
    )


def compute_squared_gradient_mapping(problem: Any, x: Any, L: float) -> float:
    """Return |G|^2 for the gradient mapping G = L (x - y), y the projection of x - grad f(x)/L."""
    x = np.asarray(x)
    G = L * (x - problem.set.project(x - problem.gradient(x) / L))
    return float(G @ G)


def mean_gap_bound(
    constants: Constants, parameters: Any, *, c: float, smoothness: str = "L"
) -> float:
    """Return the mean gap's bound h0/(T gamma) + (1/2 + c) L D^2 gamma, h0 = f(x_0) - min f.

    L is the constant called `smoothness`.
    """
    curvature = (0.5 + c) * getattr(constants, smoothness) * constants.D**2
    gamma: float = parameters.step
    return float(constants.delta / (parameters.iterations * gamma) + curvature * gamma)


def sliding_parameters(c: Constants, *, steps: int, root: int = BATCH) -> dict[str, Any]:
    """Return the parameters of ncgs-spider: period sqrt n, batch 10 sqrt n, inner tolerance eta.

    eta is so small that it adds only an eighth to the bound. sqrt n is `root`.
    """
    sizes = {"iterations": steps, "period": root, "batch": 10 * root}
    return {**sizes, "smoothness": c.L, "tolerance": c.delta / (12.0 * steps)}


def sliding_mapping_bound(c: Constants, parameters: Any) -> float:
    """Return ncgs-spider's bound of the mean squared gradient mapping for given parameters.

    It is 16 L h0/N + 24 L eta for N iterations with the tolerance eta.
    """
    upper = 16.0 * c.delta / parameters.iterations + 24.0 * parameters.tolerance
    return float(parameters.smoothness * upper)
