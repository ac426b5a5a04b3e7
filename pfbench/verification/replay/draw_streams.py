"""Statistical tests of the random draws of runs: batches, coin flips, picked iterates and subsets.

The draws of all runs are concatenated in the order of the reference implementation, and batches
also in the order of their steps. A repeat then reveals a dependence between two batches of an
iteration, a batch that is used twice, or a repeated seed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.verification.replay.draws import DrawLog, ResolvedDraws
from pfbench.verification.replay.forms import list_method_forms
from pfbench.verification.replay.indices import (
    Rejection,
    find_choice_rejection_and_p_value,
    find_first_rejection_and_p_value,
    find_repeated_sequence_and_p_value,
)
from pfbench.verification.replay.replay_instances import (
    ReplayCase,
    list_problem_kinds,
    make_instance,
    with_horizon,
)
from pfbench.verification.statistics import LEVEL

_STREAMS: tuple[Mapping[str, float], ...] = (
    {"n": 5, "batch": 1, "iterations": 2_500, "period": 6},
    {"n": 500, "batch": 120, "iterations": 60},
    {"n": 5, "batch": 5, "iterations": 500},
    {"n": 16, "batch": 4, "iterations": 600, "period": 200},
    {"n": 10_007, "batch": 32, "iterations": 400},
    {"n": 200_003, "batch": 200, "iterations": 16},
    {"n": 7, "batch": 5, "iterations": 3_000, "period": 9},
    {"n": 7, "batch": 2, "refresh": 0.3, "iterations": 6_500},
    {"n": 7, "batch": 2, "refresh": 0.002, "iterations": 5_000},
    {"n": 7, "batch": 2, "refresh": 0.41, "iterations": 3_000},
    {"n": 7, "batch": 2, "refresh": 0.3, "iterations": 26_000},
)
"""Sizes of the runs whose draws are tested: first one with few outcomes, at last those with a coin.

The last one, of full effort, shows a probability of heads that is off by 10 %.

A long period shows batches that are drawn in advance and used again in one epoch.

The inverse of the largest probability of heads is far from an integer.
"""

_SEEDS, _SHORT = 40, 12
"""Number and length of short runs with different seeds, which show if a seed is ignored."""


def draw_cases_and_run_counts(
    method: Any, seed: int = 0, effort: str = "quick"
) -> Iterator[tuple[ReplayCase, int]]:
    """Yield test cases for the random draws of a built-in method, each with its number of runs.

    The draws of so many runs, with different seeds, are concatenated.
    """
    if method.deterministic:
        return
    forms = list_method_forms(method)
    first, kind = forms[0], list_problem_kinds(method)[0] | ({"seed": seed} if seed else {})
    if "iterations" in first:
        for sizes in _STREAMS if effort == "full" else _STREAMS[:-1]:
            if sizes.keys() & {"refresh"} <= first.keys():
                for parameters in _form_with_sizes_if_testable(method, first, sizes):
                    yield ReplayCase(make_instance({**kind, "n": sizes["n"]}), parameters), 1
    small = {"batch": 2} if "batch" in first else {}
    short = {**with_horizon(method, first, _SHORT), **small}
    yield ReplayCase(make_instance({**kind, "n": 50}), short), _SEEDS
    form = next((form for form in forms if "restarts" in form), None)
    if form is not None and "iterations" in first:
        yield ReplayCase(make_instance(kind), {**form, "iterations": _SHORT}), _SEEDS
    form = next((form for form in forms if form.get("sampling") == "importance"), None)
    if form is not None:
        yield ReplayCase(make_instance(kind), with_horizon(method, form, 800)), 1


def _form_with_sizes_if_testable(
    method: Any, form: Mapping[str, Any], sizes: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """Yield the parameters `form` with the given sizes, if the method can be tested with them."""
    n = sizes["n"]
    # A batch of 1 by default may be set, and is left where it is the size of the stream.
    usual = {f.name: f.default for f in fields(method)}
    is_set = usual.get("batch") == 1 != sizes["batch"]
    values = {
        name: value for name, value in sizes.items() if name in form or (name == "batch" and is_set)
    }
    keeps_table = "table" in method.requires  # one that is queried one by one takes seconds
    if (keeps_table and n > 20_000) or ("batch" not in values and n > 10):
        return
    if "snapshot" in form:  # a subset is no larger than n
        values["snapshot"] = min(n, max(form["subepochs"], 3)) if "subepochs" in form else n
    if "condg" in dir(method) and "tolerance" in form:  # an inner loop draws nothing
        values["tolerance"] = 0.5
    yield {**form, **values, "iterations": sizes["iterations"]}


@dataclass(frozen=True)
class DrawLawResult:
    """Result of the statistical tests of random draws: violation, smallest p-value, observed law.

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
    batches, weighted, subsets = (
        [draw for log in logs for draw in log.list_batches(kind)]
        for kind in ("batches", "weighted", "subsets")
    )
    coins, picks = ([draw for log in logs for draw in getattr(log, k)] for k in ("coins", "picks"))
    if any(log.has_table_repeats_queried_once for log in logs):
        # Without its repeats, a batch is a subset.
        subsets += [draw for log in logs for draw in log.table_batches]
    else:
        batches = [draw for log in logs for draw in log.all_uniform_batches]
    results = list[DrawLawResult]()
    if batches:
        # Batches of the same step in all runs are equal if a stream is not seeded by the run.
        orders = (batches, sorted(batches, key=lambda draw: draw[0]))[: len(logs)]
        results += [_test_batches(draws, n) for draws in orders]
    chances = next((log.chances for log in logs if log.chances is not None), None)
    if weighted and chances is not None:
        uniform = [(t, map_to_uniform_indices(batch, chances, t)) for t, batch in weighted]
        results.append(_test_batches(uniform, n, ", given its probability"))
    if subsets:
        results.append(_test_subsets(subsets, n))
    if coins and coin_chance is not None and 0.0 < coin_chance < 1.0:
        results.append(_test_coins(coins, coin_chance))
    for count in sorted({count for _, _, count in picks}):
        results.append(_test_picks([(t, k) for t, k, m in picks if m == count], count))
    lower = min((result.p_value for result in results), default=1.0)
    wrong = [result for result in results if result.violation]
    if wrong:
        return replace(min(wrong, key=lambda result: result.step), p_value=lower)
    return DrawLawResult(p_value=lower, law=next((r.law for r in results if r.law), ""))


def _make_draw_law_result(
    draws: Sequence[tuple[int, Any]], suspect: Rejection | None, p_value: float, extra: str = ""
) -> DrawLawResult:
    """Return the result of one test; `extra` is added to a rejection's description."""
    if suspect is None:
        return DrawLawResult(p_value=p_value)
    return DrawLawResult(f"{suspect.description}{extra}", draws[suspect.batch][0], p_value)


def _test_batches(draws: DrawLog, n: int, extra: str = "") -> DrawLawResult:
    batches = [batch for _, batch in draws]
    suspect, p_value = find_first_rejection_and_p_value(batches, n)
    if suspect is not None and _shows_draws_without_replacement(batches, n):
        first = [batch[:1] for batch in _shuffle_each_batch(batches)]
        other, of_first = find_first_rejection_and_p_value(first, n)
        if other is None:
            return DrawLawResult(p_value=of_first, law="without replacement")
        p_value = of_first
    return _make_draw_law_result(draws, suspect, p_value, extra)


def _shows_draws_without_replacement(batches: Sequence[Integers], n: int) -> bool:
    """Return whether no batch repeats an index, where draws with replacement would repeat some."""
    sizes = np.array([len(batch) for batch in batches])
    if sizes.max() > n:
        return False
    chance = (np.log1p(-np.arange(sizes.max()) / n).cumsum()[sizes - 1]).sum()
    return all(len(np.unique(batch)) == len(batch) for batch in batches) and chance < np.log(LEVEL)


def _shuffle_each_batch(batches: Sequence[Integers]) -> list[Integers]:
    rng = np.random.default_rng(len(batches))
    return [rng.permutation(batch) for batch in batches]


def _test_subsets(subsets: DrawLog, n: int) -> DrawLawResult:
    """Test that subsets of any sizes are drawn uniformly without replacement.

    The tests cover single components and pairs of components.
    """
    for t, batch in subsets:
        if len(np.unique(batch)) < len(batch):
            return DrawLawResult("a subset has a repeated component", t)
    mixed = _shuffle_each_batch([batch for _, batch in subsets])
    suspect, p_value = find_first_rejection_and_p_value([batch[:1] for batch in mixed], n)
    large = [k for k, batch in enumerate(mixed) if len(batch) > 1]
    if suspect is None and large:
        pairs = [
            np.array([first * (n - 1) + second - (second > first)])
            for first, second in (mixed[k][:2] for k in large)
        ]
        subsets = [subsets[k] for k in large]
        suspect, of_pairs = find_first_rejection_and_p_value(pairs, n * (n - 1))
        p_value = min(p_value, of_pairs)
    return _make_draw_law_result(subsets, suspect, p_value, ", in a subset")


def _test_coins(coins: Sequence[tuple[int, bool]], chance: float) -> DrawLawResult:
    """Test coin flips: frequency of heads, waiting times, and repeated sequences."""
    fell = [int(heads) for _, heads in coins]
    frequency = f"{sum(fell)} in {len(fell):,} flips, expected {chance * len(fell):.4g}"
    words = f"the coin has another probability of heads: {frequency}"
    suspect, p_value = find_choice_rejection_and_p_value(words, fell, (1.0 - chance, chance))
    if suspect is None:
        log_chances = np.full(len(fell), np.log(max(chance, 1.0 - chance)))
        end, _ = find_repeated_sequence_and_p_value(fell, log_chances)
        words = "the coins repeat an earlier sequence"
        suspect = None if end is None else Rejection(words, end)
    return _make_draw_law_result(coins, suspect, p_value)


def _test_picks(picks: Sequence[tuple[int, int]], count: int) -> DrawLawResult:
    chosen = [number for _, number in picks]
    words = "the method continues from points that are not drawn uniformly"
    suspect, p_value = find_choice_rejection_and_p_value(words, chosen, (1.0 / count,) * count)
    singles = [np.array([number]) for number in chosen]
    if suspect is None:
        suspect, of_singles = find_first_rejection_and_p_value(singles, count)
        p_value = min(p_value, of_singles)
    return _make_draw_law_result(picks, suspect, p_value)


def map_to_uniform_indices(batch: Integers, chances: Floats, seed: int) -> Integers:
    """Map indices drawn with given probabilities to indices with a uniform distribution.

    Component i owns an interval of [0, 1) whose length is its probability. A random point of that
    interval is uniform in [0, 1). It is mapped to k if it lies in the k-th of n equal intervals.
    """
    ends = np.cumsum(chances)
    points = ends[batch] - np.random.default_rng(seed).random(len(batch)) * chances[batch]
    n = len(chances)
    return np.asarray(np.clip((points / ends[-1] * n).astype(np.int64), 0, n - 1))
