"""Guarantees: the bounds that a theorem gives for its parameter schedule."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pfbench.base.constants import Constants

WHERE: Mapping[str, str] = MappingProxyType(
    {
        "least": "for the best iterate of every run; the output may exceed it",
        "output": "in expectation at the output, over all runs; a single run may exceed it",
        "last": "for the last iterate of every run",
        "mean": "in expectation at the last iterate; a single run may exceed it",
    }
)
"""Points for which a guarantee holds, and whether it holds for every run."""


Bound = Callable[[float, Constants], float]
"""Value of a bound, for an accuracy and the constants of a problem."""


def epsilon_bound(epsilon: float, constants: Constants) -> float:
    """Return epsilon: the bound is the accuracy itself; `constants` are ignored."""
    return epsilon


@dataclass(frozen=True)
class Guarantee:
    """Guarantee of a theorem: a bound on a criterion after a run with the theorem's schedule.

    Attributes
    ----------
    criterion
        The bounded quantity, in the notation of the method's source.
    bound_text
        The bound as a formula.
    location
        The points for which the bound holds, a key of `WHERE`.
    measure
        Name of the measure of which the criterion is a power. "excess" is f + h minus its minimum.
    power
        Exponent: the criterion is the measure to this power.
    bound
        Function that returns the bound for an accuracy and the constants of a problem. By default,
        the bound is the accuracy.
    """

    criterion: str
    bound_text: str
    location: str
    measure: str
    power: float = 1.0
    bound: Bound = epsilon_bound

    @property
    def description(self) -> str:
        """Guarantee as one line of text: criterion, bound, and for which iterate it holds."""
        return f"{self.criterion} <= {self.bound_text}: {WHERE[self.location]}"


def mapping_square_guarantee(
    lam: str, location: str = "output", *, is_squared: bool = False
) -> Guarantee:
    """Return a guarantee that bounds the squared norm of the gradient mapping.

    The bound is epsilon or, with `is_squared`, epsilon^2.
    """
    return _make_squared_guarantee(f"|G|^2 at lambda = {lam}", location, is_squared)


def gradient_square_guarantee(location: str = "output", *, is_squared: bool = False) -> Guarantee:
    """Return a guarantee that bounds the squared norm of the gradient, as for the mapping."""
    return _make_squared_guarantee("|grad f|^2", location, is_squared)


def _make_squared_guarantee(subject: str, location: str, is_squared: bool) -> Guarantee:
    criterion = f"E {subject}" if location == "output" else f"min over k of {subject}"
    bounded = criterion, "epsilon^2" if is_squared else "epsilon", location, "gradient_mapping_sq"
    return Guarantee(*bounded, bound=lambda epsilon, _: epsilon**2 if is_squared else epsilon)
