"""Every algorithm comes near a stationary point of a small problem, by the exact measure."""

import numpy as np
import pytest
from linear_reference import DOMAINS, Plain, elsewhere, fits, model, run

from pfbench.algorithms import algorithm
from pfbench.base.state import State
from pfbench.measures import fw_gap
from pfbench.runs.loop.solve import solve

EPOCH = {"batch": 12, "period": 6, "iterations": 1500, "step": 0.004, "output": "last"}

RUNS = [
    ("frank-wolfe", {"step": "line-search", "iterations": 300}, 0.01),
    ("frank-wolfe", {"step": "adaptive", "iterations": 1500}, 0.05),
    ("frank-wolfe", {"step": "open-loop", "iterations": 600}, 0.02),
    ("nfwu-sg", {"batch": 300, "iterations": 1500, "step": 0.004, "output": "last"}, 0.2),
    ("nfwu-svrg", EPOCH, 0.1),
    ("nfwu-spiderg", EPOCH, 0.1),
    ("nfwu-casvrg", EPOCH, 0.1),
    ("nfwu-caspiderg", EPOCH, 0.1),
    ("sfw", {"batch": 300, "iterations": 1500, "step": 0.004, "output": "last"}, 0.2),
    ("svfw", EPOCH, 0.1),
    ("sagafw", {"batch": 12, "iterations": 1500, "step": 0.004, "output": "last"}, 0.1),
]


@pytest.mark.thin(6)
@pytest.mark.parametrize(
    ("name", "parameters", "share"), RUNS, ids=[f"{r[0]}-{r[1].get('step')}" for r in RUNS]
)
def test_the_gap_falls_to_a_share_of_the_first(problem, name, parameters, share):
    found = solve(problem, algorithm(name, **parameters), seed=1)
    first = fw_gap(problem, State(problem.start()))[1]
    assert found.status == "finished"
    assert found.final["fw_gap"] < share * first


# --- by the gradient mapping ----------------------------------------------------------------------

STEPS = {"iterations": 3000, "step": 0.2, "batch": 5}
MAPPED = {
    **{name: {"iterations": 1500, "step": 0.4} for name in ("prox-gd", "projected-gradient")},
    **{name: STEPS | {"period": 3} for name in ("svrg", "prox-svrg", "projected-svrg")},
    "prox-svrg-plus": STEPS | {"period": 2, "step": 0.1},
    **{name: STEPS | {"step": 0.1} for name in ("saga", "sag", "prox-saga")},
    **{name: STEPS | {"period": 3} for name in ("spiderboost", "prox-spiderboost")},
    "sarah": STEPS | {"period": 5, "step": 0.4},
    "spider": STEPS | {"period": 3, "step": 0.1, "lam": 0.2},
    "prox-spiderboost-m": STEPS | {"period": 3, "step": 0.1},
    "rsag": {"iterations": 3000, "batch": 11, "step": 0.3},
    "natasha15": {
        **{"iterations": 8800, "step": 0.1},
        **{"snapshot": 11, "subepochs": 2, "sigma": 0.1},
    },
}


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    ("name", "domain"),
    [(name, domain) for name in MAPPED for domain in DOMAINS if fits(name, domain)],
)
def test_the_gradient_mapping_falls_to_zero(name, domain):
    """On a non-convex problem, by the mapping of the second implementation."""
    problem = model(domain=domain)
    states, _ = run(problem, name, **MAPPED[name])
    P, last = Plain(problem), states[-1]
    assert P.mapping(elsewhere(problem)) > 0.05
    assert P.mapping(last.x if last.output is None else last.output) < 1e-7


SUBLINEAR = {
    "prox-asvrg": {"iterations": 4000, "batch": 5, "period": 10, "step": 0.2},
    "prox-katyusha-ns": {"iterations": 4000, "batch": 5, "period": 10, "step": 0.1},
    "prox-rsag": {"iterations": 3000, "batch": 11, "step": 0.2, "momentum": "convex"},
}


@pytest.mark.thin(5)
@pytest.mark.parametrize("name", SUBLINEAR)
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("loss", ["log-cosh", "quadratic"])
def test_accelerated_methods_converge_on_convex_problems(name, domain, loss):
    """Sublinearly: the average of an epoch forgets slowly."""
    problem = model(loss, domain)
    states, _ = run(problem, name, **SUBLINEAR[name])
    P, last = Plain(problem), states[-1]
    assert P.mapping(elsewhere(problem)) > 0.05
    assert P.mapping(last.x if last.output is None else last.output) < 5e-4


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("prox-sgd", {"batch": 2}),
        ("prox-svrg-plus", {"batch": 5, "period": 3, "snapshot": 2}),
        ("prox-spiderboost", {"batch": 5, "period": 3, "snapshot": 2}),
    ],
)
def test_with_a_fixed_sampled_reference_the_mapping_stalls_at_the_noise(name, extra):
    problem = model(domain="penalty")
    P = Plain(problem)
    states, _ = run(problem, name, iterations=1500, step=0.05, **extra)
    levels = [P.mapping(state.at) ** 2 for state in states[500:]]
    assert 1e-5 < np.mean(levels) < P.mapping(elsewhere(problem)) ** 2
