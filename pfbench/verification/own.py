"""Somebody's own algorithm in place of a claim's."""

from collections.abc import Sequence
from typing import Any

from pfbench.base.errors import InputError
from pfbench.runs.planning.user_code import load
from pfbench.theory.catalogue import claim


def algorithm_and_claims(reference: str, claims: Sequence[str]) -> tuple[Any, list[str]]:
    """Return the algorithm MODULE:NAME, and the claims that it is held to.

    They are the given ones, else those of its class attribute `claims`, else none.

    Raises
    ------
    InputError
        If it cannot be imported, is no algorithm, or a claim is unknown.
    """
    algorithm = load(reference)
    if not callable(getattr(algorithm, "run", None)):
        raise InputError(
            f"{reference} is no algorithm: it needs a method run(ask, x, rng) that yields states."
        )
    stated = claims or getattr(algorithm, "claims", ())
    if isinstance(stated, str):
        stated = (stated,)
    return algorithm, [claim(name).name for name in stated]
