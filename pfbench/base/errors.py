"""What can go wrong, as types: each message is one sentence with the culprit and the remedy."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from pfbench.base.failures import brief_error_text

_MOST_MISTAKES = 20
"""So many are told at once."""


class PfbenchError(Exception):
    """Anything pfbench refuses or cannot do."""


class InputError(PfbenchError, ValueError):
    """A bad parameter, name, selector or file given by the user; raised before any work."""


class FailedBeforeFirstQuery(InputError):
    """A method that raised before it queried an oracle; its cause is what it raised."""


class InputErrors(InputError):
    """Several mistakes at once, e.g. all of a file.

    Attributes
    ----------
    messages
        A sentence for each.
    """

    def __init__(self, each: Iterable[str]) -> None:
        self.messages = tuple(each)
        super().__init__(" ".join(self.messages))


class DataError(PfbenchError):
    """A data set that is missing, damaged, truncated or not the one it claims to be."""


class RefusedError(PfbenchError):
    """An algorithm whose requirements or assumptions the problem does not meet."""


class StorageError(PfbenchError):
    """A store, report folder or output file that cannot be read or written."""


class StalePoint(PfbenchError):
    """A point was read after its sequence moved on by more than one step without `keep`."""


class DivergedError(PfbenchError, FloatingPointError):
    """A number that must be finite is not: the run has diverged."""


class WorkerDied(PfbenchError):
    """A process that makes runs was killed from outside, or is not fit to make one."""


class ErrorCollector:
    """Notes what is refused in its blocks, so that all of it is told at once."""

    def __init__(self) -> None:
        self._errors: dict[str, None] = {}

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Note what a block refuses, and go on behind it."""
        try:
            yield
        except InputErrors as error:
            self._errors |= dict.fromkeys(error.messages)
        except InputError as error:
            self._errors[str(error)] = None

    def __len__(self) -> int:
        return len(self._errors)

    def raise_collected(self) -> None:
        """Refuse what was noted, if anything was.

        Raises
        ------
        InputError
            With the only sentence.
        InputErrors
            With all sentences; of very many, the first.
        """
        noted = list(self._errors)
        if len(noted) == 1:
            raise InputError(noted[0])
        if len(noted) > _MOST_MISTAKES:
            left_out = len(noted) - _MOST_MISTAKES
            noted = [*noted[:_MOST_MISTAKES], f"There are {left_out:,} more mistakes like these."]
        if noted:
            raise InputErrors(noted)


def format_error(error: BaseException) -> str:
    """Return the text of an error, after its type if it is none of pfbench's."""
    if isinstance(error, PfbenchError):
        return brief_error_text(error)
    return f"{type(error).__name__}: {brief_error_text(error)}"


def format_error_with_notes(error: BaseException) -> str:
    """Return the type and the text of an error, and the notes added to it."""
    return ", ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])


class BudgetExhausted(BaseException):
    """Raised by the oracles before a call that would exceed the budget.

    It derives from `BaseException`, so that an algorithm's own ``except Exception`` does not
    swallow it.
    """


class TimeLimitReached(BaseException):
    """Raised by the oracles at the first call after the run's time limit."""
