"""Norms: products of matrices in place of a minimisation, and norms by name."""

from functools import partial

import numpy as np
import pytest
from helpers import assert_one_sentence

from pfbench.base.errors import InputError
from pfbench.base.selectors import Selector
from pfbench.sets import L1Ball, NormProduct, SpectralBall
from pfbench.sets.catalogue import NORMS, layer_norm_ball, norm_ball
from pfbench.sets.matrix_balls import (
    inverse_sqrt_coefficients,
    newton_schulz,
    newton_schulz_scalar,
    quintic_iterations,
)
from pfbench.sets.orthogonalisers import PRESETS, QUINTIC, map_singular_values

RNG = np.random.default_rng(3)


def test_the_coefficients_are_those_of_the_inverse_root():
    u = 0.01
    assert inverse_sqrt_coefficients(2) == (1.0, 0.5, 0.375)
    assert sum(c * u**k for k, c in enumerate(inverse_sqrt_coefficients(7))) == pytest.approx(
        (1 - u) ** -0.5
    )


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (1, 4)])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_products_of_matrices_act_on_singular_values_alone(shape, degree):
    M = RNG.standard_normal(shape)
    u, s, vt = np.linalg.svd(M / np.linalg.norm(M), full_matrices=False)
    X = (u * s) @ vt
    for _ in range(3):
        s = newton_schulz_scalar(s, degree)
    np.testing.assert_allclose(newton_schulz(X, degree, 3), (u * s) @ vt, atol=1e-14)
    t = np.linalg.svd(X, compute_uv=False)
    t = map_singular_values(2 * [QUINTIC], t)
    np.testing.assert_allclose(quintic_iterations(X, 2 * [QUINTIC]), (u * t) @ vt, atol=1e-13)


def test_what_an_inexact_minimisation_is_worth_is_told_exactly():
    """By its singular values: lo = sum s h(s)/sum s and hi = max h(s)."""
    M = RNG.standard_normal((4, 6))
    s = np.linalg.svd(M, compute_uv=False)
    linear = partial(newton_schulz_scalar, degree=1)
    for text, products, steps, step in (
        ("spectral[lmo=quintic,steps=3]", 9, 3, partial(map_singular_values, [QUINTIC])),
        ("spectral[lmo=newton-schulz,steps=4,degree=1]", 8, 4, linear),
        *(
            (f"spectral[lmo={name}]", 3 * len(some), 1, partial(map_singular_values, some))
            for name, some in PRESETS.items()
            if some
        ),
    ):
        ball, t = norm_ball(text, M.shape), s / np.linalg.norm(s)
        for _ in range(steps):
            t = step(t)
        found = ball.lmo_quality(7.0 * M)
        assert ball.matrix_products_per_lmo == products
        assert found.lower == pytest.approx((s * t).sum() / s.sum(), rel=1e-12)
        assert found.upper == pytest.approx(t.max(), rel=1e-12)
        assert not ball.lo_zero_if_undetermined(0.0 * M).any()
    assert norm_ball("spectral", (4, 6)).lmo_quality(M) == pytest.approx((1.0, 1.0))


def test_a_product_reads_its_blocks_in_their_order():
    ball = layer_norm_ball("spectral[radius=2]*linf", [(2, 3), (2, 2)])
    x = np.arange(10.0)
    first, second = ball.split(x)
    assert (first.tolist(), second.tolist()) == ([[0, 1, 2], [3, 4, 5]], [[6, 7], [8, 9]])
    assert ball.norm(x) == pytest.approx(max(np.linalg.norm(first, 2) / 2.0, 9.0))
    assert ball.dual_norm(x) == pytest.approx(2.0 * np.linalg.norm(first, "nuc") + 30.0)
    assert ball.block_norm_names == {"spectral", "linf"}
    assert NormProduct((SpectralBall((2, 2)), L1Ball(3))).shape == (7,)


@pytest.mark.parametrize(
    ("text", "shape", "words"),
    [
        ("spectrall", (2, 2), "did you mean 'spectral'"),
        ("spectral", (4,), "is for matrices"),
        ("linf[lmo=quintic]", (4,), "unknown parameter of the norm linf 'lmo'"),
        ("spectral[lmo=svd]", (2, 2), "lmo"),
        ("spectral[radius=0]", (2, 2), "radius"),
    ],
)
def test_bad_norms_are_refused(text, shape, words):
    with pytest.raises(InputError, match=words) as error:
        norm_ball(text, shape)
    assert_one_sentence(error)


def test_a_norm_for_each_block_or_one_for_all():
    assert len(layer_norm_ball("linf", [(2, 3), (3, 4), (1,)]).balls) == 3
    with pytest.raises(InputError, match="names 2 norms for 3 blocks"):
        layer_norm_ball("linf*l2", [(2, 3), (3, 4), (1,)])
    assert set(NORMS) == {
        *("l1", "l2", "linf", "spectral", "nuclear", "max-row-norm", "max-column-norm")
    }


def test_a_selector_may_hold_another_one():
    selector = Selector.parse("p[norm=spectral[radius=2,lmo=quintic],set=none]")
    assert selector.parameters == {"norm": "spectral[radius=2,lmo=quintic]", "set": "none"}
    assert Selector.parse(str(selector)) == selector
