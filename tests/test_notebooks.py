"""The notebooks to teach with: every cell runs, and shows what the text beside it says."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
if not FOLDER.exists():
    pytest.skip("there is no checkout", allow_module_level=True)


def executed(name):
    """Run the cells of a notebook in an empty folder; return the names that they leave."""
    notebook = json.loads((FOLDER / name).read_text("utf-8"))
    assert notebook["nbformat"] == 4
    names = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "notebooks are kept without what they print"
            exec(compile("".join(cell["source"]), name, "exec"), names)
    return names


@pytest.mark.usefixtures("folder", "in_this_process")
def test_a_claimed_rate_put_to_the_test():
    names = executed("claimed-rate.ipynb")
    assert names["easy"].verdict.keeps_bound
    assert names["easy"].measured["ratio"] < 0.1
    verdicts = {name: row.verdict for name, row in names["both"].items()}
    assert verdicts == {"colleague": "violated", "textbook": "within-10"}


@pytest.mark.usefixtures("folder")
def test_where_hand_counting_goes_wrong():
    names = executed("hand-counting.ipynb")
    assert names["exact"] == names["right"] != names["by_hand"]
    assert names["open_loop"].fo == names["searching"].fo - 1 == names["T"]
    assert names["open_loop"].fv == 0 < names["searching"].fv
    assert names["sliding"].lo > 2 * names["sliding"].fo


def test_all_notebooks_are_run():
    assert {path.name for path in FOLDER.glob("*.ipynb")} == {
        "claimed-rate.ipynb",
        "hand-counting.ipynb",
    }
