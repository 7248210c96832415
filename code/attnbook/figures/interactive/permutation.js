// A sentence in its original order and, below it, in the reader's. Ribbons bring the words to their
// outputs, and lines join the outputs of the same word. Or with a mask: whom each word hears.
attnbook.define("permutation", ({ Interactive, element, shape, range, dot, softmax, ribbons, fixed, still }) => {
  const SWAP = { wait: 1200, lasts: 1900 }; // milliseconds of the one swap that nobody asks for
  const [PACE, STEP, FLY] = [250, 1900, 900]; // of all others, of a step, and of a word on its way
  const ORDINALS = ["first", "second", "third", "fourth", "fifth"];
  const HUES = ["other", "soft", "word", "soft"]; // a word has the same one everywhere
  const ARC = 9; // pixels by which words that pass each other make way
  const [WIDE, FALL, LINE] = [100, 40, 16]; // of a column, of ribbons and of a bar, in their units
  const listed = (names) => names.map((name) => `“${name}”`).join(" and ").replace(/ and (?=.* and )/g, ", ") || "nobody";

  return class Permutation extends Interactive {
    static LINES = 3;
    static STYLE = `
      .row { display: grid; grid-auto-columns: minmax(0, 1fr); grid-auto-flow: column; text-align: center; }
      .places { touch-action: pan-y; user-select: none; -webkit-user-select: none; }
      .row > div { position: relative; padding: 0 2px; min-width: 0; }
      .word { width: 100%; box-sizing: border-box; padding: .1rem; overflow: hidden; font-size: 16px; font-weight: 600; line-height: 1.7;
        text-overflow: ellipsis; white-space: nowrap; color: var(--ink); border: 1.5px solid var(--of); border-radius: .3rem;
        background: color-mix(in srgb, var(--of) 22%, var(--paper)); }
      button.word { cursor: grab; }
      button.word::before { content: "↔"; position: absolute; left: 9px; font-weight: 400; color: var(--soft); }
      .places [aria-pressed="true"] { outline: 2px solid var(--of); outline-offset: 1px; }
      .heard .word::before { display: none; }
      .place { position: absolute; right: 5px; top: 7px; font-size: 13px; color: var(--ink); }
      .weight { font-size: 14px; line-height: 20px; font-weight: 600; font-variant-numeric: tabular-nums; color: var(--weights); }
      .ways { height: 60px; }
      .ways path { fill: var(--of); opacity: .12; } .ways .on { opacity: .65; }
      .output { display: grid; align-content: end; } .below .output { align-content: start; }
      .output svg { width: min(100%, 8rem); height: 44px; margin: auto; }
      .output rect { fill: var(--of); }
      .output .before { fill: none; stroke: var(--of); stroke-width: 1.5; stroke-dasharray: 3 2; vector-effect: non-scaling-stroke; }
      .name { overflow: hidden; font-size: 13px; line-height: 18px; white-space: nowrap; color: var(--ink); }
      .name b { display: block; font-size: 14px; color: var(--of); } .name .differs { color: var(--ink); font-weight: 400; }
      .join { fill: none; stroke: var(--of); stroke-width: 3; vector-effect: non-scaling-stroke; }
      .differs.join { stroke-dasharray: 5 4; stroke-width: 1.5; }
      .heard .output { min-height: calc(24px * var(--most)); margin: 0 4px; padding: 2px; border: 1.5px solid var(--line); border-radius: .3rem; }
      .heard .output { font-size: 14px; color: var(--soft); }
      .heard .output.differs { border-color: var(--of); }
      .chip { margin: 1px; border-radius: .25rem; font-size: 14px; line-height: 22px; color: var(--ink);
        background: color-mix(in srgb, var(--of) 30%, var(--paper)); }
      .later { opacity: 0; }
    `;

    build() {
      const { tokens, order, heard } = this.data;
      const many = tokens.length;
      this.first = range(many);
      this.largest = {};
      this.order = heard || still() ? order : this.first; // the token at each place
      this.picked = this.order.indexOf(0); // the place whose ribbons stand out and whose token the buttons move
      if (heard) {
        this.stepper({ pace: STEP, first: 1, last: () => many });
        if (still()) this.step = many;
      } else {
        this.earlier = this.button("◀ Earlier", () => this.move(this.picked - 1));
        this.later = this.button("Later ▶", () => this.move(this.picked + 1));
        this.button("Original order", () => this.reorder(this.first));
        this.toggle("with positions", (on) => {
          this.positions = on;
          this.draw();
        });
      }
      this.halves = [0, 1].map((below) => this.half(below));
      this.joins = this.first.map(() => shape("path", { class: "join" }));
      const svg = (kind, high, ...children) => shape("svg", { class: kind, viewBox: `0 0 ${WIDE * many} ${high}`,
        preserveAspectRatio: "none", "aria-hidden": "true" }, ...children);
      const rows = this.halves.map(({ columns, ways }, below) => {
        const row = (part) => element("div", { class: "row", "aria-hidden": "true" },
          ...columns.map((column) => element("div", {}, column[part])));
        const words = element("div", { class: below ? "row places" : "row", ...(below ? this.dragging() : { "aria-hidden": "true" }) },
          ...columns.map(({ word, place }) => element("div", {}, element("div", {}, word), place)));
        const all = [words, ...(heard ? [] : [row("weight")]), svg("ways", FALL, ...ways.flat()), row("output"), row("name")];
        return element("div", { class: below ? "below" : "" }, ...(below ? [all[all.length - 1], ...all.slice(0, -1).reverse()] : all));
      });
      const joins = svg("", 100, ...this.joins);
      joins.style.height = "40px";
      this.stage.className = heard ? "heard" : "";
      this.stage.style.setProperty("--most", many - 1);
      this.stage.append(rows[0], joins, rows[1]);
      if (heard) this.onceByItself(() => this.play());
      else this.onceByItself(() => this.reorder(order, SWAP.lasts), SWAP.wait);
    }

    // what is in each column above, or below
    half(below) {
      const columns = this.first.map((place) => ({
        word: below ? element("button", { type: "button", class: "word", onclick: () => this.pick(place),
          onkeydown: (event) => this.key(event, place) }) : element("div", { class: "word" }),
        place: element("span", { class: "place", "aria-hidden": "true" }, "+p", element("sub", {}, String(place + 1))),
        weight: element("div", { class: "weight" }), output: element("div", { class: "output" }), name: element("div", { class: "name" }),
      }));
      return { columns, ways: this.first.map(() => this.first.map(() => shape("path"))) }; // from each token to each
    }

    dragging() {
      return { role: "group", "aria-label": "Tokens in order; the left and right arrow keys move the one in focus",
        onpointerdown: (event) => this.take(event),
        onpointermove: (event) => this.drag(event),
        onpointerup: () => this.drop(),
        onpointercancel: () => this.drop() };
    }

    // the weights and the output at each place; query, key and value are the vectors themselves
    layer(order) {
      const { embeddings, positions, heard } = this.data;
      if (heard) return { weights: order.map((_, i) => order.map((_, j) => Number(j < i) / order.length)) };
      const x = order.map((token, place) => embeddings[token].map((number, feature) =>
        number + (this.positions ? positions[place][feature] : 0)));
      const weights = x.map((query) => softmax(x.map((key) => dot(query, key) / Math.sqrt(query.length))));
      return { weights, outputs: weights.map((shares) =>
        x[0].map((_, feature) => dot(shares, x.map((value) => value[feature])))) };
    }

    key(event, place) {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      this.pick(place);
      this.move(place + step);
      this.focusPicked();
    }

    focusPicked() {
      this.halves[1].columns[this.picked].word.focus();
    }

    // the place under the pointer, wherever its column is on its way
    under(event) {
      const { left, width } = event.currentTarget.getBoundingClientRect();
      return Math.floor((event.clientX - left) / width * this.order.length);
    }

    take(event) {
      if (event.button !== 0 || !event.target.closest("button")) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      this.taken = true;
      this.pick(this.under(event));
    }

    drag(event) {
      if (this.taken) this.move(Math.max(0, Math.min(this.under(event), this.order.length - 1)));
    }

    drop() {
      if (this.taken) this.focusPicked();
      this.taken = false;
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
      this.reorder(order);
    }

    // words take their ribbons, their outputs and their lines along
    reorder(order, duration = PACE) {
      const before = this.order;
      const { columns, ways } = this.halves[1];
      const paths = [...ways.flat(), ...this.joins];
      const from = paths.map((path) => path.getAttribute("d"));
      this.picked = order.indexOf(before[this.picked]);
      this.order = order;
      this.draw();
      if (still()) return;
      const easing = "ease-in-out";
      paths.forEach((path, n) => {
        const to = path.getAttribute("d");
        if (from[n] && to && from[n] !== to)
          path.animate({ d: [from[n], to].map((d) => `path("${d}")`) }, { duration, easing });
      });
      columns.forEach(({ word, weight, output, name }, place) => {
        const right = word.parentNode.offsetWidth * (before.indexOf(order[place]) - place);
        if (!right) return;
        const aside = `translate(${right / 2}px, ${Math.sign(right) * -ARC}px)`;
        for (const node of [word.parentNode, weight, output, name]) // texts do not cover each other
          node.animate({ transform: [`translate(${right}px)`, aside, "none"],
            opacity: [1, node === weight || node === name ? 0 : 1, 1] }, { duration, easing });
      });
    }

    // the words that a word hears fly to it
    travel() {
      for (const { columns } of this.halves)
        for (const chip of columns[this.step - 1].output.children) {
          const { word } = columns.find((column) => column.word.textContent === chip.textContent);
          const [from, to] = [word, chip].map((node) => node.getBoundingClientRect());
          chip.animate({ transform: [`translate(${from.x + from.width / 2 - to.x - to.width / 2}px, ${from.y - to.y}px)`, "none"] },
            { duration: FLY, easing: "ease-in-out" });
        }
    }

    paint() {
      const { tokens, heard } = this.data;
      const orders = [this.first, this.order];
      const layers = orders.map((order) => this.layer(order));
      const hue = (node, token) => node.style.setProperty("--of", `var(--${HUES[token % HUES.length]})`);
      const places = this.first.map((token) => this.order.indexOf(token));
      const kept = this.kept(layers, places);
      const scale = this.positions ? "with" : "without"; // of bars, which grows if it must
      if (!heard) this.largest[scale] = Math.max(this.largest[scale] ?? 0, ...layers.flatMap(({ outputs }) => outputs.flat().map(Math.abs)));
      this.halves.forEach(({ columns, ways }, below) => {
        const order = orders[below];
        const { weights, outputs } = layers[below];
        const chosen = heard ? order[this.step - 1] : this.order[this.picked];
        const reached = (place) => !heard || place < this.step;
        const at = (y) => order.map((_, place) => ({ x: WIDE * (place + 0.5), width: 0.62 * WIDE, y }));
        for (const path of ways.flat()) path.setAttribute("d", "");
        for (const { looker, place, d } of ribbons(at(below ? 0 : FALL), at(below ? FALL : 0), weights)) {
          const path = ways[order[looker]][order[place]];
          path.setAttribute("d", d);
          path.setAttribute("class", reached(looker) ? (order[looker] === chosen ? "on" : "") : "later");
          hue(path, order[place]);
        }
        columns.forEach(({ word, place: plus, weight, output, name }, place) => {
          const token = order[place];
          for (const node of [word, output, name]) hue(node, token);
          word.textContent = word.title = tokens[token];
          plus.hidden = !this.positions;
          if (below) {
            word.setAttribute("aria-label", `${tokens[token]}, ${ORDINALS[place]} of ${tokens.length}`);
            word.setAttribute("aria-pressed", place === this.picked);
          }
          if (!heard) weight.textContent = `× ${fixed(weights[order.indexOf(chosen)][place])}`;
          const differs = !kept[token];
          const shown = !heard || this.step > Math.max(token, places[token]);
          name.replaceChildren(heard ? `${tokens[token]} heard` : `output of ${tokens[token]}`,
            ...(below ? [element("b", { class: shown ? (differs ? "differs" : "") : "later" }, differs ? "differs" : "the same")] : []));
          output.classList.toggle("differs", shown && differs);
          output.replaceChildren(...(heard ? order.slice(0, reached(place) ? place : 0).map((other) => {
            const chip = element("div", { class: "chip" }, tokens[other]);
            hue(chip, other);
            return chip;
          }).concat(place ? [] : element("div", {}, "nobody")) : [this.bars(outputs[place], this.largest[scale], below && differs && layers[0].outputs[token])]));
        });
      });
      this.joins.forEach((join, token) => {
        join.setAttribute("d", `M${WIDE * (token + 0.5)},0 L${WIDE * (places[token] + 0.5)},100`);
        join.classList.toggle("differs", !kept[token]);
        join.classList.toggle("later", Boolean(heard) && this.step <= Math.max(token, places[token]));
        hue(join, token);
      });
      this.earlier?.setAttribute("aria-disabled", this.picked === 0);
      this.later?.setAttribute("aria-disabled", this.picked === tokens.length - 1);
      this.say(heard ? this.hearing(kept) : this.sentence(layers, places));
    }

    // whether each token has the same output, or hears the same words, in both orders
    kept(layers, places) {
      if (this.data.heard)
        return places.map((place, token) => `${this.order.slice(0, place).sort()}` === `${range(token)}`);
      return places.map((place, token) => this.changed(layers[1].outputs[place], layers[0].outputs[token]) < 1e-9);
    }

    // an output as bars, and as an outline where it was another one
    bars(output, largest, before) {
      const x = (number) => 50 + 48 * number / largest;
      const draw = (numbers, name) => numbers.map((number, feature) => shape("rect", { class: name, x: Math.min(50, x(number)),
        width: Math.abs(x(number) - 50), y: LINE * feature + 2, height: LINE - 4 }));
      return shape("svg", { viewBox: `0 0 100 ${LINE * output.length}`, preserveAspectRatio: "none" },
        ...draw(output, "bar"), ...(before ? draw(before, "before") : []),
        shape("path", { class: "axis", d: `M50,0 V${LINE * output.length}` }));
    }

    // by how much the numbers of two outputs differ at most
    changed(one, other) {
      return Math.max(...one.map((number, feature) => Math.abs(number - other[feature])));
    }

    sentence([{ outputs: first }, { outputs: now }], places) {
      const { tokens } = this.data;
      const text = `“${this.order.map((token) => tokens[token]).join(" ")}”`;
      if (places.every((place, token) => token === place))
        return `${text} is the original order. Drag a word below, or select it with Tab and move it with the arrow keys.`;
      const change = Math.max(...places.map((place, token) => this.changed(now[place], first[token])));
      return change < 1e-9 ? `${text}: “${tokens[this.order[this.picked]]}” gives the same weights to the same words. `
        + "All outputs are the same."
        : `${text}, with positions: the outputs differ, by up to ${fixed(change)}.`;
    }

    hearing(kept) {
      const { tokens } = this.data;
      const place = this.step - 1;
      const has = (order) => `“${tokens[order[place]]}” has heard ${listed(order.slice(0, place).map((token) => tokens[token]))}`;
      const same = tokens.filter((_, token) => kept[token]);
      return this.step < tokens.length ? `Place ${this.step}: ${has(this.first)} above, and ${has(this.order)} below.`
        : `At the end, ${same.length ? listed(same) : "no word"} ${same.length > 1 ? "have" : "has"} heard the same words in both orders.`;
    }

    numbers() {
      const { tokens, embeddings, heard } = this.data;
      const names = this.order.map((token) => tokens[token]);
      const { weights, outputs } = this.layer(this.order);
      if (heard) return [["", "has heard"], ...names.map((name, place) => [name, listed(names.slice(0, place))])];
      return [["", ...names.map((name) => `weight of ${name}`), ...embeddings[0].map((_, feature) => `output ${feature + 1}`)],
        ...names.map((name, place) => [name,
          ...[...weights[place], ...outputs[place]].map((number) => fixed(number, 3))])];
    }
  };
});
