// One study on the page: its switches, legend, panels and tables, all a function of its state.
const workbench = (() => {
  const {ALL} = switches;
  const LEAST_WIDTH = 250;
  const {css, element, palette, tableElement} = elements;

  class Workbench {
    constructor(report, study, place, number) {
      Object.assign(this, {report, study, place, number});
      this.state = switches.read(report, study);
      this.coarse = matchMedia("(pointer: coarse)").matches;
      this.printing = false;
      this.build();
    }

    // --- what it consists of

    build() {
      this.controls = element("form", {class: "switches", autocomplete: "off",
        "aria-label": `Switches of ${this.study.title}`, submit: (event) => event.preventDefault()});
      this.folder = element("details", {class: "rail", open: innerWidth >= 800},
        element("summary", {text: "Switches"}), this.controls);
      this.legend = element("ul", {class: "legend", "aria-label": "Algorithms",
        dblclick: () => this.set({only: null})});
      this.grid = element("div", {class: "panels"});
      this.across = element("p", {class: "across", "aria-hidden": "true"});
      this.caption = element("p", {class: "caption", "aria-live": "polite"});
      this.figure = element("figure", {"aria-label": this.study.title},
        this.legend, this.grid, this.across, this.caption, this.savers());
      this.tables = element("div", {class: "live"});
      this.place.replaceChildren(
        this.folder, element("div", {class: "stage"}, this.figure, this.tables));
      this.buildControls();
      this.buildLegend();
    }

    buildControls() {
      const choices = switches.offered(this.report, this.study);
      const select = (name, label, hint = null) => element("label", {class: "switch", title: hint},
        element("span", {text: label}),
        element("select", {name, change: (event) => this.set({[name]: event.target.value})},
          ...choices[name].map(([value, text]) => element("option", {value, text}))));
      const tick = (name, label) => element("label", {class: "tick"},
        element("input", {type: "checkbox", name, change: (event) => this.set({[name]: event.target.checked})}),
        element("span", {text: label}));
      const group = (legend, ...parts) => element("fieldset", {}, element("legend", {text: legend}), ...parts);
      const several = (list, made) => (list.length > 1 ? made : null);
      const {problems, settings, measures, panels} = this.study;
      const isKnown = measures.includes("objective") && panels.some((panel) => panel.best !== null);
      this.controls.append(
        group("Shown",
          several(problems, select("problem", "Problem")),
          several(settings, select("setting", "Setting")),
          several(measures, select("measure", "Measure")),
          isKnown ? tick("gap", "less the best known objective") : null,
          select("band", "Seeds")),
        group("Against", select("x", "x-axis"), this.priceSliders()),
        group("Scale", tick("logx", "logarithmic x"), tick("logy", "logarithmic y"),
          select("slope", "Slope", "A straight line where both axes are logarithmic")),
        group("Target", select("target", "Level"), this.level()),
        element("button", {type: "button", class: "plain", text: "As at first",
          click: () => this.set(switches.defaults(this.report, this.study))}));
    }

    priceSliders() {
      const steps = switches.priceSteps(this.study);
      this.prices = element("div", {class: "prices"}, ...this.study.counts.map((kind) => {
        const set = (event) => this.set(
          {prices: {...this.state.prices, [kind]: steps[Number(event.target.value)]}});
        return element("label", {class: "switch"},
          element("span", {text: `price of a call of ${kind.toUpperCase()}`}),
          element("input", {
            type: "range", min: 0, max: steps.length - 1, step: 1, name: `price-${kind}`, input: set}),
          element("output", {}));
      }));
      return this.prices;
    }

    level() {
      this.levelField = element("label", {class: "switch"},
        element("span", {text: "My own level"}),
        element("input", {type: "text", name: "level", inputmode: "decimal", size: 8, placeholder: "e.g. 1e-3",
          change: (event) => this.set({level: event.target.value.trim()})}));
      return this.levelField;
    }

    buildLegend() {
      const item = (number) => {
        const {label, dash, path} = this.report.algorithms[number];
        const dashes = dash === "solid" ? null : dash.replace(/px/g, "");
        const stroke = `var(--line-${number})`;
        const mark = element("svg", {width: 34, height: 12, viewBox: "-17 -6 34 12", "aria-hidden": "true"},
          element("path", {
            d: "M-17,0H17", fill: "none", stroke, "stroke-width": 1.8, "stroke-dasharray": dashes}),
          element("path", {d: path, fill: stroke}));
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
        element("summary", {text: words.counted(hidden.length, "more algorithm")}),
        element("ul", {class: this.legend.className}, ...hidden.map(item)));
      rest.open = hidden.some((one) => !this.state.hidden.has(one));
      this.more = element("button", {type: "button", class: "plain", click: () => this.set({
        hidden: new Set(this.state.hidden.size ? [] : this.study.hidden), only: null})});
      this.legend.append(element("li", {}, this.more), element("li", {class: "rest"}, rest));
    }

    savers() {
      const button = (text, label, click) => element(
        "button", {type: "button", class: "plain", text, "aria-label": label, click});
      this.failed = element("span", {class: "failed-save", role: "status"});
      return element("p", {class: "savers"}, element("span", {text: "Save figure: "}),
        button("SVG", "Save figure as SVG", () => this.saveFigure("svg")),
        button("PNG", "Save figure as PNG", () => this.saveFigure("png")),
        element("span", {text: " specification: "}),
        button("TOML", "Save specification as TOML", () => saved.download(
          `${this.report.name}.toml`, this.report.spec, "text/plain")), this.failed);
    }

    // --- what changes

    set(changes) {
      Object.assign(this.state, changes);
      switches.write(this.report, this.study, this.state);
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
      this.state = switches.read(this.report, this.study);
      this.draw();
    }

    // --- what is shown

    get view() {
      const {report, study, state, coarse} = this;
      return {report, study, state, coarse, colors: palette(report, false), font: css("--sans")};
    }

    get panels() {
      const {problem, setting} = this.state;
      const {problems, settings, panels} = this.study;
      return panels.filter((panel) => (
        (problem === ALL || panel.problem === problems[problem]) &&
        (setting === ALL || panel.setting === settings[setting])));
    }

    get measures() {
      return this.state.measure === ALL ? this.study.measures : [this.state.measure];
    }

    // What is on the y-axes, in words.
    get titles() {
      return this.measures.map(
        (one) => figures.title(this.report, one, this.state.gap && one === "objective"));
    }

    draw() {
      const view = this.view;
      const {panels, measures} = this;
      this.drawControls();
      this.drawLegend(view, panels);
      this.drawPanels(view, panels, measures);
      this.across.textContent = switches.axisName(this.report, this.state.x);
      this.caption.textContent = this.sentence(view, panels, measures);
      this.drawTables(view, panels, measures);
    }

    drawControls() {
      const {state} = this;
      for (const input of this.controls.elements) {
        if (input.name.startsWith("price-")) {
          const price = state.prices[input.name.slice(6)];
          input.value = switches.priceSteps(this.study).indexOf(price);
          input.setAttribute("aria-valuetext", String(price));
          input.nextElementSibling.value = String(price);
        } else if (input.type === "checkbox") input.checked = state[input.name];
        else if (input.name) input.value = state[input.name];
      }
      const gap = this.controls.elements.gap;
      if (gap) gap.parentElement.hidden = !this.measures.includes("objective");
      this.prices.hidden = state.x !== "price";
      this.levelField.hidden = state.target !== "own";
    }

    drawLegend(view, panels) {
      const {length} = this.study.algorithms;
      if (this.more) {
        this.more.textContent = this.state.hidden.size
          ? `show all ${length}` : `show the foremost ${length - this.study.hidden.length}`;
      }
      for (const input of this.legend.querySelectorAll("input")) {
        input.checked = !this.state.hidden.has(Number(input.dataset.number));
      }
      for (const button of this.legend.querySelectorAll("button[data-number]")) {
        const number = Number(button.dataset.number);
        const groups = panels.flatMap((panel) => panel.groups.filter((one) => one.algorithm === number));
        button.setAttribute("aria-pressed", String(this.state.only === number));
        button.classList.toggle("behind", this.state.hidden.has(number) ||
          (this.state.only !== null && this.state.only !== number));
        button.classList.toggle("absent", !groups.some((group) => figures.makes(group, view)));
      }
    }

    drawPanels(view, panels, measures) {
      const wanted = measures.flatMap((measure) => panels.map((panel) => ({panel, measure})));
      const key = JSON.stringify([this.state.problem, this.state.setting, measures]);
      if (key !== this.drawnKey) this.layPanels(wanted, panels, measures);
      this.drawnKey = key;
      this.grid.style.setProperty("--columns", this.columnsOf(panels.length));
      const heights = this.heightsOf(view, panels, measures);
      this.plots = wanted.map(({panel, measure}, k) => {
        const plot = this.grid.querySelectorAll(".plot")[k];
        const {y, seen} = heights.get(`${panel.problem}\n${measure}`);
        const {x} = figures.extent(seen, [panel], measure);
        const size = this.sizeOf(plot, wanted.length);
        const layout = figures.layout(seen, panel, measure, {x, y}, size);
        layout.uirevision = JSON.stringify([this.state.x, this.state.logx, this.state.logy, key]);
        plot.setAttribute("aria-label", figures.description(view, panel, measure));
        const options = {displayModeBar: false, doubleClick: "reset"};
        Plotly.react(plot, figures.traces(seen, panel, measure, y), layout, options);
        if (!plot.dataset.listens) this.listen(plot);
        return plot;
      });
    }

    // One range of y for each problem and measure, whatever the setting, and the view that it is for:
    // where nothing is positive, the axis is linear.
    heightsOf(view, panels, measures) {
      const found = new Map();
      for (const measure of measures) {
        for (const {problem} of panels) {
          const key = `${problem}\n${measure}`;
          const same = this.study.panels.filter((panel) => panel.problem === problem);
          if (found.has(key)) continue;
          const linear = {...view, state: {...view.state, logy: false}};
          const seen = figures.extent(view, same, measure).y ? view : linear;
          found.set(key, {seen, y: figures.extent(seen, same, measure).y});
        }
      }
      return found;
    }

    layPanels(wanted, panels, measures) {
      for (const plot of this.grid.querySelectorAll(".plot")) Plotly.purge(plot);
      this.grid.replaceChildren();
      this.grid.classList.toggle("one", wanted.length === 1);
      const problemsAlone = this.study.settings.length === 1;
      let before = null;
      for (const {panel, measure} of wanted) {
        if (measures.length > 1 && measure !== before) {
          this.grid.append(element("h3", {class: "measure", text: this.report.measures[measure]}));
        }
        before = measure;
        const choose = () => this.set({
          problem: String(this.study.problems.indexOf(panel.problem)),
          setting: problemsAlone ? this.state.setting : String(this.study.settings.indexOf(panel.setting)),
        });
        const name = panel.title || this.study.title;
        const heading = panels.length > 1
          ? element("button", {
            type: "button", class: "setting", text: name, title: "show alone", click: choose})
          : element("p", {class: "setting", text: panel.title});
        const plot = element("div", {class: "plot", role: "img"});
        this.grid.append(element("div", {class: "panel"}, heading, plot));
      }
      if (panels.length < this.study.panels.length) {
        this.grid.prepend(element("button", {type: "button", class: "plain back", text: "← all panels",
          click: () => this.set({
            problem: this.study.problems.length > 1 ? ALL : "0",
            setting: this.study.settings.length > 1 ? ALL : "0"})}));
      }
    }

    // As many panels in a row as have room, in rows of about equal length.
    columnsOf(number) {
      const most = Math.max(1, Math.floor(this.grid.clientWidth / LEAST_WIDTH));
      return Math.ceil(number / Math.ceil(number / most));
    }

    // On paper a row has two panels, as if on a screen of 1000 px; the style sheet makes it fit.
    sizeOf(plot, number) {
      if (this.printing) return number === 1 ? [1000, 420] : [490, 250];
      return [plot.clientWidth, plot.clientHeight];
    }

    listen(plot) {
      plot.dataset.listens = "1";
      plot.on("plotly_click", ({points}) => {
        const number = points[0].data.meta;
        if (number !== undefined) this.isolate(number);
      });
      // Inside an enlarged part the prepared ticks may all be out of sight.
      plot.on("plotly_relayout", (change) => {
        const enlarged = "yaxis.range[0]" in change || "xaxis.range[0]" in change;
        if (enlarged && plot.layout.yaxis.tickmode === "array") {
          Plotly.relayout(plot, {"yaxis.tickmode": "auto", "xaxis.tickmode": "auto"});
        } else if ("yaxis.range" in change || "yaxis.autorange" in change) this.draw();
      });
      plot.on("plotly_doubleclick", () => { if (this.state.only !== null) this.set({only: null}); });
    }

    // What the figure shows, in words.
    sentence(view, panels, measures) {
      const {report, study, state} = this;
      const names = this.titles;
      const seeds = Math.max(...panels.flatMap((panel) => panel.groups.map((group) => group.runs.length)), 0);
      const shown = {
        seeds: "a line for each seed",
        median: `lines: medians of ${words.counted(seeds, "seed")}`,
        band: seeds < 2 ? "one seed" : `lines: medians of ${words.counted(seeds, "seed")}; bands: ${
          seeds < report.quartilesFrom ? "least to greatest" : "the middle half (quartiles)"}`,
      }[state.band];
      const parts = [`${words.listed(names)} against ${switches.axisName(report, state.x)}; ${shown}.`];
      const {length} = study.algorithms;
      if (state.hidden.size) parts.push(`Shown are ${length - state.hidden.size} of ${length} algorithms.`);
      if (state.x === "price") {
        const prices = study.counts.map((kind) => `${state.prices[kind]} for ${kind.toUpperCase()}`);
        parts.push(`Prices of a call: ${words.listed(prices)}.`);
      }
      const limits = new Set(panels.map((panel) => Object.entries(panel.limits)
        .map(([kind, limit]) => `${words.spent(limit)} ${kind.toUpperCase()}`).join(", ")));
      const all = words.listed([...limits].filter(Boolean));
      if (all) parts.push(`Every run as far as a budget of ${all} goes.`);
      const absent = this.absent(view, panels);
      if (absent) parts.push(absent);
      if (state.gap && measures.includes("objective") && state.logy) {
        parts.push("What is not above the best known value has no place on a logarithmic axis.");
      }
      if (panels.some((panel) => figures.isCut(view, panel))) {
        parts.push("The start, at 0, has no place on the logarithmic axis.");
      }
      const slopes = panels.flatMap((panel) => measures.map((measure) => figures.slope(view, panel, measure)));
      if (state.slope !== "none") parts.push(this.slopeSentence(slopes.filter(Boolean)));
      const target = switches.target(study, state);
      if (target && measures.includes(target.measure)) {
        parts.push(`Dotted: the target, ${words.significant(target.value)}.`);
      }
      if (panels.some((panel) => panel.groups.some((group) => group.runs.some(
        (run) => !["finished", "target", "budget"].includes(run.status))))) {
        parts.push("A cross marks a run that ends otherwise than by its schedule, target or budget.");
      }
      return parts.join(" ");
    }

    slopeSentence(slopes) {
      if (!slopes.length) return "The chosen slope has no place here: it is about another measure or axis.";
      const all = [...new Set(slopes.map((one) => one.whence))].map((whence) => {
        const here = slopes.filter((one) => one.whence === whence);
        const values = [...new Set(here.map((one) => words.significant(one.constant)))];
        return `C = ${words.listed(values)} ${whence}`;
      });
      return `Long dashes: ${slopes[0].text}, with ${words.listed(all)}.`;
    }

    absent(view, panels) {
      const labels = this.study.algorithms
        .filter((number) => panels.every((panel) => panel.groups.every(
          (group) => group.algorithm !== number || !figures.makes(group, view))))
        .map((number) => this.report.algorithms[number].label);
      if (!labels.length) return "";
      const [verb, has] = labels.length === 1 ? ["makes", "it has"] : ["make", "they have"];
      return `${words.listed(labels)} ${verb} no ${figures.unit(view)}, so ${has} no line on this axis.`;
    }

    // --- tables

    drawTables(view, panels, measures) {
      const target = switches.target(this.study, this.state);
      const open = new Set([...this.tables.querySelectorAll("details[open]")].map((one) => one.dataset.name));
      const results = target ? [this.block(tables.results(view, panels, target))] : [
        element("p", {class: "note", text: "No target is chosen: state targets in the specification, or " +
          "choose a level of your own, and here stands who needs how many calls to it."})];
      const cover = this.block(tables.coverage(view, target));
      const fold = element("details", {"data-name": "values", open: open.has("values")},
        element("summary", {text: "The figure as a table"}));
      const fill = () => {
        if (fold.childElementCount < 2) fold.append(this.block(tables.values(view, panels, measures)));
      };
      if (fold.open) fill();
      fold.addEventListener("toggle", fill);
      this.tables.replaceChildren(fold, ...results, cover);
    }

    block(table) {
      const name = `${this.report.name}-${this.study.key}-${table.name}`;
      const button = (text, label, content, type) => element("button", {
        type: "button", class: "plain", text, "aria-label": `Save ${table.caption} as ${label}`,
        click: () => saved.download(`${name}.${text.toLowerCase()}`, content(), type),
      });
      return element("div", {class: "block"},
        element("h3", {text: table.caption}), tableElement(table),
        element("p", {class: "note", text: table.note}),
        element("p", {class: "savers"}, element("span", {text: "Save table: "}),
          button("CSV", "CSV", () => tables.csv(table), "text/csv"),
          button("TEX", "LaTeX", () => tables.latex(table, this.report.latex), "text/x-tex")));
    }

    // --- saving

    async saveFigure(kind) {
      try {
        const source = await saved.svg(this.drawing());
        const name = `${this.report.name}-${this.study.key}.${kind}`;
        if (kind === "svg") saved.download(name, source, "image/svg+xml");
        else saved.download(name, await saved.png(source));
        this.failed.textContent = "";
      } catch (error) {
        this.failed.textContent = ` The figure could not be saved: ${error.message}.`;
      }
    }

    // The figure as it is shown, in the colours of paper.
    drawing() {
      const view = {...this.view, colors: {...palette(this.report, true), paper: "#ffffff"}};
      const {panels, measures} = this;
      const wanted = measures.flatMap((measure) => panels.map((panel) => ({panel, measure})));
      const size = wanted.length === 1 ? [760, 440] : [340, 240];
      const heights = this.heightsOf(view, panels, measures);
      return {
        heading: `${this.study.title}: ${words.listed(this.titles)}`,
        axisText: switches.axisName(this.report, this.state.x),
        columns: measures.length > 1 ? panels.length : Math.ceil(Math.sqrt(wanted.length)),
        size, font: view.font, colors: view.colors,
        legend: this.study.algorithms.filter((number) => !this.state.hidden.has(number)).map((number) => ({
          label: this.report.algorithms[number].label,
          look: this.report.algorithms[number],
          color: view.colors.lines[number],
        })),
        panels: wanted.map(({panel, measure}) => {
          const {y, seen} = heights.get(`${panel.problem}\n${measure}`);
          const extents = {x: figures.extent(seen, [panel], measure).x, y};
          const name = panel.title || this.study.title;
          return {
            title: measures.length > 1 ? `${this.report.measures[measure]}, ${name}` : name,
            figure: {
              data: figures.traces(seen, panel, measure, y),
              layout: figures.layout(seen, panel, measure, extents, size),
            },
          };
        }),
      };
    }
  }

  return {Workbench};
})();
