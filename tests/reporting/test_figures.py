"""Figures for papers, and those of diverged runs and of numbers near overflow."""

import json
import math
import re
import warnings
import xml.etree.ElementTree as ET
from itertools import product

import numpy as np
import pytest
from made_runs import HUGE, SEEDS, WILD, failing, fast, figure_data, group, idle, results, run, slow

from pfbench.reporting.comparison import compare_algorithms
from pfbench.reporting.panels import BEYOND, compute_figure, linear_ticks, log_ticks
from pfbench.reporting.report import collect_report
from pfbench.reporting.results import StudyResults
from pfbench.reporting.runtimes import Cost
from pfbench.reporting.seed_curves import SeedTraces
from pfbench.reporting.svg import ROW_HEIGHT, WIDTH, curves_drawing, panels_per_row, render
from pfbench.reporting.target_profiles import draw_target_profiles, target_shares
from pfbench.runs.planning.published import CostUnit

LABELS = ["far", "near"]


def test_a_figure_is_as_wide_as_a_page():
    study = results(fast(), slow(), failing(), idle())
    compared = [compare_algorithms(study, Cost.from_weights("sfo"))]
    labels = list(study.study.labels)
    for drawing in (
        curves_drawing(compute_figure(study), labels),
        draw_target_profiles(compared, labels),
    ):
        image, document = render(drawing, "svg", "pdf")
        root = ET.fromstring(image)
        assert float(root.get("width").removesuffix("pt")) == pytest.approx(72 * WIDTH)
        box = re.search(rb"/MediaBox \[ ?0 0 ([0-9.]+) ", document)
        assert float(box[1]) == pytest.approx(72 * WIDTH)


@pytest.mark.parametrize(
    ("panels", "columns"), [(1, 1), (4, 4), (5, 5), (6, 3), (8, 4), (9, 5), (11, 4)]
)
def test_rows_have_about_as_many_panels(panels, columns):
    assert panels_per_row(panels) == columns


def test_many_panels_go_on_in_further_rows(spec, outcomes):
    (found,) = collect_report(spec, outcomes).results
    many = type(found)(found.study, found.panels * 4)
    drawing = curves_drawing(compute_figure(many), list(many.study.labels))
    height = float(ET.fromstring(*render(drawing, "svg")).get("height").removesuffix("pt"))
    # Two measures of eight panels: two rows each of four.
    assert height / 72 == pytest.approx(0.7 + 4 * ROW_HEIGHT)


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
    assert axes.get_window_extent().height >= 0.5 * ROW_HEIGHT * canvas.dpi


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


def far():
    return group("far", [run([16, 8, 1], [0, 10, 900], seed=seed) for seed in SEEDS])


@pytest.mark.parametrize(("calls", "log"), [(5, True), (30, False), (1000, False)])
def test_calls_are_on_a_logarithmic_axis_where_a_line_would_not_be_seen(calls, log):
    near = group("near", [run([16, 1], [0, calls], seed=seed) for seed in SEEDS])
    study = results(far(), near, targets=())
    drawn = compute_figure(study)
    assert (drawn.log, drawn.spans) == (log, [(min(calls, 10), max(900, calls))])
    sent = figure_data(study, LABELS, drawn)
    assert sent["studies"][0]["logx"] == log
    (axes,) = curves_drawing(drawn, LABELS).canvas().axes
    assert axes.get_xscale() == ("log" if log else "linear")
    assert axes.get_xlim()[0] == pytest.approx(calls / 1.1 if log else 0.0)
    # The start is at 0 calls, which have no logarithm.
    starts = [line.get_xdata()[:1].tolist() for line in axes.lines]
    assert starts == ([[10], [calls]] if log else [[0], [0]])


def test_where_runs_end_early_is_seen_on_a_logarithmic_axis():
    crashed = run([16], [0], status="error", seed=0)
    near = group("near", [crashed, *(run([16, 1], [0, 5], seed=seed) for seed in SEEDS[1:])])
    (axes,) = curves_drawing(compute_figure(results(far(), near, targets=())), LABELS).canvas().axes
    assert [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "x"][:1] == [5]


# --- Diverged runs, and numbers near overflow, in every figure, statistic and table; ticks --------


STEADY = (1.0, 0.1, 1e-2, 1e-3)


def study(*groups) -> StudyResults:
    return results(*groups, targets=())


def wild(values, status="diverged"):
    return group("wild", [run(list(values), seed=seed, status=status) for seed in SEEDS])


def steady(values=STEADY):
    return group("steady", [run(list(values), seed=seed) for seed in SEEDS])


@pytest.mark.thin(2)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("values", WILD.values(), ids=WILD)
@pytest.mark.parametrize("alone", [True, False])
def test_figures_of_diverged_runs_are_drawn(values, alone):
    found = study(wild(values, "finished")) if alone else study(steady(), wild(values))
    drawn, labels = compute_figure(found), list(found.study.labels)
    (scale,) = drawn.scales.values()
    assert math.isfinite(scale.low)
    assert math.isfinite(scale.high)
    assert scale.low < scale.high
    assert 1 <= len(scale.ticks) <= 7
    assert all(scale.low <= value <= scale.high for value, _ in scale.ticks)
    (image,) = render(curves_drawing(drawn, labels), "svg")
    coordinates = re.findall(r'(?<= d=")[^"]*', image.decode())
    assert all(abs(float(n)) < 1e5 for d in coordinates for n in re.findall(r"-?[\d.]+", d))
    assert len(json.dumps(figure_data(found, labels, drawn))) < 2e5


TO_THE_BUDGET = {
    "to 1e195": (1.0, 1e60, 1e130, 1e195),
    "in one row": (1.0, 1e195),
    "to -1e195": (1.0, -1e60, -1e130, -1e195),
}


@pytest.mark.parametrize(
    ("values", "status"),
    [
        *((values, "diverged") for values in list(WILD.values())[:-1]),
        *(
            (values, status)
            for values in TO_THE_BUDGET.values()
            for status in ("budget", "timeout")
        ),
    ],
)
def test_a_diverging_run_extends_the_axis_by_three_decades_at_most(values, status):
    (alone,) = compute_figure(study(steady())).scales.values()
    (scale,) = compute_figure(study(steady(), wild(values, status))).scales.values()
    if scale.log:
        assert scale.high <= alone.high * 10 ** (1.2 * BEYOND[0])
    else:
        assert scale.high - scale.low <= 2.2 * (alone.high - alone.low)


@pytest.mark.parametrize("values", [(1e-17, 1.0, 0.9, 1.1), (1e-17, 0.3), (2.0, 500.0, 900.0)])
def test_an_error_that_grows_to_its_usual_size_is_shown(values):
    """As where the first estimate is the gradient."""
    (scale,) = compute_figure(
        study(steady((1e-16, 0.5, 0.4)), wild(values, "finished"))
    ).scales.values()
    assert scale.high >= max(values)
    (scale,) = compute_figure(study(wild((1.0, 1e195), "budget"))).scales.values()
    assert scale.high >= 1e195  # which no other line accompanies


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("values", [(1.0, HUGE), (1.0, -HUGE)])
def test_bands_and_medians_of_the_largest_numbers_are_finite(values):
    runs = [run([1.0, values[1]], seed=seed, status="finished") for seed in range(8)]
    runs[0] = run([1.0, -values[1]], seed=0, status="finished")
    traces = SeedTraces.from_runs(runs)
    found = traces.median_band("sfo", "m")
    for line in (found.low, found.median, found.high):
        assert np.isfinite(line).all()
    assert math.isfinite(traces.final_summary("m").median)


@pytest.mark.parametrize("values", WILD.values(), ids=WILD)
def test_a_run_of_extreme_values_can_be_plotted(values):
    pytest.importorskip("matplotlib")
    import matplotlib as mpl

    mpl.use("agg")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        axes = run(list(values)).plot("m")
        axes.figure.canvas.draw()


# --- ticks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (2e-6, 4e-2, ["10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²"]),
        (0.05, 20.0, ["0.1", "1", "10"]),
        (0.0068, 0.124, ["0.01", "0.02", "0.05", "0.1"]),
        (0.113, 0.299, ["0.15", "0.20", "0.25"]),
        (3.6, 6.2, ["4", "5", "6"]),
        (1e-30, 1.0, ["10⁻³⁰", "10⁻²⁴", "10⁻¹⁸", "10⁻¹²", "10⁻⁶", "1"]),
    ],
)
def test_logarithmic_axes_have_a_few_round_ticks(low, high, texts):
    assert [text for _, text in log_ticks(low, high)] == texts


WIDTHS = product([-7.3, 0.0, 1e-12, 123.4, 8e4], [1e-9, 0.013, 0.99, 1.0, 47.0, 5e7])
LINEAR = [(-1e300, 1e300), (1e299, 1e300), (-1e-299, 1e-299)]
LOGARITHMIC = [(1e-307, 1e307), (1e-36, 1e280), (1e299, 1e302)]


@pytest.mark.parametrize(
    ("ticks_of", "low", "high"),
    [
        *((linear_ticks, low, low + width) for low, width in WIDTHS),
        *((linear_ticks, *ends) for ends in LINEAR),
        *((log_ticks, *ends) for ends in LOGARITHMIC),
    ],
)
def test_axes_have_a_few_ticks_inside_their_range(ticks_of, low, high):
    ticks, margin = list(ticks_of(low, high)), 1e-9 * (high - low)
    assert 2 <= len(ticks) <= (6 if ticks_of is linear_ticks else 7)
    assert all(low - margin <= value <= high + margin for value, _ in ticks)
