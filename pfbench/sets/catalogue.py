"""Catalogue of feasible sets, penalties and norms, and their construction from selectors.

A set of vectors is built for points of shape (d,), and a set of matrices for points of shape (M,
N). Sets that need a graph or a function can be built only in Python. User-defined sets are named
FILE.py:NAME or MODULE:NAME.
"""

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import is_dataclass
from types import MappingProxyType
from typing import Any

from pfbench.base.checks import check_text
from pfbench.base.errors import InputError
from pfbench.base.names import find_entry
from pfbench.base.parameters import (
    check_parameter_names,
    check_required_parameters,
    collect_declared_parameters,
)
from pfbench.base.selectors import Selector
from pfbench.base.user_code import blame_user_code, load_user_object
from pfbench.sets.balls import L1Ball, L2Ball, LinfBall, Simplex
from pfbench.sets.body import ConvexBody
from pfbench.sets.box import Box, KSparsePolytope
from pfbench.sets.flow import UnitFlowPolytope
from pfbench.sets.groups import GroupLassoBall
from pfbench.sets.layer_norms import NormRootSum, NormSum
from pfbench.sets.matrix_balls import (
    ColumnBall,
    MaxColumnBall,
    MaxRowBall,
    OrthogonalisedBall,
    RowBall,
    SpectralBall,
)
from pfbench.sets.matroid import MatroidBasePolytope, SpanningTreePolytope
from pfbench.sets.norms import EntrywiseBall, NormBall, NormProduct
from pfbench.sets.nuclear import NuclearBall
from pfbench.sets.penalties import GroupPenalty, L1Penalty, NormPenalty, NuclearPenalty
from pfbench.sets.square_matrices import BirkhoffPolytope, Spectrahedron
from pfbench.sets.submodular import Permutahedron, SubmodularBasePolytope

Shape = tuple[int, ...]

SETS: Mapping[str, type[ConvexBody]] = MappingProxyType(
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
            KSparsePolytope,
            GroupLassoBall,
            BirkhoffPolytope,
            UnitFlowPolytope,
            SpanningTreePolytope,
            MatroidBasePolytope,
            SubmodularBasePolytope,
            Permutahedron,
        )
    }
)
"""Class of each feasible set, by name."""

PENALTIES: Mapping[str, type[NormPenalty]] = MappingProxyType(
    {cls.name: cls for cls in (L1Penalty, NuclearPenalty, GroupPenalty)}
)
"""Class of each penalty, by name."""


def can_build(entry: type[ConvexBody] | type[NormPenalty], shape: Shape) -> bool:
    """Return whether a text can select this set or penalty class, for points of this shape."""
    matrix = len(shape) == 2
    fits = {
        "arrays": True,
        "vectors": len(shape) == 1,
        "matrices": matrix,
        "square matrices": matrix and shape[0] == shape[-1],
    }
    return not entry.required_arguments and fits.get(entry.points, False)


def feasible_set(name: str, shape: Shape, **parameters: Any) -> ConvexBody:
    """Build the set called `name` for points of a shape.

    Parameters
    ----------
    name
        A name in `SETS`, or a user-defined set, FILE.py:NAME.
    shape
        Shape of a point: (d,) or (M, N).
    parameters
        Parameters that the class declares.

    Raises
    ------
    InputError
        If the name or a parameter is unknown, missing or out of range, if the points have another
        shape, or if the set needs a graph or a function.
    """
    body: ConvexBody = _build("set", name, shape, parameters)
    return body


def penalty(name: str, shape: Shape, **parameters: Any) -> NormPenalty:
    """Build the penalty called `name` for points of a shape; see `feasible_set`."""
    penalty: NormPenalty = _build("penalty", name, shape, parameters)
    return penalty


_KINDS: Mapping[str, tuple[type[Any], Mapping[str, type[Any]]]] = MappingProxyType(
    {"set": (ConvexBody, SETS), "penalty": (NormPenalty, PENALTIES)}
)
"""Base class and built-in classes, by kind."""


def find_class(kind: str, name: str) -> Any:
    """Return the class of the built-in or user-defined set or penalty called `name`.

    `kind` is "set" or "penalty". A user-defined class is imported.

    Raises
    ------
    InputError
        If the name is unknown, or the object is not of this kind.
    """
    base, entries = _KINDS[kind]
    if ":" not in name:
        return find_entry(kind, name, entries)
    data = load_user_object(name)
    home = f"{base.__module__}.{base.__name__}"
    if not isinstance(data, type) or not issubclass(data, base):
        raise InputError(f"{name} is not a {kind}: it must be a class that derives from {home}.")
    if not is_dataclass(data):
        raise InputError(f"{name} must be a dataclass: runs are identified by its fields.")
    abstract: frozenset[str] = getattr(data, "__abstractmethods__", frozenset())
    if lacking := sorted(abstract | ({"name"} - {*dir(data)})):
        raise InputError(f"{name} is not a {kind}: it lacks {', '.join(lacking)}.")
    return data


def _build(kind: str, name: str, shape: Shape, parameters: Mapping[str, Any]) -> Any:
    """Build a set or penalty for a shape; raise if this is impossible."""
    entry = find_class(kind, name)
    if entry.required_arguments:
        raise InputError(
            f"the {kind} {name} is built only in Python, as it needs {entry.required_arguments}."
        )
    if not can_build(entry, shape):
        entries = _KINDS[kind][1]
        fitting = ", ".join(other for other in entries if can_build(entries[other], shape))
        raise InputError(
            f"the {kind} {name} is for {entry.points}, and these points have shape {shape}: choose "
            f"one of {fitting}."
        )
    check_parameter_names(f"the {kind} {name}", parameters, entry.parameters())
    check_required_parameters(f"the {kind} {name}", parameters, entry.parameters())
    with blame_user_code(f"the {kind} {name}") if ":" in name else nullcontext():
        return entry.for_shape(shape, **parameters)


_ENTRIES: Mapping[str, type[Any]] = MappingProxyType(
    {cls.name: cls for cls in (L1Ball, L2Ball, LinfBall)}
)

_MATRICES: Mapping[str, type[Any]] = MappingProxyType(
    {cls.name: cls for cls in (OrthogonalisedBall, NuclearBall, MaxRowBall, MaxColumnBall)}
)

NORMS: Mapping[str, type[Any]] = MappingProxyType({**_ENTRIES, **_MATRICES})
"""Ball of each norm, by name."""


def norm_ball(text: str, shape: Shape) -> NormBall:
    """Return the norm ball that a text such as ``spectral[radius=2,lmo=quintic]`` describes.

    For matrices, l1, l2 and linf are entrywise norms.

    Raises
    ------
    InputError
        If the name or a parameter is unknown or out of range, or a matrix norm is requested for
        vectors.
    """
    selector = Selector.parse(text)
    cls = find_entry("norm", selector.name, NORMS)
    check_parameter_names(
        f"the norm {selector.name}", selector.parameters, collect_declared_parameters(cls)
    )
    if selector.name in _ENTRIES:
        ball: NormBall = cls(math.prod(shape), **selector.parameters)
        return ball if len(shape) == 1 else EntrywiseBall(shape, ball)
    if len(shape) != 2:
        raise InputError(
            f"the norm {selector.name} is for matrices, and these points have shape {shape}: "
            f"choose one of {', '.join(_ENTRIES)}."
        )
    norm_ball: NormBall = cls(shape, **selector.parameters)
    return norm_ball


def vector_norm_ball(kind: str, d: int) -> NormBall:
    """Return the unit ball of a norm for vectors of length d; for a matrix norm, d must be even.

    A matrix norm applies to the vector reshaped to a matrix of shape (2, d/2).
    """
    if kind in _ENTRIES:
        return norm_ball(kind, (d,))
    return NormProduct((norm_ball(kind, (2, d // 2)),))


_COMBINATIONS: Mapping[str, type[NormProduct]] = MappingProxyType(
    {"max": NormProduct, "sum": NormSum, "l2": NormRootSum}
)
_COMBINED = re.compile(r"(\w+)\((.*)\)")


def layer_norm_ball(text: str, shapes: Sequence[Shape]) -> NormProduct:
    """Return the norm ball for layers that a text such as ``spectral*linf[radius=0.5]`` describes.

    The text has either a norm for each layer, or one norm for all layers. It may also have two
    norms, as in ``spectral/linf``: the first for matrices and the second for other layers. The
    norm of a point is the largest of the layers' norms, each divided by its radius. With
    ``sum(...)`` it is the sum of these quotients. With ``l2(...)`` it is the root of the sum of
    their squares.

    Raises
    ------
    InputError
        If the number of norms does not fit the layers, or `norm_ball` raises an InputError.
    """
    match = _COMBINED.fullmatch(check_text("norm", text, "spectral").strip())
    combination, inside = match.groups() if match else ("max", text)
    cls = find_entry("combination of norms", combination, _COMBINATIONS)
    kinds = inside.split("/")
    if len(kinds) == 2:
        parts = [kinds[len(shape) != 2] for shape in shapes]
    else:
        parts = inside.split("*")
        if len(parts) not in (1, len(shapes)):
            raise InputError(
                f"norm={text} names {len(parts)} norms for {len(shapes)} blocks: give one for "
                "each, or one for all."
            )
        parts = parts * (len(shapes) // len(parts))
    return cls(tuple(norm_ball(part, shape) for part, shape in zip(parts, shapes, strict=True)))
