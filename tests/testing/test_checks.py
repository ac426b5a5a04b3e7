"""The checks on right methods and wrong ones: what they accept, what they refuse, what they say."""

import itertools
import re
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import message
from processes import run_python

from pfbench.base.errors import InputError
from pfbench.testing import (
    FiniteSum,
    adamw,
    covariant,
    descends,
    gap_recursion,
    lmo,
    muon,
    no_dead_parameter,
    same_law,
    sgd,
    smooth,
    stepper,
    unbiased,
)

A = np.diag([1.0, 2.0, 4.0])


def value(x):
    return float(x @ A @ x / 2)


def gradient(x):
    return A @ x


def test_the_import_needs_numpy_alone():
    code = (
        "import sys, time, numpy; start = time.process_time(); import pfbench.testing as t;"
        "t.stepper, t.no_dead_parameter, t.covariant, t.descends, t.same_law, t.unbiased;"
        "heavy = {'scipy', 'numba', 'pandas', 'pyarrow', 'torch', 'rich'} & set(sys.modules);"
        "print(time.process_time() - start, *heavy)"
    )
    seconds, *heavy = run_python("-c", code)[0].split()
    assert not heavy
    assert float(seconds) < 0.3


# --- steppers -------------------------------------------------------------------------------------


class Momentum:
    """An optimiser of no library, with names of its own."""

    def __init__(self, learning_rate, beta=0.9):
        self.learning_rate, self.beta, self.m = learning_rate, beta, 0.0

    def step(self, x, g):
        self.m = self.beta * self.m + g
        return x - self.learning_rate * self.m


def transformation(learning_rate, beta):
    """Return an object of `init` and `update`, as optax has them."""

    def update(g, m, x):
        m = [beta * old + new for old, new in zip(m, g, strict=True)]
        return [-learning_rate * layer for layer in m], m

    return SimpleNamespace(init=lambda x: [0.0 * layer for layer in x], update=update)


@pytest.mark.parametrize("kind", ["torch", "class", "optax"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_kind_of_optimizer_makes_the_points_of_the_paper(kind, dtype):
    names = {"lr": "learning_rate", "momentum": "beta"}
    made = {"class": Momentum, "optax": transformation}.get(kind)
    if kind == "torch":
        made, names = pytest.importorskip("torch").optim.SGD, {}
    make = stepper(made, shape=(4, 3), dtype=dtype, names=names)
    same_law(make, stepper(sgd, shape=(4, 3), dtype=dtype), lr=0.1, momentum=0.9)
    no_dead_parameter(make, lr=0.1, momentum=0.9)
    points = make(np.ones((4, 3)), [np.ones((4, 3))] * 2, lr=0.5, momentum=0.5)
    assert [float(p[0, 0]) for p in points] == [1.0, 0.5, -0.25]


def in_place(x0, grads, lr):
    x, points = x0, [x0]
    for g in grads:
        x -= lr * g
        points.append(x)
    return points


@pytest.mark.parametrize(
    ("make", "hyper", "words"),
    [
        (stepper(in_place), {"lr": 0.1}, "in_place returns the same array twice: append x.copy()"),
        (stepper(lambda x0, grads, lr: grads), {"lr": 0.1}, "3 points for 3 gradients"),
        (stepper(Momentum), {"learning_rate": 0.0}, "learning_rate=0.0 cannot be varied"),
        (stepper(lambda lr: 3), {"lr": 0.1}, "<lambda> is not an optimiser"),
    ],
)
def test_what_is_no_stepper_is_refused(make, hyper, words):
    with pytest.raises(InputError, match=re.escape(words)):
        no_dead_parameter(make, **hyper)


# --- messages -------------------------------------------------------------------------------------


def without_decay(x0, grads, lr, weight_decay):
    return sgd(x0, grads, lr)


def test_a_dead_parameter_is_named_with_both_values():
    assert message(no_dead_parameter, stepper(without_decay), lr=0.1, weight_decay=0.5) == (
        "weight_decay has no effect: 0.5 and 0.25 give the same bits over 30 steps (lr=0.1)\n"
        "points are compared bit by bit, with gradients of scales 1, 2^-30, 2^30\n"
        "reproduce: no_dead_parameter(stepper(without_decay), lr=0.1, weight_decay=0.5)"
    )


def test_a_parameter_that_acts_late_is_not_dead():
    def largest(x0, grads, lr, amsgrad):
        x, v, top, points = x0, 0.0, 0.0, [x0]
        for g in grads:
            v = 0.99 * v + 0.01 * g * g
            top = np.maximum(top, v) if amsgrad else v
            x = x - lr * g / (np.sqrt(top) + 1e-8)
            points.append(x)
        return points

    for seed in range(50):
        no_dead_parameter(stepper(largest, shape=(1,), seed=seed), lr=0.1, amsgrad=True)


def test_many_dead_parameters_take_five_lines():
    def still(x0, grads, **hyper):
        return [x0.copy() for _ in range(len(grads) + 1)]

    text = message(no_dead_parameter, stepper(still, kind="function"), a=1.0, b=2, c=True, d=(1, 2))
    assert len(text.splitlines()) == 5
    assert "more of this kind" in text


def test_the_first_step_that_differs_is_named():
    def late(x0, grads, lr):
        return [x if t < 4 else x + 1e-3 for t, x in enumerate(sgd(x0, grads, lr))]

    assert "late and sgd differ from step 4 on" in message(
        same_law, stepper(late), stepper(sgd), lr=0.1
    )


# --- covariance -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("method", "group", "scales", "hyper"),
    [
        (sgd, "scale of f", {"lr": -1, "weight_decay": 1}, {"momentum": 0.9, "weight_decay": 0.1}),
        (sgd, "scale of x", {"lr": 2, "weight_decay": -2}, {"momentum": 0.9, "weight_decay": 0.1}),
        (sgd, "rotation", {}, {"momentum": 0.9, "nesterov": True}),
        (sgd, "permutation", {}, {"momentum": 0.9}),
        (adamw, "scale of x", {"lr": 1, "eps": -1, "weight_decay": -1}, {"weight_decay": 0.1}),
        (adamw, "permutation", {}, {"eps": 1e-3}),
        (muon, "scale of f", {}, {"weight_decay": 0.1}),
        (muon, "scale of x", {"lr": 1, "weight_decay": -1}, {"weight_decay": 0.1}),
        (muon, "two-sided rotation", {}, {"nesterov": False}),
        (muon, "permutation", {}, {}),
    ],
)
def test_covariant_methods(method, group, scales, hyper, dtype):
    hyper = {"lr": 0.1, **dict.fromkeys(scales, 0.1), **hyper}
    covariant(stepper(method, shape=(4, 6), dtype=dtype), group, scales=scales, **hyper)


def test_adam_is_not_covariant_under_rotation():
    assert "step" in message(covariant, stepper(adamw), "rotation", lr=0.1)
    text = message(covariant, stepper(adamw), "scale of f", lr=0.1, eps=0.5)
    assert "scaled with these powers of the factor 4: lr 0, eps 0" in text


def frank_wolfe(grad, lmo, x0, T=20):
    points = [x0]
    for t in range(T):
        points.append(points[-1] + 2 / (t + 2) * (lmo(grad(points[-1])) - points[-1]))
    return points


def test_frank_wolfe_is_affinely_covariant_and_projected_gradients_are_not():
    def descent(grad, x0):
        yield x0
        yield x0 - 0.1 * grad(x0)

    covariant(frank_wolfe, "affine map of the set", T=30)
    assert "point 1 differs" in message(covariant, descent, "affine map of the set")


# --- inequalities ---------------------------------------------------------------------------------


def test_a_smoothness_constant_is_refuted_by_one_step():
    make = stepper(sgd, shape=(3,))
    descends(make, smooth(value, gradient, L=4.0), lr=0.1, momentum=0.9)
    text = message(descends, make, smooth(value, gradient, L=1.0), lr=0.1)
    assert "violates smooth at step 1" in text
    assert "L|d|^2/2" in text


def vertex(g):
    return -g / np.linalg.norm(g)


def on_the_ball(x0, grads, power=1):
    points = [x0]
    for t, g in enumerate(grads):
        points.append(points[-1] + (2 / (t + 2)) ** power * (vertex(g) - points[-1]))
    return points


def test_the_gap_recursion_sees_the_step_size():
    recursion = gap_recursion(value, gradient, vertex, L=4.0)
    descends(stepper(on_the_ball, shape=(3,), steps=30), recursion)
    identity = gap_recursion(lambda x: float((x - 2) @ (x - 2)) / 2, lambda x: x - 2, vertex, L=1.0)
    descends(stepper(on_the_ball, shape=(3,), steps=30), identity)
    assert "step" in message(descends, stepper(on_the_ball, shape=(3,)), identity, power=2)


def test_an_inequality_of_the_user_with_its_gradient():
    def falls(before, after, g):
        return value(after), value(before), {"f": value(before)}

    make = stepper(sgd, shape=(3,))
    descends(make, falls, gradient=gradient, lr=0.25)
    assert "violates falls at step 1" in message(descends, make, falls, gradient=gradient, lr=0.6)


# --- laws -----------------------------------------------------------------------------------------

SUM = FiniteSum(n=3, d=1)


def saga(rng, draw="integers", keep=True):
    x, table, points = np.ones(1), np.zeros((3, 1)), []
    order = rng.permutation(3) if draw == "permutation" else None
    for t in range(3):
        drawn = {"integers": lambda: rng.integers(3), "choice": lambda: rng.choice(3)}
        i = drawn[draw]() if order is None else order[t]
        new = SUM.component(i, x)
        g = new - table[i] + table.mean(axis=0)
        if keep:
            table[i] = new
        x = x - 0.1 * g
        points.append(x)
    return points


def draws_otherwise(rng):
    return saga(rng, "choice")


def permuted(rng):
    return saga(rng, "permutation")


def forgets(rng):
    return saga(rng, keep=False)


def gaussian(rng, shift=0.0):
    return list(np.cumsum(rng.standard_normal((3, 4)) + shift, axis=0))


def other_gaussian(rng):
    return list(np.cumsum(rng.standard_normal((4, 3)).T, axis=0))


def shifted(rng):
    return gaussian(rng, shift=1.0)


def test_a_method_that_gives_nan_has_another_law():
    assert "the distributions differ" in message(
        same_law, gaussian, lambda rng: [np.nan * x for x in gaussian(rng)]
    )


@pytest.mark.parametrize("last", [np.nan, np.inf])
def test_a_value_that_is_not_finite_equals_no_other(last):
    def ends(rng, end):
        return [np.array([float(rng.integers(2))]), np.ones(1), np.array([end])]

    assert "total variation 1" in message(same_law, lambda r: ends(r, 2), lambda r: ends(r, last))
    assert "biased" in message(unbiased, lambda ask, x, rng: np.full(2, last))

    def overflows(x0, grads, lr):
        return [*sgd(x0, grads, lr)[:-1], x0 + last]

    make = stepper(overflows)
    same_law(make, make, lr=0.1)
    assert "step 12 on" in message(same_law, stepper(sgd), make, lr=0.1)
    twice = stepper(lambda x0, grads, lr: overflows(x0, grads, 2 * lr))
    assert "step 1 on" in message(same_law, make, twice, lr=0.1)
    falls = smooth(lambda x: last if abs(x).max() > 1e3 else 0.0, lambda x: x, L=1.0)
    assert "at step 1" in message(descends, stepper(sgd, steps=1), falls, lr=1e6)
    polar = stepper(
        lambda x0, grads, lr: sgd(x0, [[g[0] / abs(g[0]), np.nan * g[1]] for g in grads], lr),
        shape=[(1, 1), (1, 1)],
        steps=1,
    )
    assert "layer 1" in message(descends, polar, lmo(lo=0.9, hi=1.1, lr=0.1), lr=0.1)


def test_points_may_be_numbers():
    same_law(stepper(sgd, shape=()), stepper(sgd, shape=(), seed=0), lr=0.1)
    with pytest.raises(InputError, match="shape=5 must be a tuple"):
        stepper(sgd, shape=5)


def test_finite_laws_are_compared_exactly():
    assert same_law(saga, draws_otherwise).endswith("equal: 27 and 27 sequences of draws")
    assert "total variation 0.777778" in message(same_law, saga, permuted)
    assert same_law(saga, permuted, index=1).startswith("the distributions are equal")
    assert "total variation" in message(same_law, saga, forgets)


def test_other_laws_are_compared_by_samples():
    assert "common seeds are equal" in same_law(gaussian, gaussian)
    assert "not significantly different in 80 runs" in same_law(gaussian, other_gaussian)
    assert "the distributions differ: p = " in message(same_law, gaussian, shifted)


def minibatch(ask, x, rng):
    return ask.batch(rng.integers(ask.n, size=2), x)


def divided_by_n(ask, x, rng):
    return sum(ask.component(i, x) for i in rng.integers(ask.n, size=2)) / ask.n


def page(ask, rng):
    last, g = None, None

    def estimate(x):
        nonlocal last, g
        if last is None or rng.random() < 0.25:
            g = ask.gradient(x)
        else:
            g = g + ask.difference(rng.integers(ask.n, size=1), x, last)
        last = x
        return g

    return estimate


def test_unbiased_estimators_and_a_biased_one():
    unbiased(minibatch)
    unbiased(page, FiniteSum(n=3), calls=3)
    text = message(unbiased, divided_by_n)
    assert "divided_by_n is biased at call 1" in text
    assert "over 16 sequences of draws" in text


def test_draws_that_cannot_be_enumerated_are_refused():
    with pytest.raises(InputError, match=r"enumerated: the method draws with rng\.normal"):
        unbiased(lambda ask, x, rng: rng.normal(size=2))


def test_what_goes_wrong_late_is_found():
    def forgets(x0, grads, lr, momentum):
        points = sgd(x0, grads, lr, momentum=momentum)
        return points[:30] + [0.5 * x for x in points[30:]]

    text = message(same_law, stepper(forgets), stepper(sgd), lr=0.1, momentum=0.9)
    assert "differ from step 30 on" in text

    def third(ask, rng):
        calls = itertools.count(1)
        return lambda x: ask.component(rng.integers(ask.n), x) * (1 + (next(calls) == 3))

    assert "biased at call 3" in message(unbiased, third)
