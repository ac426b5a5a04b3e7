"""Diverged runs, and numbers near overflow, in every figure, statistic and table."""

import math
import re
import warnings

import numpy as np
import pytest
from made_runs import HUGE, SEEDS, WILD, group, results, run

from pfbench.reporting.page_data import figure_data_json
from pfbench.reporting.panels import BEYOND, compute_figure, linear_ticks, log_ticks
from pfbench.reporting.results import StudyResults
from pfbench.reporting.seed_curves import final_summary, median_band
from pfbench.reporting.svg import COLUMN, curves_drawing, render_svg
from pfbench.runs.planning.study import Spec

STEADY = (1.0, 0.1, 1e-2, 1e-3)


def study(*groups) -> StudyResults:
    return results(*groups, targets=())


def wild(values, status="diverged"):
    return group("wild", [run(list(values), seed=seed, status=status) for seed in SEEDS])


def steady(values=STEADY):
    return group("steady", [run(list(values), seed=seed) for seed in SEEDS])


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
    image = render_svg(curves_drawing(drawn, labels, COLUMN))
    coordinates = re.findall(r'(?<= d=")[^"]*', image.decode())
    assert all(abs(float(n)) < 1e5 for d in coordinates for n in re.findall(r"-?[\d.]+", d))
    spec = Spec(name="made", title="Made", introduction="", text="", studies=(found.study,))
    assert len(figure_data_json(spec, [(found, drawn)], labels)) < 2e5


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
    found = median_band(runs, "sfo", "m")
    for line in (found.low, found.median, found.high):
        assert np.isfinite(line).all()
    assert math.isfinite(final_summary(runs, "m").median)


@pytest.mark.parametrize(("low", "high"), [(1e-307, 1e307), (1e-36, 1e280), (1e299, 1e302)])
def test_logarithmic_ticks_of_an_extreme_axis(low, high):
    ticks = list(log_ticks(low, high))
    assert 2 <= len(ticks) <= 7
    assert all(low <= tick <= high for tick, _ in ticks)


@pytest.mark.parametrize(("low", "high"), [(-1e300, 1e300), (1e299, 1e300), (-1e-299, 1e-299)])
def test_linear_ticks_of_an_extreme_axis(low, high):
    ticks = list(linear_ticks(low, high))
    assert 2 <= len(ticks) <= 6
    assert all(low <= tick <= high for tick, _ in ticks)


@pytest.mark.parametrize("values", WILD.values(), ids=WILD)
def test_a_run_of_extreme_values_can_be_plotted(values):
    pytest.importorskip("matplotlib")
    import matplotlib as mpl

    mpl.use("agg")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        axes = run(list(values)).plot("m")
        axes.figure.canvas.draw()
