// Tokens to put in another order; under each, its output of self-attention. A column is a place:
// a token that moves is painted in another column.
attnbook.define("permutation", ({ Interactive, element, shape, range, dot, softmax, fixed, still }) =>
  class Permutation extends Interactive {
    static STYLE = `
      .places { display: grid; grid-auto-columns: minmax(0, 1fr); grid-auto-flow: column;
        touch-action: pan-y; user-select: none; -webkit-user-select: none; }
      .places > div { padding: 0 2px; text-align: center; color: var(--soft); }
      .places button { width: 100%; margin: .1rem 0 .5rem; padding: .1rem; overflow: hidden;
        text-overflow: ellipsis; white-space: nowrap; cursor: grab; }
      .places [aria-pressed="true"] { background: var(--hover); font-weight: 600; }
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
        const bars = shape("svg", { "aria-hidden": "true", height: 16 * embeddings[0].length,
          viewBox: `0 0 100 ${16 * embeddings[0].length}`, preserveAspectRatio: "none" });
        return { button, bars, column: element("div", {}, place + 1, button, bars) };
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
      this.stage.append(this.places, element("p", { class: "note" }, "The bars show each token's " +
        "output, one bar for each feature, and point left if negative. The thin lines show the same " +
        "output in the original order."));
    }

    // the output at each place; query, key and value are the vectors themselves
    outputs(order) {
      const { embeddings, positions } = this.data;
      const x = order.map((token, place) => embeddings[token].map((number, feature) =>
        number + (this.positions ? positions[place][feature] : 0)));
      return x.map((query) => {
        const weights = softmax(x.map((key) => dot(query, key) / Math.sqrt(query.length)));
        return query.map((_, feature) => dot(weights, x.map((value) => value[feature])));
      });
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
      this.order = order;
      this.draw();
      if (still()) return;
      this.columns.forEach(({ column }, place) => {
        const x = step * (before.indexOf(order[place]) - place);
        if (x) column.animate([{ transform: `translateX(${x}px)` }, { transform: "none" }], 200);
      });
    }

    paint() {
      const { tokens } = this.data;
      const now = this.outputs(this.order);
      const first = this.outputs(this.first);
      const last = tokens.length - 1;
      this.largest = Math.max(this.largest, ...[...now, ...first].flat().map(Math.abs));
      const x = (number) => 50 + 48 * number / this.largest;
      this.columns.forEach(({ button, bars }, place) => {
        const token = this.order[place];
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
      return [["", ...embeddings[0].map((_, feature) => `output ${feature + 1}`)],
        ...this.outputs(this.order).map((output, place) =>
          [tokens[this.order[place]], ...output.map((number) => fixed(number, 3))])];
    }
  });
