"""A receipt, made once."""

import sys
from pathlib import Path

import pytest
from forged_receipts import THEOREM, run


@pytest.fixture(scope="session")
def receipt(tmp_path_factory):
    """The receipt of a small theorem, made by the command; its code is not at hand."""
    folder = tmp_path_factory.mktemp("author")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", list(sys.path))
        Path("lazy_descent.py").write_text(THEOREM)
        done = run(
            *("verify", "lazy_descent.py", "--receipt", "lazy.zip", "--faults", 3),
            *("--store", "store", "--jobs", 1),
        )
        sys.modules.pop("lazy_descent", None)
    assert done.exit_code == 0, done.output
    assert "holds" in done.stdout
    (folder / "lazy_descent.py").rename(folder / "elsewhere.txt")
    return folder / "lazy.zip"
