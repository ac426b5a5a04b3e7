"""Source locations of errors in user code, and suggestions for misspelled names."""

import difflib
import linecache
import os
import sysconfig
from pathlib import Path
from typing import NamedTuple

LONGEST = 500
"""Maximum number of characters of an error's text in a reason."""

_OURS = str(Path(__file__).resolve().parents[1])
_METHODS = (f"{_OURS}/algorithms", f"{_OURS}/estimators")
_LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "platlib", "purelib"))


class SourceLocation(NamedTuple):
    """Line of code.

    Attributes
    ----------
    file, line
        File and line number.
    code
        The line itself, without its indentation; empty where the file cannot be read.
    """

    file: str
    line: int
    code: str

    def __str__(self) -> str:
        """Return FILE:LINE with the code of the line; FILE is relative to the current folder."""
        inside = self.file.startswith(os.getcwd() + os.sep)
        file = os.path.relpath(self.file) if inside else self.file
        return f"{file}:{self.line}" + (f": {self.code}" if self.code else "")


def locate_error(error: BaseException) -> SourceLocation | None:
    """Return the innermost line outside libraries that led to an error of a method.

    Return None if the traceback has neither user code nor a built-in method.
    """
    lines = []
    trace = error.__traceback__
    while trace is not None:
        lines.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    reference = [line for line in lines if not line[0].startswith((_OURS, *_LIBRARIES, "<frozen"))]
    methods = [line for line in lines if line[0].startswith(_METHODS)]
    for file, line in reversed(reference or methods):
        return SourceLocation(file, line, linecache.getline(file, line).strip())
    return None


def is_raised_within(error: BaseException, subpackage: str) -> bool:
    """Return whether an error was raised by, or below, the code of a subpackage."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith(f"{_OURS}/{subpackage}/"):
            return True
        trace = trace.tb_next
    return False


def brief_error_text(error: BaseException) -> str:
    """Return the text of an error: at most `LONGEST` characters, all encodable."""
    try:
        text = f"{error}{suggest_attribute(error)}"
    except (Exception, SystemExit) as another:  # of its own __str__
        text = f"no text, as str(error) raises {type(another).__name__}"
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]} ... ({len(text):,} characters)"
    return text.encode("utf-8", "backslashreplace").decode()


def _text_or_error_text(text: object) -> str:
    return brief_error_text(text) if isinstance(text, BaseException) else str(text)


def end_sentence(text: object) -> str:
    """Return a text that ends with one punctuation mark: a full stop, unless it has another."""
    words = _text_or_error_text(text).rstrip(". ")
    return words if words.endswith(("?", "!")) else f"{words}."


def add_location(text: object, location: SourceLocation | None, then: str = "") -> str:
    """Return a text as a sentence, followed by the line of code in brackets and by `then`."""
    if location is None and not then:
        return end_sentence(text)
    other_location = "" if location is None else f" ({location})"
    return end_sentence(f"{_text_or_error_text(text).rstrip('.? ')}{other_location}{then}")


def suggest_attribute(error: BaseException) -> str:
    """Return ``: did you mean 'NAME'?`` for an unknown attribute, else an empty string."""
    if not isinstance(error, AttributeError) or not error.name:
        return ""
    existing = [name for name in dir(error.obj) if not name.startswith("_")]
    near = difflib.get_close_matches(error.name, existing, n=1, cutoff=0.6)
    return f": did you mean {near[0]!r}?" if near else ""
