"""How large an instance may be, and what to advise where it would be too large."""

import math

from pfbench.base.errors import InputError

MOST_ENTRIES = 10**8
"""Most entries of a point, or of a matrix that a problem draws: 800 MB."""


def check_length(subject: str, entries: int) -> None:
    """Refuse an array of more than `MOST_ENTRIES` entries."""
    if entries > MOST_ENTRIES:
        raise InputError(
            f"{subject} would have {entries:,} entries, more than {MOST_ENTRIES:,}: choose numbers "
            "that make it smaller."
        )


def format_rounded_down(number: float) -> str:
    """Return a positive number in words, with four digits and not above it."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 3)
    return f"{math.floor(number / unit) * unit:.4g}"
