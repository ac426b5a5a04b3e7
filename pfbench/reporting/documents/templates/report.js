// Unpacks the drawing library and the runs, and draws every study.
(async () => {
  const places = [...document.querySelectorAll(".workbench")];

  // What lies in the page as gzip in base64, as text.
  async function unpacked(id) {
    const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (one) => one.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  // Columns of whole numbers are written as differences, and what has no value as null.
  function restored(report) {
    const column = (values, differences) => {
      let sum = 0;
      return values.map((one) => (differences ? (sum += one) : one ?? NaN));
    };
    for (const run of report.studies.flatMap((study) => study.panels)
      .flatMap((panel) => panel.groups).flatMap((group) => group.runs)) {
      for (const [name, values] of Object.entries(run.trace)) {
        run.trace[name] = column(values, report.whole.includes(name));
      }
    }
    return report;
  }

  function failed(error) {
    for (const place of places) {
      const said = document.createElement("p");
      said.className = "failed";
      said.textContent = "The figures could not be drawn: this browser " +
        `${typeof DecompressionStream === "undefined" ? "cannot unpack gzip" : `says ${error.message}`}. ` +
        "The tables below need none of it; any browser since 2023 draws the figures.";
      place.replaceChildren(said);
    }
  }

  async function start() {
    const [library, text] = await Promise.all([unpacked("plotly"), unpacked("runs")]);
    const script = document.createElement("script");
    script.textContent = library;
    document.head.append(script);
    const report = restored(JSON.parse(text));
    const benches = places.map((place, k) => new workbench.Workbench(report, report.studies[k], place, k));
    const drawAll = () => benches.forEach((bench) => bench.draw());
    drawAll();

    addEventListener("hashchange", () => {
      if (location.hash.includes("=")) benches.forEach((bench) => bench.reread());
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
    let waiting = 0;
    let width = innerWidth;
    addEventListener("resize", () => {
      // On a phone the height changes whenever the address bar hides.
      if (innerWidth === width || benches.some((bench) => bench.printing)) return;
      width = innerWidth;
      cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(drawAll);
    });
    const print = (on) => {
      document.documentElement.classList.toggle("printing", on);
      for (const bench of benches) bench.printing = on;
      drawAll();
      if (!on) return;
      for (const svg of document.querySelectorAll(".plot .main-svg")) {
        svg.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
      }
    };
    addEventListener("beforeprint", () => print(true));
    addEventListener("afterprint", () => print(false));
    // For those who want to look further, in the browser's console.
    window.pfbench = {report, benches, statistics, figures, switches, tables, saved};
    document.documentElement.dataset.ready = "1";
  }

  try {
    await start();
  } catch (error) {
    failed(error);
    throw error;
  }
})();
