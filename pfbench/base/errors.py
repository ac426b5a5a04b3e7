"""What can go wrong, as types: each message is one sentence with the culprit and the remedy."""


class PfbenchError(Exception):
    """Anything pfbench refuses or cannot do."""


class InputError(PfbenchError, ValueError):
    """A bad parameter, name, selector or file given by the user; raised before any work."""


class DataError(PfbenchError):
    """A data set that is missing, damaged, truncated or not the one it claims to be."""


class Refused(PfbenchError):
    """An algorithm whose requirements or assumptions the problem does not meet."""


class StorageError(PfbenchError):
    """A store, report folder or output file that cannot be read or written."""


class StalePoint(PfbenchError):
    """A point was read after its sequence moved on by more than one step without `keep`."""


class Diverged(PfbenchError, FloatingPointError):
    """A number that must be finite is not: the run has diverged."""


class WorkerDied(PfbenchError):
    """A process that makes runs was killed from outside, or is not fit to make one."""


def in_words(error: BaseException) -> str:
    """Return what an error says, after its type if it is none of pfbench's."""
    return str(error) if isinstance(error, PfbenchError) else f"{type(error).__name__}: {error}"


class BudgetExhausted(BaseException):
    """Raised by the oracles before a call that would exceed the budget.

    It derives from `BaseException`, so that an algorithm's own ``except Exception`` does not
    swallow it.
    """


class TimeLimitReached(BaseException):
    """Raised by the oracles at the first call after the run's time limit."""
