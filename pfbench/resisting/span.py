"""Orthonormal basis of the vectors that an algorithm and its oracle have exchanged."""

import math

import numpy as np

from pfbench.base.arrays import Floats, norm
from pfbench.base.errors import RefusedError

SPAN_TOLERANCE = 1e-12
"""Largest part of a point's norm outside a span at which the point counts as in the span."""

ROUNDING = 1e-9
"""Largest part outside the span, relative to the largest gradient, that counts as rounding.

It applies to inputs of the linear minimisation: an inner loop passes small differences of large
vectors, and the resulting vertex has almost no weight in the next point.
"""


class OrthonormalBasis:
    """Orthonormal basis of a growing subspace of R^d; vectors are rows of a preallocated array.

    Only the rows in use take memory if the system allocates pages at the first write.
    """

    def __init__(self, d: int) -> None:
        self._rows = np.zeros((d, d))
        self.size = 0

    @property
    def rows(self) -> Floats:
        """Basis vectors as rows, shape (size, d), as a view."""
        return self._rows[: self.size]

    def split(self, x: Floats) -> tuple[Floats, Floats]:
        """Return x's coordinates in the basis, shape (size,), and the part of x outside the span.

        The projection is applied twice, which is enough for orthogonality up to rounding.
        """
        rows = self.rows
        coordinates = rows @ x
        outside = x - coordinates @ rows
        correction = rows @ outside
        outside -= correction @ rows
        return coordinates + correction, outside

    def add(self, outside: Floats) -> int:
        """Normalise a vector orthogonal to the basis, add it, and return the number of its row."""
        _, outside = self.split(outside / norm(outside))
        self._rows[self.size] = outside / norm(outside)
        self.size += 1
        return self.size - 1


class QuerySpan:
    """Span of all queries, answers and drawn directions so far, with an orthonormal basis.

    Parameters
    ----------
    T, d
        Final number of hidden directions, and the length of a point.

    Attributes
    ----------
    basis
        Basis of the span of all exchanged vectors and all drawn directions.
    positions
        The row of each drawn direction v_1, v_2, ... in the basis.
    largest_gradient_norm
        Norm of the largest gradient that was answered.
    """

    def __init__(self, T: int, d: int) -> None:
        self.T, self.d = T, d
        self.basis = OrthonormalBasis(d)
        self.positions: list[int] = []
        self.largest_gradient_norm = 0.0

    @property
    def direction_draw_count(self) -> int:
        """Number of directions drawn so far."""
        return len(self.positions)

    def coordinates_along_directions(self, basis_coordinates: Floats) -> Floats:
        """Return <v_i, x> for all drawn directions v_i, shape (T,), from x's basis coordinates.

        It is 0 for directions that are not drawn yet.
        """
        y = np.zeros(self.T)
        # A direction drawn after the coordinates were taken is orthogonal to the point.
        positions = [row for row in self.positions if row < basis_coordinates.size]
        y[: len(positions)] = basis_coordinates[positions]
        return y

    def note_coordinates(self, x: Floats) -> Floats:
        """Add a point to the span, and return its coordinates in the basis."""
        coordinates, outside = self.basis.split(x)
        size = norm(outside)
        if size <= SPAN_TOLERANCE * norm(x):
            return coordinates
        self._check_remaining_dimension()
        self.basis.add(outside)
        return np.append(coordinates, size)

    def note_gradient_norm(self, g: Floats) -> None:
        """Update the largest norm of the answered gradients with the norm of the new answer g."""
        self.largest_gradient_norm = max(self.largest_gradient_norm, norm(g))

    def split_and_add_vertex(self, g: Floats, u: Floats) -> tuple[Floats, float]:
        """Add u = LO(g) to the span; return u's coordinates, and the norm of the part not added.

        A part of the size of rounding errors is omitted.
        """
        coordinates, outside = self.basis.split(u)
        stray, length = norm(outside), norm(u)
        if stray <= SPAN_TOLERANCE * length:
            return coordinates, stray
        input_stray = stray / length * norm(g)
        if 0.0 < input_stray <= ROUNDING * self.largest_gradient_norm:
            return coordinates, stray
        self._check_remaining_dimension()
        self.basis.add(outside)
        return np.append(coordinates, stray), 0.0

    def draw_next_direction(self, rng: np.random.Generator) -> None:
        """Draw the next direction of the chain, orthogonal to all earlier vectors in the span."""
        # The share of a normal vector outside the span is far from 0: d > T + what was exchanged.
        self.positions.append(self.basis.add(self.basis.split(rng.standard_normal(self.d))[1]))

    def _check_remaining_dimension(self) -> None:
        """Raise an error if the dimension is too small for the directions still to be drawn.

        Raises
        ------
        RefusedError
            The message says how much larger the dimension must be.
        """
        if self.basis.size + (self.T - self.direction_draw_count) >= self.d:
            raise RefusedError(
                f"the dimension {self.d} is too small, as the vectors of the run span "
                f"{self.basis.size} dimensions, and the oracle must still draw "
                f"{self.T - self.direction_draw_count} directions outside their span: choose a "
                "larger dimension."
            )


def ball_gap(norm_sq: float, y: Floats, slopes: Floats, radius: float) -> float:
    """Return the Frank-Wolfe gap <g, x> + radius |g| for the gradient g at a point x of a ball.

    The gradient is g = x/5 + V h, where V has orthonormal columns. `norm_sq` is |x|^2, `y` is V'x,
    and `slopes` is h.
    """
    product = float(y @ slopes)
    length = math.sqrt(max(0.0, 0.04 * norm_sq + 0.4 * product + float(slopes @ slopes)))
    return 0.2 * norm_sq + product + radius * length
