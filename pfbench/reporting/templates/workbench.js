// One study on the page: its switches, legend and panels, all a function of its state.
//
// The address holds what differs from the default, as #KEY.NAME=VALUE&…, so that a link shows what
// its sender saw.
const workbench = (() => {
  const {element, listed, significant} = elements;
  const ALL = "all";
  const MOST_PANELS = 12;
  const LEAST_WIDTH = 250;
  const NEAR = 24;
  const SLOPES = ["1/4", "1/3", "1/2", "1", "2"];

  // The choices of each switch, by name, as [value, text].
  function offered(study) {
    const names = (list) => list.map((one, k) => [String(k), one]);
    const targets = study.targets.map((one, k) => [String(k), one.text]).reverse();
    return {
      problem: [[ALL, "all problems"], ...names(study.problems)],
      setting: [[ALL, "all settings"], ...names(study.settings)],
      measure: [...Object.entries(study.measures), [ALL, "all measures"]],
      x: Object.entries(study.axes),
      band: [["band", "median and band"], ["seeds", "single seeds"], ["median", "median only"]],
      slope: [["none", "none"], ...study.rates.map((rate, k) => [`claim${k}`, rate.text]),
        ...SLOPES.map((power) => [power, `x to the −${power}`])],
      target: [...targets, ["own", targets.length ? "another level" : "a level of my own"]],
    };
  }

  function defaults({problems, settings, measures, targets, ...study}) {
    const hardest = targets.length - 1;
    return {
      problem: problems.length === 1 || problems.length * settings.length > MOST_PANELS ? "0" : ALL,
      setting: settings.length === 1 ? "0" : ALL,
      measure: targets[hardest]?.measure ?? Object.keys(measures)[0],
      x: study.axis,
      logx: study.logx,
      logy: study.logy,
      band: "band",
      slope: "none",
      target: hardest < 0 ? "own" : String(hardest),
      level: "",
      hidden: new Set(study.hidden),
      only: null,
    };
  }

  // The text of a switch in the address, and back; undefined if it cannot be read.
  function written(value) {
    if (value instanceof Set) return [...value].sort((a, b) => a - b).join(",");
    return typeof value === "boolean" ? (value ? "1" : "0") : String(value ?? "");
  }

  function readOne(name, text, base, choices, labels) {
    if (name in choices) return choices[name].some(([one]) => one === text) ? text : undefined;
    if (typeof base === "boolean") return {1: true, 0: false}[text];
    const isLabel = (one) => Number.isInteger(one) && one >= 0 && one < labels;
    if (name === "level") return Number.isFinite(Number(text)) ? text : undefined;
    if (name === "only") return text && isLabel(Number(text)) ? Number(text) : undefined;
    const numbers = text === "" ? [] : text.split(",").map(Number);
    return numbers.every(isLabel) ? new Set(numbers) : undefined;
  }

  function read(report, study) {
    const state = defaults(study);
    const address = new URLSearchParams(location.hash.slice(1));
    for (const name of Object.keys(state)) {
      const text = address.get(`${study.key}.${name}`);
      if (text === null) continue;
      const value = readOne(name, text, state[name], offered(study), report.algorithms.length);
      if (value !== undefined) state[name] = value;
    }
    return state;
  }

  function write(study, state) {
    const address = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
    for (const [name, base] of Object.entries(defaults(study))) {
      const text = written(state[name]);
      if (text === written(base)) address.delete(`${study.key}.${name}`);
      else address.set(`${study.key}.${name}`, text);
    }
    const hash = address.toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  class Workbench {
    constructor(report, study, place) {
      Object.assign(this, {report, study, place});
      this.state = read(report, study);
      this.build();
    }

    // --- what it consists of

    build() {
      this.controls = element("form", {class: "switches", autocomplete: "off",
        "aria-label": `Switches of ${this.study.title}`, submit: (event) => event.preventDefault()});
      this.legend = element("ul", {class: "legend", "aria-label": "Algorithms"});
      this.grid = element("div", {class: "panels"});
      this.across = element("p", {class: "across", "aria-hidden": "true"});
      this.caption = element("p", {class: "caption", "aria-live": "polite"});
      this.tip = element("div", {class: "tip", hidden: true, "aria-hidden": "true"});
      this.place.replaceChildren(
        element("details", {class: "rail", open: innerWidth >= 800},
          element("summary", {text: "Switches"}), this.controls),
        element("figure", {class: "stage", "aria-label": this.study.title},
          this.legend, this.grid, this.across, this.caption, this.savers(), this.tip));
      this.buildControls();
      this.buildLegend();
    }

    buildControls() {
      const choices = offered(this.study);
      const select = (name, label, hint = null) => element("label", {class: "switch", title: hint},
        element("span", {text: label}),
        element("select", {name, change: (event) => this.set({[name]: event.target.value})},
          ...choices[name].map(([value, text]) => element("option", {value, text}))));
      const tick = (name, label) => element("label", {class: "tick"},
        element("input", {type: "checkbox", name, change: (event) => this.set({[name]: event.target.checked})}),
        element("span", {text: label}));
      const group = (legend, ...parts) => element("fieldset", {}, element("legend", {text: legend}), ...parts);
      const several = (list, name, label) => (list.length > 1 ? select(name, label) : null);
      this.levelField = element("label", {class: "switch"},
        element("span", {text: "My own level"}),
        element("input", {type: "text", name: "level", inputmode: "decimal", size: 8, placeholder: "e.g. 1e-3",
          change: ({target: {value}}) => this.set({level: Number.isFinite(Number(value)) ? value.trim() : ""})}));
      const {problems, settings, measures} = this.study;
      this.controls.append(
        group("Shown", several(problems, "problem", "Problem"), several(settings, "setting", "Setting"),
          several(Object.keys(measures), "measure", "Measure"), select("band", "Seeds")),
        group("Against", select("x", "x-axis")),
        group("Scale", tick("logx", "logarithmic x"), tick("logy", "logarithmic y"),
          select("slope", "Slope", "A straight line where both axes are logarithmic")),
        group("Target", select("target", "Level"), this.levelField),
        element("button", {type: "button", class: "plain", text: "As at first",
          click: () => this.set(defaults(this.study))}));
    }

    buildLegend() {
      const item = (number) => {
        const {label} = this.report.algorithms[number];
        const mark = element("svg", {width: 34, height: 12, viewBox: "-17 -6 34 12", "aria-hidden": "true"}, ...this.mark(number));
        return element("li", {},
          element("input", {type: "checkbox", "data-number": number, "aria-label": `show ${label}`,
            title: "show or hide", change: () => this.toggle(number)}),
          element("button", {type: "button", "data-number": number, title: "show alone; once more: all",
            click: () => this.isolate(number)}, mark, element("span", {text: label})));
      };
      const {algorithms, hidden} = this.study;
      this.legend.append(...algorithms.filter((one) => !hidden.includes(one)).map(item));
      if (!hidden.length) return;
      const rest = element("details", {},
        element("summary", {text: `${hidden.length} more algorithm${hidden.length > 1 ? "s" : ""}`}),
        element("ul", {class: this.legend.className}, ...hidden.map(item)));
      rest.open = hidden.some((one) => !this.state.hidden.has(one));
      this.more = element("button", {type: "button", class: "plain", click: () => this.set({
        hidden: new Set(this.state.hidden.size ? [] : hidden), only: null})});
      this.legend.append(element("li", {}, this.more), element("li", {class: "rest"}, rest));
    }

    // A piece of an algorithm's line with its marker.
    mark(number) {
      const {dash, path} = this.report.algorithms[number];
      const color = `var(--line-${number})`;
      return [element("path", {d: "M-17,0H17", fill: "none", stroke: color, "stroke-width": 1.8, "stroke-dasharray": dash || null}),
        element("path", {d: path, fill: color})];
    }

    savers() {
      const button = (text, label, click) => element(
        "button", {type: "button", class: "plain", text, "aria-label": label, click});
      const save = (name, content, type) => this.download(name, new Blob([content], {type}));
      const name = `${this.report.name}-${this.study.key}`;
      return element("p", {class: "savers"}, element("span", {text: "Save figure: "}),
        button("SVG", "Save figure as SVG", () => save(`${name}.svg`, this.svg(), "image/svg+xml")),
        button("PNG", "Save figure as PNG", async () => this.download(`${name}.png`, await this.png())),
        element("span", {text: " specification: "}),
        button("TOML", "Save specification as TOML", () => save(`${this.report.name}.toml`, this.report.spec, "text/plain")));
    }

    // --- what changes

    set(changes) {
      Object.assign(this.state, changes);
      write(this.study, this.state);
      this.draw();
    }

    toggle(number) {
      const hidden = new Set(this.state.hidden);
      if (!hidden.delete(number)) hidden.add(number);
      this.set({hidden, only: this.state.only === number ? null : this.state.only});
    }

    isolate(number) {
      const hidden = new Set(this.state.hidden);
      hidden.delete(number);
      this.set({hidden, only: this.state.only === number ? null : number});
    }

    reread() {
      this.state = read(this.report, this.study);
      this.draw();
    }

    // --- what is shown

    get panels() {
      const {problem, setting} = this.state;
      const {problems, settings, panels} = this.study;
      return panels.filter((panel) => (
        (problem === ALL || panel.problem === problems[problem]) &&
        (setting === ALL || panel.setting === settings[setting])));
    }

    get measures() {
      return this.state.measure === ALL ? Object.keys(this.study.measures) : [this.state.measure];
    }

    draw() {
      const {panels: shown, measures} = this;
      this.drawControls();
      this.drawLegend(shown);
      this.drawPanels(shown, measures);
      this.across.textContent = this.study.axes[this.state.x];
      this.caption.textContent = this.sentence(shown, measures);
    }

    drawControls() {
      for (const input of this.controls.elements) {
        if (input.type === "checkbox") input.checked = this.state[input.name];
        else if (input.name) input.value = this.state[input.name];
      }
      this.levelField.hidden = this.state.target !== "own";
    }

    drawLegend(shown) {
      const {hidden, only} = this.state;
      const {length} = this.study.algorithms;
      if (this.more) {
        this.more.textContent = hidden.size
          ? `show all ${length}` : `show the foremost ${length - this.study.hidden.length}`;
      }
      for (const input of this.legend.querySelectorAll("input")) {
        input.checked = !hidden.has(Number(input.dataset.number));
      }
      for (const button of this.legend.querySelectorAll("button[data-number]")) {
        const number = Number(button.dataset.number);
        button.setAttribute("aria-pressed", String(only === number));
        button.classList.toggle("behind", hidden.has(number) || (only !== null && only !== number));
        button.classList.toggle("absent", !this.has(shown, number));
      }
    }

    has(shown, number) {
      return shown.some((panel) => panel.groups.some(
        (group) => group.algorithm === number && panels.counts(this, group)));
    }

    drawPanels(shown, measures) {
      const {problems, settings} = this.study;
      const most = Math.max(1, Math.floor(this.grid.clientWidth / LEAST_WIDTH));
      this.grid.style.setProperty("--columns", Math.ceil(shown.length / Math.ceil(shown.length / most)));
      this.grid.classList.toggle("one", shown.length * measures.length === 1);
      const focused = [...this.grid.querySelectorAll("button")].indexOf(document.activeElement);
      const back = element("button", {type: "button", class: "plain back", text: "← all panels",
        click: () => this.set({problem: problems.length > 1 ? ALL : "0", setting: settings.length > 1 ? ALL : "0"})});
      this.grid.replaceChildren(...(shown.length < this.study.panels.length ? [back] : []),
        ...measures.flatMap((measure) => [
          ...(measures.length > 1 ? [element("h3", {class: "measure", text: this.study.measures[measure]})] : []),
          ...shown.map((panel) => element("div", {class: "panel"},
            this.heading(panel, shown.length > 1), element("div", {
              class: "plot", role: "img", "aria-label": panels.description(this, panel, measure),
            })))]));
      this.grid.querySelectorAll("button")[focused]?.focus();
      const wanted = measures.flatMap((measure) => shown.map((panel) => [panel, measure]));
      [...this.grid.querySelectorAll(".plot")].forEach((plot, k) => {
        const svg = panels.draw(this, ...wanted[k], [Math.max(200, plot.clientWidth), Math.max(120, plot.clientHeight)]);
        svg.setAttribute("aria-hidden", "true");
        const near = (event) => this.near(svg, event);
        svg.addEventListener("pointermove", (event) => this.point(near(event), event));
        svg.addEventListener("pointerleave", () => this.point(null));
        svg.addEventListener("click", (event) => { const found = near(event); if (found) this.isolate(found.number); });
        svg.addEventListener("dblclick", (event) => { if (!near(event)) this.set({only: null}); });
        plot.append(svg);
      });
    }

    heading(panel, isButton) {
      if (!isButton) return element("p", {class: "setting", text: panel.title});
      const {problems, settings} = this.study;
      return element("button", {type: "button", class: "setting", text: panel.title, title: "show alone",
        click: () => this.set({problem: String(problems.indexOf(panel.problem)), setting: String(settings.indexOf(panel.setting))})});
    }

    // The point of a line that the pointer is near to.
    near(svg, event) {
      const box = svg.getBoundingClientRect();
      const scale = box.width / svg.viewBox.baseVal.width;
      const distance = ({at: [x, y]}) => Math.hypot(
        event.clientX - box.x - scale * x, event.clientY - box.y - scale * y);
      const found = svg.points.map((point) => [distance(point), point])
        .reduce((best, one) => (one[0] < best[0] ? one : best), [NEAR, null]);
      return found[1];
    }

    point(found, event) {
      this.tip.hidden = found === null;
      if (found === null) return;
      this.tip.textContent = found.text();
      const stage = this.tip.parentElement.getBoundingClientRect();
      const x = Math.min(event.clientX - stage.x + 12, stage.width - this.tip.offsetWidth);
      this.tip.style.translate = `${Math.max(0, x)}px ${event.clientY - stage.y + 16}px`;
    }

    // What the figure shows, in words.
    sentence(shown, measures) {
      const {study, state} = this;
      const lines = {seeds: "A line for each seed.", median: `${study.legend.split(";")[0].replace(/\.$/, "")}.`, band: study.legend};
      const parts = [`${listed(measures.map((one) => study.measures[one]))} against ${study.axes[state.x]}. ${lines[state.band]}`];
      const {length} = study.algorithms;
      if (state.hidden.size) parts.push(`Shown are ${length - state.hidden.size} of ${length} algorithms.`);
      const budgets = [...new Set(shown.map((panel) => panel.budget).filter(Boolean))];
      if (budgets.length) parts.push(`Every run as far as a budget of ${listed(budgets)} goes.`);
      const absent = study.algorithms.filter((one) => !this.has(shown, one)).map((one) => this.report.algorithms[one].label);
      if (absent.length) {
        const [verb, has] = absent.length === 1 ? ["makes", "it has"] : ["make", "they have"];
        parts.push(`${listed(absent)} ${verb} no ${panels.unit(this)}, so ${has} no line on this axis.`);
      }
      if (state.logx && shown.some((panel) => measures.some((one) => panels.startsAtZero(this, panel, one)))) {
        parts.push("The start, at 0, has no place on the logarithmic axis.");
      }
      if (state.slope !== "none") parts.push(this.slopeSentence(shown, measures));
      const level = measures.map((measure) => panels.level(this, measure)).find((one) => one !== null);
      if (level !== undefined) parts.push(`Dotted: the target, ${significant(level)}.`);
      if (shown.some((panel) => panel.groups.some((group) => group.runs.some((run) => run.early)))) {
        parts.push("A cross marks a run that ends otherwise than by its schedule, target or budget.");
      }
      return parts.join(" ");
    }

    slopeSentence(shown, measures) {
      const slopes = shown.flatMap((panel) => measures.map((one) => panels.slope(this, panel, one))).filter(Boolean);
      if (!slopes.length) return "The chosen slope has no place here: it is about another measure or axis.";
      const all = [...new Set(slopes.map((one) => one.whence))].map((whence) => {
        const values = slopes.filter((one) => one.whence === whence).map((one) => significant(one.constant));
        return `C = ${listed([...new Set(values)])} ${whence}`;
      });
      return `Long dashes: ${slopes[0].text}, with ${listed(all)}.`;
    }

    // --- saving

    download(name, blob) {
      const link = element("a", {href: URL.createObjectURL(blob), download: name});
      document.body.append(link);
      link.click();
      link.remove();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    }

    // The figure as it is shown, as one SVG in the colours of paper.
    svg() {
      const {panels: shown, measures, study, state} = this;
      const [width, height] = shown.length * measures.length === 1 ? [760, 440] : [340, 240];
      const columns = measures.length > 1 ? shown.length : Math.ceil(Math.sqrt(shown.length));
      const full = columns * width;
      const at = (x, y, ...children) => element("g", {transform: `translate(${x} ${y})`}, ...children);
      const parts = [element("text", {y: 12, "font-weight": 600,
        text: `${study.title}: ${listed(measures.map((one) => study.measures[one]))}`})];
      let [x, y] = [0, 36];
      for (const number of study.algorithms.filter((one) => !state.hidden.has(one))) {
        const {label} = this.report.algorithms[number];
        const size = 60 + 6.8 * label.length;
        if (x && x + size > full) [x, y] = [0, y + 18];
        parts.push(at(x + 17, y, ...this.mark(number), element("text", {x: 24, y: 4, text: label})));
        x += size;
      }
      y += 24;
      measures.flatMap((measure) => shown.map((panel) => [panel, measure])).forEach(([panel, measure], k) => {
        const name = listed([...(measures.length > 1 ? [study.measures[measure]] : []), panel.title].filter(Boolean));
        parts.push(at((k % columns) * width, y + Math.floor(k / columns) * (height + 24),
          element("text", {x: width / 2, y: 12, "text-anchor": "middle", text: name}),
          at(0, 18, panels.draw(this, panel, measure, [width, height]))));
      });
      y += Math.ceil(shown.length * measures.length / columns) * (height + 24) + 14;
      parts.push(element("text", {x: full / 2, y, "text-anchor": "middle", text: study.axes[state.x]}));
      const style = getComputedStyle(document.documentElement);
      const [w, h] = [full + 24, y + 30];
      const made = element("svg", {viewBox: `0 0 ${w} ${h}`, width: w, height: h, "font-size": 12, fill: "var(--ink)",
        "font-family": style.getPropertyValue("--sans").trim()},
      element("rect", {width: w, height: h, fill: "#ffffff"}), at(12, 12, ...parts));
      return new XMLSerializer().serializeToString(made).replace(
        /var\(--([\w-]+)\)/g, (_, name) => style.getPropertyValue(`--light-${name}`).trim());
    }

    // The same as PNG, at twice its size.
    png() {
      return new Promise((resolve, reject) => {
        const image = new Image();
        image.onerror = () => reject(new Error("the browser cannot draw the figure as PNG"));
        image.onload = () => {
          const canvas = element("canvas", {width: 2 * image.width, height: 2 * image.height});
          canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
          canvas.toBlob(resolve, "image/png");
        };
        image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(this.svg())}`;
      });
    }
  }

  return {Workbench};
})();
