"""Sets and penalties with one fault each, in the styles of strangers, beside right ones."""

import math

import numpy as np
from checking.faults import by_name

from pfbench.points import RankOne
from pfbench.sets import (
    L1Ball,
    L1Penalty,
    L2Ball,
    LinfBall,
    NuclearBall,
    NuclearPenalty,
    Simplex,
    SpectralBall,
)

# --- right, in other styles -----------------------------------------------------------------------


class Duck:
    """An l1 ball that derives from nothing and tells the least."""

    name, has_projection = "duck", False

    def __init__(self, d=5, radius=2.0):
        self.d, self.radius, self.diameter = d, radius, 2.0 * radius

    def start(self):
        return np.zeros(self.d)

    def lo(self, g):
        k = np.abs(g).argmax()
        return -self.radius * (np.sign(g[k]) or 1.0) * np.eye(self.d)[k]

    def minimum(self, g):
        least = -self.radius * np.abs(g).max()
        return least, least

    def project(self, y):
        from pfbench.base.errors import RefusedError

        raise RefusedError("there is no projection.")

    def contains(self, x, tolerance=1e-9):
        return bool(np.isfinite(x).all() and np.abs(x).sum() <= self.radius * (1.0 + tolerance))


class Ellipsoid:
    """All x with sum of (x_i/a_i)^2 at most 1, around no corner of the axes."""

    name, has_projection, diameter_is_exact = "ellipsoid", False, True

    def __init__(self):
        self.a, self.c = np.array([1.0, 2.0, 0.5]), np.array([0.3, 0.0, -0.2])
        self.diameter = 4.0

    def start(self):
        return self.c.copy()

    def lo(self, g):
        ag = self.a * g
        size = np.linalg.norm(ag)
        return self.c - self.a * (ag / size if size else np.eye(3)[0])

    def minimum(self, g):
        value = float(g @ self.c - np.linalg.norm(self.a * g))
        return value, value

    project = Duck.project

    def contains(self, x, tolerance=1e-9):
        # It raises on NaN, as an SVD may.
        return bool(np.linalg.norm((np.asarray_chkfinite(x) - self.c) / self.a) <= 1 + tolerance)


class Segment:
    """The points between two, in the plane: a set without an inside."""

    name, has_projection, diameter = "segment", True, math.sqrt(2.0)

    def start(self):
        return np.array([1.0, 0.0])

    def lo(self, g):
        return np.array([1.0, 0.0]) if g[0] <= g[1] else np.array([0.0, 1.0])

    def minimum(self, g):
        return float(g.min()), float(g.min())

    def project(self, y):
        t = np.clip((y[0] - y[1] + 1.0) / 2.0, 0.0, 1.0)
        return np.array([t, 1.0 - t])

    def contains(self, x, tolerance=1e-9):
        return bool(abs(x.sum() - 1.0) <= tolerance and x.min() >= -tolerance)


RIGHT = (Duck(), Duck(1, 0.3), Duck(40, 1e4), Ellipsoid(), Segment())

# --- faults ---------------------------------------------------------------------------------------


def _l1(**methods):
    return type("Ball", (L1Ball,), methods)(6, 1.5)


def _l2(**methods):
    return type("Ball", (L2Ball,), methods)(5, 1.5)


def _simplex(**methods):
    return type("Mine", (Simplex,), methods)(6, 2.0)


def _linf(**methods):
    return type("Cube", (LinfBall,), methods)(4, 0.5)


def _unit(self, k, value):
    x = np.zeros(self.d)
    x[k] = value
    return x


def _average_of_ties(self, g):
    ties = np.abs(g) == np.abs(g).max()
    x = np.where(ties, -np.sign(g) * self.radius / ties.sum(), 0.0)
    return x if x.any() else _unit(self, 0, self.radius)


def _forgets_the_last(self, g):
    k = int(np.abs(g[:-1]).argmax())
    return _unit(self, k, -math.copysign(self.radius, g[k]))


def _one_array(self, g):
    k = int(np.abs(g).argmax())
    _ONE[:] = 0.0
    _ONE[k] = -math.copysign(self.radius, g[k])
    return _ONE


_ONE = np.zeros(6)


def _lazy():
    """Returns the last vertex again if it is nearly as good."""
    last = []

    def lo(self, g):
        v = L1Ball.lo(self, g)
        if last and g @ last[0] <= 0.9 * (g @ v):
            return last[0].copy()
        last[:] = [v.copy()]
        return v

    return lo


def _normalises(self, g):
    g /= max(np.abs(g).max(), 1e-300)
    return L1Ball.lo(self, g)


def _thresholds(self, g):
    return L1Ball.lo(self, np.where(np.abs(g) < 1e-3, 0.0, g))


def _nan_at_zero(self, g):
    with np.errstate(invalid="ignore"):
        return -self.radius * g / np.linalg.norm(g)


def _scaled(self, y):
    return y * min(1.0, self.radius / max(np.abs(y).sum(), 1e-300))


def _in_place(self, y):
    y[:] = L1Ball.project(self, y)
    return y


def _few_steps(self, y):
    """Dykstra's algorithm would go on."""
    x = np.maximum(y, 0.0)
    return x + (self.radius - x.sum()) / x.size


def _shared_start():
    start = np.zeros(6)
    return lambda self: start


def _transposed(self, g):
    u, _, vt = np.linalg.svd(g)
    return RankOne(u[:, 0], vt[:, 0], -self.radius)


def _frobenius(self, g):
    return -self.radius * g / max(np.linalg.norm(g), 1e-300)


SETS = by_name(
    {
        "lo minimises": {
            "sign": _l1(lo=lambda self, g: -L1Ball.lo(self, g)),
            "radius a little too small": _l2(lo=lambda self, g: 0.999 * L2Ball.lo(self, g)),
            "signed maximum": _l1(lo=lambda self, g: _unit(self, int(g.argmax()), -self.radius)),
            "forgets the last": _l1(lo=_forgets_the_last),
            "one array": _l1(lo=_one_array),
            "lazy": _l1(lo=_lazy()),
            "loose membership": _l1(
                contains=lambda self, x, tolerance=1e-9: L1Ball.contains(self, x, 0.05)
            ),
            "membership in another norm": _l1(
                contains=lambda self, x, tolerance=1e-9: (
                    np.linalg.norm(x) <= self.radius + tolerance
                )
            ),
            "half the sum is a member": _simplex(
                contains=lambda self, x, tolerance=1e-9: (
                    x.min() >= -1e-9 and x.sum() <= self.radius + 1e-9
                )
            ),
            "transposed": type("Nuclear", (NuclearBall,), {"lo": _transposed})((3, 3), 2.0),
            "normalised instead of orthogonal": type(
                "Spectral", (SpectralBall,), {"lo": _frobenius}
            )((4, 3), 2.0),
        },
        "vertices are members": {
            "radius too large": _l1(lo=lambda self, g: 2.0 * L1Ball.lo(self, g)),
            "strict membership": _l1(
                contains=lambda self, x, tolerance=1e-9: np.abs(x).sum() < 0.999 * self.radius
            ),
        },
        "lo answers": {"NaN at 0": _l2(lo=_nan_at_zero)},
        "lo returns vertices": {
            "average of ties": _l1(lo=_average_of_ties),
            "inside a face": _linf(lo=lambda self, g: -self.radius * np.sign(g)),
        },
        "lo depends on g alone": {
            "normalises g": _l1(lo=_normalises),
            "thresholds": _l1(lo=_thresholds),
        },
        "membership": {
            "NaN is a member": _l1(
                contains=lambda self, x, tolerance=1e-9: not np.abs(x).sum() > self.radius + 1e-9
            ),
            "not convex": _l1(
                contains=lambda self, x, tolerance=1e-9: (
                    np.isfinite(x).all()
                    and np.sqrt(np.abs(x)).sum() ** 2 <= self.radius * (1 + 1e-9)
                )
            ),
        },
        "diameter": {
            "diameter is the radius": _l1(diameter=1.5),
            "diameter is too large": _l2(diameter=4.0),
        },
        "it declares what it is": {"diameter is infinite": _l1(diameter=math.inf)},
        "projection": {
            "scaled instead of projected": _l1(project=_scaled),
            "projects in place": _l1(project=_in_place),
            "one step of a projection": _simplex(project=_few_steps),
            "projects to a smaller ball": _l2(
                project=lambda self, y: L2Ball(self.d, 0.99 * self.radius).project(y)
            ),
            "answers though it has none": _l1(has_projection=False),
        },
        "random vertices": {
            "random vertices inside": _l1(
                random_vertex=lambda self, rng: 0.5 * L1Ball.random_vertex(self, rng)
            ),
            "random points of a face": _simplex(
                random_vertex=lambda self, rng: self.radius * rng.dirichlet(np.ones(self.d))
            ),
            "one random vertex": _l1(random_vertex=lambda self, rng: _unit(self, 0, self.radius)),
            "random vertices from elsewhere": _l1(
                random_vertex=lambda self, rng: L1Ball.random_vertex(self, np.random.default_rng())
            ),
        },
        "minimum": {
            "minimum without the radius": _l1(
                minimum=lambda self, g: (-np.abs(g).max(), -np.abs(g).max())
            )
        },
        "start": {
            "start outside": _l1(start=lambda self: np.ones(6)),
            "one start for all": _l1(start=_shared_start()),
        },
    }
)
"""Sets, each with the check that must fail."""


# --- penalties ------------------------------------------------------------------------------------


class Elastic:
    """|x|_1 + |x|^2/2, which derives from nothing."""

    def value(self, x):
        return float(np.abs(x).sum() + 0.5 * (x**2).sum())

    def prox(self, y, t):
        return np.sign(y) * np.maximum(np.abs(y) - t, 0.0) / (1.0 + t)


class Bounds:
    """0 above 0, so that prox is a projection of what h sees as -x."""

    def value(self, x):
        return float(np.maximum(-x, 0.0).sum())

    def prox(self, y, t):
        return np.where(y > 0.0, y, np.minimum(y + t, 0.0))


RIGHT_PENALTIES = (Elastic(), Bounds())


def _soft(**methods):
    return type("Mine", (L1Penalty,), methods)(0.7)


def _clip(y, t):
    return np.sign(y) * np.maximum(np.abs(y) - t, 0.0)


def _clips_in_place(self, y, t):
    y -= np.clip(y, -t * self.weight, t * self.weight)
    return y


PENALTIES = by_name(
    {
        "proximal map": {
            "weight left out": _soft(prox=lambda self, y, t: _clip(y, t)),
            "one percent more": _soft(prox=lambda self, y, t: _clip(y, 1.01 * t * self.weight)),
            "hard threshold": _soft(
                prox=lambda self, y, t: np.where(np.abs(y) > t * self.weight, y, 0.0)
            ),
            "value without weight": _soft(value=lambda self, x: float(np.abs(x).sum())),
            "entries instead of singular values": type(
                "Nuclear", (NuclearPenalty,), {"prox": lambda self, y, t: _clip(y, t * self.weight)}
            )(0.5),
        },
        "proximal map leaves y unchanged": {"in place": _soft(prox=_clips_in_place)},
        "convex": {"not convex": _soft(value=lambda self, x: float(np.sqrt(np.abs(x)).sum()))},
        "value": {"negative": _soft(value=lambda self, x: float(x.sum()))},
    }
)
"""Penalties, each with the check that must fail."""
