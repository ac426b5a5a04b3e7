"""Counts of each run, and runs that begin longer ones."""

import math
import re

import pytest
from helpers import tiny_recovery
from linear_reference import WholeRecovery

from pfbench.algorithms import ALGORITHMS, algorithm
from pfbench.base.errors import RefusedError
from pfbench.runs.loop.resolved_run import resolve_run
from pfbench.runs.loop.solve import solve
from pfbench.runs.storage.run_keys import is_anytime
from pfbench.verification.replay.forms import list_method_forms
from pfbench.verification.replay.replay_instances import (
    SHAPES,
    make_recovery_problem,
    make_small_instances,
)

ODD = (
    {"iterations": 17, "batch": 3, "period": 5},
    {"iterations": 13, "batch": 14, "period": 4},
    {"iterations": 3, "batch": 2, "period": 7},
)
"""Sizes of the forms, which do not divide each other; also S > n and T < p."""

TERM = re.compile(r"\b(FO|SFO|SSO|HVP|LO|PO|LLO) ([^,]+)")


def clauses(method, a):
    """What a method states of each oracle, for these parameters."""
    text, _, zero = method.counts.partition("; table=zero")
    text = zero if a.get("table") == "zero" else text
    if a.get("option") == 2:
        text = text.replace("PO 2T (option 2: PO T)", "PO T")
    if "batch" in a:
        text = text.replace("N(N+1)/2 (with batch: bN)", "bN")
    if a.get("snapshot") and "n ceil" in text:
        text = text.replace("n ceil", "B ceil").replace("FO ceil", "none ceil", 1)
    text = re.sub(r" \((component|online|option|with|B =)[^)]*\)", "", text.partition(";")[0])
    return dict(TERM.findall(text.partition(": ")[2]))


def value(term, symbols):
    """Evaluate a formula in which products are written without a sign, as 2b(T-1)."""
    tokens = re.findall(r"ceil|restarts|b0|\d+|[A-Za-z]|[-+/()]", term)
    code, before = "", ""
    for token in tokens:
        product = before and before not in "-+/(" and before != "ceil" and token not in "-+/)"
        code += "*" * bool(product) + token
        before = token
    return eval(code, {"ceil": math.ceil, **symbols})


def symbols_of(method, problem, a, heads):
    """The numbers of a run by the letters of the formulas."""
    T, b = a.get("iterations"), a.get("batch", 1)
    known = {"n": problem.n, "R": heads, "b": b, "S": b, "B": a.get("snapshot")}
    known |= {"b0": a.get("snapshot") or b, "restarts": a.get("restarts")}
    known |= dict.fromkeys("mpqT", a.get("period"))
    known |= {"m": b, "N": a["period"], "T": a["restarts"] * a["period"]} if T is None else {}
    if T is not None:
        known |= {method.counts[0]: T}
    if "subepochs" in a:
        p = a["subepochs"]
        known |= {"p": p, "m": max(1, a["snapshot"] // (p * b))}
    if "E epochs" in method.counts:  # of 1, 2, 4, ... steps
        return known | {"E": T.bit_length()}
    return known | ({"E": math.ceil(T / a["period"])} if "E = ceil" in method.counts else {})


LEFT_OUT = {"restarts", "probability", "tolerance"}
"""Parameters of forms that run several times, or that end early."""


def cases():
    for name, method in ALGORITHMS.items():
        for k, form in enumerate(list_method_forms(method)):
            if k and (form.keys() & LEFT_OUT or "backtracking" in form.values()):
                continue
            changes = {key: size for key, size in ODD[k % 3].items() if key in form}
            yield pytest.param(name, {**form, **changes}, id=f"{name}-{k}")


def problems(method):
    for shape in SHAPES:
        yield from (instance() for instance in make_small_instances(method, shape))
    yield WholeRecovery(tiny_recovery(shape=(4, 3), n=9).observations, radius=2.0, sigma=0.8)


@pytest.mark.thin(2)
@pytest.mark.parametrize(("name", "a"), [*cases()])
def test_a_run_costs_what_its_method_states(name, a):
    method, compared = ALGORITHMS[name], 0
    for problem in problems(method):
        try:
            run = solve(problem, algorithm(name, **a), measures=("coin",), seed=3)
        except RefusedError:
            continue
        assert run.status == "finished", run.message
        found = {kind.upper(): number for kind, number in run.counts.as_dict().items()}
        symbols = symbols_of(method, problem, a, int(sum(run.trace["coin"].to_numpy() == 1.0)))
        for kind, term in clauses(method, a).items():
            if "condg" in term or "sum over" in term or (kind == "LO" and a.get("lazy")):
                continue
            assert found[kind] == value(term, symbols), (kind, term)
            compared += 1
    assert compared


# --- further counts ---


def counted(problem, name, **parameters):
    run = solve(problem, algorithm(name, **parameters))
    assert run.status == "finished"
    return run.counts.as_dict()


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


# --- what is anytime begins every longer run, bit for bit -----------------------------------------

TOLERANT = ("ncgs", "ncgs-stochastic", "ncgs-vr")
"""Methods whose iterates depend on how many there will be, without a tolerance."""

MEASURES = ("fw_gap", "value", "estimator_error", "gradient_mapping_sq")


def forms():
    for name, method in ALGORITHMS.items():
        for k, form in enumerate(list_method_forms(method)):
            yield pytest.param(name, form, id=f"{name}-{k}")


def anytime_problems(method):
    for shape in SHAPES[:1] if "polytope" in method.requires else SHAPES:
        yield from (instance() for instance in make_small_instances(method, shape))
    if "lo" in method.requires and not method.requires & {"norm", "polytope"}:
        yield make_recovery_problem()


def begins(on, name, a, iterations):
    """The first recorded iterates of a run, without its seconds."""
    run = solve(on, algorithm(name, **a | {"iterations": iterations}), measures=MEASURES, seed=3)
    place = run.columns.index("seconds")
    return repr([row[:place] + row[place + 1 :] for row in run.rows[:8]])


@pytest.mark.thin(8)
@pytest.mark.parametrize(("name", "a"), [*forms()])
def test_what_is_anytime_begins_every_longer_run(name, a):
    on = list(anytime_problems(ALGORITHMS[name]))
    said = {is_anytime(resolve_run(problem, algorithm(name, **a)).algorithm) for problem in on}
    if name in ("cgs", "storc"):
        assert said == {False}
        return
    depends = name in TOLERANT and "tolerance" not in a
    depends = depends or bool(a.keys() & {"restarts", "probability"})
    assert said == {not depends}
    # What is said to depend on T does.
    assert any(begins(one, name, a, 7) != begins(one, name, a, 13) for one in on) == depends
