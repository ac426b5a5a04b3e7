"""Figures for papers: as wide as they say, and the same bytes every time."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from made_runs import SEEDS, failing, fast, figure_data, group, idle, results, run, slow

from pfbench.reporting.candidate_front import make_candidate_front
from pfbench.reporting.comparison import compare_algorithms
from pfbench.reporting.panels import compute_figure
from pfbench.reporting.report import collect_report
from pfbench.reporting.runtimes import Cost
from pfbench.reporting.svg import COLUMN, PAGE, curves_drawing, render
from pfbench.reporting.target_profiles import draw_profile, draw_target_profiles, target_shares
from pfbench.runs.planning.published import CostUnit

LABELS = ["far", "near"]


def test_a_figure_is_as_wide_as_a_page_or_a_column():
    study = results(fast(), slow(), failing(), idle())
    compared = [compare_algorithms(study, Cost.from_weights("sfo"))]
    labels = list(study.study.labels)
    for drawing, width in (
        (curves_drawing(compute_figure(study), labels), PAGE),
        (draw_target_profiles(compared, labels), PAGE),
        (draw_profile(make_candidate_front(compared, ("slow",))), COLUMN),
    ):
        image, document = render(drawing, "svg", "pdf")
        root = ET.fromstring(image)
        assert float(root.get("width").removesuffix("pt")) == pytest.approx(72 * width.inches)
        box = re.search(rb"/MediaBox \[ ?0 0 ([0-9.]+) ", document)
        assert float(box[1]) == pytest.approx(72 * width.inches)


@pytest.mark.parametrize(
    ("panels", "columns"), [(1, 1), (4, 4), (5, 5), (6, 3), (8, 4), (9, 5), (11, 4)]
)
def test_rows_have_about_as_many_panels(panels, columns):
    assert PAGE.panels_per_row(panels) == columns


def test_many_panels_go_on_in_further_rows(spec, outcomes):
    report = collect_report(spec, outcomes)
    (found,) = report.results
    many = type(found)(found.study, found.panels * 4)
    drawing = curves_drawing(compute_figure(many), list(many.study.labels))
    height = float(ET.fromstring(*render(drawing, "svg")).get("height").removesuffix("pt"))
    # Two measures of eight panels: two rows each of four.
    assert height / 72 == pytest.approx(0.7 + 4 * PAGE.row)


def test_all_text_of_a_figure_is_inside_its_canvas():
    """However many and long the names of the legend are; a title may be longer than a panel."""
    names = [f"NCGS-VR, L/10, η = 0.00{k}" for k in range(9)] + [f"{'long ' * 6}{k}" for k in "ab"]
    found = results(*(group(name, [run([16, 1], [0, 9], seed=s) for s in SEEDS]) for name in names))
    canvas = curves_drawing(compute_figure(found), names).canvas()
    canvas.draw_without_rendering()
    box, inches = canvas.get_tightbbox(), canvas.get_size_inches()
    assert (box.min >= -0.01).all()
    assert (box.max <= inches + 0.01).all()
    (legend,) = canvas.legends
    (axes,) = canvas.axes
    assert not legend.get_window_extent().overlaps(axes.get_window_extent())
    assert axes.get_window_extent().height >= 0.5 * PAGE.row * canvas.dpi


@pytest.mark.parametrize(
    ("weights", "otherwise", "axis"),
    [
        ("seconds=1", {}, "seconds"),
        ("lo=2", {"far": "lo=1"}, "lo"),
        ("iteration=1", {}, "sfo"),
        ("lo=1", {"far": "sfo=1"}, "sfo"),
        ("sfo=0.5,fo=3", {}, "sfo"),
    ],
)
def test_what_the_paper_counts_is_on_the_axis_where_it_is_one_count(weights, otherwise, axis):
    far = group("far", [run([16, 8], [0, 9], lo=[0, 3], seed=s) for s in SEEDS])
    units = (CostUnit("theirs", weights, otherwise), CostUnit("another", "lo=1"))
    assert compute_figure(results(far, units=units)).axis == axis


def test_a_line_of_targets_reached_is_the_share_of_them():
    found = target_shares(
        compare_algorithms(results(fast(), failing(), idle()), Cost.from_weights("sfo"))
    )
    assert found["fast"].share[-1] == 1.0
    assert found["failing"].x.tolist() == [50.0]
    assert found["failing"].share.tolist() == [0.5]
    assert found["idle"].x.size == 0
    half = found["fast"].x[np.searchsorted(found["fast"].share, 0.5)]
    assert half == 47.0  # the slowest seed at the first target


def test_a_method_that_needs_no_such_calls_has_no_line():
    found = target_shares(compare_algorithms(results(fast(), idle()), Cost.from_weights("lo")))
    assert list(found) == ["idle"]  # which reaches nothing


@pytest.mark.parametrize(("calls", "log"), [(5, True), (30, False), (1000, False)])
def test_calls_are_on_a_logarithmic_axis_where_a_line_would_not_be_seen(calls, log):
    far = group("far", [run([16, 8, 1], [0, 10, 900], seed=seed) for seed in SEEDS])
    near = group("near", [run([16, 1], [0, calls], seed=seed) for seed in SEEDS])
    study = results(far, near, targets=())
    drawn = compute_figure(study)
    assert (drawn.log, drawn.spans) == (log, [(min(calls, 10), max(900, calls))])
    sent = figure_data(study, LABELS, drawn)
    assert sent["studies"][0]["logx"] == log
    canvas = curves_drawing(drawn, LABELS).canvas()
    (axes,) = canvas.axes
    assert axes.get_xscale() == ("log" if log else "linear")
    assert axes.get_xlim()[0] == pytest.approx(calls / 1.1 if log else 0.0)
    # The start is at 0 calls, which have no logarithm.
    starts = [line.get_xdata()[:1].tolist() for line in axes.lines]
    assert starts == ([[10], [calls]] if log else [[0], [0]])


def test_where_runs_end_early_is_seen_on_a_logarithmic_axis():
    far = group("far", [run([16, 8, 1], [0, 10, 900], seed=seed) for seed in SEEDS])
    crashed = run([16], [0], status="error", seed=0)
    near = group("near", [crashed, *(run([16, 1], [0, 5], seed=seed) for seed in SEEDS[1:])])
    (axes,) = curves_drawing(compute_figure(results(far, near, targets=())), LABELS).canvas().axes
    assert [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "x"][:1] == [5]
