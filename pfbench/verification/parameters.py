"""The parameters that methods share: what unit each may have, and what it is tried with."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from pfbench.verification.units import (
    CURVATURE,
    GRADIENT,
    LENGTH,
    NUMBER,
    SQUARE,
    STEP,
    VALUE,
    Unit,
)


class Shared(NamedTuple):
    """A parameter, by the name that all methods share.

    Attributes
    ----------
    units
        The units that it may have.
    usual
        What it is set to where it has no default; None if every method has one.
    short
        The same in the dozen steps in which a fault is looked for, where it is another value.
    """

    units: tuple[Unit, ...]
    usual: Any = None
    short: Any = None


PARAMETERS: Mapping[str, Shared] = MappingProxyType(
    {
        "iterations": Shared((NUMBER,), usual=20, short=7),
        "batch": Shared((NUMBER,), usual=3),
        "period": Shared((NUMBER,), usual=5, short=3),
        "step": Shared((STEP, NUMBER, LENGTH), usual=0.05, short=0.3),
        "snapshot": Shared((NUMBER,), usual=11, short=7),
        "epsilon": Shared((VALUE, SQUARE, GRADIENT), usual=0.1),
        "smoothness": Shared((CURVATURE,), usual=2.0, short=1.5),
        "curvature": Shared((CURVATURE, VALUE), usual=2.0, short=1.5),
        "restarts": Shared((NUMBER,), usual=2),
        "subepochs": Shared((NUMBER,), usual=2),
        "refresh": Shared((NUMBER,), usual=0.3),
        "table_weight": Shared((NUMBER,), usual=0.3),
        "delay": Shared((NUMBER,), usual=9, short=4),
        "tolerance": Shared((VALUE, SQUARE, GRADIENT), usual=0.05),
        "diameter": Shared((LENGTH,), usual=2.0),
        "alpha": Shared((NUMBER,), usual=0.3),
        "floor": Shared((SQUARE,), usual=1.0, short=0.5),
        "beta": Shared((NUMBER,), usual=0.7),
        "lam": Shared((STEP, NUMBER), usual=0.3),
        "delta": Shared((VALUE,), usual=1.0),
        "sigma": Shared((CURVATURE,), usual=1.0, short=0.7),
        "offset": Shared((NUMBER,)),
    }
)

WHOLE = frozenset({"iterations", "batch", "period", "snapshot", "subepochs", "restarts"})
"""Those that are whole numbers, and say how long a run is."""

UNITS: Mapping[str, tuple[Unit, ...]] = MappingProxyType(
    {name: one.units for name, one in PARAMETERS.items()}
)
"""The units that a method's parameter may have."""

USUAL: Mapping[str, Any] = MappingProxyType(
    {name: one.usual for name, one in PARAMETERS.items() if one.usual is not None}
)
"""What a parameter without default is set to."""

SHORT: Mapping[str, Any] = MappingProxyType(
    {**USUAL, **{name: one.short for name, one in PARAMETERS.items() if one.short is not None}}
)
"""The same for short runs."""
