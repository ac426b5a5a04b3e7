"""The sizes of the problems and runs on which a verdict rests."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import prod
from typing import Any

from pfbench.base.protocols import Problem

HORIZONS = "horizons"
"""The horizons that were tried, among what a verdict measured."""

_SIZES = ("n", "d", "T", "components")

_STEP, _ENTRY = 1e-4, 2e-9
"""Seconds of a step, and of an entry of a gradient, on a usual core."""


@dataclass
class CoveredSizes:
    """The largest sizes that the runs of a trial had.

    Attributes
    ----------
    n, d
        Components, and entries of a point.
    T
        Iterations.
    components
        Distinct components queried in one run, where they are counted.
    work
        The seconds that all runs together take by a count of their steps and calls.
    horizons
        The horizons that were tried, if several were.
    has_other_direction
        Whether `lo` is queried along something else than the estimate, where that is tested.
    """

    n: int = 0
    d: int = 0
    T: int = 0
    components: int = 0
    work: float = 0.0
    horizons: tuple[int, ...] = ()
    has_other_direction: bool = False

    def add(self, problem: Problem, iterations: int, witness: Any) -> None:
        """Add a run, which a witness has watched."""
        d = prod(getattr(problem.start(), "shape", ()))
        n = int(problem.n or 0)
        result = (n, int(d), iterations, witness.distinct_components)
        for name, number in zip(_SIZES, result, strict=True):
            setattr(self, name, max(getattr(self, name), number))
        measured = iterations * (_STEP + 2.0 * _ENTRY * n * d)
        self.work += measured + _ENTRY * d * sum(witness.charged)

    def reset(self, to: "CoveredSizes") -> None:
        """Restore the sizes of an earlier copy."""
        for field in fields(self):
            setattr(self, field.name, getattr(to, field.name))

    @property
    def as_measured(self) -> dict[str, Any]:
        """The sizes by name, as a verdict has them; empty without a run."""
        if not self.T:
            return {}
        sizes = {f"largest {name}": float(getattr(self, name)) for name in _SIZES}
        group = {HORIZONS: list(self.horizons)} if self.horizons else {}
        return {name: number for name, number in sizes.items() if number > 0.0} | group


def sizes_in_words(measured: Mapping[str, Any], horizons: bool = False) -> str:
    """Return the sizes that a verdict measured, as "T <= 3 200, n <= 64, d <= 3".

    With `horizons` every horizon that was tried is listed, where several were.
    """
    sizes = {name: measured.get(f"largest {name}") for name in ("T", "n", "d")}
    parts = [f"{name} <= {_format_thousands(size)}" for name, size in sizes.items() if size]
    group = measured.get(HORIZONS) if horizons else None
    if group and parts:
        parts[0] = f"T = {', '.join(map(_format_thousands, group))}"
    return ("; " if group else ", ").join(parts)


def _format_thousands(number: float) -> str:
    return f"{int(number):,}".replace(",", " ")
