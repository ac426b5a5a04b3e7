"""The pages about tests: every block runs, and every failure reads as it is printed."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"```(python|text)\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize(
    "page", ["testing-your-solver", "reviewing-a-rate", "optimizer-and-paper", "watch"]
)
def test_page(page, capsys):
    if page in ("optimizer-and-paper", "watch"):
        pytest.importorskip("torch")
    names, tested = {}, set()
    for kind, text in BLOCK.findall((DOCS / f"{page}.md").read_text("utf-8")):
        if kind == "python":
            exec(compile(text, page, "exec"), names)
            continue
        new = [name for name in names if name.startswith("test_") and name not in tested]
        if not new:
            assert text in capsys.readouterr().out
            continue
        tested.update(new)
        with pytest.raises(AssertionError) as failure:
            names[new[-1]]()
        assert str(failure.value).startswith(text.strip()), str(failure.value)
    if "too_good" in names:
        assert names["too_good"]().verdict == "holds"
