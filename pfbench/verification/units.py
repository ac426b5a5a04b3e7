"""Units: what becomes of a number when f and x are measured in other ones.

Under f -> lambda f and x -> mu x a number of the unit (a, b) is lambda^a mu^b times what it was: a
smoothness (1, -2), a diameter (0, 1), a squared gradient (2, -2), a count (0, 0). A bound scales
like what it bounds, or a factor of it was lost.
"""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from pfbench.base.constants import Constants
from pfbench.base.counts import COUNTED
from pfbench.base.errors import InputError

Unit = tuple[float, float]
"""Powers of the units of f and of x."""

NUMBER: Unit = (0, 0)
LENGTH: Unit = (0, 1)
VALUE: Unit = (1, 0)
GRADIENT: Unit = (1, -1)
SQUARE: Unit = (2, -2)
CURVATURE: Unit = (1, -2)
STEP: Unit = (-1, 2)
"""Of a step along the gradient; that of Frank-Wolfe is a number, a normalised one a length."""

CONSTANTS: Mapping[str, Unit] = MappingProxyType(
    {
        **dict.fromkeys(("L", "L_f", "L_ms", "L_max", "L_mean", "L_norm"), CURVATURE),
        **dict.fromkeys(("ell", "sigma_hat"), CURVATURE),
        **dict.fromkeys(("L2", "L2_ms"), (1, -3)),
        **dict.fromkeys(("D", "M", "rho"), LENGTH),
        **dict.fromkeys(("delta", "delta0", "Delta", "h0", "C"), VALUE),
        "sigma2": SQUARE,
        **dict.fromkeys(("n", "zeta", "omega"), NUMBER),
    }
)
"""The units of constants, by the names of `Constants` and of formulas; C is a curvature C_f."""

QUANTITIES: Mapping[str, Unit] = MappingProxyType(
    {
        **dict.fromkeys(("objective", "value", "fw_gap", "fw_gap_lower", "suboptimality"), VALUE),
        "gradient_mapping_sq": SQUARE,
        "estimator_error": SQUARE,
        "coin": NUMBER,
        "gradient_mapping_lambda": STEP,
        **dict.fromkeys(COUNTED, NUMBER),
    }
)
"""The units of what is measured."""

_WHOLE = frozenset({*"nNKTtkijpqbmSE"})
"""Names of whole numbers in formulas."""

_DRAWS, _ROUNDING = 8, 1e-9


@dataclass(frozen=True)
class Scaling:
    """Other units: f is measured as `f` times what it was, and x as `x` times.

    Both are powers of two, so that most numbers are scaled without rounding.
    """

    f: float = 1.0
    x: float = 1.0

    def of(self, unit: Unit) -> float:
        """Return by what a number of a unit is multiplied."""
        return float(self.f ** unit[0] * self.x ** unit[1])

    def constants(self, known: Constants) -> Constants:
        """Return the constants of lambda f(x/mu)."""
        changed = {
            name: getattr(known, name) * self.of(unit)
            for name, unit in CONSTANTS.items()
            if name not in ("n", "L") and hasattr(known, name)
        }
        return replace(known, **changed)

    def __str__(self) -> str:
        parts = {"f": math.log2(self.f), "x": math.log2(self.x)}
        return " and ".join(f"{name} by 2^{power:g}" for name, power in parts.items() if power)


ONE = Scaling()

SCALINGS = (
    *(Scaling(f=2.0**k) for k in (4, -4)),
    *(Scaling(x=2.0**k) for k in (4, -4)),
    Scaling(2.0**3, 2.0**-2),
)
"""f alone, x alone, then both."""


@dataclass(frozen=True)
class Departure:
    """Other units in which a number is not what it should be.

    Attributes
    ----------
    of
        What the number is.
    scaling
        The other units.
    expected, found
        By what it should be multiplied, and by what it is.
    """

    of: str
    scaling: Scaling
    expected: float
    found: float

    def __str__(self) -> str:
        return f"{self.scaling}: {self.of} is {self.found:.3g} times, not {self.expected:.3g}"


def departure(of: str, at: Callable[[Scaling], Any], unit: Unit | None) -> Departure | None:
    """Return the first scaling under which a number does not keep its unit; None if it does.

    Parameters
    ----------
    of
        What the number is.
    at
        Returns it, or an array, made of numbers that are all scaled.
    unit
        Its unit; None for any.
    """
    base, unit = np.asarray(at(ONE), dtype=float), unit or unit_of(at)
    size = float(np.abs(base).max(initial=0.0))
    for scaling in SCALINGS:
        expected = scaling.of(unit)
        found = np.asarray(at(scaling), dtype=float)
        off = float(np.abs(found - expected * base).max(initial=0.0))
        if not off <= _ROUNDING * expected * size:
            by = float(np.abs(found).max(initial=0.0)) / size if size else math.inf
            return Departure(of, scaling, expected, by)
    return None


def unit_of(at: Callable[[Scaling], Any]) -> Unit:
    """Return the unit that a number seems to have, in sixths, by its changes with f and with x."""
    base = float(np.abs(at(ONE)).max())
    powers = [
        math.log2(max(float(np.abs(at(by)).max()), 1e-300) / base) / 4.0 if base else 0.0
        for by in (SCALINGS[0], SCALINGS[2])
    ]
    f, x = (round(6.0 * power) / 6.0 for power in powers)
    return f, x


def said(unit: Unit) -> str:
    """Return a unit in words, e.g. "f^2 x^-2"."""
    parts = [
        name if power == 1 else f"{name}^{power:.3g}"
        for name, power in zip("fx", unit, strict=True)
        if power
    ]
    return " ".join(parts) or "a number"


@dataclass(frozen=True, eq=False)
class Formula:
    """A formula that a claim or an erratum rests on, with its unit; see `formula`."""

    of: Callable[..., Any]
    unit: Unit
    given: Mapping[str, Any] = field(default_factory=dict)
    units: Mapping[str, Unit] = field(default_factory=dict)

    def departure(self) -> Departure | None:
        """Return how it departs from its unit, at random numbers; None if it does not."""
        found = (departure(self.name, at, self.unit) for at in self._drawn())
        return next((one for one in found if one), None)

    @property
    def name(self) -> str:
        """The name of the function, or a product itself."""
        of = getattr(self.of, "func", self.of)
        return str(of) if isinstance(of, Product) else str(of.__name__).strip("_")

    def _drawn(self) -> Iterator[Callable[[Scaling], Any]]:
        known = {**CONSTANTS, **dict.fromkeys(_WHOLE, NUMBER), **self.units}
        every = getattr(self.of, "powers", None) or inspect.signature(self.of).parameters
        names = [name for name in every if name not in self.given]
        for name in names:
            if name not in known:
                raise InputError(f"{self.name}: state the unit of {name}.")
        for draw in range(_DRAWS):
            rng = np.random.default_rng(draw)
            base = {
                name: int(rng.integers(2, 9)) if name in _WHOLE else float(np.exp(rng.normal()))
                for name in names
            }

            def at(by: Scaling, base: Mapping[str, Any] = base) -> Any:
                scaled = {
                    name: value if name in _WHOLE else value * by.of(known[name])
                    for name, value in base.items()
                }
                return self.of(**scaled, **self.given)

            yield at


def formula(
    of: Callable[..., Any], unit: Unit, given: Mapping[str, Any] | None = None, **units: Unit
) -> Formula:
    """Return a formula with its unit.

    Parameters
    ----------
    of
        A function that can be imported.
    unit
        The unit of what it is the bound of.
    given
        Arguments that are fixed.
    units
        Those of arguments whose names are not in `CONSTANTS`, nor those of whole numbers.
    """
    return Formula(of, unit, dict(given or {}), dict(units))


@dataclass(frozen=True)
class Product:
    """A number times powers of others, by name; the number has no unit, and is left out."""

    powers: Mapping[str, float]

    def __call__(self, **numbers: float) -> float:
        """Return the product."""
        return float(math.prod(numbers[name] ** power for name, power in self.powers.items()))

    def __str__(self) -> str:
        powers = self.powers.items()
        return " ".join(name if power == 1 else f"{name}^{power:g}" for name, power in powers)


def product(unit: Unit, powers: Mapping[str, float], **units: Unit) -> Formula:
    """Return a product of powers with the unit that it should have; see `formula`."""
    return formula(Product(dict(powers)), unit, None, **units)


def rescaled(known: Any, by: Scaling, units: Mapping[str, Unit]) -> Any:
    """Return what a claim takes for constants in other units.

    A number has the unit ``units["constants"]``; of an object each number has that of its name.

    Raises
    ------
    InputError
        If a unit is not known.
    """
    if isinstance(known, Constants):
        return by.constants(known)
    if isinstance(known, int | float):
        return known * by.of(_known("constants", units))
    parts = _parts(known)
    if parts is None:
        raise InputError(f"the units of a {type(known).__name__} are not known")
    scaled = {
        name: value * by.of(_known(name, {**CONSTANTS, **units})) if is_real(value) else value
        for name, value in parts.items()
    }
    if isinstance(known, dict):
        return scaled
    return replace(known, **scaled) if is_dataclass(known) else type(known)(**scaled)  # type: ignore[type-var]


def _parts(known: Any) -> Mapping[str, Any] | None:
    """Return the numbers of an object by name; None if they cannot be told."""
    if isinstance(known, dict):
        return known
    if hasattr(known, "_asdict"):
        return dict(known._asdict())
    return dict(vars(known)) if hasattr(known, "__dict__") else None


def _known(name: str, units: Mapping[str, Unit]) -> Unit:
    if name not in units:
        raise InputError(f"the unit of {name} is not known: state units={{{name!r}: (a, b)}}")
    return units[name]


def is_real(value: Any) -> bool:
    """Return whether a value is a number that has units: no whole number, and no truth value."""
    return isinstance(value, float | np.floating) and not isinstance(value, bool)
