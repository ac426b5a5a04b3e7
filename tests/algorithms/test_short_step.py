"""The short step of Frank-Wolfe, min(gap/(L |v - x|^2), 1)."""

from itertools import pairwise

import numpy as np
import pytest
from helpers import assert_one_sentence

from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.base.errors import InputError
from pfbench.base.state import State
from pfbench.measures import fw_gap
from pfbench.points import combine, distance, keep


def states_of(problem, asking, **parameters):
    """Yield the start and every iterate, each copied."""
    chosen, _ = algorithm("frank-wolfe", **parameters).resolve(problem.constants(problem.start()))
    yield State(problem.start())
    for state in chosen.run(asking(problem), problem.start(), np.random.default_rng(0)):
        yield State(keep(state.x), keep(state.at), state.estimate)


def pairs(states):
    return pairwise(list(states))


def vertex(problem, x):
    """Return the exact minimiser of the linearisation at x."""
    g = problem.gradient(keep(x))
    return problem.set.lo(problem.as_operator(g) if hasattr(problem, "as_operator") else g)


def test_short_step_is_the_gap_over_L_times_the_squared_distance(instance, asking):
    L = 0.1 * instance.constants(instance.start()).L_f
    states = states_of(instance, asking, step="short", smoothness=L, iterations=12)
    for before, after in pairs(states):
        v = vertex(instance, before.x)
        weight = min(fw_gap(instance, before)[1] / (L * distance(v, keep(before.x)) ** 2), 1.0)
        assert distance(combine(keep(before.x), v, weight), after.x) < 1e-8


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"step": "short"}, "needs smoothness"),
        ({"step": "short", "smoothness": 1.0, "curvature": 1.0}, "leave out curvature"),
        ({"step": "adaptive", "smoothness": 1.0, "curvature": 1.0}, "takes no smoothness"),
    ],
)
def test_the_short_step_needs_a_smoothness_and_takes_no_curvature(given, words):
    with pytest.raises(InputError) as error:
        ALGORITHMS["frank-wolfe"](iterations=3, **given)
    assert_one_sentence(error, words)
