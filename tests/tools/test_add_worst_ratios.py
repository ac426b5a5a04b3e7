"""The column of the worst ratios is added once, and renewed; other tables stay."""

import importlib.util
from pathlib import Path

SPEC = importlib.util.spec_from_file_location(
    "add_worst_ratios", Path(__file__).with_name("add_worst_ratios.py")
)
tool = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tool)

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
    first = tool.add_column(PAGE, {"two": "0.9 at t = 1"})
    lines = first.splitlines()
    assert lines[2].split(" | ")[4] == "worst ratio found"
    assert lines[3].count("---") == 8
    assert lines[4] == r"| one | holds | E\|g\| <= 1 |  |  | T <= 2 | 6 | 0.5 |"
    assert "| measured/bound 0.5 | 0.9 at t = 1 | T <= 2 |" in lines[5]
    assert lines[6:] == PAGE.splitlines()[6:]
    again = tool.add_column(first, {"two": "0.8 at t = 2"})
    assert again == first.replace("0.9 at t = 1", "0.8 at t = 2")
