// The statistics of the page, by the definitions of pfbench/reporting/statistics.py.
//
// A run is {seed, status, reason, counts, seconds, trace}; trace holds a list for each column, NaN
// where there is no value. What is on the x-axis is given as a function of a run, `spent`, that
// returns what it had spent at each row.
const statistics = (() => {
  const finite = Number.isFinite;
  const ascending = (a, b) => a - b;

  // The q-th percentile by linear interpolation between order statistics.
  function percentile(sorted, q) {
    const at = (sorted.length - 1) * q / 100;
    const below = Math.floor(at);
    const above = Math.min(below + 1, sorted.length - 1);
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
  }

  const median = (values) => percentile([...values].sort(ascending), 50);

  // What the calls of a run cost, row by row, at prices by kind.
  function price(run, prices) {
    const kinds = Object.entries(prices).filter(([kind, each]) => each && run.trace[kind]);
    return run.trace.iteration.map(
      (_, row) => kinds.reduce((sum, [kind, each]) => sum + each * run.trace[kind][row], 0));
  }

  // Where a run was recorded and what was measured there, the last at each place.
  function curve(at, values) {
    const known = [];
    at.forEach((place, row) => { if (finite(values[row])) known.push([place, values[row]]); });
    return known.filter(([place], k) => k === known.length - 1 || known[k + 1][0] > place);
  }

  // A run's value at a place: none before its first and after the end of a failure.
  function valueAt(points, place, holds) {
    if (!points.length || place < points[0][0]) return NaN;
    const last = points[points.length - 1];
    if (place > last[0]) return holds ? last[1] : NaN;
    let low = 0;
    let high = points.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (points[middle][0] < place) low = middle + 1; else high = middle;
    }
    const [x, y] = points[low];
    if (x === place) return y;
    const [before, value] = points[low - 1];
    return value + (y - value) * (place - before) / (x - before);
  }

  // What is spent at each recorded iteration, or null if the runs differ in it.
  function agreed(runs, spent, isTime) {
    const found = new Map();
    for (const run of runs) {
      const all = spent(run);
      run.trace.iteration.forEach((iteration, row) => {
        if (!found.has(iteration)) found.set(iteration, []);
        found.get(iteration).push(all[row]);
      });
    }
    for (const all of found.values()) {
      if (!isTime && all.some((one) => one !== all[0])) return null;
    }
    return new Map([...found].map(([iteration, all]) => [iteration, median(all)]));
  }

  // Median and band over runs: lists x, median, low, high, and how many runs have a value.
  function band(runs, spent, values, {holds, quartilesFrom, isTime = false}) {
    const common = agreed(runs, spent, isTime);
    const curves = runs.map((run) => curve(common ? run.trace.iteration : spent(run), values(run)));
    const places = new Set(curves.flatMap((points) => points.map(([place]) => place)));
    const grid = [...places].sort(ascending);
    const ends = runs.length >= quartilesFrom ? [25, 75] : [0, 100];
    const found = {x: [], median: [], low: [], high: [], runs: []};
    let furthest = -Infinity;
    for (const place of grid) {
      const known = runs
        .map((run, k) => valueAt(curves[k], place, holds.includes(run.status)))
        .filter(finite)
        .sort(ascending);
      furthest = Math.max(furthest, common ? common.get(place) : place);
      found.x.push(furthest);
      found.median.push(percentile(known, 50));
      found.low.push(percentile(known, ends[0]));
      found.high.push(percentile(known, ends[1]));
      found.runs.push(known.length);
    }
    return found;
  }

  // The median over runs of their values at one place, null where none has a value.
  function medianAt(runs, spent, values, place, holds) {
    const known = runs
      .map((run) => valueAt(curve(spent(run), values(run)), place, holds.includes(run.status)))
      .filter(finite);
    return known.length ? median(known) : null;
  }

  // What a run had spent at its first row at or below a target; null if it has no such row.
  function runtime(run, spent, values, target) {
    const row = values(run).findIndex((value) => value <= target);
    return row < 0 ? null : spent(run)[row];
  }

  // Runtimes of several runs: how many reach the target, their median, least and greatest, and the
  // expected runtime (ERT), which charges each run that does not reach it with all it has spent.
  function runtimes(runs, spent, values, target, spentInAll) {
    const found = runs.map((run) => runtime(run, spent, values, target));
    const hits = found.filter((one) => one !== null).sort(ascending);
    const charged = runs.map((run, k) => found[k] ?? spentInAll(run));
    const total = charged.reduce((sum, one) => sum + one, 0);
    const ert = hits.length ? total / hits.length : Infinity;
    const middle = hits.length ? percentile(hits, 50) : null;
    return {hits: hits.length, runs: runs.length, median: middle, ert,
      low: hits[0] ?? null, high: hits[hits.length - 1] ?? null};
  }

  return {agreed, band, curve, median, medianAt, percentile, price, runtime, runtimes, valueAt};
})();
