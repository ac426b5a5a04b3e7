// What a panel shows: the lines of its algorithms as plotly.js takes them, in given colours.
//
// A view is {report, study, state, colors}; nothing here touches the page.
const figures = (() => {
  const MOST_POINTS = 300;
  const {significant, spent, plain, listed} = words;

  const title = (report, measure, gap) => {
    const name = report.measures[measure];
    return gap ? `${name} − best known` : name;
  };

  // What is on the x-axis, as a function of a run: at each row, and in all.
  function axis({study, state}) {
    const {x, prices} = state;
    if (x === "price") {
      const inAll = (run) => study.counts.reduce(
        (sum, kind) => sum + prices[kind] * run.counts[kind], 0);
      return {at: (run) => statistics.price(run, prices), inAll, isTime: false};
    }
    if (x === "seconds") {
      return {at: (run) => run.trace.seconds, inAll: (run) => run.seconds, isTime: true};
    }
    if (x === "iteration") {
      return {at: (run) => run.trace.iteration, inAll: (run) => run.iterations, isTime: false};
    }
    const none = (run) => run.trace.iteration.map(() => 0);
    return {at: (run) => run.trace[x] ?? none(run), inAll: (run) => run.counts[x], isTime: false};
  }

  // The unit of what is on the x-axis, as it follows a number.
  const unit = ({state}) => ({
    price: "at these prices", seconds: "s", iteration: "iterations",
  })[state.x] ?? `${state.x.toUpperCase()} calls`;

  // The best known objective that is taken off, or 0.
  function taken({state}, panel, measure) {
    return state.gap && measure === "objective" ? panel.best ?? 0 : 0;
  }

  const makes = (group, {study, state}) => group.runs.some((run) => (
    state.x === "price"
      ? study.counts.some((kind) => state.prices[kind] && run.counts[kind])
      : !(state.x in run.counts) || run.counts[state.x]));

  function valuesOf(view, panel, measure) {
    const off = taken(view, panel, measure);
    return (run) => (run.trace[measure] ?? []).map((value) => value - off);
  }

  function bandOf(view, panel, group, measure) {
    const {at, isTime} = axis(view);
    const {holds, quartilesFrom} = view.report;
    const found = statistics.band(
      group.runs, at, valuesOf(view, panel, measure), {holds, quartilesFrom, isTime});
    return thinned(found);
  }

  function chosen(found, keep) {
    return Object.fromEntries(Object.entries(found).map(([name, all]) => [name, all.filter(keep)]));
  }

  function thinned(found) {
    const size = found.x.length;
    if (size <= MOST_POINTS) return found;
    const wanted = new Set();
    for (let k = 0; k < MOST_POINTS; k += 1) {
      wanted.add(Math.round(k * (size - 1) / (MOST_POINTS - 1)));
      wanted.add(Math.round(size ** (k / (MOST_POINTS - 1))) - 1);
    }
    return chosen(found, (_, k) => wanted.has(k));
  }

  // Which algorithms are drawn, and how: in their colour, or as a grey line behind the chosen one.
  const isHidden = ({state}, group) => state.hidden.has(group.algorithm);
  const isBehind = ({state}, group) => state.only !== null && state.only !== group.algorithm;

  // A marker some way along each line: as many as tell lines apart, each line at other places.
  function markerPlaces(size, number) {
    const step = Math.max(1, Math.floor(size / 5));
    const first = size > 10 ? (number * 2) % step : 0;
    return Array.from({length: size}, (_, k) => (k % step === first || k === size - 1));
  }

  function looks({report, colors}, group, behind) {
    const look = report.algorithms[group.algorithm];
    const color = behind ? colors.rule : colors.lines[group.algorithm];
    return {...look, color, width: behind ? 1 : 1.8};
  }

  function said(view, group, x, y, rest) {
    const {label} = view.report.algorithms[group.algorithm];
    return `<b>${plain(label)}</b> at ${spent(x)} ${unit(view)}<br>${significant(y)}${rest}`;
  }

  // What is at 0 calls would stand at the edge of a logarithmic axis, and a line come from there.
  const hasPlace = ({state}, x) => x > 0 || !state.logx;

  const isCut = (view, panel) => panel.groups.some((group) => !isHidden(view, group)
    && makes(group, view)
    && group.runs.some((run) => axis(view).at(run).slice(0, 1).some((x) => !hasPlace(view, x))));

  function bandTraces(view, panel, group, measure) {
    const behind = isBehind(view, group);
    const look = looks(view, group, behind);
    const whole = bandOf(view, panel, group, measure);
    const found = chosen(whole, (_, k) => hasPlace(view, whole.x[k]));
    const planned = group.runs.length;
    const drawn = [];
    if (view.state.band === "band" && !behind && planned > 1) {
      const floor = view.state.logy ? Math.min(...found.median.filter((y) => y > 0)) * 1e-3 : -Infinity;
      const lifted = (all) => all.map((y) => Math.max(y, floor));
      drawn.push({
        x: [...found.x, ...found.x.slice().reverse()],
        y: [...lifted(found.high), ...lifted(found.low).reverse()],
        fill: "toself", fillcolor: look.color, opacity: 0.16, line: {width: 0},
        mode: "lines", hoverinfo: "skip", meta: group.algorithm, name: "band",
      });
    }
    const text = found.x.map((x, k) => {
      const range = planned > 1
        ? ` (${significant(found.low[k])} to ${significant(found.high[k])})` : "";
      const some = found.runs[k] < planned ? `<br>${found.runs[k]} of ${planned} runs` : "";
      return said(view, group, x, found.median[k], range + some);
    });
    drawn.push(line(look, behind, group, found.x, found.median, text));
    return drawn;
  }

  function seedTraces(view, panel, group, measure) {
    const behind = isBehind(view, group);
    const look = {...looks(view, group, behind), width: 1};
    const at = axis(view).at;
    const values = valuesOf(view, panel, measure);
    return group.runs.map((run) => {
      const points = statistics.curve(at(run), values(run))
        .filter(([x]) => hasPlace(view, x));
      const text = points.map(([x, y]) => said(view, group, x, y, `, seed ${run.seed}`));
      return line(look, behind, group, points.map(([x]) => x), points.map(([, y]) => y), text);
    });
  }

  function line(look, behind, group, x, y, text) {
    const size = look.symbol.startsWith("triangle") ? 8 : 6;
    const places = markerPlaces(x.length, group.algorithm);
    return {
      x, y, text, hoverinfo: behind ? "skip" : "text", mode: behind ? "lines" : "lines+markers",
      line: {color: look.color, width: look.width, dash: look.dash},
      marker: {
        symbol: look.symbol, color: look.color, size: places.map((on) => (on ? size : 0.1)),
        opacity: 1, line: {width: 0},
      },
      meta: group.algorithm, name: "line",
    };
  }

  const ENDED_WELL = ["finished", "target", "budget"];

  // A cross where a run ends otherwise than by its schedule, its target or its budget; at the edge of
  // the axis if that is outside the values which the axis shows.
  function crosses(view, panel, group, measure, [low, high]) {
    const {at} = axis(view);
    const values = valuesOf(view, panel, measure);
    const ends = group.runs
      .filter((run) => !ENDED_WELL.includes(run.status))
      .map((run) => ({run, last: statistics.curve(at(run), values(run)).pop()}))
      .filter(({last}) => last);
    if (!ends.length || isBehind(view, group)) return [];
    return [{
      x: ends.map(({last}) => last[0]), y: ends.map(({last}) => Math.min(Math.max(last[1], low), high)),
      text: ends.map(({run, last}) => said(
        view, group, ...last, `<br>seed ${run.seed}: ${plain(run.status)}`)),
      hoverinfo: "text", mode: "markers", meta: group.algorithm, name: "end",
      marker: {symbol: "x-thin", size: 10, line: {color: looks(view, group, false).color, width: 2.5}},
    }];
  }

  // The slope that is chosen: {power, constant, text, whence}, or null where it cannot be drawn.
  // A claim says the power; the constant is the theorem's where the runs have its schedule, which
  // promises a value after so many calls, and else that of the runs, where the curve ends.
  function slope(view, panel, measure) {
    const {report, study, state} = view;
    if (state.slope === "none") return null;
    if (state.slope.startsWith("claim")) {
      const rate = study.rates[Number(state.slope.slice(5))];
      if (rate.measure !== measure || rate.axis !== state.x) return null;
      const own = panel.groups.filter((group) => group.algorithm === rate.algorithm);
      const promised = own.length ? own[0].promised : null;
      const calls = promised && promised.measure === measure ? promised.calls[rate.axis] : 0;
      if (calls > 0) {
        const constant = promised.value * calls ** rate.power;
        return {power: rate.power, constant, text: rate.text, whence: "of the theorem's schedule"};
      }
      return through(view, panel, own, measure, rate.power, rate.text);
    }
    const power = switches.powerOf(state.slope);
    const shown = panel.groups.filter((group) => !isHidden(view, group) && !isBehind(view, group));
    return through(view, panel, shown, measure, power, `C · x^(−${state.slope})`);
  }

  // C x^-power through the lowest last point of some groups.
  function through(view, panel, groups, measure, power, text) {
    const ends = groups
      .map((group) => bandOf(view, panel, group, measure))
      .map((found) => ({x: found.x[found.x.length - 1], y: found.median[found.median.length - 1]}))
      .filter(({x, y}) => x > 0 && y > 0);
    if (!ends.length) return null;
    const {x, y} = ends.reduce((low, one) => (one.y < low.y ? one : low));
    return {power, constant: y * x ** power, text, whence: "through the end of a curve"};
  }

  function slopeTrace(view, found, range) {
    const count = 60;
    const low = Math.max(range[0], range[1] * 1e-4);
    const x = Array.from({length: count}, (_, k) => low * (range[1] / low) ** (k / (count - 1)));
    return {
      x, y: x.map((at) => found.constant * at ** -found.power), mode: "lines",
      line: {color: view.colors.ink, width: 1.2, dash: "longdash"}, name: "slope",
      hoverinfo: "text", text: x.map(() => `${plain(found.text)}, C = ${significant(found.constant)} ${found.whence}`),
    };
  }

  // The traces of one panel, whose y-axis shows the values `shownY`.
  function traces(view, panel, measure, shownY = null) {
    const shown = panel.groups.filter((group) => !isHidden(view, group) && makes(group, view));
    // What stands in grey is drawn first, so that the chosen one lies on it.
    const ordered = [...shown].sort((a, b) => isBehind(view, b) - isBehind(view, a));
    const draw = view.state.band === "seeds" ? seedTraces : bandTraces;
    const found = [
      ...ordered.flatMap((group) => draw(view, panel, group, measure)),
      ...ordered.flatMap((group) => crosses(
        view, panel, group, measure, shownY ?? [-Infinity, Infinity])),
    ];
    const chosen = slope(view, panel, measure);
    const places = found.flatMap((one) => one.x).filter((x) => x > 0);
    if (chosen && places.length) {
      const range = places.reduce(([low, high], x) => [Math.min(low, x), Math.max(high, x)],
        [Infinity, 0]);
      found.push(slopeTrace(view, chosen, range));
    }
    return named(view, shownY && !view.state.logy ? found.map((one) => near(one, shownY)) : found);
  }

  // A trace with its values far outside the axis cut: no browser draws a place of 300 digits.
  function near(one, [low, high]) {
    const far = 1e4 * (high - low || 1);
    return {...one, y: one.y.map((y) => Math.min(Math.max(y, low - far), high + far))};
  }

  // Traces with names by which plotly.js knows them again, so that none is drawn over another's place.
  function named(view, found) {
    const times = new Map();
    return found.map((one) => {
      const kind = `${view.state.band}-${one.name}-${one.meta ?? ""}`;
      times.set(kind, (times.get(kind) ?? 0) + 1);
      return {...one, uid: `${kind}-${times.get(kind)}`};
    });
  }

  // What is shown in both directions, whichever algorithms are hidden: [low, high] of x and of y.
  function extent(view, panels, measure) {
    const every = {...view, state: {...view.state, hidden: new Set(), only: null, slope: "none"}};
    const all = panels.flatMap((panel) => traces(every, panel, measure).map(
      (one) => ({...one, bounded: boundedOf(panel, one)})));
    const range = (values, log) => {
      const shown = values.filter((one) => Number.isFinite(one) && (!log || one > 0));
      if (!shown.length) return null;
      return shown.reduce(([low, high], one) => [Math.min(low, one), Math.max(high, one)],
        [Infinity, -Infinity]);
    };
    const {logx, logy} = view.state;
    const y = range(all.filter((one) => one.name !== "band").flatMap((one) => one.y), logy);
    const bands = range(all.flatMap((one) => one.y), logy);
    // A band that comes near to zero would make everything else flat on a logarithmic axis.
    const low = y && bands && (logy ? Math.max(bands[0], y[0] / 3) : bands[0]);
    const bounded = range(all.flatMap((one) => one.bounded), logy);
    return {x: range(all.flatMap((one) => one.x), logx), y: y && cut([low, bands[1]], bounded, logy)};
  }

  // The values of a trace that an axis must show: all of them, or the first if a run diverged.
  function boundedOf(panel, {meta, name, y}) {
    const group = panel.groups.find((one) => one.algorithm === meta);
    if (!group.runs.some((run) => run.status === "diverged")) return y;
    return name === "line" ? y.slice(0, 1) : [];
  }

  // Diverged runs extend an axis by at most three decades, or by half of a linear axis.
  function cut([low, high], bounded, log) {
    if (!bounded) return [low, high];
    const [least, most] = bounded;
    if (log) return [low, Math.min(high, most * 1e3)];
    const more = (most - least) / 2;
    return more > 0 ? [Math.max(low, least - more), Math.min(high, most + more)] : [low, high];
  }

  // Ends beyond 1e±300 are cut, as arithmetic with them would overflow.
  function axisRange(range, log, margin, fromZero) {
    if (!range) return undefined;
    let [low, high] = range.map((one) => Math.min(Math.max(one, log ? 1e-300 : -1e300), 1e300));
    if (log) [low, high] = [Math.log10(low), Math.log10(high)];
    if (fromZero && !log) return [0, high * (1 + margin) || 1];
    const beside = margin * (high - low) || 0.05 * Math.abs(high);
    const [below, above] = beside > 1e-300 ? [low - beside, high + beside] : [low - 1, high + 1];
    return log ? [Math.max(below, -307), Math.min(above, 307)] : [below, above];
  }

  // The type, range and ticks of an axis.
  function scaled(range, log) {
    const type = log ? "log" : "linear";
    if (!range) return {type};
    const ticks = log ? words.logTicks(...range.map((one) => 10 ** one)) : words.linearTicks(...range);
    return {
      type, range, tickmode: "array",
      tickvals: ticks.map(([value]) => value), ticktext: ticks.map(([, text]) => text),
    };
  }

  // The layout of one panel of a size in px.
  function layout(view, panel, measure, extents, [width, height]) {
    const {state, colors, font} = view;
    const text = {family: font, size: 11, color: colors.muted};
    const target = switches.target(view.study, state);
    const off = taken(view, panel, measure);
    const level = target && target.measure === measure ? target.value - off : NaN;
    const drawn = Number.isFinite(level) && (!state.logy || level > 0);
    // A theorem's line may be far above the runs; on a linear axis it would make them flat.
    const chosen = state.logy && extents.x ? slope(view, panel, measure) : null;
    const lines = [
      ...(drawn ? [level] : []),
      ...(chosen ? [chosen.constant * extents.x[1] ** -chosen.power] : []),
    ];
    const y = extents.y && [Math.min(extents.y[0], ...lines), Math.max(extents.y[1], ...lines)];
    const common = {
      showgrid: false, zeroline: false, linecolor: colors.muted, tickcolor: colors.muted,
      tickangle: 0, automargin: false,
    };
    return {
      width, height, margin: {l: 52, r: 14, t: 6, b: 26},
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: text, showlegend: false, hovermode: "closest",
      // A finger scrolls the page, a mouse marks what to enlarge.
      dragmode: view.coarse ? false : "zoom",
      hoverlabel: {
        bgcolor: colors.paper, bordercolor: colors.muted, align: "left",
        font: {...text, color: colors.ink, size: 12},
      },
      xaxis: {
        ...common, ...scaled(axisRange(extents.x, state.logx, 0.03, true), state.logx),
        ticks: "outside", ticklen: 4,
      },
      yaxis: {
        ...common, ...scaled(axisRange(y, state.logy, 0.04, false), state.logy),
        showgrid: true, gridcolor: colors.rule,
      },
      shapes: drawn ? [{
        type: "line", xref: "paper", x0: 0, x1: 1, y0: level, y1: level, name: "target",
        line: {color: colors.accent, width: 1, dash: "dot"},
      }] : [],
    };
  }

  // What a panel shows, for those who cannot see it.
  function description(view, panel, measure) {
    const name = title(view.report, measure, taken(view, panel, measure) !== 0);
    const shown = panel.groups.filter(
      (group) => !isHidden(view, group) && !isBehind(view, group) && makes(group, view));
    const ends = shown.map((group) => {
      const found = bandOf(view, panel, group, measure);
      const {label} = view.report.algorithms[group.algorithm];
      const last = found.x.length - 1;
      if (last < 0) return `${label} has no value`;
      return `${label} goes from ${significant(found.median[0])} to ` +
        `${significant(found.median[last])} at ${spent(found.x[last])}`;
    });
    const where = panel.title ? `, ${panel.title}` : "";
    return `${name} against ${switches.axisName(view.report, view.state.x)}${where}: ` +
      `${ends.length ? listed(ends) : "nothing is drawn"}.`;
  }

  return {axis, bandOf, description, extent, isBehind, isCut, isHidden, layout, makes, slope, taken, title,
    traces, unit, valuesOf};
})();
