"""Problems with one fault each, in the styles of strangers, beside right ones."""

import numpy as np
from checking.faults import by_name

from pfbench.base.constants import Constants
from pfbench.base.sample import weight_indices
from pfbench.problems import FiniteSum
from pfbench.sets import L1Ball, L1Penalty, L2Ball, Simplex, WholeSpace

# --- right, in several styles ---------------------------------------------------------------------


class Ridge(FiniteSum):
    """Least squares with a ridge, by `component`; all constants are exact or bounds."""

    def __init__(self, n=7, d=4, seed=0):
        rng = np.random.default_rng(seed)
        self.A, self.b, self.mu = rng.standard_normal((n, d)), rng.standard_normal(n), 0.3
        self.n, self.set = n, L2Ball(d, 1.5)

    properties = frozenset({"convex"})

    def value(self, x):
        return 0.5 * np.mean((self.A @ x - self.b) ** 2) + 0.5 * self.mu * x @ x

    def gradient(self, x):
        return self.A.T @ (self.A @ x - self.b) / self.n + self.mu * x

    def component(self, i, x):
        return (self.A[i] @ x - self.b[i]) * self.A[i] + self.mu * x

    def hessian(self, s):
        return RidgeHessian(self)

    def component_smoothness(self):
        return (self.A**2).sum(axis=1) + self.mu

    def constants(self, start):
        squares = self.component_smoothness()
        parts = [np.outer(a, a) + self.mu * np.eye(a.size) for a in self.A]
        second = np.mean([H @ H for H in parts], axis=0)
        bound = ((np.abs(self.b) + np.sqrt(squares) * 1.5) ** 2 * squares).mean()
        return Constants(
            n=self.n,
            D=self.set.diameter,
            L_f=np.linalg.eigvalsh(np.mean(parts, axis=0))[-1],
            L_ms=np.sqrt(np.linalg.eigvalsh(second)[-1]),
            L_max=squares.max(),
            L_mean=squares.mean(),
            L2_ms=0.0,
            sigma2=bound,
            delta=self.value(start),
            M=1.5,
            ell=0.0,
            derivations={"L_f": "the largest eigenvalue"},
        )


class RidgeHessian:
    def __init__(self, problem):
        self.A, self.mu, self.n = problem.A, problem.mu, problem.n

    def product(self, x, y):
        return self.A.T @ (self.A @ (x - y)) / self.n + self.mu * (x - y)

    def batch(self, sample, x, y):
        indices, weights = weight_indices(sample)
        A = self.A[indices]
        return A.T @ (weights * (A @ (x - y))) + self.mu * (x - y)


class Entropy(FiniteSum):
    """sum x log x on the simplex: its value is not a number outside; one component, no batch."""

    n, set = 1, Simplex(5)

    def start(self):
        return np.full(5, 0.2)

    def value(self, x):
        return float(np.sum(x[x > 0.0] * np.log(x[x > 0.0]))) if x.min() >= 0.0 else np.nan

    def gradient(self, x):
        return np.log(np.maximum(x, 1e-300)) + 1.0


class Matrix(FiniteSum):
    """Points are matrices; components are entries; there is no set, but a penalty."""

    penalty = L1Penalty(0.1)

    def __init__(self, shape=(3, 2)):
        self.Y = np.arange(6.0).reshape(shape) / 3.0
        self.n, self.set = 6, _Whole(shape)

    def start(self):
        return np.zeros_like(self.Y)

    def value(self, x):
        return np.mean(np.cosh(0.1 * (x - self.Y)))

    def gradient(self, x):
        return 0.1 * np.sinh(0.1 * (x - self.Y)) / 6.0

    def component(self, i, x):
        mask = np.zeros(6)
        mask[i] = 6.0
        return mask.reshape(x.shape) * self.gradient(x)


class _Whole(WholeSpace):
    def __init__(self, shape):
        super().__init__(6)
        object.__setattr__(self, "_shape", shape)

    @property
    def shape(self):
        return self._shape

    def start(self):
        return np.zeros(self._shape)


class Distance(FiniteSum):
    """|x - c|^2 with norms and moduli."""

    n, set = 1, L1Ball(6, 3.0)

    def value(self, x):
        return np.linalg.norm(x - 0.7) ** 2 + np.abs(x[0] - 9.0)

    def gradient(self, x):
        g = 2.0 * (x - 0.7)
        g[0] -= 1.0
        return g


RIGHT = (Ridge(), Ridge(1, 1), Ridge(40, 12, seed=3), Entropy(), Matrix(), Distance())

# --- faults ---------------------------------------------------------------------------------------


def ridge(**parts):
    return type("Mine", (Ridge,), parts)()


def _stated(**numbers):
    """The right problem with other constants: numbers, or factors of the right ones in a text."""

    def constants(self, start):
        from dataclasses import replace

        right = Ridge.constants(self, start)
        new = {
            name: float(one) * getattr(right, name) if isinstance(one, str) else one
            for name, one in numbers.items()
        }
        return replace(right, **new)

    return type("Stated", (Ridge,), {"constants": constants})()


def _leaves_out(self, x):
    g = Ridge.gradient(self, x)
    g[2] -= self.mu * x[2]
    return g


def _curls(self, i, x):
    """Compensate in pairs, so that the mean is right: no component is a gradient."""
    g = Ridge.component(self, i, x)
    if i in (0, 1):
        g = g + (1 - 2 * i) * np.array([x[1], -x[0], 0.0, 0.0])
    return g


def _far_away(self, x):
    """Clips what a run near the start never sees."""
    return Ridge.gradient(self, np.clip(x, -0.9, 0.9))


def _remembers(self, x):
    seen = self.__dict__.setdefault("seen", [])
    seen.append(x.copy())
    return Ridge.gradient(self, seen[-2] if len(seen) > 1 else x)


def _overwrites(self, x):
    out = self.__dict__.setdefault("out", np.zeros(4))
    out[:] = Ridge.gradient(self, x)
    return out


def _centres(self, x):
    x -= 1e-3
    return Ridge.gradient(self, x)


def _noisy(self, x):
    return Ridge.gradient(self, x) + 1e-6 * np.random.default_rng().standard_normal(4)


def _over(choose, total=np.mean):
    """Return a batch over those of its indices that a function chooses."""

    def batch(self, sample, x):
        indices = choose(weight_indices(sample)[0])
        return total([Ridge.component(self, i, x) for i in indices], axis=0)

    return batch


class _NoRidge(RidgeHessian):
    def product(self, x, y):
        return self.A.T @ (self.A @ (x - y)) / self.n


class _ByN(RidgeHessian):
    def batch(self, sample, x, y):
        return RidgeHessian.batch(self, sample, x, y) * len(sample) / self.n


class _Table:
    """Replaces twice what is drawn twice, and forgets the mean."""

    def __init__(self, problem, x):
        self.p = problem
        self.rows = np.array([problem.component(i, x) for i in range(problem.n)])
        self.mean = self.rows.mean(axis=0)

    def difference(self, sample, x):
        return self.p.batch(sample, x) - self.rows[sample].mean(axis=0)

    def replace(self, sample, x):
        change = self.difference(sample, x)
        for i in sample:
            self.rows[i] = self.p.component(i, x)
        return change


_SHARED = np.zeros(4)


PROBLEMS = by_name(
    {
        "gradient": {
            "sign": ridge(gradient=lambda self, x: -Ridge.gradient(self, x)),
            "factor 2": ridge(gradient=lambda self, x: 2.0 * Ridge.gradient(self, x)),
            "one in ten thousand": ridge(gradient=lambda self, x: 1.0001 * Ridge.gradient(self, x)),
            "one entry without the ridge": ridge(gradient=_leaves_out),
            "wrong far away": ridge(gradient=_far_away),
            "penalty twice": ridge(
                value=lambda self, x: Ridge.value(self, x) + 0.5 * self.mu * x @ x
            ),
            "columns for rows": type(
                "Turned", (Matrix,), {"gradient": lambda self, x: Matrix.gradient(self, x)[::-1]}
            )(),
        },
        "value and gradient": {
            "one point late": ridge(gradient=_remembers),
            "one array": ridge(gradient=_overwrites),
            "in place": ridge(gradient=_centres),
            "noise": ridge(gradient=_noisy),
        },
        "components": {
            "no components but the first": ridge(
                component=lambda self, i, x: Ridge.component(self, 0, x)
            ),
            "the last component twice": ridge(
                component=lambda self, i, x: Ridge.component(self, min(i + 1, self.n - 1), x)
            ),
            "components that are no gradients": ridge(component=_curls),
            "a batch is a sum": ridge(batch=_over(lambda S: S, np.sum)),
        },
        "batch and difference": {
            "a batch of distinct indices": ridge(batch=_over(np.unique)),
            "a batch without its last index": ridge(batch=_over(lambda S: S[: max(1, len(S) - 1)])),
            "difference of the wrong sign": ridge(
                difference=lambda self, S, x, y: self.batch(S, y) - self.batch(S, x)
            ),
        },
        "hessian": {
            "Hessian without the ridge": ridge(hessian=lambda self, s: _NoRidge(self)),
            "Hessian batch divided by n": ridge(hessian=lambda self, s: _ByN(self)),
        },
        "table": {"table with an old mean": ridge(table=_Table)},
        "start": {"one start for all": ridge(start=lambda self: _SHARED)},
        "it declares what a problem needs": {
            "start outside": ridge(start=lambda self: np.ones(4)),
            "start at random": ridge(
                start=lambda self: 0.1 * np.random.default_rng().standard_normal(4)
            ),
            "n without the last": _stated(n=6),
        },
        "constant L_f": {"L_f one percent too small": _stated(L_f="0.99")},
        "constant L_ms": {"L_ms is L_f": _stated(L_ms=Ridge().constants(np.zeros(4)).L_f)},
        "constant L_max": {
            "L_max without the ridge": _stated(L_max="0.97"),
            "L_max is a mean": _stated(L_max="0.7"),
        },
        "constant L_mean": {
            "L_mean is a tenth": _stated(L_mean="0.1"),
            "every L_i a tenth too small": ridge(
                component_smoothness=lambda self: 0.9 * Ridge.component_smoothness(self)
            ),
        },
        "constant sigma2": {"sigma2 at the start": _stated(sigma2="0.05")},
        "constant D": {"D is the radius": _stated(D=1.5)},
        "constant delta": {"delta too small": _stated(delta="0.1")},
        "constant M": {"M of the unit ball": _stated(M=1.0)},
        "convex": {
            "convex though it is not": type(
                "Saddle",
                (Distance,),
                {
                    "properties": frozenset({"convex"}),
                    "value": lambda self, x: x[0] ** 2 - 0.01 * x[1] ** 2,
                    "gradient": lambda self, x: np.array([2.0 * x[0], -0.02 * x[1], 0, 0, 0, 0]),
                },
            )()
        },
        "constant ell": {
            "ell too small": type(
                "Waves",
                (Distance,),
                {
                    "value": lambda self, x: np.cos(3.0 * x).sum(),
                    "gradient": lambda self, x: -3.0 * np.sin(3.0 * x),
                    "constants": lambda self, start: Constants(n=1, L_f=9.0, ell=8.0),
                },
            )()
        },
        "best known": {
            "best known that is beaten": type(
                "Best", (Distance,), {"best_known": (20.0, "a guess")}
            )()
        },
    }
)
"""Problems, each with the check that must fail."""
