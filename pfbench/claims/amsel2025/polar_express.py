"""Orthogonalisation by odd polynomials: theorems 4.1 and 4.3, and the lists of triples in use.

Let the singular values of X_0 be in [l, 1], and let p_t be the odd polynomial of degree 2q + 1 that
is closest to 1 on [l_t, u_t], with l_1 = l, u_1 = 1, l_{t+1} = p_t(l_t) and u_{t+1} = 2 - l_{t+1}.
The largest |1 - p_T(...p_1(s))| over [l, 1] is 1 - l_{T+1}, the least of all compositions of T such
polynomials (4.1), and it is at most (1 - l^2)^((q+1)^T) (4.3). If l is too large, (4.3) holds with
the least singular value in place of l.

The lists in use start from X_0 = M/|M|_F. The image of an interval under a step is that of its ends
and of the critical points between them. So the interval of singular values after all steps is exact
up to rounding, and both ends are attained. The statements about these lists are pfbench's.
"""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.problems.wrapper import NormedProblem
from pfbench.sets.matrix_balls import OrthogonalisedBall
from pfbench.sets.orthogonalisers import (
    PRESETS,
    Coefficients,
    certify_interval,
    map_singular_values,
)
from pfbench.verification import Claim, Instance, Trial, make_instance
from pfbench.verification.instruments.normed_quadratics import (
    SHAPE,
    draw_singular_values,
    make_half_frobenius_square,
    make_orthogonalised_problem,
    matrix_and_polar_factor,
)
from pfbench.verification.statements.each_instance import Parts, check_each_instance, check_ratios
from pfbench.verification.statistics import combine_all, decide_exact
from pfbench.verification.units import NUMBER, formula

# --- the best polynomials -------------------------------------------------------------------------


def best_odd_quintic_coefficients(low: float, high: float, q: int) -> tuple[float, float, float]:
    """Return the coefficients of s, s^3 and s^5 of the odd polynomial closest to 1 on [low, high].

    The polynomial has the degree 2q + 1, where q is 1 or 2.

    By Remez' iteration: 1 - p has the same size and alternating signs at q + 2 points, the ends and
    the critical points.
    """
    points, powers = np.linspace(low, high, q + 2), 2 * np.arange(q + 1) + 1
    for _ in range(40):
        signs = (-1.0) ** np.arange(q + 2)
        c = np.linalg.solve(np.column_stack([points[:, None] ** powers, signs]), np.ones(q + 2))
        points[1:-1] = np.sqrt(np.sort(np.roots((powers * c[:-1])[::-1]).real))
    return float(c[0]), float(c[1]), float(c[2]) if q == 2 else 0.0


@dataclass(frozen=True, repr=False, eq=False)
class PolarExpressBall(OrthogonalisedBall):
    """Spectral ball whose linear minimisation uses Polar Express polynomials, not an SVD.

    Attributes
    ----------
    lmo, degree
        Not used.
    steps
        T.
    low, q
        l and q.
    sigma_min
        Least singular value of the matrices on which it is tested.
    """

    lmo: str = "quintic"
    low: float = 0.1
    q: int = 2
    sigma_min: float = 0.1

    @cached_property
    def coefficients(self) -> Coefficients:
        """Coefficients of the polynomials that are applied one after the other."""
        low, high, triples = self.low, 1.0, []
        for _ in range(self.steps):
            triples.append(best_odd_quintic_coefficients(low, high, self.q))
            low = float(map_singular_values(triples[-1:], np.array(low)))
            high = 2.0 - low
        return triples


def make_polar_express(low: float, steps: int, q: int = 2, sigma_min: float = 0.0) -> NormedProblem:
    """Return the problem |W|^2/2 in the spectral norm, with Polar Express as the minimisation."""
    return make_half_frobenius_square(
        PolarExpressBall(SHAPE, low=low, steps=steps, q=q, sigma_min=sigma_min or low)
    )


# --- their error, and its bound -------------------------------------------------------------------


def polar_distance_bound(low: float, steps: int, q: int) -> float:
    """Return (1 - low^2)^((q+1)^steps), a bound of the orthogonalisation's spectral-norm error."""
    return float((1.0 - low**2) ** ((q + 1) ** steps))


def max_random_polar_error(trial: Trial, problem: NormedProblem) -> float:
    """Return the largest error of the orthogonalisation of random matrices, in the spectral norm.

    The error is |X_T - polar factor| in the spectral norm. `sigma_min` is the least singular value.
    """
    ask = trial.open_oracles(problem)
    ball: Any = problem.norm
    rng, errors = trial.rng("matrices"), []
    for _ in range(trial.choose_by_effort(10, 100)):
        middle = np.exp(rng.uniform(np.log(ball.sigma_min), np.log(0.5), 2))
        s: Floats = np.append(middle, ball.sigma_min)
        M, polar = matrix_and_polar_factor(np.append(s, np.sqrt(1.0 - s @ s)), rng)
        errors.append(float(np.linalg.norm(-np.asarray(ask.lo(M)) / ball.radius - polar, 2)))
    return max(errors)


def two_sided_ratio_to_least_error(trial: Trial, problem: NormedProblem) -> float:
    """Return the orthogonalisation error e over its minimum m: e/m or m/e, whichever is >= 1."""
    ball: Any = problem.norm
    low = map_singular_values(ball.coefficients, np.array(ball.low))
    ratio = max_random_polar_error(trial, problem) / float(1.0 - low)
    return max(ratio, 1.0 / ratio)


def ratio_to_distance_bound(trial: Trial, problem: NormedProblem) -> float:
    """Return the largest orthogonalisation error of random matrices, divided by its bound."""
    ball: Any = problem.norm
    return max_random_polar_error(trial, problem) / polar_distance_bound(
        ball.sigma_min, ball.steps, ball.q
    )


# --- the lists in use -----------------------------------------------------------------------------

ROUNDING = 1e-9

LOWEST = (1e-3, 1e-2)
"""Least singular values of M/|M|_F."""

INTERVALS = {
    "jordan": ((0.4705, 1.2024), (0.6818, 1.1344)),
    "polar-express-5": ((0.8401, 1.1236), (0.8703, 1.1236)),
    "polar-express-6": ((0.9935, 1.0012), (0.9974, 1.0012)),
    "modded-nanogpt": ((0.8466, 1.1411), (0.8589, 1.1411)),
    "optax-dion": ((0.4750, 1.1450), (0.9778, 1.0318)),
    "deepseek-v4": ((1.0000, 1.0005), (1.0000, 1.0005)),
    "newton-schulz": ((0.0232, 1.0000), (0.2285, 1.0000)),
}
"""Intervals by the name of the list, for each number of `LOWEST`."""


@check_each_instance({"off": 0.0}, combine_all)
def check_intervals(trial: Trial, instance: Instance, problem: Any) -> Parts:
    """Test the stated intervals, and their ends, into which polynomials map singular values."""
    parts = Parts()
    name, rng = problem.norm.lmo, trial.rng(instance.stream_key)
    ask = trial.open_oracles(problem)
    for lowest, interval in zip(LOWEST, INTERVALS[name], strict=True):
        certified = np.array(certify_interval(PRESETS[name], lowest))
        grid = np.geomspace(lowest, np.sqrt(1.0 - 3.0 * lowest**2), 20_001)
        image = map_singular_values(PRESETS[name], grid)
        ends = grid[[image.argmin(), image.argmax()]]
        worst = [[t, *3 * [np.sqrt((1.0 - t**2) / 3.0)]] for t in ends]
        random = draw_singular_values(rng, trial.choose_by_effort(40, 400), minimum=lowest)
        S = np.array([*worst, *random[random.min(axis=1) >= lowest]])
        with np.errstate(over="ignore", invalid="ignore"):
            X = np.array([ask.lo(matrix_and_polar_factor(s, rng)[0]) for s in S])
        is_finite = np.isfinite(X).all()
        svds = np.linalg.svd(X, compute_uv=False) if is_finite else np.full(S.shape, np.inf)
        expected = np.sort(np.abs(map_singular_values(PRESETS[name], S)))[:, ::-1]
        lower, upper = float(svds.min()), float(svds.max())
        parts[f"{name} from {lowest:g}"] = decide_exact(
            np.abs(svds - expected).max() <= ROUNDING
            and np.abs(certified - (lower, upper)).max() <= 1e-3
            and np.abs(certified - interval).max() <= 5e-5,
            f"Singular values range from {lower:.4g} to {upper:.4g}.",
            {"least": lower, "largest": upper},
        )
    return parts


# --- the claims -----------------------------------------------------------------------------------

_INSTANCES = tuple(
    make_instance(make_polar_express, low=low, steps=steps, q=q)
    for low, steps, q in (
        *((0.5, 1, 2), (0.5, 2, 2), (0.1, 3, 2), (0.01, 4, 2), (0.001, 6, 2)),
        *((0.5, 2, 1), (0.1, 4, 1)),
    )
)

_claim = partial(
    Claim,
    kind="bound",
    schedule="none: a statement about a minimisation",
    expected_seconds=(0.4, 1.5),
)

GREEDY = _claim(
    name="amsel2025-thm4.1",
    kind="identity",
    source="amsel2025 theorem 4.1",
    statement=(
        "odd polynomials p_t, each the closest to 1 on the image of [l, 1]: |X_T - polar factor| = "
        "1 - l_{T+1}, l_{t+1} = p_t(l_t), for each matrix whose least singular value is l"
    ),
    check=partial(check_ratios, measure=two_sided_ratio_to_least_error),
    instances=_INSTANCES,
)

RATE = _claim(
    name="amsel2025-thm4.3",
    source="amsel2025 theorem 4.3, and the remark on l",
    statement=(
        "the same polynomials: |X_T - polar factor| <= (1 - l^2)^((q+1)^T); where singular values "
        "are less than l, with the least of them in place of l"
    ),
    check=partial(check_ratios, measure=ratio_to_distance_bound),
    instances=(
        *_INSTANCES,
        make_instance(make_polar_express, low=0.001, steps=1),
        *(make_instance(make_polar_express, low=0.1, steps=3, sigma_min=s) for s in (0.05, 0.001)),
    ),
    formulas=(formula(polar_distance_bound, NUMBER, {"low": 0.5, "steps": 2, "q": 2}),),
)

INTERVAL = _claim(
    name="amsel2025-intervals",
    kind="identity",
    source="on the lists in use of Muon, dion and optax, against amsel2025; pfbench",
    statement=(
        "from M/|M|_F with singular values of 0.001 and of 0.01 at least, the singular values of O "
        "are in these intervals, whose ends are attained: "
        + "; ".join(f"{name} {[*near]}, {[*far]}" for name, (near, far) in INTERVALS.items())
    ),
    check=check_intervals,
    instances=tuple(
        make_instance(make_orthogonalised_problem, lmo=name, degree=2, steps=5).with_title(name)
        for name in INTERVALS
    ),
    expected_seconds=(0.7, 3.5),
)
