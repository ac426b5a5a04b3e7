// What can be saved from the page: a figure as SVG or PNG, a table, the specification.
const saved = (() => {
  const GAP = 14;
  const LINE = 18;
  const MARGIN = 12;

  function download(name, content, type) {
    const link = document.createElement("a");
    link.href = content instanceof Blob
      ? URL.createObjectURL(content) : URL.createObjectURL(new Blob([content], {type}));
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  const escaped = (text) => words.plain(text).replace(/"/g, "&quot;");

  // The entries of a legend in lines of a width, each {x, y, label, number}.
  function legendPlaces(entries, width) {
    let [x, y] = [0, 0];
    return entries.map((entry) => {
      const size = 46 + 6.6 * entry.label.length;
      if (x && x + size > width) [x, y] = [0, y + LINE];
      const found = {...entry, x, y};
      x += size + 12;
      return found;
    });
  }

  function legendMark({x, y, label, look, color}) {
    const dash = look.dash === "solid" ? "" : ` stroke-dasharray="${look.dash.replace(/px/g, "")}"`;
    return `<g transform="translate(${x + 17} ${y})">` +
      `<path d="M-17,0H17" fill="none" stroke="${color}" stroke-width="1.8"${dash}/>` +
      `<path d="${look.path}" fill="${color}"/>` +
      `<text x="24" y="4">${escaped(label)}</text></g>`;
  }

  // One SVG of all panels: each is drawn by plotly.js, then set beside the others.
  async function svg({heading, axisText, panels, columns, size, legend, font, colors}) {
    const [width, height] = size;
    const full = columns * width + (columns - 1) * GAP;
    const entries = legendPlaces(legend, full);
    const legendHeight = (entries.length ? entries[entries.length - 1].y : 0) + LINE;
    const drawn = await Promise.all(panels.map(async ({figure, title}, k) => {
      const url = await Plotly.toImage(figure, {format: "svg", width, height});
      const source = decodeURIComponent(url.slice(url.indexOf(",") + 1)).replace(/^<\?xml.*?\?>/, "");
      const x = (k % columns) * (width + GAP);
      const y = Math.floor(k / columns) * (height + LINE + GAP);
      return `<g transform="translate(${x} ${y})">` +
        `<text x="${width / 2}" y="11" text-anchor="middle">${escaped(title)}</text>` +
        `<g transform="translate(0 ${LINE})">${source}</g></g>`;
    }));
    const rows = Math.ceil(panels.length / columns);
    const stage = rows * (height + LINE + GAP);
    const total = 2 * MARGIN + LINE + stage + LINE + legendHeight;
    return `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" ` +
      `viewBox="0 0 ${full + 2 * MARGIN} ${total}" width="${full + 2 * MARGIN}" height="${total}" ` +
      `font-family="${escaped(font)}" font-size="12" fill="${colors.ink}">` +
      `<rect width="100%" height="100%" fill="${colors.paper}"/>` +
      `<g transform="translate(${MARGIN} ${MARGIN})">` +
      `<text y="11" font-weight="600">${escaped(heading)}</text>` +
      `<g transform="translate(0 ${LINE})">${drawn.join("")}</g>` +
      `<text x="${full / 2}" y="${stage + LINE + 6}" text-anchor="middle">${escaped(axisText)}</text>` +
      `<g transform="translate(0 ${stage + 2 * LINE + 6})">${entries.map(legendMark).join("")}</g></g></svg>`;
  }

  // The SVG as PNG, at twice its size.
  function png(source) {
    return new Promise((resolve, reject) => {
      const image = new Image();
      image.onerror = () => reject(new Error("the browser cannot draw the figure as PNG"));
      image.onload = () => {
        const canvas = document.createElement("canvas");
        canvas.width = 2 * image.width;
        canvas.height = 2 * image.height;
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        canvas.toBlob(resolve, "image/png");
      };
      image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
    });
  }

  return {download, png, svg};
})();
