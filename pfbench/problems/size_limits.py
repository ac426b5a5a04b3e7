"""Limits on the size of an instance."""

import math

from pfbench.base.errors import InputError

MOST_ENTRIES = 10**8
"""Maximum number of entries of a point, or of a matrix that a problem draws: 800 MB."""


def check_length(subject: str, entries: int) -> None:
    """Raise for an array of more than `MOST_ENTRIES` entries."""
    if entries > MOST_ENTRIES:
        raise InputError(
            f"{subject} would have {entries:,} entries, more than {MOST_ENTRIES:,}: choose smaller "
            "numbers."
        )


def format_rounded_down(number: float) -> str:
    """Return a positive number as text with four digits, rounded down."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 3)
    return f"{math.floor(number / unit) * unit:.4g}"
