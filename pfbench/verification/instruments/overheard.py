"""A listener between the ledger and what answers: which component gradients were asked, and where.

A `Witness` counts what is asked; this one keeps it, for an estimate to be computed again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats, Integers
from pfbench.base.sample import Sample
from pfbench.verification.instruments.changed import Changed

_KEPT = 8
"""Points whose full gradient and Hessians are kept: the newest, a snapshot, and a few between."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One call on component gradients.

    Attributes
    ----------
    indices
        The components, as often as they were drawn, in their order.
    points
        Where: one point, two of a difference; copied.
    """

    indices: Integers
    points: tuple[Floats, ...]


class _Heard(Changed):
    """What answers, and tells which means over samples it was asked for, before it answers."""

    def __init__(self, right: Any, tell: Callable[..., None]) -> None:
        super().__init__(right)
        self._tell = tell

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if name not in ("batch", "difference", "replace"):
            return found

        def heard(sample: Any, *points: Floats) -> Any:
            self._tell(sample, *points)
            return found(sample, *points)

        return heard


class Overheard(_Heard):
    """A problem that keeps what is asked of its components, and computes nothing twice.

    Attributes
    ----------
    asked
        The calls since `begin`, in order. Those of a table have the one point that they name.
    filled
        Whether a table was filled since then.
    """

    def __init__(self, right: Any) -> None:
        super().__init__(right, self._note)
        self._gradients: dict[bytes, Any] = {}
        self._hessians: dict[bytes, Any] = {}
        self.begin()

    def begin(self) -> tuple[tuple[Asked, ...], bool]:
        """Forget what was asked, and return it, and whether a table was filled."""
        found = tuple(getattr(self, "asked", ())), getattr(self, "filled", False)
        self.asked: list[Asked] = []
        self.filled = False
        return found

    def open(self, rng: np.random.Generator) -> Any:
        """Return itself."""
        return self

    def gradient(self, x: Floats) -> Any:
        """Return the full gradient."""
        return _remembered(self._gradients, x, self._right.gradient)

    def hessian(self, s: Floats) -> Any:
        """Return the component Hessians; their products need no listening."""
        return _remembered(self._hessians, s, self._right.hessian)

    def table(self, x: Floats) -> Any:
        """Return a table whose calls are noted."""
        self.filled = True
        return _Heard(self._right.table(x), self._note)

    def _note(self, sample: Any, *points: Floats) -> None:
        counts = isinstance(sample, Sample)
        drawn = np.repeat(sample.indices, sample.counts) if counts else np.array(sample)
        self.asked.append(Asked(drawn, tuple(np.array(x) for x in points)))


def _remembered(kept: dict[bytes, Any], x: Floats, compute: Any) -> Any:
    """Return what is computed of a point, from what is kept if it is there."""
    key = np.asarray(x).tobytes()
    found = kept.pop(key) if key in kept else compute(x)
    kept[key] = found
    if len(kept) > _KEPT:
        del kept[next(iter(kept))]
    return found.copy() if isinstance(found, np.ndarray) else found
