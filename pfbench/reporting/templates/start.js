// Unpacks what the page holds, and draws every study.
(async () => {
  const places = [...document.querySelectorAll(".workbench")];

  // Columns of whole numbers are written as differences.
  function restored(key, value) {
    if (!Array.isArray(value?.d)) return value;
    let sum = 0;
    return value.d.map((one) => (sum += one));
  }

  async function unpacked() {
    const packed = Uint8Array.from(
      atob(document.getElementById("runs").textContent), (one) => one.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text(), restored);
  }

  try {
    const report = await unpacked();
    const benches = places.map((place, k) => new workbench.Workbench(report, report.studies[k], place));
    const drawAll = () => benches.forEach((bench) => bench.draw());
    drawAll();
    addEventListener("hashchange", () => {
      if (location.hash.includes("=")) benches.forEach((bench) => bench.reread());
    });
    let waiting = 0;
    let width = innerWidth;
    addEventListener("resize", () => {
      // On a phone the height changes whenever the address bar hides.
      if (innerWidth === width) return;
      width = innerWidth;
      cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(drawAll);
    });
    // For those who want to look further, in the browser's console.
    window.pfbench = {report, benches, panels, workbench};
    document.documentElement.dataset.ready = "1";
  } catch (error) {
    for (const place of places) {
      const text = "The figures could not be drawn: this browser " +
        `${typeof DecompressionStream === "undefined" ? "cannot unpack gzip" : `says ${error.message}`}. ` +
        "The tables below need none of it; any browser since 2023 draws the figures.";
      place.replaceChildren(elements.element("p", {class: "failed", text}));
    }
    throw error;
  }
})();
