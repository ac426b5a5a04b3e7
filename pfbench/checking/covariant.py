"""Whether a run is the same in other units: that of lambda f(x/mu), from mu x_0, with scaled steps.

What is not is an absolute number: a tolerance, a step or a constant that has a unit.
"""

import ast
import copy
import inspect
import itertools
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import partial
from typing import Any

import numpy as np

from pfbench.base.errors import in_words
from pfbench.checking.findings import Patience, Skipped, Wrong, at_line
from pfbench.checking.trails import Trail, Trails
from pfbench.verification.instruments.rescaled import Rescaled
from pfbench.verification.parameters import UNITS, USUAL, WHOLE
from pfbench.verification.scaled_schedules import of_schedule, parameters_in
from pfbench.verification.subject import make
from pfbench.verification.units import NUMBER, ONE, Scaling, Unit

SCALINGS = (Scaling(f=2.0**-30), Scaling(f=2.0**30), Scaling(x=2.0**-20), Scaling(x=2.0**20))
"""So far off that a tolerance of a run is passed, or never reached; powers of four round nothing
in square roots."""

_TRIED, _SECONDS = 30, 2.0
"""So many combinations of units are tried at most, and none is begun after so many seconds."""

_CLOSE = 1e-9

_EPSILON = 0.1
"""The accuracy of a schedule that is run."""

_LARGEST = 10_000
"""A schedule with a larger number, of another name, is not run."""


def covariant(runs: Trails) -> str:
    """Check: a run on lambda f(x/mu), with scaled parameters, has the same counts and iterates.

    A schedule that keeps its units says how parameters are scaled. Without one that is tried.

    Raises
    ------
    Wrong
        If a run by that schedule is another one.
    Skipped
        If no units of its parameters make it the same; or points are no arrays.
    """
    if not isinstance(runs.problem.start(), np.ndarray):
        raise Skipped("it is looked at where points are arrays")
    where = tuple(absolute_numbers(type(runs.algorithm)))
    with np.errstate(all="ignore"):  # in the wrong units a run may diverge
        return _compared(runs, where)


def _compared(runs: Trails, where: Sequence[str]) -> str:
    """Return what is seen; errors are those of `covariant`."""
    off = scheduled = _by_schedule(runs)
    if off:
        raise Wrong("the same run in other units of f and x", off, {}, where)
    patience = Patience(_SECONDS)
    for units in itertools.islice(_units(runs.algorithm), _TRIED):
        if off and patience.over:
            break
        made = partial(_rescaled, runs.algorithm, units)
        seen = next(filter(None, (_off(runs, made, by) for by in SCALINGS)), "")
        if not seen:
            return "the same run in other units of f and x"
        off = off or seen
    if scheduled == "":
        return "by its schedule the same run in other units of f and x"
    there = f", perhaps at {', '.join(where)}" if where else ""
    raise Skipped(f"{off}: a tolerance, a step or a constant has a unit of its own{there}")


def schedule_keeps_units(runs: Trails) -> str:
    """Check: a schedule's whole numbers stay in other units, and its steps scale by one power.

    Raises
    ------
    Wrong
        If a real parameter never does, and no reason is stated (`normalised`).
    Skipped
        If whole numbers alone do not, as where a bound has a "+1", or it does in part; or there is
        no schedule.
    """
    kind = type(runs.algorithm)
    found = of_schedule(kind)
    if found is None or found.homogeneous is None:
        raise Skipped(found.found if found else "it has no theorem's schedule")
    if found.homogeneous:
        return found.found
    if found.normalised or not found.always:
        raise Skipped(f"it is not homogeneous: {found.found}. {found.normalised}".strip())
    raise Wrong(
        "each parameter to scale by one power (or a reason why not, as `normalised`)", found.found
    )


def _by_schedule(runs: Trails) -> str | None:
    """Return how a run by the schedule differs in other units; None if there is none for it."""
    kind, found = type(runs.algorithm), of_schedule(type(runs.algorithm))
    if found is None or found.accuracy is None:
        return None
    constants, unit = runs.problem.constants(runs.problem.start()), found.accuracy

    small: dict[str, int] = {}  # so that the run is short

    def made(by: Scaling) -> Any:
        return kind.theory(_EPSILON * by.of(unit), by.constants(constants), **small)

    try:
        known = parameters_in(made(ONE))
        small |= {name: USUAL[name] for name in WHOLE if known.get(name)}
        whole = [one for one in parameters_in(made(ONE)).values() if type(one) is int]
        if max(whole, default=0) > _LARGEST:
            return None
        first = Trails(made(ONE), runs.problem)
        if not first.plain.states:
            return None
    except Exception:  # as a schedule may refuse by any error
        return None
    return next(filter(None, (_off(first, made, by) for by in SCALINGS)), "")


def _off(runs: Trails, made: Callable[[Scaling], Any], by: Scaling) -> str:
    """Return how the run of what is made for other units differs; empty if it does not."""
    try:
        other = Trails(made(by), Rescaled(runs.problem, by)).as_long_as(runs)
    except Exception as error:  # which it does not raise in the units it has
        return f"{by}: {in_words(error).rstrip('.')}"
    return _difference(runs.plain, other, by)


def _rescaled(algorithm: Any, units: Mapping[str, Unit], by: Scaling) -> Any:
    """Return an algorithm with parameters in other units."""
    changed = {
        name: value * by.of(units[name])
        for name, value in parameters_in(algorithm).items()
        if units.get(name, NUMBER) != NUMBER
    }
    if is_dataclass(algorithm):
        return make(algorithm, (), **changed)
    other = copy.copy(algorithm)
    vars(other).update(changed)
    return other


def _difference(first: Trail, other: Trail, by: Scaling) -> str:
    if len(first.states) != len(other.states):
        return f"{by}: it makes {len(other.states)} iterations, not {len(first.states)}"
    pairs = zip(first.states, other.states, strict=True)
    for k, (one, two) in enumerate(pairs):
        if first.counts[k] != other.counts[k]:
            return f"{by}: its calls differ at iteration {k + 1}"
        size = float(np.abs(one.x).max(initial=0.0)) + float(np.abs(first.states[0].x).max())
        if not float(np.abs(two.x / by.x - one.x).max(initial=0.0)) <= _CLOSE * size:
            return f"{by}: it goes another way from iteration {k + 1}"
    return ""


def _units(algorithm: Any) -> Iterator[Mapping[str, Unit]]:
    """Yield units that its parameters may have, by their names; others are taken for numbers."""
    names = [
        name
        for name, value in parameters_in(algorithm).items()
        if UNITS.get(name, (NUMBER,)) != (NUMBER,) and type(value) in (int, float)
    ]
    for units in itertools.product(*(UNITS[name] for name in names)):
        yield dict(zip(names, units, strict=True))


def absolute_numbers(kind: type) -> Iterator[str]:
    """Yield the lines of a class with a small number in them: FILE:LINE and the method."""
    for name, method in vars(kind).items():
        function = getattr(method, "__func__", method)
        if not inspect.isfunction(function):
            continue
        try:
            lines, first = inspect.getsourcelines(function)
            tree = ast.parse(textwrap.dedent("".join(lines)))
        except (OSError, SyntaxError, ValueError):  # the last if wrappers go in a circle
            continue
        file = inspect.getsourcefile(function) or ""
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Constant) and isinstance(node.value, float)):
                continue
            if 0.0 < node.value < 0.1:
                what = f"{kind.__name__}.{name}, {node.value:g}"
                yield at_line(file, first + node.lineno - 1, what)
