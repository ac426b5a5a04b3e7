"""Findings: every erratum is shown, and an examination can fail."""

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from importlib.resources import files
from types import MappingProxyType

import jsonschema
import numpy as np
import pytest
import typer

from pfbench.algorithms.nfwu import NFWUCASVRG, NFWUSPIDERG
from pfbench.base.constants import Constants
from pfbench.cli import verify as command
from pfbench.oracles import Ledger, Oracles
from pfbench.runs.engines.engine import LocalProcesses, ThisProcess
from pfbench.runs.engines.workers import Result
from pfbench.runs.storage.store import Store
from pfbench.theory.catalogue import CLAIMS
from pfbench.theory.errata import ERRATA
from pfbench.verification import findings, session
from pfbench.verification.contrast import Contrast, compared
from pfbench.verification.findings import (
    EXAMINATIONS,
    estimators,
    li2019,
    lower_bound,
    qu2018,
    shen2019,
    wang2019,
)
from pfbench.verification.findings.estimators import Sizes
from pfbench.verification.instruments.draws import Scripted
from pfbench.verification.instruments.forced_path import ForcedPath

# --- the list -------------------------------------------------------------------------------------


def test_every_erratum_is_examined_and_names_a_claim_or_none():
    assert set(EXAMINATIONS) == set(ERRATA)
    assert {erratum.claim for erratum in ERRATA.values()} <= {"", *CLAIMS}
    assert findings.selected("quick") == findings.selected("full") == list(EXAMINATIONS)


def test_every_item_of_theory_section_9_has_an_entry():
    items = {
        "1": ("shen2019-(10)", "shen2019-remark3.1"),
        "2": ("shen2019-section6-eta",),
        "3": ("shen2019-4.1-mean-value",),
        "4": ("shen2019-3.1-moment",),
        "5": [f"shen2019-(9)-{name}" for name in ("sg", "svrg", "spiderg", "casvrg", "caspiderg")],
        "6": ("li2019-(22)",),
        "7": ("qu2018-tables",),
        "8": ("wang2019-5.1-step", "wang2019-5.2-step"),
        "9": ("shen2019-4.1-powers", "shen2019-4.1-small-epsilon", "shen2019-4.2-powers"),
        "9b": ("shen2019-4.1-one-mean-value",),
        "10": ("qu2018-thm1-II-mapping",),
        "11": ("li2019-(30)", "li2019-(74)", "li2019-(87)", "li2019-G.1", "li2019-lemma1"),
        "12": ("shen2019-(7)", "shen2019-(8)"),
        "13": ("shen2019-(4)",),
        "14": ("shen2019-5.1-queries", "shen2019-7.1-indices"),
    }
    assert {name for names in items.values() for name in names} <= set(ERRATA)


@pytest.mark.parametrize("name", EXAMINATIONS)
def test_each_is_shown_for_three_seeds(name, monkeypatch, tmp_path):
    monkeypatch.setenv("PFBENCH_DATA", str(tmp_path))
    for seed in (1, 2, 3):
        finding = findings.look(name, "quick", seed)
        assert finding.shown, (seed, finding.evidence)
        assert all(math.isfinite(number) for number in finding.evidence.values())
        content = finding.as_json()
        assert content["evidence"]["shown"] is True
        assert json.loads(json.dumps(content, allow_nan=False)) == content


def test_a_seed_repeats_the_numbers_and_another_changes_them():
    for name in ("shen2019-(10)", "qu2018-thm1-II-mapping", "li2019-(15)"):
        first, again, other = (findings.look(name, "quick", seed) for seed in (4, 4, 5))
        assert first.evidence == again.evidence != other.evidence


# --- an examination can fail ----------------------------------------------------------------------

AS_CORRECTED = {
    "(4): V and L times n": (shen2019.sum_or_mean, {"printed": float}),
    "(7): the mean-squared L": (estimators.in_expectation, {"squared": True}),
    "(8): the mean-squared L2": (estimators.hessians_in_expectation, {"squared": True}),
    "(10): with D": (shen2019.missing_diameter, {"printed": lambda epsilon, D: 2.5 * epsilon * D}),
    "remark 3.1: undivided": (shen2019.a_tenth_of_the_gap, {"divisor": 1.0}),
    "3.1: sigma^2": (shen2019.second_moment, {"printed": lambda constants: constants.sigma2}),
    **{
        f"(9): {name}, corrected S": (
            estimators.condition,
            {"estimator": name, "schedule": lambda *a, name=name: estimators.corrected(name, *a)},
        )
        for name in ("sg", "svrg", "spiderg", "caspiderg")
    },
    "(9): casvrg, with the 1/4": (estimators.bound_of_casvrg, {"factor": 0.25}),
    "4.1: with x - x~": (estimators.missing_increment, {"with_increment": True}),
    "4.1: two cubics share a mean value": (estimators.one_mean_value, {"separable_power": 3.0}),
    **{
        f"4: powers of {name}": (
            estimators.powers,
            {"estimator": name, "schedule": lambda *a, name=name: estimators.corrected(name, *a)},
        )
        for name in ("casvrg", "caspiderg")
    },
    "4.1: p for small epsilon": (
        estimators.small_epsilon,
        {"schedule": lambda *a: estimators.corrected("casvrg", *a)},
    ),
    "6: as eta": (shen2019.weight_of_section_6, {"printed": lambda p, T, D: p / T / D}),
    "5.1: points at the origin": (
        lower_bound.queries_elsewhere,
        {"target": lambda problem: np.zeros(problem.columns)},
    ),
    "7.1: one index less": (lower_bound.shifted_indices, {"shift": 1}),
    "qu2018: the links": (qu2018.one_epsilon, {"printed": qu2018._LINKS}),
    "qu2018: at md": (qu2018.mapping_of_option_two, {"at": lambda visit: visit.md}),
    "lemma 1: a quarter": (li2019.lemma1, {"printed": 0.25}),
    "(15): 4 eps^2": (li2019.squared_norm, {"factor": 4.0}),
    "(22): both squared": (li2019.one_side_squared, {"power": 2.0}),
    "(30): weighted": (li2019.weights_of_30, {"printed": False}),
    "(69): >=": (li2019.reversed_inequality, {"sign": -1.0}),
    "(74): without L": (li2019.stray_factor, {"end": lambda L: 1.0}),
    "(87): 1451": (li2019.constant_of_87, {"printed": 1451}),
    "G.1: towards the minimiser": (li2019.convexity_between, {"towards_minimiser": True}),
    "5.1: step 1/(2L)": (
        wang2019.step,
        {"penalised": False, "printed": lambda L: 0.5 / L},
    ),
    "5.2: step 1/(2L)": (wang2019.step, {"penalised": True, "printed": lambda L: 0.5 / L}),
}


@pytest.mark.parametrize("name", AS_CORRECTED)
def test_the_corrected_statement_is_not_seen_to_fail(name, monkeypatch, tmp_path):
    monkeypatch.setenv("PFBENCH_DATA", str(tmp_path))
    examination, correction = AS_CORRECTED[name]
    evidence = examination("quick", 1, **correction)
    assert not evidence.printed_fails
    assert evidence.corrected_holds


def smaller_batch(factor):
    """A classmethod that takes `factor` times the theorem's batch."""

    def sizes(cls, epsilon, L, constants):
        found = cls.theirs(epsilon, L, constants)
        return {**found, "batch": max(1, int(factor * found["batch"]))}

    return classmethod(sizes)


def test_a_schedule_that_misses_9_is_not_seen_to_hold(monkeypatch):
    monkeypatch.setattr(NFWUSPIDERG, "theirs", NFWUSPIDERG.sample_sizes, raising=False)
    monkeypatch.setattr(NFWUSPIDERG, "sample_sizes", smaller_batch(0.5))
    finding = findings.look("shen2019-(9)-spiderg", "quick", 0)
    assert not finding.shown
    assert finding.evidence["measured over corrected"] > 1.5


def test_a_bound_of_v_that_is_too_small_is_not_seen_to_hold(monkeypatch):
    theory = NFWUSPIDERG.theory
    coarse = lambda epsilon, constants: replace(theory(epsilon, constants), iterations=10)  # noqa: E731
    monkeypatch.setattr(shen2019.NFWUSPIDERG, "theory", coarse)
    assert not shen2019.missing_diameter("quick", 0).corrected_holds


def test_a_failed_examination_shows_nothing(monkeypatch):
    unshown = Contrast(printed_fails=False, corrected_holds=True, numbers={"x": 1.0})
    table = MappingProxyType({**EXAMINATIONS, "li2019-(87)": lambda effort, seed: unshown})
    monkeypatch.setattr(findings, "EXAMINATIONS", table)
    assert not findings.look("li2019-(87)", "quick", 0).shown
    lost = findings._finding("li2019-(74)", {}, shown=False)
    assert not lost.shown
    assert lost.as_json()["evidence"] == {"shown": False}


class Fails(ThisProcess):
    """An engine whose every task ends in one way."""

    def __init__(self, status, reason):
        self.status, self.reason = status, reason

    def do(self, tasks):
        for index, _ in enumerate(tasks):
            yield Result(index, None, self.status, self.reason, 1.0)


def test_a_lost_examination_says_why_and_one_that_ended_does_not():
    engine = Fails("timeout", "it took more than 300 s")
    (lost,) = findings.examine(["li2019-(87)"], engine=engine)
    assert lost.lost == "timeout: it took more than 300 s"
    assert lost.as_json()["evidence"] == {"shown": False, "lost": lost.lost}
    (made,) = findings.examine(["li2019-(87)"], engine=ThisProcess())
    assert made.lost == ""
    assert "lost" not in made.as_json()["evidence"]


def test_an_examination_that_raises_says_what(monkeypatch, tmp_path):
    def raising(effort, seed):
        raise ZeroDivisionError("a batch of none")

    table = MappingProxyType({**EXAMINATIONS, "li2019-(87)": raising})
    monkeypatch.setattr(findings, "EXAMINATIONS", table)
    (lost,) = findings.examine(["li2019-(87)"], engine=ThisProcess(), store=Store(tmp_path))
    assert not lost.shown
    assert lost.lost.startswith("error: ZeroDivisionError: a batch of none (line ")
    assert list(Store(tmp_path).keys("finding")) == []


def test_the_command_line_tells_the_lost_from_what_is_no_longer_shown(
    monkeypatch, tmp_path, capsys
):
    names = ["li2019-(87)", "li2019-(74)", "li2019-(69)"]
    reason = "it took more than 300 s"
    found = [
        findings.look(names[0], "quick", 0),
        findings._finding(names[1], {}, shown=False, lost=f"timeout: {reason}"),
        findings._finding(names[2], {"x": 1.0}, shown=False),
    ]
    monkeypatch.setattr(findings, "selected", lambda effort: names)
    monkeypatch.setattr(findings, "examine", lambda names, **given: found)
    monkeypatch.setattr(session, "verify", lambda names, **given: session.Verification())
    work = command._Work("quick", 0, ThisProcess(), tmp_path, quiet=False)
    with pytest.raises(typer.Exit):
        command._verify([], None, work, tmp_path / "out.json", None)
    told = capsys.readouterr()
    words = " ".join(told.err.split())
    assert f"erratum {names[1]} could not be examined: timeout: {reason}." in words
    assert f"the evidence for erratum {names[2]} no longer shows it." in words
    assert [told.out.count(word) for word in ("NOT EXAMINED", "NOT SHOWN")] == [1, 1]
    content = json.loads((tmp_path / "out.json").read_text())
    schema = json.loads((files("pfbench.cli") / "schemas" / "verify.json").read_text())
    jsonschema.validate(content, schema, cls=jsonschema.Draft202012Validator)
    assert content["findings"][1]["evidence"] == {"shown": False, "lost": f"timeout: {reason}"}


def test_examine_works_in_processes_and_reports_progress():
    names, told = ["li2019-(87)", "li2019-(74)"], []
    found = findings.examine(
        names, seed=3, engine=LocalProcesses(1), progress=lambda one, made: told.append(one)
    )
    assert [one.erratum for one in found] == names
    assert all(one.shown for one in found)
    assert sorted(one.erratum for one in told) == sorted(names)
    assert found == [findings.look(name, "quick", 3) for name in names]


def test_bounds_are_compared_up_to_rounding():
    assert compared(1.0 + 1e-12, 1.0 + 1e-12) == compared(1.0 + 1e-12, 1.0 + 1e-12)
    assert not compared(1.0 + 1e-12, 1.0).printed_fails
    assert compared(1.001, 1.0).printed_fails
    assert not compared(2.0, 1.001).corrected_holds


# --- what the examinations compute ----------------------------------------------------------------


@pytest.mark.parametrize("estimator", ["sg", "svrg", "spiderg", "casvrg", "caspiderg"])
def test_the_squared_error_is_that_of_all_runs_of_the_algorithm(estimator):
    """All scripts of draws, n = 2, S = 1: the mean of |g - grad f|^2 at j = p-1 of real runs."""
    p = 1 if estimator == "sg" else 4
    problem = ForcedPath(2, 2, sigma=0.3, L=0.5, L2=0.7)
    constants = problem.constants(problem.start())
    epsilon = 0.1
    step = epsilon / (constants.smoothness("a step") * problem.length)
    sizes = {"period": p} if estimator != "sg" else {}
    kind = estimators._METHODS[estimator]
    squares = []
    for script in itertools.product(range(2), repeat=max(1, p - 1)):
        algorithm = kind(iterations=p, step=step, batch=1, **sizes)
        ask = Oracles(problem, Ledger(), problem.set.diameter)
        states = algorithm.run(ask, problem.start(), Scripted(np.array(script)))
        *_, last = states
        error = last.estimate - problem.gradient(last.at)
        squares.append(float(error @ error))
    found = estimators.squared_error(estimator, problem, epsilon, constants, Sizes(1, p))
    assert found == pytest.approx(np.mean(squares), rel=1e-9)
    halved = estimators.squared_error(estimator, problem, epsilon, constants, Sizes(2, p))
    assert halved == pytest.approx(found / 2)


def test_the_printed_schedules_are_the_papers():
    """Sections 3.1 to 4.2 of shen2019, n = 4096, worked out by hand."""
    constants = Constants(n=4096, L_f=4.0, L_ms=4.0, L_max=4.0, L2_ms=1.0, sigma2=9.0)
    at = 2.0**-10
    assert estimators.printed("sg", 0.5, constants) == Sizes(36, 1)
    assert estimators.printed("svrg", at, constants) == Sizes(256, 16)
    assert estimators.printed("spiderg", at, constants) == Sizes(64, 64)
    # (4 2^10)^0.4 4096^0.2 = 2^4.8 2^2.4 = 147.03; S = 27.9.
    assert estimators.printed("casvrg", at, constants) == Sizes(28, 147)
    # L^.5 L2^.5 eps^-.5 = 2 2^16 for epsilon = 2^-32 <= 4/4096^2.
    assert estimators.printed("casvrg", 2.0**-32, constants) == Sizes(1, 2**17)
    # (4 2^10)^0.5 4096^0.25 = 2^6 2^3 = 512.
    assert estimators.printed("caspiderg", at, constants) == Sizes(8, 512)
    assert estimators.corrected("casvrg", at, constants) == Sizes(
        *(NFWUCASVRG.sample_sizes(at, 4.0, constants)[key] for key in ("batch", "period"))
    )


def test_inner_bound_is_30_summed_by_hand():
    """k = 2, L = 3, N = 5, D_t^2 = 2, |x_0 - theta_hat|^2 = 1, in fractions."""
    L, N, squared, F = 3, 5, 2, Fraction
    eta = [F(2 * L * squared, N * i) for i in (1, 2)]
    gamma, Gamma, beta = [F(1), F(2, 3)], [F(1), F(1, 3)], [F(3 * L), F(3 * L, 2)]
    sigma2 = [F(L * L * squared, N * (i + 1) ** 2) for i in (1, 2)]
    noise = sum(
        g * s / (2 * G * (b - L * g)) for g, s, G, b in zip(gamma, sigma2, Gamma, beta, strict=True)
    )
    printed = beta[0] * Gamma[1] + Gamma[1] * (
        sum(e / G for e, G in zip(eta, Gamma, strict=True)) + noise
    )
    weighted = sum(g * e / G for g, e, G in zip(gamma, eta, Gamma, strict=True))
    corrected = beta[0] * Gamma[1] / 2 + Gamma[1] * (weighted + noise)
    assert li2019._inner_bound(2, L, N, squared, 1.0, True) == pytest.approx(float(printed))
    assert li2019._inner_bound(2, L, N, squared, 1.0, False) == pytest.approx(float(corrected))


def test_rows_like_a9a_have_one_value_in_each_category():
    features, labels = wang2019.one_of_each(np.random.default_rng(0), 50)
    assert features.shape == (50, 123)
    assert (features.sum(axis=1) == 14).all()
    assert set(np.unique(features)) == {0.0, 1.0}
    assert set(labels) == {-1.0, 1.0}


def test_the_fall_of_option_two_is_that_of_f():
    """F(md) - F(ag) as yielded, against F evaluated at the visits, from the gradients there."""
    visits = [*qu2018._option_two(np.random.default_rng(3), 8)]
    points = np.array([visit.md for visit, _ in visits])
    slopes = np.array([visit.gradient for visit, _ in visits])
    H, minus_c = (
        np.polyfit(points[:, 0], slopes[:, 0], 1),
        np.polyfit(points[:, 1], slopes[:, 1], 1),
    )

    def F(x):
        return sum(0.5 * h * t * t + b * t for (h, b), t in zip((H, minus_c), x, strict=True))

    for visit, fall in visits:
        assert fall == pytest.approx(F(visit.md) - F(visit.ag), abs=1e-9)
