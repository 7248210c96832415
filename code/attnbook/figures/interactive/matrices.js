// What pictures of matrices share: a square for each number, names with an index, and one row times
// one column, feature by feature.
window.attnbook.matrices ??= ({ shape, fixed, lowered, sum, dot }) => {
  const [LINE, TALL, MOST] = [25, 22, 72]; // of a strip and its squares
  const [TURN, PASS] = [0.25, 0.5]; // of the time for a product: until a row is a column, and while it passes others
  const STYLE = `
    .strip rect, .cell { fill: var(--of); }
    .strip rect { stroke: var(--paper); }
    .strip text { fill: var(--ink); text-anchor: middle; font-variant-numeric: tabular-nums; }
    .strip .name { fill: var(--of); font-weight: 700; text-anchor: start; }
    .strip .sum { font-weight: 700; text-anchor: start; }
    .band { fill: none; stroke: var(--ink); stroke-width: 2; }
    .inner { fill: var(--ink); font-weight: 700; }
    text.number { fill: var(--ink); font-size: 12px; text-anchor: middle; font-variant-numeric: tabular-nums; }
    .passing rect { fill: var(--paper); }
    .passing .cell { fill: var(--of); }
  `;
  const turn = (rows) => rows[0].map((_, j) => rows.map((row) => row[j]));
  const times = (a, b) => a.map((row) => turn(b).map((column) => dot(row, column)));
  const text = (words, x, y, more = {}) => shape("text", { x, y, ...more }, ...lowered(words, (index) =>
    shape("tspan", { "baseline-shift": "-20%", "font-size": "80%" }, index)));

  // the stronger a square, the larger its number among these
  const shades = (values, most = 0.8) => {
    const [low, high] = [Math.min, Math.max].map((one) => values.flat().reduce((a, b) => one(a, b)));
    return (value, strength = most) => 0.14 + strength * (value - low) / (high - low || 1);
  };

  const digits = (values, most = 2) => Math.min(most, [0, 1].find((few) =>
    values.every((value) => Math.abs(value - value.toFixed(few)) < 1e-6)) ?? 2); // as many as they need

  // numbers as they fit into squares, at worst ".5" for 0.53; undefined if there is no room for that
  const written = (values, side) => [[2, ""], [2, /^0(?=\.)/], [1, ""]].map(([most, drop]) => values.map((row) => row.map((value) =>
    fixed(value, digits(values.flat(), most)).replace(drop, "")))).find((all) => all.flat().every((word) => 7.5 * word.length < side));

  const passed = (part, columns) => (part - TURN) / PASS * columns; // how many, from 0 on

  // a row on its way: it turns about its end, and then passes over columns, whose middles are the places
  const passing = ({ values, of, side, places, part: run, from: [x, y], level }) => {
    if (run > TURN + PASS) return "";
    const way = Math.min(1, run / TURN);
    const part = way * way * (3 - 2 * way);
    const n = Math.max(0, Math.min(places.length - 1, passed(run, places.length)));
    const [low, high] = [Math.floor(n), Math.ceil(n)].map((place) => places[place]);
    const to = low + (high - low) * Math.max(0, 2 * (n % 1) - 1); // it stops at each
    const [words, shade] = [written([values], side), shades(values)];
    return shape("g", { class: "passing", style: `--of: var(--${of})`,
      transform: `translate(${x + (to - x) * part} ${y + (level - y) * part}) rotate(${90 * part})` },
    ...values.flatMap((value, k) => {
      const left = (k - values.length) * side;
      const square = { x: left, y: -side / 2, width: side, height: side };
      return [shape("rect", square), shape("rect", { ...square, class: "cell", "fill-opacity": shade(value, words ? 0.3 : 0.8) }),
        words ? text(words[0][k], left + side / 2, 4.5, { class: "number", transform: `rotate(${-90 * part} ${left + side / 2} 0)` }) : ""];
    }), shape("rect", { class: "band", style: `fill: none; stroke-width: ${side < 5 ? 0.8 : 2}`, x: -values.length * side, y: -side / 2, width: values.length * side, height: side }));
  };

  // a row, a column turned to lie below it, their products, and what these add up to
  const product = (row, column, made, more = () => "") => {
    const each = row.values.map((value, k) => value * column.values[k]);
    return [row, { ...column, name: `× ${column.name}` }, { name: "=", of: made, values: each },
      `sum ${fixed(sum(each))}${more(sum(each))}`];
  };

  // numbers in squares below one another, as large as there is room for; a text is beside the last, or below
  const strips = (rows, width) => {
    const aside = width < 700 ? 64 : 130; // for names
    const fit = (values) => Math.min(MOST, (width - aside) / values.length);
    return rows.map((row, n) => {
      const [y, low] = [n * LINE, n * LINE + 16];
      if (typeof row === "string") {
        const [x, up] = width < 700 ? [aside, 0] : [aside + 12 + rows[0].values.length * fit(rows[0].values), LINE];
        return shape("g", { class: "strip" }, text(row, x, low - up, { class: "sum" }));
      }
      const [shade, side] = [shades(row.values), fit(row.values)];
      const said = (value, k) => row.words?.[k] ?? fixed(value, digits(row.values, side < 37 ? 1 : 2));
      return shape("g", { class: "strip", style: `--of: var(--${row.of})` }, text(row.name, 0, low, { class: "name" }),
        ...row.values.flatMap((value, k) => [
          shape("rect", { x: aside + k * side, y, width: side, height: TALL, "fill-opacity": shade(value, side < 25 ? 0.8 : 0.3) }),
          side < 25 ? "" : text(said(value, k), aside + (k + 0.5) * side, low, { "font-size": 12 })]));
    });
  };

  return { STYLE, LINE, TURN, PASS, passed, turn, times, text, written, shades, product, strips, passing };
};
