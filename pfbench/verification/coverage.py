"""Largest sizes of the problems and runs that a verdict on a claim is based on."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import prod
from typing import Any

from pfbench.base.protocols import Problem

HORIZONS = "horizons"
"""Key of the tested horizons among the measured values of a verdict."""

_SIZES = ("n", "d", "T", "components")

_STEP, _ENTRY = 1e-4, 2e-9
"""Typical seconds of a step, and of one entry of a gradient, on one core."""


@dataclass
class CoveredSizes:
    """Largest sizes of the problems and runs in the check of a claim.

    Attributes
    ----------
    n, d
        Number of components, and of entries of a point.
    T
        Number of iterations.
    components
        Number of distinct components queried in one run, if they are counted.
    work
        Estimated seconds of all runs together, from their steps and calls.
    horizons
        The horizons that were tested, if there were several.
    has_other_direction
        Whether the method queries `lo` at something else than its yielded estimate.
    """

    n: int = 0
    d: int = 0
    T: int = 0
    components: int = 0
    work: float = 0.0
    horizons: tuple[int, ...] = ()
    has_other_direction: bool = False

    def add_run(self, problem: Problem, iterations: int, tally: Any) -> None:
        """Include a run of `iterations` steps on a problem, with its oracle calls in `tally`."""
        d = prod(getattr(problem.start(), "shape", ()))
        n = int(problem.n or 0)
        result = (n, int(d), iterations, tally.distinct_components)
        for name, number in zip(_SIZES, result, strict=True):
            setattr(self, name, max(getattr(self, name), number))
        measured = iterations * (_STEP + 2.0 * _ENTRY * n * d)
        self.work += measured + _ENTRY * d * sum(tally.charged)

    def reset(self, sizes: "CoveredSizes") -> None:
        """Set all sizes to those of another object, e.g. of a copy made earlier."""
        for field in fields(self):
            setattr(self, field.name, getattr(sizes, field.name))

    @property
    def as_measured(self) -> dict[str, Any]:
        """Sizes by name, as entries of a verdict's measured values; empty if no run was added."""
        if not self.T:
            return {}
        sizes = {f"largest {name}": float(getattr(self, name)) for name in _SIZES}
        group = {HORIZONS: list(self.horizons)} if self.horizons else {}
        return {name: number for name, number in sizes.items() if number > 0.0} | group


def sizes_in_words(measured: Mapping[str, Any], with_horizons: bool = False) -> str:
    """Return the largest tested sizes of a verdict as text, e.g. "T <= 3 200, n <= 64, d <= 3".

    With `with_horizons`, the text lists all tested horizons if there were several.
    """
    sizes = {name: measured.get(f"largest {name}") for name in ("T", "n", "d")}
    parts = [f"{name} <= {_format_thousands(size)}" for name, size in sizes.items() if size]
    group = measured.get(HORIZONS) if with_horizons else None
    if group and parts:
        parts[0] = f"T = {', '.join(map(_format_thousands, group))}"
    return ("; " if group else ", ").join(parts)


def _format_thousands(number: float) -> str:
    return f"{int(number):,}".replace(",", " ")
