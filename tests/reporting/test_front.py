"""One method against its class: its sentence and table, and what goes into a paper."""

import math
import re
from dataclasses import replace

import pytest
from made_runs import SEEDS, descending, fast, group, idle, results, run, slow, slower
from reading_tex import problems

from pfbench.reporting.candidate_front import make_candidate_front, mean_log_budget_over_calls
from pfbench.reporting.paper_table import paper_table
from pfbench.reporting.result_tables import compare_by_each_price
from pfbench.reporting.results import SettingResults, StudyResults
from pfbench.runs.planning.study import LabelledSelector


def asking(found, label, lo=0, po=0):
    """The same runs with so many LO and PO a row."""
    runs = []
    for one in found.runs:
        columns = list(one.columns)
        rows = [list(row) for row in one.rows]
        for k, row in enumerate(rows):
            row[columns.index("lo")], row[columns.index("po")] = lo * k, po * k
        last = len(rows) - 1
        counts = replace(one.counts, lo=lo * last, po=po * last)
        runs.append(replace(one, rows=[tuple(row) for row in rows], counts=counts))
    return replace(found, label=label, algorithm=label, runs=tuple(runs))


def about(*groups, mine="mine"):
    return make_candidate_front(compare_by_each_price(results(*groups)), (mine,))


def test_the_sentence_counts_every_pair_once():
    mine, best = group("mine", slow().runs), asking(fast(), "best")
    found = about(mine, best, idle())
    assert found.outcome_counts_sentence == (
        "On 2 pairs of problem and target, by SFO among 3 methods, mine is first on 0, within 2 "
        "times the first on 0, slower on 2, and misses 0 targets; the strongest rival "
        "is best, which is ahead on 2 and behind on 0."
    )
    assert "is first on 2" in about(group("mine", fast().runs), slow()).outcome_counts_sentence
    assert "misses 2 targets" in about(group("mine", idle().runs), slow()).outcome_counts_sentence
    near = about(group("mine", slower().runs), slow()).outcome_counts_sentence
    assert "within 2 times the first on 2, slower on 0" in near


def test_a_target_within_which_runs_begin_counts_against_no_rival():
    begun = [run([3.0, 1.0], [0, 500], seed=seed, status="target") for seed in SEEDS]
    sentence = about(group("mine", begun), asking(fast(), "best")).outcome_counts_sentence
    assert sentence.startswith("On 1 pair of problem and target")
    assert sentence.endswith("best, which is ahead on 1 and behind on 0.")


def test_who_never_projects_is_compared_with_its_like():
    mine = asking(slow(), "mine", lo=1)
    like, other = asking(slower(), "like", lo=2), asking(fast(), "other", po=1)
    found = about(mine, like, other)
    assert (found.rivals, found.not_comparable) == (("like",), {"other"})
    assert "among 2 methods that never project, mine is first on 2" in found.outcome_counts_sentence
    assert {row.cells[1] for row in found.calls_table.rows} == {"like"}
    # Who projects meets all.
    assert set(about(mine, like, other, mine="other").rivals) == {"mine", "like"}


def test_how_strong_a_method_is_does_not_depend_on_the_others():
    few = mean_log_budget_over_calls(compare_by_each_price(results(fast(), slow()))[0])
    many = mean_log_budget_over_calls(
        compare_by_each_price(results(fast(), slow(), slower(), idle()))[0]
    )
    assert {label: many[label] for label in few} == few
    assert few["fast"] > few["slow"] > many["slower"] > many["idle"] == 0.0


# --- for a paper ----------------------------------------------------------------------------------


def crowd(panels=7, mine=None):
    """46 methods with long names on several problems."""
    groups = [mine or group("my own method of a long name, tuned", slow().runs)] + [
        group(f"nfwu-caspiderg variant {k}, tuned", [descending(20 + k, seed=s) for s in SEEDS])
        for k in range(45)
    ]
    made = results(*groups)
    several = tuple(
        SettingResults(
            f"p{k}", "", f"problem {k}", tuple(replace(one, problem=f"p{k}") for one in groups)
        )
        for k in range(panels)
    )
    study = replace(
        made.study, problems=tuple(LabelledSelector(f"p{k}", f"p{k}") for k in range(panels))
    )
    return make_candidate_front(
        compare_by_each_price(StudyResults(study, several)), (groups[0].label,)
    )


def table_of(front):
    return paper_table(front.comparisons[0], (), "made", front)


@pytest.fixture(scope="module")
def paper():
    return table_of(crowd())


def test_the_table_has_the_five_strongest_and_at_most_62_rows(paper):
    assert problems(paper) == []
    rows = [line for line in paper.splitlines() if line.endswith(r"\\")][1:]
    assert len(rows) == 7 * (1 + 5)  # of 40 rows in all, so five methods
    assert all(f"variant {k}, tuned" in paper for k in range(4))
    for said in ("Expected SFO calls", "seeds: 8", "4 strongest of 45", "rank test"):
        assert said in paper
    assert len([line for line in table_of(crowd(2)).splitlines() if " & " in line]) == 1 + 2 * 6


WIDE, NARROW = 4.3, 2.2
"""Points of a digit or a letter in 8 pt Computer Modern, and of a thin sign."""


def width_of(cell):
    """Return about how wide a cell is in print, rather more than less."""
    box = re.search(r"\\parbox(?:\[t\])?\{(\d+)pt\}", cell)
    if box:
        return float(box[1])
    power = sum(0.7 * WIDE * len(text) for text in re.findall(r"\$\^\{(.*?)\}\$", cell))
    text = re.sub(r"\$\^\{.*?\}\$|\\ensuremath\{\\le\}", "", cell)
    thin = text.count(r"\,") + text.count(".")
    text = re.sub(r"\\,|\.|\\[a-z]+|[{}$]", "", text)
    return power + NARROW * thin + 1.15 * WIDE * len(text)  # bold is wider


@pytest.mark.parametrize("panels", [1, 2, 7])
def test_the_table_fits_a_column_of_240_pt(panels):
    runs = [run([16, 2, 0.5], [0, 3_456_789 + k, 9_999_999 - k], seed=k) for k in SEEDS]
    missing = [run([16, 8], [0, 9_999_999], seed=k, status="budget") for k in SEEDS[:4]]
    mine = group("my own method of a long name, tuned", [*missing, *runs[4:]])
    comparison = crowd(panels, mine).comparisons[0]
    rows = [
        line.removesuffix(r" \\").split(" & ")
        for line in table_of(crowd(panels, mine)).splitlines()
        if " & " in line
    ]
    assert comparison.targets
    widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    assert sum(widths) + 6 * len(widths) <= 240


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("\\end{tabular}", "", "closes"),
        ("\\end{table}", "", "open at the end"),
        (" & ", " ", "cells of 3"),
        ("problem 0", "problem_0", "_ acts"),
        ("problem 0", "problem \\& 0 #", "# acts"),
        ("\\caption{", "\\caption{a & b ", "& outside of a table"),
        ("\\caption{", "\\caption{50 $", "closes"),
        ("problem 0", "problem 0 ∞", "no sign of TeX"),
        (" \\\\\n\\midrule", "\n\\midrule", "no end of a row"),
    ],
)
def test_a_table_with_a_planted_fault_is_not_read(paper, old, new, says):
    text = paper
    assert old in text
    assert any(says in one for one in problems(text.replace(old, new, 1)))


def test_no_cell_is_read_as_an_option_of_the_line_before():
    front = about(group("[2em]", fast().runs), slow(), mine="[2em]")
    rows = [line for line in table_of(front).splitlines() if "2em" in line and " & " in line]
    assert rows
    assert all(line.startswith("{}[2em]") for line in rows)


def test_expected_calls_that_some_runs_miss_say_so():
    some = [run([16, 0.5], [0, 10], seed=k, status="target") for k in range(4)]
    some += [run([16, 8], [0, 50], seed=k, status="budget") for k in range(4, 8)]
    one = make_candidate_front(
        compare_by_each_price(results(group("mine", some), idle())), ("mine",)
    )
    text = table_of(one)
    assert "$^{4/8}$" in text
    assert r"$\infty$" in text
    assert math.isclose(one.duels_with_best_rival[0].candidate_expected_calls, (40 + 200) / 4)
