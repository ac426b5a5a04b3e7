// The switches of a study: what they are, how they stand, and how the address keeps them.
//
// The address holds what differs from the default, as #KEY.NAME=VALUE&…, so that a link shows what
// its sender saw.
const switches = (() => {
  const ALL = "all";
  const MOST_PANELS = 12;
  const SLOPES = [0.25, 1 / 3, 0.5, 1, 2];
  const PRICE_STEPS = [0, 0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000, 10000];

  // What a slider can be set to: round prices, and those of the specification.
  const priceSteps = (study) => [...new Set([...PRICE_STEPS, ...Object.values(study.price ?? {})])]
    .sort((a, b) => a - b);

  const AXES_BESIDE = {price: "price of all calls", iteration: "iterations", seconds: "seconds"};

  const axisName = (report, axis) => report.axes[axis] ?? AXES_BESIDE[axis];

  // What each switch can be, by name; the first is the default unless another is said.
  function offered(report, study) {
    const {problems, settings, measures, targets} = study;
    const names = (list) => list.map((one, k) => [String(k), one]);
    const rates = study.rates.map((rate, k) => [`claim${k}`, rate.text]);
    return {
      problem: [[ALL, "all problems"], ...names(problems)],
      setting: [[ALL, "all settings"], ...names(settings)],
      measure: [...measures.map((one) => [one, report.measures[one]]), [ALL, "all measures"]],
      x: [...study.counts, "price", "iteration", "seconds"].map(
        (axis) => [axis, axisName(report, axis)]),
      band: [["band", "median and band"], ["seeds", "single seeds"], ["median", "median only"]],
      slope: [
        ["none", "none"], ...rates,
        ...SLOPES.map((power) => [fractionOf(power), `x to the −${fractionOf(power)}`]),
      ],
      target: [
        ...[...targets].reverse().map((one) => [`${one.measure}<=${one.value}`,
          `${report.measures[one.measure] ?? one.measure} ≤ ${words.significant(one.value)}`]),
        ["own", targets.length ? "another level" : "a level of my own"],
      ],
    };
  }

  const fractionOf = (power) => (Math.abs(power - 1 / 3) < 1e-9 ? "1/3" : words.fraction(power));
  const powerOf = (text) => {
    const [above, below = "1"] = text.split("/");
    return Number(above) / Number(below);
  };

  function defaults(report, study) {
    const {problems, settings, measures, targets} = study;
    const hardest = targets[targets.length - 1];
    const many = problems.length * settings.length > MOST_PANELS;
    return {
      problem: many || problems.length === 1 ? "0" : ALL,
      setting: settings.length === 1 ? "0" : ALL,
      measure: hardest && measures.includes(hardest.measure) ? hardest.measure : measures[0],
      x: study.price ? "price" : study.counts[0] ?? "iteration",
      prices: study.price ?? Object.fromEntries(study.counts.map((kind) => [kind, 1])),
      logx: study.logx,
      logy: study.logy,
      gap: false,
      band: "band",
      slope: "none",
      target: hardest ? `${hardest.measure}<=${hardest.value}` : "own",
      level: "",
      hidden: new Set(study.hidden),
      only: null,
    };
  }

  // The text of a switch in the address, and back; undefined if it cannot be read.
  function written(value) {
    if (value instanceof Set) return [...value].sort((a, b) => a - b).join(",");
    if (value && typeof value === "object") {
      return Object.entries(value).map(([kind, each]) => `${kind}:${each}`).join(",");
    }
    return typeof value === "boolean" ? (value ? "1" : "0") : String(value ?? "");
  }

  function readOne(name, text, base, choices, labels, steps) {
    if (name in choices) return choices[name].some(([one]) => one === text) ? text : undefined;
    if (typeof base === "boolean") return {1: true, 0: false}[text];
    const numbers = text.split(",").map(Number);
    const isLabel = (one) => Number.isInteger(one) && one >= 0 && one < labels;
    if (name === "hidden" && text === "") return new Set();
    if (name === "hidden") return numbers.every(isLabel) ? new Set(numbers) : undefined;
    if (name === "only") return text && isLabel(Number(text)) ? Number(text) : undefined;
    if (name === "level") return Number.isFinite(Number(text)) ? text : undefined;
    if (name !== "prices") return undefined;
    const prices = {...base};
    for (const part of text.split(",")) {
      const [kind, each] = part.split(":");
      if (!Object.hasOwn(prices, kind) || !steps.includes(Number(each))) return undefined;
      prices[kind] = Number(each);
    }
    return prices;
  }

  function read(report, study) {
    const state = defaults(report, study);
    const choices = offered(report, study);
    const address = new URLSearchParams(location.hash.slice(1));
    for (const name of Object.keys(state)) {
      const text = address.get(`${study.key}.${name}`);
      if (text === null) continue;
      const value = readOne(
        name, text, state[name], choices, report.algorithms.length, priceSteps(study));
      if (value !== undefined) state[name] = value;
    }
    return state;
  }

  function write(report, study, state) {
    const address = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
    const base = defaults(report, study);
    for (const name of Object.keys(base)) {
      const text = written(state[name]);
      if (text === written(base[name])) address.delete(`${study.key}.${name}`);
      else address.set(`${study.key}.${name}`, text);
    }
    const hash = address.toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  // The target that is chosen, as {measure, value}, or null.
  function target(study, state) {
    if (state.target === "own") {
      const measure = state.measure === ALL ? study.measures[0] : state.measure;
      const value = Number(state.level);
      return state.level.trim() && Number.isFinite(value) ? {measure, value} : null;
    }
    return study.targets.find((one) => `${one.measure}<=${one.value}` === state.target) ?? null;
  }

  return {ALL, axisName, defaults, offered, powerOf, priceSteps, read, target, write};
})();
