"""The code in the documentation runs as it is printed."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def blocks(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def test_readme(capsys):
    names = {}
    for block in blocks("README.md"):
        exec(compile(block, "README.md", "exec"), names)
    assert "finished Counts(fo=4, sfo=688896, sso=230016" in capsys.readouterr().out
    assert names["run"].counts.lo == 50


def test_adding_an_algorithm(capsys):
    names = {}
    for block in blocks("docs/adding-an-algorithm.md"):
        exec(compile(block, "adding-an-algorithm.md", "exec"), names)
    printed = "Counts(fo=0, sfo=8000, sso=0, hvp=0, lo=200, po=0, fv=0)"
    assert printed in capsys.readouterr().out
    names["test_counts"]()
    names["test_equals_the_pseudo_code"]()
