// Binary digits and waves at the positions 0 to 15: a marker steps through both, where digits flip
// and waves glide.
attnbook.define("digits", ({ Interactive, shape, range, fixed }) => {
  const [LAST, ROWS, PACE] = [15, 4, 750];
  const [CELL, BAND, HIGH, TOP] = [26, 40, 16, 30]; // rows of digits and of waves, the height of a wave, and where digits begin
  const WAVES = TOP + ROWS * CELL + 34;
  const digit = (row, p) => Math.floor(p / 2 ** row) % 2;
  const wave = (row, p) => Math.sin(p * 10000 ** (-row / 8)); // the sines of the first pairs, d = 16
  const flips = (p) => range(ROWS).filter((row) => digit(row, p - 1) !== digit(row, p)).length;

  return class Digits extends Interactive {
    static LINES = 3;
    static STYLE = `
      svg text { fill: var(--soft); text-anchor: middle; }
      svg .start { text-anchor: start; }
      svg .title { fill: var(--ink); font-size: 15px; font-weight: 600; paint-order: stroke; stroke: var(--paper); stroke-width: 5px; }
      .zero { fill: var(--hover); } .one { fill: var(--soft); }
      .flipped { stroke: var(--ink); stroke-width: 3; }
      svg .value { fill: var(--ink); font-size: 15px; font-weight: 600; } svg .value.in { fill: var(--paper); }
      .axis { stroke: var(--line); } .wave { fill: none; stroke: var(--other); stroke-width: 2; }
      .dot, .bar { fill: var(--other); } .dot { stroke: var(--paper); stroke-width: 2; }
      .marker { fill: none; stroke: var(--ink); stroke-width: 2; } svg .here { fill: var(--ink); font-weight: 600; }
    `;

    build() {
      this.picture = shape("svg", { height: WAVES + ROWS * BAND + 26, "aria-hidden": "true" });
      this.stage.append(this.picture);
      this.stepper({ last: () => LAST, next: "next position →", pace: PACE });
      this.at = this.step = 8; // `at` is on its way there
      this.whenResized(this.picture, () => this.plot());
      this.onceByItself(() => {
        this.at = 0;
        this.go(0);
        this.play();
      });
    }

    paint() {
      const from = this.at;
      this.glide((part) => {
        this.at = from + (this.step - from) * part;
        this.plot();
      }, from === this.step, 0.6 * PACE);
      const p = this.step;
      this.say(p ? `From ${p - 1} to ${p}, ${flips(p)} of ${ROWS} digits flip${flips(p) === 1 ? "s" : ""}. All waves glide on, and no wave `
        + `moves by more than ${fixed(Math.max(...range(ROWS).map((row) => Math.abs(wave(row, p) - wave(row, p - 1)))))}.`
        : "At position 0, all digits and all sines are 0.");
    }

    plot() {
      const width = this.picture.clientWidth || 566;
      const [left, right] = [40, width - 82];
      const wide = (right - left) / (LAST + 1);
      const x = (p) => left + (p + 0.5) * wide;
      const text = (x, y, words, kind = "") => shape("text", { x, y, class: kind }, words);
      const base = Math.min(LAST - 1, Math.floor(this.at)); // the step that the marker is in
      const part = this.at - base;
      const now = Math.round(this.at);
      const low = WAVES + ROWS * BAND;
      const names = (middle) => [text(0, middle(0) + 4, "fast", "start"), text(0, middle(ROWS - 1) + 4, "slow", "start")];
      const row = (i) => TOP + (i + 0.5) * CELL;
      const lane = (i) => WAVES + (i + 0.5) * BAND;
      this.picture.replaceChildren(
        ...names(row), ...names(lane),
        ...range(ROWS).flatMap((i) => range(LAST + 1).map((p) => shape("rect", { class: digit(i, p) ? "one" : "zero",
          x: x(p) - wide / 2 + 1, y: row(i) - CELL / 2 + 1, width: wide - 2, height: CELL - 2, rx: 2 }))),
        ...range(ROWS).flatMap((i) => [
          shape("path", { class: "axis", d: `M${left},${lane(i)} H${right}` }),
          shape("path", { class: "wave", d: `M${range(8 * LAST + 1).map((n) => `${x(n / 8)},${lane(i) - HIGH * wave(i, n / 8)}`).join(" L")}` }),
          shape("circle", { class: "dot", r: 5, cx: x(this.at), cy: lane(i) - HIGH * wave(i, this.at) })]),
        shape("rect", { class: "marker", x: x(this.at) - wide / 2, y: TOP - 3, width: wide, height: low - TOP + 6, rx: 4 }),
        text(left, 16, "Binary digits jump", "title start"), text(left, WAVES - 8, "Waves glide", "title start"),
        ...range(LAST + 1).filter((p) => p === now || (wide > 20 || p % 5 === 0) && Math.abs(p - now) * wide > 14).map((p) =>
          text(x(p), low + 20, String(p), p === now ? "here" : "")),
        ...range(ROWS).flatMap((i) => { // what they are at the marker: a digit turns over, and a bar grows
          const [before, after] = [digit(i, base), digit(i, base + 1)];
          const shown = part < 0.5 ? before : after;
          const tall = (before === after ? 1 : Math.max(0.05, Math.abs(1 - 2 * part))) * (CELL - 4);
          const flipped = now === this.at ? now > 0 && digit(i, now - 1) !== digit(i, now) : before !== after;
          const value = wave(i, this.at);
          const middle = right + 40;
          return [
            shape("rect", { class: `tile ${shown ? "one" : "zero"} ${flipped ? "flipped" : ""}`, x: middle - 15, width: 30,
              y: row(i) - tall / 2, height: tall, rx: 3 }),
            ...(tall > 15 ? [text(middle, row(i) + 5, String(shown), `value ${shown ? "in" : ""}`)] : []),
            shape("path", { class: "axis", d: `M${right + 14},${lane(i) - HIGH} v${2 * HIGH}` }),
            shape("rect", { class: "bar", x: right + 16, y: lane(i) - HIGH * Math.max(0, value), width: 12, height: HIGH * Math.abs(value) }),
            text(middle + 20, lane(i) + 5, fixed(value), "value sine")];
        }));
    }

    numbers() {
      const names = range(ROWS);
      return [["position", ...names.map((i) => `digit ${2 ** i}`), ...names.map((i) => `wave ${i + 1}`)],
        ...range(LAST + 1).map((p) => [String(p), ...names.map((i) => digit(i, p)), ...names.map((i) => fixed(wave(i, p), 3))])];
    }
  };
});
