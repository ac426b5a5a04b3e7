"""Diverged runs, and numbers near overflow, in every figure, statistic and table; ticks."""

import json
import math
import re
import warnings
from itertools import product

import numpy as np
import pytest
from made_runs import HUGE, SEEDS, WILD, figure_data, group, results, run

from pfbench.reporting.panels import BEYOND, compute_figure, linear_ticks, log_ticks
from pfbench.reporting.results import StudyResults
from pfbench.reporting.seed_curves import SeedTraces
from pfbench.reporting.svg import curves_drawing, render

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
