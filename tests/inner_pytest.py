"""pytest in this process, on the files of a folder; what it imports from there is forgotten."""

import io
import sys
from contextlib import redirect_stdout

import pytest

_PLAIN = [
    *("-p", "pfbench.claims.pytest_plugin", "--rootdir", ".", "--capture", "sys"),
    *(
        f"-pno:{plugin}"
        for plugin in ("cacheprovider", "faulthandler", "threadexception", "unraisableexception")
    ),
]


def run_pytest(folder, *arguments):
    """Return what pytest prints; each call imports the files as they are now."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.chdir(folder)
        patch.setattr(sys, "path", [*sys.path])
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        pytest.main([*_PLAIN, *arguments])
    for path in folder.glob("*.py"):
        sys.modules.pop(path.stem, None)
    return printed.getvalue()
