"""An archive of claims, made once; and checks with few new seeds."""

import sys

import pytest
from forged_archives import THEOREM, archived, content


@pytest.fixture(autouse=True)
def few_new_seeds(monkeypatch):
    monkeypatch.setattr("pfbench.archive.check.NEW", 3)


@pytest.fixture(scope="session")
def archive(tmp_path_factory):
    """The archive of a small theorem, made by the command; its code is not at hand."""
    folder = tmp_path_factory.mktemp("author")
    given = "lazy_descent.py", "-o", "lazy.zip", "--faults", 3
    assert "holds" in archived(folder, {"lazy_descent.py": THEOREM}, *given).stdout
    (folder / "lazy_descent.py").rename(folder / "elsewhere.txt")
    return folder / "lazy.zip"


@pytest.fixture
def importable(folder):
    """Put a module at hand under a name; return that."""
    sys.path.insert(0, str(folder))

    def of(name, text):
        (folder / f"{name}.py").write_text(text)
        return name

    return of


@pytest.fixture
def theorem(archive, importable):
    """The code of the archive at hand, as a worker of its check finds it."""
    return importable("lazy_descent", content(archive)[1]["code/lazy_descent.py"].decode())
