"""Somebody's own problem as runs take it: checked, and with what it may leave out."""

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from inspect import getattr_static
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from pfbench.base.checks import finite_array, integer, real
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError, PfbenchError
from pfbench.base.protocols import FeasibleSet, Measure
from pfbench.base.sample import Indices
from pfbench.base.selectors import Selector
from pfbench.base.state import Point
from pfbench.points import Factored
from pfbench.problems.stateless import Stateless
from pfbench.runs.loop.own_measure import OwnMeasure

Floats = npt.NDArray[np.float64]

NEEDED = ("n", "set", "start()", "value(x)", "gradient(x)")
"""What a problem must have."""

OF_A_SET = ("diameter", "contains(x)", "lo(g)", "minimum(g)")
"""What its feasible set must have."""


class OwnProblem:
    """A problem under its selector's name, with what it leaves out.

    Attributes
    ----------
    given
        What somebody's class or function made; all that it has is used as it is.
    name, parameters
        Those of the selector, so that a stored run says how to build its problem again.
    digest
        Its own, else a hash of all that the object holds.

    Raises
    ------
    InputError
        If the object lacks what the interface needs, or what it has is wrong.
    """

    def __init__(self, selector: Selector, given: Any) -> None:
        self.given = given
        self.name, self.parameters = selector.name, selector.parameters
        _check_parts(f"{selector.name} is no problem", given, NEEDED)
        _check_parts(f"the set of {selector.name} is no feasible set", given.set, OF_A_SET)
        self.digest = _digest(self)
        _check(self)

    def __getattr__(self, part: str) -> Any:
        try:
            return getattr(self.given, part)
        except AttributeError:
            # It may have this part, which fails.
            if getattr_static(self.given, part, None) is not None:
                raise
            return getattr(_LeftOut(self), part)

    def __deepcopy__(self, memo: dict[int, Any]) -> "OwnProblem":
        """Return a copy that shares nothing with this one."""
        twin = object.__new__(OwnProblem)
        vars(twin).update(vars(self), given=deepcopy(self.given, memo))
        return twin

    def measures(self) -> Mapping[str, Measure]:
        """Return the problem's own measures, by name."""
        own: Callable[[], Mapping[str, Any]] = getattr(self.given, "measures", dict)
        return {name: OwnMeasure(measure) for name, measure in own().items()}


class _LeftOut(Stateless):
    """What a problem may leave out: each follows from what it has."""

    def __init__(self, whole: OwnProblem) -> None:
        self._whole = whole

    @property
    def set(self) -> FeasibleSet:
        """The feasible set."""
        found: FeasibleSet = self._whole.given.set
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a point."""
        return tuple(self._whole.start().shape)

    @property
    def unconstrained(self) -> bool:
        """Whether there is neither a set nor a penalty."""
        return self._penalty is None and not math.isfinite(self.set.diameter)

    @property
    def lacks(self) -> Mapping[str, str]:
        """What the problem cannot offer, by what algorithms require, with the reason."""
        if math.isfinite(self.set.diameter):
            found = {"smooth": "it has a feasible set"}
            if not getattr(self.set, "has_projection", hasattr(self.set, "project")):
                found["prox"] = "its set has no projection"
            return found
        found = {} if self._penalty is None else {"smooth": "it has a penalty"}
        return found | dict.fromkeys(("lo", "set"), "it has no feasible set")

    @property
    def difference(self) -> Callable[[Indices, Point, Point], Any]:
        """The difference of two batches; there is none without `batch`."""
        batch = self._whole.batch
        return lambda sample, x, y: batch(sample, x) - batch(sample, y)

    @property
    def _penalty(self) -> Any:
        return getattr(self._whole.given, "penalty", None)

    def open(self, rng: np.random.Generator) -> Any:
        """Return the problem itself: its oracles have no state."""
        return self._whole

    def prox(self, x: Floats, g: Floats, lam: float) -> Floats:
        """Return the proximal map of x - lam g: the projection, or that of the penalty."""
        y = x - lam * g
        return np.asarray(
            self.set.project(y) if self._penalty is None else self._penalty.prox(y, lam)
        )

    def constants(self, start: Point) -> Constants:
        """Return n and D; nothing else is known."""
        derivations = {"n": "stated by the problem", "D": "diameter of its set"}
        return Constants(
            self._whole.n, self.set.diameter, derivations=MappingProxyType(derivations)
        )


# --- what is checked before any run ---------------------------------------------------------------


def _check_parts(blame: str, given: Any, needed: tuple[str, ...]) -> None:
    lacking = [part for part in needed if not hasattr(given, part.partition("(")[0])]
    if lacking:
        raise InputError(
            f"{blame}: {type(given).__name__} lacks {', '.join(lacking)}; "
            "docs/adding-an-algorithm.md shows one that has all."
        )


@contextmanager
def _blaming(name: str, part: str) -> Iterator[None]:
    """Say whose part raised what is raised inside."""
    try:
        yield
    except PfbenchError:
        raise
    except Exception as error:
        words = str(error).rstrip(".")
        raise InputError(f"{part} of {name} fails with {type(error).__name__}: {words}.") from error


def _check(problem: OwnProblem) -> None:
    """Look at each part once, at the start point."""
    name = problem.name
    with _blaming(name, "n"):
        n = integer(f"n of {name}", problem.n, least=1)
    with _blaming(name, "start()"):
        x, again = problem.start(), problem.start()
    _check_point(problem, x, again)
    with _blaming(name, "value(start)"):
        real(f"value(start) of {name}", problem.value(x))
    with _blaming(name, "gradient(start)"):
        shape = x.shape if isinstance(x, np.ndarray) else None
        finite_array(f"gradient(start) of {name}", problem.gradient(x), shape=shape)
    with _blaming(name, "constants(start)"):
        constants = problem.constants(x)
    if not isinstance(constants, Constants) or constants.n != n:
        raise InputError(
            f"constants(start) of {name} must return pfbench.base.constants.Constants with n={n}."
        )
    with _blaming(name, "open(rng)"):
        backend = problem.open(np.random.default_rng(0))
    if getattr(backend, "n", None) != n:
        raise InputError(f"open(rng) of {name} must return what answers for its n={n} components.")
    with _blaming(name, "measures()"):
        problem.measures()
    for part in ("lacks", "unconstrained", "shape"):
        with _blaming(name, part):
            getattr(problem, part)
    if getattr(problem.given, "penalty", None) is not None and not problem.lacks.get("lo"):
        raise InputError(f"{name} has a feasible set and a penalty: leave one of them out.")


def _check_point(problem: OwnProblem, x: Any, again: Any) -> None:
    name = problem.name
    if isinstance(x, np.ndarray):
        if x.dtype != np.float64 or x.ndim == 0:
            raise InputError(f"start() of {name} must be an array of float64, not {x.dtype}.")
        if not np.array_equal(finite_array(f"start() of {name}", x), again):
            raise InputError(f"start() of {name} differs from call to call: fix its seed.")
    elif not isinstance(x, Factored):
        raise InputError(f"start() of {name} must be an array, not {type(x).__name__}.")
    with _blaming(name, "set.contains(start)"):
        inside = problem.set.contains(x)
    if not inside:
        raise InputError(f"start() of {name} is outside its set: project it first.")


# --- its digest -----------------------------------------------------------------------------------


def _digest(problem: OwnProblem) -> str:
    """Return the problem's digest, else a hash of all that it holds."""
    name = problem.name
    if getattr_static(problem.given, "digest", None) is not None:
        with _blaming(name, "digest"):
            stated = problem.given.digest
        if not isinstance(stated, str) or not stated:
            raise InputError(f"digest of {name} must be a text that changes with its data.")
        return stated
    digest = hashlib.sha256()
    try:
        for piece in _pieces(problem.given, ()):
            digest.update(piece)
    except Exception as error:
        words = str(error).rstrip(".")
        raise InputError(
            f"{name} holds what cannot be hashed ({words}): give it a digest, a text that changes "
            "with its data."
        ) from error
    return digest.hexdigest()


def _pieces(value: Any, above: tuple[int, ...]) -> Iterator[Any]:
    """Yield a value as bytes, whatever it is made of, as the pickle protocol takes it apart.

    Nothing is ever read back. `above` are the objects that hold the value.
    """
    yield f"\n{len(above)} {type(value).__qualname__} ".encode()
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
        yield repr(value).encode()
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        yield f"{value.dtype} {value.shape} ".encode()
        yield np.ascontiguousarray(value).reshape(-1).view(np.uint8)
    elif isinstance(value, (FunctionType, type)):
        if "<" in value.__qualname__:
            raise TypeError(f"the function {value.__qualname__} may depend on anything")
        yield f"{value.__module__}.{value.__qualname__}".encode()
    elif id(value) in above:
        yield b"as above"
    else:
        for part in _parts(value):
            yield from _pieces(part, (*above, id(value)))


def _parts(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [part for item in value.items() for part in item]
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if isinstance(value, (list, tuple)):
        return list(value)
    taken: Any = value.__reduce_ex__(4)
    if isinstance(taken, str):
        return [taken]
    # The last two are iterators over the items of what is a list or dictionary, too.
    return [*taken[:3], *map(list, filter(None, taken[3:5]))]
