// Words in a row that are chosen from; what one of them asks worked out, from its query to its mixture;
// and the tables of all of them. A part of asking.js.
attnbook.askingTable ??= ({ element, shape, fixed }, Figure) => {
  const ROW = 26; // height of a row
  const PHONE = 480; // pixels below which the tables come below each other
  const WIDE = { label: 50, query: 52, fit: 38, weight: 40, hand: 42, gap: 56 };
  const NARROW = { label: 46, query: 26, fit: 36, weight: 36, hand: 36, gap: 60 };
  // to a tenth of a percent, so that readers who check a product get what is shown
  const tenths = (share) => (share < 0.0005 ? "<\u00a00.1\u00a0%" : `${fixed(100 * share, 1)}\u00a0%`);

  return class extends Figure {
    static TABLE_STYLE = `
      .choose { display: flex; flex-wrap: wrap; gap: .4rem; align-items: center; }
      .choose .chip { min-width: 3.4rem; margin: 0; padding-inline: .6rem; }
      .row .voice { margin: .5rem 0; text-align: left; }
      .wanted { display: flex; flex-wrap: wrap; gap: 0 1.2rem; margin-bottom: .4rem; }
      .wanted b { font-size: 17px; color: var(--query); }
      .head { font-weight: 600; } .head i { margin-right: .4rem; }
      .sheet { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0 1rem; align-items: start; font-size: 14px; }
      .sheet table { width: 100%; font-size: inherit; }
      .sheet :is(td, th) { height: 1.6rem; padding: .1rem .2rem; text-align: right; font-weight: 400;
        white-space: nowrap; }
      .sheet thead :is(td, th) { height: 2.2rem; border: 0; }
      .sheet :is(th.head, tbody th) { text-align: left; font-weight: 600; }
      .sheet .pair { width: 36%; padding-inline: 0; text-align: center; }
      .sheet td.pair { text-align: left; }
      td.pair i { display: inline-block; vertical-align: middle; height: 16px; box-sizing: border-box;
        width: calc(46% * var(--part)); margin-right: calc(46% - 46% * var(--part));
        background: color-mix(in srgb, var(--query) 45%, var(--paper)); border-left: 1px solid var(--query); }
      td.pair i + i { margin-left: 6%; background: var(--weights); border-color: var(--weights); }
      .sheet .weight { font-weight: 400; } .sheet .fit { padding-right: .4rem; }
      .sheet .sum { table-layout: fixed; } .sum .head { width: 15%; }
      .sheet .sum td { white-space: normal; } .whole { white-space: nowrap; }
      .sheet tfoot :is(td, th) { border: 0; border-top: 2px solid var(--value); color: var(--value);
        font-weight: 600; font-size: 16px; }
      .table { margin: .6rem 0; }
      .table text { font-size: 14px; text-anchor: middle; fill: var(--ink); }
      .table text.end { text-anchor: end; }
      .table .zero { fill: var(--soft); }
      .table .box { fill: none; stroke: var(--line); }
      .table .share { fill: var(--weights); }
      .table .frame-row { fill: none; stroke-width: 2.5; }
      .table .hit { fill: transparent; cursor: pointer; }
      .table .q { stroke: var(--query); } .table .w { stroke: var(--weights); }
      .table .v { stroke: var(--value); }
      .table text.tq { fill: var(--query); } .table text.tk { fill: var(--key); }
      .table text.tv { fill: var(--value); } .table text.tw { fill: var(--weights); }
      @container (max-width: 46rem) {
        .sheet { font-size: 12px; }
        .sheet :is(td, th) { padding-inline: 1px; word-spacing: -1.2px; } .sheet .pair { width: 32%; }
        .sheet .none { word-spacing: 0; }
        .sheet .sum tbody :is(td, th) { height: 2.1rem; } .sum .whole { display: block; }
        .choose > span { display: none; } .choose .chip { flex: auto; min-width: 0; } }
      @container (min-width: 52rem) { .sheet { grid-template-columns: 8fr 11fr; } }
    `;

    chipsOf(words) {
      this.chips = words.map((word, i) => element("button", { type: "button", class: "chip",
        onclick: () => this.choose(i), onfocus: () => this.choose(i) }, word));
      return this.chips;
    }

    choose(row) {
      if (row === this.row) return;
      this.row = row;
      this.draw();
    }

    paintChips() {
      this.chips.forEach((chip, i) => {
        chip.classList.toggle("asks", i === this.row);
        chip.setAttribute("aria-pressed", i === this.row);
      });
    }

    buildAll() {
      const { words } = this.data;
      this.stage.className = "all";
      const chips = this.chipsOf(words);
      chips.forEach((chip, i) => chip.addEventListener("mouseenter", () => this.choose(i)));
      this.words.append(this.label("is found", "key"),
        ...words.map((word) => element("span", { class: "chip found" }, word)),
        this.label("weight", "weight"), ...this.shares, this.label("", ""), this.ribbons,
        this.label("asks", "query"), ...chips);
      this.stage.append(this.words, this.voice);
    }

    // ------------------------------------------------------------------ one word, worked out

    buildRow() {
      const { words } = this.data;
      this.stage.className = "row";
      this.wanted = element("div", { class: "wanted" });
      this.work = element("div", { class: "sheet" });
      this.stage.append(element("div", { class: "choose", role: "group", "aria-label": "Word that asks" },
        element("span", {}, "Work out"), ...this.chipsOf(words)), this.voice,
      this.wanted, this.work);
      this.tables = shape("svg", { class: "table", "aria-hidden": "true" });
      this.details.firstChild.textContent = "All rows at once";
      this.table.before(this.tables);
      this.table.className = "unseen"; // for those who cannot see what is drawn
      this.table.removeAttribute("tabindex");
      this.whenResized(this.stage, ([{ contentRect }]) => {
        const narrow = contentRect.width < PHONE;
        if (narrow === this.narrow) return;
        this.narrow = narrow;
        this.paintTable();
      });
    }

    step(number, role) {
      return element("i", { class: "number-of", style: `--role: var(--${role})`,
        "aria-hidden": "true" }, number);
    }

    paintRow(weights) {
      const { words, features, keys, hands, values } = this.data;
      const query = this.queries[this.row];
      const fits = this.fitsOf(this.row);
      const most = Math.max(...words.flatMap((_, i) => this.fitsOf(i)));
      const cell = (name, role, ...content) => element(name, { class: role }, ...content);
      const span = (role, ...content) => cell("span", role, ...content);
      const product = (key) => key.flatMap((part, k) => (part
        ? [span("query", query[k]), " × ", span("key", part), " + "] : [])).slice(0, -1);
      const shares = weights.map(tenths);
      const result = (weight, amount) => {
        const rounded = fixed(weight * amount);
        const exact = Math.round(1000 * weight) * amount === Math.round(1000 * rounded);
        return element("span", { class: "whole" }, `${exact ? "=" : "≈"} ${rounded}`);
      };
      const table = (role, head, rows, ...foot) => element("table", { class: role },
        element("thead", {}, element("tr", {}, ...head)),
        element("tbody", {}, ...words.map((word, j) =>
          element("tr", {}, element("th", { scope: "row" }, word), ...rows(j)))), ...foot);
      this.wanted.replaceChildren(span("query head", this.step(1, "query"), "query"),
        ...features.map((name, k) => span("", name, " ", element("b", {}, query[k]))));
      this.work.replaceChildren(
        table("fitting", [element("th", { class: "key head", colspan: 2 }, this.step(2, "weights"), "key"),
          cell("th", "fit", "fit"), cell("th", "pair", "softmax →"), cell("th", "weight", "weight")],
        (j) => [cell("td", keys[j].some(Boolean) ? "key" : "none", this.kind(keys[j])),
          cell("td", fits[j] ? "fit" : "fit none", ...product(keys[j]),
            keys[j].some(Boolean) ? " = " : "", element("b", {}, fits[j])),
          cell("td", "pair", element("i", { style: `--part: ${fits[j] / (most || 1)}` }),
            element("i", { style: `--part: ${weights[j]}` })),
          cell("td", "weight", shares[j])]),
        table("sum", [cell("th", "value head", this.step(3, "value"), span("", "value")),
          ...hands.map((name) => cell("th", "value", name))],
        (j) => values[j].map((amount) => (amount ? cell("td", "", span("whole",
          span("weight", shares[j]), " × ", span("value", amount)), " ", result(weights[j], amount))
          : cell("td", ""))),
        element("tfoot", {}, element("tr", {}, cell("th", "head", "mixture"),
          ...this.output(this.row).map((amount) => cell("td", "", fixed(amount, 1)))))));
      this.paintTable();
    }

    // ------------------------------------------------------------------ the tables of all words

    // where each table begins: beside each other, or in three storeys
    places() {
      const { words, features, hands } = this.data;
      const cell = this.narrow ? NARROW : WIDE;
      const high = words.length * ROW;
      const fit = cell.label + features.length * cell.query + 8;
      const fitted = fit + words.length * cell.fit;
      if (!this.narrow) {
        const top = high + 22; // room for the names of the queries
        const weight = fitted + cell.gap;
        const output = weight + words.length * cell.weight + cell.gap;
        return { cell, query: cell.label, fit, top, keysTop: top - 22 - features.length * ROW, weight,
          weightsTop: top, values: output, valuesTop: 0, output, outputTop: top,
          height: top + high + 22, width: output + hands.length * cell.hand };
      }
      const top = features.length * ROW + 8;
      const weightsTop = top + high + 42;
      const below = weightsTop + high + 66;
      const output = cell.label + hands.length * cell.hand + cell.gap;
      return { cell, query: cell.label, fit, top, keysTop: 0, weight: fit, weightsTop,
        values: cell.label, valuesTop: below, output, outputTop: below, height: below + high + 4,
        width: Math.max(fitted, output + hands.length * cell.hand) };
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
      const all = words.map((_, i) => i);
      const turned = keys[0].map((_, k) => keys.map((key) => key[k]));
      this.tables.setAttribute("viewBox", `0 -42 ${at.width} ${at.height + 42}`);
      this.tables.replaceChildren(
        ...this.block(turned, [at.fit, at.keysTop], cell.fit, String),
        ...this.block(values, [at.values, at.valuesTop], cell.hand, String),
        ...this.block(this.queries, [at.query, at.top], cell.query, String),
        ...this.block(all.map((i) => this.fitsOf(i)), [at.fit, at.top], cell.fit, String),
        ...this.block(all.map((i) => this.weights(i)), [at.weight, at.weightsTop], cell.weight,
          (share) => Math.round(100 * share), (share) => share),
        ...this.block(all.map((i) => this.output(i)), [at.output, at.outputTop], cell.hand,
          (amount) => fixed(amount, 1)),
        ...this.names(at), ...this.titles(at),
        ...this.frames([["q", at.query, at.top, 3 * cell.query],
          ["w", at.fit, at.top, words.length * cell.fit],
          ["w", at.weight, at.weightsTop, words.length * cell.weight],
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
        ...above(at.fit, at.keysTop, cell.fit, words, ""),
        ...features.map((name, k) =>
          write(at.fit - 6, at.keysTop + (k + 0.7) * ROW, name, "end tk")),
        ...beside(at.query, at.top), ...beside(at.values, at.valuesTop),
        ...above(at.values, at.valuesTop, cell.hand, hands, "tv"),
        ...(this.narrow ? [...beside(at.weight, at.weightsTop), ...beside(at.output, at.outputTop),
          ...above(at.output, at.outputTop, cell.hand, hands, "tv")]
          : above(at.query, at.top, cell.query, features, "tq")),
      ];
    }

    titles(at) {
      const { words, features, hands } = this.data;
      const { cell } = at;
      const { narrow } = this;
      const bottom = at.top + words.length * ROW + 18;
      const middle = (left, count, wide) => left + count * wide / 2;
      const title = (x, y, text, role) => shape("text", { x, y, class: `head ${role}` }, text);
      return [
        title(middle(at.fit, words.length, cell.fit), at.keysTop - 26, "keys", "tk"),
        title(middle(at.query, features.length, cell.query), bottom, "queries", "tq"),
        title(middle(at.fit, words.length, cell.fit), bottom, narrow ? "fits, ↓ softmax" : "fits", ""),
        title(middle(at.weight, words.length, cell.weight), at.weightsTop + words.length * ROW + 18,
          "weights, in %", "tw"),
        title(middle(at.values, hands.length, cell.hand), at.valuesTop - 26, "values", "tv"),
        title(middle(at.output, hands.length, cell.hand), narrow ? at.outputTop - 26 : bottom,
          "mixtures", "tv"),
        ...(narrow ? [] : [
          shape("text", { x: at.weight - cell.gap / 2, y: at.top + words.length / 2 * ROW - 4 }, "softmax"),
          ...[at.weight, at.output].map((x) =>
            title(x - cell.gap / 2, at.top + words.length / 2 * ROW + 12, "→", ""))]),
      ];
    }

    // what belongs to the word that asks, and rows to point at
    frames(tables) {
      return [
        ...tables.map(([role, x, top, width]) => shape("rect", { class: `frame-row ${role}`, x,
          y: top + this.row * ROW, width, height: ROW })),
        ...tables.flatMap(([, x, top, width]) => this.data.words.map((_, i) => shape("rect", {
          class: "hit", x, y: top + i * ROW, width, height: ROW, onclick: () => this.choose(i) }))),
      ];
    }
  };
};
