"""What has passed between an algorithm and its oracle, as an orthonormal basis that grows."""

import math

import numpy as np

from pfbench.base.arrays import Floats, norm
from pfbench.base.errors import RefusedError

SPAN_TOLERANCE = 1e-12
"""A point is inside a span if at most this part of its norm lies outside."""

ROUNDING = 1e-9
"""An input of the linear minimisation whose part outside the span is at most this part of the
largest gradient so far left the span by rounding: an inner loop hands in small differences of large
vectors, and the vertex it gets then carries almost no weight."""


class OrthonormalBasis:
    """Orthonormal vectors of length d as rows, in one preallocated array of d x d numbers.

    Only the rows in use take memory, where the system hands out pages when they are first written.
    """

    def __init__(self, d: int) -> None:
        self._rows = np.zeros((d, d))
        self.size = 0

    @property
    def rows(self) -> Floats:
        """The vectors, shape (size, d); a view."""
        return self._rows[: self.size]

    def split(self, x: Floats) -> tuple[Floats, Floats]:
        """Return the coordinates of x, shape (size,), and what of x lies outside the span.

        It is projected out twice, which is enough for orthogonality to rounding. An x that is
        shorter than d has zeros behind it, as all rows then do.
        """
        rows = self._rows[: self.size, : x.size]
        coordinates = rows @ x
        outside = x - coordinates @ rows
        correction = rows @ outside
        outside -= correction @ rows
        return coordinates + correction, outside

    def add(self, outside: Floats) -> int:
        """Add the direction of a vector; return the number of its row."""
        _, outside = self.split(outside / norm(outside))
        self._rows[self.size, : outside.size] = outside / norm(outside)
        self.size += 1
        return self.size - 1


class QuerySpan:
    """The hidden directions drawn so far, and every vector that was exchanged.

    Parameters
    ----------
    T, d
        Number of hidden directions in the end, and the length of a point.

    Attributes
    ----------
    basis
        Of the span of all exchanged vectors and all drawn directions.
    positions
        The row of each drawn direction v_1, v_2, ... in the basis.
    largest_distance
        Norm of the largest gradient that was answered.
    """

    def __init__(self, T: int, d: int) -> None:
        self.T, self.d = T, d
        self.basis = OrthonormalBasis(d)
        self.positions: list[int] = []
        self.largest_distance = 0.0

    @property
    def direction_count(self) -> int:
        """How many directions are drawn."""
        return len(self.positions)

    def direction_coordinates(self, coordinates: Floats) -> Floats:
        """Return <v_i, x> for i = 1 .. T, shape (T,); 0 for what is not drawn yet."""
        y = np.zeros(self.T)
        # A direction drawn after the coordinates were taken is orthogonal to the point.
        positions = [row for row in self.positions if row < coordinates.size]
        y[: len(positions)] = coordinates[positions]
        return y

    def note_point(self, x: Floats) -> Floats:
        """Take note of a point; return its coordinates in the basis, which then spans it."""
        coordinates, outside = self.basis.split(x)
        size = norm(outside)
        if size <= SPAN_TOLERANCE * norm(x):
            return coordinates
        self._need_room()
        self.basis.add(outside)
        return np.append(coordinates, size)

    def note_gradient(self, g: Floats) -> None:
        """Take note of the size of a gradient that was answered."""
        self.largest_distance = max(self.largest_distance, norm(g))

    def note_vertex(self, g: Floats, u: Floats) -> tuple[Floats, float]:
        """Take note of u = LO(g); return its coordinates, and the norm of what they leave out."""
        coordinates, outside = self.basis.split(u)
        stray, length = norm(outside), norm(u)
        if stray <= SPAN_TOLERANCE * length:
            return coordinates, stray
        input_stray = stray / length * norm(g)
        if 0.0 < input_stray <= ROUNDING * self.largest_distance:
            return coordinates, stray
        self._need_room()
        self.basis.add(outside)
        return np.append(coordinates, stray), 0.0

    def draw(self, rng: np.random.Generator) -> None:
        """Draw the next direction orthogonal to all that was exchanged or drawn before."""
        # The share of a normal vector outside the span is far from 0: d > T + what was exchanged.
        self.positions.append(self.basis.add(self.basis.split(rng.standard_normal(self.d))[1]))

    def insert(self, v: Floats) -> None:
        """Take a direction that was drawn before, as a transcript has it."""
        self.positions.append(self.basis.add(v))

    def _need_room(self) -> None:
        """Refuse a vector that would leave no room for the directions that are still to be drawn.

        Raises
        ------
        RefusedError
            The message says how much larger the dimension must be.
        """
        if self.basis.size + (self.T - self.direction_count) >= self.d:
            raise RefusedError(
                f"the dimension {self.d} is used up: the algorithm exchanged vectors that span "
                f"{self.basis.size - self.direction_count} dimensions beyond the hidden directions, and "  # noqa: E501
                f"{self.T - self.direction_count} of these are still to be drawn: choose a larger dimension."  # noqa: E501
            )


def ball_gap(square: float, y: Floats, slopes: Floats, radius: float) -> float:
    """Return the gap on a ball at x, <g, x> + radius |g| with g = x/5 + V h, for orthonormal V.

    That follows from |x|^2, y = V'x and h, the slopes.
    """
    product = float(y @ slopes)
    length = math.sqrt(max(0.0, 0.04 * square + 0.4 * product + float(slopes @ slopes)))
    return 0.2 * square + product + radius * length
