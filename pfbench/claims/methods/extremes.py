"""Extreme but legal: values that a user meets and tests forget.

Each is a change of a small setting in which a method is followed: of its problem, or of parameters
that it has. A method does as its source there, or refuses by an error that says why.
"""

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from pfbench.verification import instance
from pfbench.verification.instruments.waves import on_ball, on_octahedron, with_penalty
from pfbench.verification.laws import Method, Setting

SMALL = (1, 2, 255, 256, 257)
"""Numbers of components: one, two, and where an index needs another byte."""

LARGE = (65_535, 65_536, 65_537)
"""Where it needs a third one."""

MANY = 200_003
"""Where two thirds of the indices need one: draws tell whether they have it."""

WIDE = 1026
"""Variables, where a coordinate needs more than a byte."""

LARGE_BATCH = 1009
"""A batch of which somebody may ask in parts, among `2 * LARGE_BATCH` components."""

HUGE = (1e100, 1e-100)
"""Factors of f, and of what grows with it."""

_OF_PROBLEMS: dict[str, dict[str, Any]] = {
    "flat": {"scale": 0.0},
    "stiff": {"scale": 1e6},
    "equal components": {"kind": "alike"},
    "start at an optimum": {"kind": "level"},
    "start at a vertex": {"kind": "vertex"},
}

_OF_PARAMETERS: dict[str, dict[str, Any]] = {
    "T = 1": {"iterations": 1},
    "period 1": {"period": 1},
    "period beyond T": {"period": 1000},
    "step 1e-12": {"step": 1e-12},
    "step 1": {"step": 1.0},
}


_GROWS = MappingProxyType(
    {"smoothness": 1, "curvature": 1, "delta": 1, "sigma": 1, "tolerance": 1, "lam": -1}
)
"""By which power of such a factor a parameter grows; a step by its method's."""


def at_extremes(method: Method) -> Method:
    """Return a method that is followed at extremes, too."""
    first = method.followed[0]
    large = [_of_size(first, n) for n in LARGE]
    if "batch" in first.parameters:
        many = _of_size(first, MANY)
        large.append(Setting(many.problem, {**many.parameters, "batch": 64}))
    # A table that somebody fills one by one takes seconds there.
    quick = method.stored_squares is None
    return replace(
        method,
        extreme=(*_extremes(method, first), *(large if quick else ())),
        extreme_in_full=() if quick else tuple(large),
    )


def _extremes(method: Method, first: Setting) -> Iterator[Setting]:
    given, n = first.parameters, int(first.problem().n)
    for many in SMALL:
        yield _of_size(first, many)
    yield Setting(instance(first.problem, d=WIDE).called(f"d={WIDE}"), given)
    if "batch" in given:
        one = _of_size(first, 2 * LARGE_BATCH)
        yield Setting(one.problem, {**one.parameters, "batch": LARGE_BATCH, "iterations": 6})
    normed = first.problem().norm is not None  # whose map of 0 is any point of the ball
    for title, changed in _OF_PROBLEMS.items():
        if not (normed and title == "flat"):
            yield Setting(instance(first.problem, **changed).called(title), given)
    batches = {"batch n": {"batch": n}, "batch n + 1": {"batch": n + 1}}
    for title, changes in {**_OF_PARAMETERS, **batches}.items():
        fitting = all(isinstance(given.get(name), int | float) for name in changes)
        if fitting and not (method.length and "period" in changes):  # there it is the horizon
            yield Setting(first.problem.called(title), {**given, **changes})
    if first.problem.build is on_ball and isinstance(given.get("step"), float):
        # Steps end at a corner, and the next one may, too: then the method stands still.
        corners = replace(first.problem, build=on_octahedron).called("corners")
        yield Setting(corners, {**given, "step": 1.0, "iterations": 60})
    # A tolerance of 1/N is below what rounding leaves of a gap of 1e100: one that is given grows.
    tolerant = [one for one in method.followed if one.parameters.get("tolerance")]
    if first.problem.build is not with_penalty:
        for by in HUGE:
            one = scaled(method, (*tolerant, first)[0], by)
            yield Setting(one.problem.called(f"gradients of {by:g}"), one.parameters)


def _of_size(first: Setting, n: int) -> Setting:
    """Return a setting with n components; what is all components stays so."""
    was = int(first.problem().n)
    given = {k: n if k == "snapshot" and v == was else v for k, v in first.parameters.items()}
    return Setting(instance(first.problem, n=n).called(f"n={n}"), given)


def scaled(method: Method, one: Setting, by: float) -> Setting:
    """Return a setting with f larger by a factor, and what grows with it."""
    powers = {"step": method.step_power, **_GROWS}
    given = {
        name: value * by ** powers.get(name, 0) if isinstance(value, float) else value
        for name, value in one.parameters.items()
    }
    return Setting(instance(one.problem, scale=2.0 * by), given)
