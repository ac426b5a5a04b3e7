"""Tests that drawn indices are uniform, independent, and with replacement.

Each test is an e-process: a nonnegative process whose mean is at most 1 under independent uniform
draws. By Ville's inequality, it ever exceeds 1/level with probability at most the level. The test
may therefore stop at any time.

Each e-process is the wealth of a gambler who bets on the next draw, given the earlier ones. Bets on
bins use the frequencies so far (Krichevsky and Trofimov). Bets on repeats use several odds at once.
One e-process starts at each eighth of the run, and others cover each batch alone. Earlier draws
then cannot outweigh a late or rare violation.

A further test searches for sequences of batches that occur twice. It bounds the probability of a
repeat over all positions together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from pfbench.base.arrays import Floats, Integers
from pfbench.verification.statistics import LEVEL

_BINS = 64

_RATIOS = (0.0, 0.5, 2.0, 8.0)
"""Rates of repeats on which is bet, relative to that of independent draws."""

_STARTS = 8

_LEAST = -1e6
"""Finite substitute for the logarithm of 0."""

_PARTS = 32
"""Number of parts of a run that are tested separately, in `_FEW` bins."""

_FEW = 4

_COIN = 2
"""Number of sides of a coin."""

_MOST = 100_000
"""Maximum number of draws that are tested."""

_TESTS = 17
"""Number of tests by which p-values are multiplied: of indices, coins and picked points."""


@dataclass(frozen=True)
class Rejection:
    """Rejection of the hypothesis that indices are drawn independently and uniformly.

    Attributes
    ----------
    description
        Description of the violation.
    batch
        Index of the batch at which the test rejects.
    """

    description: str
    batch: int


def find_first_rejection_and_p_value(
    batches: Sequence[Integers], n: int
) -> tuple[Rejection | None, float]:
    """Test drawn indices; return (earliest rejection or None, smallest p-value).

    The order of the indices in a batch has no meaning, so each batch is shuffled first.

    Parameters
    ----------
    batches
        The batches in their order, of indices below n.
    n
        Number of components.
    """
    rng = np.random.default_rng(len(batches))
    sizes = np.array([len(batch) for batch in batches])
    # Some of many draws are looked at: a part of independent draws is independent, too.
    max_count = sizes.max() if sizes.sum() <= _MOST else max(1, _MOST // len(batches))
    sample = np.concatenate([rng.permutation(batch)[:max_count] for batch in batches])
    ends = np.cumsum(np.minimum(sizes, max_count))
    batch_of = np.repeat(np.arange(len(batches)), np.diff(ends, prepend=0))
    window = np.arange(len(sample)) - max(1, n // 10)
    started = np.concatenate([[0], ends[:-1]])[batch_of]
    bins, shares = _bin_numbers(sample, n), _bin_chances(n)
    part_of = batch_of * _PARTS // len(batches)
    ended = (batch_of + 1) * _PARTS // len(batches) > part_of
    by_part = _log_batch_bets(_bin_numbers(sample, n, _FEW), part_of, _bin_chances(n, _FEW))
    after_part = np.concatenate([[0.0], _log_mean_e_value_over_batches(by_part)])
    differences = _log_bin_bets(_bin_numbers(np.diff(sample) % n, n), shares)
    in_batch = _log_bets_on_repeats_in_window(sample, started, n)
    earlier = _log_bets_on_repeats_in_window(sample, window, n)
    largest = np.maximum(earlier[-_STARTS], _LEAST)  # of the ratios
    bincount = np.asarray(np.bincount(batch_of, largest), dtype=np.float64)
    everywhere = "is not uniform over all components"
    repeats = "repeats earlier ones unlike independent draws"
    tests = [(everywhere, after_part[part_of + ended])]
    for subject, values, chances in (
        (everywhere, bins, shares),
        ("is not uniform in its last bits", sample % _BINS, _residue_chances(n)),
    ):
        by_batch = _log_batch_bets(values, batch_of, chances)
        tests += [
            (subject, _log_mean_e_process(_log_bin_bets(values, chances))),
            (subject, _log_mean_e_value_over_batches(by_batch)[batch_of]),
        ]
    tests += [
        ("depends on the preceding one", _log_mean_e_process(differences, leading_zeros=1)),
        ("repeats in its batch unlike independent draws", _log_mean_e_process(in_batch)),
        (repeats, _log_mean_e_process(earlier)),
        (repeats, _log_mean_e_value_over_batches(bincount)[batch_of]),
    ]
    by_draw = [(subject, *_first_rejection_index_and_p_value(logs)) for subject, logs in tests]
    by_draw.append(("is no longer drawn", *_find_absence_rejection_and_p_value(sample, n)))
    image = "comes with its image n - 1 - i more or less often than independent draws do"
    by_draw += [(image, *bet) for bet in _iterate_antithetic_tests(sample, batch_of, n)]
    suspects = [
        Rejection(f"an index {subject}", int(batch_of[position]))
        for subject, position, _ in by_draw
        if position is not None
    ]
    second, p_value = _find_repeated_batch_sequence_and_p_value(batches, n)
    if second is not None:
        suspects.append(Rejection("the batches repeat an earlier sequence", second))
    lower = min(p_value, *(value for _, _, value in by_draw))
    return min(suspects, key=lambda suspect: suspect.batch, default=None), lower


def _first_rejection_index_and_p_value(log_e_process: Floats) -> tuple[int | None, float]:
    """Return (first index at which an e-process rejects or None, p-value of the e-process)."""
    p_value = min(1.0, _TESTS * float(np.exp(-max(0.0, log_e_process.max(initial=0.0)))))
    over = np.flatnonzero(log_e_process >= np.log(_TESTS / LEVEL))
    return (int(over[0]) if over.size else None), p_value


def _iterate_antithetic_tests(
    sample: Integers, batch_of: Integers, n: int
) -> Iterator[tuple[int | None, float]]:
    """Test for antithetic draws; yield (index of the rejection or None, p-value) for each test.

    Antithetic draws contain pairs of i and n - 1 - i. Such a pair is a repeat of min(i, n - 1 - i),
    which is uniform if i is. Repeats are counted in a batch, in two consecutive batches, and among
    the preceding n/20 draws.
    """
    if n < 4:
        return
    indices = np.flatnonzero(2 * sample != n - 1)
    lesser, batches = np.minimum(sample, n - 1 - sample)[indices], batch_of[indices]
    started = [np.searchsorted(batches, batches - back) for back in (0, 1)]
    for since in (*started, np.arange(len(indices)) - max(1, n // 20)):
        position, p_value = _first_rejection_index_and_p_value(
            _log_mean_e_process(_log_bets_on_repeats_in_window(lesser, since, n // 2))
        )
        yield (None if position is None else int(indices[position])), p_value


def _find_absence_rejection_and_p_value(sample: Integers, n: int) -> tuple[int | None, float]:
    """Test that no component is absent for too long; return (index of rejection or None, p-value).

    After each of K uniform draws, the drawn component is missing from the next G draws with
    probability (1 - 1/n)^G. The same holds for each of the n components at the beginning.
    """
    if n == 1:
        return None, 1.0
    K = len(sample)
    order = np.argsort(sample, kind="stable")
    firsts = np.concatenate([[True], np.diff(sample[order]) > 0])
    before = np.where(firsts, -1, np.roll(order, 1))
    lasts = np.concatenate([firsts[1:], [True]])
    started = np.concatenate([before, order[lasts], np.full(int(lasts.sum() < n), -1)])
    ended = np.concatenate([order, np.full(len(started) - K, K)])
    each = -np.log1p(-1.0 / n)
    pairs = np.log((K + n) * _TESTS)
    G = int(np.ceil((pairs - np.log(LEVEL)) / each))
    existing = started[ended - started - 1 >= G] + G
    if not existing.size:
        return None, 1.0
    return int(existing.min()), float(np.exp(pairs - G * each))


def _find_repeated_batch_sequence_and_p_value(
    batches: Sequence[Integers], n: int
) -> tuple[int | None, float]:
    """Search for a sequence of batches that is repeated; see `find_repeated_sequence_and_p_value`.

    A batch of b uniform draws equals a given multiset with probability at most b!/(n^b prod c_i!).
    Here the c_i are as equal as possible.
    """
    sizes = np.array([len(batch) for batch in batches])
    each, rest = sizes // n, sizes % n
    gammaln = scipy.special.gammaln
    logs = gammaln(sizes + 1.0) - sizes * np.log(n)
    logs -= rest * gammaln(each + 2.0) + (n - rest) * gammaln(each + 1.0)
    names = dict[bytes, int]()
    sample = [names.setdefault(np.sort(batch).tobytes(), len(names)) for batch in batches]
    return find_repeated_sequence_and_p_value(sample, logs)


def find_repeated_sequence_and_p_value(
    draws: Sequence[int], log_chances: Floats
) -> tuple[int | None, float]:
    """Search for a repeated sequence of draws; return (end of the repetition or None, p-value).

    The end is the index of the last draw of the repetition. Draw t has a given value with
    probability at most q_t, whose logarithm is `log_chances[t]`. Hence a sequence is repeated among
    T draws with probability at most T^2/2 times the product of its q_t. The test uses sequences for
    which this bound is below the level. It detects re-seeded generators and indices that are used
    twice.
    """
    T, sample = len(draws), np.array(draws)
    pairs = np.log(max(1.0, T * T / 2.0) * _TESTS)
    sums = np.concatenate([[0.0], np.cumsum(np.maximum(0.0, -log_chances))])
    ends = np.searchsorted(sums, sums[:-1] + pairs - np.log(LEVEL))
    keys = set[bytes]()
    for t, end in enumerate(ends):
        if end > T:
            break
        key = sample[t:end].tobytes()
        if key in keys:
            upper = float((sums[:-1] - sums[np.minimum(ends, T)])[ends <= T].max())
            return int(end) - 1, float(np.exp(pairs + upper))
        keys.add(key)
    return None, 1.0


def find_choice_rejection_and_p_value(
    subject: str, chosen: Sequence[int], chances: Sequence[float]
) -> tuple[Rejection | None, float]:
    """Test random choices; return (rejection or None, p-value).

    For a coin with probability 0.03, the test detects after some 1200 flips that heads no longer
    occurs. If all picked iterates lie in the same half, it detects that after some 60 picks.
    """
    sample = np.array(chosen, dtype=np.int64)
    logs = _log_mean_e_process(_log_bin_bets(sample, np.array(chances)))
    if len(chances) == _COIN:
        logs = np.maximum(
            logs, _log_mean_e_process(_log_bets_by_flips_since_rare_side(sample, np.array(chances)))
        )
    position, p_value = _first_rejection_index_and_p_value(logs)
    return (None if position is None else Rejection(subject, position)), p_value


def _log_bets_by_flips_since_rare_side(sides: Integers, chances: Floats) -> Floats:
    """Return log gains of bets on coin flips, based on the time since the rarer side came up.

    Row k belongs to the bet that starts k eighths into the run, and is 0 before that.
    """
    flips = np.arange(len(sides))
    newest = np.maximum.accumulate(np.where(sides == np.argmin(chances), flips, -1))
    since = np.minimum(flips - np.concatenate([[-1], newest[:-1]]), _BINS) if len(sides) else sides
    rows = np.zeros((_STARTS, len(sides)))
    for row, start in zip(rows, np.arange(_STARTS) * len(sides) // _STARTS, strict=True):
        existing, bins = since[start:], 2 * since[start:] + sides[start:]
        chance = chances[sides[start:]]
        row[start:] = np.log(
            (_count_previous_occurrences(bins) + chance)
            / (_count_previous_occurrences(existing) + 1.0)
        ) - np.log(chance)
    return rows


def _bin_numbers(values: Integers, n: int, bins: int = _BINS) -> Integers:
    return values * min(bins, n) // n


def _bin_chances(n: int, bins: int = _BINS) -> Floats:
    """Return the probability of each bin under a uniform distribution of n indices."""
    K = min(bins, n)
    return np.diff(-(np.arange(K + 1) * -n // K)) / n


def _residue_chances(n: int) -> Floats:
    return (n - 1 - np.arange(min(_BINS, n)) + _BINS) // _BINS / n


def _log_bin_bets(bins: Integers, shares: Floats) -> Floats:
    """Return log gains of bets on the bin of each draw, shape (number of bets, len(bins)).

    Row k belongs to the bet that starts k eighths into the run, and is 0 before that.
    """
    starts = np.arange(_STARTS) * len(bins) // _STARTS
    rows = np.zeros((_STARTS, len(bins)))
    for row, start in zip(rows, starts, strict=True):
        ranks = _count_previous_occurrences(bins[start:])
        # Predicted as if each bin had been seen in proportion to its chance, half of all bins once.
        prior = 0.5 * len(shares) * shares[bins[start:]]
        total = np.arange(len(ranks)) + 0.5 * len(shares)
        row[start:] = np.log((ranks + prior) / total) - np.log(shares[bins[start:]])
    return rows


def _count_previous_occurrences(values: Integers) -> Integers:
    """Return the number of earlier occurrences of each value, shape (len(values),)."""
    order = np.argsort(values, kind="stable")
    firsts = np.flatnonzero(np.diff(values[order], prepend=-1))
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order] = np.arange(len(values)) - np.repeat(firsts, np.diff(firsts, append=len(values)))
    return ranks


def _log_bets_on_repeats_in_window(sample: Integers, window_starts: Integers, n: int) -> Floats:
    """Return log gains of bets on whether each index repeats an earlier one in its window.

    With k distinct indices in the window, the probability of a repeat is k/n under uniform draws.
    """
    N = len(sample)
    order = np.argsort(sample, kind="stable")
    same = np.diff(sample[order]) == 0
    before = np.full(N, -1)
    before[order[1:][same]] = order[:-1][same]
    after = np.full(N, N)
    after[order[:-1][same]] = order[1:][same]
    # Draw i is the newest of its value, and in the window, for the draws j with i < j <= after[i]
    # and since[j] <= i; `since` never falls.
    last = np.minimum(after, np.searchsorted(window_starts, np.arange(N), side="right") - 1)
    change = np.zeros(N + 2)
    np.add.at(change, np.arange(N) + 1, 1.0)
    np.add.at(change, np.maximum(last, np.arange(N)) + 1, -1.0)
    p = np.cumsum(change)[:N] / n
    repeated = (before >= window_starts) & (before >= 0)
    rows = []
    for ratio in _RATIOS:
        bet = np.minimum(ratio * p, np.maximum(p, 0.9))
        with np.errstate(divide="ignore", invalid="ignore"):
            grows = np.where(repeated, np.log(bet / p), np.log1p(-bet) - np.log1p(-p))
        grows = np.where(p >= 1.0, 0.0, grows)
        starts = np.arange(_STARTS) * N // _STARTS
        rows += [np.where(np.arange(N) >= start, grows, 0.0) for start in starts]
    return np.array(rows)


def _log_mean_e_process(log_ratios: Floats, leading_zeros: int = 0) -> Floats:
    """Return the log of the mean of several e-processes after each draw.

    Row k of `log_ratios` has the log factors by which e-process k changes at each draw.
    """
    logs = np.cumsum(log_ratios, axis=1)
    mixed = np.asarray(scipy.special.logsumexp(logs, axis=0) - np.log(len(log_ratios)))
    return np.concatenate([np.zeros(leading_zeros), mixed])


def _log_batch_bets(bins: Integers, batch_of: Integers, shares: Floats) -> Floats:
    """Return the log e-value of each batch, from bets on the bins of its draws."""
    K, T = len(shares), batch_of[-1] + 1
    counts = np.bincount(batch_of * K + bins, minlength=T * K).reshape(T, K)
    prior = 0.5 * K * shares
    gammaln = scipy.special.gammaln
    bets = (gammaln(counts + prior) - gammaln(prior)).sum(axis=1) - counts @ np.log(shares)
    return np.asarray(bets + gammaln(prior.sum()) - gammaln(counts.sum(axis=1) + prior.sum()))


def _log_mean_e_value_over_batches(log_e_values: Floats) -> Floats:
    """Return the log of the mean of all batches' e-values, as known after each batch.

    Batches that are still to come have the e-value 1.
    """
    T = len(log_e_values)
    with np.errstate(divide="ignore"):
        to_come = np.log(np.arange(T - 1, -1, -1))
    return np.asarray(np.logaddexp(np.logaddexp.accumulate(log_e_values), to_come) - np.log(T))
