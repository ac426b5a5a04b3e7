"""Units of numbers: exponents of their scaling with the units of f and x.

Under f -> lambda f and x -> mu x, a number with the unit (a, b) is multiplied by lambda^a mu^b. For
example, a smoothness has (1, -2), a diameter (0, 1), a squared gradient (2, -2), a count (0, 0). A
bound must scale like the bounded quantity; otherwise it lacks a factor.
"""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from pfbench.base.constants import MEANING, Constants
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
"""Unit of a gradient step; a Frank-Wolfe step is a number, a normalised step a length."""

CONSTANTS: Mapping[str, Unit] = {
    **dict.fromkeys(("L", "L_f", "L_ms", "L_max", "L_mean", "L_norm"), CURVATURE),
    **dict.fromkeys(("ell", "sigma_hat"), CURVATURE),
    **dict.fromkeys(("L2", "L2_ms"), (1, -3)),
    **dict.fromkeys(("D", "M", "rho"), LENGTH),
    **dict.fromkeys(("delta", "delta0", "Delta", "h0", "C"), VALUE),
    "sigma2": SQUARE,
    **dict.fromkeys(("n", "zeta", "omega"), NUMBER),
}
"""Units of constants, by the names of `Constants` and of formulas; C is a curvature C_f."""

QUANTITIES: Mapping[str, Unit] = {
    **dict.fromkeys(("objective", "value", "fw_gap", "fw_gap_lower", "suboptimality"), VALUE),
    **{"gradient_mapping_sq": SQUARE, "estimator_error": GRADIENT},
    "gradient_mapping_lambda": STEP,
    **dict.fromkeys(("coin", *COUNTED), NUMBER),
}
"""Units of measured quantities."""

_WHOLE = frozenset({*"nNKTtkijpqbmSE"})
"""Names of integers in formulas."""

_DRAWS, _ROUNDING = 8, 1e-9


@dataclass(frozen=True)
class Scaling:
    """Change of units that multiplies values of f by the factor `f`, and points by `x`.

    In pfbench both factors are powers of two, so most numbers are scaled without rounding.
    """

    f: float = 1.0
    x: float = 1.0

    def factor(self, unit: Unit) -> float:
        """Return the factor by which a number with this unit changes."""
        return float(self.f ** unit[0] * self.x ** unit[1])

    def convert_numbers(
        self, values: Mapping[str, Any], units: Mapping[str, Unit]
    ) -> dict[str, Any]:
        """Return the named values; those that have a unit are converted to the scaled units."""
        return {
            name: value * self.factor(units[name]) if name in units else value
            for name, value in values.items()
        }

    def constants(self, constants: Constants) -> Constants:
        """Return the problem constants, converted to the scaled units."""
        values = {name: getattr(constants, name) for name in MEANING if name != "n"}
        return replace(constants, **self.convert_numbers(values, CONSTANTS))

    def __str__(self) -> str:
        parts = {"f": math.log2(self.f), "x": math.log2(self.x)}
        return " and ".join(f"{name} by 2^{power:g}" for name, power in parts.items() if power)


ONE = Scaling()

SCALINGS = (
    *(Scaling(f=2.0**k) for k in (4, -4)),
    *(Scaling(x=2.0**k) for k in (4, -4)),
    Scaling(2.0**3, 2.0**-2),
)
"""Scalings of f alone, of x alone, then of both."""


@dataclass(frozen=True)
class UnitDeparture:
    """Number that does not scale with its unit, and a change of units that shows this.

    Attributes
    ----------
    quantity
        Description of the number.
    scaling
        The other units.
    expected, measured
        Factor by which the number should change, and by which it does.
    """

    quantity: str
    scaling: Scaling
    expected: float
    measured: float

    def __str__(self) -> str:
        return (
            f"{self.scaling}: {self.quantity} is {self.measured:.3g} times, not {self.expected:.3g}"
        )


def find_departure(
    subject: str, function: Callable[[Scaling], Any], unit: Unit | None
) -> UnitDeparture | None:
    """Return the first change of units under which a number does not scale with its unit.

    Return None if there is none.

    Parameters
    ----------
    subject
        Description of the number.
    function
        Function of a scaling that returns the number, or an array, computed from scaled numbers.
    unit
        Unit of the number; None to accept any unit.
    """
    base, unit = np.asarray(function(ONE), dtype=float), unit or infer_unit(function)
    size = float(np.abs(base).max(initial=0.0))
    for scaling in SCALINGS:
        expected = scaling.factor(unit)
        result = np.asarray(function(scaling), dtype=float)
        deviation = float(np.abs(result - expected * base).max(initial=0.0))
        if not deviation <= _ROUNDING * expected * size:
            by = float(np.abs(result).max(initial=0.0)) / size if size else math.inf
            return UnitDeparture(subject, scaling, expected, by)
    return None


def infer_unit(function: Callable[[Scaling], Any]) -> Unit:
    """Infer the unit of a number from the number's values under changes of units.

    The exponents are rounded to multiples of 1/6.
    """
    base = float(np.abs(function(ONE)).max())
    powers = [
        math.log2(max(float(np.abs(function(by)).max()), 1e-300) / base) / 4.0 if base else 0.0
        for by in (SCALINGS[0], SCALINGS[2])
    ]
    f, x = (round(6.0 * power) / 6.0 for power in powers)
    return f, x


def format_unit(unit: Unit) -> str:
    """Return a unit as text, e.g. "f^2 x^-2"."""
    parts = [
        name if power == 1 else f"{name}^{power:.3g}"
        for name, power in zip("fx", unit, strict=True)
        if power
    ]
    return " ".join(parts) or "a number"


@dataclass(frozen=True, eq=False)
class Formula:
    """Formula of a claim or an erratum, with the unit of its value; see `formula`."""

    function: Callable[..., Any]
    unit: Unit
    fixed_arguments: Mapping[str, Any] = field(default_factory=dict)
    units: Mapping[str, Unit] = field(default_factory=dict)

    def find_departure(self) -> UnitDeparture | None:
        """Return a number that does not scale with its unit at random arguments; None if all do."""
        departures = (
            find_departure(self.name, random_evaluation, self.unit)
            for random_evaluation in self._random_evaluations()
        )
        return next((departure for departure in departures if departure), None)

    @property
    def name(self) -> str:
        """Name of the function, or the formula of a `PowerProductFunction` as text."""
        source = getattr(self.function, "func", self.function)
        return (
            str(source)
            if isinstance(source, PowerProductFunction)
            else str(source.__name__).strip("_")
        )

    def _random_evaluations(self) -> Iterator[Callable[[Scaling], Any]]:
        existing = {**CONSTANTS, **dict.fromkeys(_WHOLE, NUMBER), **self.units}
        full_list = (
            getattr(self.function, "powers", None) or inspect.signature(self.function).parameters
        )
        names = [name for name in full_list if name not in self.fixed_arguments]
        for name in names:
            if name not in existing:
                raise InputError(
                    f"{self.name}: state the unit of {name} as {name}=(a, b), where a is the power "
                    "of f's unit and b the power of x's unit."
                )
        units = {name: existing[name] for name in names if name not in _WHOLE}
        for draw in range(_DRAWS):
            rng = np.random.default_rng(draw)
            base = {
                name: int(rng.integers(2, 9)) if name in _WHOLE else float(np.exp(rng.normal()))
                for name in names
            }

            def evaluate_scaled(scaling: Scaling, base: Mapping[str, Any] = base) -> Any:
                return self.function(**scaling.convert_numbers(base, units), **self.fixed_arguments)

            yield evaluate_scaled


def formula(
    source: Callable[..., Any],
    unit: Unit,
    parameters: Mapping[str, Any] | None = None,
    **units: Unit,
) -> Formula:
    """Return a formula of a claim or an erratum, with the unit of its value.

    Parameters
    ----------
    source
        An importable function.
    unit
        Unit of the value of the formula.
    parameters
        Arguments that are fixed.
    units
        Units of arguments whose names are neither in `CONSTANTS` nor names of integers.
    """
    return Formula(source, unit, dict(parameters or {}), dict(units))


@dataclass(frozen=True)
class PowerProductFunction:
    """Function that multiplies powers of named numbers; names not in `powers` are ignored."""

    powers: Mapping[str, float]

    def __call__(self, **numbers: float) -> float:
        """Return the value of the product for these numbers."""
        return float(math.prod(numbers[name] ** power for name, power in self.powers.items()))

    def __str__(self) -> str:
        powers = self.powers.items()
        return " ".join(name if power == 1 else f"{name}^{power:g}" for name, power in powers)


def power_product(unit: Unit, powers: Mapping[str, float], **units: Unit) -> Formula:
    """Return a product of powers as a formula, together with the unit that it should have."""
    return formula(PowerProductFunction(dict(powers)), unit, None, **units)


def rescale_constants(constants: Any, scaling: Scaling, units: Mapping[str, Unit]) -> Any:
    """Return the constants of a claim, converted to other units.

    If the constants are a single number, its unit is ``units["constants"]``. If they are a mapping,
    a named tuple or an object with attributes, the name of each number determines its unit.

    Raises
    ------
    InputError
        If a unit is not known.
    """
    if isinstance(constants, Constants):
        return scaling.constants(constants)
    if isinstance(constants, int | float):
        return constants * scaling.factor(_find_known_unit("constants", units))
    is_tuple = hasattr(constants, "_asdict")
    values = constants._asdict() if is_tuple else getattr(constants, "__dict__", constants)
    all_units = {**CONSTANTS, **units}
    floats = {name: value for name, value in dict(values).items() if is_float(value)}
    scaled = scaling.convert_numbers(floats, {n: _find_known_unit(n, all_units) for n in floats})
    if is_tuple:
        return constants._replace(**scaled)
    if isinstance(constants, Mapping):
        return {**constants, **scaled}
    other = copy(constants)
    vars(other).update(scaled)
    return other


def _find_known_unit(name: str, units: Mapping[str, Unit]) -> Unit:
    if name not in units:
        raise InputError(
            f"the unit of {name} is not known: state it as units={{{name!r}: (a, b)}}, where a is "
            "the power of f's unit and b the power of x's unit"
        )
    return units[name]


def is_float(value: Any) -> bool:
    """Return whether a value is a float; only floats, not integers, may have a unit."""
    return isinstance(value, float | np.floating) and not isinstance(value, bool)


# --- parameters -----------------------------------------------------------------------------------


class SharedParameter(NamedTuple):
    """Possible units and test values of a parameter that several methods share.

    Attributes
    ----------
    units
        Possible units of the parameter.
    default
        Value for methods without a default; None if every method has a default.
    short_run_value
        Value in runs of a dozen steps, which compare a fault with the right method; None for
        `default`.
    """

    units: tuple[Unit, ...]
    default: Any = None
    short_run_value: Any = None


PARAMETERS: Mapping[str, SharedParameter] = {
    "iterations": SharedParameter((NUMBER,), default=20, short_run_value=7),
    "batch": SharedParameter((NUMBER,), default=3),
    "period": SharedParameter((NUMBER,), default=5, short_run_value=3),
    "step": SharedParameter((STEP, NUMBER, LENGTH), default=0.05, short_run_value=0.3),
    "snapshot": SharedParameter((NUMBER,), default=11, short_run_value=7),
    "epsilon": SharedParameter((VALUE, SQUARE, GRADIENT), default=0.1),
    "smoothness": SharedParameter((CURVATURE,), default=2.0, short_run_value=1.5),
    "curvature": SharedParameter((CURVATURE, VALUE), default=2.0, short_run_value=1.5),
    "restarts": SharedParameter((NUMBER,), default=2),
    "subepochs": SharedParameter((NUMBER,), default=2),
    "refresh": SharedParameter((NUMBER,), default=0.3),
    "table_weight": SharedParameter((NUMBER,), default=0.3),
    "delay": SharedParameter((NUMBER,), default=9, short_run_value=4),
    "tolerance": SharedParameter((VALUE, SQUARE, GRADIENT), default=0.05),
    "diameter": SharedParameter((LENGTH,), default=2.0),
    "alpha": SharedParameter((NUMBER,), default=0.3),
    "floor": SharedParameter((SQUARE,), default=1.0, short_run_value=0.5),
    "beta": SharedParameter((NUMBER,), default=0.7),
    "beta2": SharedParameter((NUMBER,)),
    "gamma": SharedParameter((NUMBER,), default=0.6),
    "lam": SharedParameter((STEP, NUMBER), default=0.3),
    "delta": SharedParameter((VALUE,), default=1.0),
    "sigma": SharedParameter((CURVATURE,), default=1.0, short_run_value=0.7),
    "offset": SharedParameter((NUMBER,)),
}

WHOLE = frozenset({"iterations", "batch", "period", "snapshot", "subepochs", "restarts"})
"""Integer parameters that determine the length of a run."""

PARAMETER_UNITS: Mapping[str, tuple[Unit, ...]] = {
    name: each.units for name, each in PARAMETERS.items()
}
"""Possible units of each parameter."""

USUAL: Mapping[str, Any] = {
    name: each.default for name, each in PARAMETERS.items() if each.default is not None
}
"""Value of each parameter for methods without a default."""

SHORT: Mapping[str, Any] = {
    name: each.default if each.short_run_value is None else each.short_run_value
    for name, each in PARAMETERS.items()
    if each.default is not None
}
"""Value of each parameter in short runs."""
