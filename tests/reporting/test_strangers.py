"""A report of texts that would act: in no format they do."""

import re
from dataclasses import replace

import pytest
from helpers import acting
from made_runs import with_run
from reading_tex import problems

from pfbench.reporting import collect_report
from pfbench.reporting.report_contents import make_contents
from pfbench.reporting.writer import write_contents
from pfbench.runs.planning.published import CostUnit, PublishedOrdering
from pfbench.runs.planning.spec import load_spec

ESCAPES = r"\u001b[2J\u001b]0;x\u0007\u009b31m\u202e"
CAPTION = r"line one\n\\input{/etc/passwd}\n\\immediate\\write18{id}\r\u2028x"

ACTING = {
    "Two estimators & <three> seeds": f"{ESCAPES}{CAPTION}",
    "Made by hand.": ESCAPES,
    "A tiny <study>": f"{CAPTION}{ESCAPES}",
    "First paragraph": ESCAPES,
    "'''": '"""',
    "SVRG = ": "\"=cmd|' /C calc'!A0\" = ",
    "CA<SVRG>": f"+{ESCAPES}",
    "S = 3 | p = 4": f"@SUM(A1){ESCAPES}",
    "S = √n": "S",
}
"""Parts of the spec of these tests, and texts that act in their place."""


@pytest.fixture(scope="module")
def written(tmp_path_factory, spec, with_failures, made):
    folder, text = tmp_path_factory.mktemp("strangers"), spec.text
    for part, acting_text in ACTING.items():
        assert part in text
        text = text.replace(part, acting_text)
    (folder / "s.toml").write_text(text, encoding="utf-8")
    spec = load_spec(folder / "s.toml")

    def acts(outcome):
        outcome = with_run(outcome, stop_reason=f"\x1b[1A\r{acting()}\nforged")
        return replace(outcome, entry=replace(outcome.entry, environment={"python": acting()}))

    outcomes = list(map(acts, with_failures))
    command = f"pfbench report {acting()}"
    contents = make_contents(collect_report(spec, outcomes), command, None, made)
    paths = write_contents(contents, folder / "o")
    return {path.name: path for path in paths}


def test_no_file_has_a_character_that_acts(written):
    for name, path in written.items():
        if not name.endswith(".pdf"):
            text = path.read_text(encoding="utf-8")
            if name.endswith(".html"):
                # The page's own scripts stand at its end.
                text = text.partition("<script>")[0]
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e\u2066]", text), name


def test_the_table_is_read_strictly(written):
    text = written["s-tiny.tex"].read_text()
    assert problems(text) == []
    assert "\\input" not in text


def test_no_cell_is_a_formula(written):
    lines = written["s-tiny.csv"].read_text().splitlines()[1:]
    assert all(
        line.startswith(("problem,'@SUM", "problem,S,'=cmd", "problem,S,'+")) for line in lines
    )


def test_units_and_orders_are_printed_without_what_acts(spec, outcomes):
    """A report of a spec with a paper's unit is made, and nothing of it acts."""
    (study,) = spec.studies
    acts = "\x1b[2J"
    unit = CostUnit(f"theirs{acts}", "sfo=1", {"SVRG": "lo=1"}, f"says{acts}", "Section 5")
    ordering = PublishedOrdering(f"a{acts}", f"b{acts}", (("SVRG",), ("CA<SVRG>",)), "fw_gap")
    study = replace(study, units=(unit,), orderings=(ordering,))
    found = collect_report(replace(spec, studies=(study,)), outcomes).results[0].study
    texts = [found.units[0].name, found.units[0].quotation]
    texts += [found.orderings[0].source, found.orderings[0].quotation]
    assert not any("\x1b" in text for text in texts)
    assert found.units[0].exceptions == {"SVRG": "lo=1"}
    assert (found.problems, found.orderings[0].order) == (study.problems, ordering.order)
