"""Checks of samplers: wrong draws, gradients and constants are found, right samplers pass."""

import numpy as np
import pytest

import pfbench as pf
from pfbench.adapters import from_functions
from pfbench.checking import check

D = 3


def normal_rows(rng, size):
    return rng.standard_normal((size, D))


def mean_gradient(S, x):
    return S.T @ (S @ x - 1) / len(S)


CONSTANTS = {"L_f": 1.0, "sigma2": 18.0, "L_ms": np.sqrt(5.0)}
"""E|a a'|^2 = (d + 2) I, and E|a (a'x - 1) - x|^2 <= (d + 1)|x|^2 + d <= 15 in the box."""


def box_problem(sampler=normal_rows, sample_grad=mean_gradient, **constants):
    return from_functions(
        lambda x: 0.5 * (x @ x + 1),
        lambda x: x.copy(),
        lambda g: -np.sign(g),
        start=np.ones(D),
        sampler=sampler,
        sample_grad=sample_grad,
        constants=CONSTANTS | constants,
    )


def minibatch(ask, x, rng, iterations=20, step=0.05):
    for _ in range(iterations):
        g = ask.batch(ask.sample(rng, 4), x)
        at, x = x, pf.combine(x, ask.lo(g), step)
        yield pf.State(x, at, g)


def momentum(ask, x, rng, iterations=20, step=0.05):
    """Queries a sample after its last yield."""
    g = ask.batch(ask.sample(rng, 4), x)
    for _ in range(iterations):
        at, x = x, pf.combine(x, ask.lo(g), step)
        yield pf.State(x, at, g)
        S = ask.sample(rng, 4)
        g = 0.8 * (g + ask.difference(S, x, at)) + 0.2 * ask.batch(S, x)


@pytest.mark.parametrize("method", [minibatch, momentum])
def test_a_plain_function_that_samples_passes(method):
    report = check(method, problem=box_problem())
    assert not report.failures, str(report)


def test_a_method_whose_iterates_no_draw_changes_passes():
    """The sign of the gradient is that of x for any draw, so that all seeds go the same way."""
    report = check(
        minibatch, problem=box_problem(sample_grad=lambda S, x: x * np.mean(S[:, 0] ** 2))
    )
    assert not report.failures, str(report)
