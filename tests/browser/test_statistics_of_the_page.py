"""The page computes the same numbers as the package: on random runs, to the last digits."""

import json
import math

import numpy as np
import pytest

from pfbench.base.counts import COUNTED, Counts
from pfbench.reporting.statistics.cost import Cost
from pfbench.reporting.statistics.runtimes import ert, make_runtimes
from pfbench.reporting.statistics.seed_curves import QUARTILES_FROM, median_band
from pfbench.runs.loop.run import COMPLETED, STATUSES, TRACE_COLUMNS, Run
from pfbench.runs.loop.stop import Stop

pytestmark = pytest.mark.browser

PRICE = {"sfo": 1.0, "lo": 50.0, "hvp": 0.0}
AXES = {name: {name: 1.0} for name in ("sfo", "lo", "seconds", "iteration")} | {"price": PRICE}

JAVASCRIPT = """(([groups, axes, targets, options]) => {
  const spent = (axis, prices) => (run) =>
    axis === 'price' ? pfbench.statistics.price(run, prices) : run.trace[axis];
  const inAll = (axis, prices) => (run) => ({
    price: () => Object.entries(prices).reduce(
      (sum, [kind, each]) => sum + each * run.counts[kind], 0),
    seconds: () => run.seconds, iteration: () => run.iterations,
  }[axis] ?? (() => run.counts[axis]))();
  const values = (run) => run.trace.m;
  for (const run of groups.flat()) run.trace.m = run.trace.m.map((one) => one ?? NaN);
  return groups.map((runs) => Object.entries(axes).map(([axis, prices]) => ({
    band: pfbench.statistics.band(
      runs, spent(axis, prices), values, {...options, isTime: axis === 'seconds'}),
    ert: targets.map((target) => {
      const found = pfbench.statistics.runtimes(
        runs, spent(axis, prices), values, target, inAll(axis, prices));
      return [found.hits, found.hits ? found.ert : null];
    }),
  })));
})"""


def group(number):
    """Runs of one algorithm: ragged, with gaps, of every status, some agreeing in their counts."""
    rng = np.random.default_rng(number)
    agree = number % 2 == 0
    common = np.cumsum(rng.integers(0, 40, 30))
    return [one(rng, seed, common if agree else None) for seed in range(1 + number % 7)]


def one(rng, seed, common):
    rows = int(rng.integers(0, 30)) if seed else 20
    sfo = np.cumsum(rng.integers(0, 40, 30)) if common is None else common
    status = str(rng.choice(list(STATUSES))) if seed % 2 else "finished"
    table = [
        (k, 0, int(sfo[k]), 0, 0, k // 2, 0, 0, float(rng.random() + k), value(rng, k))
        for k in range(rows)
    ]
    last = table[-1] if table else (0,) * 10
    return Run(
        problem="p",
        algorithm="a",
        parameters={},
        schedule="explicit",
        seed=seed,
        status=status,
        stop_reason="",
        iterations=last[0],
        counts=Counts(sfo=last[2] + 3, lo=last[5]),
        final={},
        seconds=last[8] + 0.5,
        oracle_seconds=0.0,
        failure_probability=0.0,
        columns=(*TRACE_COLUMNS, "m"),
        rows=table,
    )


def value(rng, row):
    return None if rng.random() < 0.15 else float(math.exp(-0.1 * row) * rng.uniform(0.5, 1.5))


def as_the_page_has_it(run):
    places = {name: at for at, name in enumerate(run.columns)}
    return {
        "seed": run.seed,
        "status": run.status,
        "counts": run.counts.as_dict(),
        "iterations": run.iterations,
        "seconds": run.seconds,
        "trace": {
            name: [row[places[name]] for row in run.rows]
            for name in ("iteration", *COUNTED, "seconds", "m")
        },
    }


GROUPS = [group(number) for number in range(24)]
TARGETS = (0.9, 0.4, 0.01)


@pytest.fixture(scope="module")
def computed(browser, generated):
    page, _ = generated
    browser.open(page.as_uri())

    def compute(**options):
        given = {"holds": sorted(COMPLETED), "quartilesFrom": QUARTILES_FROM} | options
        groups = [[as_the_page_has_it(run) for run in runs] for runs in GROUPS]
        return browser.run(f"{JAVASCRIPT}({json.dumps([groups, AXES, TARGETS, given])})")

    return compute


def check(found):
    """Compare what the page computed with what the package computes."""
    for runs, by_axis in zip(GROUPS, found, strict=True):
        for (axis, prices), of_axis in zip(AXES.items(), by_axis, strict=True):
            if axis not in ("price", "iteration"):
                compare_bands(median_band(runs, axis, "m"), of_axis["band"])
            price = Cost.from_weights(prices)
            for target, (hits, expected) in zip(TARGETS, of_axis["ert"], strict=True):
                want = make_runtimes(runs, Stop("m", target), price)
                assert hits == want.hits
                if hits:
                    np.testing.assert_allclose(expected, ert(want), rtol=1e-13)


def compare_bands(want, found):
    np.testing.assert_allclose(found["x"], want.x, rtol=1e-13)
    np.testing.assert_array_equal(found["runs"], want.runs)
    for name in ("median", "low", "high"):
        np.testing.assert_allclose(found[name], getattr(want, name), rtol=1e-12, err_msg=name)


def test_bands_and_expected_calls_are_those_of_the_package(computed):
    check(computed())


@pytest.mark.parametrize("fault", [{"holds": []}, {"holds": list(STATUSES)}, {"quartilesFrom": 2}])
def test_another_definition_is_noticed(computed, fault):
    with pytest.raises(AssertionError):
        check(computed(**fault))


def test_a_price_of_one_kind_of_calls_is_the_count_of_them(browser, generated):
    page, _ = generated
    browser.open(page.as_uri())
    assert browser.run("""pfbench.report.studies[0].panels.every(({groups}) => groups.every(
      ({runs}) => runs.every((run) => ['sfo', 'lo'].every((kind) => JSON.stringify(
        pfbench.statistics.price(run, {[kind]: 1})) === JSON.stringify(run.trace[kind])))))""")


def test_the_runs_in_the_page_are_those_of_the_report(browser, generated):
    page, report = generated
    browser.open(page.as_uri())
    for at, panel in enumerate(report.results[0].panels):
        for number, of_group in enumerate(panel.groups):
            path = f"pfbench.report.studies[0].panels[{at}].groups[{number}].runs"
            found = browser.run(f"{path}.map((run) => [run.status, run.counts, run.trace])")
            for run, (status, counts, trace) in zip(of_group.runs, found, strict=True):
                assert (status, counts) == (run.status, run.counts.as_dict())
                for name, values in trace.items():
                    place = run.columns.index(name)
                    rtol = 1e-3 if name == "seconds" else 1e-5 if "." in str(values) else 0
                    want = [row[place] for row in run.rows]
                    np.testing.assert_allclose(values, want, rtol=rtol, err_msg=name)
