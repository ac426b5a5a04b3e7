"""Exceptions, whose message is one sentence with cause and remedy; source locations of errors."""

import difflib
import linecache
import os
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_MOST_MISTAKES = 20
"""Maximum number of errors in one message."""


class PfbenchError(Exception):
    """Base class of all errors that pfbench raises."""


class InputError(PfbenchError, ValueError):
    """Error for an invalid parameter, name, selector or file, raised before any work."""


class FailedBeforeFirstQuery(InputError):
    """Error for a method that failed before its first oracle call; `__cause__` is its exception."""


class UndeclaredOracleError(InputError):
    """Error for a query of an oracle that the method's `requires` does not name."""


class InputErrors(InputError):
    """Several input errors at once, e.g. all errors of a file.

    Attributes
    ----------
    messages
        One sentence for each error.
    """

    def __init__(self, each: Iterable[str]) -> None:
        self.messages = tuple(each)
        super().__init__(" ".join(self.messages))


class DataError(PfbenchError):
    """Error for a data set that is missing, damaged or truncated, or has unexpected content."""


class RefusedError(PfbenchError):
    """Error for an algorithm whose requirements or assumptions the problem does not meet."""


class NoComponentsError(RefusedError, AttributeError):
    """Error for access to the number of components n of a sampler, which has no components."""


class StorageError(PfbenchError):
    """Error for a store, report folder or output file that cannot be read or written."""


class StalePoint(PfbenchError):
    """Error for access to an old iterate whose memory later steps have overwritten.

    The point before the newest one can still be read. A copy by `keep` stays accessible.
    """


class DivergedError(PfbenchError, FloatingPointError):
    """Error for a non-finite number where a finite one is needed: the run has diverged."""


class WorkerDied(PfbenchError):
    """Error for a worker process that was killed from outside, or cannot execute a run."""


class ErrorCollector:
    """Collector of input errors, to report all of them at once."""

    def __init__(self) -> None:
        self._errors: dict[str, None] = {}

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Collect the input errors that the ``with`` block raises, and continue after the block."""
        try:
            yield
        except InputErrors as error:
            self._errors |= dict.fromkeys(error.messages)
        except InputError as error:
            self._errors[str(error)] = None

    def __len__(self) -> int:
        return len(self._errors)

    def raise_collected(self) -> None:
        """Raise the collected errors, if there are any.

        Raises
        ------
        InputError
            If there is one error.
        InputErrors
            If there are several errors; the message has at most `_MOST_MISTAKES` of them.
        """
        noted = list(self._errors)
        if len(noted) == 1:
            raise InputError(noted[0])
        if len(noted) > _MOST_MISTAKES:
            left_out = len(noted) - _MOST_MISTAKES
            noted = [*noted[:_MOST_MISTAKES], f"{left_out:,} more errors of this kind."]
        if noted:
            raise InputErrors(noted)


def format_error(error: BaseException) -> str:
    """Return the text of an error, preceded by its type unless pfbench defines the type."""
    if isinstance(error, PfbenchError) or type(error).__module__.startswith("pfbench."):
        return brief_error_text(error)
    return f"{type(error).__name__}: {brief_error_text(error)}"


def format_error_with_notes(error: BaseException) -> str:
    """Return the type and the text of an error, followed by its notes."""
    return ", ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])


class BudgetExhausted(BaseException):
    """Raised by the oracles before a call that would exceed the budget.

    The class derives from `BaseException`, so that an ``except Exception`` in an algorithm does not
    swallow it.
    """


class TimeLimitReached(BaseException):
    """Raised by the oracles at the first call after the run's time limit."""


LONGEST = 500
"""Maximum number of characters of an error's text when another message quotes it."""

_OURS = str(Path(__file__).resolve().parents[1])
_METHODS = (f"{_OURS}/algorithms", f"{_OURS}/estimators")
_LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "platlib", "purelib"))


class SourceLocation(NamedTuple):
    """Location of a line of source code.

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
    """Return the location of the innermost line, outside of libraries, that raised an error.

    Return None if the traceback has neither user code nor a built-in method.
    """
    lines = []
    trace = error.__traceback__
    while trace is not None:
        lines.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    not_users = (os.path.join(_OURS, ""), *_LIBRARIES, "<frozen", "<string>")
    reference = [line for line in lines if not line[0].startswith(not_users)]
    methods = [line for line in lines if line[0].startswith(_METHODS)]
    for file, line in reversed(reference or methods):
        return SourceLocation(file, line, linecache.getline(file, line).strip())
    return None


def is_raised_within(error: BaseException, subpackage: str) -> bool:
    """Return whether an error was raised by code of a subpackage, or by code that it called."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith(f"{_OURS}/{subpackage}/"):
            return True
        trace = trace.tb_next
    return False


def brief_error_text(error: BaseException) -> str:
    """Return the text of an error: at most `LONGEST` characters, unencodable ones escaped."""
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
    """Return a text that ends with a punctuation mark: its own one, or else a full stop."""
    words = _text_or_error_text(text).rstrip(". ")
    return words if words.endswith(("?", "!")) else f"{words}."


def add_location(text: object, location: SourceLocation | None, then: str = "") -> str:
    """Return a text as a sentence, with a source location in brackets and the text `then` added."""
    if location is None and not then:
        return end_sentence(text)
    other_location = "" if location is None else f" ({location})"
    return end_sentence(f"{_text_or_error_text(text).rstrip('.? ')}{other_location}{then}")


def suggest_attribute(error: BaseException) -> str:
    """Return ``: did you mean 'NAME'?`` for an unknown attribute; "" if there is a question."""
    if not isinstance(error, AttributeError) or not error.name or str(error).endswith("?"):
        return ""
    existing = [name for name in dir(error.obj) if not name.startswith("_")]
    near = difflib.get_close_matches(error.name, existing, n=1, cutoff=0.6)
    return f": did you mean {near[0]!r}?" if near else ""
