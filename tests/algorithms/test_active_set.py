"""afw, pfw, bpfw: counts, steps by definition, and linear convergence where Frank-Wolfe has 1/t."""

import json
from pathlib import Path

import numpy as np
import pytest

import pfbench as pf
from pfbench.adapters import from_functions
from pfbench.base.errors import RefusedError
from pfbench.sets import BirkhoffPolytope, KSparsePolytope, MatroidBasePolytope, Simplex
from pfbench.sets.matroid import UniformMatroid
from pfbench.verification.instruments.quadratics import face_of_l1_ball, face_of_simplex

NAMES = ("afw", "pfw", "bpfw")
by_name = pytest.mark.parametrize("name", NAMES)


def heights(problem, name, T, **given):
    run = pf.solve(problem, pf.algorithm(name, iterations=T, **given), measures=("objective",))
    assert run.status == "finished", run.message
    return run, run.trace["objective"].to_numpy()


def test_what_the_active_set_answers_is_no_linear_minimisation():
    problem = face_of_simplex(np.random.default_rng(0), 10, 4.0)
    lazy, low = heights(problem, "bpfw", 300, lazy=True)
    whole, lowest = heights(problem, "bpfw", 300)
    assert (lazy.counts.fo, whole.counts.lo) == (300, 300)
    assert lazy.counts.lo < 100
    assert max(low[-1], lowest[-1]) < 1e-14


@pytest.mark.thin(2)
@by_name
@pytest.mark.parametrize("make", [face_of_simplex, face_of_l1_ball])
@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_linear_where_frank_wolfe_is_not(name, make, seed):
    problem = make(np.random.default_rng(seed), 8, 3.0)
    _, h = heights(problem, name, 400)
    _, slow = heights(problem, "frank-wolfe", 400, step="adaptive")
    assert h[-1] < 1e-12
    assert slow[-1] > 1e-5
    assert (np.diff(h) <= 1e-15).all()


@by_name
def test_it_runs_on_matrices(name):
    """|X - B|^2/2 over doubly stochastic matrices."""
    B, over = np.random.default_rng(0).random((4, 4)), BirkhoffPolytope(4)
    near = from_functions(
        lambda X: float(((X - B) ** 2).sum() / 2.0), lambda X: X - B, over, start=over.start()
    )
    run = pf.solve(near, pf.algorithm(name, iterations=300, smoothness=1.0), measures=("fw_gap",))
    assert run.final["fw_gap"] < 1e-9


@by_name
@pytest.mark.parametrize(
    ("over", "words"),
    [
        ({"set": "l2", "radius": 1}, "is for problems over a polytope, .*: the set l2 is not a"),
        ({"set": "none"}, "queries lo, .*it has no feasible set"),
    ],
)
def test_what_is_no_polytope_is_refused(name, over, words):
    problem = pf.problem("log-cosh", source="synthetic", rows=30, columns=4, **over)
    with pytest.raises(RefusedError, match=rf"^{name} {words}"):
        pf.solve(problem, pf.algorithm(name, iterations=3, smoothness=1.0))


@by_name
def test_a_line_search_is_never_above_the_short_step(name):
    """One step from the same vertices, and many."""
    problem = face_of_l1_ball(np.random.default_rng(2), 6, 3.0)
    _, short = heights(problem, name, 2)
    run, searched = heights(problem, name, 2, step="line-search")
    assert searched[-1] <= short[-1] + 1e-15
    assert run.counts.fv % problem.n == 0
    assert run.counts.fv > 0
    _, h = heights(problem, name, 300, step="line-search")
    assert h[-1] < 1e-10


@pytest.mark.thin(4)
@by_name
@pytest.mark.parametrize("step", ["short", "line-search"])
def test_it_ends_where_the_away_steps_of_frank_wolfe_jl_end(name, step):
    """|x - p|^2 over the hull of vectors with 40 entries +-1, to a gap of 1e-5.

    FrankWolfe.jl's tests publish where its away steps end, f there and the number of steps, with a
    line search of its own; the path between is not among them.
    """
    published = json.loads((Path(__file__).parent / "frank_wolfe_jl.json").read_text())
    p, there = np.array(published["centre"]), np.array(published["point"])
    over = KSparsePolytope(100, 1.0, k=40)
    near = from_functions(
        lambda x: float(((x - p) ** 2).sum()),
        lambda x: 2.0 * (x - p),
        over,
        start=over.lo(np.zeros(100)),
    )
    chosen = pf.algorithm(name, iterations=2000, smoothness=2.0, step=step)
    run = pf.solve(near, chosen, measures=("fw_gap",), stop=pf.Stop.parse("fw_gap=1e-5"))
    assert run.status == "target"
    assert run.iterations <= published["iterations"]
    assert near.value(run.x) == pytest.approx(published["primal"], abs=1e-9)
    assert np.linalg.norm(run.x - there) < 3e-5


def inside(where, slack=0.0):
    """Return a function that takes a point of the set alone, without a tolerance."""

    def check(x):
        if (x < 0.0).any() or not where.contains(x):
            raise ValueError(float(x.min()))

    return check


SMALL = (*map(Simplex, (2, 3, 4)), MatroidBasePolytope(UniformMatroid(4, 2)), BirkhoffPolytope(3))


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", [*NAMES, "lazy"])
@pytest.mark.parametrize("where", SMALL, ids=lambda where: where.name)
def test_the_objective_is_asked_at_members_alone(name, where):
    check, more = inside(where), {"lazy": True} if name == "lazy" else {}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        c, p = rng.random(where.shape), rng.random(where.shape) * rng.integers(2)

        def f(x, c=c, p=p):
            check(x)
            return float((c * x).sum() + ((x - p) ** 2).sum())

        problem = from_functions(
            f, lambda x, c=c, p=p: c + 2.0 * (x - p), where, start=where.start()
        )
        method = pf.algorithm(
            "bpfw" if more else name, step="line-search", iterations=25, smoothness=4.0, **more
        )
        run = pf.solve(problem, method)
        assert run.status == "finished", (seed, run.stop_reason)


def test_the_smallest_objective_that_was_asked_outside_its_set():
    c = np.array([0.6, 0.3, 0.0])

    def f(x):
        inside(Simplex(3))(x)
        return float(c @ x + x @ x)

    problem = from_functions(f, lambda x: c + 2.0 * x, Simplex(3), start=np.eye(3)[0])
    run = pf.solve(problem, "afw[step=line-search,iterations=60,smoothness=4]")
    assert run.status == "finished"
    np.testing.assert_allclose(run.x, [0.18333333, 0.33333333, 0.48333333], atol=1e-7)
