"""Shared parts of wang2019's claims: problems, the schedule, the gradient mapping."""

import math
from collections.abc import Callable
from typing import Any

from pfbench.base.constants import Constants
from pfbench.base.protocols import Algorithm, Problem, State
from pfbench.problems.finite_sum_chain import FiniteSumChain
from pfbench.problems.linear_models import LinearModel, NonconvexLogistic
from pfbench.problems.row_data import draw_synthetic_rows
from pfbench.sets.penalties import L1Penalty
from pfbench.sets.whole_space import WholeSpace
from pfbench.verification import Instance, Trial

MEAN_SQUARED = "L >= max(L_f, L_ms)"
"""Assumption of every theorem of the paper."""

SCHEDULE = "q = |S| = sqrt n, eta = 1/(2L)"

# --- problems -------------------------------------------------------------------------------------


def noiseless_model(
    seed: int = 0,
    *,
    kind: type[LinearModel],
    n: int,
    d: int,
    weight: float = 0.0,
    scale: float = 1.0,
) -> LinearModel:
    """Return a linear model on n rows of norm `scale`, whose labels have no noise.

    So inf f is 0 and Delta is known, except for the logistic loss. With a correct estimate, the
    measured mean of |G|^2 is well below the bound. An error of the estimate raises this mean, as
    the components differ.
    """
    logistic = kind is NonconvexLogistic
    features, labels = draw_synthetic_rows(logistic, rows=n, columns=d, seed=seed, noise=0.0)
    return kind(
        scale * features,
        labels,
        WholeSpace(d),
        alpha=0.1 if logistic else 0.0,
        penalty=L1Penalty(weight) if weight > 0.0 else None,
    )


def draw_problem(trial: Trial, model: Instance) -> Any:
    """Return the problem of an instance; its rows, if random, are drawn by a seed of the trial."""
    if model.build is not noiseless_model:
        return model()
    parameters = model.parameters
    return model(
        trial.seeds(1, f"{parameters['kind'].name} {parameters['n']} {parameters['d']}")[0]
    )


def chain(n: int, links: int) -> FiniteSumChain:
    """Return the finite-sum chain with n blocks of `links` links each, L = 1 and f(0) - min f <= 1.

    No method is fast on it: a call reveals one more link of one block, and |grad f| stays above
    the chain's epsilon until half of the links are known.
    """
    longest = FiniteSumChain(n, 1e-4).length
    return FiniteSumChain(n, 1e-4 * math.sqrt(longest / (links + 0.01)))


# --- methods --------------------------------------------------------------------------------------


def make_scheduled_algorithm(
    trial: Trial, constants: Constants, K: int, epsilon: float
) -> Algorithm:
    """Return the method under test with its own schedule for the accuracy epsilon.

    A method without a schedule gets the parameters of the theorem for K steps.
    """
    if hasattr(trial.algorithm, "theory"):
        return trial.make_scheduled(epsilon, constants)
    root = math.sqrt(constants.n)
    return trial.make(
        batch=math.ceil(root), period=math.floor(root), iterations=K, step=1.0 / (2.0 * constants.L)
    )


def mapping_sq_function(problem: Problem) -> Callable[[Any], float]:
    """Return the function x -> |G(x)|^2 of a problem, G the gradient mapping for step 1/(2L)."""
    lam = 1.0 / (2.0 * problem.constants(problem.start()).L)

    def square(x: Any) -> float:
        move = x - problem.prox(x, problem.gradient(x), lam)
        return float(move @ move) / lam**2

    return square


def output_point(state: State) -> Any:
    """Return the point of a state that would be the output if this iteration were drawn."""
    if state.output is not None:
        return state.output
    return state.x if state.at is None else state.at
