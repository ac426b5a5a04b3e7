"""`pfbench check` in other units: absolute numbers are found, right methods are not accused."""

import inspect
from dataclasses import dataclass

import numpy as np
import pytest

import pfbench as pf
from pfbench.algorithms.frank_wolfe import FrankWolfe
from pfbench.algorithms.proximal import ProxGD
from pfbench.checking import check

RUN, SCHEDULE = "its run is the same in other units", "its schedule is the same in other units"


def found(method):
    """Return the two findings about units."""
    by_check = {result.check: result for result in check(method, kind="algorithm").findings}
    return by_check[RUN], by_check[SCHEDULE]


class Gives(ProxGD):
    """Gives up where its step is short, in absolute units."""

    def run(self, ask, x, rng):
        """Stop at 1e-6."""
        for state in super().run(ask, x, rng):
            yield state
            if np.linalg.norm(state.estimate) < 1e-6:
                return


class Hurries(FrankWolfe):
    """Stops at a gap of 1e-6."""

    def run(self, ask, x, rng):
        """Stop."""
        for state in super().run(ask, x, rng):
            if float(np.vdot(state.estimate, state.at - ask.lo(state.estimate))) < 1e-6:
                return
            yield state


class OneMore(ProxGD):
    """Steps by 1/(L+1)."""

    @classmethod
    def theory(cls, epsilon, constants, **overrides):
        """Take the step."""
        return super().theory(
            epsilon, constants, **{"step": 1.0 / (constants.L_f + 1.0), **overrides}
        )


@dataclass(frozen=True, kw_only=True)
class HardCoded(pf.Algorithm):
    """Gradient descent with a step of its own; a right method for one problem."""

    name, deterministic = "hard-coded", True
    requires = frozenset({"gradient", "smooth"})
    iterations: int

    def run(self, ask, x, rng):
        """Step by 0.05."""
        for _ in range(self.iterations):
            g = ask.gradient(x)
            at, x = x, x - 0.05 * g
            yield pf.State(x, at, g)


class Plain:
    """Gradient descent of no base class, whose step is an attribute."""

    name, deterministic, output = "plain", True, "last"
    requires = frozenset({"gradient", "smooth"})

    def __init__(self, iterations, step):
        self.iterations, self.step = iterations, step

    def run(self, ask, x, rng):
        """Step."""
        for _ in range(self.iterations):
            g = ask.gradient(x)
            at, x = x, x - self.step * g
            yield pf.State(x, at, g)


class Picky(Plain):
    """Refuses what it does not like, by an error of Python's."""

    def __init__(self, iterations, step):
        super().__init__(iterations, step)
        if step > 1.0:
            raise ValueError("so long a step")

    @classmethod
    def theory(cls, epsilon, constants, **given):
        """Refuse."""
        raise KeyError("epsilon")


@pytest.mark.parametrize("method", [Gives, Hurries])
def test_an_absolute_tolerance_is_found(method):
    run, schedule = found(method)
    assert run.status == "failed"
    assert "f by 2^-30: the run has" in run.observed
    line = inspect.getsourcelines(method)[1]
    numbers = [int(one.split(":")[1].split()[0]) for one in run.location]
    assert numbers
    assert all(line < number < line + 9 for number in numbers)
    assert schedule.status == "passed"


def test_a_step_with_one_more_is_found():
    run, schedule = found(OneMore)
    assert schedule.status == "failed"
    assert "step is" in schedule.observed
    assert run.status == "passed"


def test_a_hard_coded_step_is_a_remark():
    run, schedule = found(HardCoded)
    assert run.status == "skipped"
    assert "a step" in run.observed
    assert "0.05" in run.observed
    assert schedule.status == "skipped"


def test_a_step_of_any_style_passes():
    run, _ = found(Plain)
    assert run.status == "passed"


def test_what_a_method_refuses_is_no_fault():
    assert [one.status for one in found(Picky)] == ["passed", "skipped"]


def test_the_unit_of_epsilon_is_told():
    assert "epsilon is |G|" in found("prox-gd")[1].observed
