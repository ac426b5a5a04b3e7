"""The size of the code: what is counted, and that a limit only falls."""

import importlib.util
from pathlib import Path

SPEC = importlib.util.spec_from_file_location(
    "size", Path(__file__).resolve().parents[2] / "tools/size.py"
)
size = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(size)

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
    size.LIMITS.write_text("pfbench = 9\ntests = 5\njavascript = 2\n")
    monkeypatch.setattr("sys.argv", ["size.py", "--write"])
    assert size.main() == 1
    assert size.LIMITS.read_text() == "pfbench = 6\ntests = 5\njavascript = 2\n"
    assert " 6 of 5 lines allowed" in capsys.readouterr().out
    size.LIMITS.write_text("pfbench = 6\ntests = 6\njavascript = 2\n")
    monkeypatch.setattr("sys.argv", ["size.py"])
    assert size.main() == 0
