"""Where somebody's code raised, and what the name may be that he meant."""

import difflib
import linecache
import sysconfig
from pathlib import Path
from typing import NamedTuple

_OURS = str(Path(__file__).resolve().parents[1])
_METHODS = (f"{_OURS}/algorithms", f"{_OURS}/estimators")
_LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "platlib", "purelib"))


class Place(NamedTuple):
    """A line of code.

    Attributes
    ----------
    file, line
        Its file and its number.
    code
        The line itself, without its indentation; empty where the file cannot be read.
    """

    file: str
    line: int
    code: str


def place_of(error: BaseException) -> Place | None:
    """Return the line of a method that raised: the innermost one that is no library's.

    Of what is neither somebody's nor one of our methods, there is none.
    """
    lines = []
    trace = error.__traceback__
    while trace is not None:
        lines.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    theirs = [one for one in lines if not one[0].startswith((_OURS, *_LIBRARIES, "<frozen"))]
    methods = [one for one in lines if one[0].startswith(_METHODS)]
    for file, line in reversed(theirs or methods):
        return Place(file, line, linecache.getline(file, line).strip())
    return None


def meant(error: BaseException) -> str:
    """Return ``: did you mean 'NAME'?`` for an attribute that is not there; else empty."""
    if not isinstance(error, AttributeError) or not error.name:
        return ""
    known = [name for name in dir(error.obj) if not name.startswith("_")]
    near = difflib.get_close_matches(error.name, known, n=1, cutoff=0.6)
    return f": did you mean {near[0]!r}?" if near else ""
