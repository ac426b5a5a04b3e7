"""Convex penalties h with their proximal maps argmin_x t h(x) + |x - y|^2 / 2."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from pfbench.base.arrays import Floats, Integers
from pfbench.base.checks import check_integer, check_real
from pfbench.base.errors import DivergedError, InputError, RefusedError
from pfbench.base.parameters import Parameter, collect_declared_parameters, parameter
from pfbench.sets.groups import Groups, check_groups, group_labels, group_norms, rescale_groups
from pfbench.sets.nuclear import DENSE_ENTRIES
from pfbench.sets.partial_svd import singular_triplets_above


@dataclass(frozen=True)
class NormPenalty(ABC):
    """Base class of penalties h(x) = weight * |x| for a norm |x|.

    Attributes
    ----------
    points
        Kind of points: arrays, matrices or vectors.
    lower_bound
        Lower bound of h.
    dual
        Name of the norm's dual ball, {u : <u, x> <= norm(x) for all x}: y minus its proximal map is
        y's projection onto ``t weight`` times that ball (Moreau).

    Raises
    ------
    InputError
        If the weight is negative or not finite.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str]
    points: ClassVar[str] = "arrays"
    required_arguments: ClassVar[str] = ""
    dual: ClassVar[str]
    lower_bound: ClassVar[float] = 0.0

    weight: float = parameter(1.0, "factor of the penalty's norm, at least 0")

    @classmethod
    def parameters(cls) -> Mapping[str, Parameter]:
        """Return the parameters that a text such as ``l1[weight=2]`` can set, by name."""
        return collect_declared_parameters(cls)

    @classmethod
    def for_shape(cls, shape: tuple[int, ...], **parameters: Any) -> Self:
        """Build the penalty for points of the given shape, with the given parameter values."""
        return cls(**parameters)

    def __post_init__(self) -> None:
        check_real("weight", self.weight, minimum=0.0)

    @abstractmethod
    def value(self, x: Floats) -> float:
        """Return the value h(x) of the penalty."""

    @abstractmethod
    def prox(self, y: Floats, t: float) -> Floats:
        """Return argmin_x t h(x) + |x - y|^2 / 2 for t >= 0, as a new array.

        Raises
        ------
        DivergedError
            If y has NaN or infinite entries.
        InputError
            If t is negative or not finite, or y has a wrong shape.
        """

    def _compute_threshold(self, y: Floats, t: float) -> float:
        """Return t times the weight; raise if y or t is not finite, or t is negative."""
        if not np.isfinite(y).all():
            raise DivergedError("the point passed to the proximal map has NaN or infinite entries")
        return check_real("t", t, minimum=0.0) * self.weight


class L1Penalty(NormPenalty):
    """Penalty h(x) = weight * |x|_1 of arrays x of any shape."""

    name = "l1"
    summary = "weight times the sum of moduli"
    source = "Donoho, Johnstone 1994 (soft threshold)"
    dual = "linf"

    def value(self, x: Floats) -> float:
        """Return weight times the l1 norm of x."""
        return self.weight * float(np.abs(x).sum())

    def prox(self, y: Floats, t: float) -> Floats:
        """Return y with each entry shrunk towards 0 by t * weight (soft thresholding), in O(d)."""
        threshold = self._compute_threshold(y, t)
        return np.asarray(y - np.minimum(np.maximum(y, -threshold), threshold))


class NuclearPenalty(NormPenalty):
    """Penalty of a dense M x N array: weight times the sum of its singular values."""

    name = "nuclear"
    summary = "weight times the sum of singular values"
    points = "matrices"
    source = "Cai, Candes, Shen 2010 (singular value threshold)"
    dual = "spectral"

    def value(self, x: Floats) -> float:
        """Return weight times the nuclear norm of x, in O(M N min(M, N))."""
        return self.weight * float(scipy.linalg.svdvals(_check_matrix(x), check_finite=False).sum())

    def prox(self, y: Floats, t: float) -> Floats:
        """Return y with its singular values shrunk towards 0 by t * weight.

        The result is a dense array, and takes O(M N min(M, N)).

        Raises
        ------
        RefusedError
            If y has more than 4 000 000 entries.
        """
        y = _check_matrix(y)
        if y.size > DENSE_ENTRIES:
            raise RefusedError(
                f"the proximal map of the nuclear norm would decompose a {y.shape[0]} x "
                f"{y.shape[1]} matrix, with more than {DENSE_ENTRIES} entries: use a set instead "
                "of the penalty and a projection-free method."
            )
        threshold = self._compute_threshold(y, t)
        if threshold == 0.0:
            return y.copy()
        result = singular_triplets_above(y, lambda s: threshold)
        u, s, vt = result or scipy.linalg.svd(y, full_matrices=False, check_finite=False)
        left = np.maximum(s - threshold, 0.0)
        rank = int(np.count_nonzero(left))
        return np.asarray((u[:, :rank] * left[:rank]) @ vt[:rank])


@dataclass(frozen=True)
class GroupPenalty(NormPenalty):
    """Penalty of a vector: weight times the sum of the Euclidean norms of disjoint groups.

    Parameters
    ----------
    weight
        Factor of the sum; the groups all have the same weight.
    d
        Length of a vector.
    groups
        The length of consecutive groups (the last may be shorter), or the indices of each group:
        disjoint, and together all of 0, ..., d-1.

    Raises
    ------
    InputError
        If the weight or d is out of range, or the groups do not partition the entries.
    """

    name = "group"
    summary = "weight times the sum of the groups' Euclidean norms"
    points = "vectors"
    source = "Yuan, Lin 2006 (block soft threshold)"
    dual = "largest norm of a group"

    d: int = field(kw_only=True)
    groups: Groups = parameter(MISSING, "length of consecutive groups of entries", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("d", self.d, minimum=1)
        object.__setattr__(self, "groups", check_groups(self.d, self.groups))

    @classmethod
    def for_shape(cls, shape: tuple[int, ...], **parameters: Any) -> Self:
        """Build the penalty for vectors of length d, where `shape` is (d,)."""
        return cls(d=shape[0], **parameters)

    @cached_property
    def _labels(self) -> Integers:
        return group_labels(self.d, self.groups)

    def _check_vector(self, x: Floats) -> Floats:
        if np.shape(x) != (self.d,):
            raise InputError(f"the group penalty takes {self.d} numbers, not shape {np.shape(x)}.")
        return x

    def value(self, x: Floats) -> float:
        """Return weight times the sum of the Euclidean norms of the groups of x, in O(d)."""
        return self.weight * float(group_norms(self._check_vector(x), self._labels).sum())

    def prox(self, y: Floats, t: float) -> Floats:
        """Return y with the norm of each group shrunk towards 0 by t * weight, in O(d)."""
        threshold = self._compute_threshold(self._check_vector(y), t)
        if threshold == 0.0:
            return y.copy()
        norms = group_norms(y, self._labels)
        return rescale_groups(y, self._labels, norms, np.maximum(norms - threshold, 0.0))


def _check_matrix(x: Any) -> Floats:
    if not isinstance(x, np.ndarray) or x.ndim != 2:
        shape = x.shape if isinstance(x, np.ndarray) else type(x).__name__
        raise InputError(f"the nuclear penalty takes a dense matrix, not {shape}.")
    return x
