// Sinusoidal positions as waves under a row of words. A line reads their heights off at a position,
// and under each word stand three rows of bars: these heights, the word's vector, and the sum.
attnbook.define("waves", ({ Interactive, element, shape, range, fixed }) => {
  const BAND = 28; // the room of a wave
  const HIGH = 11; // of its top above its middle
  const UNIT = 21; // the length of a bar for the number 1
  const KINDS = { position: "position", word: "+ word", sum: "= sum" };
  const FAINT = 0.28; // bars in columns that are not the point
  const AHEAD = 0.5; // of that, as long as the line has not come there
  const TELLS = ["tells neighbours apart", "tells far places apart"];
  const COUNTS = ["two", "three", "four", "five", "six", "seven", "eight"];

  return class Waves extends Interactive {
    static LINES = 5;
    static STYLE = `
      .room { position: relative; }
      .room text { fill: var(--ink); font-size: 15px; }
      .room .soft { fill: var(--soft); font-size: 13px; }
      .name, .strong { font-weight: 600; }
      .name.position { fill: var(--other); }
      .word { fill: var(--soft); } .position { fill: var(--other); } .sum { fill: var(--ink); }
      .room .right { text-anchor: end; stroke: var(--paper); stroke-width: 4px; paint-order: stroke; }
      .middle { text-anchor: middle; }
      .column { fill: var(--hover); }
      .zero, .bracket { fill: none; stroke: var(--line); }
      .bracket { stroke: var(--ink); stroke-width: 1.5; }
      .verdict { font-weight: 600; text-anchor: middle; stroke: var(--paper); stroke-width: 7px;
        paint-order: stroke; }
      .wave { fill: none; stroke: var(--other); stroke-width: 2; }
      .under { fill: var(--other); opacity: .13; }
      .join { fill: none; stroke: var(--other); opacity: .55; }
      .line { stroke: var(--ink); stroke-width: 1.5; }
      .dot { fill: var(--other); stroke: var(--paper); stroke-width: 2; }
      .handle { fill: var(--other); stroke: var(--paper); stroke-width: 2; }
      .room .here { fill: var(--paper); font-weight: 600; text-anchor: middle; }
      .ways { fill: none; stroke: var(--other); stroke-width: 2; stroke-linecap: round; }
      .room .reader { position: absolute; appearance: none; margin: 0; padding: 0; opacity: 0;
        min-height: 0; cursor: grab; touch-action: pan-y; }
      .reader:active { cursor: grabbing; }
      .reader::-webkit-slider-thumb { appearance: none; width: 44px; height: 44px; }
      .reader::-moz-range-thumb { width: 44px; height: 44px; border: 0; }
      .reader:focus-visible + svg .handle { stroke: var(--weights); stroke-width: 4; }
    `;

    build() {
      const { tokens, twins, words, d_model } = this.data;
      this.features = range(words[0].length);
      this.frequencies = this.features.map((i) => 10000 ** (-2 * Math.floor(i / 2) / d_model));
      this.position = this.at = twins.at(-1); // `at` moves there, and reads on its way
      this.far = this.at; // where the line has been
      this.sums = words.map((word, p) => word.map((number, i) => number + this.wave(i, p)));
      this.reader = element("input", { type: "range", class: "reader", "aria-label": "Position",
        min: 0, max: tokens.length - 1, value: this.position, oninput: () => {
          this.position = Number(this.reader.value);
          this.draw();
        } });
      this.drawing = shape("svg", { "aria-hidden": "true" });
      this.stage.append(element("div", { class: "room" }, this.reader, this.drawing));
      this.whenResized(this.stage, () => this.paint());
      this.whenSeen(() => { // the line comes from the first word, and columns appear where it has been
        this.at = this.far = 0;
        this.follow(3000);
      });
    }

    // how high wave i is at a position, which need not be a whole number
    wave(i, position) {
      const angle = position * this.frequencies[i];
      return i % 2 ? Math.cos(angle) : Math.sin(angle);
    }

    // where everything is, from top to bottom
    measure() {
      const { tokens } = this.data;
      const width = this.stage.clientWidth || 600;
      const narrow = width < 560; // the names of rows stand above them, not at their left
      const left = narrow ? 0 : 150;
      const step = (width - left) / tokens.length;
      const bar = Math.min(9.5, (step - 8) / this.features.length);
      const name = narrow ? 20 : 0;
      const top = 66 + name;
      const end = top + BAND * this.features.length; // of the waves
      const high = UNIT * Math.max(...this.sums.flat().map(Math.abs));
      const position = end + 16 + name + UNIT;
      const word = position + UNIT + 18 + name + UNIT;
      const sum = word + UNIT + 30 + name + high;
      return { narrow, width, left, step, bar, top, end, high, rows: { position, word, sum },
        height: sum + high + 28, x: (p) => left + (p + 0.5) * step };
    }

    paint() {
      const { tokens } = this.data;
      const place = this.place = this.measure();
      const [first, last] = [place.x(0), place.x(tokens.length - 1)];
      this.drawing.setAttribute("height", place.height);
      this.reader.style = `left: ${first - 22}px; width: ${last - first + 44}px; top: 0; `
        + `height: ${place.end}px`;
      this.reader.setAttribute("aria-valuetext", `${this.position}, “${tokens[this.position]}”`);
      this.reading = shape("g");
      this.column = shape("rect", { class: "column", width: place.step, y: 0, rx: 6,
        height: place.height - 26 });
      this.drawing.replaceChildren(this.column, ...this.words(), ...this.waves(), ...this.rows(),
        this.reading);
      this.drawing.append(...this.drawing.querySelectorAll(".right")); // names lie on the line
      this.follow();
      this.say(this.sentence());
    }

    words() {
      const { tokens, twins } = this.data;
      const { x } = this.place;
      return tokens.flatMap((token, p) => [
        shape("text", { class: `middle ${twins.includes(p) ? "strong" : ""}`, x: x(p), y: 17 }, token),
        shape("text", { class: "middle soft", x: x(p), y: 48 }, String(p))]);
    }

    waves() {
      const { narrow, left, width, step, top } = this.place;
      const middle = (i) => top + (i + 0.5) * BAND;
      const label = (y, text, kind = "soft") => shape("text", { class: kind, x: 0, y }, text);
      const slowest = middle(this.features.length - 1);
      const names = narrow ? [[top - 8, "fast"], [slowest + BAND / 2 + 12, "slow"]].map(([y, name], i) =>
        shape("text", { class: "soft right", x: width, y }, `${name}: ${TELLS[i]}`))
        : [label(48, "position"), ...[middle(0), slowest].flatMap((y, i) =>
          [label(y - 3, ["fast wave", "slow wave"][i], "name position"), label(y + 14, TELLS[i])])];
      return [...names, ...this.features.flatMap((i) => {
        const points = range(Math.ceil((width - left) / 2) + 1).map((n) => {
          const at = Math.min(2 * n, width - left);
          return `${left + at},${middle(i) - HIGH * this.wave(i, at / step - 0.5)}`;
        });
        return [shape("path", { class: "under",
          d: `M${left},${middle(i)} L${points.join(" L")} V${middle(i)} Z` }),
        shape("path", { class: "wave", d: `M${points.join(" L")}` })];
      })];
    }

    // the bars of one vector about the middle x
    bars(kind, x, numbers) {
      const { bar, rows } = this.place;
      const left = x - numbers.length * bar / 2;
      return [shape("path", { class: "zero", d: `M${left - 2},${rows[kind]} h${numbers.length * bar + 4}` }),
        ...numbers.map((number, i) => shape("rect", { class: kind, x: left + (i + 0.1) * bar,
          y: rows[kind] - UNIT * Math.max(0, number), width: 0.8 * bar,
          height: UNIT * Math.abs(number) }))];
    }

    seen(p) {
      return Math.max(0, Math.min(1, this.far - p + 1));
    }

    shade(p) {
      const point = p === this.position || this.data.twins.includes(p) ? 1 : FAINT;
      return point * (AHEAD + (1 - AHEAD) * this.seen(p));
    }

    rows() {
      const { tokens, twins, words } = this.data;
      const { narrow, x, rows, high } = this.place;
      const vectors = { word: words, sum: this.sums };
      const ends = { position: UNIT, word: UNIT, sum: high };
      const parts = Object.entries(KINDS).map(([kind, name]) => shape("text",
        { class: `name ${kind === "position" ? kind : ""}`, x: 0,
          y: rows[kind] + (narrow ? -ends[kind] - 8 : 5) }, name));
      if (!narrow)
        parts.push(shape("text", { class: "soft", x: 0, y: rows.sum + 24 }, "what attention gets"));
      this.columns = tokens.map(() => []);
      this.brackets = [];
      this.marks = tokens.map((_, p) => shape("g", {},
        ...this.bars("position", x(p), this.features.map((i) => this.wave(i, p)))));
      for (const [kind, numbers] of Object.entries(vectors)) {
        numbers.forEach((vector, p) =>
          this.columns[p].push(shape("g", {}, ...this.bars(kind, x(p), vector))));
        if (twins.length > 1) this.brackets.push(this.bracket(numbers, rows[kind] + ends[kind] + 5));
      }
      return [...parts, ...this.columns.flat(), ...this.brackets, ...this.marks];
    }

    // under the vectors of a token that comes again, whether they are the same
    bracket(vectors, y) {
      const { twins } = this.data;
      const { x } = this.place;
      const [first, ...others] = twins.map((p) => String(vectors[p]));
      const [from, to] = [x(twins[0]), x(twins.at(-1))];
      return shape("g", {},
        shape("path", { class: "bracket", d: `M${from},${y} v8 H${to} v-8` }),
        shape("text", { class: "verdict", x: (from + to) / 2, y: y + 13 },
          others.every((other) => other === first) ? "the same" : "different"));
    }

    // take the line to its position
    follow(time) {
      const from = this.at;
      this.glide((part) => {
        this.at = from + (this.position - from) * part;
        this.far = Math.max(this.far, this.at);
        this.read();
      }, from === this.position, time);
    }

    // the line where it is now, and the heights that it reads off
    read() {
      const { x, top, step, bar, rows } = this.place;
      const here = x(this.at);
      const heights = this.features.map((i) => this.wave(i, this.at));
      const left = here - heights.length * bar / 2;
      const y = (i) => top + (i + 0.5) * BAND - HIGH * heights[i];
      this.column.setAttribute("x", here - step / 2);
      this.columns.forEach((groups, p) => groups.forEach((group) => group.setAttribute("opacity", this.shade(p))));
      this.brackets.forEach((bracket) => bracket.setAttribute("opacity", this.seen(this.data.twins.at(-1))));
      this.marks.forEach((mark, p) =>
        mark.setAttribute("opacity", this.shade(p) * Math.min(1, Math.abs(p - this.at))));
      this.reading.replaceChildren(
        shape("path", { class: "line", d: `M${here},43 V${rows.position - UNIT - 8}` }),
        ...heights.map((height, i) => shape("path", { class: "join",
          d: `M${here},${y(i)} H${left + (i + 0.5) * bar} V${rows.position - UNIT * Math.max(0, height)}` })),
        ...heights.map((_, i) => shape("circle", { class: "dot", r: 5, cx: here, cy: y(i) })),
        shape("circle", { class: "handle", r: 13, cx: here, cy: 43 }),
        shape("path", { class: "ways", d: `M${here - 18},38 l-5,5 l5,5 M${here + 18},38 l5,5 l-5,5` }),
        shape("text", { class: "here", x: here, y: 48 }, String(Math.round(this.at))),
        ...this.bars("position", here, heights));
    }

    sentence() {
      const { tokens, twins } = this.data;
      const other = twins.find((p) => p !== this.position);
      const again = other !== undefined && twins.includes(this.position)
        ? ` The same word at position ${other} has a different sum.` : "";
      return `At position ${this.position}, the line reads ${COUNTS[this.features.length - 2]} heights `
        + "off the waves. Attention gets the sum of these heights and the vector of "
        + `“${tokens[this.position]}”.${again}`;
    }

    numbers() {
      const { tokens, words } = this.data;
      const p = this.position;
      return [["", `position ${p}`, `“${tokens[p]}”`, "sum"], ...this.features.map((i) =>
        [`wave ${i + 1}`, ...[this.wave(i, p), words[p][i], this.sums[p][i]].map((n) => fixed(n, 3))])];
    }
  };
});
