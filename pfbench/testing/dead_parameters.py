"""Check that finds dead parameters: parameters whose value changes no bit of any iterate."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pfbench.base.errors import InputError
from pfbench.testing.failure_messages import Layers, fail, format_call, format_settings
from pfbench.testing.steppers import stepper

__tracebackhide__ = True  # of pytest

_STEPS = 3

_SCALES = (1.0, 2.0**-30, 2.0**30)
"""Scales of the gradients: a constant added to them may matter at only one."""

_DEAD = "has no effect"

_LONGER = 10
"""Factor of the number of steps before a parameter counts as dead, as it may act late."""


def no_dead_parameter(make: stepper, **hyper: Any) -> None:
    """Check that each given parameter of an optimiser has an effect on its iterates.

    Each parameter is halved, doubled, increased by one or flipped, while the others are fixed. A
    parameter is dead if no such change affects any bit of the iterates in double precision. The
    gradients have the scales 1, 2^-30 and 2^30. A parameter is lost to rounding if its first change
    has an effect in double precision, but not in the optimiser's own type.

    Parameters
    ----------
    make
        A stepper from `stepper`.
    hyper
        The parameters, with values at which each is active. A list has several settings, and the
        parameters must have an effect in each: ``nesterov=[True, False]``.

    Raises
    ------
    AssertionError
        If a parameter is dead.
    InputError
        If a value is 0 or cannot be varied, or if the optimiser is not deterministic.
    """
    names, values = [*hyper], [v if isinstance(v, list) else [v] for v in hyper.values()]
    lines: list[str] = []
    for combination in itertools.product(*values):
        lines += _describe_dead_parameters(make, dict(zip(names, combination, strict=True)))
    if lines:
        lines.append("points are compared bit by bit, with gradients of scales 1, 2^-30, 2^30")
        fail(lines, format_call(no_dead_parameter, make, **hyper))


def _describe_dead_parameters(make: stepper, hyper: dict[str, Any]) -> list[str]:
    """Return a line of text for each parameter whose variations leave the iterates unchanged."""
    steps = make.steps or _STEPS
    double, typed = (_BitwiseRuns(item, steps) for item in (replace(make, dtype="float64"), make))
    if double.points(hyper, 1.0, steps) != double.points(hyper, 1.0, steps):
        raise InputError(f"{make.label} is not deterministic: two runs have different points.")
    lines = []
    for name, value, other_rest in _iterate_variations(hyper):
        tried, dead = list[Any](), _DEAD
        for other, changed in other_rest:
            try:
                if double.differ(hyper, changed):
                    is_lost = not tried and not typed.differ(hyper, changed)
                    dead = f"is lost to rounding in {make.dtype}" if is_lost else ""
            except (ValueError, TypeError, AssertionError):
                continue  # the optimiser refuses this value
            tried.append(other)
            if dead != _DEAD:
                break
        if not tried:
            raise InputError(
                f"{make.label} refuses each value that was tried for {name}: leave {name} out."
            )
        if dead:
            same = f"{value!r} and {tried[0]!r} give the same bits over {_LONGER * steps} steps"
            rest = {k: v for k, v in hyper.items() if k != name}
            lines.append(f"{name} {dead}: {same} ({format_settings(rest)})")
    return lines


class _BitwiseRuns:
    """Runs of an optimiser with fixed random gradients, to be compared bit by bit."""

    def __init__(self, make: stepper, steps: int) -> None:
        self._make = make
        self._lengths = steps, _LONGER * steps
        self._x0, self._grads = replace(make, steps=_LONGER * steps).draw()
        self._usual: dict[tuple[int, float], bytes] = {}

    def points(self, hyper: Mapping[str, Any], scale: float, steps: int) -> bytes:
        """Return all iterates of a run as bytes; the gradients are multiplied by `scale`."""
        grads: list[Layers] = [[scale * layer for layer in g] for g in self._grads[:steps]]
        with np.errstate(all="ignore"):
            points = self._make.follow(self._x0, grads, hyper)
        return b"".join(layer.tobytes() for point in points for layer in point)

    def differ(self, hyper: Mapping[str, Any], changed: Mapping[str, Any]) -> bool:
        """Return whether two choices of parameters give different iterates for some gradient scale.

        Iterates with `hyper` are cached, so `hyper` must be the same in all calls.
        """
        for steps, scale in itertools.product(self._lengths, _SCALES):
            if (steps, scale) not in self._usual:
                self._usual[steps, scale] = self.points(hyper, scale, steps)
            if self.points(changed, scale, steps) != self._usual[steps, scale]:
                return True
        return False


def _iterate_variations(
    hyper: Mapping[str, Any],
) -> Iterator[tuple[str, Any, list[tuple[Any, dict[str, Any]]]]]:
    """Yield, for each parameter, its name, its value, and other values to try in its place.

    Each other value is a pair with the dict of all parameters after the change. Entries of a tuple
    are varied one by one.
    """
    for name, value in hyper.items():
        if isinstance(value, tuple):
            for k, entry in enumerate(value):
                alternatives = _list_alternatives(f"{name}[{k}]", entry)
                changes = [(*value[:k], other, *value[k + 1 :]) for other in alternatives]
                rest = [{**hyper, name: changed} for changed in changes]
                yield f"{name}[{k}]", entry, list(zip(alternatives, rest, strict=True))
        else:
            alternatives = _list_alternatives(name, value)
            yield name, value, [(other, {**hyper, name: other}) for other in alternatives]


def _list_alternatives(name: str, value: Any) -> list[Any]:
    """Return other values of a parameter, in the order in which they are tried."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int) and value != 0:
        return [value + 1, value - 1, 2 * value]
    if isinstance(value, float) and value != 0.0:
        return [0.5 * value, 2.0 * value, 0.75 * value]
    raise InputError(
        f"{name}={value!r} cannot be varied: give {name} a nonzero number, or leave it out."
    )
