"""State yielded by an algorithm after each update, and declared output rules."""

from typing import Any, NamedTuple

from pfbench.base.errors import InputError
from pfbench.base.names import brief_repr

Point = Any
"""Dense array or factored iterate (see `pfbench.points`)."""

OUTPUT_RULES = ("last", "uniform", "weighted")
"""Declared outputs: the last iterate, or a random `at`, drawn uniformly or with weights p_k."""


class State(NamedTuple):
    """State of an algorithm after one update.

    Attributes
    ----------
    x
        The new iterate.
    at
        Point at which the gradient was estimated; None if there is no estimate.
    estimate
        Gradient estimate, in the format of the problem's gradients; callers must not change it.
    output
        Point that replaces the output of the declared rule; None to use that rule.
    coin
        Whether the coin of this estimate fell heads; None if no coin was flipped.
    """

    x: Point
    at: Point = None
    estimate: Any = None
    output: Point = None
    coin: bool | None = None


def describe_wrong_state(item: object) -> str:
    """Return the text of the error for a method that yields `item`, which is no state."""
    return f"the method yields a {type(item).__name__}, not a State: yield pf.State(x)"


def check_output_rule(value: object) -> str:
    """Return an output rule of an algorithm; raise if it is not in `OUTPUT_RULES`."""
    if not isinstance(value, str) or value not in OUTPUT_RULES:
        raise InputError(f"output={brief_repr(value)} must be one of {', '.join(OUTPUT_RULES)}.")
    return str(value)
