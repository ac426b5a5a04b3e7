"""What a report says of claims: rates as slopes, and verdicts that a store has."""

from dataclasses import replace

import pytest
from generated_reports import report_of

from pfbench.base.counts import COUNTED
from pfbench.claims.catalogue import CLAIMS, claims_about
from pfbench.cli.report_sources import add_claims_and_verdicts
from pfbench.reporting.report import (
    MethodTheory,
    RateCurve,
    StatedClaim,
    figure_rates,
    table_of_verified_claims,
)
from pfbench.runs.engines.engine import SingleProcessEngine
from pfbench.runs.storage.store import Store
from pfbench.verification.session import Session

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
    theory = add_claims_and_verdicts(report, []).theory
    found = {(rate.method, rate.count): rate.power for rate in theory.rates}
    # V <= eps after eps^-2 LO and FO; and after eps^-4 SFO, eps^-2 LO.
    assert found["frank-wolfe", "lo"] == found["frank-wolfe", "fo"] == 0.5
    assert found["nfwu-sg", "sfo"] == 0.25
    assert found["nfwu-sg", "lo"] == 0.5
    assert {rate.measure for rate in theory.rates} == {"fw_gap"}
    labels = {label for label, _ in figure_rates(report.results[0], theory.rates)}
    assert labels == {"plain", "sampled"}


def test_a_rate_in_another_measure_has_no_place(report):
    rates = [RateCurve("c", "frank-wolfe", "gradient_mapping_sq", "lo", 1.0, "text")]
    assert figure_rates(report.results[0], rates) == []


def test_every_stated_rate_can_be_drawn():
    for claim in CLAIMS.values():
        if claim.complexity:
            kinds = claim.complexity.orders
            assert {kind.lower() for kind in kinds} <= set(COUNTED)


def test_verdicts_are_looked_up_and_never_made(report, tmp_path):
    store = Store(tmp_path / "store")
    claims = {
        one.claim for one in add_claims_and_verdicts(report, [store]).theory.claims if one.verdict
    }
    assert claims == set()
    assert list(store.keys("verdict")) == []
    Session(engine=SingleProcessEngine(), store=store).verify([CLAIMS[QUICK]])
    theory = add_claims_and_verdicts(report, [store]).theory
    known = {one.claim: one for one in theory.claims if one.verdict}
    assert known.keys() == {QUICK}
    assert known[QUICK].verdict.keeps_bound
    assert known[QUICK].reason
    table = table_of_verified_claims(report.results[0], theory.claims)
    ((label, name, verdict),) = [(row.group, row.name, row.cells[0]) for row in table.rows]
    assert (label, name, verdict) == ("sampled", QUICK, known[QUICK].verdict)
    others = len(claims_about("nfwu-sg")) + len(claims_about("frank-wolfe")) - 1
    assert f" Without a stored verdict: {others} claims about these methods." in table.note


def test_the_page_shows_verdicts_with_their_evidence(report, tmp_path):
    from pfbench.reporting import write_report

    stated = StatedClaim("a-claim", "nfwu-sg", "a paper", "V <= <1>", "holds", "It was below 1.")
    shown = replace(report, theory=MethodTheory(claims=(stated,)))
    page, *_ = write_report(shown, tmp_path, command="c", commit="c")
    text = page.read_text("utf-8")
    assert "<h3>Claims</h3>" in text
    assert "It was below 1." in text
    assert "V &lt;= &lt;1&gt;" in text
    page, *_ = write_report(report, tmp_path, command="c", commit="c")
    assert "<h3>Claims</h3>" not in page.read_text("utf-8")
