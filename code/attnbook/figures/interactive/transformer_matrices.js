// The matrices of a part of the Transformer, to scale, and one number of a product in the large.
window.attnbook.panel ??= ({ Interactive, element, shape, percent },
  { text, LINE, TURN, PASS, passed, passing, shades, product, strips }) => {
  const [LABEL, GAP, APART] = [32, 5, 8]; // for names, and between matrices
  const [SHOWN, MADE] = [["projections", "scores", "softmax", "mixing", "heads"], 1500]; // inside an attention, and for each

  return class extends Interactive {
    static INSIDE = { // which matrices of an attention are those of its parts
      projections: [0, 2], scores: [1, 3], scaling: [2, 3], mask: [2, 3], softmax: [2, 4], mixing: [3, 5], heads: [5, 7] };
    static STYLE = `
      .scale { grid-area: scale; min-width: 0; }
      .scale .note { display: flex; flex-wrap: wrap; gap: 0 .6rem; align-items: center; min-height: 2.5rem; margin: 0; }
      @container (max-width: 599px) { .scale .note { min-height: 3.7rem; } }
      .scale .name { fill: var(--of); font-weight: 700; font-size: 14px; }
      .edge { fill: none; stroke: var(--of); }
      .matrix { outline: none; }
      .matrix[role] { cursor: pointer; }
      .matrix[role]:hover .edge { stroke-width: 2.5; }
      .matrix:focus-visible .edge { stroke: var(--ink); stroke-width: 3.5; }
      .hit { opacity: 0; }
    `;

    // what a part makes of the vectors, matrix by matrix; playing waits for that
    travel() {
      const [box, { chain }] = [this.path[this.step], this.shownStep()];
      const stages = box.part.endsWith("attention") ? SHOWN.map((part) => [this.first(part), this.constructor.INSIDE[part]])
        : chain.flatMap(({ above }, n) => (above && n ? [[box, [n - 1, n + 1]]] : []));
      if (!stages.length) return;
      const [start, playing] = [performance.now(), this.playing];
      let stage;
      const move = (now) => {
        if (playing && !this.playing) return;
        const past = Math.max(0, now - start) / MADE;
        const next = stages[Math.floor(past)];
        if (next !== stage) {
          this.choose(...next ?? [box]);
          this.said.ariaLive = "off";
          this.draw();
        }
        stage = next;
        if (!next) return;
        this.run = past % 1;
        this.drawScale();
        this.frame = requestAnimationFrame(move);
      };
      move(start);
      this.takes = stages.length * MADE;
    }

    // the matrices of the chosen box, from left to right, in one scale, and numbers of the token's row; of
    // two with a product, how one number comes about
    drawScale() {
      const { chain } = this.shownStep();
      const width = this.scale.clientWidth || 400;
      const room = width < 400 ? 172 : 210; // for matrices and names
      const shown = chain.slice(...this.span).slice(0, width < 400 ? 5 : 7); // on a telephone, without W_O
      const zoomed = shown.length === 2 && shown[1].above;
      const columns = shown.map(({ values: [row] }) => row.length);
      const [rows, tallest] = [shown[0].values.length,
        Math.max(0, ...shown.map(({ above }, n) => (above && n ? columns[n - 1] : 0)))];
      let unit = Math.min(15, (room - 2 * LABEL - GAP) / (tallest + rows));
      const wide = () => columns.map((column, n) => Math.max(column * unit, shown[n].name.length * 8.6, 46));
      const total = () => wide().reduce((all, one) => all + one, (shown.length - 1) * APART);
      while (total() > width && unit > 0.5) unit -= 0.05;
      const top = LABEL + (tallest ? tallest * unit + GAP : 0);
      const run = this.run; // how much of the product is made
      if (run < 1 && zoomed) this.entry = [this.entry[0], Math.max(0, Math.floor(passed(run, columns[1])))];
      const [i, j] = this.entry = zoomed ? this.within(shown[1].values) : this.entry;
      const there = run < 1 && ((row, column) => (row === i ? passed(run, columns[1]) >= (zoomed ? column : 0)
        : (run - TURN - PASS) / (1 - TURN - PASS) * rows > row));
      let way = "";
      let x = 0;
      const blocks = shown.flatMap(({ above, ...matrix }, n) => {
        const product = above && n > 0;
        const press = zoomed ? (row, column) => this.look([n || above ? row : i, n ? column : j])
          : product && (() => this.zoom(n));
        const both = [this.block(matrix, { x, y: top, unit, written: top + rows * unit + 14, press, there: n === 1 && there,
          band: zoomed ? [i, n ? j : null] : [i, null] })];
        const y = top - GAP - columns[n - 1] * unit;
        if (product) both.push(this.block(above, { x, y, unit, written: y - 18, band: zoomed && [null, j],
          press: zoomed ? (row, column) => this.look([i, column]) : press }));
        if (there && zoomed && n) way = passing({ ...shown[0], values: shown[0].values[i], side: unit, part: run, level: top - GAP,
          from: [columns[0] * unit, top + (i + 0.5) * unit], places: above.values[0].map((_, k) => x + (k + 0.5) * unit) });
        x += wide()[n] + APART;
        return both;
      });
      const low = top + rows * unit + LABEL + 12;
      const height = room + 8 + 4 * LINE;
      for (const [name, value] of [["viewBox", `0 0 ${width} ${height}`], ["height", height]])
        this.drawing.setAttribute(name, value);
      const focused = [...this.drawing.children].indexOf(this.shadowRoot.activeElement);
      this.drawing.replaceChildren(...blocks, way, shape("g", { transform: `translate(0 ${low})` },
        ...strips(zoomed ? this.product(shown) : this.rows(shown), width)));
      if (focused >= 0) this.drawing.children[Math.min(focused, blocks.length - 1)].focus();
      this.caption(zoomed, shown);
    }

    caption(zoomed, shown) {
      const { head, side, chain } = this.shownStep();
      const { words, vocabulary } = this.data.run;
      const [i, j] = this.entry;
      const columns = { scores: words[(this.data.asked[this.looking.part] ?? [])[1]], logits: vocabulary }[shown.at(-1).name];
      const column = columns ? `“${columns[j]}”` : j + 1;
      const products = shown.some(({ above }, n) => above && n);
      this.scaled.replaceChildren(zoomed ? `Row “${words[side][i]}” × column ${column} = one number`
        : `The matrices of ${this.picked.part}${head >= 0 ? `, head ${head + 1}` : ""}, to scale. ${products
          ? "Click one to open it." : ""}`, zoomed && chain.length > 2 ? element("button", { type: "button",
        onclick: () => this.pick(this.picked.side ? this.picked : this.looking) }, "← all") : "");
    }

    // one matrix with its name and size; what is framed are a row, a column or both; it may be pressed
    block({ name, of, values }, { x, y, unit, written, band, press, there }) {
      const [w, h] = [values[0].length * unit, values.length * unit];
      const [shade, inner, paths] = [shades(values), unit < 4 ? unit : unit - 1, {}];
      values.forEach((row, i) => row.forEach((value, j) => {
        if (there && !there(i, j)) return;
        const opacity = shade(value).toFixed(1);
        paths[opacity] = `${paths[opacity] ?? ""}M${x + j * unit},${y + i * unit}h${inner}v${inner}h${-inner}z`;
      }));
      const [i, j] = band || [];
      const size = `${values.length} × ${values[0].length}`;
      const node = shape("g", { class: "matrix", style: `--of: var(--${of})` },
        ...Object.entries(paths).map(([opacity, d]) => shape("path", { class: "cell", d, "fill-opacity": opacity })),
        shape("rect", { class: "edge", x, y, width: w, height: h }),
        band ? shape("rect", { class: "band", style: `stroke-width: ${unit < 4 ? 0.8 : 2}`, x: x + (j ?? 0) * unit, y: y + (i ?? 0) * unit,
          width: j == null ? w : unit, height: i == null ? h : unit }) : "",
        text(name, x, written, { class: "name" }), " ", text(size, x, written + 14));
      if (!press) return node;
      const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
      node.append(shape("rect", { class: "hit", x, y, width: Math.max(w, 24), height: Math.max(h, 24) }));
      return this.pressable(node, `${name.replace("_", "")}, ${size}`, (event) => {
        const box = this.drawing.getBoundingClientRect();
        press(...[event.clientY - box.top - y, event.clientX - box.left - x].map((at) => Math.floor(at / unit)));
      }, ({ key }) => (moves[key] ? () => this.look(moves[key].map((step, axis) => this.entry[axis] + step))
        : [" ", "Enter"].includes(key) && (() => press(...this.entry))));
    }

    pressable(node, label, onclick, acts) {
      for (const [name, value] of [["role", "button"], ["tabindex", 0], ["aria-label", label]]) node.setAttribute(name, value);
      node.addEventListener("click", onclick);
      node.addEventListener("keydown", (event) => {
        const act = acts(event);
        if (!act) return;
        event.preventDefault();
        act();
      });
      return node;
    }

    halt() {
      this.pause();
      cancelAnimationFrame(this.frame);
      this.run = 1;
    }

    zoom(n) {
      this.halt();
      this.span = [this.span[0] + n - 1, this.span[0] + n + 1];
      this.drawScale();
    }

    look(entry) {
      this.halt();
      this.entry = entry;
      this.drawScale();
    }

    // an entry of a product; at first the largest of the token's row
    within(values) {
      const limit = (at, size) => Math.max(0, Math.min(at, size - 1));
      const i = limit(this.entry[0], values.length);
      const numbers = values[i];
      return [i, limit(this.entry[1] ?? numbers.indexOf(Math.max(...numbers)), numbers.length)];
    }

    product([left, { above, of, then }]) {
      const [i, j] = this.entry;
      return product({ ...left, values: left.values[i] }, { ...above, values: above.values.map((row) => row[j]) }, of,
        (total) => then?.(total, j) ?? "");
    }

    // the token's row of each matrix, or words and what belongs to them
    rows(shown) {
      const { words, vocabulary } = this.data.run;
      const { side, token, chain } = this.shownStep();
      const row = ({ values, ...matrix }) => ({ ...matrix, values: values[token] });
      if (this.picked.part === side) return [{ name: "token", of: "soft", words: words[side],
        values: words[side].map((_, i) => Number(i === token)) }];
      if (this.picked.part === "probabilities") {
        const likely = row(shown[1]).values.map((share, n) => [share, vocabulary[n]]).sort(([a], [b]) => b - a).slice(0, 5);
        const next = { name: "next", of: "weights", values: likely.map(([share]) => share) };
        return [{ ...next, words: likely.map(([, word]) => word) },
          { ...next, name: "", words: likely.map(([share]) => percent(share)) }];
      }
      if (chain.length === 7 && (shown.length > 3 || shown.length < 3 && shown[0].name !== "heads")) {
        const looked = row(shown.find(({ name }) => name === "weights") ?? shown[0]);
        const of = this.data.asked[this.looking.part][1];
        return [{ ...looked, name: "token", words: words[of] }, ...shown.length > 3 ? [looked] : shown.map(row)];
      }
      return shown.map(row);
    }
  };
};
