"""The answer in words, of runs whose numbers are known."""

from dataclasses import replace

import pytest
from made_runs import results_of, run

from pfbench.reporting.answers import answer_sentences as of_comparisons
from pfbench.reporting.result_tables import compare_by_each_price
from pfbench.runs.loop.run import Stop

FEW = "; the first is not significantly better"
TARGETS = Stop("m", 0.5), Stop("m", 0.1)


def results(panels, targets=TARGETS):
    return results_of(panels, targets)


def answers(found):
    return of_comparisons(compare_by_each_price(found))


def runs(calls, number=3, **options):
    """Runs that reach 0.1 after so many SFO on average, and LO half as many; with None never."""
    ends = [1.0, 0.4 if calls is None else 0.05]
    about = [(100 if calls is None else calls) + 2 * seed - number + 1 for seed in range(number)]
    return [
        run(ends, [0, sfo], lo=[0, sfo // 2], seed=seed, **options)
        for seed, sfo in enumerate(about)
    ]


def test_one_problem_is_a_ranking_with_numbers():
    told = answers(results({"p": {"slow": runs(4000), "fast": runs(1000), "idle": runs(None)}}))
    assert told == [
        "3 algorithms on 1 problem, 3 seeds each: 9 runs, none of which failed.",
        "6 of 9 runs reach the target, m ≤ 0.100; never: idle.",
        f"Fewest SFO calls: fast, 1\u202f000 expected, then slow 4\u202f000{FEW}.",
        f"Fewest LO calls: fast, 500 expected, then slow 2\u202f000{FEW}.",
    ]


def test_many_seeds_tell_the_first():
    told = answers(results({"p": {"slow": runs(4000, 9), "fast": runs(1000, 9)}}))
    assert told[2] == "Fewest SFO calls: fast, 1\u202f000 expected, then slow 4\u202f000."


def test_runs_that_miss_are_charged_and_said():
    some = [*runs(1000, 2), *runs(None, 1)]
    told = answers(results({"p": {"fast": some, "sure": runs(1000, 3)}}))
    assert told[1] == "5 of 6 runs reach the target, m ≤ 0.100."
    # 999 + 1001 + 100 spent in vain, over two hits.
    assert "sure, 1\u202f000 expected, then fast 1\u202f050 (2 of 3 seeds)" in told[2]


def test_several_problems_are_counted():
    told = answers(
        results(
            {
                "p": {"a": runs(100), "b": runs(200)},
                "q": {"a": runs(900), "b": runs(300)},
                "r": {"a": runs(50), "b": runs(60)},
                "s": {"a": runs(None), "b": runs(None)},
            }
        )
    )
    assert told[1:3] == [
        "18 of 24 runs reach the target, m ≤ 0.100; no method does on s.",
        "Fewest SFO calls: a on 2 and b on 1 of 3 problems, on 0 of them significantly "
        "(rank test over the seeds); largest difference on q: 300 (b) to 900 (a).",
    ]


def test_those_that_need_as_few_are_named_alike():
    alike = {"a": runs(100), "b": runs(100), "c": runs(200)}
    (_, _, one, _) = answers(results({"p": alike}))
    assert one == f"Fewest SFO calls: a and b alike, 100 expected, then c 200{FEW}."
    (_, _, several, _) = answers(results({"p": alike, "q": {"a": runs(9), "b": runs(9)}}))
    assert several == (
        "Fewest SFO calls: a and b alike on 2 of 2 problems, on 0 of them significantly "
        "(rank test over the seeds); largest difference on p: 100 (a) to 200 (c)."
    )


def test_without_a_hit_nobody_is_first():
    told = answers(results({"p": {"a": runs(None), "b": runs(None)}}))
    assert told[1:] == ["No method reaches the target, m ≤ 0.100."]


def test_calls_that_a_method_never_makes_are_not_compared():
    without = [replace(one, counts=replace(one.counts, lo=0)) for one in runs(10)]
    told = answers(results({"p": {"a": without, "b": runs(20)}}))
    assert len(told) == 3
    assert told[2].startswith("Fewest SFO calls: a, 10 expected")


def test_failures_are_counted_by_their_status():
    failed = [*runs(10, 1), *runs(None, 1, status="diverged"), *runs(None, 1, status="error")]
    told = answers(results({"p": {"a": failed, "b": runs(20)}}))
    assert told[0].endswith("6 runs, of which 2 failed (1 diverged and 1 error).")


@pytest.mark.parametrize(
    ("panels", "said"),
    [
        (
            {"p": {"a": runs(1), "b": runs(None)}},
            "m ends lowest for a: 0.0500; the highest ends at 0.400.",
        ),
        (
            {"p": {"a": runs(1), "b": runs(None)}, "q": {"a": runs(None), "b": runs(1)}},
            "m ends lowest for a on 1 and b on 1 of 2 problems: 0.0500; the highest ends at 0.400.",
        ),
    ],
)
def test_without_a_target_the_ends_are_compared(panels, said):
    assert answers(results(panels, targets=()))[1:] == [said]
