"""Matrix iterates as values on the observed entries plus a weighted sum of atoms.

`combine` only *records* a step ``(1 - w) x + w v`` towards a vertex v. The next gradient or move
applies the step during its own sweep over the entries. Until then, and for one step after, the
previous point can still be read, because reading undoes the step. An older point can no longer be
read, unless `keep` copied it.

The points of one sequence share their storage: one vector of values, and its current position.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pfbench.base.arrays import Floats, as_read_only
from pfbench.base.checks import check_float_array
from pfbench.base.errors import StalePoint
from pfbench.kernels.observed_entries import EntryView, write_entries, write_entries_parallel
from pfbench.points.atoms import (
    Atoms,
    Factors,
    RankOne,
    as_atoms,
    matrix_entries,
    max_atoms,
    nonzero_weight_factors,
    svd_of_factors,
)
from pfbench.points.pattern import Pattern

_UNDOABLE = 1e-3
"""Smallest 1 - w for which reading undoes a step: rounding grows by 1/(1 - w)."""

_GONE = "this point is older than the newest two of its sequence: call keep(x) before moving on."


class SharedIterateStorage:
    """Storage that consecutive iterates share: values, atoms, and a token of the newest iterate."""

    def __init__(self, pattern: Pattern, values: Floats, atoms: Atoms, weights: Floats) -> None:
        self.pattern = pattern
        self.values = values
        self.atoms = atoms
        self.weights = weights
        self.current = object()
        self.previous: object | None = None
        self.step: tuple[RankOne, float] | None = None
        self.previous_state: tuple[Atoms, Floats] | None = None
        M, N = pattern.shape
        self.no_left, self.no_right = np.zeros(M), np.zeros(N)
        self.limit = max_atoms(pattern.shape)


@dataclass(eq=False, repr=False, slots=True)
class FactoredMatrix:
    """Matrix iterate in factored form, with its values at the observed entries.

    See the module docstring. Points are created by `zero`, `from_factors`, and
    `pfbench.points.combine`.

    Attributes
    ----------
    is_borrowed
        Whether this is a result of `view` that has not been copied yet.
    """

    _trail: SharedIterateStorage
    _token: object
    _base: object | None = None
    _vertex: RankOne | None = None
    _weight: float = 0.0
    _slot: int = -1
    is_borrowed: bool = False

    @classmethod
    def zero(cls, pattern: Pattern) -> "FactoredMatrix":
        """Return the zero matrix as a point with the observed positions of `pattern`."""
        trail = SharedIterateStorage(
            pattern, np.zeros(pattern.n), Atoms(pattern.shape), np.zeros(0)
        )
        return cls(trail, trail.current)

    @classmethod
    def from_factors(
        cls, pattern: Pattern, factors: Factors, values: Floats | None = None
    ) -> "FactoredMatrix":
        """Return the point in factored form that is the sum of K weighted rank-one matrices.

        The factors are weights (K,), left (K, M) and right (K, N).
        `values` are its entries on the pattern, shape (n,), if already known; the point takes
        ownership of the array.

        Raises
        ------
        InputError
            If factors or values are not float64 arrays of these shapes.
        """
        (M, N), K = pattern.shape, len(factors.weights)
        shapes = {"weights": (K,), "left": (K, M), "right": (K, N)}
        for name, part in factors._asdict().items():
            check_float_array(name, part, shapes[name])
        if values is None:
            values = matrix_entries(factors, pattern.row_numbers(), pattern.rows.indices)
        check_float_array("values", values, (pattern.n,))
        values = np.require(values, requirements=["C", "W"])
        trail = SharedIterateStorage(pattern, values, *as_atoms(factors))
        return cls(trail, trail.current)

    # --- reading ------------------------------------------------------------------------------

    @property
    def pattern(self) -> Pattern:
        """Pattern of the observed positions."""
        return self._trail.pattern

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (M, N) of the matrix."""
        return self._trail.pattern.shape

    def entry_view(self) -> EntryView:
        """Return the values on the observed entries in the form that compiled loops read.

        Raises
        ------
        StalePoint
            If the sequence has moved on by more than one step, or by a step that cannot be undone.
        """
        trail = self._trail
        if self._token is trail.current:
            return _make_entry_view(trail, 1.0, 0.0, None)
        if self._base is trail.current:
            return _make_entry_view(trail, 1.0 - self._weight, self._weight, self._vertex)
        if self._token is trail.previous and trail.step is not None:
            vertex, w = trail.step
            if 1.0 - w >= _UNDOABLE:
                return _make_entry_view(trail, 1.0 / (1.0 - w), -w / (1.0 - w), vertex)
            raise StalePoint(
                f"the point before a step of weight {w:g} is lost: call keep(x) before this step."
            )
        raise StalePoint(_GONE)

    def values(self) -> Floats:
        """Return a copy of the values on the observed positions, shape (n,)."""
        reading, out = self.entry_view(), self.pattern.vector_pool.take()
        if reading.b == 0.0 and reading.a == 1.0:
            np.copyto(out, reading.values)
        else:
            _write_entries(self.pattern, reading, out)
        return out

    def factors(self) -> Factors:
        """Return the point's weights and atoms, without atoms of weight 0.

        The arrays of a view are read-only, since they can share memory with its sequence.
        """
        factors = nonzero_weight_factors(*self.atoms_and_weights())
        return Factors(*map(as_read_only, factors)) if self.is_borrowed else factors

    def matrix(self) -> Floats:
        """Return the dense matrix, shape (M, N)."""
        weights, left, right = self.factors()
        return np.asarray((left * weights[:, None]).T @ right)

    @property
    def is_finite(self) -> bool:
        """Whether the point is finite, by its recorded step or, without one, its entries.

        Only a step can make a sequence non-finite, and a NaN affects a whole singular vector.
        """
        vertex = self._vertex
        if vertex is None:
            values = self.entry_view().values
            return math.isfinite(values @ values)
        return math.isfinite(self._weight * vertex.scale * vertex.u[0] * vertex.v[0])

    def entries(self, rows: npt.ArrayLike, columns: npt.ArrayLike) -> Floats:
        """Return the entries at the k positions (rows[i], columns[i]), shape (k,)."""
        return matrix_entries(self.factors(), np.asarray(rows), np.asarray(columns))

    # --- moving -------------------------------------------------------------------------------

    def record_step(self, vertex: RankOne, w: float) -> "FactoredMatrix":
        """Return ``(1 - w) x + w vertex``, recorded but not yet applied.

        Raises
        ------
        StalePoint
            If this point is not the newest of its sequence.
        """
        self._detach()
        self.apply_recorded_step()
        trail = self._trail
        slot = trail.atoms.append(vertex)
        return FactoredMatrix(trail, object(), trail.current, vertex, float(w), slot)

    def apply_recorded_step(self) -> None:
        """Apply the Frank-Wolfe step that this point records, if there is one, to the storage."""
        if self._token is not self._trail.current:
            self.apply_step_in_loop(
                lambda reading: _write_entries(self.pattern, reading, reading.values)
            )

    def apply_step_in_loop(self, loop: Callable[[EntryView], None]) -> None:
        """Run a compiled loop that also applies this point's recorded step to the storage.

        Raises
        ------
        StalePoint
            If the sequence has already moved past this point.
        """
        self._detach()
        recorded = self._base is self._trail.current
        if not recorded and self._token is not self._trail.current:
            raise StalePoint(
                "a later step has overwritten this point: copy a point by keep(x) before it moves."
            )
        loop(self.entry_view())
        if recorded:
            self._advance_sequence()

    def copy(self) -> "FactoredMatrix":
        """Return an independent copy of the point, without applying its recorded step."""
        atoms, weights = self.atoms_and_weights()
        used = np.flatnonzero(weights)
        if 2 * used.size < atoms.atom_count:
            atoms, weights = as_atoms(nonzero_weight_factors(atoms, weights))
        trail = SharedIterateStorage(self.pattern, self.values(), atoms, weights.copy())
        return FactoredMatrix(trail, trail.current)

    def view(self) -> "FactoredMatrix":
        """Return a view of the point; a step on the view first converts it to a copy.

        It can be read as long as the point itself.
        """
        step = self._base, self._vertex, self._weight, self._slot
        return FactoredMatrix(self._trail, self._token, *step, is_borrowed=True)

    def _detach(self) -> None:
        """Convert a view to an independent copy, so that a step does not change the original."""
        if self.is_borrowed:
            own = self.copy()
            self._trail, self._token, self._base, self._vertex = own._trail, own._token, None, None
            self.is_borrowed = False

    # --- bookkeeping --------------------------------------------------------------------------

    def _advance_sequence(self) -> None:
        trail, vertex = self._trail, self._vertex
        assert vertex is not None
        trail.previous_state = (trail.atoms, trail.weights)
        if self._weight == 1.0:
            trail.atoms, trail.weights = Atoms(trail.pattern.shape), np.zeros(0)
            self._slot = trail.atoms.append(vertex)
        trail.weights = _step_weights(trail.weights, vertex, self._weight, self._slot)
        trail.step = (vertex, self._weight)
        trail.previous, trail.current = trail.current, self._token
        self._base = self._vertex = None
        if np.count_nonzero(trail.weights) > trail.limit:
            compressed = svd_of_factors(nonzero_weight_factors(trail.atoms, trail.weights))
            trail.atoms, trail.weights = as_atoms(compressed)
            trail.limit = max(trail.limit, 2 * trail.atoms.atom_count)

    def atoms_and_weights(self) -> tuple[Atoms, Floats]:
        """Return the list of atoms that consecutive iterates share, and this point's weights.

        Weight k belongs to atom k; later atoms have no weight in this point.
        """
        trail = self._trail
        if self._token is trail.current:
            return trail.atoms, trail.weights
        if self._base is trail.current and self._vertex is not None:
            weights = _step_weights(trail.weights, self._vertex, self._weight, self._slot)
            return trail.atoms, weights
        if self._token is trail.previous and trail.previous_state is not None:
            return trail.previous_state
        raise StalePoint(_GONE)


def _make_entry_view(
    trail: SharedIterateStorage, a: float, b: float, vertex: RankOne | None
) -> EntryView:
    if vertex is None:
        return EntryView(trail.values, a, b, trail.no_left, trail.no_right)
    return EntryView(trail.values, a, b * vertex.scale, vertex.u, vertex.v)


def _write_entries(pattern: Pattern, reading: EntryView, out: Floats) -> None:
    pattern.run_loop(write_entries, write_entries_parallel, pattern.rows, reading, out)


def _step_weights(weights: Floats, vertex: RankOne, w: float, slot: int) -> Floats:
    moved = np.zeros(max(len(weights), slot + 1))
    moved[: len(weights)] = (1.0 - w) * weights
    moved[slot] += w * vertex.scale
    return moved
