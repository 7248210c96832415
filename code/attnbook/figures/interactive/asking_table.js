// All words ask at once: every word in a row that is chosen from, and the tables of their queries,
// keys, weights, values and mixtures. A part of asking.js.
attnbook.askingTable ??= ({ element, shape, fixed }, Figure) => {
  const ROW = 26; // height of a row
  const PHONE = 480; // pixels below which values and mixtures come below the weights
  const WIDE = { label: 58, query: 46, weight: 52, hand: 46, gap: 64 };
  const NARROW = { label: 46, query: 29, weight: 39, hand: 36, gap: 72 };

  return class extends Figure {
    static TABLE_STYLE = `
      .table text { font-size: 14px; text-anchor: middle; fill: var(--ink); }
      .table text.end { text-anchor: end; }
      .table .zero { fill: var(--soft); }
      .table .head { font-weight: 600; }
      .table .box { fill: none; stroke: var(--line); }
      .table .share { fill: var(--weights); }
      .table .frame-row { fill: none; stroke-width: 2.5; }
      .table .hit { fill: transparent; cursor: pointer; }
      .table .q { stroke: var(--query); } .table .w { stroke: var(--weights); }
      .table .v { stroke: var(--value); }
      .table text.tq { fill: var(--query); } .table text.tk { fill: var(--key); }
      .table text.tv { fill: var(--value); } .table text.tw { fill: var(--weights); }
    `;

    buildAll() {
      const { words } = this.data;
      this.chips = words.map((word, i) => element("button", { type: "button", class: "chip",
        onclick: () => this.choose(i), onmouseenter: () => this.choose(i),
        onfocus: () => this.choose(i) }, word));
      this.words.append(this.label("is found", "key"),
        ...words.map((word) => element("span", { class: "chip found" }, word)),
        this.label("weight, rounded", "weight"), ...this.shares, element("span"), this.ribbons,
        this.label("asks", "query"), ...this.chips);
      this.tables = shape("svg", { class: "table", "aria-hidden": "true" });
      this.stage.append(this.voice, this.tables);
      this.whenResized(this.stage, ([{ contentRect }]) => {
        const narrow = contentRect.width < PHONE;
        if (narrow === this.narrow) return;
        this.narrow = narrow;
        this.paintTable();
      });
    }

    choose(row) {
      if (row === this.row) return;
      this.row = row;
      this.draw();
    }

    paintAll() {
      this.chips.forEach((chip, i) => {
        chip.classList.toggle("asks", i === this.row);
        chip.setAttribute("aria-pressed", i === this.row);
      });
      this.paintTable();
    }

    // where each table begins: beside each other, or values and mixtures below the weights
    places() {
      const { words, features, hands } = this.data;
      const cell = this.narrow ? NARROW : WIDE;
      const [count, asked] = [words.length, features.length];
      const weight = cell.label + asked * cell.query + 8;
      const right = weight + count * cell.weight;
      const place = { cell, query: cell.label, weight, right };
      if (!this.narrow) {
        const top = Math.max(asked, count) * ROW + 22; // room for the names of the queries
        const output = right + cell.gap;
        return { ...place, top, keysTop: top - 22 - asked * ROW, values: output, valuesTop: 0, output,
          outputTop: top, height: top + count * ROW + 22, width: output + hands.length * cell.hand };
      }
      const top = asked * ROW + 8;
      const below = top + count * ROW + 66;
      const output = cell.label + hands.length * cell.hand + cell.gap;
      return { ...place, top, keysTop: 0, values: cell.label, valuesTop: below, output,
        outputTop: below, height: below + count * ROW + 4,
        width: Math.max(right, output + hands.length * cell.hand) };
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
      const { words, keys, values, hands } = this.data;
      const at = this.places();
      const { cell } = at;
      const turned = keys[0].map((_, k) => keys.map((key) => key[k]));
      const mixtures = words.map((_, i) => this.output(i));
      this.tables.setAttribute("viewBox", `0 -42 ${at.width} ${at.height + 42}`);
      this.tables.replaceChildren(
        ...this.block(turned, [at.weight, at.keysTop], cell.weight, String),
        ...this.block(values, [at.values, at.valuesTop], cell.hand, String),
        ...this.block(this.queries, [at.query, at.top], cell.query, String),
        ...this.block(words.map((_, i) => this.weights(i)), [at.weight, at.top], cell.weight,
          (share) => Math.round(100 * share), (share) => share),
        ...this.block(mixtures, [at.output, at.outputTop], cell.hand, (amount) => fixed(amount, 1)),
        ...this.names(at), ...this.titles(at),
        ...this.frames(at, [["q", at.query, at.top, 3 * cell.query],
          ["w", at.weight, at.top, words.length * cell.weight],
          ["v", at.output, at.outputTop, hands.length * cell.hand]]));
    }

    // the words, features and hands beside and above the numbers
    names(at) {
      const { words, features, hands } = this.data;
      const { cell } = at;
      const write = (x, y, text, more = "") => shape("text", { x, y, class: more }, text);
      const beside = (x, top) => words.map((word, i) =>
        write(x - 6, top + (i + 0.7) * ROW, word, i === this.row && top !== at.valuesTop
          ? "end head" : "end"));
      const above = (x, y, wide, texts, role) => texts.map((text, k) =>
        write(x + (k + 0.5) * wide, y - 7, text, role));
      return [
        ...above(at.weight, at.keysTop, cell.weight, words, ""),
        ...features.map((name, k) =>
          write(at.weight - 6, at.keysTop + (k + 0.7) * ROW, name, "end tk")),
        ...beside(at.query, at.top), ...beside(at.values, at.valuesTop),
        ...above(at.values, at.valuesTop, cell.hand, hands, "tv"),
        ...(this.narrow ? [...beside(at.output, at.outputTop),
          ...above(at.output, at.outputTop, cell.hand, hands, "tv")]
          : above(at.query, at.top, cell.query, features, "tq")),
      ];
    }

    titles(at) {
      const { words, features, hands } = this.data;
      const { cell } = at;
      const bottom = at.top + words.length * ROW + 18;
      const middle = (left, count, wide) => left + count * wide / 2;
      const title = (x, y, text, role) => shape("text", { x, y, class: `head ${role}` }, text);
      const output = middle(at.output, hands.length, cell.hand);
      return [
        title(middle(at.weight, words.length, cell.weight), at.keysTop - 26, "keys", "tk"),
        title(middle(at.query, features.length, cell.query), bottom, "queries", "tq"),
        title(middle(at.weight, words.length, cell.weight), bottom, "weights, in %", "tw"),
        title(middle(at.values, hands.length, cell.hand), at.valuesTop - 26, "values", "tv"),
        title(output, this.narrow ? at.outputTop - 26 : bottom, "mixtures", "tv"),
        ...(this.narrow ? [] : [title((at.right + at.output) / 2,
          at.top + words.length / 2 * ROW + 5, "→", "")]),
      ];
    }

    // what belongs to the word that asks, and rows to point at
    frames(at, tables) {
      return [
        ...tables.map(([role, x, top, width]) => shape("rect", { class: `frame-row ${role}`, x,
          y: top + this.row * ROW, width, height: ROW })),
        ...tables.flatMap(([, x, top, width]) => this.data.words.map((_, i) => shape("rect", {
          class: "hit", x, y: top + i * ROW, width, height: ROW,
          onmouseenter: () => this.choose(i), onclick: () => this.choose(i) }))),
      ];
    }
  };
};
