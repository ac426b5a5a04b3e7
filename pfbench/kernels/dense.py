"""Updates of dense points in one pass over memory; NumPy needs a pass for each operation."""

from pfbench.base.arrays import Floats
from pfbench.kernels.numba_compilation import compile_reordering_sums, compile_serial

Numbers = tuple[float, float, float]


@compile_serial
def write_combination(x: Floats, v: Floats, w: float, out: Floats) -> None:
    """Write ``(1 - w) x + w v`` to out; all arrays have shape (d,)."""
    for k in range(out.size):
        out[k] = (1.0 - w) * x[k] + w * v[k]


@compile_serial
def write_rank_one_combination(
    x: Floats, u: Floats, v: Floats, scale: float, w: float, out: Floats
) -> None:
    """Write ``(1 - w) x + w scale u v'`` to out; x and out have shape (M, N)."""
    for i in range(u.size):
        for j in range(v.size):
            out[i, j] = (1.0 - w) * x[i, j] + w * (scale * (u[i] * v[j]))


@compile_serial
def write_tilt(g: Floats, x: Floats, u: Floats, c: float, out: Floats) -> None:
    """Write ``g + c (x - u)`` to out; all arrays have shape (d,)."""
    for k in range(out.size):
        out[k] = g[k] + c * (x[k] - u[k])


@compile_reordering_sums
def inner_products_and_square_distance(g: Floats, x: Floats, v: Floats) -> Numbers:
    """Return <g, x>, <g, v> and |x - v|^2; the summation order is unspecified."""
    at_x, at_v, square = 0.0, 0.0, 0.0
    for k in range(x.size):
        at_x += g[k] * x[k]
        at_v += g[k] * v[k]
        square += (x[k] - v[k]) * (x[k] - v[k])
    return at_x, at_v, square


@compile_reordering_sums
def inner_products_and_distance_rank_one(
    g: Floats, x: Floats, u: Floats, v: Floats, scale: float
) -> Numbers:
    """Return <g, x>, <g, w> and |x - w|^2 for the rank-one matrix ``w = scale u v'``."""
    at_x, at_v, square = 0.0, 0.0, 0.0
    for i in range(u.size):
        ui = scale * u[i]
        row = 0.0
        for j in range(v.size):
            distance = x[i, j] - ui * v[j]
            at_x += g[i, j] * x[i, j]
            row += g[i, j] * v[j]
            square += distance * distance
        at_v += ui * row
    return at_x, at_v, square
