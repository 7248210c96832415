// Sinusoidal positions as waves under a row of words. A line reads their heights off at a position,
// and below it stand three rows of bars: these heights, the word's vector, and the sum.
attnbook.define("waves", ({ Interactive, element, shape, range, fixed }) => {
  const [BAND, HIGH, UNIT] = [60, 25, 22]; // the room of a pair of waves, of a top above its middle, and of a bar for 1
  const KINDS = { position: "position", word: "+ word", sum: "= sum" };
  const TELLS = [["fast pair", "tells neighbours apart"], ["slow pair", "tells far places apart"]];
  const COUNTS = ["two", "three", "four", "five", "six", "seven", "eight"];

  return class Waves extends Interactive {
    static LINES = 5;
    static STYLE = `
      .room { position: relative; }
      .room text { fill: var(--ink); font-size: 14px; }
      .room .soft { fill: var(--soft); font-size: 13px; }
      .room :is(.name, .strong) { font-size: 15px; font-weight: 600; }
      .room .name.position { fill: var(--other); }
      .word { fill: var(--soft); } .position { fill: var(--other); } .sum { fill: var(--ink); }
      .room .right { text-anchor: end; }
      .middle { text-anchor: middle; }
      .room :is(.right, .over), .verdict { stroke: var(--paper); stroke-width: 5px; paint-order: stroke; }
      .zero, .bracket { fill: none; stroke: var(--line); }
      .bracket { stroke: var(--ink); stroke-width: 1.5; }
      .verdict { font-weight: 600; text-anchor: middle; }
      .wave { fill: none; stroke: var(--other); stroke-width: 2; }
      .wave.cosine { stroke-width: 1.5; stroke-dasharray: 5 4; opacity: .7; }
      .stem { fill: none; stroke: var(--other); stroke-width: 3; opacity: .3; }
      .join { fill: none; stroke: var(--other); opacity: .5; }
      .line { stroke: var(--ink); stroke-width: 1.5; }
      .dot { fill: var(--other); stroke: var(--paper); stroke-width: 2; }
      .dot.cosine { fill: var(--paper); stroke: var(--other); }
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
      const { tokens, begin, words, d_model } = this.data;
      this.features = range(words[0].length);
      this.frequencies = this.features.map((i) => 10000 ** (-2 * Math.floor(i / 2) / d_model));
      this.position = this.at = begin; // `at` moves there, and reads on its way
      this.sums = words.map((word, p) => word.map((number, i) => number + this.wave(i, p)));
      this.reader = element("input", { type: "range", class: "reader", "aria-label": "Position",
        min: 0, max: tokens.length - 1, value: this.position, oninput: () => {
          this.position = Number(this.reader.value);
          this.draw();
        } });
      this.drawing = shape("svg", { "aria-hidden": "true" });
      this.stage.append(element("div", { class: "room" }, this.reader, this.drawing));
      this.whenResized(this.stage, () => this.paint());
      this.whenSeen(() => { // the line comes from the first word
        this.at = 0;
        this.follow(3500);
      });
    }

    // how high wave i is at a position, which need not be a whole number
    wave(i, position) {
      const angle = position * this.frequencies[i];
      return i % 2 ? Math.cos(angle) : Math.sin(angle);
    }

    // the places of a word
    twins() {
      const { tokens } = this.data;
      return range(tokens.length).filter((p) => tokens[p] === tokens[this.position]);
    }

    // where everything is, from top to bottom
    measure() {
      const { tokens } = this.data;
      const width = this.stage.clientWidth || 600;
      const narrow = width < 560; // the names of rows stand above them, not at their left
      const left = narrow ? 0 : 150;
      const step = (width - left) / tokens.length;
      const bar = narrow ? 8 : 12;
      const half = this.features.length * bar / 2 + 2;
      const name = narrow ? 20 : 0;
      const low = step < 36 ? 17 : 0; // every second word stands lower
      const top = 62 + low + name;
      const end = top + BAND * this.features.length / 2; // of the waves
      const [up, down] = [1, -1].map((sign) => UNIT * Math.max(0, ...this.sums.flat().map((number) => sign * number)));
      const position = end + 12 + name + UNIT;
      const word = position + UNIT + 10 + name + UNIT;
      const sum = word + UNIT + 24 + name + up;
      const x = (p) => left + (p + 0.5) * step;
      return { narrow, width, left, step, bar, low, top, end, up, down, x, rows: { position, word, sum }, height: sum + down + 22,
        y: (i, height) => top + (Math.floor(i / 2) + 0.5) * BAND - HIGH * height,
        group: (p) => Math.max(half, Math.min(width - half, x(p))) }; // the middle of its bars
    }

    paint() {
      const { tokens } = this.data;
      const place = this.place = this.measure();
      const [first, last] = [place.x(0), place.x(tokens.length - 1)];
      this.drawing.setAttribute("height", place.height);
      this.reader.style = `left: ${first - 22}px; width: ${last - first + 44}px; top: 0; height: ${place.end}px`;
      this.reader.setAttribute("aria-valuetext", `${this.position}, “${tokens[this.position]}”`);
      this.reading = shape("g");
      this.drawing.replaceChildren(...this.words(), ...this.waves(), this.reading, ...this.names());
      this.follow();
      this.say(this.sentence());
    }

    text(x, y, words, kind = "soft") {
      return shape("text", { class: kind, x, y }, words);
    }

    words() {
      const { x, low } = this.place;
      const twins = this.twins();
      return this.data.tokens.flatMap((token, p) => [
        this.text(x(p), 17 + low * (p % 2), token, `middle ${twins.includes(p) ? "strong" : "soft"}`),
        this.text(x(p), 48 + low, String(p), "middle soft number")]);
    }

    // a lane for each pair: its sine, which has a stem at each position, and its cosine
    waves() {
      const { left, width, step, x, y } = this.place;
      const path = (i) => `M${range(Math.ceil((width - left) / 2) + 1).map((n) => {
        const at = Math.min(2 * n, width - left);
        return `${left + at},${y(i, this.wave(i, at / step - 0.5))}`;
      }).join(" L")}`;
      return this.features.flatMap((i) => [
        shape("path", { class: `wave ${i % 2 ? "cosine" : "sine"}`, d: path(i) }),
        ...(i % 2 ? [] : this.data.tokens.map((_, p) =>
          shape("path", { class: "stem", d: `M${x(p)},${y(i, 0)} V${y(i, this.wave(i, p))}` })))]);
    }

    names() {
      const { narrow, width, top, end, rows, up, low, y } = this.place;
      const ends = { position: UNIT, word: UNIT, sum: up };
      const lines = (x, y) => [["sine", x], ["cosine", x + 62]].flatMap(([name, x]) => [
        shape("path", { class: `wave ${name}`, d: `M${x},${y - 4} h22` }), this.text(x + 26, y, name, "soft over")]);
      const slow = this.features.length - 1;
      return [
        ...(narrow ? [...lines(0, top - 8), this.text(width, top - 8, "fast: tells neighbours apart", "soft right"),
          this.text(width, end + 12, "slow: tells far places apart", "soft right")]
          : [this.text(0, 48 + low, "position"), ...lines(0, (top + end) / 2 + 4), ...[0, slow].flatMap((i, k) => [
            this.text(0, y(i, 0) - 3, TELLS[k][0], "name position"), this.text(0, y(i, 0) + 14, TELLS[k][1])]),
          this.text(0, rows.sum + 24, "what attention gets")]),
        ...Object.entries(KINDS).map(([kind, name]) => this.text(0, rows[kind] + (narrow ? -ends[kind] - 8 : 5), name,
          `name over ${kind}`))];
    }

    // the bars of one vector about the middle x
    bars(kind, x, numbers, opacity = 1) {
      const { bar, rows } = this.place;
      const left = x - numbers.length * bar / 2;
      return shape("g", { opacity }, shape("path", { class: "zero", d: `M${left - 2},${rows[kind]} h${numbers.length * bar + 4}` }),
        ...numbers.map((number, i) => shape("rect", { class: kind, x: left + (i + 0.1) * bar,
          y: rows[kind] - UNIT * Math.max(0, number), width: 0.8 * bar, height: UNIT * Math.abs(number) })));
    }

    // under the vectors of a token that comes again, whether they are the same
    bracket(kind, vectors, opacity) {
      const { rows, down, group } = this.place;
      const twins = this.twins();
      if (twins.length < 2) return [];
      const y = rows[kind] + (kind === "sum" ? down : UNIT) + 2;
      const [first, ...others] = twins.map((p) => String(vectors[p]));
      const [from, to] = [group(twins[0]), group(twins.at(-1))];
      return [shape("g", { opacity },
        shape("path", { class: "bracket", d: `M${from},${y} v8 H${to} v-8` }),
        this.text((from + to) / 2, y + 13, others.every((other) => other === first) ? "the same" : "different", "verdict"))];
    }

    // take the line to its position
    follow(time) {
      const from = this.at;
      this.glide((part) => {
        this.at = from + (this.position - from) * part;
        this.read();
      }, from === this.position, time);
    }

    // the line where it is now, the heights that it reads off, and what they are added to
    read() {
      const { words } = this.data;
      const { x, y, step, low, bar, rows, group } = this.place;
      const [here, middle, nearest] = [x(this.at), group(this.at), Math.round(this.at)];
      const heights = this.features.map((i) => this.wave(i, this.at));
      const left = middle - heights.length * bar / 2;
      const near = Math.max(0, 1 - 2 * Math.abs(this.at - nearest)); // to a word
      const settled = Math.max(0, 1 - Math.abs(this.at - this.position));
      const top = 43 + low;
      this.drawing.querySelectorAll(".number").forEach((number, p) =>
        number.setAttribute("opacity", Number(Math.abs(p - this.at) * step > 30)));
      this.reading.replaceChildren(
        shape("path", { class: "line", d: `M${here},${top} V${y(heights.length - 1, -1) + 6}` }),
        ...heights.map((height, i) => shape("path", { class: "join",
          d: `M${here},${y(i, height)} H${left + (i + 0.5) * bar} V${rows.position - UNIT * Math.max(0, height)}` })),
        ...heights.map((height, i) => shape("circle", { class: `dot ${i % 2 ? "cosine" : ""}`, r: 5, cx: here, cy: y(i, height) })),
        shape("circle", { class: "handle", r: 13, cx: here, cy: top }),
        shape("path", { class: "ways", d: `M${here - 18},${top - 5} l-5,5 l5,5 M${here + 18},${top - 5} l5,5 l-5,5` }),
        this.text(here, top + 5, String(nearest), "here"),
        ...this.twins().filter((p) => p !== this.position).flatMap((p) => {
          const opacity = Math.min(1, Math.max(0, Math.abs(middle - group(p)) / (heights.length * bar) - 0.2));
          const marks = this.features.map((i) => this.wave(i, p));
          return Object.entries({ position: marks, word: words[p], sum: this.sums[p] }).map(([kind, numbers]) =>
            this.bars(kind, group(p), numbers, opacity));
        }),
        this.bars("position", middle, heights), this.bars("word", middle, words[nearest], near),
        this.bars("sum", middle, this.sums[nearest], near),
        ...this.bracket("word", words, settled), ...this.bracket("sum", this.sums, settled));
    }

    sentence() {
      const { tokens } = this.data;
      const other = this.twins().find((p) => p !== this.position);
      const again = other !== undefined
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
