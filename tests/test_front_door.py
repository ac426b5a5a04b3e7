"""Public callables, given wrong kinds or odd names: a sentence of their error, or a result."""

import inspect
import warnings
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from answers import f, g, lmo
from helpers import refused

import pfbench as pf
from pfbench import adapters
from pfbench.algorithms import ALGORITHMS
from pfbench.algorithms.frank_wolfe import FrankWolfe
from pfbench.base.constants import Constants
from pfbench.base.errors import InputError, PfbenchError, end_sentence
from pfbench.base.names import unknown_name_error
from pfbench.base.selectors import Selector
from pfbench.runs.loop import solve as loop
from pfbench.sets import L1Ball, L2Ball, LinfBall, Simplex
from pfbench.verification.claim import Mutant
from pfbench.verification.statements.setting import check_signature

SMALL = {"source": "synthetic", "rows": 20, "columns": 4, "set": "l2"}
X = np.ones(3)
PROBLEM = pf.problem("quadratic", **SMALL)
METHOD = pf.algorithm("frank-wolfe", iterations=3, step="open-loop")
RUN = pf.solve(PROBLEM, METHOD, measures="fw_gap")


class Thing:
    pass


def halves(ask, x, rng):
    for t in range(4):
        x = pf.combine(x, ask.lo(ask.gradient(x)), 0.5 / (t + 1))
        yield pf.State(x)


KINDS = [
    *(None, True, 0, -1, 1.5, float("nan"), float("inf"), 10**30, 1j, "", "xyz", b"x"),
    *([1], (), {}, {"a": 1}, {1, 2}, Thing, Thing(), object, lambda x: x),
    *(np.float64(2.0), np.int64(3), X, np.ones((2, 2)), np.array(5)),
]


def replaced(function, given, **named):
    """Return (label, call of one value) for each argument of a call that is right."""
    for k in range(len(given)):
        yield f"argument {k}", lambda v, k=k: function(*given[:k], v, *given[k + 1 :], **named)
    for name in named:
        yield name, lambda v, name=name: function(*given, **{**named, name: v})


POINTS = (X, X, 0.5)
CALLS = {
    "problem": (pf.problem, ("quadratic",), {**SMALL, "penalty": None, "seed": 0}),
    "recovery": (
        pf.problem,
        ("robust-matrix-recovery",),
        {"source": "synthetic", "rows": 9, "columns": 8, "rank": 2, "radius": 2.0},
    ),
    "multitask": (
        pf.problem,
        ("multitask-sigmoid",),
        {"source": "synthetic", "set": "nuclear", "arrays": None},
    ),
    "algorithm": (
        pf.algorithm,
        ("nfwu-spiderg",),
        {"epsilon": 0.1, "schedule": "theory", "output": "last"},
    ),
    "solve": (
        pf.solve,
        (PROBLEM, METHOD),
        {
            **dict.fromkeys(("budget", "stop", "time_limit", "start")),
            **{"seed": 0, "measures": (), "every": 1},
        },
    ),
    "loop": (loop.solve, (PROBLEM, METHOD), {"budget": None, "stop": None, "measures": ()}),
    "parameters": (
        lambda **given: pf.solve(PROBLEM, pf.algorithm("frank-wolfe", **given), budget={"lo": 9}),
        (),
        {"iterations": 3, "step": "open-loop", "curvature": None, "output": "last"},
    ),
    "estimating": (
        lambda **given: pf.solve(PROBLEM, pf.algorithm("nfwu-spiderg", **given), budget={"lo": 9}),
        (),
        {"iterations": 3, "step": 0.1, "batch": 2, "period": 2},
    ),
    "check": (lambda what: pf.check(what), ("x",), {}),
    "check kind": (lambda kind: pf.check("nothing", kind=kind), ("set",), {}),
    "check problem": (lambda p: pf.check("l1", problem=p), ("quadratic",), {}),
    "verify": (lambda **given: pf.verify(**{"names": ["no-claim"], **given}), (), {"effort": "x"}),
    "verify names": (lambda one: pf.verify([one]), ("no-claim",), {}),
    "falsify": (
        pf.falsify,
        ("no-claim",),
        {"seconds": 1, "seed": 0, "horizon": 16, "size": 3, "families": None, "allow": ()},
    ),
    "fit_rate": (
        pf.fit_rate,
        ([RUN],),
        {"targets": [0.5], "measure": "fw_gap", "count": "lo", "decades": 0.0},
    ),
    "combine": (pf.combine, POINTS, {}),
    "tilt": (pf.tilt, (X, *POINTS), {}),
    "inner": (pf.inner, (X, X), {}),
    "distance": (pf.distance, (X, X), {}),
    "keep": (pf.keep, (X,), {}),
    "Sample": (pf.Sample, (np.array([1]), np.array([2])), {}),
    "Stop": (pf.Stop, ("fw_gap", 0.1), {}),
    "Stop.parse": (pf.Stop.parse, ("fw_gap=1",), {}),
    "Budget": (pf.Budget, (), {"sfo": 3, "lo": 4}),
    "Budget.parse": (pf.Budget.parse, ("sfo=1",), {}),
    "last": (RUN.final_value, ("fw_gap",), {}),
    "first": (RUN.first_value, ("fw_gap", 0.1), {}),
    "plot": (RUN.plot, (), {"measure": None, "against": "sfo", "ax": 0}),
    "plot runs": (pf.plot, ([RUN],), {"measure": "none", "against": "sfo"}),
    "compare": (pf.compare, ("no-method",), {"suite": "none", "problem": None, "output": 1}),
    "report": (pf.report, ("no-file.toml",), {"output": 1}),
    "list_runs": (pf.list_runs, ("no-folder",), {"problem": "a", "algorithm": "b"}),
    "from_functions": (
        adapters.from_functions,
        (f, g, lmo),
        {"start": np.zeros(3), "components": None, "constants": {}, "properties": ()},
    ),
    "FunctionSet": (
        adapters.FunctionSet,
        (lmo, np.zeros(3)),
        {"diameter": None, "project": None, "contains": None},
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_kind_is_refused_or_has_a_result(name):
    function, given, named = CALLS[name]
    bad = []
    for label, call in replaced(function, given, **named):
        for value in KINDS:
            if label == "ax" and value is None:
                continue  # draws
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    call(value)
            except PfbenchError as error:
                if "\n" in str(error):
                    bad.append(f"{label}={value!r}: {error}")
            except Exception as error:
                bad.append(f"{label}={value!r}: {type(error).__name__}: {error}")
    assert not bad


def test_every_public_callable_is_tried():
    tried = {function for function, *_ in CALLS.values()}
    # A State is looked at where it is yielded, the others hold what they are given.
    left_out = {"Algorithm", "Counts", "PfbenchError", "Run", "State", "check", "verify"}
    for name in pf.__all__:
        one = getattr(pf, name)
        assert inspect.ismodule(one) or one in tried or name in left_out, name


RIGHT = {
    "names": ("quadratic[rows=20,columns=4]", "frank-wolfe[iterations=4]"),
    "a class": (PROBLEM, FrankWolfe),
    "a function": (PROBLEM, halves),
    "functions": (lambda: PROBLEM, lambda: METHOD),
}


@pytest.mark.parametrize(("problem", "algorithm"), RIGHT.values(), ids=RIGHT)
@pytest.mark.parametrize("budget", [{"lo": 3}, "lo=3", pf.Budget(lo=3)])
def test_names_classes_and_functions_are_solved(problem, algorithm, budget):
    run = pf.solve(problem, algorithm, budget=budget, stop="fw_gap=0")
    assert (run.status, run.counts.lo) in {("budget", 3), ("finished", 3)}


def test_a_selector_takes_more_parameters():
    both = pf.problem("quadratic[rows=20,columns=4]", set="l2")
    assert (both.n, both.set.name) == (20, "l2")
    assert pf.algorithm("nfwu-sg[batch=3]", step=0.1).parameters == {"batch": 3, "step": 0.1}


def test_a_class_that_needs_parameters_is_told_which():
    with refused("NFWUSG needs", "iterations=..."):
        pf.solve(PROBLEM, ALGORITHMS["nfwu-sg"])


# --- What a new user found odd: names, sentences, numbers, wrong kinds ----------------------------


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("sof", ["fo", "sfo", "sso", "lo"], "sfo"),
        ("fos", ["fo", "sfo", "sso"], "sfo"),
        ("quadratc", ["quadratic", "log-cosh"], "quadratic"),
    ],
)
def test_letters_in_another_order_are_the_nearest_name(name, known, near):
    assert f"did you mean {near!r}?" in str(unknown_name_error("count", name, known))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("a", "a."), ("a.", "a."), ("a..", "a."), ("is it 'b'?", "is it 'b'?"), ("b?.", "b?")],
)
def test_a_sentence_has_one_mark_at_its_end(text, sentence):
    assert end_sentence(text) == sentence


def test_an_unknown_constant_is_named_and_constants_are_copied_as_before():
    constants = Constants(n=3, L_f=2.0)
    with pytest.raises(AttributeError, match="did you mean 'L_f'"):
        _ = constants.Lf
    assert replace(copy(constants), n=3) == constants


@pytest.mark.parametrize("text", ["frank‑wolfe", "ﬁnite", "l2[radius=2]–x"])
def test_a_strange_character_is_named(text):
    with refused("the character "):
        Selector.parse(text)


def test_a_function_of_other_arguments_is_called_what_the_user_knows():
    with pytest.raises(InputError, match=r"the bound must be a function of \(c, a\)"):
        check_signature("the bound", lambda c: c, "c, a")


class Right:
    """The right method."""


class Wrong(Right):
    pass


def test_a_fault_without_words_is_not_described_as_the_right_method():
    assert Mutant.from_variant("wrong", Wrong).description == "Wrong"
    assert Mutant.from_variant("right", Right).description == "The right method."


def test_no_claims_are_not_all_claims():
    with refused("names no claim"):
        pf.verify([])


@pytest.mark.parametrize("kind", [L1Ball, L2Ball, LinfBall, Simplex])
@pytest.mark.parametrize("verb", ["lo", "minimum"])
def test_a_set_refuses_what_is_no_gradient_of_its_points(kind, verb):
    body = kind(3)
    for wrong in (None, [1, 2, 3], np.zeros(4), np.zeros((3, 1)), 2.0):
        with refused("shape (3,)"):
            getattr(body, verb)(wrong)
    small = np.array([-128, 5, 1], np.int8)
    np.testing.assert_array_equal(
        getattr(body, verb)(small), getattr(body, verb)(small.astype(float))
    )


def test_a_set_may_be_an_object():
    by_object = pf.problem("quadratic", rows=20, columns=5, set=L2Ball(5, radius=3.0))
    by_name = pf.problem("quadratic", rows=20, columns=5, set="l2", radius=3.0)
    assert (by_object.set, by_object.parameters) == (by_name.set, by_name.parameters)
    with refused("(4,)", "(5,)"):
        pf.problem("quadratic", rows=20, columns=5, set=L2Ball(4))
