"""Reports of generated runs: made up, so that every switch of the page has something to change."""

import math
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
from stored import run_of_rows

from pfbench.reporting.report import collect_report
from pfbench.reporting.report_contents import make_contents
from pfbench.reporting.writer import html_page
from pfbench.runs.execute import PlanOutcome
from pfbench.runs.planning.spec import load_spec
from pfbench.runs.storage.serialization import StoredRun

MARKUP = "<img src=x onerror=alert(1)>"

SPEC = """
title = "Generated runs"
about = "Made up, so that every switch has something to change."
seeds = 5
measures = ["fw_gap", "objective"]
every = 10
targets = ["fw_gap=0.3", "fw_gap=0.1"]

[problems]
"first problem" = "problem[number=0]"
"second problem" = "problem[number=1]"

[algorithms]
steady = "frank-wolfe[step={step}]"
sampled = "sfw[step={step}]"
hessians = "nfwu-casvrg[step={step}]"
"<img src=x onerror=alert(1)>" = "sagafw[step={step}]"

[grid]
step = [1, 2]
"""


def seeded(*key):
    """A generator that depends on a text and numbers, and on nothing else."""
    return np.random.default_rng([*"".join(map(str, key)).encode()])


def run_of(plan, rows=40):
    """Return a run whose gap falls like a power of its counts, noisily, until it is 0.1."""
    law, noise = (
        seeded(plan.problem, plan.algorithm),
        seeded(plan.algorithm, plan.problem, plan.seed),
    )
    sampled = plan.algorithm.startswith(("sfw", "sagafw"))
    batch, start, power = int(law.integers(10, 200)), 3 * law.random() + 0.5, law.uniform(0.4, 0.9)
    table, status, sfo = [], "finished", int(1000 * (1 + law.integers(3)))
    for row in range(rows):
        iteration = 10 * row
        gap = start * (1 + sfo / 3000) ** -power * math.exp(0.1 * noise.standard_normal())
        hessians = 5 * iteration if "casvrg" in plan.algorithm else 0
        counts = (1 + row // 10, sfo, hessians, 2 * hessians, iteration * (1 + batch % 3), 0, 0, 0)
        seconds = 1e-5 * sfo * (1 + 0.2 * noise.random())
        table.append((iteration, *counts, seconds, gap, gap / 2, 0.25 + gap / 3))
        if gap <= 0.1:
            status = "target"
            break
        if plan.algorithm.startswith("sagafw") and plan.seed == 3 and row == 15:
            status = "diverged"
            break
        sfo += int(10 * batch + (noise.integers(50) if sampled else 0))
    *_, seconds, gap, _, _ = table[-1]
    fields = {"problem": plan.problem, "algorithm": plan.algorithm, "seed": plan.seed}
    fields |= {"status": status, "stop_reason": "as generated", "final": {"fw_gap": gap}}
    measures = ("fw_gap", "fw_gap_lower", "objective")
    return run_of_rows(table, measures, oracle_seconds=0.5 * seconds, **fields)


def report_of(text, folder, rows=40, rates=(), notes=None, mine=False, make=run_of):
    """Write the report of generated runs, and return its page and the report.

    It is on the first algorithm, if that is `mine`.
    """
    path = folder / "generated.toml"
    path.write_text(text, encoding="utf-8")
    spec = load_spec(path)
    runs = {plan: make(plan, rows) for plan in spec.runs()}
    outcomes = [
        PlanOutcome(
            plan,
            StoredRun(
                "0" * 64, run, {"python": "3"}, {"best_known": {"value": 0.25}, **(notes or {})}
            ),
        )
        for plan, run in runs.items()
    ]
    created = datetime(2026, 11, 22, tzinfo=UTC)
    report = replace(collect_report(spec, outcomes), rates=rates)
    if mine:
        report = replace(report, candidate_labels=report.results[0].study.labels[:1])
    page = folder / "generated.html"
    page.write_text(html_page(make_contents(report, "c", "c", created)), encoding="utf-8")
    return page, report
