"""What says that no iterate depends on `iterations` begins every longer run, bit for bit."""

from functools import cache

import pytest
from helpers import tiny_logistic, tiny_multiclass, tiny_recovery

from pfbench.algorithms.catalogue import ALGORITHMS, algorithm
from pfbench.base.errors import RefusedError
from pfbench.problems.linear_models import NonconvexLogistic
from pfbench.problems.with_norm import NormedProblem
from pfbench.runs.loop.resolved_run import resolve_run
from pfbench.runs.loop.solve import solve
from pfbench.runs.loop.streams import random_stream
from pfbench.runs.storage.run_keys import is_anytime
from pfbench.sets import L1Penalty, WholeSpace
from pfbench.sets.named_norms import vector_norm_ball


def logistic(d=5, **options):
    plain = tiny_logistic(n=11, d=d, spread=1.0)
    kept = {"features": plain.features, "labels": plain.labels, "alpha": 0.05}
    return NonconvexLogistic(**kept | {"set": plain.set} | options)


PROBLEMS = {
    "ball": logistic,
    "penalty": lambda: logistic(set=WholeSpace(5), penalty=L1Penalty(0.01)),
    "whole": lambda: logistic(set=WholeSpace(5)),
    **{
        kind: lambda kind=kind: NormedProblem(
            logistic(6, set=WholeSpace(6)), vector_norm_ball(kind, 6)
        )
        for kind in ("linf", "l2", "spectral")
    },
    "factored": lambda: tiny_recovery(shape=(6, 5), n=13, radius=8.0, sigma=4.0),
    "matrix": lambda: tiny_multiclass(n=9, d=4, classes=3),
}

EPOCHS = {"batch": 2, "period": 3}
BATCH = {"batch": 3}
STEP = {"step": 0.1}
COIN = BATCH | {"refresh": 0.3}
BETA = {"beta": 0.7}
SLIDING = {"smoothness": 0.5}
RESTARTS = {"restarts": 5, "period": 3, "smoothness": 2.0, "curvature": 0.5, "delta": 1.0}

# Every algorithm, with what it needs beside `iterations`.
CASES = [
    *(
        ("frank-wolfe", {"step": step})
        for step in ("line-search", "open-loop", "log-adaptive", "backtracking")
    ),
    ("frank-wolfe", {"step": "adaptive", "curvature": 3.0}),
    ("frank-wolfe", {"step": "short", "smoothness": 3.0}),
    ("sfw", BATCH | STEP),
    ("svfw", EPOCHS | STEP),
    ("sagafw", BATCH | STEP),
    ("nfwu-sg", BATCH | STEP),
    ("nfwu-sg", BATCH | STEP | {"restarts": 2}),
    ("nfwu-svrg", EPOCHS | STEP),
    ("nfwu-spiderg", EPOCHS | STEP),
    ("nfwu-casvrg", EPOCHS | STEP),
    ("nfwu-caspiderg", EPOCHS | STEP),
    *(("ncgs", SLIDING | {"option": option}) for option in (1, 2)),
    ("ncgs", SLIDING | {"tolerance": 0.05}),
    ("ncgs-stochastic", SLIDING),
    ("ncgs-stochastic", SLIDING | {"tolerance": 0.05}),
    ("ncgs-vr", SLIDING | EPOCHS),
    ("ncgs-vr", SLIDING | EPOCHS | {"tolerance": 0.02, "output": "weighted"}),
    ("cgs", RESTARTS),
    ("storc", RESTARTS | {"batch": 4}),
    ("prox-gd", STEP),
    ("projected-gradient", STEP),
    ("prox-sgd", STEP | BATCH),
    ("svrg", STEP | EPOCHS),
    ("prox-svrg", STEP | EPOCHS),
    ("projected-svrg", STEP | EPOCHS),
    ("prox-svrg-plus", STEP | EPOCHS | {"snapshot": 4}),
    ("saga", STEP | BATCH),
    ("prox-saga", STEP | BATCH),
    *(("sarah", STEP | EPOCHS | {"output": output}) for output in ("uniform", "last")),
    *(("spider", STEP | EPOCHS | {"option": option}) for option in (1, 2)),
    ("spiderboost", STEP | EPOCHS),
    ("prox-spiderboost", STEP | EPOCHS | {"snapshot": 5}),
    ("prox-spiderboost-m", STEP | EPOCHS),
    ("asvrg", STEP | EPOCHS),
    ("prox-asvrg", STEP | EPOCHS),
    ("katyusha-ns", STEP | EPOCHS),
    ("prox-katyusha-ns", STEP | EPOCHS),
    ("rsag", STEP | BATCH),
    ("prox-rsag", STEP | BATCH | {"output": "weighted"}),
    *((name, SLIDING) for name in ("afw", "pfw", "bpfw")),
    ("bpfw", SLIDING | {"lazy": True}),
    ("afw", SLIDING | {"step": "line-search"}),
    ("nfwu-page", STEP | COIN),
    ("nfwu-lsvrg", STEP | COIN),
    ("nfwu-storm", STEP | BATCH | {"alpha": 0.3}),
    ("spider-fw", EPOCHS | STEP),
    ("spider-fw", EPOCHS | STEP | {"sampling": "importance"}),
    ("page-fw", STEP | COIN),
    ("lsvrg-fw", STEP | COIN),
    ("zerosarah-fw", STEP | BATCH | {"table_weight": 0.2}),
    ("storm-fw", STEP | BATCH | {"alpha": 0.3, "snapshot": 5}),
    *((name, given) for name in ("one-sfw", "momentum-sfw") for given in ({}, STEP | BATCH)),
    ("page-fw-convex", COIN | {"delay": 8}),
    ("spider-fw-convex", {}),
    ("cgs-convex", SLIDING | {"diameter": 2.0}),
    ("ncgs-spider", SLIDING | EPOCHS | {"tolerance": 0.05}),
    ("ncgs-spider", SLIDING | EPOCHS | {"tolerance": 0.05, "sampling": "importance"}),
    ("page", STEP | COIN),
    ("prox-page", STEP | COIN),
    ("lsvrg", STEP | COIN),
    *(("zerosarah", STEP | BATCH | {"table_weight": 0.2, "table": t}) for t in ("full", "zero")),
    ("storm", STEP | {"alpha": 0.8, "floor": 2.0}),
    ("scg", STEP | BATCH),
    ("scg", STEP | BATCH | {"alpha": 0.3, "begin": "zero"}),
    ("uscg", STEP | BATCH),
    ("uscg", STEP | BATCH | {"alpha": 0.3, "decay": 2.0}),
    ("uscg-mvr", STEP | BATCH | {"alpha": 0.3, "snapshot": 5}),
    ("almond", STEP | BATCH | {"alpha": 0.3}),
    *((name, STEP | BATCH | BETA) for name in ("muon", "muon-nesterov")),
    *((name, STEP | BATCH | BETA) for name in ("signum", "normalised-sgd")),
    ("natasha15", STEP | {"sigma": 0.1, "snapshot": 7, "subepochs": 2}),
]
# Those whose iterates depend on how many there will be, unless a parameter says otherwise.
TOLERANT = ("ncgs", "ncgs-stochastic", "ncgs-vr")
RESTARTED = ("cgs", "storc")
MEASURES = ("fw_gap", "value", "estimator_error", "gradient_mapping_sq")


def chosen(case, iterations):
    name, given = case
    return algorithm(name, **given | ({} if name in RESTARTED else {"iterations": iterations}))


def label(case):
    texts = [f"{key}={value}" for key, value in case[1].items() if isinstance(value, str | float)]
    return "-".join([case[0], *texts])


@cache
def problem(name):
    return PROBLEMS[name]()


def fitting(case):
    """The problems that a case can be run on, each with the algorithm."""
    found = []
    for name in PROBLEMS:
        try:
            method = resolve_run(problem(name), chosen(case, 3))
            method.check_requirements(problem(name).open(random_stream(0, "oracles")))
        except RefusedError:
            continue
        found.append((problem(name), method.algorithm))
    return found


def test_every_algorithm_has_a_case():
    assert {name for name, _ in CASES} == set(ALGORITHMS)


def begins(on, case, iterations):
    """The first recorded iterates of a run, without its seconds."""
    run = solve(on, chosen(case, iterations), measures=MEASURES, seed=3)
    place = run.columns.index("seconds")
    return repr([row[:place] + row[place + 1 :] for row in run.rows[:8]])


@pytest.mark.thin(3)
@pytest.mark.parametrize("case", CASES, ids=label)
def test_what_is_anytime_begins_every_longer_run(case):
    name, given = case
    problems = fitting(case)
    assert problems
    said = {is_anytime(method) for _, method in problems}
    if name in RESTARTED:
        assert said == {False}
        return
    depends = name in TOLERANT and "tolerance" not in given
    depends = depends or (name == "nfwu-sg" and "restarts" in given)
    assert said == {not depends}
    # What is said to depend on T does.
    assert any(begins(on, case, 7) != begins(on, case, 13) for on, _ in problems) == depends
