"""Rates of plain functions, wherever a method is taken; and what a failed check says."""

import pickle
import re

import numpy as np
import pytest
from helpers import message
from plain_methods import conditional_gradient, every_state, mini_batch
from scipy.optimize import OptimizeResult

import pfbench as pf
from pfbench.adapters import method_class
from pfbench.base.errors import InputError
from pfbench.testing import bound, covariant, descends, lmo, rate, same_law, sgd, smooth, stepper

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


def test_a_solver_may_return_an_object_and_query_points_outside_the_set():
    def accelerated(grad, project, x0, T=20, result=lambda x: OptimizeResult(x=x)):
        x = y = x0
        for _ in range(T):
            before, x = x, project(y - grad(y))
            y = x + 0.9 * (x - before)
        return result(x)

    on = "quadratic[rows=40,columns=4,set=l2,radius=0.1]"
    for result in (lambda x: OptimizeResult(x=x), lambda x: {"x": x}, lambda x: (x, [1.0])):
        run = pf.solve(on, method_class(accelerated)(result=result))
        assert (run.counts.fo, run.counts.po, run.iterations) == (20, 20, 20), run.stop_reason
    text = message(bound, accelerated, lambda c, a, t: 9.0, "fw_gap", on=on)
    assert re.match("(?s)failed: .*add an argument `callback`", text)
    with pytest.raises(InputError, match="returns an object of type str: return an array"):
        [*method_class(accelerated)(result=str).run(pf.problem(on), np.zeros(4), None)]


class Descent:
    def fit(self, grad, x0, last=[]):  # noqa: B006
        last.append(last[-1] if last else x0)
        for _ in range(50):
            last[-1] = last[-1] - 0.01 * grad(last[-1])
        return last[-1]


def test_check_finds_what_a_bound_method_keeps_at_its_end():
    assert "same seed gives the same bits: two runs" in str(pf.check(Descent().fit))


# --- What a failed check says: a call that reproduces it, likely causes, and gradients that chan---


def test_the_last_line_has_every_argument_that_is_no_default():
    def renamed(x0, grads, rate):
        return sgd(x0, grads, 2 * rate)

    make = stepper(renamed, names={"lr": "rate"}, steps=5, seed=3)
    assert repr(make) == "stepper(renamed, names={'lr': 'rate'}, steps=5, seed=3)"
    bounds = lmo(0.9, 1.1, 0.1, momentum=0.9, nesterov=True, scale=max, slack=0.5)
    line = message(descends, stepper(sgd, shape=(2, 3)), bounds, lr=9.0).splitlines()[-1]
    assert line == (
        "reproduce: descends(stepper(sgd, shape=(2, 3)), lmo(lo=0.9, hi=1.1, lr=0.1, momentum=0.9, "
        "nesterov=True, scale=max, slack=0.5), lr=9.0)"
    )


def test_a_tolerance_allows_an_eps_of_a_norm():
    def normed(x0, grads, lr, eps):
        return sgd(x0, [g / (np.linalg.norm(g) + eps) for g in grads], lr)

    def plain(x0, grads, lr, eps):
        return normed(x0, grads, lr, 0.0)

    pair = stepper(normed), stepper(plain)
    assert "normed and plain differ" in message(same_law, *pair, lr=0.1, eps=1e-7)
    assert "within" not in same_law(*pair, lr=0.1, eps=1e-7, tolerance=1e-6)


@pytest.mark.filterwarnings("error")
def test_points_that_are_not_finite_are_named_first():
    def lost(x0, grads, lr):
        return [x0, *(np.inf * x for x in sgd(x0, grads, lr)[1:])]

    make = stepper(lost, shape=(2, 3))
    for inequality in (lmo(0.9, 1.1, 0.1), smooth(lambda x: float(x.sum()), lambda x: x, L=1.0)):
        text = message(descends, make, inequality, lr=0.1)
        assert text.startswith("the points of lost are not finite at step 1")
    assert "inf, expected" in message(same_law, make, stepper(sgd, shape=(2, 3)), lr=0.1)
    assert "nan, expected" in message(covariant, make, "two-sided rotation", lr=0.1)


class GradientIsBuffer:
    def __init__(self, lr):
        self.lr, self.b = lr, None

    def step(self, x, g):
        if self.b is None:
            self.b = g
        else:
            self.b *= 0.9
            self.b += g
        return x - self.lr * self.b


def test_a_gradient_kept_as_buffer_without_a_copy():
    text = message(same_law, stepper(GradientIsBuffer), stepper(sgd), lr=0.1)
    assert text.startswith("GradientIsBuffer changes the gradient of step 1 in a later step")
