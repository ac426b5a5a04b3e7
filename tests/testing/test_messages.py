"""What a failed check says: a call that reproduces it, likely causes, and gradients that change."""

import warnings

import numpy as np
import pytest

from pfbench.base.errors import InputError
from pfbench.testing import covariant, descends, lmo, same_law, sgd, smooth, stepper


def message(check, *given, **hyper):
    with pytest.raises(AssertionError) as failure:
        check(*given, **hyper)
    return str(failure.value)


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


def test_a_tolerance_allows_an_eps_of_a_norm_which_is_named():
    def normed(x0, grads, lr, eps):
        return sgd(x0, [g / (np.linalg.norm(g) + eps) for g in grads], lr)

    def plain(x0, grads, lr, eps):
        return normed(x0, grads, lr, 0.0)

    pair = stepper(normed), stepper(plain)
    text = message(same_law, *pair, lr=0.1, eps=1e-7)
    assert "an eps added to a norm" in text
    assert "pass tolerance=1e-06" in text or "pass tolerance=1e-07" in text
    assert "within" not in same_law(*pair, lr=0.1, eps=1e-7, tolerance=1e-6)
    assert "an eps" not in message(same_law, *pair, lr=0.1, eps=1e-2)
    with pytest.raises(InputError, match="tolerance applies to steppers only"):
        same_law(lambda rng: [1.0] * 3, lambda rng: [1.0] * 3, tolerance=1e-6)


def test_points_that_are_not_finite_are_named_first():
    def lost(x0, grads, lr):
        return [x0, *(np.inf * x for x in sgd(x0, grads, lr)[1:])]

    make = stepper(lost, shape=(2, 3))
    first = "the points of lost are not finite at step 1"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for check, given in (
            (same_law, [make, stepper(sgd, shape=(2, 3))]),
            (descends, [make, lmo(0.9, 1.1, 0.1)]),
            (descends, [make, smooth(lambda x: float(x.sum()), lambda x: x, L=1.0)]),
            (covariant, [make, "two-sided rotation"]),
        ):
            assert message(check, *given, lr=0.1).startswith(first)


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
