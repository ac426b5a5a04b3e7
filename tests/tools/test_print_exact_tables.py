"""The reports that are computed exactly are those of the tool."""

from pathlib import Path

import pytest
from tools.print_exact_tables import REPORTS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.long] * (n == "sample-weights")) for n in REPORTS]
)
def test_the_report_is_what_the_tool_prints(name, capsys):
    REPORTS[name]()
    assert capsys.readouterr().out == (ROOT / "reports" / f"{name}.md").read_text("utf-8")
