// The weights of some queries as a map, with a key above and a value below each column and an output
// beside each row. Queries, keys and values are put into another order: rows and columns slide.
attnbook.define("reorder", ({ Interactive, element, range, dot, softmax, fixed }) => {
  const PARTS = ["queries", "keys", "values"];
  const HUES = ["other", "soft", "word", "soft"]; // a word has the same one everywhere
  const [MOVE, WAIT] = [1200, 1900]; // milliseconds
  const [LINE, GAP, BROAD] = [42, 4, 480]; // pixels: the height of a row, and what is between cells
  const short = (number) => fixed(number).replace(/[.]?0+$/, "");
  const point = (numbers, write) => `(${numbers.map(write).join(", ")})`;

  return class Reorder extends Interactive {
    static LINES = 4;
    static STYLE = `
      .room { position: relative; }
      .room > * { position: absolute; left: 0; top: 0; display: grid; grid-template-columns: 100%; align-content: center; box-sizing: border-box;
        height: ${LINE - GAP}px; overflow: hidden; text-align: center; font-size: 15px; line-height: 1.15; white-space: nowrap;
        border-radius: .3rem; font-variant-numeric: tabular-nums;
        transition: transform ${MOVE}ms ease-in-out; }
      .room.quiet > * { transition: none; }
      .room small { font-size: 12px; }
      .name { font-weight: 600; }
      .query { --of: var(--query); } .key { --of: var(--key); } .value, .output { --of: var(--value); } .weight { --of: var(--weights); }
      .box { color: var(--ink); border: 2px solid var(--of); background: color-mix(in srgb, var(--hue, var(--of)) var(--share, 22%), var(--paper)); }
      .weight { border-color: transparent; }
      .framed { outline: 2.5px solid var(--ink); outline-offset: -1px; z-index: 1; }
      .output small { font-weight: 600; }
      .output.differs { border: 1.5px dashed var(--soft); background: none; }
      .output.differs small { font-weight: 400; }
      .text { color: var(--soft); font-size: 13px; }
      .text.formula { color: var(--weights); font-weight: 600; font-size: 16px; }
      .narrow > .output { font-size: 14px; letter-spacing: -.02em; }
      .narrow > .formula { font-size: 14px; }
      @media (max-width: 350px) { .room > * { font-size: 12px; letter-spacing: -.04em; } .room small { font-size: 10px; } }
      @media (min-width: 600.01px) { .said { min-height: 4.2em; } }
    `;

    build() {
      const { words, asks, query, key, value } = this.data;
      this.moved = Object.fromEntries(PARTS.map((part) => [part, false]));
      this.weights = query.map((q) => softmax(key.map((k) => dot(q, k) / Math.sqrt(q.length))));
      this.room = element("div", { class: "room", "aria-hidden": "true" });
      const cell = (kind, ...says) => {
        const node = element("div", { class: kind }, ...says);
        this.room.append(node);
        return node;
      };
      const of = (word, ...given) => {
        const node = cell(...given);
        node.style.setProperty("--hue", `var(--${HUES[word % HUES.length]})`);
        return node;
      };
      const named = (kind, word, [...numbers]) => of(word, `${kind} box`, element("span", { class: "name" }, words[word]),
        element("small", {}, `${kind} ${numbers.length > 1 ? point(numbers, short) : short(numbers[0])}`));
      this.several = asks.length > 1;
      this.switches = PARTS.slice(this.several ? 0 : 1).map((part) => {
        this.toggle(`reorder ${part}`, (on) => {
          clearTimeout(this.timer);
          this.moved[part] = on;
          this.draw();
        });
        return [part, this.controls.lastChild.querySelector("input")];
      });
      this.cells = {
        weight: this.weights.map((row, i) => row.map((share, j) => {
          const node = cell(`weight box ${this.several && i === 0 && j === words.length - 1 ? "framed" : ""}`, fixed(share));
          node.style.setProperty("--share", `${Math.round(48 * share)}%`);
          return node;
        })),
        query: asks.map((word, i) => named("query", word, query[i])),
        key: words.map((_, word) => named("key", word, key[word])),
        value: value.map((numbers, word) => of(word, "value box", point(numbers, short))),
        output: asks.map((word) => of(word, "output box")),
      };
      this.texts = { formula: cell("text formula"), value: cell("text", "× value"), output: cell("text", "output"),
        sums: asks.map(() => cell("text", "=")) };
      this.stage.append(this.room);
      this.whenResized(this.stage, () => {
        if (this.stage.clientWidth !== this.across) this.draw();
      });
      this.onceByItself(() => this.play(this.several ? [["queries"], ["keys", "values"]] : [["keys", "values"]]));
    }

    // some parts go to their new places, and then the others
    play([now, ...later]) {
      for (const [part, input] of this.switches)
        if (now.includes(part)) input.checked = this.moved[part] = true;
      this.draw();
      if (later.length) this.onceByItself(() => this.play(later), WAIT);
    }

    // where each word is, for a part that may have moved
    places(part) {
      const { words, order } = this.data;
      return range(words.length).map((word) => (this.moved[part] ? order.indexOf(word) : word));
    }

    // what each query gets, in the order of asks: a weight counts for the value that is in its column
    outputs() {
      const { value } = this.data;
      const [columns, below] = [this.places("keys"), this.places("values")];
      const found = columns.map((place) => value[below.indexOf(place)]); // under the key of each word
      return this.weights.map((row) => value[0].map((_, f) => dot(row, found.map((numbers) => numbers[f]))));
    }

    paint() {
      const { words, asks, value } = this.data;
      const { cells, texts } = this;
      const across = this.stage.clientWidth;
      this.room.classList.toggle("quiet", across !== this.across);
      this.across = across;
      const broad = across >= BROAD;
      const [left, right] = broad ? [96, 150] : [66, 102];
      const wide = (across - left - right) / words.length;
      const put = (node, x, y, width) => Object.assign(node.style, { transform: `translate(${x}px, ${y}px)`, width: `${width - GAP}px` });
      this.room.classList.toggle("narrow", !broad);
      const [rows, columns, below] = PARTS.map((part) => this.places(part));
      const y = (i) => LINE * (1 + (this.several ? rows[i] : 0));
      const x = (place) => left + wide * place;
      const end = LINE * (1 + asks.length) + 8;
      const sign = broad ? 24 : 12;
      cells.key.forEach((node, j) => put(node, x(columns[j]), 0, wide));
      cells.value.forEach((node, j) => put(node, x(below[j]), end, wide));
      cells.query.forEach((node, i) => put(node, 0, y(i), left));
      cells.weight.forEach((row, i) => row.forEach((node, j) => put(node, x(columns[j]), y(i), wide)));
      texts.sums.forEach((node, i) => put(node, across - right, y(i), sign + GAP));
      const moves = PARTS.some((part) => this.moved[part]);
      const first = this.weights.map((row) => value[0].map((_, f) => dot(row, value.map((numbers) => numbers[f]))));
      const changed = this.outputs().map((numbers, i) => {
        const differs = numbers.some((number, f) => Math.abs(number - first[i][f]) > 1e-9);
        cells.output[i].classList.toggle("differs", differs);
        cells.output[i].replaceChildren(element("span", {}, point(numbers, (number) => fixed(number))),
          ...(moves ? [element("small", {}, differs ? "changed" : "the same")] : []));
        put(cells.output[i], across - right + sign, y(i), right - sign + GAP);
        return differs;
      }).filter(Boolean).length;
      const [P, transposed] = [this.moved.queries ? "P " : "", this.moved.keys ? " Pᵀ" : ""];
      texts.formula.textContent = this.several ? `${P}w${transposed}` : "weights";
      put(texts.formula, 0, 0, left);
      put(texts.value, 0, end, left);
      put(texts.output, across - right + sign, 0, right - sign + GAP);
      this.room.style.height = `${end + LINE}px`;
      this.say(this.sentence(changed));
    }

    sentence(changed) {
      const { words, order, asks } = this.data;
      const { queries, keys, values } = this.moved;
      const rows = queries ? "Each query takes its row and its output along. " : "";
      if (keys !== values)
        return `${rows}${keys ? "The keys have moved without their values" : "The values have moved without their keys"}, so weights meet the `
          + `values of other words, and ${this.several ? `${changed} of ${asks.length} outputs change` : "the output changes"}.`;
      if (queries && keys)
        return `“${order.map((word) => words[word]).join(" ")}”: rows and columns have moved. Each weight still belongs to the same two words, `
          + "and each word has its output.";
      if (keys)
        return `Each key takes its column and its value along. ${this.several ? "Each output" : "The output"} adds up the same products, `
          + "so nothing changes.";
      return rows || `“${words.join(" ")}”: each weight says how much a query (its row) takes of a value (below its column).`;
    }

    numbers() {
      const { words, asks } = this.data;
      const outputs = this.outputs();
      return [["", ...words.map((word) => `weight of ${word}`), ...outputs[0].map((_, f) => `output ${f + 1}`)],
        ...asks.map((word, i) => [words[word], ...[...this.weights[i], ...outputs[i]].map((number) => fixed(number, 3))])];
    }
  };
});
