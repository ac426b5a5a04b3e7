"""The tools of tests/tools and tools: what each finds or writes."""

from pathlib import Path

import pytest
from tools.print_exact_tables import REPORTS

from tools import add_worst_ratios, check_site, check_words, compare_checkouts, size

ROOT = Path(__file__).resolve().parents[2]

# --- the linter of names and texts ----------------------------------------------------------------


@pytest.fixture
def rules(tmp_path):
    """Return a function that returns the rules that a source breaks, in the order of its faults."""

    def check(source, file="pfbench/base/example.py"):
        path = tmp_path / "example.py"
        path.write_text(source, encoding="utf-8")
        return [fault.rule for fault in check_words.check_source(path, file)]

    return check


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("for one in claims:\n    pass", ["W1"]),
        ("def f(told):\n    pass", ["W1"]),
        ("self.found = 1", ["W1"]),
        ("def computed(x):\n    pass", ["W2"]),
        ("def calls_of(x):\n    pass", ["W2"]),
        ("def compute_calls(x):\n    pass", []),
        ("def seed(x):\n    pass", []),
        ('def f():\n    """Return what is computed."""', ["W3"]),
        ('class C:\n    """What a run is."""', ["W4"]),
        ('text = "somebody else"', ["W5"]),
    ],
)
def test_each_rule_reports_its_fault(rules, source, expected):
    assert rules(source) == expected


def test_a_name_is_allowed_only_in_its_place(rules):
    assert rules("at = x", "pfbench/algorithms/example.py") == []
    assert rules("at = x", "pfbench/sets/example.py") == ["W1"]


def test_the_allowed_list_is_short_and_has_reasons():
    entries = check_words.WORDS["allowed"]
    assert len(entries) <= 30
    assert all(entry["reason"] for entry in entries)


# --- the check of the built site ------------------------------------------------------------------


GOOD = """<meta http-equiv="refresh" content="0; url=a/b.html"><a href="a/b.html#here">x</a>
<a href="https://elsewhere.org/">x</a><a href="#top">x</a><p id="top">x</p>
<img src="p.svg" alt="words"><script src="s.js?v=1"></script>"""


def site(folder, page=GOOD, style=""):
    (folder / "a").mkdir()
    (folder / "index.html").write_text(page)
    (folder / "a/b.html").write_text('<p id="here">x</p><a href="../index.html">x</a>')
    (folder / "s.css").write_text(style)
    for name in ("p.svg", "s.js"):
        (folder / name).write_text("")
    return list(check_site.faults(folder.resolve()))


def test_a_site_that_is_whole(tmp_path):
    assert site(tmp_path, style="a { b: url('data:image/png;base64,x') }") == []


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("b.html#here", "c.html#here", "not there"),
        ("b.html#here", "b.html#there", "no such place"),
        ("url=a/b.html", "url=b.html", "not there"),
        ("s.js?v=1", "https://cdn.org/s.js", "from outside"),
        ("s.js?v=1", "//cdn.org/s.js", "from outside"),
        ('alt="words"', "", "no words"),
        ("p.svg", "q.svg", "not there"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, right, wrong, said):
    (found,) = site(tmp_path, GOOD.replace(right, wrong))
    assert said in found


def test_a_style_that_loads_from_outside_and_an_empty_site(tmp_path):
    (found,) = site(tmp_path, style='@import "https://fonts.org/x.css";')
    assert "from outside" in found
    (tmp_path / "none").mkdir()
    (found,) = check_site.faults(tmp_path / "none")
    assert "no pages" in found


# --- the size of the code -------------------------------------------------------------------------


SOURCE = '''"""A module."""

# a comment
def f(x):
    """Return x."""
    return (
        x
    )  # its end

TEXT = """one
two"""
'''


def test_blanks_comments_and_docstrings_are_no_code():
    assert size.count_code_lines(SOURCE) == 6


def test_a_size_above_its_limit_fails_and_limits_only_fall(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(size, "ROOT", tmp_path)
    monkeypatch.setattr(size, "LIMITS", tmp_path / "size.toml")
    for folder in ("pfbench", "tests"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text(SOURCE)
    (tmp_path / "pfbench" / "a.js").write_text("1;\n2;\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "pfbench" / "x").mkdir()
    (tmp_path / "pfbench" / "x" / "b.py").write_text(SOURCE)
    page = "# A\n`b.py`\n## Trusted base\n\n| x | `a.py` |\n| y | in `x`: `b.py` |\n\n## B\n`c.py`"
    (tmp_path / "docs" / "architecture.md").write_text(page)
    size.LIMITS.write_text("pfbench = 13\ntests = 5\ntrusted = 99\njavascript = 2\n")
    monkeypatch.setattr("sys.argv", ["size.py", "--write"])
    assert size.main() == 1
    assert size.LIMITS.read_text() == "pfbench = 12\ntests = 5\ntrusted = 12\njavascript = 2\n"
    assert " 6 of 5 lines allowed" in capsys.readouterr().out
    size.LIMITS.write_text("pfbench = 12\ntests = 6\ntrusted = 12\njavascript = 2\n")
    monkeypatch.setattr("sys.argv", ["size.py"])
    assert size.main() == 0


# --- the column of worst ratios, which is added once, and renewed ---------------------------------


PAGE = """# Verdicts

| claim | verdict | says | measured | tested on | runs | s |
| --- | --- | --- | --- | --- | --- | --- |
| one | holds | E\\|g\\| <= 1 |  | T <= 2 | 6 | 0.5 |
| two | within-10 | x | measured/bound 0.5 | T <= 2 | 6 | 0.5 |

| erratum | ruling | as printed or read | corrected | evidence |
| --- | --- | --- | --- | --- |
| a | b | c | d | e |
"""


def test_a_column_is_added_and_renewed():
    first = add_worst_ratios.add_column(PAGE, {"two": "0.9 at t = 1"})
    lines = first.splitlines()
    assert lines[2].split(" | ")[4] == "worst ratio found"
    assert lines[3].count("---") == 8
    assert lines[4] == r"| one | holds | E\|g\| <= 1 |  |  | T <= 2 | 6 | 0.5 |"
    assert "| measured/bound 0.5 | 0.9 at t = 1 | T <= 2 |" in lines[5]
    assert lines[6:] == PAGE.splitlines()[6:]
    again = add_worst_ratios.add_column(first, {"two": "0.8 at t = 2"})
    assert again == first.replace("0.9 at t = 1", "0.8 at t = 2")


# --- the comparison of two checkouts --------------------------------------------------------------


def test_a_difference_is_named_by_its_place():
    before = {"a": {"counts": {"lo": 3}, "seen": "x"}, "b": {}}
    after = {"a": {"counts": {"lo": 4}, "seen": "x"}, "c": {}}
    assert list(compare_checkouts.differences(before, after)) == [
        "a > counts > lo: 3 became 4",
        "b: only before",
        "c: only after",
    ]
    assert not list(compare_checkouts.differences(after, after))


def test_seconds_are_left_out_and_nothing_else():
    row = {"claim": "x", "verdict": "holds", "seconds": 1.0, "measured": {"ratio": 0.5}}
    finding = {"erratum": "y", "evidence": {"shown": True}}
    found = compare_checkouts.by_name({"results": [row], "findings": [finding]})
    assert found == {
        "x": {"claim": "x", "verdict": "holds", "measured": {"ratio": 0.5}},
        "erratum y": finding,
    }


# --- reports that are computed exactly ------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.long] * (n == "sample-weights")) for n in REPORTS]
)
def test_the_report_is_what_the_tool_prints(name, capsys):
    REPORTS[name]()
    assert capsys.readouterr().out == (ROOT / "reports" / f"{name}.md").read_text("utf-8")
