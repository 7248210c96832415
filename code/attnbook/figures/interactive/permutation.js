// A sentence in its original order and, below it, in the reader's. Lines join the outputs of the
// same token, and say whether they are the same.
attnbook.define("permutation", ({ Interactive, element, shape, range, dot, softmax, fixed, still }) => {
  const SWAP = { wait: 1200, lasts: 1500 }; // milliseconds of the one swap that nobody asks for
  const PACE = 250; // milliseconds of all others
  const ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"];
  const ARC = 9; // pixels by which words that pass each other make way

  return class Permutation extends Interactive {
    static STYLE = `
      @media (min-width: 600.01px) { .said { min-height: 4.2em; } } /* three lines beside the margin */
      .row { display: grid; grid-auto-columns: minmax(0, 1fr); grid-auto-flow: column; text-align: center; }
      .places { touch-action: pan-y; user-select: none; -webkit-user-select: none; }
      .row > div { padding: 0 2px; min-width: 0; }
      .row button, .word { width: 100%; box-sizing: border-box; padding: .1rem; overflow: hidden; font-size: 16px; line-height: 1.8;
        text-overflow: ellipsis; white-space: nowrap; color: var(--ink); }
      .row button { cursor: grab; }
      .word { border: 1px solid var(--line); border-radius: .3rem; }
      .places [aria-pressed="true"] { outline: 2px solid var(--key); font-weight: 600; }
      .layer { margin: .3rem 2px; border-radius: .3rem; text-align: center; font-size: 13px; line-height: 1.5rem;
        color: var(--ink); background: color-mix(in srgb, var(--weights) 18%, var(--paper)); }
      .outputs svg { height: 2.8rem; width: min(100%, 8rem); margin: auto; }
      .output, .before { fill: var(--value); }
      .join { fill: none; stroke: var(--value); stroke-width: 2.5; vector-effect: non-scaling-stroke; }
      .differs.join { stroke: var(--soft); stroke-dasharray: 5 4; stroke-width: 1.5; }
      .kept { margin: 0 0 .2rem; font-size: 14px; font-weight: 600; line-height: 1.3; color: var(--value); }
      .kept .differs { color: var(--ink); }
      .note { margin: .2rem 2px; }
    `;

    build() {
      const { tokens, embeddings } = this.data;
      this.first = range(tokens.length);
      this.order = still() ? this.data.order : this.first; // the token at each place
      this.moved = null; // the token moved last
      this.picked = 0; // the place whose token the two buttons move
      // of the first order, with and without positions, so that the scale changes seldom
      this.largest = Math.max(...[true, false].flatMap((on) => {
        this.positions = on;
        return this.outputs(this.first).flat().map(Math.abs);
      }));
      const high = 16 * embeddings[0].length;
      const bars = () => shape("svg", { viewBox: `0 0 100 ${high}`, preserveAspectRatio: "none" });
      this.columns = this.first.map((place) => {
        const button = element("button", { type: "button", onclick: () => this.pick(place),
          onkeydown: (event) => this.key(event, place) });
        return { button, column: element("div", {}, button), before: bars(), bars: bars(),
          join: shape("path", { class: "join" }), said: element("div") };
      });
      this.places = element("div", { class: "row places", role: "group",
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
      const layer = () => part("layer", "attention");
      const outputs = (name) =>
        part("row outputs", ...this.columns.map((column) => element("div", {}, column[name])));
      this.stage.append(
        element("p", { class: "note" }, "The original order: below each word is its output, "
          + "with one bar for each feature."),
        part("row", ...tokens.map((token) => element("div", {}, element("div", { class: "word" }, token)))),
        layer(), outputs("before"),
        shape("svg", { viewBox: `0 0 ${100 * tokens.length} 100`, preserveAspectRatio: "none", height: 60,
          "aria-hidden": "true" }, ...this.columns.map(({ join }) => join)),
        part("row kept", ...this.columns.map(({ said }) => said)),
        outputs("bars"), layer(), this.places,
        element("p", { class: "note" }, "Your order: drag a word."));
      this.onceByItself(() => this.swap(), SWAP.wait);
    }

    // the other order comes
    swap() {
      const { order } = this.data;
      const token = order.find((token, place) => token !== place);
      if (token === undefined) return;
      this.moved = token;
      this.picked = order.indexOf(token);
      this.reorder(order, SWAP.lasts);
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

    // words take their outputs and their lines along; what these are is said when they have arrived
    reorder(order, duration = PACE) {
      const before = this.order;
      const step = this.places.clientWidth / order.length;
      this.order = order;
      this.draw();
      if (still()) return;
      const easing = "ease-in-out";
      this.columns.forEach(({ column, bars, join, said }, place) => {
        const [token, was] = [order[place], before.indexOf(order[place])];
        if (was === place) return;
        const right = step * (was - place);
        const aside = `translate(${right / 2}px, ${Math.sign(right) * -ARC}px)`;
        for (const node of [column, bars])
          node.animate({ transform: [`translate(${right}px)`, aside, "none"] }, { duration, easing });
        join.animate({ d: [was, place].map((at) => `path("${this.line(token, at)}")`) }, { duration, easing });
        said.animate({ opacity: [0, 0, 1], offset: [0, 0.9, 1] }, { duration: 1.3 * duration });
      });
    }

    // from a token's output above to one below
    line(token, place) {
      return `M${100 * token + 50},0 L${100 * place + 50},100`;
    }

    paint() {
      const { tokens } = this.data;
      const now = this.outputs(this.order);
      const first = this.outputs(this.first);
      const last = tokens.length - 1;
      this.largest = Math.max(this.largest, ...[...now, ...first].flat().map(Math.abs));
      const x = (number) => 50 + 48 * number / this.largest;
      const draw = (bars, output, name) => bars.replaceChildren(
        ...output.map((number, feature) => shape("rect", { class: name, x: Math.min(50, x(number)),
          width: Math.abs(x(number) - 50), y: 16 * feature + 2, height: 12 })),
        shape("path", { class: "axis", d: `M50,0 V${16 * output.length}` }));
      const [same, differs] = tokens.length > 3 ? "=≠" : ["the same", "differs"];
      this.columns.forEach(({ button, bars, before, join, said }, place) => {
        const token = this.order[place];
        draw(before, first[place], "before");
        draw(bars, now[place], "output");
        const kept = this.changed(now[place], first[token]) < 1e-9;
        join.setAttribute("d", this.line(token, place));
        said.textContent = kept ? same : differs;
        for (const node of [join, said]) node.classList.toggle("differs", !kept);
        button.textContent = button.title = tokens[token];
        button.setAttribute("aria-label", `${tokens[token]}, ${ORDINALS[place]} of ${last + 1}`);
        button.setAttribute("aria-pressed", place === this.picked);
      });
      this.earlier.setAttribute("aria-disabled", this.picked === 0);
      this.later.setAttribute("aria-disabled", this.picked === last);
      this.say(this.sentence(Math.max(...now.map((output, place) =>
        this.changed(output, first[this.order[place]])))));
    }

    // by how much the numbers of two outputs differ at most
    changed(one, other) {
      return Math.max(...one.map((number, feature) => Math.abs(number - other[feature])));
    }

    sentence(change) {
      const { tokens } = this.data;
      const text = this.order.map((token) => tokens[token]).join(" ");
      if (this.order.every((token, place) => token === place))
        return `“${text}” is the original order. Drag a token, or select it with Tab and move it ` +
          "with the left and right arrow keys.";
      const begin = this.moved === null ? "The"
        : `With “${tokens[this.moved]}” ${ORDINALS[this.order.indexOf(this.moved)]}, the`;
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
  };
});
