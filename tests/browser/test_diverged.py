"""The page of diverged runs, and of numbers near overflow, under every switch."""

import json
import math
from dataclasses import replace

import pytest
from chromium import BENCH, change
from generated_reports import report_of, run_of

pytestmark = pytest.mark.browser

WILD = {
    "to 1e300": [1.0, 1e5, 1e150, 1e300],
    "to the largest number": [1.0, 1e155, 1.7e308, 1.7e308],
    "to infinity": [1.0, 1e155, 1e308, math.inf],
    "to NaN": [1.0, 1e20, math.nan, math.nan],
    "to -1e300": [1.0, -1e5, -1e150, -1e300],
    "to both sides": [1.0, 1.7e308, -1.7e308, 1.7e308],
    "within the least numbers": [1e-310, 5e-324, 0.0, 1e-320],
}

RANGES = f"""JSON.stringify({BENCH}.plots.map(({{layout}}) => [layout.xaxis, layout.yaxis].map(
  (axis) => [axis.range, axis.tickvals])))"""


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
    table = [(*row[:9], v, v, v) for row, v in zip(run.rows, values, strict=False)]
    return replace(run, rows=table, status="diverged")


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    page, _ = report_of(SPEC, tmp_path_factory.mktemp("diverged"), rows=20, make=made)
    browser.open(page.as_uri())
    return browser


def test_a_diverged_run_leaves_the_axis_and_its_cross_stays_at_the_edge(opened):
    panels = opened.run(f"""JSON.stringify({BENCH}.plots.map((plot) => [
        plot.layout.yaxis.range, plot.data.find((one) => one.name === 'end').y]))""")
    for (low, high), cross in json.loads(panels)[:3]:
        assert high - low < 6  # decades
        assert all(low < math.log10(y) < high for y in cross)


def test_the_page_of_diverged_runs_is_drawn_under_every_switch(opened):
    switches = [(), ("logy",), ("logx",), ("band", "seeds"), ("slope", "1"), ("logy",)]
    for switch in [*switches, ("measure", "objective"), ("gap",), ("x", "price")]:
        if switch:
            change(opened, *switch)
        for axes in json.loads(opened.run(RANGES)):
            for (low, high), ticks in axes:
                assert low < high, switch  # what is not finite is null
                assert 1 <= len(ticks) <= 8, switch
                assert None not in ticks, switch
    assert opened.run("document.body.textContent").count("diverged") > 1
    assert opened.complaints == []
