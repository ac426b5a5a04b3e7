"""Messages of failed checks, with numbers and with a call that reproduces the failure."""

import inspect
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

__tracebackhide__ = True  # of pytest

Layers = list[Any]
"""Layers of one point or gradient, as float64 arrays; a gradient may contain None."""

_MAX_LINES = 5
_MAX_LENGTH = 200


def fail(lines: Sequence[str], call: str) -> NoReturn:
    """Raise an AssertionError of at most five lines; the last is the call that reproduces it.

    Parameters
    ----------
    lines
        Descriptions of the failures, the most important first.
    call
        The call that failed.
    """
    displayed = list(lines)
    if len(displayed) >= _MAX_LINES:
        extra = len(displayed) - (_MAX_LINES - 2)
        displayed = [*displayed[: _MAX_LINES - 2], f"({extra} more of this kind)"]
    call = call.replace("\n", " ")  # of arrays
    message = "\n".join([*(line[:_MAX_LENGTH] for line in displayed), f"reproduce: {call}"])
    raise AssertionError(message)


def format_call(check: Any, *value: Any, **hyper: Any) -> str:
    """Return, as text, a call of a check; arguments with default values are left out.

    `check` is a function or its name.
    """
    defaults = inspect.signature(check).parameters if callable(check) else {}
    settings = {
        name: item
        for name, item in hyper.items()
        if name not in defaults or not _is_default(item, defaults[name].default)
    }
    arguments = ", ".join(filter(None, [*map(_format_value, value), format_settings(settings)]))
    return f"{getattr(check, '__name__', check)}({arguments})"


def format_settings(hyper: Mapping[str, Any]) -> str:
    """Return the parameters of an optimiser as text, e.g. ``lr=0.1, momentum=0.9``."""
    return ", ".join(f"{name}={_format_value(value)}" for name, value in hyper.items())


def _is_default(value: Any, default: Any) -> bool:
    # Two different lambdas have the same text.
    return value is default or (
        not callable(value) and _format_value(value) == _format_value(default)
    )


def _format_value(value: Any) -> str:
    if not callable(value) or not hasattr(value, "__name__"):
        return repr(dict(value) if isinstance(value, Mapping) else value)
    if value.__name__ == "<lambda>":
        return f"(lambda {', '.join(inspect.signature(value).parameters)}: ...)"
    return str(value.__name__)


def describe_first_non_finite(label: str, points: Sequence[Layers]) -> list[str]:
    """Return a line on the first point of a run that is not finite; [] if all are finite."""
    for t, point in enumerate(points):
        for number, layer in enumerate(point):
            if not np.isfinite(layer).all():
                location = f", layer {number}" if len(point) > 1 else ""
                return [f"the points of {label} are not finite at step {t}{location}"]
    return []


def max_deviation(points: list[Layers], expected: list[Layers]) -> tuple[float, int, str]:
    """Return the largest deviation of two runs, relative to the largest step, and its location.

    Returns
    -------
    tuple
        The deviation (infinite if only one value is not finite, or if no point moves), its step,
        and the text ``x[...] = a, expected b`` of the deviating entry.
    """
    with np.errstate(invalid="ignore"):
        lengths = [
            float(np.abs(after - before).max())
            for item, other in pairwise(expected)
            for before, after in zip(item, other, strict=True)
        ]
    step = max(filter(np.isfinite, lengths), default=0.0)
    worst, point, words = 0.0, 0, ""
    for t, (other_point, other) in enumerate(zip(points, expected, strict=True)):
        for number, (a, b) in enumerate(zip(other_point, other, strict=True)):
            with np.errstate(invalid="ignore"):
                distance = np.asarray(np.abs(a - b))
            distance[~np.isfinite(distance)] = np.inf
            distance[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0
            if distance.max() > worst:
                index = np.unravel_index(int(distance.argmax()), distance.shape)
                layer = f"layer {number}, " if len(other_point) > 1 else ""
                location = ",".join(map(str, index))
                worst, point = float(distance.max()), t
                words = f"{layer}x[{location}] = {a[index]:.10g}, expected {b[index]:.10g}"
    if worst == 0.0:
        return 0.0, point, words
    return worst / step if step > 0.0 else np.inf, point, words
