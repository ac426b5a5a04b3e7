"""The sizes of the problems and runs on which a verdict rests."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import prod
from typing import Any

from pfbench.base.protocols import Problem

HORIZONS = "horizons"
"""The horizons that were tried, among what a verdict measured."""


@dataclass
class Seen:
    """The largest sizes that the runs of a trial had.

    Attributes
    ----------
    n, d
        Components, and entries of a point.
    T
        Iterations.
    components
        Distinct components that were asked in one run, where they are told apart.
    """

    n: int = 0
    d: int = 0
    T: int = 0
    components: int = 0

    def add(self, problem: Problem, iterations: int, witness: Any) -> None:
        """Add a run, which a witness has watched."""
        d = prod(getattr(problem.start(), "shape", ()))
        found = (int(problem.n), int(d), iterations, witness.components)
        for one, number in zip(fields(self), found, strict=True):
            setattr(self, one.name, max(getattr(self, one.name), number))

    @property
    def measured(self) -> dict[str, float]:
        """The sizes by name, as a verdict has them; empty without a run."""
        told = {f"largest {one.name}": float(getattr(self, one.name)) for one in fields(self)}
        return {name: number for name, number in told.items() if number > 0.0} if self.T else {}


def sizes_in_words(measured: Mapping[str, Any], horizons: bool = False) -> str:
    """Return the sizes that a verdict measured, as "T <= 3 200, n <= 64, d <= 3".

    With `horizons` every horizon that was tried is listed, where several were.
    """
    sizes = {name: measured.get(f"largest {name}") for name in ("T", "n", "d")}
    parts = [f"{name} <= {_grouped(size)}" for name, size in sizes.items() if size]
    several = measured.get(HORIZONS) if horizons else None
    if several and parts:
        parts[0] = f"T = {', '.join(map(_grouped, several))}"
    return ("; " if several else ", ").join(parts)


def _grouped(number: float) -> str:
    return f"{int(number):,}".replace(",", " ")
