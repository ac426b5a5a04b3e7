"""Norms by name, as in a problem's ``norm=``."""

import math
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pfbench.base.checks import find_entry
from pfbench.base.errors import InputError
from pfbench.base.parameters import check_parameter_names, collect_declared_parameters
from pfbench.base.selectors import Selector
from pfbench.sets.balls import L1Ball, L2Ball, LinfBall
from pfbench.sets.layer_norms import NormRootSum, NormSum
from pfbench.sets.matrix_balls import MaxColumnBall, MaxRowBall
from pfbench.sets.norms import EntrywiseBall, NormBall, NormProduct
from pfbench.sets.nuclear import NuclearBall
from pfbench.sets.orthogonal import OrthogonalisedBall

Shape = tuple[int, ...]

_ENTRIES: Mapping[str, type[Any]] = MappingProxyType(
    {cls.name: cls for cls in (L1Ball, L2Ball, LinfBall)}
)

_MATRICES: Mapping[str, type[Any]] = MappingProxyType(
    {cls.name: cls for cls in (OrthogonalisedBall, NuclearBall, MaxRowBall, MaxColumnBall)}
)

NORMS: Mapping[str, type[Any]] = MappingProxyType({**_ENTRIES, **_MATRICES})
"""Ball of each norm, by name."""


def norm_ball(text: str, shape: Shape) -> NormBall:
    """Return the ball of a norm for points of a shape: ``spectral[radius=2,lmo=quintic]``.

    For matrices l1, l2 and linf are entrywise norms.

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
    """Return the unit ball of a norm for vectors of even length d.

    A matrix norm is that of one block, of shape (2, d/2).
    """
    if kind in _ENTRIES:
        return norm_ball(kind, (d,))
    return NormProduct((norm_ball(kind, (2, d // 2)),))


_COMBINATIONS: Mapping[str, type[NormProduct]] = MappingProxyType(
    {"max": NormProduct, "sum": NormSum, "l2": NormRootSum}
)
_COMBINED = re.compile(r"(\w+)\((.*)\)")


def layer_norm_ball(text: str, shapes: Sequence[Shape]) -> NormProduct:
    """Return the ball of a norm of layers: ``spectral*linf[radius=0.5]`` or ``sum(spectral*linf)``.

    The text has a norm for each layer; or one for all; or two as in ``spectral/linf``, the first
    for matrices and the second for other layers. The norm of a point is the largest of the layers'
    norms, each divided by its radius. With ``sum(...)`` it is their sum, with ``l2(...)`` the root
    of the sum of their squares.

    Raises
    ------
    InputError
        If the number of norms does not fit the layers, or if `norm_ball` raises it.
    """
    match = _COMBINED.fullmatch(text.strip())
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
