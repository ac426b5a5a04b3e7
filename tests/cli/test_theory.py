"""What a report says of claims, and what is told while claims are tested on a method."""

import inspect
import math
from dataclasses import replace

import pytest
from generated_reports import report_of

import pfbench as pf
from pfbench.algorithms import ALGORITHMS, Algorithm
from pfbench.algorithms.guarantee import WHERE
from pfbench.base.constants import Constants
from pfbench.base.counts import COUNTED
from pfbench.claims.catalogue import CLAIMS, methods_first_then_quickest_key
from pfbench.cli.report_sources import add_published_rates
from pfbench.reporting.report import RateCurve, figure_rates
from pfbench.runs.engines.engine import SingleProcessEngine
from pfbench.verification.session import Session
from pfbench.verification.subject import Subject

SPEC = """
title = "T"
measures = ["fw_gap"]
problems = "problem[number=0]"
[algorithms]
plain = "frank-wolfe"
"my own" = "mine:Method"
sampled = "nfwu-sg"
"""

QUICK = "shen2019-count-sg"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return report_of(SPEC, tmp_path_factory.mktemp("theory"))[1]


def test_rates_are_powers_of_the_calls(report):
    rates = add_published_rates(report).rates
    found = {(rate.method, rate.count): rate.power for rate in rates}
    # V <= eps after eps^-2 LO and FO; and after eps^-4 SFO, eps^-2 LO.
    assert found["frank-wolfe", "lo"] == found["frank-wolfe", "fo"] == 0.5
    assert found["nfwu-sg", "sfo"] == 0.25
    assert found["nfwu-sg", "lo"] == 0.5
    assert {rate.measure for rate in rates} == {"fw_gap"}
    labels = {label for label, _ in figure_rates(report.results[0], rates)}
    assert labels == {"plain", "sampled"}


def test_a_rate_in_another_measure_has_no_place(report):
    rates = [RateCurve("c", "frank-wolfe", "gradient_mapping_sq", "lo", 1.0, "text")]
    assert figure_rates(report.results[0], rates) == []


def test_every_stated_rate_can_be_drawn():
    for claim in CLAIMS.values():
        if claim.complexity:
            kinds = claim.complexity.orders
            assert {kind.lower() for kind in kinds} <= set(COUNTED)


# --- What is told of a method while claims are still being tested on it, and what is tested firs---


NAMES = (
    "wang2019-table1-prox-spiderboost",
    "wang2019-thm2",
    "methods-run-prox-spiderboost",
    "methods-count-prox-spiderboost",
    "methods-law-prox-spiderboost",
)


def test_what_holds_a_method_to_its_source_is_tested_first_then_what_is_quick():
    class Stops(Exception):
        pass

    begun = []

    def check(trial):
        begun.append(trial.claim.name)
        raise Stops

    claims = [replace(CLAIMS[name], check=check) for name in NAMES]
    kept = Session(engine=SingleProcessEngine(), order=methods_first_then_quickest_key("quick"))
    done = kept.verify(claims, Subject())
    assert [verdict.claim.name for verdict in done.rows] == list(NAMES)
    assert begun[:3] == [NAMES[3], NAMES[2], NAMES[4]]
    assert begun[3:] == sorted(begun[3:], key=lambda name: CLAIMS[name].seconds("quick"))
    begun.clear()
    Session(engine=SingleProcessEngine()).verify(claims, Subject())
    assert begun[-1] == NAMES[3]


# --- what a theorem promises of its schedule, beside what was measured ----------------------------


EPSILON, D = 0.25, 3.0
CONSTANTS = Constants(n=64, D=D)

# By their sources: the number for epsilon, of which measure, to which power, where.
EXPECTED = {
    name: promise
    for promise, names in {
        (EPSILON, "fw_gap", 1, "least"): "frank-wolfe",
        (EPSILON, "fw_gap", 1, "output"): (
            "sfw svfw sagafw spider-fw page-fw lsvrg-fw zerosarah-fw storm-fw"
        ),
        (2 * EPSILON * D, "fw_gap", 1, "output"): (
            "nfwu-sg nfwu-svrg nfwu-spiderg nfwu-casvrg nfwu-caspiderg nfwu-page nfwu-lsvrg "
            "nfwu-storm"
        ),
        (EPSILON, "gradient_mapping_sq", 1, "least"): "ncgs rsag prox-rsag",
        (EPSILON, "", 1, "output"): "ncgs-stochastic",
        (EPSILON, "gradient_mapping_sq", 1, "output"): (
            "ncgs-vr ncgs-spider prox-sgd svrg prox-svrg projected-svrg prox-svrg-plus saga "
            "prox-saga sarah"
        ),
        (EPSILON, "gradient_mapping_sq", 0.5, "least"): "prox-gd projected-gradient",
        (5 * EPSILON, "gradient_mapping_sq", 0.5, "output"): "spider",
        (EPSILON**2, "gradient_mapping_sq", 1, "output"): (
            "spiderboost prox-spiderboost page prox-page lsvrg zerosarah"
        ),
        (EPSILON, "excess", 1, "last"): "cgs cgs-convex heavy-ball-fw optimistic-fw local-lmo",
        (EPSILON, "excess", 1, "mean"): (
            "storc one-sfw momentum-sfw page-fw-convex spider-fw-convex"
        ),
    }.items()
    for name in names.split()
}
ONLY_AN_ORDER = {"prox-spiderboost-m", "natasha15"}
"""Their theorems hide a constant."""


def test_every_schedule_of_a_theorem_has_its_promise():
    found = {}
    for name, cls in ALGORITHMS.items():
        if inspect.getdoc(cls.theory) != inspect.getdoc(Algorithm.theory):
            one = cls.guarantee
            found[name] = one and (
                one.bound(EPSILON, CONSTANTS), one.measure, one.power, one.location
            )  # fmt: skip
    assert found == EXPECTED | dict.fromkeys(ONLY_AN_ORDER)


def test_a_promise_of_the_output_is_of_a_drawn_output_and_of_every_run_if_nothing_is_drawn():
    for name in EXPECTED:
        cls = ALGORITHMS[name]
        assert cls.guarantee.description.endswith(WHERE[cls.guarantee.location])
        if cls.guarantee.location == "output":
            assert cls.parameters()["output"].default in ("uniform", "weighted"), name
        elif cls.guarantee.location in ("last", "mean"):
            assert cls.parameters()["output"].default == "last", name


SMALL = "log-cosh[source=synthetic,rows=30,columns=4,set=l2,radius=1]"


@pytest.mark.parametrize("name", ["frank-wolfe", "nfwu-sg", "prox-gd", "prox-svrg"])
def test_it_stands_beside_what_was_measured(pfbench, conforms, name):
    given = ("solve", "-p", SMALL, "-a", f"{name}[epsilon=0.5]")
    run = conforms(pfbench(*given, "--json").json, "solve.json")
    found, promise = run["guarantee"], ALGORITHMS[name].guarantee
    problem = pf.problem("log-cosh", source="synthetic", rows=30, columns=4, set="l2", radius=1)
    assert found["bound"] == promise.bound(0.5, problem.constants(problem.start()))
    value = run["final"][promise.measure]
    assert found["measured"] == pytest.approx(value**promise.power)
    assert found["full_schedule"]
    text = " ".join(pfbench(*given).out.split())
    assert f"promised {promise.criterion} <= {promise.bound_text} = {found['bound']:.6g}: " in text
    assert f"{WHERE[promise.location]} measured" in text
    assert f"measured {found['measured']:.6g} at the output" in text


def test_of_several_runs_the_mean_is_shown(pfbench):
    text = pfbench("solve", "-p", SMALL, "-a", "nfwu-sg[epsilon=0.5]", "--repeat", 3).out
    runs = pfbench("solve", "-p", SMALL, "-a", "nfwu-sg[epsilon=0.5]", "--repeat", 3, "--json").json
    mean = math.fsum(run["final"]["fw_gap"] for run in runs) / 3
    assert f"{mean:.6g} at the outputs, in the mean of 3 runs" in text


def test_parameters_of_ones_own_have_no_promise(pfbench):
    for own in ("frank-wolfe[iterations=3]", "nfwu-sg[epsilon=0.5,iterations=3]"):
        assert pfbench("solve", "-p", SMALL, "-a", own, "--json").json["guarantee"] is None
        assert "promised" not in pfbench("solve", "-p", SMALL, "-a", own).out


def test_info_says_it_beside_what_the_schedule_needs(pfbench):
    about = pfbench("info", "nfwu-spiderg", "--json").json
    assert about["promises"].startswith("E V(x) <= 2 epsilon D: in expectation at the output")
    assert about["promises"] in " ".join(pfbench("info", "nfwu-spiderg").out.split())
    assert pfbench("info", "natasha15", "--json").json["promises"] is None
