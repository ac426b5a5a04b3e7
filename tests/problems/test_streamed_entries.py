"""Synthetic entries are drawn a part at a time: the same bits as all at once."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pfbench.base import arrays
from pfbench.problems.matrix_recovery import RobustMatrixRecovery
from pfbench.problems.observations import Observations, SyntheticEntries, _draw_hypergeometric

DRAWN = SyntheticEntries(seed=3, rows=40, columns=30, rank=3, density=0.4, outliers=0.2)


def at_once(drawn):
    """Return rows, columns and values, by arrays of full length."""
    rng = np.random.default_rng(np.random.SeedSequence(drawn.seed))
    M, N = drawn.rows, drawn.columns
    n = round(drawn.density * M * N)
    left, right = (np.linalg.qr(rng.standard_normal((size, drawn.rank)))[0] for size in (M, N))
    weights = drawn.largest * drawn.decay ** np.arange(1.0 - drawn.rank, 1.0)
    i, j = np.divmod(np.sort(rng.choice(M * N, size=n, replace=False, shuffle=False)), N)
    values = np.einsum("kj,kj->j", left.T[:, i] * weights[:, None], right.T[:, j])
    changed = round(drawn.outliers * M * N)
    hit = _draw_hypergeometric(rng, changed, M * N - changed, n)
    values[rng.choice(n, size=hit, replace=False)] += rng.uniform(
        -drawn.noise, drawn.noise, size=hit
    )
    return i, j, values


@pytest.fixture(params=[7, 64, 1 << 17])
def in_parts(request, monkeypatch):
    monkeypatch.setattr(arrays, "_PART", request.param)


def test_the_parts_are_the_whole(in_parts):
    data, whole = DRAWN.draw(), at_once(DRAWN)
    for part, expected in zip((data.rows, data.columns, data.values), whole, strict=True):
        assert part.dtype == expected.dtype
        assert_array_equal(part, expected)


def test_they_have_the_digest_of_the_same_entries_in_any_form(in_parts):
    data, (i, j, values) = DRAWN.draw(), at_once(DRAWN)
    own = RobustMatrixRecovery(data).digest
    assert own == RobustMatrixRecovery(Observations((40, 30), i, j, values)).digest
    narrow = Observations((40, 30), i.astype(np.uint8), j.astype(np.int16), values)
    assert own == RobustMatrixRecovery(narrow).digest
    values[-1] = np.nextafter(values[-1], 9.0)
    assert own != RobustMatrixRecovery(Observations((40, 30), i, j, values)).digest


def test_row_numbers_of_a_range(in_parts):
    pattern = DRAWN.draw().pattern
    rows = pattern.row_numbers()
    assert_array_equal(np.concatenate([rows[part] for part in pattern.slices()]), rows)
    for part in (slice(0, 1), slice(5, 5), slice(13, 200), slice(pattern.n - 1, None)):
        assert_array_equal(pattern.row_numbers(part), rows[part])


def test_the_truth_is_held_against_every_part(in_parts):
    data = dataclasses.replace(DRAWN, outliers=0.0).draw()
    assert RobustMatrixRecovery(data).best_known[0] == pytest.approx(0.0, abs=1e-20)
    values = data.values.copy()
    values[-1] += 1e-9
    assert RobustMatrixRecovery(dataclasses.replace(data, entries=values)).best_known is None
