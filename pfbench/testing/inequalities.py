"""Check of inequalities that each step of a method must satisfy."""

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from pfbench.base.arrays import Floats, LowerUpper, maximum_nan_as_infinity
from pfbench.testing.failure_messages import Layers, describe_first_non_finite, fail, format_call
from pfbench.testing.steppers import stepper

__tracebackhide__ = True  # of pytest

_ROUNDING = 64.0
"""Number of rounding errors of each term up to which an excess is no violation."""

Inequality = Callable[[Any, Any, Any], tuple[float, float, Mapping[str, float]]]
"""Function of x_t, x_{t+1} and the gradient that returns left and right side, and terms."""


def descends(
    make: stepper,
    inequality: Inequality,
    *,
    gradient: Callable[[Any], Any] | None = None,
    **hyper: Any,
) -> None:
    """Check that each step of an optimiser satisfies an inequality, e.g. `smooth` or `lmo`.

    Parameters
    ----------
    make
        A stepper from `stepper`.
    inequality
        Function ``inequality(before, after, g)`` that returns the left side, the right side, and
        the terms by name. Built-in inequalities are `smooth`, `lmo` and `gap_recursion`.
    gradient
        Function that returns the gradient at a point, for the method to follow. By default that of
        the inequality; random gradients if it has none.
    hyper
        The parameters.

    Raises
    ------
    AssertionError
        If the left side exceeds the right by more than 64 rounding errors of all terms.
    """
    x0, grads = make.draw()

    def as_point(layers: Layers) -> Any:
        return layers if make.is_layered else layers[0]

    oracle = gradient or getattr(inequality, "gradient", None)
    if oracle is not None:
        steps, grads = len(grads), []
        for _ in range(steps):  # a stepper takes gradients, so it is run from x0 for each new one
            last = make.follow(x0, grads, hyper)[-1]
            if describe_first_non_finite(make.label, [last]):
                break
            g = oracle(as_point(last))
            grads.append(list(g) if make.is_layered else [np.asarray(g, dtype=np.float64)])
    points = make.follow(x0, grads, hyper)
    check = inequality.begin() if hasattr(inequality, "begin") else inequality
    call = format_call(descends, make, inequality, gradient=gradient, **hyper)
    for t, g in enumerate(grads):
        if lines := describe_first_non_finite(make.label, points[: t + 2]):
            fail(lines, call)
        left, right, terms = check(as_point(points[t]), as_point(points[t + 1]), as_point(g))
        slack = _ROUNDING * make.unit_roundoff * (abs(left) + sum(map(abs, terms.values())))
        if not left - right <= (slack if math.isfinite(slack) else 0.0):
            listed = ", ".join(f"{name} {value:.6g}" for name, value in terms.items())
            x = ", ".join(repr(float(v)) for layer in points[t] for v in layer.ravel()[:4])
            name = getattr(inequality, "__name__", type(inequality).__name__).partition("(")[0]
            lines = [
                f"{make.label} violates {name} at step {t + 1}: {left:.10g} > "
                f"{right:.10g} (by {left - right:.3g})",
                f"terms: {listed or 'none'}",
                f"first entries of x before the step: {x}",
            ]
            fail(lines, call)


@dataclass
class _StatedInequality:
    """Base class of the built-in inequalities; messages name them by the constructor call."""

    def __post_init__(self) -> None:
        self.__name__ = format_call(type(self), **vars(self))
        self.begin()

    def begin(self) -> Any:
        """Begin a new run, and return this object."""
        return self


@dataclass
class smooth(_StatedInequality):  # noqa: N801 - it is used as a function
    """Descent inequality of an L-smooth f: f(y) <= f(x) + <grad f(x), y - x> + L |y - x|^2/2.

    It holds for every L-smooth f, so one violation refutes the constant L.

    Parameters
    ----------
    value, gradient
        f and its gradient, at an array.
    L
        The stated smoothness constant.
    """

    value: Callable[[Any], float]
    gradient: Callable[[Any], Any]
    L: float

    def __call__(self, before: Floats, after: Floats, g: Floats) -> Any:
        """Return f at the point after the step, its upper bound, and the bound's terms by name."""
        d = after - before
        f, f_after = float(self.value(before)), float(self.value(after))
        linear, square = float(np.vdot(g, d)), self.L * float(np.vdot(d, d)) / 2
        terms = {"f": f, "f+": f_after, "<g,d>": linear, "L|d|^2/2": square}
        return f_after, f + linear + square, terms


_RETAINED = 1e-2
"""Singular values of the momentum below this fraction of |N|_F are left out of `image`."""


@dataclass(frozen=True)
class MomentumBasisDirection:
    """Direction O of an optimiser's step, in the basis of the momentum's singular vectors.

    The momentum is N = U diag(s) V'.

    Attributes
    ----------
    shape
        Rows and columns.
    relative, diagonal
        s_i/|N|_F and u_i' O v_i, for the i with s_i >= |N|_F/100.
    small_share
        Fraction of the other s_i.
    off_diagonal
        Largest |u_i' O v_j| for different i and j with s_i, s_j >= |N|_F/100.
    lower
        <N, O>/|N|_*.
    upper
        The largest singular value of O.
    """

    shape: tuple[int, int]
    relative: Floats
    diagonal: Floats
    small_share: float
    off_diagonal: float
    lower: float
    upper: float

    @property
    def step_diagonal_range(self) -> LowerUpper:
        """Range of u_i' O v_i for the update O and the momentum's singular vectors u_i, v_i."""
        return float(self.diagonal.min()), float(self.diagonal.max())

    @property
    def is_rotated(self) -> bool:
        """Whether the direction's singular vectors clearly differ from those of the momentum."""
        return self.off_diagonal > 0.1 * self.step_diagonal_range[1]


def express_in_momentum_basis(momentum: Floats, direction: Floats) -> MomentumBasisDirection:
    """Return the direction expressed in the momentum's singular vectors.

    Both arguments are matrices of shape (m, n).
    """
    u, s, v = np.linalg.svd(momentum, full_matrices=False)
    size = float(np.linalg.norm(s)) or 1.0
    retained = s >= _RETAINED * size
    if not retained.any():
        retained[:1] = True
    image = (u.T @ direction @ v.T)[np.ix_(retained, retained)]
    inside = np.diag(image)
    return MomentumBasisDirection(
        shape=(momentum.shape[0], momentum.shape[1]),
        relative=s[retained] / size,
        diagonal=inside,
        small_share=float(1 - retained.mean()),
        off_diagonal=float(np.abs(image - np.diag(inside)).max()),
        lower=float(np.vdot(momentum, direction) / (float(s.sum()) or 1.0)),
        upper=float(np.linalg.norm(direction, 2)) if np.isfinite(direction).all() else math.nan,
    )


@dataclass
class lmo(_StatedInequality):  # noqa: N801 - it is used as a function
    """Bounds on the direction of a spectral method such as Muon, by the SVD of its momentum.

    The momentum N_t is computed from the gradients. The direction is O_t = -(x_{t+1} - (1 - lr wd)
    x_t)/(lr scale). With N_t = U diag(s) V', each u_i' O_t v_i with s_i >= |N_t|_F/100 must be in
    [lo, hi]. For i and j different, u_i' O_t v_j must be at most `slack` in modulus. Five steps of
    Muon's iteration have ``lo=0.6818, hi=1.1344``; other coefficients have other intervals.

    Parameters
    ----------
    lo, hi
        Ends of the interval.
    lr, weight_decay, momentum, nesterov
        Parameters of the method.
    scale
        Function of the rows and columns of a layer that returns its factor; a convolution has the
        shape rows x (all else).
    slack
        Width by which the interval is extended, e.g. 0.02 for an iteration in bfloat16.
    """

    lo: float
    hi: float
    lr: float
    _: KW_ONLY
    weight_decay: float = 0.0
    momentum: float = 0.0
    nesterov: bool = False
    scale: Callable[[int, int], float] = lambda rows, columns: 1.0
    slack: float = 1e-3

    def begin(self) -> "lmo":
        """Begin a new run with momentum 0, and return this object."""
        self._buffers: list[Any] = []
        return self

    def __call__(self, before: Any, after: Any, g: Any) -> Any:
        """Return both sides of the inequality that a step violates most, and its terms by name."""
        layers = (before, after, g) if isinstance(before, list) else ([before], [after], [g])
        self._buffers = self._buffers or [0.0 * q for q in layers[2]]
        results = []
        for k, (x, y, q) in enumerate(zip(*layers, strict=True)):
            self._buffers[k] = m = self.momentum * self._buffers[k] + q
            n = q + self.momentum * m if self.nesterov else m
            n = n.reshape(len(n), -1)
            step = ((1 - self.lr * self.weight_decay) * x - y).reshape(n.shape)
            o = express_in_momentum_basis(n, step / (self.lr * self.scale(*n.shape)))
            (lower, upper), outside = o.step_diagonal_range, o.off_diagonal
            terms = {"lo": self.lo, "hi": self.hi, "layer": float(k)}
            results += [
                (upper, self.hi + self.slack, {"largest singular value": upper, **terms}),
                (self.lo - self.slack, lower, {"least singular value": lower, **terms}),
                (outside, self.slack, {"entry off the momentum's directions": outside, **terms}),
            ]
        return max(results, key=lambda item: maximum_nan_as_infinity(item[0] - item[1]))


@dataclass
class gap_recursion(_StatedInequality):  # noqa: N801 - it is used as a function
    """Inequality for the change of a primal-dual gap in Frank-Wolfe with steps 2/(t+2).

    For f convex and L-smooth, A_t G_t - A_{t-1} G_{t-1} <= L a_t^2/(2 A_t) |v_t - x_t|^2. Here G_t
    = f(x_{t+1}) - L_t is the gap, a_t = 2t+2 and A_t = (t+1)(t+2). The lower bound L_t satisfies
    A_t L_t = sum over i <= t of a_i (f(x_i) + <grad f(x_i), v_i - x_i>).

    Parameters
    ----------
    value, gradient
        f and its gradient, at an array.
    lmo
        Function of g that returns the vertex v_t that minimises <g, v>.
    L
        The smoothness constant.
    """

    value: Callable[[Any], float]
    gradient: Callable[[Any], Any]
    lmo: Callable[[Any], Any]
    L: float

    def begin(self) -> "gap_recursion":
        """Begin a new run, and return this object."""
        self._t, self._lower, self._last = 0, 0.0, 0.0
        return self

    def __call__(self, before: Floats, after: Floats, g: Floats) -> Any:
        """Return the increase of the weighted gap in a step, its bound, and the terms by name."""
        t = self._t
        a, A = 2.0 * t + 2, (t + 1.0) * (t + 2)
        toward = np.asarray(self.lmo(g)) - before
        self._lower += a * (float(self.value(before)) + float(np.vdot(g, toward)))
        gap = A * float(self.value(after)) - self._lower
        bound = self.L * a * a / (2 * A) * float(np.vdot(toward, toward))
        left, last = gap - self._last, self._last
        self._t, self._last = t + 1, gap
        terms = {"A_t f(x+)": gap + self._lower, "A_t L_t": self._lower, "A_{t-1} G_{t-1}": last}
        return left, bound, {**terms, "bound": bound}
