// Elements of the page, made from data: a user's text is only ever a text; and numbers in words.
const elements = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const DRAWN = new Set(["svg", "g", "path", "line", "rect", "text", "clipPath"]);

  // An element with attributes (functions are listeners, `text` its text) and children.
  function element(tag, attributes = {}, ...children) {
    const made = DRAWN.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "text") made.textContent = value;
      else if (typeof value === "function") made.addEventListener(name, value);
      else if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== null) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  const raised = (number) => [...String(number)].map((one) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(one)]).join("");
  const powerOfTen = (power) => (Math.abs(power) > 1 ? `10${raised(power)}` : String(10 ** power));

  // A number to three digits, as pfbench/reporting/wording.py writes it.
  function significant(number) {
    if (number === 0) return "0";
    const [mantissa, exponent] = number.toExponential(2).split("e");
    const power = Number(exponent);
    if (power >= -3 && power < 5) return Number(`${mantissa}e${power}`).toFixed(Math.max(0, 2 - power));
    return `${mantissa}·10${raised(power)}`;
  }

  // A count to the unit as long as that is short.
  const count = (number) => (Number.isInteger(number) && number < 1e7
    ? String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f") : significant(number));

  const listed = (items) => (items.length < 2
    ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items[items.length - 1]}`);

  return {count, element, listed, powerOfTen, significant};
})();
