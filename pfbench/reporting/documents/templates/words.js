// How the page writes numbers and names, as pfbench/reporting/words.py does.
const words = (() => {
  const DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  const FRACTIONS = {0.25: "1/4", 0.5: "1/2", 0.75: "3/4"};
  const raised = (text) => [...String(text)].map((one) => (one === "-" ? "⁻" : DIGITS[one])).join("");
  const powerOfTen = (exponent) => `10${raised(exponent)}`;

  // An integer with every digit, in groups of three.
  const whole = (number) => String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const grouped = (text) => (text.includes(".") || text.length < 5 ? text : whole(Number(text)));

  function significant(number, digits = 3) {
    if (!Number.isFinite(number)) return "not finite";
    if (number === 0) return "0";
    const [mantissa, exponent] = number.toExponential(digits - 1).split("e");
    const power = Number(exponent);
    if (power >= -3 && power < 5) {
      return Number(`${mantissa}e${power}`).toFixed(Math.max(0, digits - 1 - power));
    }
    return `${mantissa}·${powerOfTen(power)}`;
  }

  // A count to the unit as long as that is short, else to three digits.
  const spent = (number, exact = true) => (
    exact && Number.isInteger(number) && number < 1e7 ? whole(number) : significant(number));

  // Two to seven ticks of an axis, as pfbench/reporting/panels.py sets them: [value, text] each.
  function logTicks(low, high) {
    const [first, last] = [Math.ceil(Math.log10(low)), Math.floor(Math.log10(high))];
    const decades = Math.log10(high) - Math.log10(low);
    const powers = Array.from({length: Math.max(0, last - first + 1)}, (_, k) => first + k);
    if (decades >= 2) {
      const step = Math.max(1, Math.ceil(decades / 5));
      return powers.filter((power) => power % step === 0).map(
        (power) => [10 ** power, Math.abs(power) > 1 ? powerOfTen(power) : String(10 ** power)]);
    }
    if (decades < 0.7) return linearTicks(low, high);
    const digits = decades < 1.5 ? [1, 2, 5] : [1, 3];
    return [first - 1, ...powers]
      .flatMap((power) => digits.map((digit) => Number(`${digit}e${power}`)))
      .filter((tick) => low <= tick && tick <= high)
      .map((tick) => [tick, tickText(tick)]);
  }

  function linearTicks(low, high) {
    const power = Math.floor(Math.log10((high - low) / 2));
    const size = [1, 2, 5, 10].find((one) => (high - low) / (one * 10 ** power) <= 5.5);
    const step = size * 10 ** power;
    const digits = Math.max(0, -power - (size === 10 ? 1 : 0));
    const ticks = [];
    for (let k = Math.ceil(low / step); k <= Math.floor(high / step); k += 1) {
      const tick = k * step;
      ticks.push([tick, step > 1e-4 && step < 1e4 ? grouped(tick.toFixed(digits)) : tickText(tick)]);
    }
    return ticks;
  }

  function tickText(tick) {
    if (tick === 0 || (Math.abs(tick) > 1e-4 && Math.abs(tick) < 1e5)) {
      return grouped(String(Number(tick.toPrecision(10))));
    }
    const [mantissa, exponent] = tick.toExponential(2).split("e");
    const power = powerOfTen(Number(exponent));
    return Number(mantissa) === 1 ? power : `${Number(mantissa)}·${power}`;
  }

  const listed = (items) => (items.length < 2
    ? items.join("")
    : `${items.slice(0, -1).join(", ")} and ${items[items.length - 1]}`);
  const counted = (number, thing) => `${whole(number)} ${thing}${number === 1 ? "" : "s"}`;
  const fraction = (number) => FRACTIONS[number] ?? String(Number(number.toPrecision(3)));

  // Text for plotly, which reads tags.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  return {counted, fraction, linearTicks, listed, logTicks, plain, significant, spent, whole};
})();
