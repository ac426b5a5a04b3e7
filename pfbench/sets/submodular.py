"""Base polytope of a submodular function, and the permutahedron."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy

from pfbench.base.arrays import Floats, Integers
from pfbench.base.checks import check_finite_array, check_integer, check_real
from pfbench.base.errors import InputError
from pfbench.base.parameters import Parameter
from pfbench.sets.body import GreedyPolytope, as_read_only_copy, check_projectable, is_point
from pfbench.sets.polytope_distance import is_in_hull


@dataclass(frozen=True, repr=False, eq=False)
class SubmodularBasePolytope(GreedyPolytope):
    """Base polytope of a submodular f: x(S) <= f(S) for each set S, with equality for the full set.

    Parameters
    ----------
    d
        Number of elements 0, ..., d-1.
    function
        f: takes an array of distinct elements in any order, returns a number. Submodular, and 0 on
        the empty set. The function is part of the set's identity: give a frozen dataclass with
        `__call__`, or a problem's digest differs from process to process.

    Raises
    ------
    InputError
        If d is below 1, f is not 0 on the empty set, or not finite.
    """

    name: ClassVar[str] = "submodular-base"
    summary: ClassVar[str] = "base polytope of a submodular function"
    required_arguments: ClassVar[str] = "a function: SubmodularBasePolytope(d, function)"
    source: ClassVar[str] = "Edmonds 1970 (greedy algorithm); Bach 2013"
    diameter_is_exact: ClassVar[bool] = False

    d: int
    function: Callable[[Integers], float]

    def __post_init__(self) -> None:
        check_integer("d", self.d, minimum=1)
        empty = self.set_function_value(np.array([], dtype=np.int64))
        if empty != 0.0:
            raise InputError(
                f"the function must be 0 on the empty set: subtract {empty:g}, its value there."
            )

    def set_function_value(self, members: Integers) -> float:
        """Return the value f(S) of the set function for the elements `members`.

        Raises
        ------
        InputError
            If the value is not a finite number.
        """
        value = float(self.function(members))
        if not math.isfinite(value):
            raise InputError(
                f"the function is {value} on the elements {members.tolist()}: it must be finite."
            )
        return value

    @cached_property
    def entry_sum(self) -> float:
        """Sum of the entries of a point, the same for all points: f of the full set."""
        return self.set_function_value(np.arange(self.d))

    @cached_property
    def entry_bounds(self) -> tuple[Floats, Floats]:
        """Smallest and largest value of each entry over the set, both attained.

        They are f(all) - f(all but i) and f(i), and take 2d values of f.
        """
        everything = np.arange(self.d)
        rest = [self.set_function_value(np.delete(everything, i)) for i in range(self.d)]
        alone = [self.set_function_value(np.array([i])) for i in range(self.d)]
        return self.entry_sum - np.array(rest), np.array(alone)

    @cached_property
    def diameter(self) -> float:
        """Upper bound of the diameter: the diagonal of the bounding box of the set."""
        lower, upper = self.entry_bounds
        return float(np.linalg.norm(upper - lower))

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether the distance of x to the set is at most `tolerance` times the set's size.

        The size is sqrt d times the largest absolute entry of the bounding box of 0 and the set.
        Wolfe's algorithm decides this; it needs up to some multiple of d greedy vertices.
        """
        if not is_point(x, self.shape):
            return False
        lower, upper = self.entry_bounds
        slack = tolerance * float(max(np.abs(lower).max(), np.abs(upper).max()))
        if (x < lower - slack).any() or (x > upper + slack).any():
            return False
        if abs(float(x.sum()) - self.entry_sum) > self.d * slack:
            return False
        return is_in_hull(self.lo, x, slack * math.sqrt(self.d))

    def start(self) -> Floats:
        """Return 0 if it is in the set, else the greedy vertex of the order 0, 1, ..."""
        zero = np.zeros(self.d)
        inside = self.entry_sum == 0.0 and self.contains(zero)
        return zero if inside else self._greedy_vertex(np.arange(self.d))

    def _greedy_vertex(self, order: Integers) -> Floats:
        """Return the vertex whose entries are the increments of f as elements are added in `order`.

        It takes d values of f.

        Raises
        ------
        InputError
            If f is not finite.
        """
        values = [self.set_function_value(order[:k]) for k in range(1, self.d)]
        vertex = np.empty(self.d)
        vertex[order] = np.diff([0.0, *values, self.entry_sum])
        return vertex


@dataclass(frozen=True, repr=False, eq=False)
class Permutahedron(GreedyPolytope):
    """Convex hull of all permutations of the entries of a given vector.

    Parameters
    ----------
    entries
        The entries in any order, shape (d,); (1, ..., d) gives the standard permutahedron.

    Raises
    ------
    InputError
        If there is no entry, or an entry is not finite.
    """

    name: ClassVar[str] = "permutahedron"
    summary: ClassVar[str] = "radius times the convex hull of the permutations of (1, ..., d)"
    source: ClassVar[str] = "Rado 1952; Lim, Wright 2016; Blondel et al. 2020 (projection)"
    has_projection: ClassVar[bool] = True

    entries: Floats

    def __post_init__(self) -> None:
        entries = check_finite_array("the entries of the permutahedron", self.entries)
        if entries.ndim != 1 or entries.size == 0:
            raise InputError(
                f"entries must be a vector of at least one number, not of shape {entries.shape}."
            )
        object.__setattr__(self, "entries", as_read_only_copy(np.sort(entries)[::-1]))

    @classmethod
    def parameters(cls) -> Mapping[str, Parameter]:
        """Return the parameter `radius`; a text can select only the `standard` permutahedron."""
        return {"radius": Parameter("size of the set, positive", "1.0")}

    @classmethod
    def for_shape(cls, shape: tuple[int, ...], **parameters: Any) -> "Permutahedron":
        """Build the `standard` permutahedron for vectors of length d, where `shape` is (d,)."""
        return cls.standard(shape[0], **parameters)

    @classmethod
    def standard(cls, d: int, radius: float = 1.0) -> "Permutahedron":
        """Return radius times the convex hull of the permutations of (1, ..., d)."""
        check_integer("d", d, minimum=1)
        return cls(check_real("radius", radius, above=0.0) * np.arange(1.0, d + 1.0))

    @property
    def d(self) -> int:
        """Length of a vector."""
        return self.entries.size

    @property
    def diameter(self) -> float:
        """Exact diameter, the distance between the entries in ascending and descending order."""
        return float(np.linalg.norm(self.entries - self.entries[::-1]))

    def project(self, y: Any) -> Floats:
        """Return the Euclidean projection of y onto the permutahedron.

        It is computed by isotonic regression of the sorted y minus the sorted entries. The result
        is exact up to rounding and takes O(d log d).
        """
        y = check_projectable(y, self.shape)
        order = np.argsort(-y, kind="stable")
        descending = y[order]
        # A gap of the whole range of entries always separates two blocks, so wider gaps may be
        # closed to it: then huge points are projected as exactly as small ones.
        spread = float(self.entries[0] - self.entries[-1])
        gaps = np.minimum(0.5 * descending[:-1] - 0.5 * descending[1:], 0.5 * spread)
        capped = np.concatenate([[0.0], -2.0 * np.cumsum(gaps)])
        rest = scipy.optimize.isotonic_regression(capped - self.entries, increasing=False).x
        point = np.empty(self.d)
        point[order] = capped - rest
        return point

    def contains(self, x: Any, tolerance: float = 1e-9) -> bool:
        """Return whether x is in the set, i.e. `entries` majorises x, up to a tolerance.

        The absolute tolerance is `tolerance` times the sum of the entries' absolute values.
        """
        if not is_point(x, self.shape):
            return False
        slack = tolerance * float(np.abs(self.entries).sum())
        excess = np.cumsum(np.sort(x)[::-1] - self.entries)
        return bool(excess.max() <= slack and excess[-1] >= -slack)

    def start(self) -> Floats:
        """Return 0 if it is in the set, else the entries in descending order."""
        zero = np.zeros(self.d)
        return zero if self.contains(zero, 1e-15) else self.entries.copy()

    def _greedy_vertex(self, order: Integers) -> Floats:
        """Return the vertex whose entry at index order[k] is the k-th largest of the entries."""
        vertex = np.empty(self.d)
        vertex[order] = self.entries
        return vertex
