"""All outcomes of a step of SAGA or SAG on weighted quadratics, from any point and any table."""

from dataclasses import replace
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats
from pfbench.verification.instruments.enumerated_random import NotEnumerable, enumerate_draws
from pfbench.verification.instruments.weighted_rows import WeightedRows
from pfbench.verification.subject import NotTestable
from pfbench.verification.trial import Trial


def list_step_outcomes(
    trial: Trial, problem: WeightedRows, step: float, z: Floats
) -> list[tuple[float, tuple[float, Floats]]]:
    """Return, for each random draw, its probability, the estimate and the state after a step.

    The vector z consists of the iterate x and the points phi_i whose gradients fill the table.

    Raises
    ------
    NotTestable
        If the method keeps no table or yields no estimate, or its draws cannot be enumerated.
    """
    planted = replace(problem, begin=z[0], points=z[1:])
    method = trial.make(iterations=1, step=step, batch=1)

    def take_step(rng: Any) -> tuple[float, Floats]:
        planted.tables.clear()
        (record,) = trial.follow(planted, method, rng=rng)
        if not planted.tables or record.state.estimate is None:
            raise NotTestable("the method has no table of gradients, or yields no estimate")
        return float(record.state.estimate[0]), np.append(record.state.x, planted.tables[0].points)

    try:
        return list(enumerate_draws(take_step))
    except NotEnumerable as error:
        raise NotTestable(str(error)) from error


def probabilities_and_matrices(
    trial: Trial, problem: WeightedRows, step: float
) -> tuple[Floats, Floats]:
    """Return, for each random draw of a step, the probability and the matrix of the state's update.

    The state z is that of `list_step_outcomes`. Steps are linear, as all c_i are 0. The shapes are
    (k,) and (k, n + 1, n + 1).
    """
    by_vector = [list_step_outcomes(trial, problem, step, z) for z in np.eye(problem.n + 1)]
    columns = [[after for _, (_, after) in outcomes] for outcomes in by_vector]
    chances = np.array([chance for chance, _ in by_vector[0]])
    return chances, np.array(columns).transpose(1, 2, 0)


def second_moment_map(chances: Floats, maps: Floats) -> Floats:
    """Return the matrix of S -> E[B S B^T], where B is the random update matrix of a step.

    It maps second moments E[z z^T] to those after the step; its shape is ((n+1)^2, (n+1)^2).

    Parameters
    ----------
    chances, maps
        The result of `probabilities_and_matrices`.
    """
    square = np.einsum("b,bij,bkl->ikjl", chances, maps, maps)
    return np.asarray(square.reshape(2 * [maps[0].size]))


def spectral_radius(matrix: Floats) -> float:
    """Return the largest modulus of the eigenvalues of a square matrix."""
    return float(np.abs(np.linalg.eigvals(matrix)).max())
