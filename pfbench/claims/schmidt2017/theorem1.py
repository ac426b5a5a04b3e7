"""Theorem 1 of SAG, decided in expectation for all steps of a run, and for all states at once.

Let rho = min(mu/(16 L), 1/(8 n)). With gamma = 1/(16 L) and a table of zeros at the start, E F(x_k)
- F* <= (1 - rho)^k C_0, C_0 = F(x_0) - F* + (4 L/n) |x_0 - x*|^2 + sigma^2/(16 L), where sigma^2 is
the mean of |grad f_i(x*)|^2. Here x* = 0 minimises every f_i, so sigma = 0, and the points phi_i =
x* have the gradients 0 of that table.

On quadratics a step is a linear map B of z = (x, phi), so the mean square of z is known after each
step. From any x and any table it falls by a factor that tends to the spectral radius of E B (x) B,
which is therefore at most 1 - rho. That form of the theorem is pfbench's.
"""

from functools import partial
from itertools import product

import numpy as np

from pfbench.verification import Claim, Trial, make_instance
from pfbench.verification.instruments.weighted_rows import WeightedRows
from pfbench.verification.statements import table_steps
from pfbench.verification.statements.each_instance import check_ratios
from pfbench.verification.units import formula

STEPS = 400
"""Number of steps that are bounded one by one."""


def make_rows(n: int, mu: float) -> WeightedRows:
    """Return n quadratic rows with the minimiser 0: half have curvature 1, the others mu."""
    curvatures = np.where(np.arange(n) < n // 2, 1.0, mu)
    return WeightedRows(curvatures, np.zeros(n), np.ones(n))


def sag_step_size(L: float) -> float:
    """Return the step size 1/(16 L) of schmidt2017's theorem 1."""
    return 1.0 / (16.0 * L)


def bound_factor(n: int, L: float, mu: float) -> float:
    """Return 1 - min(mu/(16 L), 1/(8 n)), the factor by which each step multiplies the bound."""
    return 1.0 - min(mu / (16.0 * L), 1.0 / (8.0 * n))


def step_moment_map(trial: Trial, problem: WeightedRows) -> np.ndarray:
    """Return the matrix that maps the second moments of SAG's state to those one step later."""
    step = sag_step_size(problem.component_smoothness().max())
    return table_steps.second_moment_map(
        *table_steps.probabilities_and_matrices(trial, problem, step)
    )


def max_excess_ratio(trial: Trial, problem: WeightedRows) -> float:
    """Return the largest ratio of E F(x_k) - F* to its bound in schmidt2017's theorem 1."""
    h = problem.component_smoothness()
    L, mu, n = h.max(), h.mean(), problem.n
    square, S = step_moment_map(trial, problem), np.zeros((n + 1) ** 2)
    S[0] = 1.0
    bound, ratios = mu / 2.0 + 4.0 * L / n, []
    for _ in range(STEPS):
        S = square @ S
        bound *= bound_factor(n, L, mu)
        ratios.append(mu * S[0] / 2.0 / bound)
    return float(max(ratios))


def spectral_radius_ratio(trial: Trial, problem: WeightedRows) -> float:
    """Return the spectral radius of the map of SAG's second moments, divided by `bound_factor`."""
    h = problem.component_smoothness()
    rate = bound_factor(problem.n, h.max(), h.mean())
    return table_steps.spectral_radius(step_moment_map(trial, problem)) / rate


_claim = partial(
    Claim,
    kind="bound",
    instances=tuple(
        make_instance(make_rows, n=n, mu=mu) for n, mu in product((2, 5, 20), (0.001, 0.05, 0.9))
    ),
    algorithm="sag",
    assumptions=("every f_i convex and L-smooth", "F mu-strongly convex"),
    schedule="gamma = 1/(16 L), one component a step",
    expected_seconds=(1.0, 1.0),
    formulas=(formula(sag_step_size, (-1, 2)),),
)

THEOREM = _claim(
    name="schmidt2017-thm1",
    source="Schmidt et al. 2017 theorem 1, in lecture notes",
    statement=(
        "gamma = 1/(16 L), a table of zeros: E F(x_k) - F* <= (1 - min(mu/(16 L), 1/(8 n)))^k C_0, "
        "C_0 = F(x_0) - F* + (4 L/n) |x_0 - x*|^2 + sigma^2/(16 L)"
    ),
    check=partial(check_ratios, measure=max_excess_ratio, quick_below=20),
)

RADIUS = _claim(
    name="schmidt2017-radius",
    source="Schmidt et al. 2017 theorem 1, in the form of pfbench",
    statement=(
        "gamma = 1/(16 L), f_i quadratics: the mean square of (x, table) falls, from any x and any "
        "table, by at most the factor 1 - min(mu/(16 L), 1/(8 n)) in the limit"
    ),
    check=partial(check_ratios, measure=spectral_radius_ratio, quick_below=20),
)
