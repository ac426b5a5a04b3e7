// Elements of the page, made from data; a text of somebody's is only ever a text.
const elements = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  // An element with attributes (functions are listeners, `text` its text) and children.
  function element(tag, attributes = {}, ...children) {
    const made = ["svg", "path"].includes(tag)
      ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "text") made.textContent = value;
      else if (typeof value === "function") made.addEventListener(name, value);
      else if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== null) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // The colours of the page as they are now, or those of paper.
  function palette(report, paper = false) {
    const of = paper ? (name) => css(`--light-${name}`) : (name) => css(`--${name}`);
    return {
      ...Object.fromEntries(
        ["ink", "muted", "rule", "paper", "accent"].map((name) => [name, of(name)])),
      lines: report.algorithms.map((_, number) => of(`line-${number}`)),
    };
  }

  function tableElement(table) {
    const cell = (one, k) => {
      if (k === 0) return element("th", {scope: "row", text: tables.said(one)});
      const number = tables.isNumber(one);
      const made = element("td", {class: number ? "number" : null});
      if (one.share !== undefined) {
        made.classList.add("share");
        made.style.setProperty("--share", one.share);
      }
      if (one.mark) {
        const least = {class: "least", text: "●", title: "the least", role: "img", "aria-label": "least:"};
        made.append(element("span", least), " ");
      }
      made.append(tables.said(one));
      if (one.below) made.append(element("span", {class: "extent", text: one.below}));
      return made;
    };
    const isNumber = (k) => k && tables.isNumber(table.rows[0]?.[k] ?? "");
    const head = table.head.map((name, k) => element(
      "th", {scope: "col", text: name, class: isNumber(k) ? "number long" : null}));
    const region = {class: "table", role: "region", tabindex: "0", "aria-label": table.caption};
    return element("div", region,
      element("table", {},
        element("caption", {class: "unseen", text: table.caption}),
        element("thead", {}, element("tr", {}, ...head)),
        element("tbody", {}, ...table.rows.map((row) => element("tr", {}, ...row.map(cell))))));
  }

  return {css, element, palette, tableElement};
})();
