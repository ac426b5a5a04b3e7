"""Exceptions; each message is one sentence with the cause and the remedy."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from pfbench.base.failures import brief_error_text

_MOST_MISTAKES = 20
"""Maximum number of errors in one message."""


class PfbenchError(Exception):
    """Base class of all errors that pfbench raises."""


class InputError(PfbenchError, ValueError):
    """Invalid parameter, name, selector or file from the user; raised before any work."""


class FailedBeforeFirstQuery(InputError):
    """Error of a method that raised before its first oracle call; chained to the cause."""


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
    """Data set that is missing, damaged, truncated or not the expected one."""


class RefusedError(PfbenchError):
    """Algorithm whose requirements or assumptions the problem does not meet."""


class NoComponentsError(RefusedError, AttributeError):
    """The n of a sampler, which has no components."""


class StorageError(PfbenchError):
    """Store, report folder or output file that cannot be read or written."""


class StalePoint(PfbenchError):
    """Access to a point after its sequence moved on by more than one step without `keep`."""


class DivergedError(PfbenchError, FloatingPointError):
    """Non-finite number where a finite one is needed: the run has diverged."""


class WorkerDied(PfbenchError):
    """Worker process that was killed from outside, or cannot execute a run."""


class ErrorCollector:
    """Collector of input errors, to report all of them at once."""

    def __init__(self) -> None:
        self._errors: dict[str, None] = {}

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Record the input errors of a block, and continue after it."""
        try:
            yield
        except InputErrors as error:
            self._errors |= dict.fromkeys(error.messages)
        except InputError as error:
            self._errors[str(error)] = None

    def __len__(self) -> int:
        return len(self._errors)

    def raise_collected(self) -> None:
        """Raise the recorded errors, if any.

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
    """Return the text of an error, preceded by its type if it is not pfbench's."""
    if isinstance(error, PfbenchError):
        return brief_error_text(error)
    return f"{type(error).__name__}: {brief_error_text(error)}"


def format_error_with_notes(error: BaseException) -> str:
    """Return the type and the text of an error, with its notes."""
    return ", ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])


class BudgetExhausted(BaseException):
    """Raised by the oracles before a call that would exceed the budget.

    It derives from `BaseException`, so that an algorithm's own ``except Exception`` does not
    swallow it.
    """


class TimeLimitReached(BaseException):
    """Raised by the oracles at the first call after the run's time limit."""
