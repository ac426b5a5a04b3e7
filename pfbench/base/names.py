"""Unknown names: one sentence that suggests the nearest known one."""

import difflib
from collections.abc import Iterable

from pfbench.base.errors import InputError

_MOST_LISTED = 40
"""Up to so many names are listed in an error; of more, the first ten."""


def unknown(kind: str, name: str, known: Iterable[str]) -> InputError:
    """Return the error for an unknown `name`, with the nearest of the `known` ones.

    Parameters
    ----------
    kind
        What the name should have named, e.g. ``"algorithm"``.
    name
        What was given.
    known
        The names that exist.
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if near:
        return InputError(f"unknown {kind} {name!r}: did you mean {near[0]!r}?")
    if not names:
        return InputError(f"unknown {kind} {name!r}: it takes none.")
    listed = names if len(names) <= _MOST_LISTED else [*names[:10], f"{len(names) - 10} others"]
    return InputError(f"unknown {kind} {name!r}: choose one of {', '.join(listed)}.")
