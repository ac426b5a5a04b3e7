"""li2019 lemma 1: restricted strong convexity of matrix regression, in worst directions."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy

from pfbench.base.state import Point
from pfbench.problems.matrix_regression import MatrixRegression
from pfbench.problems.restricted_convexity import find_worst_direction
from pfbench.problems.sensing import draw_synthetic_sensing
from pfbench.verification import Claim, Evidence, Trial, make_instance, statistics
from pfbench.verification.contrast import ExaminationEvidence, compare_ratios
from pfbench.verification.instruments.overrides import OverriddenOracles
from pfbench.verification.units import CURVATURE, NUMBER, power_product

MOST = 4.0
"""The constant c of tau = c xi(Sigma_x) d/n, as tested.

The paper leaves c open. For isotropic X and curvature lambda_min/4, Gordon's inequality gives <X_i,
V>^2 >= (1 - 2 y)^2 |V|_F^2 on average, y = sqrt(d/n) |V|_*/|V|_F, up to fluctuations. Then c = 2 is
enough, and is needed at y = 1/4. The other factor 2 allows for the fluctuations.
"""


def make_isotropic_regression(
    seed: int = 0, d: int = 10, ratio: int = 10, sensing_variance: float = 0.0
) -> MatrixRegression:
    """Return matrix regression on n = ratio * d Gaussian rows with the covariance Sigma_x = I.

    With a sensing variance the loss is (8), else (7). The check tests the worst directions of rank
    1, 2 and d that a search finds. In random directions, lemma 1 holds even with tau = 0.
    """
    data = draw_synthetic_sensing(
        seed=seed,
        rows=d,
        columns=d,
        rank=1,
        n=ratio * d,
        spike=1.0,
        sensing_variance=sensing_variance,
    )
    return MatrixRegression(data, data.li2019_ball)


_LOSSES = {
    "loss 7": (0.25, make_instance(make_isotropic_regression, sensing_variance=0.0)),
    "loss 8": (0.125, make_instance(make_isotropic_regression, sensing_variance=0.25)),
}
"""For each loss: the curvature over lambda_min(Sigma_x), and the instance."""


def check_restricted_curvature(trial: Trial) -> Evidence:
    """Test, in the worst directions found, that lemma 1 of li2019 holds with a constant c <= 4.

    The curvature is lambda_min/4 for the loss (7), and lambda_min/8 for the loss (8). The verdict
    *holds* means that the search found no counterexample. No better verdict is given, because the
    limit of c is pfbench's.
    """
    parts = {}
    for d, ratio, seed in iterate_dimensions_ratios_and_seeds(trial):
        for name, (alpha, loss) in _LOSSES.items():
            needed = constants_needed_by_direction_rank(
                trial, loss(seed, d=d, ratio=ratio), ratio, seed, alpha
            )
            parts[f"{name}, d={d}, n/d={ratio}"] = statistics.decide_inequality(
                [c / MOST for c in needed]
            )
    return Evidence(
        statistics.cap_at_holds_by_own_constant(statistics.best_if_all_hold_else_worst(parts)),
        {"c": MOST, "ratio": 1.0},
        len(parts),
    )


def iterate_dimensions_ratios_and_seeds(trial: Trial) -> Iterator[tuple[int, int, int]]:
    """Yield the cases to test: a dimension d, a ratio n/d, and a seed of the data."""
    for d in trial.choose_by_effort((10, 16), (10, 16, 24)):
        for ratio in trial.choose_by_effort((4, 10, 16, 40, 160), (4, 10, 16, 40, 160, 640)):
            if ratio * d**3 < trial.choose_by_effort(10**6, 10**7):
                yield d, ratio, trial.seeds(1, f"{d} {ratio}")[0]


def constants_needed_by_direction_rank(
    trial: Trial, problem: MatrixRegression, ratio: int, seed: int, alpha: float
) -> list[float]:
    """Return the constant c that li2019's lemma 1 needs in the worst directions of each rank.

    The ranks are 1, 2 and d.

    The ranks are 1, 2 and d, or only 1 where `ratio` = n/d is above 40. The curvature along V is
    (1/2) <grad f(V) - grad f(0), V>, from the gradients under test. The curvature is compared with
    `alpha` |V|^2.
    """
    tested: Any = problem
    backend = trial.subject.problem_under_test(tested).open(np.random.default_rng(seed))
    zero = problem.start()
    needed = []
    for rank in (1, 2, problem.shape[0]) if ratio <= 40 else (1,):
        V = find_worst_direction(problem.data, alpha, rank=rank, starts=2, seed=seed).direction
        product = 0.5 * float(np.vdot(backend.gradient(V) - backend.gradient(zero), V))
        size = float(scipy.linalg.svdvals(V).sum())
        needed.append((alpha * float(np.vdot(V, V)) - product) * ratio / size**2)
    return needed


LEMMA1 = Claim(
    name="li2019-lemma1",
    source="li2019 lemma 1, corrected",
    kind="bound",
    statement=(
        "restricted strong convexity with lambda_min(Sigma_x)/4 (loss 7), /8 (loss 8), and "
        "tau = c xi(Sigma_x) d/n, c <= 4 (left open in the paper)"
    ),
    assumptions=("Gaussian rows with covariance Sigma_x",),
    instances=tuple(loss for _, loss in _LOSSES.values()),
    schedule="none",
    expected_seconds=(0.8, 5.0),
    check=check_restricted_curvature,
    formulas=(power_product(CURVATURE, {"xi": 1, "d": 1, "n": -1}, xi=CURVATURE, d=NUMBER),),
)

# --- planted fault --------------------------------------------------------------------------------


class FaultyHalfGradient(OverriddenOracles):
    """Faulty oracle that returns half of the gradient."""

    def gradient(self, x: Point) -> Any:
        """Return half of the gradient at x."""
        return 0.5 * self._original.gradient(x)


# --- erratum --------------------------------------------------------------------------------------


def examine_half_eigenvalue(effort: str, seed: int, *, printed: float = 0.5) -> ExaminationEvidence:
    """Compute the constant c in li2019's lemma 1 for curvatures of lambda_min/2 and lambda_min/4.

    The loss is (7); `printed` replaces the half. In tau = c d/n, the same c must be enough for all
    n. For the curvature lambda_min/2, the needed c grows by more than a factor 2 from the smallest
    n/d to the largest. For lambda_min/4 the needed c falls to 0. These statements on c are about
    the worst rank-one directions that a search finds.
    """
    ratios = (10, 40, 160) if effort == "quick" else (10, 40, 160, 640)

    def list_required_constants(alpha: float, sizes: Sequence[tuple[int, int]]) -> list[float]:
        """Return the constant c that lemma 1 needs, for each pair of d and n/d."""
        return [
            find_worst_direction(
                make_isotropic_regression(seed, d=d, ratio=r).data, alpha, starts=2, seed=seed
            ).tau
            * r
            for d, r in sizes
        ]

    def growth(results: list[float]) -> float:
        """Return the last number over twice the first, or 0 if the first is not positive."""
        return results[-1] / results[0] / 2.0 if results[0] > 0.0 else 0.0

    sizes = [(10, ratio) for ratio in ratios]
    cs = {
        "printed": list_required_constants(printed, sizes),
        "corrected": list_required_constants(0.25, sizes),
    }
    numbers = {
        f"c at n/d={ratio}, {name}": c
        for name, results in cs.items()
        for ratio, c in zip(ratios, results, strict=True)
    }
    evidence = compare_ratios(growth(cs["printed"]), 2.0 * growth(cs["corrected"]), **numbers)
    square = list_required_constants(printed, [(6, 6), (24, 24)])
    # Twice the curvature is at least printed lambda_min where the curvature is at least half of it.
    twice = list_required_constants(0.5 * printed, sizes)
    return evidence.with_ratios_under_other_readings(
        {"n = d^2": growth(square), "the loss of (35)": growth(twice)}
    )
