"""How large the problems and runs were on which a verdict rests: what was not looked at is said."""

from dataclasses import dataclass, fields
from math import prod
from typing import Any

from pfbench.base.protocols import Problem


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

    @property
    def words(self) -> str:
        """The sizes in a sentence; empty without a run."""
        if not self.T:
            return ""
        n, d, T = (f"{number:,}".replace(",", " ") for number in (self.n, self.d, self.T))
        return f"Seen on n <= {n}, d <= {d}, T <= {T}."
