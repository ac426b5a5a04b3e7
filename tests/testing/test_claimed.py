"""Rates and bounds of plain functions; and plain functions wherever a method is taken."""

import pickle

import numpy as np
import pytest
from plain_methods import conditional_gradient, every_state, mini_batch

import pfbench as pf
from pfbench.adapters import method_class
from pfbench.base.errors import InputError
from pfbench.testing import bound, rate

ON = "quadratic[source=synthetic,rows=40,columns=4,set=l2]"


def jaggi(c, a, t):
    return 2 * c.L_f * c.D**2 / (t + 2)


def suboptimality(problem, x):
    return problem.value(x)


def half_steps(grad, lmo, x0, T=50):
    x = x0
    for t in range(T):
        x = x + 0.1 / (t + 2) * (lmo(grad(x)) - x)
    return x


half_steps.deterministic = True


def noiseless():
    """f = |x - (3, 3)|^2/2 minus its least value on the unit ball."""
    c = np.full(2, 3.0)
    least = (np.linalg.norm(c) - 1) ** 2 / 2
    return pf.adapters.from_functions(
        lambda x: float((x - c) @ (x - c)) / 2 - least,
        lambda x: x - c,
        lambda g: -g / np.linalg.norm(g) if g.any() else np.array([1.0, 0.0]),
        start=np.array([-1.0, 0.0]),
        constants={"L_f": 1.0, "D": 2.0},
        properties=("convex",),
    )


def test_a_bound_on_a_plain_solver():
    verdict = bound(conditional_gradient, jaggi, suboptimality, on=noiseless)
    assert verdict.verdict.keeps_bound
    with pytest.raises(AssertionError, match="violated") as failure:
        bound(half_steps, jaggi, suboptimality, on=noiseless)
    assert len(str(failure.value).splitlines()) <= 5


def test_a_rate_of_a_plain_solver():
    given = {"on": noiseless, "count": "lo", "measure": suboptimality, "parameters": {"T": 400}}
    targets = [0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001]
    assert rate(conditional_gradient, 1, targets=targets, **given).verdict.keeps_bound
    for wrong in ([], [0.1], [0.1, 0.1], [0.1, -0.1]):
        with pytest.raises(InputError, match="targets"):
            rate(conditional_gradient, 1, targets=wrong, **given)
    with pytest.raises(AssertionError, match="violated: calls"):
        rate(conditional_gradient, 0.2, targets=targets, **given)


# --- wherever a method is taken -------------------------------------------------------------------


@pytest.mark.parametrize("method", [conditional_gradient, every_state])
def test_solve_counts_each_iterate_of_a_function(method):
    run = pf.solve(ON, method, budget={"lo": 5}, measures=["fw_gap"])
    lo = run.columns.index("lo")
    assert [row[lo] for row in run.rows] == [0, 1, 2, 3, 4, 5]
    assert (run.counts.lo, run.status) == (5, "budget")


def test_any_three_names_are_those_of_a_generator():
    def named_otherwise(oracles, x0, rng):
        yield pf.State(x0 - 0.1 * oracles.gradient(x0))

    on = "quadratic[source=synthetic,rows=40,columns=4,set=none]"
    assert pf.solve(on, named_otherwise).counts.fo == 1


def test_parameters_are_mapped_by_name():
    cls = method_class(mini_batch)
    assert [*cls.__dataclass_fields__] == ["iterations", "batch"]
    assert pickle.loads(pickle.dumps(cls)) is cls
    run = pf.solve(ON, pickle.loads(pickle.dumps(cls(iterations=7, batch=3))))
    assert (run.counts.sfo, run.counts.lo, run.iterations) == (21, 7, 7)
    with pytest.raises(InputError, match="`names` maps size, but mini_batch has no such parameter"):
        method_class(mini_batch, {"batch": "size"})
    with pytest.raises(InputError, match="mini_batch needs iterations, batch"):
        pf.solve(ON, mini_batch)


@pytest.mark.parametrize("method", [conditional_gradient, every_state, mini_batch])
def test_check_takes_a_function(method):
    report = pf.check(method)
    assert report.is_passed, str(report)


@pytest.mark.parametrize("method", [conditional_gradient, every_state])
def test_holds_takes_a_function(method, holds):
    assert holds("jaggi2013-thm1", method).verdict.keeps_bound


def test_a_solver_may_tell_its_iterates_or_yield_them():
    def tells(grad, x0, callback):
        for _ in range(3):
            x0 = x0 - 0.1 * grad(x0)
            callback(x0)

    def yields(grad, x0):
        for _ in range(3):
            x0 = x0 - 0.1 * grad(x0)
            yield x0

    on = "quadratic[source=synthetic,rows=40,columns=4,set=none]"
    runs = [pf.solve(on, method, measures=["value"]) for method in (tells, yields)]
    assert [run.iterations for run in runs] == [3, 3]
    value = runs[0].columns.index("value")
    assert [r[value] for r in runs[0].rows] == [r[value] for r in runs[1].rows]
