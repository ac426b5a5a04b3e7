"""Exact oracle counts, for periods, batches and iterations that do not divide each other."""

import pytest

from pfbench.algorithms import algorithm
from pfbench.runs.loop.solve import solve

ODD = [(7, 3, 23), (5, 11, 13), (13, 2, 29), (4, 9, 3), (1, 4, 5), (6, 64, 18)]
"""(p, S, T): also T < p, p = 1, S > n."""


def ceil(a, b):
    return -(-a // b)


def counted(problem, name, **parameters):
    run = solve(problem, algorithm(name, **parameters))
    assert run.status == "finished"
    return run.counts.as_dict()


@pytest.mark.parametrize(("p", "S", "T"), ODD)
@pytest.mark.parametrize("name", ["nfwu-svrg", "nfwu-spiderg"])
def test_first_order_estimators(problem, name, p, S, T):
    n, full = problem.n, ceil(T, p)
    assert counted(problem, name, period=p, batch=S, iterations=T, step=0.05) == {
        "fo": full,
        "sfo": full * n + 2 * S * (T - full),
        "sso": 0,
        "hvp": 0,
        "lo": T,
        "po": 0,
        "fv": 0,
    }


@pytest.mark.parametrize(("p", "S", "T"), ODD)
@pytest.mark.parametrize("name", ["nfwu-casvrg", "nfwu-caspiderg"])
def test_curvature_aided_estimators(problem, name, p, S, T):
    n, full = problem.n, ceil(T, p)
    assert counted(problem, name, period=p, batch=S, iterations=T, step=0.05) == {
        "fo": full,
        "sfo": full * n + 2 * S * (T - full),
        "sso": full * n,
        "hvp": (n + S) * (T - full),
        "lo": T,
        "po": 0,
        "fv": 0,
    }


@pytest.mark.parametrize(("S", "T"), [(3, 23), (64, 5), (1, 1)])
def test_plain_mini_batches(problem, S, T):
    counts = counted(problem, "nfwu-sg", batch=S, iterations=T, step=0.05)
    assert counts == dict.fromkeys(counts, 0) | {"sfo": S * T, "lo": T}


@pytest.mark.parametrize("step", ["adaptive", "open-loop"])
def test_frank_wolfe_without_line_search(problem, step):
    counts = counted(problem, "frank-wolfe", step=step, iterations=17)
    assert counts == dict.fromkeys(counts, 0) | {"fo": 17, "sfo": 17 * problem.n, "lo": 17}


def test_frank_wolfe_with_line_search_pays_for_its_values(problem):
    counts = counted(problem, "frank-wolfe", step="line-search", iterations=17)
    values = counts.pop("fv")
    assert counts == dict.fromkeys(counts, 0) | {"fo": 17, "sfo": 17 * problem.n, "lo": 17}
    assert values % problem.n == 0
    assert values >= 17 * 3 * problem.n


@pytest.mark.parametrize("name", ["nfwu-svrg", "nfwu-caspiderg"])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_best_of_k_adds_a_full_gap_for_each_run(problem, name, k):
    parameters = {"period": 5, "batch": 3, "iterations": 13, "step": 0.05}
    one = counted(problem, name, **parameters)
    best = counted(problem, name, restarts=k, **parameters)
    extra = {"fo": 1, "sfo": problem.n, "lo": 1}
    assert best == {count: k * (one[count] + extra.get(count, 0)) for count in one}


def test_best_of_k_without_full_gradients_of_its_own(problem):
    counts = counted(problem, "nfwu-sg", batch=3, iterations=7, step=0.05, restarts=4)
    n = problem.n
    assert counts == dict.fromkeys(counts, 0) | {"fo": 4, "sfo": 4 * (21 + n), "lo": 4 * 8}


@pytest.mark.parametrize(
    ("probability", "k"),
    [(0.5, 1), (0.3, 2), (0.25, 2), (0.2, 3), (0.125, 3), (0.01, 7), (2**-20, 20)],
)
def test_probability_sets_the_number_of_runs(problem, probability, k):
    """k is the least integer with 2^-k <= delta (shen2019 remark 3.1)."""
    assert 2.0**-k <= probability < 2.0 ** (1 - k)
    parameters = {"period": 5, "batch": 3, "iterations": 4, "step": 0.05}
    given = counted(problem, "nfwu-spiderg", probability=probability, **parameters)
    assert given == counted(problem, "nfwu-spiderg", restarts=k, **parameters)
    assert given["lo"] == (5 * k if k > 1 else 4)
