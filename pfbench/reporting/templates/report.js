"use strict";
// Draws the figures. What is shown is a function of three things: the axis, which lies in the
// address as #x=lo so that a link keeps it; the algorithms that are hidden; and the colour scheme.
(() => {
  const report = JSON.parse(document.getElementById("figures").textContent);
  const plots = [...document.querySelectorAll(".plot")];
  const hidden = new Set();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let printing = false;
  let axis = Object.keys(report.axes)[0];

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const number = new Intl.NumberFormat("en", {maximumSignificantDigits: 3});
  const places = new Intl.NumberFormat("en", {maximumFractionDigits: 3});
  const exact = (x) => places.format(x).replaceAll(",", "\u202f");
  const shown = (y) => (Math.abs(y) < 1e-4 && y !== 0 ? y.toExponential(2) : number.format(y));

  function traces(line, color, seeds) {
    const look = report.algorithms[line.algorithm];
    const at = line.x.map((x, k) => {
      const runs = line.runs ? `${line.runs[k]} of ${seeds} runs` : "";
      return `<b>${look.label}</b> at ${exact(x)}<br>${shown(line.median[k])} ` +
        `(${shown(line.low[k])} to ${shown(line.high[k])}) ${runs}`;
    });
    return [{
      x: [...line.x, ...line.x.slice().reverse()],
      y: [...line.high, ...line.low.slice().reverse()],
      fill: "toself", fillcolor: color, opacity: 0.16, line: {width: 0},
      mode: "lines", hoverinfo: "skip",
    }, {
      x: line.x, y: line.median, text: at, hoverinfo: "text",
      mode: "lines+markers", line: {color, width: 1.8, dash: look.dash},
      marker: {symbol: look.symbol, size: look.symbol.startsWith("triangle") ? 8 : 6, color, maxdisplayed: 6},
    }];
  }

  // A cross where a run ends that did not finish.
  function crosses(line, color) {
    if (!line.ends) return [];
    const {label} = report.algorithms[line.algorithm];
    return [{
      x: line.ends.map((end) => end.x), y: line.ends.map((end) => end.y),
      text: line.ends.map((end) => `<b>${label}</b>, ${end.text}`), hoverinfo: "text",
      mode: "markers", marker: {symbol: "x-thin", size: 10, line: {color, width: 2.5}},
    }];
  }

  // On paper a row of panels is as if on a screen of 1000 px; the style sheet makes it fit.
  function size(plot) {
    if (!printing) return [plot.clientWidth, plot.clientHeight];
    const columns = report.studies[plot.dataset.study].columns;
    return [1000 / columns, Math.max(170, 520 / columns)];
  }

  function draw(plot) {
    const {study, measure, column} = plot.dataset;
    const part = report.studies[study];
    const scale = part.measures[measure];
    const on = part.axes[axis];
    const [ink, muted, rule, paper] = ["--ink", "--muted", "--rule", "--paper"].map(css);
    const font = {family: css("--sans"), size: 11, color: muted};
    const lines = on ? on.panels[measure][column] : [];
    const visible = lines.filter(
      (line) => !hidden.has(report.algorithms[line.algorithm].label));
    const color = (line) => css(`--line-${line.algorithm}`);
    const data = [
      ...visible.flatMap((line) => traces(line, color(line), part.seeds)),
      ...visible.flatMap((line) => crosses(line, color(line))),
    ];
    const [width, height] = size(plot);
    const layout = {
      width, height,
      margin: {l: 42, r: 15, t: 6, b: 24},
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font, showlegend: false, hovermode: "closest",
      // A finger scrolls the page, a mouse marks what to enlarge.
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
      hoverlabel: {bgcolor: paper, bordercolor: rule, font: {...font, color: ink, size: 12}},
      xaxis: {
        range: [0, 1.03 * (on && on.widths[column] || 1)], nticks: width < 420 ? 5 : 8,
        exponentformat: "SI", minexponent: 3, showgrid: false, zeroline: false,
        linecolor: muted, ticks: "outside", ticklen: 4, tickcolor: muted, tickangle: 0,
      },
      yaxis: {
        type: scale.log ? "log" : "linear", range: scale.range,
        tickmode: "array", tickvals: scale.ticks, ticktext: scale.texts,
        exponentformat: "power", gridcolor: rule, zeroline: false, linecolor: muted,
      },
      uirevision: `${axis}`,
    };
    return Plotly.react(plot, data, layout, {displayModeBar: false, doubleClick: "reset"});
  }

  function drawAll() {
    plots.forEach(draw);
    for (const text of document.querySelectorAll(".across")) text.textContent = report.axes[axis];
    for (const text of document.querySelectorAll(".without")) {
      const on = report.studies[text.dataset.study].axes[axis];
      text.textContent = on ? on.without : `No run of this study makes ${axis.toUpperCase()} calls.`;
    }
    for (const radio of document.querySelectorAll(".choices input")) {
      radio.checked = radio.value === axis;
    }
    for (const button of document.querySelectorAll(".legend button")) {
      const on = report.studies[button.dataset.study].axes[axis];
      const label = button.dataset.label;
      button.setAttribute("aria-pressed", String(!hidden.has(label)));
      button.classList.toggle("absent", !on || !on.panels.flat(2).some(
        (line) => report.algorithms[line.algorithm].label === label));
    }
    document.documentElement.dataset.axis = axis;
  }

  function read() {
    const wanted = /^#x=(\w+)$/.exec(location.hash);
    if (wanted && Object.hasOwn(report.axes, wanted[1])) axis = wanted[1];
  }

  addEventListener("hashchange", () => { read(); drawAll(); });
  document.addEventListener("change", (event) => {
    if (event.target.matches(".choices input")) location.replace(`#x=${event.target.value}`);
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".legend button");
    if (!button) return;
    const label = button.dataset.label;
    if (!hidden.delete(label)) hidden.add(label);
    drawAll();
  });

  dark.addEventListener("change", drawAll);
  let waiting = 0;
  let width = innerWidth;
  addEventListener("resize", () => {
    // On a phone the height changes whenever the address bar hides.
    if (printing || innerWidth === width) return;
    width = innerWidth;
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(drawAll);
  });

  read();
  drawAll();
  for (const plot of plots) {
    // Inside an enlarged part the prepared ticks may all be out of sight.
    plot.on("plotly_relayout", (change) => {
      const enlarged = "yaxis.range[0]" in change;
      if (enlarged && plot.layout.yaxis.tickmode === "array") {
        Plotly.relayout(plot, {"yaxis.tickmode": "auto"});
      } else if ("yaxis.range" in change || "yaxis.autorange" in change) draw(plot);
    });
  }

  function print(on) {
    printing = on;
    document.documentElement.classList.toggle("printing", on);
    drawAll();
    if (!on) return;
    for (const svg of document.querySelectorAll(".plot .main-svg")) {
      svg.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
    }
  }
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
})();
