"""Times of the oracles of each problem and set: ``pytest benchmarks/micro --benchmark-only``."""

import math

import numpy as np
import pytest

import pfbench as pf
from benchmarks.timed import problem_of
from benchmarks.times import BALL, DENSE, RECOVERY

PROBLEMS = {"recovery": RECOVERY, "sparse": BALL, **DENSE}

SETS = ("l1", "l2", "linf", "simplex", "k-sparse", "permutahedron")


@pytest.fixture(scope="module", params=PROBLEMS)
def asked(request):
    """Return a problem's backend, a point inside the set, the start, the gradient, and a sample."""
    problem = problem_of(PROBLEMS[request.param])
    backend = problem.open(np.random.default_rng(0))
    start = problem.start()
    x = pf.combine(start, backend.lo(backend.gradient(start)), 0.5)
    sample = np.random.default_rng(1).integers(problem.n, size=math.isqrt(problem.n))
    return backend, x, start, backend.gradient(x), sample


def test_gradient(benchmark, asked):
    backend, x, *_ = asked
    benchmark(backend.gradient, x)


def test_value(benchmark, asked):
    backend, x, *_ = asked
    benchmark(backend.value, x)


def test_batch(benchmark, asked):
    backend, x, _, _, sample = asked
    benchmark(backend.batch, sample, x)


def test_difference(benchmark, asked):
    backend, x, start, _, sample = asked
    benchmark(backend.difference, sample, x, start)


def test_linear_minimisation(benchmark, asked):
    """Time linear minimisations for gradients that differ, so that no warm start is exact."""
    backend, _, _, g, _ = asked
    noise = np.random.default_rng(2).standard_normal((8, *g.shape)) * 0.1 * g.std()
    others = [g + one for one in noise]
    benchmark(lambda: [backend.lo(other) for other in others])


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("verb", ["lo", "prox"])
def test_set(benchmark, name, verb):
    """Time a function of each set of vectors with 1000 entries."""
    more = ",k=10" if name == "k-sparse" else ""
    problem = problem_of(f"quadratic[rows=50,columns=1000,set={name},radius=5{more}]")
    backend, x = problem.open(np.random.default_rng(0)), problem.start()
    g = np.random.default_rng(1).standard_normal(x.shape)
    benchmark(*((backend.lo, g) if verb == "lo" else (backend.prox, x, g, 0.1)))
