"""Ranks of algorithms, and the answer in words, from runs whose every number is chosen."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import results_of, run

from pfbench.base.counts import Counts
from pfbench.reporting import ranking, tables
from pfbench.reporting.answers import answer_sentences
from pfbench.reporting.result_tables import (
    compare_by_each_price,
    main_results_table,
    results_tables,
)
from pfbench.runs.loop.run import Stop

TARGETS = (Stop("m", 0.5), Stop("m", 0.1))


def results(methods, targets=TARGETS, budgets=None):
    """One panel: by label, the runs of its seeds."""
    return results_of({"p": methods}, targets, budgets)


def order(found):
    return [(one["algorithm"], one["rank"]) for one in ranking.as_json(found)]


def falls(*calls, to=(1.0, 0.4, 0.05), status="target"):
    """Runs that reach the two targets after so many calls."""
    return [run(list(to), [0, k // 2, k], status=status) for k in calls]


IDLE = [run([1.0, 1.0, 1.0], [0, 10, 100]) for _ in range(3)]
LOST = [run([1.0, 0.8], [0, 10], status="diverged") for _ in range(3)]
REFUSED = [replace(run([]), status="refused", columns=(), rows=[], counts=Counts())] * 3


def test_the_hardest_target_ranks_before_the_calls():
    easy = [run([1.0, 0.4, 0.3], [0, 1, 2]) for _ in range(3)]
    found = results({"idle": IDLE, "easy": easy, "hard": falls(90, 100, 110)})
    assert order(found) == [("hard", 1), ("easy", 2), ("idle", 3)]


def test_expected_calls_rank_and_a_missed_target_is_never_dropped():
    one_miss = [*falls(10, 12), *IDLE[:1]]
    two_misses = [*falls(2), *IDLE[:2]]
    found = results({"two": two_misses, "slow": falls(50, 60, 70), "one": one_miss})
    assert order(found) == [("slow", 1), ("one", 2), ("two", 3)]
    by_label = {one["algorithm"]: one for one in ranking.as_json(found)}
    assert [by_label[label]["hits"] for label in ("one", "slow", "two")] == [2, 3, 1]
    assert by_label["slow"]["calls"]["sfo"] == 60
    assert by_label["one"]["calls"]["sfo"] == (10 + 12 + 100) / 2
    assert by_label["two"]["calls"]["sfo"] == 2 + 100 + 100


def test_who_fails_has_no_place():
    found = results({"lost": LOST, "refused": REFUSED, "idle": IDLE})
    assert order(found) == [("idle", 1), ("lost", None), ("refused", None)]
    without = results({"lost": LOST, "refused": REFUSED, "idle": IDLE}, targets=())
    assert order(without) == [("idle", 1), ("lost", None), ("refused", None)]


def test_equal_scores_share_a_place():
    found = results({"a": falls(5, 6, 7), "b": falls(7, 6, 5), "c": falls(8, 8, 8)})
    assert order(found) == [("a", 1), ("b", 1), ("c", 3)]


def test_the_first_is_bold_where_the_seeds_decide():
    found = results({"a": falls(10, 30, 50), "b": falls(20, 31, 40)})
    places = {row.name: (row.cells[0], row.best) for row in main_results_table(found).rows}
    assert places == {"a": (1, set()), "b": (2, set())}
    many = results({"a": falls(*range(10, 30)), "b": falls(*range(40, 60))})
    places = {row.name: (row.cells[0], row.best) for row in main_results_table(many).rows}
    assert places == {"a": (1, {1, 2}), "b": (2, set())}


@given(
    st.lists(st.lists(st.integers(1, 30), min_size=3, max_size=3), min_size=2, max_size=4),
    st.randoms(use_true_random=False),
)
def test_ranks_do_not_depend_on_the_order_and_a_new_method_moves_nobody(calls, random):
    methods = {f"m{k}": falls(*some) for k, some in enumerate(calls)}
    before = order(results(methods))
    shuffled = list(methods)
    random.shuffle(shuffled)
    again = order(results({label: methods[label] for label in shuffled}))
    assert sorted(before) == sorted(again)
    more = [one for one in order(results(methods | {"new": IDLE})) if one[0] != "new"]
    assert more == before


def many(number):
    """So many methods: the later in the list, the sooner at the target; some have a tuned form."""
    calls = {f"m{k}": number - k for k in range(number)} | {"m0, tuned": 2 * number}
    return results(
        {label: [run([1.0, 0.05], [0, n]) for _ in range(3)] for label, n in calls.items()}
    )


def test_of_few_methods_all_are_shown():
    few = many(ranking.MAX_ROWS - 1)
    assert ranking.initially_shown_algorithms(few) == few.study.labels


def test_of_many_methods_the_first_of_the_list_and_those_in_front_are_shown():
    shown = ranking.initially_shown_algorithms(many(20))
    assert len(shown) == ranking.MAX_ROWS
    in_front = [f"m{k}" for k in range(20 - (ranking.MAX_ROWS - 2), 20)]
    assert list(shown) == ["m0", *in_front, "m0, tuned"]


# --- one definition of rank, wherever it stands ---

LOS = {
    # The lower medians are 2 992 and 2 960, the means of the two middle ones 2 992 and 3 024.
    "even": ([2990, 2992, 2992, 2994], [0, 0, 500, 1000]),
    "odd": ([2000, 2960, 3088, 9000], [0, 1000, 1000, 1000]),
    "near": ([2991, 2992, 2993, 2993], [7, 7, 7, 7]),
    "missing": ([100, 100, 100, None], [10, 10, 10, 10]),
}


def studied():
    """A study in which medians, means and one count are each in another order."""

    def one(sfo, lo):
        end = 5000 if sfo is None else sfo
        return run([1.0, 0.4, 0.4 if sfo is None else 0.05], [0, 1, end], lo=[0, 0, lo])

    return results({name: list(map(one, *calls)) for name, calls in LOS.items()})


def printed(text):
    return float(text.split()[0].replace("\N{NARROW NO-BREAK SPACE}", "").replace("∞", "inf"))


def test_every_table_ranks_by_the_numbers_that_it_prints():
    found = studied()
    ranked = {row.name: row.cells[0] for row in main_results_table(found).rows}
    assert ranked == {"missing": 1, "even": 2, "near": 2, "odd": 4}
    for table in results_tables(compare_by_each_price(found)):
        assert table.rows
        numbers = [printed(tables.format_cell(row.cells[2])) for row in table.rows]
        assert [row.cells[0] for row in table.rows] == [
            1 + sum(other < number for other in numbers) for number in numbers
        ]


def test_without_targets_the_calls_are_those_of_one_run():
    runs = [run([1.0, 0.4], [0, sfo], lo=[0, lo]) for sfo, lo in ((10, 1000), (500, 0), (900, 0))]
    (ranked,) = ranking.as_json(results({"a": [*runs, *runs]}, targets=()))
    assert ranked["calls"] == {"sfo": 500, "lo": 0}


# --- the answer in words --------------------------------------------------------------------------


def answers(panels, targets=TARGETS):
    return answer_sentences(compare_by_each_price(results_of(panels, targets)))


def runs(calls, number=3, **options):
    """Runs that reach 0.1 after so many SFO on average, and LO half as many; with None never."""
    ends = [1.0, 0.4 if calls is None else 0.05]
    about = [(100 if calls is None else calls) + 2 * seed - number + 1 for seed in range(number)]
    return [
        run(ends, [0, sfo], lo=[0, sfo // 2], seed=seed, **options)
        for seed, sfo in enumerate(about)
    ]


def test_one_problem_is_a_ranking_with_numbers():
    told = answers({"p": {"slow": runs(4000), "fast": runs(1000), "idle": runs(None)}})
    assert told == [
        "3 algorithms on 1 problem, 3 seeds each: 9 runs, none of which failed.",
        "6 of 9 runs reach the target, m ≤ 0.100; never: idle.",
        "Fewest SFO calls: fast on 1 of 1 problem, on 0 of them significantly (rank test over the "
        "seeds).",
        "Fewest LO calls: fast on 1 of 1 problem, on 0 of them significantly (rank test over the "
        "seeds).",
    ]


def test_many_seeds_tell_the_first():
    told = answers({"p": {"slow": runs(4000, 9), "fast": runs(1000, 9)}})
    assert "fast on 1 of 1 problem, on 1 of them significantly" in told[2]


def test_runs_that_miss_are_charged_and_said():
    some = [*runs(1000, 2), *runs(None, 1)]
    told = answers({"p": {"fast": some, "sure": runs(1000, 3)}})
    assert told[1] == "5 of 6 runs reach the target, m ≤ 0.100."
    # 999 + 1001 + 100 spent in vain, over two hits.
    ranks = ranking.as_json(results({"fast": some, "sure": runs(1000, 3)}))
    assert [(one["algorithm"], one["calls"]["sfo"]) for one in ranks] == [
        ("sure", 1000),
        ("fast", 1050),
    ]


def test_several_problems_are_counted():
    told = answers(
        {
            "p": {"a": runs(100), "b": runs(200)},
            "q": {"a": runs(900), "b": runs(300)},
            "r": {"a": runs(50), "b": runs(60)},
            "s": {"a": runs(None), "b": runs(None)},
        }
    )
    assert told[1:3] == [
        "18 of 24 runs reach the target, m ≤ 0.100.",
        "Fewest SFO calls: a on 2 and b on 1 of 3 problems, on 0 of them significantly "
        "(rank test over the seeds).",
    ]


def test_those_that_need_as_few_are_named_alike():
    alike = {"a": runs(100), "b": runs(100), "c": runs(200)}
    (_, _, one, _) = answers({"p": alike})
    assert one.startswith("Fewest SFO calls: a and b alike on 1 of 1 problem")
    (_, _, several, _) = answers({"p": alike, "q": {"a": runs(9), "b": runs(9)}})
    assert several == (
        "Fewest SFO calls: a and b alike on 2 of 2 problems, on 0 of them significantly "
        "(rank test over the seeds)."
    )


def test_without_a_hit_nobody_is_first():
    told = answers({"p": {"a": runs(None), "b": runs(None)}})
    assert told[1:] == ["No method reaches the target, m ≤ 0.100."]


def test_calls_that_a_method_never_makes_are_not_compared():
    without = [replace(one, counts=replace(one.counts, lo=0)) for one in runs(10)]
    told = answers({"p": {"a": without, "b": runs(20)}})
    assert len(told) == 3
    assert told[2].startswith("Fewest SFO calls: a on 1 of 1 problem")


def test_failures_are_counted_by_their_status():
    failed = [*runs(10, 1), *runs(None, 1, status="diverged"), *runs(None, 1, status="error")]
    told = answers({"p": {"a": failed, "b": runs(20)}})
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
    assert answers(panels, targets=())[1:] == [said]
