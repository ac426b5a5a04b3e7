"""LaTeX documents of tests."""

import shutil
import subprocess

import pytest


def compiled(tmp_path, body, preamble=""):
    """Compile a document; a warning of a missing character is an error."""
    engine = shutil.which("pdflatex")
    if engine is None:
        pytest.skip("pdflatex is not installed")
    source = (
        "\\documentclass{article}\n\\usepackage{booktabs}\n"
        f"{preamble}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    )
    (tmp_path / "d.tex").write_text(source, encoding="utf-8")
    done = subprocess.run(
        [engine, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "d.tex"],
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
        check=False,
    )
    log = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, log[-2000:]
    assert "Missing character" not in (tmp_path / "d.log").read_text(errors="replace")
    return log
