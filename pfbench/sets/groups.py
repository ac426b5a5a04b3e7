"""Disjoint groups of entries, and the ball of the norm that sums their Euclidean norms."""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats, Integers, LowerUpper
from pfbench.base.checks import check_integer
from pfbench.base.errors import InputError
from pfbench.base.names import brief_repr
from pfbench.base.parameters import parameter
from pfbench.sets.balls import VectorSet, project_simplex
from pfbench.sets.body import check_gradient, check_projectable, is_point

Groups = int | tuple[tuple[int, ...], ...]
"""Length of consecutive groups (the last may be shorter), or the indices of each group."""

_HUGE = 1e300


def check_groups(d: int, groups: Any) -> Groups:
    """Validate groups and return them: tuples of indices, or the length of consecutive groups.

    Raises
    ------
    InputError
        If the groups are not disjoint, or do not cover all d entries.
    """
    if isinstance(groups, Sequence | np.ndarray) and not isinstance(groups, str):
        if not all(isinstance(group, Iterable) for group in groups):
            raise InputError(f"groups={brief_repr(groups)} must be lists of indices, or a number.")
        lists = tuple(
            tuple(check_integer("an index of a group", i, minimum=0) for i in group)
            for group in groups
        )
        if not all(lists) or sorted(itertools.chain(*lists)) != list(range(d)):
            raise InputError(
                f"groups={brief_repr(groups)} must be non-empty lists that together have each of "
                f"the {d} indices 0 to {d - 1} once."
            )
        return lists
    return check_integer("groups", groups, minimum=1)


def group_labels(d: int, groups: Groups) -> Integers:
    """Return the group number of each entry, shape (d,)."""
    if isinstance(groups, int):
        return np.arange(d) // groups
    labels = np.empty(d, dtype=np.int64)
    for number, group in enumerate(groups):
        labels[list(group)] = number
    return labels


def group_norms(x: Floats, labels: Integers) -> Floats:
    """Return the Euclidean norm of each group of x, computed without overflow or underflow."""
    largest = float(np.abs(x).max(initial=0.0))
    if largest == 0.0:
        return np.zeros(int(labels.max()) + 1)
    scaled = x / largest
    return np.asarray(largest * np.sqrt(np.bincount(labels, weights=scaled * scaled)))


@dataclass(frozen=True)
class GroupLassoBall(VectorSet):
    """Vectors of length d whose groups' Euclidean norms sum to at most `radius`.

    Parameters
    ----------
    d
        Length of a vector.
    radius
        Bound of the sum of norms; groups are not weighted.
    groups
        Length of consecutive groups (the last may be shorter), or the indices of each group:
        disjoint, and together all of 0, ..., d-1.

    Raises
    ------
    InputError
        If d or the radius is out of range, or the groups do not partition the entries.
    """

    name = "group-lasso"
    summary = "vectors whose groups' Euclidean norms sum to at most radius"
    source = "Yuan, Lin 2006; Jaggi 2013 section 4"

    groups: Groups = parameter(MISSING, "length of consecutive groups of entries", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "groups", check_groups(self.d, self.groups))

    @cached_property
    def _labels(self) -> Integers:
        return group_labels(self.d, self.groups)

    def lo(self, g: Floats) -> Floats:
        """Return -radius * g_j/|g_j| on the group j of g of largest norm, 0 elsewhere; O(d).

        Ties go to the lowest group. For g = 0 the result is radius at the first entry of group 0.
        """
        g = check_gradient(g, self.shape)
        largest = float(np.abs(g).max())
        if largest == 0.0:
            return self._fill_vector(int(np.argmax(self._labels == 0)), self.radius)
        scaled = g / largest
        norms = np.bincount(self._labels, weights=scaled * scaled)
        best = int(np.argmax(norms))
        factor = -self.radius / math.sqrt(float(norms[best]))
        return np.where(self._labels == best, factor * scaled, 0.0)

    def minimum(self, g: Floats) -> LowerUpper:
        """Return equal lower and upper bounds of the minimum of <g, v> over the ball, in O(d).

        The minimum is -radius times the largest Euclidean norm of a group of g.
        """
        norms = group_norms(check_gradient(g, self.shape), self._labels)
        value = -self.radius * float(norms.max())
        return value, value

    def project(self, y: Floats) -> Floats:
        """Return the Euclidean projection of y onto the ball.

        The vector of group norms is projected onto the l1 ball, and the groups are rescaled. The
        result is exact up to rounding and takes O(d log d).
        """
        y = check_projectable(y, self.shape)
        if float(np.abs(y).max()) > _HUGE:
            smaller = GroupLassoBall(self.d, self.radius * 2.0**-60, groups=self.groups)
            return smaller.project(y * 2.0**-60) * 2.0**60
        norms = group_norms(y, self._labels)
        if norms.sum() <= self.radius:
            return y.copy()
        return rescale_groups(y, self._labels, norms, project_simplex(norms, self.radius))

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether the sum of the group norms is at most ``radius (1 + tolerance)``."""
        return is_point(x, self.shape) and bool(
            group_norms(x, self._labels).sum() <= self.radius * (1.0 + tolerance)
        )

    def random_vertex(self, rng: np.random.Generator) -> Floats:
        """Return a random vertex: a random direction of norm `radius` in one random group."""
        members = self._labels == rng.integers(int(self._labels.max()) + 1)
        return self.lo(np.where(members, rng.standard_normal(self.d), 0.0))


def rescale_groups(y: Floats, labels: Integers, norms: Floats, target_norms: Floats) -> Floats:
    """Return y with each group rescaled to its target norm, or 0 if the group is 0."""
    # Divided first: a quotient of two norms may underflow.
    own = norms[labels]
    units = np.divide(y, own, out=np.zeros_like(y, np.float64), where=own > 0.0)
    return np.asarray(units * target_norms[labels])
