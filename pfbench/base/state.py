"""What an algorithm yields after each update, and how its output is declared."""

from typing import Any, NamedTuple

from pfbench.base.errors import InputError
from pfbench.base.names import brief_repr

Point = Any
"""A dense array or a factored iterate (see `pfbench.points`)."""

OUTPUT_RULES = ("last", "uniform", "weighted")
"""Declared outputs: the last iterate, or one drawn among the points `at`, uniformly or with the
algorithm's own weights p_k."""


class State(NamedTuple):
    """One update of an algorithm.

    Attributes
    ----------
    x
        The new iterate.
    at
        The point where the gradient estimate was formed (None if there is none).
    estimate
        The gradient estimate itself, in the problem's own order; it must not be changed.
    output
        A point that overrides the declared output (None if the declared one holds).
    coin
        Whether the coin that was flipped for this estimate fell heads (None if none was).
    """

    x: Point
    at: Point = None
    estimate: Any = None
    output: Point = None
    coin: bool | None = None


def check_output_rule(value: object) -> str:
    """Return a declared output, refused if it is not one of `OUTPUT_RULES`."""
    if not isinstance(value, str) or value not in OUTPUT_RULES:
        raise InputError(f"output={brief_repr(value)} must be one of {', '.join(OUTPUT_RULES)}.")
    return str(value)
