"""The finite sums on which several claims of shen2019 are tested."""

import math
from typing import Any

from pfbench.problems.linear_models import LogCosh
from pfbench.problems.matrix_recovery import RobustMatrixRecovery
from pfbench.problems.observations import draw_synthetic_entries
from pfbench.problems.row_data import draw_synthetic_rows
from pfbench.sets import L2Ball
from pfbench.verification import Instance, Trial
from pfbench.verification.instruments.slopes import Valley


def log_cosh(n: int, d: int, seed: int = 0) -> LogCosh:
    """Return log cosh of the residuals of a linear model, with random rows, on a ball.

    All constants in the schedules are known, and V starts not far below the schedules' bounds of V.
    """
    features, labels = draw_synthetic_rows(rows=n, columns=d, seed=seed)
    return LogCosh(features, labels, L2Ball(d, 2.0))


def recovery(rows: int, columns: int, seed: int = 0) -> RobustMatrixRecovery:
    """Return robust recovery of a matrix of rank 2 in a nuclear-norm ball, as in section 6.

    Its iterates are factored, so that methods run as they do at the paper's size. D is large
    compared with V, so the bounds of V are far above V.
    """
    data = draw_synthetic_entries(rows=rows, columns=columns, rank=2, density=0.6, seed=seed)
    return RobustMatrixRecovery(data, radius=20.0, sigma=1.0)


def valley(estimator: str, g: float = 8.0) -> Valley:
    """Return a slope of g epsilon down to a valley amid a segment; epsilon = L = 1.

    Before the valley, the mean of V reaches half of its bound; a method that passes through the
    valley has V = g epsilon D to the end. In the valley, the sign of the estimate decides each
    step: the components' derivatives differ by sigma for SG, and as fast as L or L2 allows for the
    others.
    """
    L, way = 1.0, 40.0
    sigma, phase = (g, 0.5 * math.pi) if estimator not in ("svrg", "spiderg") else (25.0 * g, 0.0)
    gap = g * way - math.sqrt(2.0) * g * g * math.log(2.0) / L
    return Valley(256, g, gap, L, sigma=sigma, phase=phase, overshoot=way)


def draw_family(trial: Trial, family: Instance) -> Any:
    """Return a problem of one of the two families, with data drawn by the trial."""
    if family.build is recovery:
        return family(seed=trial.seeds(1, "recovery")[0])
    n, d = family.parameters["n"], family.parameters["d"]
    return family(seed=trial.seeds(1, f"log cosh {n} {d}")[0])
