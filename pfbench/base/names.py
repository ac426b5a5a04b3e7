"""Unknown names: one sentence that suggests the nearest known one."""

import difflib
from collections.abc import Iterable

from pfbench.base.errors import InputError


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
    return InputError(f"unknown {kind} {name!r}: choose one of {', '.join(names)}.")
