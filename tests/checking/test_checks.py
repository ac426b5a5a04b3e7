"""The checks: what is right passes, every planted fault is named."""

import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
from checking import faulty_problems, faulty_sets
from checking.faults import faults
from checking.faulty_methods import ALGORITHMS, ESTIMATORS, RIGHT_ESTIMATORS
from checking.faulty_methods import RIGHT as RIGHT_METHODS
from checking.faulty_problems import PROBLEMS, Matrix, Ridge
from checking.faulty_sets import PENALTIES, SETS
from checking.small_problems import BODIES, SMALL

import pfbench as pf
from pfbench.algorithms import ALGORITHMS as OUR_ALGORITHMS
from pfbench.base.state import State
from pfbench.checking import check, estimator_checks
from pfbench.estimators.catalogue import ESTIMATORS as OUR_ESTIMATORS
from pfbench.estimators.epochs import SVRG
from pfbench.problems import FiniteSum
from pfbench.problems.catalogue import PROBLEMS as OUR_PROBLEMS
from pfbench.sets import PENALTIES as OUR_PENALTIES
from pfbench.sets import L1Ball, L2Ball, NuclearBall
from pfbench.sets.catalogue import SETS as OUR_SETS
from pfbench.verification.statements.setting import has_schedule


def failed(found):
    return [one.check for one in found.failures]


def named(one):
    return getattr(one, "__name__", type(one).__name__)


@pytest.mark.thin(8)
@pytest.mark.parametrize("name", OUR_ALGORITHMS)
def test_every_algorithm_of_the_catalogue_passes(name):
    report = check(f"algorithm:{name}")
    assert report.is_passed, str(report)
    if has_schedule(OUR_ALGORITHMS[name]) and not OUR_ALGORITHMS[name].scale_dependence:
        status = {result.check: result.status for result in report.findings}
        expected = "skipped" if name in ("cgs", "storc") else "passed"  # they take no shorter run
        assert status["its run is the same in other units"] == expected


@pytest.mark.thin(2)
@pytest.mark.parametrize("method", RIGHT_METHODS, ids=named)
def test_a_right_method_in_another_style_passes(method):
    for problem in (None, Ridge(), "robust-matrix-recovery[rows=6,columns=5,rank=1]")[: 2 + 1]:
        if isinstance(problem, str) and "Bare" in named(method):
            continue  # it moves arrays
        report = check(method, problem=problem)
        assert (report.kind, failed(report)) == ("algorithm", []), str(report)


def test_a_class_with_slots_declares_its_output():
    parts = {"__annotations__": {"output": str}, "output": "uniform"}
    plain = type("Plain", (OUR_ALGORITHMS["prox-sgd"],), parts)
    slots = dataclass(frozen=True, kw_only=True, slots=True)(plain)
    assert "output uniform" in check(slots).findings[0].observed


def test_a_method_of_full_gradients_need_not_say_that_it_is_deterministic():
    class Plain(pf.Algorithm):
        requires = frozenset({"gradient", "lo"})

        def run(self, ask, x, rng):
            for t in range(20):
                g = ask.gradient(x)
                x, at = pf.combine(x, ask.lo(g), 2 / (t + 2)), x
                yield State(x, at, g)

    report = check(Plain)
    assert report.is_passed, str(report)
    assert "set deterministic = True" in str(report)


def test_a_mean_over_very_few_samples_is_no_fault(monkeypatch):
    class Normal:
        """An unbiased estimate by a draw that cannot be enumerated."""

        def start(self, ask, rng):
            return lambda x: ask.gradient(x) + rng.standard_normal(x.shape)

    monkeypatch.setattr(estimator_checks, "_SAMPLES", 1)
    report = check(Normal)
    assert report.is_passed, str(report)
    assert "only 1 runs can be sampled" in str(report)


def test_a_reference_that_is_kept_for_later_runs_is_found():
    def keep(self, ask, x, rng, kept={}):  # noqa: B006
        return kept.setdefault("g", None if kept else ask.gradient(x))

    report = check(type("Mine", (SVRG,), {"reference_gradient": keep})(2, 9))
    assert failed(report) == ["the same stream gives the same bits"]


def test_the_first_parameter_of_a_set_is_the_size_of_points():
    init = {"__init__": lambda self, dims: NuclearBall.__init__(self, dims)}
    assert check(type("Mine", (NuclearBall,), init)).is_passed


def test_compiled_loops_are_loaded_before_time_is_limited(monkeypatch):
    monkeypatch.delattr("pfbench.checking.lines.combine")
    assert failed(check(pf.problem("quadratic[set=none]"))) == ["members"]


def test_the_hidden_call_is_named_with_its_line():
    report = check(ALGORITHMS["asks a problem at hand"][0])
    (result,) = (finding for finding in report.failures if finding.check.startswith("its calls"))
    assert "the code calls LogCosh.value directly, 30 times: use `ask` instead" in result.observed
    assert "faulty_methods.py:" in result.location[0]
    assert "(_global)" in result.location[0]


def test_a_plain_function_is_named_as_the_place_of_a_fault():
    def still(ask, x, rng, iterations=9):
        for _ in range(iterations):
            ask.gradient(x)
            yield pf.State(2.0 * x + 9.0)

    report = check(still)
    assert failed(report)
    texts = {text for result in report.failures for text in result.location}
    assert all("test_checks.py:" in text and "still)" in text for text in texts), texts


def test_a_method_is_checked_on_the_problem_that_is_given():
    report = pf.check(pf.algorithm("sfw", iterations=5, batch=2, step=0.1), problem=Ridge())
    assert (report.is_passed, report.problem) == (True, "own")
    report = pf.check("svrg", problem=Ridge())
    assert failed(report) == ["the problem offers its oracles"]
    assert "has a feasible set" in report.failures[0].observed


def test_the_estimator_of_a_method_is_checked_with_it():
    right = {"estimator": property(lambda self: RIGHT_ESTIMATORS[0](2))}
    wrong = {"estimator": property(lambda self: ESTIMATORS["divided by n"][0](2))}
    report = check(type("Mine", (RIGHT_METHODS[0],), right))
    assert report.is_passed
    name = "estimator: its mean is the gradient"
    assert name in [result.check for result in report.findings]
    assert failed(check(type("Mine", (RIGHT_METHODS[0],), wrong))) == [name]


def test_a_method_that_asks_at_a_prefix_is_told_so():
    """Compiled loops would read beyond it."""

    class Short(pf.Algorithm):
        name, summary, source, counts = "short", "", "", ""
        requires = frozenset({"gradient"})

        def run(self, ask, x, rng):
            ask.gradient(x[:2])
            yield State(x)

    (result,) = check(Short).failures
    assert "shape (2,)" in result.observed


# --- problems -------------------------------------------------------------------------------------

SLOW = ("robust-matrix-recovery", "multitask-sigmoid", "multiclass-logistic", "matrix-regression")
"""They take a second or more; points of theirs are checked quickly in `test_factored_points`."""


def test_every_problem_has_a_small_one():
    assert set(SMALL) == set(OUR_PROBLEMS)


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in SLOW else ()) for name in SMALL]
)
def test_every_problem_of_the_catalogue_passes(name):
    report = check(name + SMALL[name])
    assert report.is_passed, str(report)


def test_the_pair_that_shows_a_constant_too_small_shows_it():
    problem, _ = PROBLEMS["L_f one percent too small"]
    (result,) = [result for result in check(problem).failures if result.check == "constant L_f"]
    x, y = result.arguments["x"], result.arguments["y"]
    ratio = np.linalg.norm(problem.gradient(x) - problem.gradient(y)) / np.linalg.norm(x - y)
    assert ratio > problem.constants(problem.start()).L_f
    assert "faulty_problems.py:" in result.location[0]


def test_the_direction_that_shows_a_wrong_gradient_shows_it():
    problem, _ = PROBLEMS["factor 2"]
    (result,) = [result for result in check(problem).failures if result.check == "gradient"]
    x, u = result.arguments["x"], result.arguments["u"]
    right = (problem.value(x + 1e-5 * u) - problem.value(x - 1e-5 * u)) / 2e-5
    assert problem.gradient(x) @ u == pytest.approx(2.0 * right, rel=1e-6)
    assert "everywhere it is 2 times the derivative" in result.observed


def test_the_set_and_the_penalty_of_a_problem_are_checked_with_it():
    wrong = type("Wrong", (L2Ball,), {"lo": lambda self, g: -L2Ball.lo(self, g)})
    problem = type("Mine", (Ridge,), {"constants": FiniteSum.constants})()
    problem.set = wrong(4, 1.5)
    assert "set: lo minimises" in failed(check(problem))
    penalised = type("Mine", (Matrix,), {"penalty": PENALTIES["weight left out"][0]})()
    assert "penalty: proximal map" in failed(check(penalised))


def test_the_search_comes_close_to_exact_constants():
    found = {result.check: result.observed for result in check(Ridge()).findings}
    for name in ("D", "L_f", "L_max", "M"):
        assert found[f"constant {name}"].endswith(", 1 of it"), found


# --- sets, and faults of all kinds ----------------------------------------------------------------


def test_the_point_of_a_wrong_linear_minimisation_shows_it():
    body, _ = SETS["sign"]
    (result,) = [result for result in check(body).failures if result.check == "lo minimises"]
    g, lower = result.arguments["g"], result.arguments["a lower member"]
    assert body.contains(lower)
    assert np.vdot(g, lower) < np.vdot(g, body.lo(g))
    assert "does lo maximise" in result.observed
    assert "faulty_sets.py:" in result.location[0]


def test_a_set_of_long_vectors_takes_neither_long_nor_much_memory():
    tracemalloc.start()
    try:
        report = check(L1Ball(2000, 3.0))
        assert tracemalloc.get_traced_memory()[1] < 3e8
    finally:
        tracemalloc.stop()
    assert report.is_passed, str(report)


@pytest.mark.thin(4)
@pytest.mark.parametrize(
    "what",
    [
        *(BODIES.get(name, f"set:{name}") for name in OUR_SETS),
        *(f"penalty:{name}" for name in OUR_PENALTIES),
        *(f"estimator:{name}" for name in OUR_ESTIMATORS),
    ],
)
def test_every_set_penalty_and_estimator_of_the_catalogue_passes(what):
    report = check(what)
    assert report.is_passed, str(report)


RIGHT = {
    "set": faulty_sets.RIGHT,
    "penalty": faulty_sets.RIGHT_PENALTIES,
    "problem": faulty_problems.RIGHT,
    "estimator": RIGHT_ESTIMATORS,
}


@pytest.mark.thin(2)
@pytest.mark.parametrize(("kind", "one"), [(kind, one) for kind in RIGHT for one in RIGHT[kind]])
def test_what_is_right_in_another_style_passes(kind, one):
    report = check(one)
    assert (report.kind, failed(report)) == (kind, []), str(report)


@pytest.mark.parametrize(
    ("fault", "expected"), faults(SETS, PENALTIES, PROBLEMS, ALGORITHMS, ESTIMATORS)
)
def test_a_fault_is_named(fault, expected):
    report = check(fault)
    assert expected in failed(report), str(report)
    result = next(result for result in report.failures if result.check == expected)
    assert result.expected
    assert result.sentence.endswith(".")
