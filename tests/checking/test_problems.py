"""The checks of problems: right ones pass, every planted fault is named."""

import numpy as np
import pytest
from checking.faults import faults
from checking.faulty_problems import PROBLEMS, RIGHT, Matrix, Ridge
from checking.faulty_sets import PENALTIES

from pfbench.checking import check
from pfbench.problems import FiniteSum
from pfbench.problems.catalogue import PROBLEMS as OURS
from pfbench.sets import L2Ball

SMALL = {
    "robust-matrix-recovery": "[rows=8,columns=7,rank=1]",
    "nonconvex-logistic": "[source=synthetic,rows=40,columns=4]",
    "multitask-sigmoid": "[rows=5,columns=4,kinds=2,copies=2]",
    "multiclass-logistic": "[source=synthetic,rows=30,columns=4,classes=3]",
    "robust-regression": "[rows=30,columns=4,set=none]",
    "log-cosh": "[rows=30,columns=4,penalty=l1,weight=0.1]",
    "quadratic": "[rows=30,columns=4,set=simplex]",
    "matrix-regression": "[rows=5,columns=4,rank=2,n=30]",
    "simplex-norm": "[columns=12]",
    "zero-chain": "[horizon=6]",
    "finite-sum-chain": "",
    "separable-quadratic": "[columns=4,noise=skewed,norm=linf]",
    "matrix-least-squares": "[norm=spectral,noise=normal]",
    "two-layer-network": "[norm=spectral*linf[radius=0.5]]",
    "additive": "[columns=4]",
    "matrix-additive": "[norm=spectral]",
    "multiplicative": "[columns=4,set=l2]",
    "cubic": "[columns=3,set=l2,radius=2]",
    "regression": "",
    "glm": "[set=l1,radius=1.5]",
}
"""Every problem of the catalogue, in a size that takes little time."""

SLOW = ("robust-matrix-recovery", "multitask-sigmoid", "multiclass-logistic", "matrix-regression")
"""They take a second or more; points of theirs are checked quickly in `test_factored_points`."""


def failed(found):
    return [one.check for one in found.failures]


def test_every_problem_has_a_small_one():
    assert set(SMALL) == set(OURS)


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in SLOW else ()) for name in SMALL]
)
def test_every_problem_of_the_catalogue_passes(name):
    report = check(name + SMALL[name])
    assert report.is_passed, str(report)


@pytest.mark.long
@pytest.mark.parametrize("name", OURS)
def test_every_problem_of_the_catalogue_passes_as_it_is(name):
    report = check(name if name != "nonconvex-logistic" else "nonconvex-logistic[source=synthetic]")
    assert report.is_passed, str(report)


@pytest.mark.thin(2)
@pytest.mark.parametrize("problem", RIGHT, ids=lambda problem: type(problem).__name__)
def test_a_right_problem_in_another_style_passes(problem):
    report = check(problem)
    assert (report.kind, failed(report)) == ("problem", []), str(report)


@pytest.mark.parametrize("fault", faults(PROBLEMS))
def test_a_fault_is_named(fault):
    problem, expected = PROBLEMS[fault]
    report = check(problem)
    assert expected in failed(report), str(report)


def test_the_pair_that_shows_a_constant_too_small_shows_it():
    problem, _ = PROBLEMS["L_f one percent too small"]
    (result,) = [result for result in check(problem).failures if result.check == "constant L_f"]
    x, y = result.arguments["x"], result.arguments["y"]
    ratio = np.linalg.norm(problem.gradient(x) - problem.gradient(y)) / np.linalg.norm(x - y)
    assert ratio > problem.constants(problem.start()).L_f
    assert "faulty_problems.py:" in result.location[0]


def test_the_direction_that_shows_a_wrong_gradient_shows_it():
    problem, _ = PROBLEMS["factor 2"]
    (result,) = [result for result in check(problem).failures if result.check == "gradient"]
    x, u = result.arguments["x"], result.arguments["u"]
    right = (problem.value(x + 1e-5 * u) - problem.value(x - 1e-5 * u)) / 2e-5
    assert problem.gradient(x) @ u == pytest.approx(2.0 * right, rel=1e-6)
    assert "everywhere it is 2 times the derivative" in result.observed


def test_the_set_and_the_penalty_of_a_problem_are_checked_with_it():
    wrong = type("Wrong", (L2Ball,), {"lo": lambda self, g: -L2Ball.lo(self, g)})
    problem = type("Mine", (Ridge,), {"constants": FiniteSum.constants})()
    problem.set = wrong(4, 1.5)
    assert "set: lo minimises" in failed(check(problem))
    penalised = type("Mine", (Matrix,), {"penalty": PENALTIES["weight left out"][0]})()
    assert "penalty: proximal map" in failed(check(penalised))


def test_the_search_comes_close_to_exact_constants():
    found = {result.check: result.observed for result in check(Ridge()).findings}
    for name in ("D", "L_f", "L_max", "M"):
        assert found[f"constant {name}"].endswith(", 1 of it"), found
