// Tokens to put in another order, a map of their weights, and beside each row its output. A place
// has a column and a row: a token that moves is painted in others.
attnbook.define("permutation", ({ Interactive, element, shape, range, dot, softmax, fixed, still }) =>
  class Permutation extends Interactive {
    static STYLE = `
      .map { display: grid; grid-template-columns: minmax(2.6rem, auto) minmax(0, 1fr) minmax(4.5rem, 30%);
        column-gap: .5rem; --row: 2.6rem; }
      .map > :is(.corner, .head) { align-self: end; padding-bottom: .3rem; color: var(--query); font-size: 13px; }
      .map > .head { color: var(--value); text-align: center; }
      .places, .cells { display: grid; grid-auto-columns: minmax(0, 1fr); grid-auto-flow: column; }
      .places { touch-action: pan-y; user-select: none; -webkit-user-select: none; }
      .places > div { padding: 0 2px; text-align: center; color: var(--soft); font-size: 13px; }
      .places button { width: 100%; margin: .1rem 0 .3rem; padding: .1rem; overflow: hidden; font-size: 15px;
        text-overflow: ellipsis; white-space: nowrap; cursor: grab; color: var(--key); }
      .places [aria-pressed="true"] { outline: 2px solid; font-weight: 600; }
      .cells { grid-template-rows: repeat(var(--tokens), var(--row)); }
      .cells div { margin: 1px; border-radius: 2px; line-height: calc(var(--row) - 2px); text-align: center;
        font-size: 14px; font-variant-numeric: tabular-nums; color: var(--ink);
        background: color-mix(in srgb, var(--weights) calc(var(--share) * 45%), var(--tint)); }
      .many .cells div { font-size: 0; }
      .rows div { height: var(--row); line-height: var(--row); max-width: 4.5rem; overflow: hidden;
        text-overflow: ellipsis; white-space: nowrap; text-align: right; color: var(--query); }
      .rows .picked { font-weight: 600; }
      .outputs svg { height: var(--row); padding: 3px 0; box-sizing: border-box; }
      .output { fill: var(--value); }
      .first { stroke: var(--ink); stroke-width: 2; vector-effect: non-scaling-stroke; }
    `;

    build() {
      const { tokens, embeddings } = this.data;
      this.first = range(tokens.length);
      this.order = this.first; // the token at each place
      this.moved = null; // the token moved last
      this.picked = 0; // the place whose token the two buttons move
      // of the first order, with and without positions, so that the scale changes seldom
      this.largest = Math.max(...[true, false].flatMap((on) => {
        this.positions = on;
        return this.outputs(this.first).flat().map(Math.abs);
      }));
      this.columns = this.first.map((place) => {
        const button = element("button", { type: "button", onclick: () => this.pick(place),
          onkeydown: (event) => this.key(event, place) });
        const high = 16 * embeddings[0].length;
        const bars = shape("svg", { "aria-hidden": "true", viewBox: `0 0 100 ${high}`,
          preserveAspectRatio: "none" });
        return { button, bars, column: element("div", {}, place + 1, button),
          row: element("div", {}), cells: this.first.map(() => element("div", {})) };
      });
      this.places = element("div", { class: "places", role: "group",
        "aria-label": "Tokens in order; the left and right arrow keys move the one in focus",
        onpointerdown: (event) => this.take(event),
        onpointermove: (event) => this.drag(event),
        onpointerup: () => this.drop(),
        onpointercancel: () => this.drop(),
      }, ...this.columns.map(({ column }) => column));
      this.earlier = this.button("◀ Earlier", () => this.move(this.picked - 1));
      this.later = this.button("Later ▶", () => this.move(this.picked + 1));
      this.button("Original order", () => this.reorder(this.first));
      this.toggle("with positions", (on) => {
        this.positions = on;
        this.moved = null;
        this.draw();
      });
      const part = (name, ...nodes) => element("div", { class: name, "aria-hidden": "true" }, ...nodes);
      this.stage.append(element("div", { class: `map${tokens.length > 5 ? " many" : ""}`,
        style: `--tokens: ${tokens.length}` },
        part("corner", "looks at"), this.places, part("head", "output"),
        part("rows", ...this.columns.map(({ row }) => row)),
        part("cells", ...this.columns.flatMap(({ cells }) => cells)),
        part("outputs", ...this.columns.map(({ bars }) => bars))),
      element("p", { class: "note" }, "A row shows the weights that a token gives to all tokens, and " +
        "its output, one bar for each feature. Bars point left if negative. The thin lines show the " +
        "same output in the original order."));
    }

    // the weights and the output at each place
    layer(order) {
      const { embeddings, positions } = this.data;
      const x = order.map((token, place) => embeddings[token].map((number, feature) =>
        number + (this.positions ? positions[place][feature] : 0)));
      // query, key and value are the vectors themselves
      const weights = x.map((query) => softmax(x.map((key) => dot(query, key) / Math.sqrt(query.length))));
      return { weights, outputs: weights.map((shares) =>
        x[0].map((_, feature) => dot(shares, x.map((value) => value[feature])))) };
    }

    outputs(order) {
      return this.layer(order).outputs;
    }

    key(event, place) {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      this.pick(place);
      this.move(place + step);
      this.columns[this.picked].button.focus();
    }

    // the place under the pointer, wherever its column is on its way
    under(event) {
      const { left, width } = this.places.getBoundingClientRect();
      return Math.floor((event.clientX - left) / width * this.order.length);
    }

    take(event) {
      if (event.button !== 0 || !event.target.closest("button")) return;
      this.places.setPointerCapture(event.pointerId);
      this.dragging = true;
      this.pick(this.under(event));
    }

    drag(event) {
      if (!this.dragging) return;
      this.move(Math.max(0, Math.min(this.under(event), this.order.length - 1)));
    }

    drop() {
      if (this.dragging) this.columns[this.picked].button.focus();
      this.dragging = false;
    }

    pick(place) {
      this.picked = place;
      this.draw();
    }

    // bring the picked token to another place
    move(to) {
      const order = [...this.order];
      if (to === this.picked || to < 0 || to >= order.length) return;
      const [token] = order.splice(this.picked, 1);
      order.splice(to, 0, token);
      this.moved = token;
      this.picked = to;
      this.reorder(order);
    }

    reorder(order) {
      const before = this.order;
      const step = this.places.clientWidth / order.length;
      const high = this.columns[0].row.offsetHeight;
      const come = (node, right, down) => {
        if (right || down)
          node.animate([{ transform: `translate(${right}px, ${down}px)` }, { transform: "none" }], 200);
      };
      this.order = order;
      this.draw();
      if (still()) return;
      const moved = order.map((token, place) => before.indexOf(token) - place);
      this.columns.forEach(({ column, row, cells, bars }, place) => {
        come(column, step * moved[place], 0);
        for (const node of [row, bars]) come(node, 0, high * moved[place]);
        // the cells of a column are those of its key, one below the other
        cells.forEach((cell, query) => come(cell, step * moved[place], high * moved[query]));
      });
    }

    paint() {
      const { tokens } = this.data;
      const { weights, outputs: now } = this.layer(this.order);
      const first = this.outputs(this.first);
      const last = tokens.length - 1;
      this.largest = Math.max(this.largest, ...[...now, ...first].flat().map(Math.abs));
      const x = (number) => 50 + 48 * number / this.largest;
      this.columns.forEach(({ button, bars, row, cells }, place) => {
        const token = this.order[place];
        row.textContent = tokens[token];
        row.classList.toggle("picked", place === this.picked);
        cells.forEach((cell, query) => {
          const share = weights[query][place];
          cell.textContent = fixed(share);
          cell.style.setProperty("--share", share);
        });
        button.textContent = button.title = tokens[token];
        button.setAttribute("aria-label", `${tokens[token]}, position ${place + 1} of ${last + 1}`);
        button.setAttribute("aria-pressed", place === this.picked);
        bars.replaceChildren(
          ...now[place].map((number, feature) => shape("rect", { class: "output",
            x: Math.min(50, x(number)), width: Math.abs(x(number) - 50), y: 16 * feature + 2,
            height: 12 })),
          shape("path", { class: "axis", d: `M50,0 V${16 * now[place].length}` }),
          ...first[token].map((number, feature) => shape("path", { class: "first",
            d: `M${x(number)},${16 * feature + 1} v14` })));
      });
      this.earlier.setAttribute("aria-disabled", this.picked === 0);
      this.later.setAttribute("aria-disabled", this.picked === last);
      this.say(this.sentence(Math.max(...now.flatMap((output, place) =>
        output.map((number, feature) => Math.abs(number - first[this.order[place]][feature]))))));
    }

    sentence(change) {
      const { tokens } = this.data;
      const text = this.order.map((token) => tokens[token]).join(" ");
      if (this.order.every((token, place) => token === place))
        return `“${text}” is the original order. Drag a token, or select it with Tab and move it ` +
          "with the left and right arrow keys.";
      const begin = this.moved === null ? "The"
        : `With “${tokens[this.moved]}” at position ${this.order.indexOf(this.moved) + 1}, the`;
      return `${begin} order is “${text}”. ` + (change < 1e-9
        ? "Each token's output is the same as in the original order."
        : "The outputs differ from those in the original order. The largest change of a " +
          `number is ${fixed(change)}.`);
    }

    numbers() {
      const { tokens, embeddings } = this.data;
      const { weights, outputs } = this.layer(this.order);
      return [["", ...this.order.map((token) => `weight of ${tokens[token]}`),
        ...embeddings[0].map((_, feature) => `output ${feature + 1}`)],
        ...this.order.map((token, place) => [tokens[token],
          ...[...weights[place], ...outputs[place]].map((number) => fixed(number, 3))])];
    }
  });
