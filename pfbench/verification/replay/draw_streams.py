"""Statistical tests of the random draws of runs: batches, coin flips, picked iterates and subsets.

The draws of all runs are concatenated in the order of the reference implementation. A repeat then
reveals a dependence between two batches of an iteration, a batch that is used twice, or a repeated
seed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.verification.replay.draws import ResolvedDraws
from pfbench.verification.replay.forms import list_method_forms
from pfbench.verification.replay.indices import (
    Rejection,
    find_choice_rejection_and_p_value,
    find_first_rejection_and_p_value,
)
from pfbench.verification.replay.replay_instances import (
    ReplayCase,
    list_problem_kinds,
    make_instance,
    with_horizon,
)
from pfbench.verification.statistics import LEVEL

_STREAMS: tuple[Mapping[str, float], ...] = (
    {"n": 500, "batch": 120, "iterations": 60},
    {"n": 5, "batch": 5, "iterations": 500},
    {"n": 16, "batch": 4, "iterations": 600},
    {"n": 10_007, "batch": 32, "iterations": 400},
    {"n": 200_003, "batch": 200, "iterations": 16},
    {"n": 5, "batch": 1, "iterations": 2_500, "period": 6},
    {"n": 7, "batch": 5, "iterations": 3_000, "period": 9},
)
"""Sizes of the runs whose batches and picks are tested, the quickest first."""

_COINS: tuple[Mapping[str, float], ...] = (
    {"refresh": 0.3, "iterations": 6_500},
    {"refresh": 0.002, "iterations": 5_000},
    {"refresh": 0.41, "iterations": 3_000},
)
"""Probabilities of coins, with lengths of runs; 1/0.41 is far from an integer."""

SEEDS, SHORT = 40, 12
"""Number and length of short runs with different seeds, which show if a seed is ignored."""


@dataclass(frozen=True)
class DrawStream:
    """Problem and parameters for runs of a method whose random draws are tested jointly.

    Attributes
    ----------
    case
        The problem and the method's parameters.
    run_count
        Number of runs, with different seeds, whose draws are concatenated.
    """

    case: ReplayCase
    run_count: int = 1


def iterate_draw_streams(method: Any, seed: int = 0) -> Iterator[DrawStream]:
    """Yield the problems and parameters for which the draws of a built-in method are tested."""
    full_list = list_method_forms(method)
    first, kind = (
        full_list[0].parameters,
        list_problem_kinds(method)[0] | ({"seed": seed} if seed else {}),
    )
    names = {f.name for f in fields(method)}
    if not (method.deterministic or "iterations" not in names):
        for sizes in _STREAMS:
            yield from _yield_stream_if_sizes_fit(method, first, kind, sizes)
        if "refresh" in names:
            for sizes in _COINS:
                yield from _yield_stream_if_sizes_fit(
                    method, first, kind, {"n": 7, "batch": 2, **sizes}
                )
    short = with_horizon(method, first, SHORT)
    if not method.deterministic:
        small = {"batch": 2} if "batch" in first else {}
        yield DrawStream(ReplayCase(make_instance({**kind, "n": 50}), {**short, **small}), SEEDS)
        form = next((form for form in full_list if "restarts" in form.parameters), None)
        if form is not None and "iterations" in names:
            parameters = {**form.parameters, "iterations": SHORT}
            yield DrawStream(ReplayCase(make_instance(kind), parameters), SEEDS)
        importance = next(
            (form for form in full_list if form.parameters.get("sampling") == "importance"), None
        )
        if importance is not None:
            yield DrawStream(
                ReplayCase(make_instance(kind), with_horizon(method, importance.parameters, 800))
            )


def _yield_stream_if_sizes_fit(
    method: Any,
    form_parameters: Mapping[str, Any],
    problem_kind: Mapping[str, Any],
    sizes: Mapping[str, Any],
) -> Iterator[DrawStream]:
    """Yield one test problem of the given sizes, or none if the method refuses them."""
    n = int(sizes["n"])
    # A batch of 1 by default may be set, and is left where it is the size of the stream.
    usual = {f.name: f.default for f in fields(method)}
    is_set = usual.get("batch") == 1 != sizes["batch"]
    values = {
        name: value
        for name, value in sizes.items()
        if name in form_parameters or (name == "batch" and is_set)
    }
    if "snapshot" in form_parameters:  # a subset is no larger than n
        values["snapshot"] = (
            min(n, max(form_parameters["subepochs"], 3)) if "subepochs" in form_parameters else n
        )
    keeps_table = "table" in method.requires  # one that is queried one by one takes seconds
    if n > (20_000 if keeps_table else n) or ("batch" not in values and n > 10):
        return
    parameters = {**form_parameters, **values, "iterations": sizes["iterations"]}
    if "condg" in dir(method):  # an inner loop takes more time, and draws nothing
        parameters |= {"tolerance": 0.5} if "tolerance" in form_parameters else {}
    yield DrawStream(ReplayCase(make_instance({**problem_kind, "n": n}), parameters))


@dataclass(frozen=True)
class DrawLawResult:
    """Result of the statistical tests of random draws: violation, p-value and tested law.

    Attributes
    ----------
    violation
        Description of the violation; empty if there is none.
    step
        The step at which the violation is certain.
    p_value
        The smallest p-value of all tests.
    law
        The observed law, if it differs from the usual one but may be right.
    """

    violation: str = ""
    step: int = 0
    p_value: float = 1.0
    law: str = ""


def examine_draw_law(
    logs: Sequence[ResolvedDraws], n: int, coin_chance: float | None
) -> DrawLawResult:
    """Test whether the draws of several runs have their prescribed distributions.

    Parameters
    ----------
    logs
        The draws of each run.
    n
        The number of components.
    coin_chance
        The probability of heads of a coin; None if no coin is flipped.
    """
    results = list[DrawLawResult]()
    batches = [batch for log in logs for batch in log.batches]
    if batches:
        results.append(_test_batches(batches, n))
    weighted = [item for log in logs for item in log.weighted]
    chances = next((log.chances for log in logs if log.chances is not None), None)
    if weighted and chances is not None:
        uniform = [(t, map_to_uniform(batch, chances, t)) for t, batch in weighted]
        results.append(_test_batches(uniform, n, ", given its probability"))
    subsets = [subset for log in logs for subset in log.subsets]
    if subsets:
        results.append(_test_subsets(subsets, n))
    coins = [coin for log in logs for coin in log.coins]
    if coins and coin_chance is not None and 0.0 < coin_chance < 1.0:
        results.append(_test_coins(coins, coin_chance))
    picks = [pick for log in logs for pick in log.picks]
    for count in sorted({count for _, _, count in picks}):
        results.append(_test_picks([pick for pick in picks if pick[2] == count], count))
    wrong = [result for result in results if result.violation]
    lower = min((result.p_value for result in results), default=1.0)
    if wrong:
        first = min(wrong, key=lambda result: result.step)
        return DrawLawResult(first.violation, first.step, lower)
    return DrawLawResult(
        p_value=lower, law=next((result.law for result in results if result.law), "")
    )


def _test_batches(
    batches: Sequence[tuple[int, Integers]], n: int, extra: str = ""
) -> DrawLawResult:
    sample = [batch for _, batch in batches]
    suspect, p_value = find_first_rejection_and_p_value(sample, n)
    if suspect is None:
        return DrawLawResult(p_value=p_value)
    if _shows_draws_without_replacement(sample, n):
        first = np.array([batch[:1] for batch in _shuffle_each_batch(sample)])
        other, p_value = find_first_rejection_and_p_value(list(first), n)
        if other is None:
            return DrawLawResult(p_value=p_value, law="without replacement")
    return DrawLawResult(suspect.description + extra, batches[suspect.batch][0], p_value)


def _shows_draws_without_replacement(sample: Sequence[Integers], n: int) -> bool:
    """Return whether batches contain no repeats, although draws with replacement would."""
    sizes = np.array([len(batch) for batch in sample])
    if sizes.max() > n:
        return False
    chance = (np.log1p(-np.arange(sizes.max()) / n).cumsum()[sizes - 1]).sum()
    return all(len(np.unique(batch)) == len(batch) for batch in sample) and chance < np.log(LEVEL)


def _shuffle_each_batch(sample: Sequence[Integers]) -> list[Integers]:
    rng = np.random.default_rng(len(sample))
    return [rng.permutation(batch) for batch in sample]


def _test_subsets(subsets: Sequence[tuple[int, Integers]], n: int) -> DrawLawResult:
    """Test that subsets are drawn uniformly without replacement.

    The tests cover single components and pairs of components.
    """
    for t, batch in subsets:
        if len(np.unique(batch)) < len(batch):
            return DrawLawResult("a subset has a repeated component", t)
    mixed = _shuffle_each_batch([batch for _, batch in subsets])
    suspect, p_value = find_first_rejection_and_p_value([batch[:1] for batch in mixed], n)
    if suspect is None and n > 1 and len(mixed[0]) > 1:
        pairs = [
            np.array([batch[0] * (n - 1) + batch[1] - (batch[1] > batch[0])]) for batch in mixed
        ]
        suspect, of_pairs = find_first_rejection_and_p_value(pairs, n * (n - 1))
        p_value = min(p_value, of_pairs)
    if suspect is None:
        return DrawLawResult(p_value=p_value)
    return DrawLawResult(f"in a subset {suspect.description}", subsets[suspect.batch][0], p_value)


def _test_coins(coins: Sequence[tuple[int, bool]], chance: float) -> DrawLawResult:
    """Test coin flips: frequency of heads, waiting times, and repeated sequences."""
    fell = [int(heads) for _, heads in coins]
    suspect, p_value = find_choice_rejection_and_p_value(
        "the coin has another probability of heads", fell, (1.0 - chance, chance)
    )
    suspect = suspect or _find_repeated_coin_sequence(fell, max(chance, 1.0 - chance))
    if suspect is None:
        return DrawLawResult(p_value=p_value)
    return DrawLawResult(suspect.description, coins[suspect.batch][0], p_value)


def _find_repeated_coin_sequence(coins: Sequence[int], max_side_chance: float) -> Rejection | None:
    """Return the first repeated sequence of coin flips that is too long to be a coincidence.

    Return None if there is no such sequence.
    """
    T = len(coins)
    length = int(
        np.ceil((np.log(max(1.0, T * T / 2.0)) - np.log(LEVEL)) / -np.log(max_side_chance))
    )
    keys, row = set[bytes](), np.array(coins, dtype=np.int8)
    for t in range(T - length + 1):
        key = row[t : t + length].tobytes()
        if key in keys:
            return Rejection("the coins repeat an earlier sequence", t + length - 1)
        keys.add(key)
    return None


def _test_picks(picks: Sequence[tuple[int, int, int]], count: int) -> DrawLawResult:
    even = (1.0 / count,) * count
    suspect, p_value = find_choice_rejection_and_p_value(
        "the method continues from points that are not drawn uniformly",
        [number for _, number, _ in picks],
        even,
    )
    if suspect is None:
        suspect, of_pairs = find_first_rejection_and_p_value(
            [np.array([number]) for _, number, _ in picks], count
        )
        p_value = min(p_value, of_pairs)
    if suspect is None:
        return DrawLawResult(p_value=p_value)
    return DrawLawResult(suspect.description, picks[suspect.batch][0], p_value)


def map_to_uniform(batch: Integers, chances: Floats, seed: int) -> Integers:
    """Map indices drawn with given probabilities to indices with a uniform distribution.

    Component i owns an interval of [0, 1) whose length is its probability. A random point of that
    interval is uniform in [0, 1). It is mapped to k if it lies in the k-th of n equal intervals.
    """
    ends = np.cumsum(chances)
    points = ends[batch] - np.random.default_rng(seed).random(len(batch)) * chances[batch]
    n = len(chances)
    return np.asarray(np.clip((points / ends[-1] * n).astype(np.int64), 0, n - 1))
