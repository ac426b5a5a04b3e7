"""wang2019 section 5: the steps of its experiments are not its theorems'."""

from collections.abc import Callable
from functools import partial

import numpy as np

from pfbench.algorithms.proximal import ProxSpiderBoost, SpiderBoost
from pfbench.base.errors import DataError
from pfbench.claims.wang2019.theorem1 import THM1
from pfbench.claims.wang2019.theorem2 import THM2
from pfbench.measures.common import gradient_mapping_sq
from pfbench.problems.data.loading import load_classification
from pfbench.problems.linear_models import LinearModel, NonconvexLogistic, RobustRegression
from pfbench.runs.loop.solve import solve
from pfbench.sets import L1Penalty, WholeSpace
from pfbench.verification import Erratum, Floats
from pfbench.verification.contrast import Contrast, stream

_CATEGORIES = (5, 8, 16, 7, 14, 6, 5, 2, 2, 5, 5, 41, 2, 5)
"""Number of values of each of the 14 categories of a9a's 123 binary features."""


def one_of_each(rng: np.random.Generator, rows: int) -> tuple[Floats, Floats]:
    """Draw rows like a9a's, shape (rows, 123): one 1 in each category, skewed; labels +1, -1."""
    features = []
    for size in _CATEGORIES:
        chances = 1.0 / np.arange(1.0, size + 1.0)
        drawn = rng.choice(size, size=rows, p=chances / chances.sum())
        features.append(np.eye(size)[drawn])
    matrix = np.hstack(features)
    score = matrix @ rng.standard_normal(matrix.shape[1])
    return matrix, np.where(score > np.quantile(score, 0.76), 1.0, -1.0)


def step(
    effort: str, seed: int, *, penalised: bool, printed: Callable[[float], float] = lambda L: 0.05
) -> Contrast:
    """Compare the step that the experiments run, 0.05, with 1/(2L), L = max(L_f, L_ms).

    On rows like a9a's, and on a9a itself where its file is at hand. As corrected SpiderBoost with
    1/(2L) keeps its theorem, 4 L Delta/K (20 L Delta/K with the penalty 0.1 |x|_1).
    """
    rng = stream(seed, "step")
    features, labels = one_of_each(rng, 400)
    penalty = L1Penalty(0.1) if penalised else None
    made: dict[str, LinearModel] = {
        "logistic": _logistic(features, labels, penalty),
        "robust": RobustRegression(features, labels, WholeSpace(123), penalty=penalty),
    }
    ratios = [_over_theorem(problem, seed) for problem in made.values()]
    try:
        real = load_classification("a9a")
        made["logistic, a9a"] = _logistic(real.features, real.labels, penalty)
    except DataError:
        pass  # The file is not at hand; the rows above stand for it.
    numbers: dict[str, float] = {}
    for name, problem in made.items():
        L = float(problem.constants(problem.start()).L)
        numbers |= {
            f"{name}: 1/(2L)": 1.0 / (2.0 * L),
            f"{name}: step times 2L": printed(L) * 2 * L,
        }
    off = max(abs(value - 1.0) for name, value in numbers.items() if name.endswith("times 2L"))
    return Contrast(
        printed_fails=off > 0.01,
        corrected_holds=max(ratios) <= 1.0,
        numbers={**numbers, "measured over the theorem's bound at 1/(2L)": max(ratios)},
    )


def _logistic(features: object, labels: Floats, penalty: L1Penalty | None) -> NonconvexLogistic:
    return NonconvexLogistic(features, labels, WholeSpace(123), alpha=0.1, penalty=penalty)


def _over_theorem(problem: LinearModel, seed: int) -> float:
    """Return mean |G|^2 over 5 runs of K = 100 steps 1/(2L), over the theorem's bound."""
    constants, K = problem.constants(problem.start()), 100
    L, kind = float(constants.L), SpiderBoost if problem.penalty is None else ProxSpiderBoost
    algorithm = kind(iterations=K, step=1.0 / (2.0 * L), batch=20, period=20)
    squares = []
    for run_seed in range(5 * seed, 5 * seed + 5):
        run = solve(problem, algorithm, seed=run_seed, measures={"square": gradient_mapping_sq})
        column = run.columns.index("square")
        squares.append(np.mean([row[column] for row in run.rows[:-1]]))
    return float(np.mean(squares)) * K / (kind.bound() * L * float(constants.delta))


ERRATA = (
    Erratum(
        name="wang2019-5.1-step",
        as_printed="the step of section 5.1, 0.05 (SPIDER 0.01), is the theorem's",
        corrected="the theorem's is 1/(2L); with it SpiderBoost keeps 4 L Delta/K",
        examine=partial(step, penalised=False),
        claim=THM1,
    ),
    Erratum(
        name="wang2019-5.2-step",
        as_printed="the step of section 5.2, 0.05, is the theorem's",
        corrected="the theorem's is 1/(2L); with it Prox-SpiderBoost keeps 20 L Delta/K",
        examine=partial(step, penalised=True),
        claim=THM2,
    ),
)
