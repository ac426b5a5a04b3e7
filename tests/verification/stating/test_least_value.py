"""A least value that nobody stated is certified by the Frank-Wolfe gap, or refused."""

from types import SimpleNamespace

import numpy as np
import pytest

import pfbench as pf
from pfbench.verification.statements.quantity import ACCURACY, _gap, as_function, minimise_convex
from pfbench.verification.subject import NotTestable


@pytest.mark.parametrize("selected", ["l1", "l2", "simplex", "box", "permutahedron"])
def test_no_point_is_below_a_certified_value(selected):
    problem = pf.problem("quadratic", source="synthetic", set=selected)
    assert problem.best_known is None
    least, x = minimise_convex(problem), problem.start()
    g = problem.gradient(x)
    gap = float(g @ x) - float(problem.set.minimum(g)[0])
    assert problem.value(x) - gap <= least <= problem.value(x)
    for vertex in (problem.set.lo(g), problem.set.lo(-g)):
        assert problem.value(vertex) >= least - ACCURACY * gap
    assert as_function(problem, "suboptimality")(x) == pytest.approx(problem.value(x) - least)


def test_a_minimum_within_bounds_certifies_by_its_lower_one():
    body = SimpleNamespace(minimum=lambda g: (-2.0, -1.0))
    assert _gap(SimpleNamespace(gradient=lambda x: x, set=body), np.ones(1)) == 3.0


def test_it_is_that_of_least_squares_where_the_set_leaves_these():
    free = pf.problem("quadratic", source="synthetic", set="none")
    wide = pf.problem("quadratic", source="synthetic", set="l2", radius=1000.0)
    assert minimise_convex(wide) == pytest.approx(free.best_known[0], rel=1e-8)
    assert np.isfinite(minimise_convex(wide))


def test_a_problem_that_is_not_convex_is_refused():
    problem = pf.problem("nonconvex-logistic", source="synthetic")
    with pytest.raises(NotTestable, match="the minimum of nonconvex-logistic is not known"):
        minimise_convex(problem)
