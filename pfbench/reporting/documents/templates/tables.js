// The tables that follow the switches, and how CSV and LaTeX write them.
//
// A table is {name, caption, note, head, rows}; a row is a list of cells, the first of them its
// heading. A cell is a text, a number, or {text, below, value, share, mark}.
const tables = (() => {
  const {significant, spent} = words;
  const ABSENT = "–";
  const MOST_PLACES = 6;

  const said = (cell) => (typeof cell === "object" ? cell.text : String(cell));

  const targetName = (view, target) =>
    `${view.report.measures[target.measure] ?? target.measure} ≤ ${significant(target.value)}`;

  const heading = (panel) => panel.title || "calls";

  // The runs in which a group is judged at a target: a method that is tuned to each has others for
  // each; at another level it is judged in those for the hardest.
  function runsTo({study}, group, target) {
    const k = study.targets.findIndex((one) => (
      one.measure === target.measure && one.value === target.value));
    return group.to?.[k] ?? group.runs;
  }

  function runtimesOf(view, panel, group, target) {
    const {at, inAll} = figures.axis(view);
    const values = (run) => run.trace[target.measure] ?? [];
    return statistics.runtimes(runsTo(view, group, target), at, values, target.value, inAll);
  }

  const labelOf = (view, number) => view.report.algorithms[number].label;
  const ofPanel = (panel, number) => panel.groups.find((group) => group.algorithm === number);
  const shownOf = ({study, state}) => study.algorithms.filter((one) => !state.hidden.has(one));

  // Calls to the target: the expected runtime, and of how many runs.
  function results(view, panels, target) {
    const unit = figures.unit(view);
    const algorithms = shownOf(view);
    const columns = panels.map((panel) => algorithms.map((one) => {
      const group = ofPanel(panel, one);
      if (!group || !figures.makes(group, view)) return null;
      return runtimesOf(view, panel, group, target);
    }));
    const least = columns.map((column) => Math.min(...column.map((one) => one?.ert ?? Infinity)));
    const cell = (found, k) => {
      if (!found) return {text: ABSENT, value: ""};
      const reached = Number.isFinite(found.ert);
      return {
        text: reached ? spent(found.ert) : "∞",
        value: reached ? found.ert : "inf",
        below: found.hits && found.hits < found.runs ? `${found.hits} of ${found.runs}` : "",
        mark: reached && found.ert === least[k],
      };
    };
    return {
      name: "results",
      caption: `Expected ${unit} to ${targetName(view, target)}`,
      note: `Expected runtime (ERT): what all runs spent until they reached the target, or in all ` +
        "where they did not, over the number that reached it: all seeds, unless a number is below. " +
        "∞: none did. A dot marks the least of a column, which a few seeds may have decided.",
      head: ["algorithm", ...panels.map(heading)],
      rows: algorithms.map((one, row) => [
        labelOf(view, one), ...columns.map((column, k) => cell(column[row], k))]),
    };
  }

  // Which runs reach the target, or end with an answer where there is none, and what stops the rest.
  function coverage(view, target) {
    const {study, report} = view;
    const cell = (group) => {
      if (!group) return {text: ABSENT, value: "", share: 0};
      const good = (run) => (target
        ? (run.trace[target.measure] ?? []).some((value) => value <= target.value)
        : report.holds.includes(run.status));
      const runs = target ? runsTo(view, group, target) : group.runs;
      const hits = runs.filter(good).length;
      const others = new Map();
      for (const run of runs.filter((one) => !good(one) && one.status !== "finished")) {
        others.set(run.status, (others.get(run.status) ?? 0) + 1);
      }
      const text = `${hits}/${runs.length}`;
      const below = [...others].map(([status, many]) => `${many} ${status}`).join(", ");
      return {text, below, value: below ? `${text} (${below})` : text,
        share: hits / runs.length};
    };
    return {
      name: "coverage",
      caption: target ? `Runs that reach ${targetName(view, target)}` : "Runs that end with an answer",
      note: "Of all seeds; below, how the others ended if not by the end of their schedule.",
      head: ["algorithm", ...study.panels.map(heading)],
      rows: study.algorithms.map((one) => [
        labelOf(view, one), ...study.panels.map((panel) => cell(ofPanel(panel, one)))]),
    };
  }

  // The figure as numbers: medians at round places, which no method that is shown decides.
  function values(view, panels, measures) {
    const {holds} = view.report;
    const {at, inAll} = figures.axis(view);
    const isShown = (group) => !view.state.hidden.has(group.algorithm) && figures.makes(group, view);
    const groups = panels.flatMap((panel) => panel.groups.filter(isShown));
    const most = Math.max(0, ...groups.flatMap((group) => group.runs.map(inAll)));
    const places = roundPlaces(most);
    const rows = measures.flatMap((measure) => panels.flatMap((panel) => {
      const values = figures.valuesOf(view, panel, measure);
      return panel.groups.filter(isShown).map((group) => [
        labelOf(view, group.algorithm),
        ...(measures.length > 1 ? [view.report.measures[measure]] : []),
        ...(panels.length > 1 ? [heading(panel)] : []),
        ...places.map((place) => {
          const one = statistics.medianAt(group.runs, at, values, place, holds);
          return one === null ? {text: ABSENT, value: ""} : {text: significant(one), value: one};
        }),
      ]);
    }));
    return {
      name: "values",
      caption: `Medians after equal numbers of ${figures.unit(view)}`,
      note: "Between two recorded rows a run's value is interpolated; a run that has ended with an " +
        "answer keeps it, and one that has failed has no value from there on.",
      head: ["algorithm", ...(measures.length > 1 ? ["measure"] : []),
        ...(panels.length > 1 ? ["panel"] : []), ...places.map((place) => spent(place))],
      rows,
    };
  }

  // The last places 1, 3, 10, 30, … up to a number.
  function roundPlaces(most) {
    if (!(most > 0)) return [];
    const last = Math.floor(Math.log10(most));
    const powers = Array.from({length: MOST_PLACES}, (_, k) => last - MOST_PLACES + 1 + k);
    return powers.flatMap((power) => [Number(`1e${power}`), Number(`3e${power}`)])
      .filter((place) => place <= most).slice(-MOST_PLACES);
  }

  const isNumber = (cell) => typeof cell !== "string";

  // A text that a spreadsheet would read as a formula is quoted.
  function csvCell(cell) {
    if (typeof cell !== "string") return String(cell.value ?? cell.text ?? cell);
    const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
    return /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  }

  const csvText = (cell) => (typeof cell === "object" && typeof cell.value === "string"
    ? csvCell(cell.value) : csvCell(cell));

  const csv = ({head, rows}) => `${[head, ...rows].map((row) => row.map(csvText).join(",")).join("\n")}\n`;

  function latex({caption, head, rows}, escapes) {
    const escaped = (text) => [...text].map((one) => escapes[one] ?? one).join("");
    const cell = (one) => {
      const below = one.below ? ` (${one.below})` : "";
      return escaped(said(one) + below);
    };
    const line = (row) => `${row.map(cell).join(" & ")} \\\\`;
    const numbers = rows.length ? rows[0].map(isNumber) : head.map(() => true);
    return [
      `% ${caption}`,
      `\\begin{tabular}{${numbers.map((one) => (one ? "r" : "l")).join("")}}`,
      "\\toprule", line(head), "\\midrule", ...rows.map(line), "\\bottomrule", "\\end{tabular}", "",
    ].join("\n");
  }

  return {coverage, csv, isNumber, latex, results, said, values};
})();
