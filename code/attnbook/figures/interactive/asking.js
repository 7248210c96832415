// Words of a sentence that ask each other: one whose question can be dragged, or all at once.
// Ribbons lead from the words above to the one that asks, below; asking_table.js has the tables.
attnbook.define("asking", (shared) => {
  const { Interactive, element, shape, range, sum, dot, softmax, fixed, ribbons } = shared;
  const WORD = 100; // width of a word, in the units of the ribbons
  const SIDE = 150; // of the triangle
  const FAINT = 0.004; // weights that are not drawn
  const HEARD = 0.2; // a weight from which on a word counts for the verdict
  const percent = (weight) => `${Math.round(100 * weight)} %`;

  return class Asking extends attnbook.askingTable(shared, Interactive) {
    static LINES = 4;
    static STYLE = `
      :host { container-type: inline-size; }
      .said { position: absolute; width: 1px; height: 1px; min-height: 0; margin: 0;
        overflow: hidden; clip-path: inset(50%); } /* the picture says it */
      .frame { position: relative; }
      .words { display: grid; align-items: center; text-align: center;
        grid-template-columns: 3.4rem repeat(var(--words), minmax(0, 1fr)); }
      .chip { min-width: 0; min-height: 2.1rem; margin: 0 .2rem; padding: .1rem .1rem;
        line-height: 1.75rem; font-size: clamp(14px, 2.4cqi, 18px); font-weight: 600;
        background: var(--paper); border: 1.5px solid var(--soft); border-radius: .5rem; }
      .chip.asks { color: var(--query); border-color: var(--query);
        box-shadow: inset 0 0 0 1px var(--query); }
      button.chip { cursor: pointer; }
      button.chip:hover { background: var(--hover); }
      .weight { color: var(--weights); font-weight: 600; font-variant-numeric: tabular-nums; }
      .query { color: var(--query); } .key { color: var(--key); } .value { color: var(--value); }
      .words .key, .words .weight { font-size: clamp(13px, 2cqi, 16px); line-height: 1.5rem; }
      .words .label { text-align: left; font-size: 13px; font-weight: 600; line-height: 1.15; }
      .words .found { border-color: var(--key); color: var(--key); }
      .ribbons { grid-column: 2 / -1; height: 4.4rem; }
      .all .ribbons { height: 7rem; }
      .ribbons path { fill: var(--weights); opacity: .85; }
      .all .ribbons path { opacity: .13; } .all .ribbons .on { opacity: .85; }
      .hands { grid-column: 2 / -1; display: grid; align-items: center;
        grid-template-columns: repeat(var(--words), minmax(0, 1fr)); }
      .hands span { height: 15px; border-left: 1px solid var(--soft); margin-inline: 14%; }
      .hands i { display: block; height: 11px; margin: 2px 0; background: var(--value); }
      .words .name { text-align: left; font-size: 13px; color: var(--value); line-height: 15px; }
      .drag { display: grid; gap: .8rem 1.4rem; }
      .card p { margin: 0 0 .3rem; }
      .mixture { grid-column: 1 / -1; padding: 1.3rem 1rem .6rem; text-align: left;
        border: 2px solid var(--value); border-radius: .8rem; }
      .self { z-index: 1; margin-bottom: -1.05rem; }
      .voice { text-align: center; font-size: 16px; color: var(--query); }
      .voice span { white-space: nowrap; }
      .voice i { font-style: normal; letter-spacing: .1em; }
      .ask { display: grid; grid-template-columns: minmax(0, 1fr) 10.5rem; gap: 0 .8rem;
        padding: .6rem .8rem; border: 2px solid var(--query); border-radius: .8rem; }
      .card .voice { text-align: left; }
      .triangle { grid-area: 1 / 2 / 3; max-width: 17rem; margin: 0 auto; cursor: pointer; touch-action: none; }
      .triangle text { font-size: 14px; fill: var(--key); }
      .triangle .side { fill: var(--query); fill-opacity: .06; stroke: var(--soft); }
      .triangle .grid { fill: var(--soft); opacity: .6; }
      .handle { cursor: grab; }
      .handle:focus-visible { outline: none; }
      .handle:focus-visible .halo { stroke: var(--weights); stroke-width: 3; }
      .halo { fill: var(--query); fill-opacity: .22; }
      .dot { fill: var(--query); stroke: var(--paper); stroke-width: 2; }
      .sums { display: grid; grid-template-columns: auto minmax(0, 1fr) 2.2rem; gap: .35rem .6rem;
        align-items: center; }
      .sums .bar { display: flex; gap: 1px; height: 26px; border-left: 1px solid var(--soft); }
      .part { display: flex; flex-wrap: wrap; height: 26px; overflow: hidden; min-width: 1px;
        background: var(--value); color: var(--paper); font-size: 13px; line-height: 26px; }
      .part[hidden] { display: none; }
      .part::before { content: ""; width: 1px; height: 26px; } /* a name without room wraps away */
      .part span { flex: auto; padding: 0 .25em; text-align: center; }
      .sums .number { text-align: right; font-weight: 600; font-variant-numeric: tabular-nums; }
      .card .verdict { margin: .6rem 0 0; min-height: 2.8em; font-size: 16px; }
      @media (prefers-reduced-motion: no-preference) {
        .ribbons path { transition: opacity .2s; } .handle, .part { transition: all .2s; } }
      @container (min-width: 40rem) {
        .drag { grid-template-columns: 13.5rem minmax(0, 1fr); }
        .ask { grid-template-columns: none; align-content: start; row-gap: .8rem; }
        .card .voice { min-height: 2.9em; text-align: center; }
        .card .verdict { min-height: 1.4em; }
        .triangle { grid-area: auto; }
        .ribbons { height: 5.6rem; }
        .words { grid-template-columns: 3.9rem repeat(var(--words), minmax(0, 1fr)); }
        .hands span { margin-inline: 24%; }
      }
      .all { max-width: 46rem; margin: 0 auto; }
      .all .voice { margin: .5rem 0 1.2rem 3.4rem; font-size: 17px; min-height: 1.4em; }
    ` + super.TABLE_STYLE;

    build() {
      const { words, queries, row, drag } = this.data;
      this.row = row;
      this.queries = queries.map((query) => [...query]);
      this.total = sum(queries[row]);
      this.stage.className = drag ? "stage drag" : "stage all";
      this.shares = words.map(() => element("span", { class: "weight" }));
      this.ribbons = shape("svg", { class: "ribbons", preserveAspectRatio: "none",
        viewBox: `0 0 ${WORD * words.length} 100`, "aria-hidden": "true" });
      this.words = element("div", { class: "words", style: `--words: ${words.length}` });
      this.voice = element("p", { class: "voice", "aria-hidden": "true" });
      this.stage.append(this.words);
      if (drag) this.buildDragging();
      else this.buildAll();
    }

    label(text, role) {
      return element("span", { class: `label ${role}` }, text);
    }

    weights(i) {
      return softmax(this.data.keys.map((key) => dot(key, this.queries[i])));
    }

    // what a word takes along: the mean of the values with its weights
    output(i) {
      const weights = this.weights(i);
      return range(this.data.hands.length).map((k) =>
        sum(this.data.values.map((value, j) => weights[j] * value[k])));
    }

    paint() {
      const { words, drag } = this.data;
      const weights = this.weights(this.row);
      weights.forEach((weight, j) => {
        this.shares[j].textContent = percent(weight);
      });
      this.voice.replaceChildren(element("b", {}, words[this.row]), ...this.wish());
      const at = (i, y) => ({ x: (i + 0.5) * WORD, width: WORD, y });
      const [lookers, looks] = drag ? [[at(this.row, 100)], [weights]]
        : [words.map((_, i) => at(i, 100)), words.map((_, i) => this.weights(i))];
      this.ribbons.replaceChildren(
        ...ribbons(lookers, words.map((_, j) => at(j, 0)), looks, FAINT).map(({ looker, d }) =>
          shape("path", { d, class: drag || looker === this.row ? "on" : null })));
      const most = words.map((word, j) => [weights[j], word]).sort(([a], [b]) => b - a)
        .slice(0, 2).map(([weight, word]) => `${percent(weight)} to “${word}”`);
      const takes = this.output(this.row)
        .map((amount, k) => `${this.data.hands[k]} ${fixed(amount, 1)}`);
      this.say(`${this.asks()} It gives ${most.join(" and ")}. `
        + `It takes along ${takes.join(", ")}.`);
      if (drag) this.paintDragging(weights);
      else this.paintAll();
    }

    asks() {
      const { words, voices, drag, features } = this.data;
      const word = words[this.row];
      if (!drag) return `“${word}” asks: “${voices[this.row]}”`;
      const wanted = this.queries[this.row].map((points, k) => `${features[k]} ${points}`);
      return `“${word}” looks for ${wanted.join(", ")}.`;
    }

    // the question in the reader's sight: in words, or as points for each feature
    wish() {
      const { voices, drag, features } = this.data;
      if (!drag) return [` asks: “${voices[this.row]}”`];
      return [" looks for ", ...features.flatMap((name, k) => {
        const points = this.queries[this.row][k];
        return points ? [" ", element("span", {}, `${name} `,
          element("i", {}, "●".repeat(points))), " "] : [];
      })];
    }

    // ------------------------------------------------------------------ one word, to be dragged

    buildDragging() {
      const { words, features, keys, values, hands, row } = this.data;
      const kind = (key) => features.filter((_, k) => key[k]).join(", ") || "–";
      this.largest = Math.max(...values.flat());
      const handed = (k) => element("div", { class: "hands", "aria-hidden": "true" },
        ...values.map((value) => element("span", {},
          element("i", { style: `width: ${100 * value[k] / this.largest}%` }))));
      this.words.append(element("span"), ...words.map((word, i) =>
        element("span", { class: i === row ? "chip asks" : "chip" }, word)),
      this.label("key", "key"), ...keys.map((key) => element("span", { class: "key" }, kind(key))),
      this.label("weight", "weight"), ...this.shares,
      this.label("value", "value"), element("span", { class: "hands" }),
      ...hands.flatMap((name, k) => [element("span", { class: "name" }, name), handed(k)]),
      element("span"), this.ribbons,
      element("span", { class: "chip asks self", style: `grid-column: ${row + 2}` }, words[row]));
      this.verdict = element("p", { class: "verdict" });
      this.sums = element("div", { class: "sums", "aria-hidden": "true" });
      this.bars = hands.map((name) => {
        const [bar, number] = [element("div", { class: "bar" }), element("span", { class: "number" })];
        this.sums.append(element("span", { class: "value" }, name), bar, number);
        return { bar, number, parts: words.map((word) =>
          element("div", { class: "part", title: word }, element("span", {}, word), element("span"))) };
      });
      this.bars.forEach(({ bar, parts }) => bar.append(...parts));
      this.words.append(element("div", { class: "card mixture" },
        element("p", {}, element("b", { class: "value" }, "mixture"),
          `: “${words[row]}” takes from each word its value, times its weight`),
        this.sums, this.verdict));
      this.stage.prepend(element("div", { class: "card ask" },
        element("p", {}, element("b", { class: "query" }, "query"), ": drag the blue dot"),
        this.voice, this.triangleOf(features)));
    }

    triangleOf(features) {
      const corner = ([x, y], k) => shape("text", { x, y: y + (k ? 20 : -9),
        "text-anchor": ["middle", "start", "end"][k] }, features[k]);
      const corners = range(3).map((k) => this.place(range(3).map((i) => (i === k ? 1 : 0))));
      const points = range(this.total + 1).flatMap((a) =>
        range(this.total + 1 - a).map((b) => [a, b, this.total - a - b]));
      this.handle = shape("g", { class: "handle", role: "slider", tabindex: 0,
        "aria-label": `What “${this.data.words[this.row]}” looks for, moved by the arrow keys`,
        "aria-valuemin": 0, "aria-valuemax": this.total, onkeydown: (event) => this.key(event) },
      shape("circle", { class: "halo", r: 21 }), shape("circle", { class: "dot", r: 10 }));
      this.triangle = shape("svg", { class: "triangle",
        viewBox: `-14 -26 ${SIDE * 1.34 + 28} ${SIDE + 54}`,
        ontouchstart: (event) => event.preventDefault(), // a finger here moves the dot only
        onpointerdown: (event) => {
          this.triangle.setPointerCapture(event.pointerId);
          this.follow(event);
        },
        onpointermove: (event) =>
          this.triangle.hasPointerCapture(event.pointerId) && this.follow(event) },
      shape("path", { class: "side", d: `M${corners.join("L")}z` }),
      ...points.map((point) => {
        const [cx, cy] = this.place(point.map((part) => part / this.total));
        return shape("circle", { class: "grid", cx, cy, r: 2.5 });
      }), ...corners.map(corner), this.handle);
      return this.triangle;
    }

    // three numbers that sum to 1 as a point of the triangle, and back
    place([a, b, c]) {
      return [SIDE * 1.34 * (a / 2 + c), SIDE * (1 - a)];
    }

    follow({ clientX, clientY }) {
      const to = this.triangle.getScreenCTM().inverse();
      const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(to);
      const a = 1 - y / SIDE;
      const c = x / (SIDE * 1.34) - a / 2;
      this.move([a, 1 - a - c, c].map((part) => this.total * part));
    }

    // to the nearest whole numbers that have the same sum
    move(wanted) {
      const points = range(this.total + 1).flatMap((a) =>
        range(this.total + 1 - a).map((b) => [a, b, this.total - a - b]));
      const far = (point) => sum(point.map((part, k) => (part - wanted[k]) ** 2));
      this.queries[this.row] = points.reduce((a, b) => (far(b) < far(a) ? b : a));
      this.draw();
    }

    key(event) {
      const [a, b, c] = this.queries[this.row];
      const side = b > c ? [0, 1, 0] : [0, 0, 1];
      const way = { ArrowLeft: [0, 1, -1], ArrowRight: [0, -1, 1],
        ArrowUp: side.map((part, k) => (k ? -part : 1)),
        ArrowDown: side.map((part, k) => (k ? 1 - part : -1)) }[event.key];
      if (!way) return;
      event.preventDefault();
      const next = [a, b, c].map((part, k) => part + way[k]);
      if (Math.min(...next) >= 0) this.move(next);
    }

    paintDragging(weights) {
      const { features, values, words } = this.data;
      const query = this.queries[this.row];
      const [x, y] = this.place(query.map((part) => part / this.total));
      this.handle.setAttribute("transform", `translate(${x},${y})`);
      this.handle.setAttribute("aria-valuenow", query[0]);
      this.handle.setAttribute("aria-valuetext",
        query.map((points, k) => `${features[k]} ${points}`).join(", "));
      const output = this.output(this.row);
      this.bars.forEach(({ number, parts }, k) => {
        number.textContent = fixed(output[k], 1);
        parts.forEach((part, j) => {
          part.hidden = weights[j] * values[j][k] < 0.005 * this.largest;
          part.style.width = `${100 * weights[j] * values[j][k] / this.largest}%`;
          part.lastChild.textContent = `${percent(weights[j])} × ${values[j][k]}`;
        });
      });
      const heard = words.filter((_, j) => weights[j] >= HEARD);
      this.verdict.replaceChildren(`So “${words[this.row]}” now carries `,
        heard.length > 1 ? "a blend of " : "mostly what it found at ",
        ...heard.flatMap((word, k) => [k ? " and " : "", element("b", {}, word)]), ".");
    }

    numbers() {
      const { words, hands, drag } = this.data;
      if (drag)
        return [["word", "weight", ...hands], ...words.map((word, j) =>
          [word, fixed(this.weights(this.row)[j], 3), ...this.data.values[j].map(String)]),
        ["mixture", "", ...this.output(this.row).map((amount) => fixed(amount, 3))]];
      return [["", ...words, ...hands], ...words.map((word, i) =>
        [word, ...this.weights(i).map((weight) => fixed(weight, 3)),
          ...this.output(i).map((amount) => fixed(amount, 3))])];
    }
  };
});
