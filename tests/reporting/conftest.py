"""A report of a few runs made by hand, so that every number in it is known."""

from datetime import UTC, datetime

import pytest
from made_runs import with_run
from stored import run_of_rows

from pfbench.base.counts import Counts
from pfbench.reporting import collect_report
from pfbench.runs.execute import PlanOutcome
from pfbench.runs.planning.spec import load_spec
from pfbench.runs.storage.serialization import StoredRun

SPEC = """
title = "Two estimators & <three> seeds"
about = "Made by hand."

[[study]]
key = "tiny"
title = "A tiny <study>"
about = '''
First paragraph,
of two lines.

Second "paragraph" </script>.
'''
problems = "problem[seed={seed}]"
seeds = 3
measures = ["fw_gap", "estimator_error"]
every = "{period}"

[study.algorithms]
SVRG = "nfwu-svrg[batch={batch},period={period}]"
"CA<SVRG>" = "nfwu-casvrg[batch={batch},period={period}]"

[[study.setting]]
title = "S = 3 | p = 4"
batch = 3
period = 4

[[study.setting]]
title = "S = √n"
batch = 5
period = 2
"""

N, T = 12, 8
"""Components and iterations of every run."""


def trace(plan, gaps, *, batch, period, aided, seconds):
    """Return the trace of a run: a row for each epoch, whose counts follow from the definition."""
    rows = []
    for epoch in range(T // period + 1):
        k = epoch * period
        counts = Counts(
            fo=epoch,
            sfo=N * epoch + 2 * batch * (k - epoch),
            sso=N * epoch if aided else 0,
            hvp=(N + batch) * (k - epoch) if aided else 0,
            lo=k,
        )
        error = None if k == 0 else gaps[epoch] / (100 if aided else 2)
        measures = (gaps[epoch], gaps[epoch] / 2, error)
        rows.append((k, *counts.as_dict().values(), seconds * k / T, *measures))
    return rows


def run_of(plan):
    batch, period = (3, 4) if "batch=3" in plan.algorithm else (5, 2)
    aided = "casvrg" in plan.algorithm
    gaps = [2.0 ** (-epoch) * (1 + plan.seed) for epoch in range(T // period + 1)]
    rows = trace(plan, gaps, batch=batch, period=period, aided=aided, seconds=0.5 + plan.seed)
    fields = {"problem": plan.problem, "algorithm": plan.algorithm, "seed": plan.seed}
    fields |= {"stop_reason": "the schedule ran out", "final": {"fw_gap": gaps[-1]}}
    fields |= {"parameters": {"batch": batch, "period": period, "restarts": None}}
    measures = ("fw_gap", "fw_gap_lower", "estimator_error")
    return run_of_rows(rows, measures, oracle_seconds=0.9 * (0.5 + plan.seed), **fields)


@pytest.fixture(scope="session")
def spec(tmp_path_factory):
    path = tmp_path_factory.mktemp("spec") / "by-hand.toml"
    path.write_text(SPEC, encoding="utf-8")
    return load_spec(path)


@pytest.fixture(scope="session")
def outcomes(spec):
    environment = {"python": "3.x", "threads": "1", "blas": "openblas <1>"}
    return [
        PlanOutcome(plan, StoredRun("0" * 64, run_of(plan), environment)) for plan in spec.runs()
    ]


@pytest.fixture(scope="session")
def report(spec, outcomes):
    return collect_report(spec, outcomes)


@pytest.fixture(scope="session")
def with_failures(outcomes):
    """The same, but two runs of the first group end early: one fails, one spends its budget."""

    def changed(outcome):
        plan, rows = outcome.plan, outcome.entry.run.rows[:2]
        ends = {1: ("diverged", "x <is> not finite"), 2: ("budget", "too much")}
        if "nfwu-svrg[batch=3" not in plan.algorithm or plan.seed not in ends:
            return outcome
        status, reason = ends[plan.seed]
        return with_run(outcome, status=status, stop_reason=reason, rows=rows)

    return list(map(changed, outcomes))


@pytest.fixture(scope="session")
def made():
    return datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
