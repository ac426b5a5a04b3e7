"""The feasible sets and the penalties by name, and how a selector's parameters build one.

A set of vectors is built for points of shape (d,), a set of matrices for (M, N). Sets that need a
graph or a function are built in Python only. Somebody's own is named FILE.py:NAME or MODULE:NAME.
"""

import inspect
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import is_dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from pfbench.base.errors import InputError
from pfbench.base.names import named
from pfbench.base.parameters import check_complete, check_known
from pfbench.base.user_code import blamed, load
from pfbench.sets.balls import L1Ball, L2Ball, LinfBall
from pfbench.sets.birkhoff import Birkhoff
from pfbench.sets.body import Body
from pfbench.sets.box import Box, KSparse
from pfbench.sets.flow import UnitFlow
from pfbench.sets.groups import GroupLasso
from pfbench.sets.matrices import ColumnBall, MaxColumnBall, MaxRowBall, RowBall, SpectralBall
from pfbench.sets.matroid import MatroidBase, SpanningTree
from pfbench.sets.nuclear import NuclearBall
from pfbench.sets.penalties import GroupPenalty, L1Penalty, NuclearPenalty, Penalty
from pfbench.sets.simplex import Simplex
from pfbench.sets.spectrahedron import Spectrahedron
from pfbench.sets.submodular import Permutahedron, SubmodularBase

Shape = tuple[int, ...]

Entry = TypeVar("Entry", type[Body], type[Penalty])

SETS: Mapping[str, type[Body]] = MappingProxyType(
    {
        cls.name: cls
        for cls in (
            NuclearBall,
            SpectralBall,
            Spectrahedron,
            RowBall,
            ColumnBall,
            MaxRowBall,
            MaxColumnBall,
            L1Ball,
            L2Ball,
            LinfBall,
            Simplex,
            Box,
            KSparse,
            GroupLasso,
            Birkhoff,
            UnitFlow,
            SpanningTree,
            MatroidBase,
            SubmodularBase,
            Permutahedron,
        )
    }
)
"""Every feasible set's class by name."""

PENALTIES: Mapping[str, type[Penalty]] = MappingProxyType(
    {cls.name: cls for cls in (L1Penalty, NuclearPenalty, GroupPenalty)}
)
"""Every penalty's class by name."""


def takes(entry: type[Body] | type[Penalty], shape: Shape) -> bool:
    """Return whether a selector can build a set or a penalty for points of a shape."""
    matrix = len(shape) == 2
    fits = {
        "arrays": True,
        "vectors": len(shape) == 1,
        "matrices": matrix,
        "square matrices": matrix and shape[0] == shape[-1],
    }
    return not entry.needs and fits.get(entry.points, False)


def feasible_set(name: str, shape: Shape, **parameters: Any) -> Body:
    """Build a set by name for points of a shape.

    Parameters
    ----------
    name
        One of `SETS`, or somebody's own, FILE.py:NAME.
    shape
        Of a point: (d,) or (M, N).
    parameters
        As its class declares them.

    Raises
    ------
    InputError
        If the name or a parameter is unknown, missing or out of range, if the points have another
        shape, or if the set needs a graph or a function.
    """
    found: Body = _built("set", name, set_class(name), SETS, shape, parameters)
    return found


def penalty(name: str, shape: Shape, **parameters: Any) -> Penalty:
    """Build a penalty by name for points of a shape; see `feasible_set`."""
    found: Penalty = _built("penalty", name, penalty_class(name), PENALTIES, shape, parameters)
    return found


def set_class(name: str) -> type[Body]:
    """Return the class of a set by its name, ours or somebody's own, which is imported.

    Raises
    ------
    InputError
        If the name is unknown, or what it names is no set.
    """
    return _own("set", name, Body) if ":" in name else named("set", name, SETS)


def penalty_class(name: str) -> type[Penalty]:
    """Return the class of a penalty by its name; see `set_class`."""
    return _own("penalty", name, Penalty) if ":" in name else named("penalty", name, PENALTIES)


def _own(kind: str, name: str, base: type) -> Any:
    """Load the class of somebody's own set or penalty; refuse what is none."""
    found = load(name)
    home = f"{base.__module__}.{base.__name__}"
    if not isinstance(found, type) or not issubclass(found, base):
        raise InputError(f"{name} is no {kind}: it must be a class that derives from {home}.")
    if not is_dataclass(found):
        raise InputError(f"{name} must be a dataclass: its fields are what runs are known by.")
    if inspect.isabstract(found):
        raise InputError(
            f"{name} is no {kind}: it lacks {', '.join(sorted(found.__abstractmethods__))}."
        )
    return found


def _built(
    kind: str,
    name: str,
    entry: Entry,
    entries: Mapping[str, Entry],
    shape: Shape,
    given: Mapping[str, Any],
) -> Any:
    """Return the set or penalty of a class, if that can be built for the shape from these."""
    if entry.needs:
        raise InputError(f"the {kind} {name} is built in Python only, as it needs {entry.needs}.")
    if not takes(entry, shape):
        fitting = ", ".join(other for other in entries if takes(entries[other], shape))
        raise InputError(
            f"the {kind} {name} is for {entry.points}, and these points have shape {shape}: choose "
            f"one of {fitting}."
        )
    check_known(f"the {kind} {name}", given, entry.parameters())
    check_complete(f"the {kind} {name}", given, entry.parameters())
    with blamed(f"the {kind} {name}") if ":" in name else nullcontext():
        return entry.of_shape(shape, **given)
