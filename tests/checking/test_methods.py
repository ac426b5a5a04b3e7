"""The checks of algorithms and estimators: right ones pass, every planted fault is named."""

from dataclasses import dataclass

import pytest
from checking.faults import faults
from checking.faulty_methods import ALGORITHMS, ESTIMATORS, RIGHT, RIGHT_ESTIMATORS
from checking.faulty_problems import Ridge

import pfbench as pf
from pfbench.algorithms import ALGORITHMS as OURS
from pfbench.base.state import State
from pfbench.checking import check, estimator_checks
from pfbench.estimators.catalogue import ESTIMATORS as OUR_ESTIMATORS


def failed(found):
    return [one.check for one in found.failures]


def named(one):
    return getattr(one, "__name__", type(one).__name__)


@pytest.mark.thin(8)
@pytest.mark.parametrize("name", OURS)
def test_every_algorithm_of_the_catalogue_passes(name):
    report = check(f"algorithm:{name}")
    assert report.is_passed, str(report)
    if not OURS[name].scale_dependence:
        status = {result.check: result.status for result in report.findings}
        assert status["its run is the same in other units"] == "passed"


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", OUR_ESTIMATORS)
def test_every_estimator_of_the_catalogue_passes(name):
    report = check(f"estimator:{name}")
    assert report.is_passed, str(report)


@pytest.mark.thin(2)
@pytest.mark.parametrize("method", RIGHT, ids=named)
def test_a_right_method_in_another_style_passes(method):
    for problem in (None, Ridge(), "robust-matrix-recovery[rows=6,columns=5,rank=1]")[: 2 + 1]:
        if isinstance(problem, str) and "Bare" in named(method):
            continue  # it moves arrays
        report = check(method, problem=problem)
        assert (report.kind, failed(report)) == ("algorithm", []), str(report)


def test_a_class_with_slots_declares_its_output():
    parts = {"__annotations__": {"output": str}, "output": "uniform"}
    plain = type("Plain", (OURS["prox-sgd"],), parts)
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


@pytest.mark.thin(2)
@pytest.mark.parametrize("estimator", RIGHT_ESTIMATORS, ids=named)
def test_a_right_estimator_in_another_style_passes(estimator):
    report = check(estimator)
    assert (report.kind, failed(report)) == ("estimator", []), str(report)


def test_a_mean_over_very_few_samples_is_no_fault(monkeypatch):
    class Normal:
        """An unbiased estimate by a draw that cannot be enumerated."""

        def start(self, ask, rng):
            return lambda x: ask.gradient(x) + rng.standard_normal(x.shape)

    monkeypatch.setattr(estimator_checks, "_SAMPLES", 1)
    report = check(Normal)
    assert report.is_passed, str(report)
    assert "only 1 runs can be sampled" in str(report)


@pytest.mark.parametrize("fault", faults(ALGORITHMS))
def test_a_fault_of_an_algorithm_is_named(fault):
    algorithm, expected = ALGORITHMS[fault]
    report = check(algorithm)
    assert expected in failed(report), str(report)


@pytest.mark.parametrize("fault", faults(ESTIMATORS))
def test_a_fault_of_an_estimator_is_named(fault):
    estimator, expected = ESTIMATORS[fault]
    report = check(estimator)
    assert expected in failed(report), str(report)


def test_the_hidden_call_is_named_with_its_line():
    report = check(ALGORITHMS["asks a problem at hand"][0])
    (result,) = [
        result for result in report.failures if result.check == "its calls go through the oracles"
    ]
    assert "the code calls LogCosh.value directly, 20 times: use `ask` instead" in result.observed
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
    assert all("test_methods.py:" in text and "still)" in text for text in texts), texts


def test_a_method_is_checked_on_the_problem_that_is_given():
    report = pf.check(pf.algorithm("sfw", iterations=5, batch=2, step=0.1), problem=Ridge())
    assert (report.is_passed, report.problem) == (True, "own")
    report = pf.check("svrg", problem=Ridge())
    assert failed(report) == ["the problem offers its oracles"]
    assert "has a feasible set" in report.failures[0].observed


def test_the_estimator_of_a_method_is_checked_with_it():
    right = {"estimator": property(lambda self: RIGHT_ESTIMATORS[0](2))}
    wrong = {"estimator": property(lambda self: ESTIMATORS["divided by n"][0](2))}
    report = check(type("Mine", (RIGHT[0],), right))
    assert report.is_passed
    assert "estimator: its mean is the gradient" in [result.check for result in report.findings]
    assert failed(check(type("Mine", (RIGHT[0],), wrong))) == [
        "estimator: its mean is the gradient"
    ]


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
