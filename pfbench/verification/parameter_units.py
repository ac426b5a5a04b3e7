"""Parameter names that several methods share, with possible units and values for short runs."""

from collections.abc import Mapping
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

UNITS: Mapping[str, tuple[Unit, ...]] = {name: each.units for name, each in PARAMETERS.items()}
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
