"""SAGA with weights: the mean of its estimate, its theorem 1, and the step that weights need.

The mean over i of n w_i/W (grad f_i(x) - grad f_i(phi_i)) is grad F(x) minus the mean of the table.
So the estimate has the mean grad F(x), from any point and any table. This statement is pfbench's.

Theorem 1 and the step are decided for all states at once. With gamma = 1/(2 (mu n + L)) a step has
E V^+ <= (1 - gamma mu) V, V = mean of f_i(phi_i) - f_i(x*) - <grad f_i(x*), phi_i - x*>, plus
|x - x*|^2/(2 n gamma (1 - gamma mu)). Rows with weights have the L and the mu of the n w_i f_i/W.
On quadratics a step is a linear map B of z = (x - x*, phi - x*), and the largest E V^+/V is a
generalised eigenvalue.

E B (x) B maps the mean of z (x) z. Where its spectral radius is below 1, the mean square falls
geometrically from all starts; above 1 it grows. For 8 rows of curvature 1, one of weight w, and F =
mean of w_i f_i, it falls with 1/(2 max w_i L_i). With 1/(2 max L_i) it grows from w = 5 on. These
statements are pfbench's.
"""

from functools import partial
from itertools import product

import numpy as np
import scipy

from pfbench.base.arrays import Floats
from pfbench.verification import Claim, Trial, make_instance
from pfbench.verification.instruments.weighted_rows import WeightedRows
from pfbench.verification.statements import table_steps
from pfbench.verification.statements.each_instance import check_ratios
from pfbench.verification.units import formula

# --- the mean of the estimate ---------------------------------------------------------------------

ROUNDING = 1e-12
"""Largest error of a mean, relative to the gradient."""


def make_four_rows(weight: float) -> WeightedRows:
    """Return four quadratics of one variable, with curvatures 1 to 4, weights 1, 1, 1, `weight`.

    The last row has the weight `weight`.
    """
    weights = np.array([1.0, 1.0, 1.0, weight])
    return WeightedRows(np.arange(1.0, 5.0), np.array([0.3, -1.2, 0.8, 1.9]), weights)


def gradient_estimate_bias(trial: Trial, problem: WeightedRows, z: Floats) -> float:
    """Return the bias of SAGA's gradient estimate: its mean over all draws, minus F'(x).

    The first entry of `z` is x. The others are the points whose gradients are in SAGA's table.
    """
    outcomes = table_steps.list_step_outcomes(trial, problem, 0.1, z)
    mean = sum(chance * estimate for chance, (estimate, _) in outcomes)
    return float(mean - problem.gradient(z[:1])[0])


def bias_in_rounding_units(trial: Trial, problem: WeightedRows) -> float:
    """Return SAGA's bias at a random state, as a multiple of 1e-12 times the gradient's size."""
    z = trial.rng("state").standard_normal(problem.n + 1)
    return (
        abs(gradient_estimate_bias(trial, problem, z))
        / float(abs(problem.gradient(z[:1])[0]))
        / ROUNDING
    )


UNBIASED = Claim(
    name="defazio2014-unbiased",
    source="Defazio, Bach, Lacoste-Julien 2014, the method; with weights: pfbench",
    kind="law",
    statement="F = sum w_i f_i/W, uniform draws of n w_i f_i/W: E g = grad F(x) from every table",
    check=partial(check_ratios, measure=bias_in_rounding_units),
    instances=tuple(make_instance(make_four_rows, weight=weight) for weight in (1.0, 5.0)),
    algorithm="saga",
    schedule="none: a statement about one step",
    expected_seconds=(0.2, 0.2),
)


# --- theorem 1, and the step ----------------------------------------------------------------------


def make_first_row(n: int, mu: float, weight: float = 1.0) -> WeightedRows:
    """Return n quadratics of one variable: the first has curvature 1, and the others mu.

    The first has the weight `weight`, and the others 1.
    """
    ones = np.ones(n - 1)
    return WeightedRows(np.append(1.0, mu * ones), np.zeros(n), np.append(weight, ones))


def saga_step_size(n: int, L: float, mu: float) -> float:
    """Return the step size 1/(2 (mu n + L)) of SAGA in theorem 1 of defazio2014."""
    return 1.0 / (2.0 * (mu * n + L))


def max_energy_ratio(trial: Trial, problem: WeightedRows) -> float:
    """Return the largest ratio of the mean Lyapunov function to its bound after one SAGA step.

    Theorem 1 of defazio2014 bounds the mean by (1 - gamma mu) V, with V the value before the step.
    """
    h = problem.component_smoothness()
    gamma = saga_step_size(problem.n, h.max(), h.min())
    rate = 1.0 - gamma * h.min()
    V = np.diag(np.append(1.0 / (gamma * rate), h) / (2.0 * problem.n))
    chances, maps = table_steps.probabilities_and_matrices(trial, problem, gamma)
    mean = np.einsum("b,bji,jk,bkl->il", chances, maps, V, maps)
    return float(scipy.linalg.eigvalsh(mean, V)[-1] / rate)


def second_moment_spectral_radius(trial: Trial, problem: WeightedRows) -> float:
    """Return the spectral radius of the map from SAGA's second moments to those one step later.

    The step size is 1/(2 max w_i L_i), with the smoothness constants that the oracles under test
    state.
    """
    gamma = 1.0 / (2.0 * trial.open_oracles(problem).component_smoothness().max())
    return table_steps.spectral_radius(
        table_steps.second_moment_map(
            *table_steps.probabilities_and_matrices(trial, problem, gamma)
        )
    )


THEOREM = Claim(
    name="defazio2014-thm1",
    source="Defazio, Bach, Lacoste-Julien 2014 theorem 1; with weights: pfbench",
    kind="bound",
    statement=(
        "f_i L-smooth and mu-strongly convex, gamma = 1/(2 (mu n + L)): E V^+ <= (1 - gamma mu) V, "
        "V = mean D_i(phi_i, x*) + |x - x*|^2/(2 n gamma (1 - gamma mu)), D_i the Bregman distance"
    ),
    check=partial(check_ratios, measure=max_energy_ratio, quick_below=20),
    instances=(
        *(
            make_instance(make_first_row, n=n, mu=mu)
            for n, mu in product((2, 5), (0.001, 0.1, 0.9))
        ),
        make_instance(make_first_row, n=5, mu=0.1, weight=5.0),
        make_instance(make_first_row, n=20, mu=0.9),
    ),
    algorithm="saga",
    assumptions=("every f_i L-smooth and mu-strongly convex",),
    schedule="gamma = 1/(2 (mu n + L)), one component a step",
    expected_seconds=(0.7, 6.0),
    formulas=(formula(saga_step_size, (-1, 2), mu=(1, -2)),),
)

HEAVY = Claim(
    name="defazio2014-weights",
    source="pfbench",
    kind="bound",
    statement=(
        "F = mean of w_i f_i, n = 8 quadratics of curvature 1, one of weight w: the mean square of "
        "a step 1/(2 max w_i L_i) of SAGA has a radius below 1 for w = 1, 3, 5, 10 and 50"
    ),
    check=partial(check_ratios, measure=second_moment_spectral_radius),
    instances=tuple(
        make_instance(make_first_row, n=8, mu=1.0, weight=w) for w in (1.0, 3.0, 5.0, 10.0, 50.0)
    ),
    algorithm="saga",
    schedule="gamma = 1/(2 max w_i L_i), one component a step",
    expected_seconds=(3.0, 3.0),
)
