"""The iterator that follows a run: the states and counts of `solve`, and its options."""

import numpy as np
import pytest

import pfbench as pf
from pfbench.algorithms.nfwu import NFWUSVRG
from pfbench.base.errors import InputError
from pfbench.oracles import Oracles
from pfbench.runs.loop.steps import ObservedBackend, steps

PROBLEM = "log-cosh[rows=9,columns=3,seed=1,set=l2]"


def make_method():
    return NFWUSVRG(iterations=6, step=0.2, batch=2, period=3)


def test_steps_are_those_of_a_solved_run():
    problem, method = pf.problem(PROBLEM), make_method()
    followed = list(steps(problem, method, seed=5))
    run = pf.solve(problem, method, seed=5)
    assert len(followed) == 6
    assert followed[-1].counts == run.counts
    assert [step.counts.lo for step in followed] == [1, 2, 3, 4, 5, 6]


def test_streams_are_replaced_by_purpose():
    problem, method = pf.problem(PROBLEM), make_method()

    def points(**options):
        return np.array([state.x for state in steps(problem, method, **options).states])

    first = points(streams={"algorithm": np.random.default_rng(3)})
    assert np.array_equal(first, points(streams={"algorithm": np.random.default_rng(3)}, seed=9))
    assert not np.array_equal(first, points(seed=3))


def test_a_backend_is_wrapped_and_oracles_are_made_of_it():
    heard, made = [], []

    def bundle(*parts):
        made.append(Oracles(*parts))
        return made[-1]

    run = steps(
        pf.problem(PROBLEM),
        make_method(),
        wrap=lambda backend: ObservedBackend(backend, lambda verb, *_: heard.append(verb)),
        bundle=bundle,
    )
    next(run.states)
    assert (run.ask, heard) == (made[0], ["gradient", "lo"])


def test_what_yields_no_states_is_refused_at_the_first():
    class Wrong:
        requires = frozenset({"gradient"})

        def run(self, ask, x, rng):
            return [x]

    run = steps(pf.problem(PROBLEM), Wrong())
    with pytest.raises(InputError, match="yield a State"):
        next(run.states)
