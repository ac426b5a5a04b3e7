"""Checks of samplers: wrong draws, gradients and constants are found, right samplers pass."""

import numpy as np
import pytest

import pfbench as pf
from pfbench.adapters import from_functions
from pfbench.checking import check
from pfbench.checking.sampler_checks import _is_zero_mean_rejected

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
        constants={k: v for k, v in (CONSTANTS | constants).items() if v is not None},
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


# --- draws, means and moments ---------------------------------------------------------------------


def statuses(problem):
    return {result.check: result.status for result in check(problem).findings}


def seeded(rng, size):
    return np.random.default_rng(0).standard_normal((size, D))


def repeated(rng, size):
    return np.repeat(rng.standard_normal((1, D)), size, axis=0)


def antithetic(rng, size):
    half = rng.standard_normal(((size + 1) // 2, D))
    return np.concatenate([half, -half])[:size]


WRONG = {
    "half the gradient": (box_problem(sample_grad=lambda S, x: 0.5 * mean_gradient(S, x)), "mean"),
    "twice": (box_problem(sample_grad=lambda S, x: 2.0 * mean_gradient(S, x)), "moments"),
    "bias": (box_problem(sample_grad=lambda S, x: mean_gradient(S, x) + 0.5), "mean"),
    "bias at some points": (
        box_problem(sample_grad=lambda S, x: mean_gradient(S, x) + 0.5 * (x.max() < 1)),
        "mean",
    ),
    "first draw": (box_problem(sample_grad=lambda S, x: S[0] * (S[0] @ x - 1)), "draws"),
    "first draws": (box_problem(sample_grad=lambda S, x: mean_gradient(S[:4], x)), "draws"),
    "size less one": (
        box_problem(sample_grad=lambda S, x: S.T @ (S @ x - 1) / max(1, len(S) - 1)),
        "draws",
    ),
    "no seed": (box_problem(seeded), "draws"),
    "one draw": (box_problem(repeated), "draws"),
    "pairs": (box_problem(antithetic, lambda S, x: S.T @ (S @ x) / len(S)), "draws"),
    "sigma2": (box_problem(sigma2=9.0), "moments"),
    "L_ms": (box_problem(L_ms=1.5), "moments"),
    "L_max": (box_problem(L_max=5.0), "moments"),
}


def test_the_functions_of_the_user_are_named_as_the_place_of_a_fault():
    (draws,) = check(box_problem(repeated)).failures
    assert [text.partition(" (")[2] for text in draws.location] == ["repeated)", "mean_gradient)"]


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_sampler_fails_the_check_of_its_fault(name, all_search_time):
    problem, fault = WRONG[name]
    failed = [check for check, status in statuses(problem).items() if status == "failed"]
    assert any(check.startswith(fault) or check.startswith(f"{fault} of") for check in failed), (
        failed
    )


def rare(rng, size):
    """Rows that are 0, but for one in 50 000 of size 50 000^(1/2): E a a' = I."""
    return (rng.random((size, 1)) < 1 / 50_000) * rng.standard_normal((size, D)) * 50_000**0.5


def pareto(rng, size):
    """Symmetric rows with infinite fourth moments, whose second moment is I."""
    return rng.standard_t(3.0, (size, D)) / 3.0**0.5


def sign_rows(rng, size):
    return rng.choice([-1.0, 1.0], size=(size, D))


RIGHT = {
    "normal": box_problem(),
    "signs": box_problem(sign_rows, sigma2=12.0, L_ms=3.0**0.5),
    "rare": box_problem(rare, sigma2=1e7, L_ms=1e4),
    "heavy tails": box_problem(pareto, sigma2=None, L_ms=None),
    "constant": box_problem(
        lambda rng, size: np.zeros(size), lambda S, x: x.copy(), sigma2=0.0, L_ms=1.0
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_sampler_passes(name):
    report = check(RIGHT[name])
    assert not report.failures, str(report)


def test_a_mean_that_rare_draws_could_explain_is_not_decided():
    """All rows are 0 with probability 0.99 in a check, so that all gradients are 0, not x."""
    law = box_problem(lambda rng, size: np.zeros((size, D)), sigma2=1e9, L_ms=1e5)
    assert statuses(law)["mean of the draws"] == "skipped"


@pytest.mark.parametrize("seed", range(3))
def test_the_test_of_a_mean_has_its_level_and_finds_a_shift(seed):
    """Skewed noise of variance 1: at the level exp(-3), of 400 tests at most 2 exp(-3) reject."""
    noise = np.random.default_rng(seed).exponential(size=(140, 400)) - 1.0
    assert sum(_is_zero_mean_rejected(noise[:, [k]], 1.0, 3.0) for k in range(400)) <= 40
    assert all(_is_zero_mean_rejected(noise[:, [k]] + 1.0, 1.0, 17.0) for k in range(400))
