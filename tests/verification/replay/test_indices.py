"""The tests of drawn indices: their false alarms, and how soon they find what."""

import itertools

import numpy as np
import pytest

from pfbench.verification.replay import indices
from pfbench.verification.replay.indices import (
    find_choice_rejection_and_p_value,
    find_first_rejection_and_p_value,
)

N, T, B = 10_000, 2_000, 32


def right(rng, size=B):
    return rng.integers(N, size=size)


@pytest.mark.parametrize(
    ("n", "size"), [(N, B), (N, 1), (1, 2), (2, 3), (3, 9), (4, 4), (5, 30), (7, 4), (257, 60)]
)
def test_right_draws_are_not_suspected(n, size):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        found, p_value = find_first_rejection_and_p_value(
            [rng.integers(n, size=size) for _ in range(300)], n
        )
        assert found is None
        assert p_value > 1e-6


def test_each_has_a_mean_of_one_over_all_streams():
    streams = np.array(list(itertools.product(range(3), repeat=6)))
    since = np.maximum(np.arange(6) - 3, 0)
    bets = [indices._log_bin_bets(stream, np.full(3, 1 / 3)) for stream in streams]
    again = [indices._log_bets_on_repeats_in_window(stream, since, 3) for stream in streams]
    for ends in (1, 3, 6):
        for every in (bets, again):
            assert np.mean([_last(one[:, :ends]) for one in every]) == pytest.approx(1.0)
    batch_of, shares = np.repeat([0, 1, 2], 2), np.full(3, 1 / 3)
    each = [indices._log_batch_bets(stream, batch_of, shares) for stream in streams]
    assert np.mean(np.exp(each)) == pytest.approx(1.0)
    for ends in (1, 3):
        alone = [np.exp(indices._log_mean_e_value_over_batches(one)[ends - 1]) for one in each]
        assert np.mean(alone) == pytest.approx(1.0)


def _last(rows):
    return np.exp(indices._log_mean_e_process(rows)[-1])


def test_repeats_have_the_chance_of_the_distinct_ones_in_their_window():
    rng = np.random.default_rng(5)
    drawn, since = rng.integers(6, size=40), np.maximum(np.arange(40) - 4, 0)
    rows = indices._log_bets_on_repeats_in_window(drawn, since, 6)[:: indices._STARTS]
    for j in range(40):
        seen = set(drawn[since[j] : j].tolist())
        p = len(seen) / 6
        for ratio, row in zip(indices._RATIOS, rows, strict=True):
            bet = min(ratio * p, max(p, 0.9))
            again = drawn[j] in seen
            with np.errstate(divide="ignore"):
                expected = np.log(bet / p) if again else np.log((1.0 - bet) / (1.0 - p))
            assert row[j] == pytest.approx(expected)


def reshuffled(rng):
    every = np.concatenate([rng.permutation(N) for _ in range(1 + T * B // N)])
    return [every[t * B : (t + 1) * B] for t in range(T)]


FAULTS = {
    "only the first 255": (lambda rng, t: right(rng) % 255, 1),
    "only the first 255, late": (lambda rng, t: right(rng) % (255 if t >= 1500 else N), 1502),
    "each block of 64 by its first": (lambda rng, t: right(rng) // 64 * 64, 1),
    "only the first 255, each 100th": (
        lambda rng, t: right(rng) % (N if (t + 1) % 100 else 255),
        99,
    ),
    "a block of 32 in a row": (lambda rng, t: (rng.integers(N) + np.arange(B)) % N, 1),
    "none repeats in a batch": (lambda rng, t: rng.choice(N, B, replace=False), 800),
    "toward the first in one epoch of ten": (
        lambda rng, t: np.array(rng.random(B) ** (1.6 if t // 67 % 10 == 9 else 1.0) * N, int),
        690,
    ),
    "not the last twentieth": (lambda rng, t: rng.integers(N - N // 20, size=B), 150),
    "half a batch and its image": (lambda rng, t: mirrored(right(rng, B // 2)), 3),
    "half a batch and its image, late": (
        lambda rng, t: mirrored(right(rng, B // 2)) if t >= 1500 else right(rng),
        1520,
    ),
}


def mirrored(drawn):
    return np.concatenate([drawn, N - 1 - drawn])


@pytest.mark.thin(6)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_in_time(fault):
    """The power that is stated in the docs."""
    draw, latest = FAULTS[fault]
    for seed in range(2):
        rng = np.random.default_rng(seed)
        found, p_value = find_first_rejection_and_p_value([draw(rng, t) for t in range(T)], N)
        assert found is not None
        assert found.batch <= latest
        assert p_value < 1e-9


def test_draws_that_repeat_none_before_all_are_drawn_are_found():
    for seed in range(2):
        rng = np.random.default_rng(seed)
        found, _ = find_first_rejection_and_p_value(reshuffled(rng), N)
        assert found is not None
        assert found.batch < 60
        singles, _ = find_first_rejection_and_p_value(np.split(rng.permutation(N)[:T], T), N)
        assert singles is not None


@pytest.mark.thin(2)
@pytest.mark.parametrize(("n", "size"), [(N, 1), (N - 1, 1), (N, B), (501, 1), (9, 4)])
@pytest.mark.parametrize("first", [0, 1500])
def test_batches_of_which_each_second_is_the_image_of_the_one_before_are_found(n, size, first):
    rng = np.random.default_rng(7)
    batches = [rng.integers(n, size=size) for _ in range(T)]
    assert find_first_rejection_and_p_value(batches, n)[0] is None
    for t in range(first | 1, T, 2):
        batches[t] = n - 1 - batches[t - 1]
    found, p_value = find_first_rejection_and_p_value(batches, n)
    assert first < found.batch < first + 400
    assert p_value < 1e-9


@pytest.mark.parametrize("n", [4, pytest.param(5, marks=pytest.mark.long)])
def test_what_is_bet_on_images_has_a_mean_of_one_over_all_streams(n, monkeypatch):
    monkeypatch.setattr(
        indices, "_first_rejection_index_and_p_value", lambda logs: (None, np.exp(logs[-1:]).sum())
    )
    streams = list(itertools.product(range(n), repeat=4))
    batch_of = np.array([0, 0, 0, 1])
    evidence = [
        [
            value if value else 1.0
            for _, value in indices._iterate_antithetic_tests(np.array(one), batch_of, n)
        ]
        for one in streams
    ]
    assert np.mean(evidence, axis=0) == pytest.approx(1.0)


@pytest.mark.parametrize(("n", "size"), [(N, B), (N, 1), (7, 3), (499, 5), (3, 40)])
def test_batches_that_are_drawn_a_second_time_are_found_in_any_order(n, size):
    rng = np.random.default_rng(3)
    batches = [rng.integers(n, size=size) for _ in range(600)]
    assert indices._find_repeated_batch_sequence_and_p_value(batches, n) == (None, 1.0)
    batches[500:] = [rng.permutation(one) for one in batches[100:200]]
    found, p_value = indices._find_repeated_batch_sequence_and_p_value(batches, n)
    assert 500 <= found <= 530
    assert p_value < 1e-9
    suspect, least = find_first_rejection_and_p_value(batches, n)
    assert suspect.batch <= found
    assert least <= p_value


@pytest.mark.thin(2)
@pytest.mark.parametrize(("lacking", "since"), [(299, 0), (0, 1000), (150, 5000)])
def test_a_component_that_is_no_longer_drawn_is_found(lacking, since):
    drawn = np.random.default_rng(4).integers(300, size=30_000)
    assert indices._find_absence_rejection_and_p_value(drawn, 300) == (None, 1.0)
    late = drawn[since:]
    late[late == lacking] = (lacking + 7) % 300
    place, p_value = indices._find_absence_rejection_and_p_value(drawn, 300)
    assert since + 9_000 < place < since + 13_000
    assert p_value < 1e-9
    found, _ = find_first_rejection_and_p_value(np.split(drawn, 6000), 300)
    assert found.description == "an index is no longer drawn"
    assert abs(found.batch - place // 5) <= 1  # batches are shuffled


def test_a_component_is_left_out_with_the_chance_that_is_said():
    """Of all streams of six draws among two: those with a stretch of two or more."""
    for G in (2, 3):
        streams = np.array(list(itertools.product(range(2), repeat=6)))
        stretches = [[len(list(same)) for _, same in itertools.groupby(one)] for one in streams]
        share = np.mean([max(one) >= G for one in stretches])
        assert share <= (6 + 2) * 0.5**G


@pytest.mark.parametrize("p", [0.03, 0.3, 0.9])
def test_a_coin_that_falls_by_the_clock_is_found(p):
    right = (np.random.default_rng(6).random(3000) < p).astype(int)
    assert find_choice_rejection_and_p_value("coin", right, (1.0 - p, p))[0] is None
    clock = np.array([int((t + 1) * p) > int(t * p) for t in range(3000)]).astype(int)
    late = np.concatenate([right[:1000], clock])
    found, p_value = find_choice_rejection_and_p_value("coin", late, (1.0 - p, p))
    assert 1000 < found.batch < 2500
    assert p_value < 1e-9


def test_bets_on_a_coin_that_know_the_last_heads_have_a_mean_of_one():
    chances = np.array([0.7, 0.3])
    streams = np.array(list(itertools.product(range(2), repeat=7)))
    weights = chances[streams].prod(axis=1)
    for ends in (2, 7):
        bets = [
            _last(indices._log_bets_by_flips_since_rare_side(one, chances)[:, :ends])
            for one in streams
        ]
        assert weights @ bets == pytest.approx(1.0)


def test_the_chance_that_batches_come_again_is_bounded():
    """Of all pairs of streams of two batches: the bound is the largest chance, or above it."""
    for n, size in ((2, 3), (3, 2), (2, 4)):
        batches = list(itertools.product(range(n), repeat=size))
        kinds = [tuple(sorted(one)) for one in batches]
        most = max(map(kinds.count, kinds)) / len(kinds)
        rng, counted = np.random.default_rng(1), np.log(most)
        drawn = [rng.integers(n, size=size) for _ in range(400)]
        drawn[300:] = drawn[:100]
        found, p_value = indices._find_repeated_batch_sequence_and_p_value(drawn, n)
        w = found - 300 + 1
        assert np.log(p_value) == pytest.approx(np.log(400**2 / 2 * indices._TESTS) + w * counted)


def test_a_large_batch_among_small_ones_is_found_by_itself():
    rng = np.random.default_rng(8)
    batches = [rng.integers(300, size=5 if t % 9 else 60) for t in range(600)]
    batches[540] = rng.permutation(batches[531])
    found, p_value = indices._find_repeated_batch_sequence_and_p_value(batches, 300)
    assert found == 540
    assert p_value < 1e-9


@pytest.mark.parametrize("n", [1, 2, 5, 63, 64, 65, 1000, 10_007])
def test_the_chances_of_bins_and_last_bits_are_their_shares_of_all_components(n):
    bins = min(64, n)
    assert np.array_equal(indices._bin_chances(n), np.bincount(np.arange(n) * bins // n) / n)
    assert np.array_equal(indices._residue_chances(n), np.bincount(np.arange(n) % 64) / n)


def test_the_chances_of_bins_are_known_for_more_components_than_fit_in_memory():
    n = 200_003 * 200_002
    assert indices._bin_chances(n).sum() == pytest.approx(1.0)
    assert indices._residue_chances(n).sum() == pytest.approx(1.0)
