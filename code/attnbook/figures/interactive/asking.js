// Words of a sentence that ask each other: one whose question can be dragged, or all in a table.
attnbook.define("asking", ({ Interactive, element, shape, range, sum, dot, softmax, fixed }) => {
  const WORD = 100; // width of a word, in the units of the arcs
  const ARCS = 104; // height of the arcs
  const SIDE = 150; // of the triangle
  const [CELL, ROW, LABEL, GAP, WIDE] = [27, 24, 48, 50, 36]; // of the table; WIDE is a weight's cell
  const HEARD = 0.2; // a weight from which on a word counts for the verdict
  const percent = (weight) => `${Math.round(100 * weight)} %`;

  return class Asking extends Interactive {
    static LINES = 4;
    static STYLE = `
      :host { container-type: inline-size; }
      .voice { margin: 0; text-align: center; font-size: 17px; color: var(--query); }
      .voice i { font-style: normal; letter-spacing: .1em; }
      .words { display: grid; gap: 0 .2rem; align-items: center; text-align: center;
        grid-template-columns: 3rem repeat(var(--words), minmax(0, 1fr)); }
      .arcs { grid-column: 2 / -1; }
      .chip { min-width: 0; min-height: 2.1rem; padding: .1rem .1rem; line-height: 1.75rem;
        font-size: clamp(14px, 2.4cqi, 18px); font-weight: 600; background: var(--paper);
        border: 1.5px solid var(--line); border-radius: .5rem; }
      .chip.asks { color: var(--query); border-color: var(--query);
        box-shadow: inset 0 0 0 1px var(--query); }
      .weight { color: var(--weights); font-weight: 600; font-variant-numeric: tabular-nums; }
      .query { color: var(--query); } .key { color: var(--key); } .value { color: var(--value); }
      .words span.key { font-size: clamp(13px, 2cqi, 15px); }
      .words span.label { text-align: left; font-size: 13px; }
      .arc { fill: none; stroke: var(--weights); stroke-linecap: round; }
      @media (prefers-reduced-motion: no-preference) {
        .arc { transition: stroke-width .2s, opacity .2s; }
        .handle, .glyph rect, .bars .bar { transition: all .2s; } }
      .beside { display: flex; flex-wrap: wrap; gap: .6rem 1.6rem; margin-top: .7rem; }
      .beside > div { flex: 1 1 14rem; min-width: 0; }
      .beside p { margin: 0 0 .3rem; }
      .triangle { max-width: 17rem; margin: 0 auto; cursor: pointer; touch-action: none; }
      .triangle text { font-size: 14px; fill: var(--key); }
      .triangle .side { fill: var(--query); fill-opacity: .06; stroke: var(--line); }
      .triangle .grid { fill: var(--line); }
      .handle { cursor: grab; }
      .handle:focus-visible { outline: none; }
      .handle:focus-visible .halo { stroke: var(--weights); stroke-width: 3; }
      .halo { fill: var(--query); fill-opacity: .22; }
      .dot { fill: var(--query); stroke: var(--paper); stroke-width: 2; }
      .bars .name { color: var(--ink); }
      .bars .bar { background: var(--value); }
      .beside .verdict { margin-top: .9rem; font-size: 18px; }
      .glyph { max-width: 3.2rem; height: 2rem; margin: .2rem auto 0; }
      .glyph rect { fill: var(--value); }
      .glyph path { stroke: var(--line); }
      @container (min-width: 44rem) {
        .drag { display: grid; column-gap: 2.2rem; row-gap: .5rem; align-items: center;
          grid-template: "voice voice" "ask words" "ask mix" / 15rem minmax(0, 1fr); }
        .beside { display: contents; }
        .drag .voice { grid-area: voice; }
        .drag .ask { grid-area: ask; } .drag .mix { grid-area: mix; margin-left: 3rem; }
      }
      .all .words { max-width: 38rem; margin: 0 auto; }
      .table { max-width: 34rem; margin: .8rem auto 0; }
      .table text { font-size: 13.5px; text-anchor: middle; fill: var(--ink); }
      .table text.end { text-anchor: end; }
      .table .zero { fill: var(--soft); }
      .table .head { font-weight: 600; }
      .table .box { fill: none; stroke: var(--line); }
      .table .share { fill: var(--weights); }
      .table .frame-row { fill: none; stroke-width: 2.5; }
      .table .hit { fill: transparent; cursor: pointer; }
      .table .others { opacity: .5; }
      .table .q { stroke: var(--query); } .table .w { stroke: var(--weights); }
      .table .v { stroke: var(--value); }
      .table text.tq { fill: var(--query); } .table text.tk { fill: var(--key); }
      .table text.tv { fill: var(--value); } .table text.tw { fill: var(--weights); }
    `;

    build() {
      const { words, queries, row, drag } = this.data;
      this.row = row;
      this.queries = queries.map((query) => [...query]);
      this.total = sum(queries[row]);
      this.arcs = words.map(() => shape("path", { class: "arc" }));
      this.stage.className = drag ? "stage drag" : "stage all";
      const chip = (word, i) => (drag
        ? element("span", { class: "chip" }, word)
        : element("button", { type: "button", class: "chip", onclick: () => this.choose(i),
          onmouseenter: () => this.choose(i), onfocus: () => this.choose(i) }, word));
      this.chips = words.map(chip);
      this.shares = words.map(() => element("span", { class: "weight" }));
      this.words = element("div", { class: "words", style: `--words: ${words.length}` },
        shape("svg", { class: "arcs", viewBox: `0 0 ${WORD * words.length} ${ARCS}`,
          "aria-hidden": "true" },
          ...this.arcs),
        element("span"), ...this.chips, this.label("weight"), ...this.shares);
      this.voice = element("p", { class: "voice", "aria-hidden": "true" });
      this.stage.append(this.voice, this.words);
      if (drag) this.buildDragging();
      else this.buildTable();
    }

    label(name) {
      return element("span", { class: `label ${name}` }, name);
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
      this.chips.forEach((chip, i) => {
        chip.classList.toggle("asks", i === this.row);
        if (!drag) chip.setAttribute("aria-pressed", i === this.row);
      });
      weights.forEach((weight, j) => {
        this.arcs[j].setAttribute("d", this.arc(j));
        this.arcs[j].setAttribute("stroke-width", 1 + 21 * weight);
        this.arcs[j].setAttribute("opacity", 0.3 + 0.6 * weight);
        this.shares[j].textContent = percent(weight);
      });
      this.voice.replaceChildren(element("b", {}, words[this.row]), ...this.wish());
      const most = words.map((word, j) => [weights[j], word]).sort(([a], [b]) => b - a)
        .slice(0, 2).map(([weight, word]) => `${percent(weight)} to “${word}”`);
      const takes = this.output(this.row)
        .map((amount, k) => `${this.data.hands[k]} ${fixed(amount, 1)}`);
      this.say(`${this.asks()} It gives ${most.join(" and ")}. `
        + `It takes along ${takes.join(", ")}.`);
      if (drag) this.paintDragging(weights);
      else this.paintTable();
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
        return points ? [` ${name} `, element("i", {}, "●".repeat(points)), " "] : [];
      })];
    }

    // from the word that asks to another; to itself a loop
    arc(to) {
      const [a, b] = [this.row, to].map((word) => (word + 0.5) * WORD);
      if (a === b) return `M${a - 12},${ARCS} C${a - 46},${ARCS - 62} ${a + 46},${ARCS - 62} ${a + 12},${ARCS}`;
      const top = ARCS - 44 - 22 * Math.abs(this.row - to);
      const away = Math.sign(b - a) * 8;
      return `M${a + away},${ARCS} C${a + away},${top} ${b},${top} ${b},${ARCS}`;
    }

    // ------------------------------------------------------------------ one word, to be dragged

    buildDragging() {
      const { words, features, keys, values, hands } = this.data;
      const kind = (key) => features.filter((_, k) => key[k]).join(", ") || "–";
      this.largest = Math.max(...values.flat());
      this.words.append(this.label("key"),
        ...keys.map((key) => element("span", { class: "key" }, kind(key))),
        this.label("value"), ...values.map((value) => this.glyph(value)));
      const corner = ([x, y], k) => shape("text", { x, y: y + (k ? 20 : -9),
        "text-anchor": ["middle", "start", "end"][k] }, features[k]);
      const corners = range(3).map((k) => this.place(range(3).map((i) => (i === k ? 1 : 0))));
      const points = range(this.total + 1).flatMap((a) =>
        range(this.total + 1 - a).map((b) => [a, b, this.total - a - b]));
      this.handle = shape("g", { class: "handle", role: "slider", tabindex: 0,
        "aria-label": `What “${words[this.row]}” looks for, moved by the arrow keys`,
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
      this.mixture = this.bars(hands);
      this.verdict = element("p", { class: "verdict" });
      this.stage.append(element("div", { class: "beside" },
        element("div", { class: "ask" }, element("p", {}, element("b", { class: "query" }, "query"),
          `: what does “${words[this.row]}” look for? Drag the dot.`), this.triangle),
        element("div", { class: "mix" }, element("p", {}, element("b", { class: "value" }, "mixture"),
          `: what “${words[this.row]}” takes along`), this.mixture.list, this.verdict)));
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

    // what a word hands over, as small bars
    glyph(value) {
      const bars = value.map((amount, k) => shape("rect", { x: 4 + 16 * k, width: 12,
        y: 30 - 28 * amount / this.largest, height: 28 * amount / this.largest }));
      return shape("svg", { class: "glyph", viewBox: "0 0 52 32", "aria-hidden": "true" },
        shape("path", { d: "M0,31 H52" }), ...bars);
    }

    paintDragging(weights) {
      const { features } = this.data;
      const query = this.queries[this.row];
      const [x, y] = this.place(query.map((part) => part / this.total));
      this.handle.setAttribute("transform", `translate(${x},${y})`);
      this.handle.setAttribute("aria-valuenow", query[0]);
      this.handle.setAttribute("aria-valuetext",
        query.map((points, k) => `${features[k]} ${points}`).join(", "));
      const output = this.output(this.row);
      const heard = this.data.words.filter((_, j) => weights[j] >= HEARD);
      this.verdict.replaceChildren(`So “${this.data.words[this.row]}” is now `,
        heard.length > 1 ? "a blend of " : "mostly ",
        ...heard.flatMap((word, k) => [k ? " and " : "", element("b", {}, word)]), ".");
      this.mixture.show(output.map((amount) => amount / this.largest),
        output.map((amount) => fixed(amount, 1)));
    }

    // ------------------------------------------------------------------ all words, in a table

    choose(row) {
      if (row === this.row) return;
      this.row = row;
      this.draw();
    }

    buildTable() {
      const { words, features, hands } = this.data;
      const [count, asked, handed] = [words.length, features.length, hands.length];
      const tall = Math.max(asked, count) * ROW;
      this.left = { query: LABEL, weight: LABEL + asked * CELL + 10,
        output: LABEL + asked * CELL + 10 + count * WIDE + GAP };
      this.top = tall + 26;
      const width = this.left.output + handed * CELL;
      this.table2 = shape("svg", { class: "table", "aria-hidden": "true",
        viewBox: `0 -20 ${width} ${this.top + count * ROW + 46}` });
      this.stage.append(this.table2);
    }

    // numbers in cells, from a corner; paints each cell's background first
    block(rows, [left, top], wide, text, share = () => 0) {
      return rows.flatMap((numbers, i) => numbers.flatMap((number, j) => [
        shape("rect", { class: "share", x: left + j * wide, y: top + i * ROW, width: wide,
          height: ROW, opacity: 0.58 * share(number) }),
        shape("rect", { class: "box", x: left + j * wide, y: top + i * ROW, width: wide,
          height: ROW }),
        shape("text", { x: left + (j + 0.5) * wide, y: top + (i + 0.5) * ROW + 5,
          class: number ? null : "zero" }, text(number))]));
    }

    paintTable() {
      const { words, features, keys, values, hands } = this.data;
      const { query, weight, output } = this.left;
      const [count, asked, top] = [words.length, features.length, this.top];
      const write = (x, y, text, more = "") => shape("text", { x, y, class: more }, text);
      const turned = keys[0].map((_, k) => keys.map((key) => key[k]));
      const keysTop = (Math.max(asked, count) - asked) * ROW;
      const valuesTop = 0;
      const all = words.map((_, i) => this.weights(i));
      const framed = (name, left, wide, columns) => shape("rect", { class: `frame-row ${name}`,
        x: left, y: top + this.row * ROW, width: wide * columns, height: ROW });
      this.table2.replaceChildren(
        write(weight + count * WIDE / 2, keysTop - 6, "keys: who is found", "head tk"),
        ...this.block(turned, [weight, keysTop], WIDE, String),
        ...features.map((name, k) => write(weight - 6, keysTop + (k + 0.7) * ROW, name, "end tk")),
        write(output + hands.length * CELL, valuesTop - 6, `values: ${hands.join(", ")}`, "end head tv"),
        ...this.block(values, [output, valuesTop], CELL, String),
        ...words.map((word, j) => write(output - 5, valuesTop + (j + 0.7) * ROW, word, "end")),
        ...words.map((word, j) => write(weight + (j + 0.5) * WIDE, top - 7, word)),
        ...words.map((word, i) => write(LABEL - 5, top + (i + 0.7) * ROW, word,
          i === this.row ? "end head" : "end")),
        ...this.block(this.queries, [query, top], CELL, String),
        ...this.block(all, [weight, top], WIDE, (share) => Math.round(100 * share), (share) => share),
        ...this.block(words.map((_, i) => this.output(i)), [output, top], CELL,
          (amount) => fixed(amount, 1)),
        write(query + asked * CELL / 2, top + count * ROW + 18, "queries", "head tq"),
        write(weight + count * WIDE / 2, top + count * ROW + 18, "weights, in %", "head tw"),
        write(output + hands.length * CELL / 2 - 12, top + count * ROW + 18, "mixtures", "head tv"),
        write((weight + output) / 2 + count * WIDE / 2, top + (count / 2) * ROW + 5, "→"),
        framed("q", query, CELL, asked), framed("w", weight, WIDE, count),
        framed("v", output, CELL, hands.length),
        ...words.map((_, i) => shape("rect", { class: "hit", x: 0, y: top + i * ROW,
          width: output + hands.length * CELL, height: ROW,
          onmouseenter: () => this.choose(i), onclick: () => this.choose(i) })));
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
