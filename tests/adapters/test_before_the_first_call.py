"""What is wrong before the first oracle call raises; a failed run has no measures."""

from dataclasses import dataclass

import numpy as np
import pytest
from helpers import assert_one_sentence

import pfbench as pf
from pfbench.adapters import PartialFit, TorchOptimizer
from pfbench.adapters.black_box import BlackBox
from pfbench.base.errors import InputError

SMOOTH = pf.problem("quadratic", rows=20, columns=4, set="none")
ROWS = {"features": np.ones((20, 4)), "labels": np.ones(20), "iterations": 2}


@dataclass(frozen=True, kw_only=True)
class Misspelt(BlackBox):
    requires = frozenset({"gradient", "smooth"})

    def minimise(self, plain, tell, rng):
        tell(plain.start - plain.grad(plain.start))


@dataclass(frozen=True, kw_only=True)
class Later(BlackBox):
    requires = frozenset({"gradient", "smooth"})

    def minimise(self, plain, tell, rng):
        tell(plain.start - plain.gradient(plain.start))
        raise ValueError("no good")


def solver(grad, lmo, x0):
    """A plain solver, which is no method of (ask, x, rng)."""
    return x0 - grad(x0)


def without_partial_fit():
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (
            Misspelt,
            ["Misspelt fails before its first oracle call", "did you mean 'gradient'", ".py:"],
        ),
        (solver, ["solver fails before its first oracle call", "solver(ask, x, rng)", ".py:"]),
        (lambda: PartialFit(estimator=without_partial_fit, **ROWS), ["has no partial_fit"]),
        (
            lambda: TorchOptimizer(optimizer="Adm", iterations=2, step=0.1),
            ["unknown optimiser of torch.optim 'Adm'", "did you mean 'Adam'"],
        ),
    ],
)
def test_what_is_wrong_before_the_first_call_raises(method, words):
    """It was a run with the status error, and the measures of the start as its results."""
    for module in ("sklearn", "torch"):
        pytest.importorskip(module)
    with pytest.raises(InputError) as refused:
        pf.solve(SMOOTH, method)
    assert_one_sentence(refused, *words)


def test_what_fails_later_is_a_run_without_final_measures():
    run = pf.solve(SMOOTH, Later)
    assert (run.status, run.counts.fo) == ("error", 1)
    assert set(run.final.values()) == {None}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_run_that_diverges_before_its_first_iterate_has_no_measures_of_the_start():
    def diverges(ask, x, rng):
        yield pf.State(x - np.inf * ask.gradient(x))

    run = pf.solve(SMOOTH, diverges, measures=["objective"])
    assert (run.status, run.final["objective"]) == ("diverged", None)


def test_a_class_is_called_by_its_own_name():
    """It was called BlackBox, as the class that it is made of."""
    assert (Misspelt.name, Later.name, Later().name) == ("Misspelt", "Later", "Later")


def test_an_lmo_that_is_nan_at_0_is_named():
    def lmo(g):
        with np.errstate(invalid="ignore"):
            return -g / np.linalg.norm(g)

    given = (lambda x: float(x @ x), lambda x: 2 * x, lmo)
    with pytest.raises(InputError) as refused:
        pf.adapters.from_functions(*given, start=np.zeros(3))
    assert_one_sentence(refused, "lmo(0) has NaN", "any vertex")
