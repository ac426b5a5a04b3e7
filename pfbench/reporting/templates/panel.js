// One panel as SVG: the lines that Python computed, on the axes that it computed.
//
// A view is {report, study, state}; colours are those of the style sheet, as var(--NAME).
const panels = (() => {
  const {count, element, powerOfTen, significant} = elements;
  const MARGIN = {left: 54, right: 14, top: 8, bottom: 24};
  const MARKERS = 5;
  const CROSS = "M-4.5,-4.5L4.5,4.5M-4.5,4.5L4.5,-4.5";

  const isShown = ({state}, group) => !state.hidden.has(group.algorithm);
  const isBehind = ({state}, group) => state.only !== null && state.only !== group.algorithm;
  const counts = ({state}, group) => state.x in group.x || state.x in group.other;
  const unit = ({study, state}) => (
    {seconds: "s", iteration: "iterations", price: study.axes.price}[state.x] ?? `${state.x.toUpperCase()} calls`);

  // The lines of an algorithm: its median over the seeds with the band, or one for each seed.
  function linesOf({state}, group, measure) {
    const {x, band} = state;
    if (band !== "seeds") {
      return [group.other[x]?.[measure] ?? {x: group.x[x], ...group.bands[measure]}];
    }
    return group.runs.map((run) => (
      {x: run.x[x] ?? group.x[x], y: run.y[measure], seed: run.seed}));
  }

  const startsAtZero = (view, panel, measure) => panel.groups.some((group) => isShown(view, group)
    && counts(view, group) && linesOf(view, group, measure).some((line) => line.x[0] <= 0));

  // The axes of a panel, as {low, high, log, ticks}; on a logarithmic one all levels are in sight.
  function axesOf(view, panel, measure) {
    const {study, state} = view;
    const made = (pair, wanted) => {
      const log = Boolean(wanted && pair?.[1]);
      const [low, high, ticks] = pair?.[log ? 1 : 0] ?? [0, 1, []];
      return {low, high, log, ticks};
    };
    const x = made(panel.spans[state.x], state.logx);
    const y = made(study.scales[measure][panel.problem], state.logy);
    const line = slope(view, panel, measure);
    const levels = [level(view, measure), line && line.constant * x.high ** -line.power];
    for (const one of levels.filter((value) => y.log && value > 0)) {
      if (one > y.low && one < y.high) continue;
      [y.low, y.high] = [Math.min(y.low, one / 1.5), Math.max(y.high, one * 1.5)];
      const [first, last] = [Math.ceil(Math.log10(y.low)), Math.floor(Math.log10(y.high))];
      const step = Math.max(1, Math.ceil((last - first) / 5));
      y.ticks = [];
      for (let power = Math.ceil(first / step) * step; power <= last; power += step) {
        y.ticks.push([10 ** power, powerOfTen(power)]);
      }
    }
    return {x, y};
  }

  // The target that is chosen, if it is about this measure.
  function level({study, state}, measure) {
    if (state.target === "own") return state.level === "" ? null : Number(state.level);
    const target = study.targets[Number(state.target)];
    return target && target.measure === measure ? target.value : null;
  }

  // The slope that is chosen: {power, constant, text, whence}, or null where it has no place.
  // A claim's constant is the theorem's where Python has it, and else that of the runs.
  function slope(view, panel, measure) {
    const {study, state} = view;
    if (state.slope === "none") return null;
    const number = state.slope.startsWith("claim") ? Number(state.slope.slice(5)) : null;
    if (number === null) {
      const [above, below = 1] = state.slope.split("/").map(Number);
      const groups = panel.groups.filter((one) => isShown(view, one) && !isBehind(view, one));
      return through(view, groups, measure, above / below, `C · x^(−${state.slope})`);
    }
    const {algorithm, power, text, ...rate} = study.rates[number];
    if (rate.measure !== measure || rate.axis !== state.x) return null;
    const constant = panel.constants[number];
    if (constant !== null) return {power, constant, text, whence: "of the theorem's schedule"};
    return through(view, panel.groups.filter((one) => one.algorithm === algorithm), measure, power, text);
  }

  // C x^-power through the lowest last point of some algorithms.
  function through(view, groups, measure, power, text) {
    const medians = {...view, state: {...view.state, band: "median"}};
    const ends = groups.filter((group) => counts(view, group))
      .map((group) => ending(linesOf(medians, group, measure)[0]))
      .filter((end) => end && end[0] > 0 && end[1] > 0);
    if (!ends.length) return null;
    const [x, y] = ends.reduce((low, one) => (one[1] < low[1] ? one : low));
    return {power, constant: y * x ** power, text, whence: "through the end of a curve"};
  }

  // The last point of a line that has a value.
  function ending({x, y}) {
    const at = y.findLastIndex((value) => value !== null);
    return at < 0 ? null : [x[at], y[at]];
  }

  // An axis as a function from values to px, which stays near the panel.
  function placed({low, high, log}, from, to) {
    const scale = (value) => (log ? Math.log10(Math.max(value, 1e-300)) : value);
    const [first, last] = [scale(low), scale(high)];
    return (value) => {
      const share = Math.min(Math.max((scale(value) - first) / (last - first), -3), 4);
      return Math.round(10 * (from + share * (to - from))) / 10;
    };
  }

  // A panel of a size in px; `points` of the element are what a pointer can be near to.
  function draw(view, panel, measure, [width, height]) {
    const {x, y} = axesOf(view, panel, measure);
    const [left, right] = [MARGIN.left, width - MARGIN.right];
    const [top, bottom] = [MARGIN.top, height - MARGIN.bottom];
    const [atX, atY] = [placed(x, left, right), placed(y, bottom, top)];
    const clip = `clip-${draw.number = (draw.number ?? 0) + 1}`;
    const svg = element("svg", {viewBox: `0 0 ${width} ${height}`, width, height, "font-size": 11,
      fill: "var(--muted)"});
    const inside = element("g", {"clip-path": `url(#${clip})`, fill: "none"});
    const line = (x1, y1, x2, y2, stroke, more = {}) => element("line", {x1, y1, x2, y2, stroke, ...more});
    const text = (x, y, text, anchor) => element("text", {x, y, text, "text-anchor": anchor});
    svg.append(element("clipPath", {id: clip},
      element("rect", {x: left, y: top - 4, width: right - left + 6, height: bottom - top + 8})));
    for (const [value, name] of y.ticks) {
      svg.append(line(left, atY(value), right, atY(value), "var(--rule)"), text(left - 6, atY(value) + 4, name, "end"));
    }
    for (const [value, name] of x.ticks) {
      svg.append(line(atX(value), bottom, atX(value), bottom + 4, "var(--muted)"), text(atX(value), bottom + 16, name, "middle"));
    }
    svg.append(line(left, bottom, right, bottom, "var(--muted)"), line(left, top, left, bottom, "var(--muted)"), inside);
    svg.points = [];
    // What stands in grey is drawn first, so that the chosen one lies on it.
    const groups = panel.groups.filter((group) => isShown(view, group) && counts(view, group))
      .sort((a, b) => isBehind(view, b) - isBehind(view, a));
    for (const group of groups) {
      inside.append(...algorithm(view, group, measure, {x, y, atX, atY}, svg.points));
    }
    const target = level(view, measure);
    if (target !== null && (!y.log || target > 0)) {
      inside.append(line(left, atY(target), right, atY(target), "var(--accent)", {class: "target", "stroke-dasharray": "2 3"}));
    }
    const rate = slope(view, panel, measure);
    if (rate) {
      const first = x.log ? x.low : x.high * 1e-3;
      const places = Array.from({length: 61}, (_, k) => first * (x.high / first) ** (k / 60));
      const d = pathOf(places.map((place) => [atX(place), atY(rate.constant * place ** -rate.power)]));
      inside.append(element("path", {class: "slope", d, stroke: "var(--ink)", "stroke-width": 1.2, "stroke-dasharray": "9 4"}));
    }
    return svg;
  }

  const pathOf = (points) => (points.length ? `M${points.map((point) => point.join(",")).join("L")}` : "");

  // The elements of an algorithm: its bands, lines and markers, and a cross where a run ends early.
  function algorithm(view, group, measure, {x, y, atX, atY}, points) {
    const {label, dash, path} = view.report.algorithms[group.algorithm];
    const behind = isBehind(view, group);
    const color = behind ? "var(--rule)" : `var(--line-${group.algorithm})`;
    const number = group.algorithm;
    const made = [];
    for (const found of linesOf(view, group, measure)) {
      // What is at 0, or has no value, has no place on a logarithmic axis.
      const rows = [...found.y.keys()].filter((k) => found.y[k] !== null
        && (found.x[k] > 0 || !x.log) && (found.y[k] > 0 || !y.log));
      const places = rows.map((k) => [atX(found.x[k]), atY(found.y[k])]);
      if (view.state.band === "band" && found.low && !behind) {
        const edge = (values) => rows.map((k) => [atX(found.x[k]), atY(values[k])]);
        const d = pathOf([...edge(found.high), ...edge(found.low).reverse()]);
        made.push(element("path", {class: "band", "data-number": number, d, fill: color, opacity: 0.16}));
      }
      made.push(element("path", {class: behind ? "behind" : "line", "data-number": number, d: pathOf(places),
        stroke: color, "stroke-width": behind || found.seed !== undefined ? 1 : 1.8, "stroke-dasharray": dash || null}));
      if (behind) continue;
      const step = Math.max(1, Math.floor(places.length / MARKERS));
      const first = places.length > 10 ? (2 * number) % step : 0;
      const marks = places.filter((_, k) => k % step === first || k === places.length - 1);
      made.push(...marks.map((place) => element("path", {d: path, fill: color, transform: `translate(${place})`})));
      points.push(...rows.map((k, row) => ({at: places[row], number, text: () => described(view, found, k, label, group)})));
    }
    if (behind) return made;
    for (const run of group.runs.filter((one) => one.early)) {
      const end = ending({x: run.x[view.state.x] ?? group.x[view.state.x], y: run.y[measure]});
      if (!end) continue;
      // At the edge of the panel, where its value is outside.
      const place = [atX(Math.max(end[0], x.low)), atY(Math.min(Math.max(end[1], y.low), y.high))];
      made.push(element("path", {class: "end", d: CROSS, stroke: color, "stroke-width": 2.2, transform: `translate(${place})`}));
      points.unshift({at: place, number, text: () => `${label}, seed ${run.seed}: ${run.status} at ${count(end[0])} ${unit(view)}`});
    }
    return made;
  }

  function described(view, found, k, label, group) {
    const range = found.low ? ` (${significant(found.low[k])} to ${significant(found.high[k])})` : "";
    const some = found.n && found.n[k] < group.runs.length ? `, ${found.n[k]} of ${group.runs.length} runs` : "";
    const seed = found.seed === undefined ? "" : `, seed ${found.seed}`;
    return `${label}${seed} at ${count(found.x[k])} ${unit(view)}: ${significant(found.y[k])}${range}${some}`;
  }

  // What a panel shows, for those who cannot see it.
  function description(view, panel, measure) {
    const medians = {...view, state: {...view.state, band: "median"}};
    const ends = panel.groups
      .filter((group) => isShown(view, group) && !isBehind(view, group) && counts(view, group))
      .map((group) => {
        const found = linesOf(medians, group, measure)[0];
        const {label} = view.report.algorithms[group.algorithm];
        const end = ending(found);
        if (!end) return `${label} has no value`;
        const start = found.y.find((value) => value !== null);
        return `${label} goes from ${significant(start)} to ${significant(end[1])} at ${count(end[0])}`;
      });
    const where = panel.title ? `, ${panel.title}` : "";
    return `${view.study.measures[measure]} against ${view.study.axes[view.state.x]}${where}: ` +
      `${ends.length ? elements.listed(ends) : "nothing is drawn"}.`;
  }

  return {axesOf, counts, description, draw, isShown, level, slope, startsAtZero, unit};
})();
