"""Norms by name, as in a problem's ``norm=``."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pfbench.base.errors import InputError
from pfbench.base.names import find_entry
from pfbench.base.parameters import check_parameter_names, collect_declared_parameters
from pfbench.base.selectors import Selector
from pfbench.sets.balls import L1Ball, L2Ball, LinfBall
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


def product_norm_ball(text: str, shapes: Sequence[Shape]) -> NormProduct:
    """Return the product of a norm for each block: ``spectral*linf[radius=0.5]``, or one for all.

    Raises
    ------
    InputError
        If the number of norms is neither 1 nor the number of blocks, or if `norm_ball` raises it.
    """
    parts = text.split("*")
    if len(parts) not in (1, len(shapes)):
        raise InputError(
            f"norm={text} names {len(parts)} norms for {len(shapes)} blocks: give one for each, or "
            "one for all."
        )
    parts = parts * (len(shapes) // len(parts))
    return NormProduct(
        tuple(norm_ball(part, shape) for part, shape in zip(parts, shapes, strict=True))
    )
