"""A problem by name is constructed once, and knows the parameters that build it again."""

import dataclasses

import pytest

import pfbench as pf
from pfbench.base.selectors import Selector
from pfbench.points import Pattern
from pfbench.problems import PROBLEMS
from pfbench.problems.catalogue import build_problem

SMALL = {
    "robust-matrix-recovery": {"rows": 6, "columns": 5, "rank": 1, "density": 0.5},
    "nonconvex-logistic": {"source": "synthetic", "rows": 9, "columns": 3},
    "multitask-sigmoid": {"rows": 4, "columns": 3, "kinds": 2, "copies": 1},
    "multiclass-logistic": {"source": "synthetic", "rows": 9, "columns": 3},
    "matrix-regression": {"rows": 3, "columns": 3, "rank": 1, "n": 9},
    "finite-sum-chain": {"n": 4},
    "zero-chain": {"horizon": 3},
    "simplex-norm": {"columns": 4},
    "separable-quadratic": {"columns": 4},
    "matrix-least-squares": {"rows": 4},
    "two-layer-network": {"rows": 9},
} | {name: {"rows": 9, "columns": 3} for name in ("robust-regression", "log-cosh", "quadratic")}


@pytest.mark.parametrize("name", PROBLEMS)
def test_one_construction(name, monkeypatch):
    cls, built = PROBLEMS[name].family.problem, []
    if not hasattr(cls, "__post_init__"):
        pytest.skip("nothing is checked where it is constructed")
    check = cls.__post_init__

    def counted(self):
        built.append(type(self))
        check(self)

    monkeypatch.setattr(cls, "__post_init__", counted)
    parameters = SMALL.get(name, {})
    problem = pf.problem(name, **parameters)
    assert built == [cls]
    assert (problem.name, dict(problem.parameters)) == (name, parameters)


def test_positions_are_sorted_once(monkeypatch):
    calls = []
    build = Pattern.from_sorted

    def counted(*arguments):
        calls.append(arguments)
        return build(*arguments)

    monkeypatch.setattr(Pattern, "from_sorted", counted)
    problem = pf.problem("robust-matrix-recovery", **SMALL["robust-matrix-recovery"])
    problem.gradient(problem.start())
    assert len(calls) == 1


def test_one_object_under_two_names_keeps_both():
    given = PROBLEMS["simplex-norm"].build({"columns": 4})
    one, other = given.with_selector("one", {"columns": 4}), given.with_selector("other", {})
    assert (one.name, other.name, given.name) == ("one", "other", "simplex-norm")
    assert (one.parameters, other.parameters) == ({"columns": 4}, {})
    assert type(one) is type(given)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.columns = 5


@pytest.mark.parametrize("text", ["nan", "1e3", "007", "true"])
def test_a_parameter_that_is_a_text_stays_one(text):
    """It is refused, or looked for, as it was written."""
    selector = Selector.parse(f"robust-matrix-recovery[source={text},seed=3]")
    with pytest.raises(pf.PfbenchError, match=f"'{text}'"):
        build_problem(selector)
