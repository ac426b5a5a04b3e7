"""Results as Jupyter shows them: tables of escaped texts, curves, progress in plain lines."""

import builtins
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import own_things
import pytest
from helpers import refused
from hypothesis import given
from hypothesis import strategies as st
from processes import run_python

import pfbench as pf
from pfbench.base.errors import InputError
from pfbench.base.escaping import escape_hidden, html_table, html_text
from pfbench.cli.terminal import console
from pfbench.runs.engines.engine import SingleProcessEngine

BAD = '<script>alert("1")</script>&\x1b[31m'


TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td"}


def tables(text):
    """Return the cells of tables; every tag must be one of a table, and be closed."""
    whole = ElementTree.fromstring(f"<table>{text}</table>")
    assert {one.tag for one in whole.iter()} <= TAGS
    return [[["".join(cell.itertext()) for cell in row] for row in t.iter("tr")] for t in whole]


@given(st.lists(st.lists(st.text(), min_size=2, max_size=2)))
def test_a_table_of_any_texts_is_one(rows):
    (table,) = tables(html_table(("a<b", "c"), rows, caption=BAD))
    assert table[0] == ["a<b", "c"]
    shown = [[cell.replace("\r\n", "\n") for cell in row] for row in table[1:]]
    assert len(shown) == len(rows)
    for cells, texts in zip(shown, rows, strict=True):
        assert len(cells) == 2
        assert all(cell == escape_hidden(cell) for cell in cells)
        assert [cell for cell, text in zip(cells, texts, strict=True) if text.isprintable()] == [
            text for text in texts if text.isprintable()
        ]


def test_numbers_are_to_six_digits_and_nothing_is_empty():
    (table,) = tables(html_table(("n",), [[1234567], [0.12345678], [None], [True]]))
    assert table == [["n"], ["1,234,567"], ["0.123457"], [""], ["True"]]
    assert html_text(BAD) == "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;\\x1b[31m"


@pytest.fixture(scope="module")
def run():
    problem = pf.problem("robust-matrix-recovery", rows=12, columns=10, rank=1, density=0.5)
    svrg = pf.algorithm("nfwu-svrg", batch=7, period=4, iterations=10, step=0.1, output="last")
    return pf.solve(problem, svrg, measures=["fw_gap", "value"])


def test_a_run_is_its_parameters_counts_and_measures(run):
    about, counts, final = ({row[0]: row[1] for row in t} for t in tables(run._repr_html_()))
    assert about["problem"] == run.problem
    assert "batch=7" in about["parameters"]
    assert counts["sfo"] == f"{run.counts.sfo:,}"
    assert "po" not in counts
    assert float(final["fw_gap"]) == pytest.approx(run.final["fw_gap"], rel=1e-5)
    assert "<script" not in replace(run, problem=BAD, stop_reason=BAD)._repr_html_()


def test_verdicts_and_what_was_checked():
    done = pf.verify(["methods-count-svrg"], engine=SingleProcessEngine())
    (table,) = tables(done._repr_html_())
    assert table[1][:2] == ["methods-count-svrg", done.rows[0].line]
    one, _ = tables(done.rows[0]._repr_html_())
    assert dict(one[1:])["says"] == done.rows[0].claim.statement

    class Wrong(pf.problem("simplex-norm").set.__class__):
        def lo(self, g):
            return -super().lo(g)

    report = pf.check(Wrong(4))
    (table,) = tables(report._repr_html_())
    assert [row[1] for row in table[1:]] == [result.status for result in report.findings]
    assert any("must" in row[2] for row in table[1:] if row[1] == "failed")


# --- curves ---------------------------------------------------------------------------------------


def test_a_curve_is_the_trace(run):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    axes = run.plot()
    (line,) = axes.lines
    np.testing.assert_array_equal(line.get_xdata(), run.trace["sfo"])
    np.testing.assert_array_equal(line.get_ydata(), run.trace["fw_gap"])
    words = axes.get_yscale(), axes.get_ylabel(), axes.get_xlabel()
    assert words == ("log", "Frank-Wolfe gap V(x)", "SFO (component gradients)")
    assert len(axes.collections) == 1
    assert run.plot("value", against="iteration", ax=axes) is axes
    assert len(axes.lines) == 2
    pyplot.close(axes.figure)


def test_several_runs_are_drawn_in_one_figure_and_no_legend_covers_them(run):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    axes = pf.plot([run, replace(run, seed=7)], "value")
    axes.figure.canvas.draw()
    assert [text.get_text()[-6:] for text in axes.get_legend().get_texts()] == ["seed 0", "seed 7"]
    assert not axes.get_legend().get_window_extent().overlaps(axes.get_window_extent())
    assert axes.get_title() == run.problem
    pyplot.close(axes.figure)
    for wrong in ([], [3], None):
        with refused("a run or a list of runs"):
            pf.plot(wrong)


def test_what_a_notebook_shows_is_short(run):
    problem, algorithm = pf.problem("quadratic", rows=20), pf.algorithm("frank-wolfe", iterations=3)
    for thing in (problem, algorithm, run, own_things.Quadratic()):
        assert len(repr(thing)) < 250
    assert "n=20" in repr(problem)
    assert repr(algorithm) == "algorithm('frank-wolfe[iterations=3]')"
    assert "finished after" in repr(run)


@pytest.mark.parametrize(
    ("change", "given", "words"),
    [
        ({}, {"measure": "fw_gp"}, ["'fw_gp'", "'fw_gap'"]),
        ({}, {"measure": "fw_gap_lower"}, ["'fw_gap_lower'"]),
        ({}, {"against": "sfoo"}, ["'sfoo'", "'sfo'"]),
        ({"columns": ("iteration", "sfo"), "rows": [(0, 0)]}, {}, ["solve(measures=...)"]),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(run, change, given, words):
    with refused(*words):
        replace(run, **change).plot(**given)


def test_without_matplotlib_it_says_what_to_install(run, monkeypatch):
    load = builtins.__import__

    def absent(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return load(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(InputError, match=re.escape('pip install "pfbench[report]"')):
        run.plot()


# --- progress -------------------------------------------------------------------------------------


def test_a_cell_of_a_notebook_gets_plain_lines(monkeypatch):
    """A kernel gives its programs a terminal and asks for colours: there is none to draw on."""
    for name, value in (("FORCE_COLOR", "1"), ("CLICOLOR_FORCE", "1"), ("TERM", "xterm-color")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    assert console(error=True).is_terminal
    monkeypatch.setenv("JPY_PARENT_PID", "1")
    assert not console(error=True).is_terminal
    code = (
        "import time; from pfbench.cli import progress; progress.BETWEEN_LINES = 0.0\n"
        "with progress.StepProgress('mine', 3, 'runs') as s: [s.advance() for _ in range(3)]"
    )
    assert run_python("-c", code)[1].splitlines() == [
        f"mine: {k} of 3 runs, estimating the time left" for k in (1, 2)
    ]
