"""The page of diverged runs, and of numbers near overflow, under every switch."""

import json
import math
import re
from dataclasses import replace

import pytest
from chromium import BENCH, change
from generated_reports import report_of, run_of
from made_runs import WILD

pytestmark = pytest.mark.browser

AXES = f"""JSON.stringify({BENCH}.measures.flatMap((measure) => {BENCH}.panels.flatMap((panel) =>
  Object.values(pfbench.panels.axesOf({BENCH}, panel, measure)))))"""


SPEC = f"""
seeds = 2
measures = ["fw_gap", "objective"]
problems = {json.dumps([f"problem[number={k}]" for k in range(len(WILD))])}
[algorithms]
steady = "frank-wolfe[step=1]"
wild = "sfw[step=1]"
"""


def made(plan, rows):
    """Return a run; those of one method have the values above, each on its own problem."""
    run = run_of(plan, rows)
    if not plan.algorithm.startswith("sfw"):
        return run
    values = list(WILD.values())[int(plan.problem[-2])]
    table = [(*row[:10], v, v, v) for row, v in zip(run.rows, values, strict=False)]
    return replace(run, rows=table, status="diverged")


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    page, _ = report_of(SPEC, tmp_path_factory.mktemp("diverged"), rows=20, make=made)
    browser.open(page.as_uri())
    return browser


def test_a_diverged_run_leaves_the_axis_and_its_cross_stays_at_the_edge(opened):
    axes = json.loads(opened.run(AXES))[1::2]
    assert all(math.log10(axis["high"] / axis["low"]) < 6 for axis in axes[:3])
    inside = opened.run("""[...document.querySelectorAll('.end')].map((one) => {
      const box = one.getBoundingClientRect();
      const plot = one.closest('.plot').getBoundingClientRect();
      return plot.top <= box.bottom && box.top <= plot.bottom; })""")
    assert inside
    assert all(inside)


def test_the_page_of_diverged_runs_is_drawn_under_every_switch(opened):
    switches = [(), ("logy",), ("logx",), ("band", "seeds"), ("slope", "1"), ("logy",)]
    for switch in [*switches, ("measure", "objective"), ("measure", "all"), ("x", "seconds")]:
        if switch:
            change(opened, *switch)
        for axis in json.loads(opened.run(AXES)):
            assert axis["low"] < axis["high"], switch  # what is not finite is null
            assert 1 <= len(axis["ticks"]) <= 8, switch
            assert all(None not in tick for tick in axis["ticks"]), switch
        drawn = opened.run(
            "[...document.querySelectorAll('.plot path')].map("
            "(one) => one.getAttribute('d')).join()"
        )
        assert not re.search("NaN|Infinity|null|undefined", drawn), switch
    assert opened.run("document.body.textContent").count("diverged") > 1
    assert opened.complaints == []
