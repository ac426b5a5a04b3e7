"""condg of qu2018, algorithm 1: its stop, its count, its distance."""

from math import ceil

import numpy as np
import pytest
from both_kinds import dense, minimiser
from helpers import factored, random_pattern
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from pfbench.algorithms.sliding import condg
from pfbench.base.errors import InputError
from pfbench.points import combine, keep
from pfbench.sets import L1Ball, NuclearBall

RADIUS = 1.7
KINDS = ("vector", "matrix", "factored")


class Case:
    """One l and one u in a ball; all that condg asks is noted, and also done on dense arrays."""

    def __init__(self, kind, seed, scale=1.0):
        rng = np.random.default_rng(seed)
        self.rng, self.asked, self.kind = rng, [], kind
        if kind == "vector":
            self.ball = L1Ball(5, RADIUS)
            self.minimiser = self.ball
            self.l = self.plain_l = scale * rng.standard_normal(5)
        else:
            self.pattern = random_pattern(rng, (5, 4), 11)
            self.ball = NuclearBall((5, 4), RADIUS)
            self.minimiser = self.ball.make_warm_lmo(rng, 1e-12)
            self.l = scale * rng.standard_normal(11 if kind == "factored" else (5, 4))
            self.plain_l = self.l
            if kind == "factored":
                self.plain_l = np.zeros((5, 4))
                self.plain_l[self.pattern.row_numbers(), self.pattern.rows.indices] = self.l
        self.plain_u = self.inside()
        self.u = self.point(self.plain_u)
        self.D = 2.0 * RADIUS

    def inside(self):
        shape = 5 if self.kind == "vector" else (5, 4)
        x = self.rng.standard_normal(shape)
        return x / self.norm(x) * RADIUS * self.rng.uniform(0.1, 1.0)

    def norm(self, x):
        return np.abs(x).sum() if x.ndim == 1 else np.linalg.norm(x, "nuc")

    def point(self, x):
        return factored(self.pattern, x) if self.kind == "factored" else x.copy()

    def lo(self, g):
        self.asked.append(g.copy() if isinstance(g, np.ndarray) else g.dense())
        return self.minimiser.lo(g)

    def tilted(self, x, lam):
        return self.plain_l + (x - self.plain_u) / lam

    def gap(self, x, lam):
        g = self.tilted(x, lam)
        return np.vdot(g, x - minimiser(g, RADIUS))

    def phi(self, x, lam):
        return np.vdot(self.plain_l, x) + np.sum((x - self.plain_u) ** 2) / (2.0 * lam)

    def projected(self, lam):
        """The exact minimiser of phi: the projection of u - lam l."""
        y = self.plain_u - lam * self.plain_l
        if self.norm(y) <= RADIUS:
            return y
        if y.ndim == 1:
            return np.sign(y) * lowered(np.abs(y))
        U, s, Vt = np.linalg.svd(y, full_matrices=False)
        return (U * lowered(s)) @ Vt


def lowered(moduli):
    """Lower all moduli by one theta, none below 0, until they sum to the radius: by bisection."""
    low, high = 0.0, moduli.max()
    for _ in range(200):
        theta = (low + high) / 2.0
        low, high = (theta, high) if np.maximum(moduli - theta, 0).sum() > RADIUS else (low, theta)
    return np.maximum(moduli - high, 0.0)


seeds = st.integers(0, 10_000)
each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
def test_both_branches_of_the_line_search_are_reached(kind):
    """A huge l takes a whole step to a vertex (xi = 1), a small one does not."""
    whole = Case(kind, 0, 1e3)
    x = dense(condg(whole, whole.l, whole.u, 1.0, 0.1))
    assert_allclose(x, minimiser(whole.plain_l, RADIUS), rtol=0, atol=1e-9)
    assert len(whole.asked) == 2
    partial = Case(kind, 1, 0.1)
    x = dense(condg(partial, partial.l, partial.u, 1.0, 0.01))
    assert partial.norm(x) < RADIUS * (1.0 - 1e-6)


@each_kind
@given(seed=seeds, lam=st.floats(0.02, 20.0), share=st.floats(0.003, 1.0))
def test_stop_count_and_distance(kind, seed, lam, share):
    """qu2018, condg: gap <= eta, at most 1 + ceil(6 D^2/(lam eta)) LO, |x - prox|^2 <= lam eta."""
    case = Case(kind, seed)
    eta = share * case.D**2 / lam
    x = dense(condg(case, case.l, case.u, lam, eta))
    assert case.gap(x, lam) <= eta * (1.0 + 1e-9)
    assert len(case.asked) <= 1 + ceil(6.0 * case.D**2 / (lam * eta))
    assert np.sum((x - case.projected(lam)) ** 2) <= lam * eta * (1.0 + 1e-9)
    assert case.norm(x) <= RADIUS * (1.0 + 1e-9)
    assert case.phi(x, lam) <= case.phi(case.plain_u, lam) + 1e-12


@each_kind
@given(seed=seeds, lam=st.floats(0.02, 20.0))
def test_a_first_gap_of_at_most_eta_returns_u_itself(kind, seed, lam):
    case = Case(kind, seed)
    x = condg(case, case.l, case.u, lam, case.gap(case.plain_u, lam) * 1.001)
    assert np.array_equal(dense(x), dense(case.u))
    assert len(case.asked) == 1


@each_kind
@given(seed=seeds)
def test_u_stays_readable_and_unchanged(kind, seed):
    """Also where u carries a recorded step, and whichever of u and the result moves on."""
    case = Case(kind, seed)
    v = case.ball.random_vertex(case.rng)
    u = combine(case.u, v, 0.3)
    plain_v = v if kind == "vector" else v.matrix()
    case.plain_u = 0.7 * case.plain_u + 0.3 * plain_v
    x = condg(case, case.l, u, 0.5, 0.2)
    assert_allclose(dense(u), case.plain_u, rtol=0, atol=1e-12)
    before = dense(keep(x))
    for w in (0.2, 0.5, 1.0):
        u = combine(u, v, w)
    assert np.array_equal(dense(x), before)
    after = dense(u)
    for w in (0.2, 0.5, 1.0):
        x = combine(x, v, w)
    assert np.array_equal(dense(u), after)


def test_a_gap_below_what_rounding_leaves_is_refused():
    class Asked:
        lo = staticmethod(L1Ball(3, 1.0).lo)

    u, l = np.array([0.2, -0.1, 0.3]), 1e100 * np.array([0.3, 0.2, -0.1])  # noqa: E741
    with pytest.raises(InputError, match=r"cannot reach the gap eta=0\.1, as rounding"):
        condg(Asked(), l, u, 1e-100, 0.1)
    assert np.abs(condg(Asked(), l, u, 1e-100, 1e90)).sum() <= 1.0
