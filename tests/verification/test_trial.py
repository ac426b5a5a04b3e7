"""How a subject is made and followed: what it lacks is said, and what it does in place is seen."""

from functools import partial

import numpy as np
import pytest
from judging import judge

import pfbench as pf
from pfbench.algorithms import ALGORITHMS
from pfbench.algorithms.nfwu import NFWUSPIDERG
from pfbench.claims.catalogue import CLAIMS
from pfbench.claims.shen2019.epoch_estimators import log_cosh, recovery
from pfbench.verification import ClaimBroken, NotTestable, Subject, Trial, UnsupportedPoints
from pfbench.verification.instruments.enumerated_random import NotEnumerable, enumerate_draws
from pfbench.verification.instruments.oracle_tally import ComponentTally
from pfbench.verification.replay.problems import make_unconstrained_problem
from pfbench.verification.session import Verification
from pfbench.verification.step_record import is_positive_multiple
from pfbench.verification.subject import (
    instantiate_with_accepted_parameters,
    make_scheduled,
    select_accepted,
)

PROBLEM = log_cosh(8, 3)


def trial(algorithm=None, claim="shen2019-unbiased-spiderg"):
    return Trial(CLAIMS[claim], Subject(algorithm))


class Made:
    """Yields what a test gives it."""

    def __init__(self, states):
        self.states = states

    def run(self, ask, x, rng):
        return self.states(ask, x, rng)


def followed(states, problem=PROBLEM, **stream):
    return list(trial().follow(problem, Made(states), **stream))


# --- making ---------------------------------------------------------------------------------------


class Short:
    """Has no batch."""

    def __init__(self, iterations, step, period):
        self.given = iterations, step, period


class Fixed:
    """An object whose parameters are fixed."""

    def run(self, ask, x, rng):
        yield from ()


def test_a_method_without_a_parameter_that_a_claim_counts_on_cannot_be_tested():
    given = {"iterations": 3, "step": 0.1, "period": 2, "batch": 2}
    with pytest.raises(NotTestable, match="no parameter batch"):
        trial(Short).make(**given)
    with pytest.raises(NotTestable, match="no parameter"):
        trial(Fixed()).make(**given)
    assert trial(NFWUSPIDERG(**given | {"batch": 1})).make(**given).batch == 2
    assert instantiate_with_accepted_parameters(
        Short, iterations=1, step=2, period=3, batch=4
    ).given == (1, 2, 3)


def test_a_class_that_takes_anything_has_what_is_needed_and_what_it_has_a_default_for():
    class Anything:
        option = 1

        def __init__(self, **given):
            self.given = given

    wanted = {"iterations": 3, "batch": 2, "option": 2, "restarts": 5}
    assert select_accepted(Anything, (*wanted,), ("batch",)) == ["batch", "option"]
    assert instantiate_with_accepted_parameters(Anything, ("batch",), **wanted).given == {
        "batch": 2,
        "option": 2,
    }


def test_a_schedule_that_swallows_a_parameter_cannot_be_tested():
    class Swallows(Short):
        @classmethod
        def theory(cls, epsilon, constants, **given):
            return cls(1, 1.0, 1)

    constants = PROBLEM.constants(PROBLEM.start())
    assert isinstance(make_scheduled(Swallows, 0.1, constants), Swallows)
    with pytest.raises(NotTestable, match="no parameter probability"):
        make_scheduled(Swallows, 0.1, constants, probability=0.5)
    with pytest.raises(NotTestable, match="division"):
        make_scheduled(type("Fails", (), {"theory": lambda e, c: 1 / 0}), 0.1, constants)


def test_only_a_dataclass_is_changed():
    algorithm = NFWUSPIDERG(iterations=1, step=0.1, batch=1, period=1)
    changed = partial(instantiate_with_accepted_parameters, algorithm, ("step", "momentum"))
    assert changed(step=0.2).step == 0.2
    with pytest.raises(NotTestable, match="no parameter step"):
        instantiate_with_accepted_parameters(Fixed(), ("step",), step=0.2)
    with pytest.raises(NotTestable, match="no parameter momentum"):
        changed(momentum=1)


# --- following ------------------------------------------------------------------------------------


def test_arrays_that_move_in_place_are_copied():
    def states(ask, x, rng):
        g = ask.gradient(x)
        for _ in range(3):
            ask.lo(g)
            yield pf.State(x, x, g)
            x += 0.1
            g *= 2.0

    steps = followed(states)
    assert [float(step.state.x[0]) for step in steps] == pytest.approx([0.0, 0.1, 0.2])
    first, second, _ = (step.estimate for step in steps)
    assert np.allclose(second, 2.0 * first)
    assert np.allclose(steps[1].lo_inputs[0], second)
    assert np.allclose(steps[1].estimate_point, 0.1)


@pytest.mark.parametrize(
    ("asked", "yielded", "is_other"),
    [
        ([1.0, 2.0, 2.0], None, False),
        ([3.0, 0.0, 0.0], [1.0, 2.0, 2.0], True),
        ([1 / 3, 2 / 3, 2 / 3], [1.0, 2.0, 2.0], False),
        (None, [1.0, 2.0, 2.0], False),
    ],
)
def test_the_estimate_is_what_was_yielded_and_else_what_was_minimised(asked, yielded, is_other):
    def states(ask, x, rng):
        if asked is not None:
            ask.lo(np.array(asked))
        yield pf.State(x, x, yielded)

    (step,) = followed(states)
    assert np.allclose(step.estimate, [1.0, 2.0, 2.0])
    assert step.coverage.has_other_direction == is_other


def test_an_estimate_minimised_a_step_ahead_is_found():
    def states(ask, x, rng):
        gradients = [np.eye(3)[i] for i in range(3)]
        ask.lo(gradients[0])
        for t in range(2):
            ask.lo(gradients[t + 1])
            yield pf.State(x, x, gradients[t])

    for t, step in enumerate(followed(states)):
        assert np.array_equal(step.estimate, np.eye(3)[t])


def test_what_is_not_told_is_asked_for():
    (step,) = followed(lambda ask, x, rng: iter([pf.State(x)]))
    for missing in ("estimate_point", "estimate", "estimate_yielded"):
        with pytest.raises(NotTestable, match=r"yield State\(x, at"):
            getattr(step, missing)


def test_an_error_is_the_methods_fault_only_where_no_instrument_can_have_caused_it():
    def raises(ask, x, rng):
        yield pf.State(x)
        raise ValueError("no")

    with pytest.raises(ClaimBroken, match="the run raised ValueError: no"):
        followed(raises)
    with pytest.raises(NotEnumerable, match="the run raised ValueError: no"):
        next(enumerate_draws(lambda rng: followed(raises, rng=rng)))
    with pytest.raises(UnsupportedPoints, match="the run raised ValueError: no"):
        followed(raises, problem=recovery(4, 4))
    with pytest.raises(ClaimBroken, match="yields a tuple"):
        followed(lambda ask, x, rng: iter([(x, x)]))


@pytest.mark.parametrize("what", ["lo", "value"])
def test_a_step_that_does_not_end_is_the_methods_fault(what, monkeypatch):
    monkeypatch.setattr("pfbench.verification.step_record.MAX_CALLS_PER_STEP", 50)

    def asks(number):
        def states(ask, x, rng):
            for _ in range(3):
                for _ in range(number):
                    getattr(ask, what)(x)
                yield pf.State(x)

        return states

    assert len(followed(asks(50))) == 3
    with pytest.raises(ClaimBroken, match="did not end"):
        followed(asks(51))
    with pytest.raises(ClaimBroken, match="did not end"):
        next(enumerate_draws(lambda rng: followed(asks(51), rng=rng)))


def test_a_run_that_raises_where_points_are_no_arrays_is_no_fault():
    class ByHand(NFWUSPIDERG):
        def run(self, ask, x, rng):
            yield pf.State(x + 0.1 * (ask.lo(ask.gradient(x)) - x))

    algorithm = ByHand(iterations=1, step=0.1, batch=1, period=1)
    trial().run(PROBLEM, algorithm)
    with pytest.raises(UnsupportedPoints):
        trial().run(recovery(4, 4), algorithm)


def test_multiples():
    g = np.array([1.0, 2.0])
    assert is_positive_multiple(3.0 * g, g)
    assert not is_positive_multiple(-g, g)
    assert not is_positive_multiple(np.array([1.0, 2.0 + 1e-6]), g)
    assert not is_positive_multiple(g, np.ones(3))
    assert not is_positive_multiple(g, "no array")


def test_a_verdict_says_how_large_its_runs_were():
    found = judge(CLAIMS["methods-count-svrg"])
    sizes = {name: found.measured[f"largest {name}"] for name in ("n", "d", "T", "components")}
    assert sizes == {"n": 11, "d": 4, "T": 3000, "components": 11}
    assert found.max_sizes == found.as_json()["tested"] == {"T": 3000, "n": 11, "d": 4}
    assert str(found) == f"methods-count-svrg: {found.line}"
    assert found.line.startswith("holds · ")
    assert found.line.endswith(" · T <= 3 000, n <= 11, d <= 4")
    assert str(Verification((found, found))).splitlines() == [str(found)] * 2 + ["2 holds"]


@pytest.mark.parametrize("table", [False, True])
def test_components_that_are_asked_are_told_apart(table):
    witness = ComponentTally(make_unconstrained_problem(n=7))
    witness.batch(np.array([1, 1, 4]), np.ones(4))
    witness.difference(pf.Sample(np.array([4, 5]), np.array([1, 2])), np.ones(4), np.zeros(4))
    assert witness.distinct_components == 3
    _ = witness.table(np.ones(4)) if table else witness.gradient(np.ones(4))
    assert witness.distinct_components == 7


def test_a_run_that_is_left_has_been_seen():
    trial = Trial(CLAIMS["methods-count-svrg"])
    algorithm = trial.make(step=0.1, batch=2, period=3, iterations=9)
    steps = trial.follow(make_unconstrained_problem(n=7), algorithm)
    next(steps), next(steps)
    steps.close()
    assert (trial.coverage.n, trial.coverage.T) == (7, 2)


def test_a_method_that_raises_where_it_says_what_it_asks_is_caught():
    class Silent(ALGORITHMS["sfw"]):
        @property
        def asks(self):
            return self.requires | None

    found = judge(CLAIMS["methods-count-sfw"], Subject(Silent))
    assert found.catches_fault
    assert "iteration 0: the run raised TypeError" in found.reason
    assert "in its attribute asks or requires" in found.reason
