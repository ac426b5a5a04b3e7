"""Remarks of `check`: unscaled data, a set with few vertices, and an lmo that is NaN at 0."""

import numpy as np
import pytest
from own_things import Quadratic
from scipy.special import expit

import pfbench as pf
from pfbench.sets import L1Ball, L2Ball
from pfbench.sets.body import VectorConvexBody


class Unscaled(Quadratic):
    """Logistic regression on columns from 1e-4 to 4e4: saturated nearly everywhere."""

    def __init__(self, rows=60, columns=6):
        rng = np.random.default_rng(0)
        self.a = rng.standard_normal((rows, columns)) * np.geomspace(1e-4, 4e4, columns)
        self.y = np.sign(rng.standard_normal(rows))
        self.n, self.set = rows, L2Ball(columns, 1.0)

    def value(self, x):
        return float(np.mean(np.logaddexp(0.0, -self.y * (self.a @ x))))

    def gradient(self, x):
        return self.batch(np.arange(self.n), x)

    def batch(self, sample, x):
        a, y = self.a[sample], self.y[sample]
        return -a.T @ (y * expit(-y * (a @ x))) / len(sample)


class Curled(Unscaled):
    """The same, and no gradient: a part that turns."""

    def batch(self, sample, x):
        turn = np.zeros(6)
        turn[4], turn[5] = x[5], -x[4]
        return super().batch(sample, x) + 1e4 * turn


def found(what, check):
    return next(result for result in pf.check(what).findings if result.check == check)


def test_a_saturated_loss_is_not_accused_and_remarked_on():
    """Two underflows were compared relatively, and the components called no gradients."""
    looked = found(Unscaled(), "components")
    assert looked.status == "passed"
    assert "scale the columns, or perhaps the loss is saturated" in looked.observed
    assert "in scale" not in found(Quadratic(), "components").observed


def test_components_that_are_no_gradients_are_still_accused():
    assert found(Curled(), "components").status == "failed"


class Table(Unscaled):
    """The same on columns from 1e-3 to 1e4: it turns within each step of a difference."""

    def __init__(self, seed=0, factor=1.0):
        rng = np.random.default_rng(seed)
        self.a = rng.standard_normal((300, 8)) * np.geomspace(1e-3, 1e4, 8)
        self.y = np.sign(rng.standard_normal(300))
        self.n, self.set, self.factor = 300, L1Ball(8, 5.0), factor

    def gradient(self, x):
        return self.factor * super().gradient(x)


def test_the_gradient_of_a_table_of_unscaled_columns_is_not_accused():
    """Extrapolations agreed by chance, 0.3 % off the derivative of a right gradient."""
    for seed in range(4):
        assert found(Table(seed), "gradient").status != "failed", seed
        assert found(Table(seed, 1.01), "gradient").status == "failed", seed


class Orders(VectorConvexBody):
    """The permutahedron of n numbers."""

    name, source, summary, has_projection = "orders", "a test", "all orders of 0 .. n-1", False

    def __init__(self, n=4):
        self.n = n

    @property
    def shape(self):
        return (self.n,)

    @property
    def diameter(self):
        return float(np.linalg.norm(np.arange(self.n) - np.arange(self.n)[::-1]))

    def contains(self, x, tolerance=1e-9):
        above = np.cumsum(np.sort(x)) - np.cumsum(np.arange(self.n))
        return bool((above >= -tolerance).all() and abs(above[-1]) <= tolerance)

    def lo(self, g):
        v = np.empty(self.n)
        v[np.argsort(-g, kind="stable")] = np.arange(self.n)
        return v

    def random_vertex(self, rng):
        return rng.permutation(self.n).astype(float)

    def start(self):
        return np.arange(self.n, dtype=float)


class Stated(Orders):
    polytope = True


class NoneAtZero(VectorConvexBody):
    """The unit ball by u/|u|, as in every lecture."""

    name, source, summary, has_projection, d = "ball", "a test", "a ball", False, 3
    diameter = 2.0

    def contains(self, x, tolerance=1e-9):
        return bool(np.linalg.norm(x) <= 1.0 + tolerance)

    def lo(self, g):
        with np.errstate(invalid="ignore"):
            return -g / np.linalg.norm(g)

    def random_vertex(self, rng):
        return self.lo(rng.standard_normal(3))

    def start(self):
        return np.zeros(3)


@pytest.mark.parametrize(
    ("body", "said"), [(Orders(), True), (Stated(), False), (L2Ball(4), False)]
)
def test_a_set_with_few_vertices_is_asked_whether_it_is_a_polytope(body, said):
    assert ("set polytope = True" in found(body, "lo returns vertices").observed) == said


def test_a_linear_minimisation_that_is_nan_at_0_is_named():
    looked = found(NoneAtZero(), "lo answers")
    assert (looked.status, looked.expected) == ("failed", "lo(0) must be a finite vertex")
