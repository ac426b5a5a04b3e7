"""Muon as a training loop and PyTorch have it: the iterates of ours, from outside."""

from dataclasses import dataclass

import numpy as np
import pytest
from helpers import followed
from numpy.testing import assert_allclose

import pfbench as pf
from pfbench.adapters import BlackBox, TorchOptimizer
from pfbench.algorithms import ALGORITHMS
from pfbench.sets.orthogonalisers import QUINTIC

STEPS, LR, BETA, BATCH = 12, 0.05, 0.9, 4


def problem(rows=3, columns=5, steps=5):
    return pf.problem(
        "matrix-least-squares",
        columns=rows,
        outputs=columns,
        noise="normal",
        sigma=10.0,
        norm=f"spectral[lmo=quintic,steps={steps}]",
    )


def ours(on, name="muon", **given):
    common = {"iterations": STEPS, "step": LR, "batch": BATCH, "beta": BETA}
    return followed(on, ALGORITHMS[name](**{**common, **given}))


def same_samples(counts, expected):
    assert counts.sfo == expected.sfo == STEPS * BATCH
    assert (counts.lo, expected.lo) == (0, STEPS)


# --- a loop ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Loop(BlackBox):
    """The usual step, by hand: zero_grad, backward, update of a buffer, five times the quintic."""

    name, source, counts = "muon-loop", "tests", "SFO bT"
    requires = frozenset({"batch"})
    nesterov: bool = False

    def minimise(self, oracles, tell, rng):
        a, b, c = QUINTIC
        W = oracles.point(oracles.start)
        buffer = np.zeros_like(W)
        for _ in range(STEPS):
            grad = oracles.point(oracles.batch(rng.integers(oracles.n, size=BATCH), W))
            buffer = BETA * buffer + grad
            update = grad + BETA * buffer if self.nesterov else buffer
            X = update / np.sqrt((update**2).sum())
            for _ in range(5):
                A = X @ X.T
                X = a * X + b * (A @ X) + c * (A @ (A @ X))
            W = W - LR * X
            tell(W)


@pytest.mark.parametrize(("nesterov", "name"), [(False, "muon"), (True, "muon-nesterov")])
def test_a_training_loop_has_the_iterates_of_ours(nesterov, name):
    on = problem()
    found, run = followed(on, Loop(nesterov=nesterov))
    expected, right = ours(on, name)
    assert_allclose(found, expected, rtol=0, atol=1e-12)
    same_samples(run.counts, right.counts)
    assert np.ptp(expected, axis=0).max() > 0.1


# --- PyTorch --------------------------------------------------------------------------------------


@pytest.fixture
def muon():
    """PyTorch's own, where the installed version has it."""
    pytest.importorskip("torch", reason="torch is not installed")

    def made(**options):
        plain = {"weight_decay": 0.0, "momentum": BETA, "nesterov": False}
        return TorchOptimizer(
            optimizer="Muon", iterations=STEPS, step=LR, batch=BATCH, options={**plain, **options}
        )

    return made


HALF_PRECISION = 0.03
"""Of a step: PyTorch makes its minimiser in bfloat16, of eight bits."""


@pytest.mark.parametrize(
    ("options", "name", "given", "steps"),
    [
        ({}, "muon", {}, 5),
        ({"nesterov": True}, "muon-nesterov", {}, 5),
        ({"weight_decay": 0.4}, "muon", {"decay": 0.4}, 5),
        ({"ns_steps": 3}, "muon", {}, 3),
    ],
)
def test_pytorchs_muon_is_ours_but_for_half_precision(muon, options, name, given, steps):
    on = problem(steps=steps)
    found, run = followed(on, muon(**options))
    expected, right = ours(on, name, **given)
    off = np.linalg.norm(found - expected, 2, axis=(1, 2)) / (LR * np.arange(1, STEPS + 1))
    assert off.max() < HALF_PRECISION
    same_samples(run.counts, right.counts)
    other, _ = ours(on, "muon" if name == "muon-nesterov" else "muon-nesterov", **given)
    assert np.linalg.norm(found[-1] - other[-1], 2) > 3.0 * HALF_PRECISION * LR


def test_pytorch_scales_the_step_of_tall_matrices(muon):
    """By the root of rows over columns: gamma here is lr times that."""
    on = problem(rows=6, columns=2)
    found, _ = followed(on, muon())
    expected, _ = ours(on, step=LR * 3.0**0.5)
    off = np.linalg.norm(found[-1] - expected[-1], 2) / (LR * STEPS)
    assert off < 2.0 * HALF_PRECISION
    assert np.linalg.norm(found[-1] - ours(on)[0][-1], 2) > 10.0 * HALF_PRECISION * LR
