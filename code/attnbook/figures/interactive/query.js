// Keys in the plane, and a query that can be moved among them.
attnbook.define("query", ({ Interactive, element, shape, sum, softmax, fixed }) =>
  class Query extends Interactive {
    static STYLE = `
      .beside { display: flex; flex-wrap: wrap; gap: .8rem 1.4rem; align-items: center; }
      .beside > * { flex: 1 1 15rem; min-width: 0; }
      .beside > svg { max-width: 21rem; }
      .heading { text-align: right; }
      .number b { color: var(--value); font-weight: 400; }
      .soft { color: var(--soft); }
      .plane text { font-size: 13px; text-anchor: middle; fill: var(--ink); stroke: var(--paper);
        stroke-width: 3px; stroke-linejoin: round; paint-order: stroke; }
      .plane .soft { fill: var(--soft); }
      .plane .axis { stroke: var(--line); }
      .plane .key { stroke: var(--key); fill: var(--key); }
      .plane .circle { fill: var(--weights); fill-opacity: .35; stroke: var(--weights); }
      .plane .query { stroke: var(--query); fill: var(--query); stroke-width: 2.5; }
      .plane .value { fill: var(--value); }
      .plane .mixture { fill: var(--ink); }
      .plane .part { stroke: var(--value); stroke-opacity: .6; }
      .plane .found { fill: var(--value); stroke: var(--paper); stroke-width: 2; }
      .handle { cursor: grab; }
      .halo { fill: var(--query); fill-opacity: .15; stroke: none; }
      .handle:focus-visible { outline: none; }
      .handle:focus-visible .halo { stroke: var(--weights); stroke-width: 3; }
    `;
    static TEMPERATURES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];
    static SIZE = 320; // of the plane, in the units of its drawing
    static ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };

    build() {
      const { labels, query, reach, step, values } = this.data;
      this.inPlane = Array.isArray(values[0]); // what the keys hand over are points, too
      const { SIZE, TEMPERATURES } = Query;
      this.query = query;
      this.level = TEMPERATURES.indexOf(1);
      this.unit = (SIZE / 2 - 12) / reach;
      this.sliders = ["x", "y"].map((name, i) =>
        this.slider(`Query ${name}`,
          { min: -reach, max: reach, step, value: query[i], text: (at) => fixed(at) }, (at) => {
            this.query = this.query.map((old, j) => (i === j ? at : old));
            this.draw();
          }));
      this.slider("Temperature", { min: 0, max: TEMPERATURES.length - 1, value: this.level,
        text: (level) => String(TEMPERATURES[level]) }, (level) => {
        this.level = level;
        this.draw();
      });
      this.drawing = shape("g", { "aria-hidden": "true" });
      this.handle = shape("g", { class: "handle", role: "slider", tabindex: 0,
        "aria-label": "Query, moved by the four arrow keys",
        "aria-valuemin": -reach, "aria-valuemax": reach,
        onkeydown: (event) => this.key(event),
        ontouchstart: (event) => event.preventDefault(), // a finger here moves the query only
        onpointerdown: (event) => {
          this.handle.setPointerCapture(event.pointerId);
          this.handle.focus();
        },
        onpointermove: (event) =>
          this.handle.hasPointerCapture(event.pointerId) && this.follow(event) },
      shape("circle", { class: "halo", r: 20 }), shape("circle", { class: "query", r: 7 }));
      this.plane = shape("svg", { class: "plane", onclick: (event) => this.follow(event),
        viewBox: `${-SIZE / 2} ${-SIZE / 2} ${SIZE} ${SIZE}` }, this.drawing, this.handle);
      this.shares = this.bars(labels);
      this.line = shape("svg", { class: "plane", viewBox: "0 0 320 62", "aria-hidden": "true" });
      this.stage.append(element("div", { class: "beside" }, this.plane,
        element("div", {}, element("div", { class: "soft heading" }, "weight × value"),
          this.shares.list, this.inPlane ? "" : this.line)));
    }

    key(event) {
      const way = Query.ARROWS[event.key];
      if (!way) return;
      event.preventDefault();
      this.move(this.query.map((at, i) => at + way[i] * this.data.step));
    }

    follow({ clientX, clientY }) {
      const { left, top, width, height } = this.plane.getBoundingClientRect();
      const scale = Query.SIZE / this.unit;
      const [across, down] = [(clientX - left) / width, (clientY - top) / height];
      this.move([(across - 0.5) * scale, (0.5 - down) * scale]);
    }

    move(point) {
      const { reach, step } = this.data;
      this.query = point.map((at) =>
        Math.min(reach, Math.max(-reach, Math.round(at / step) * step)));
      this.draw();
    }

    attend() {
      const { keys, values } = this.data;
      const { divisor = Math.SQRT2 } = this.data; // the root of two features
      const scale = divisor * Query.TEMPERATURES[this.level];
      const scores = keys.map((key) => sum(key.map((at, i) => at * this.query[i])) / scale);
      const weights = softmax(scores);
      const mix = (of) => sum(weights.map((weight, j) => weight * of[j]));
      const output = this.inPlane ? [0, 1].map((i) => mix(values.map((value) => value[i])))
        : mix(values);
      return { scores, weights, output };
    }

    // a number, or a point in brackets
    written(value, digits) {
      const exact = (number) =>
        digits === undefined ? String(number).replace("-", "−") : fixed(number, digits);
      return this.inPlane ? `(${value.map(exact).join(", ")})` : exact(value);
    }

    paint() {
      const { keys, labels, values } = this.data;
      const { weights, output } = this.attend();
      const half = Query.SIZE / 2;
      const [x, y] = this.query;
      const here = (point) => [this.unit * point[0], -this.unit * point[1]];
      const arrow = (name, [x2, y2]) => shape("line", { class: name, x1: 0, y1: 0, x2, y2 });
      this.sliders.forEach((show, i) => show(this.query[i]));
      this.drawing.replaceChildren(
        shape("path", { class: "axis", d: `M${-half},0 H${half} M0,${-half} V${half}` }),
        shape("text", { class: "soft", x: half - 6, y: -6 }, "x"),
        shape("text", { class: "soft", x: -10, y: 12 - half }, "y"),
        ...keys.map((key) => arrow("key", here(key))),
        ...keys.map((key, j) => {
          const [cx, cy] = here(key);
          return shape("circle", { class: "circle", cx, cy, r: 36 * Math.sqrt(weights[j]) });
        }),
        arrow("query", here(this.query)),
        ...keys.map((key) => {
          const [at, down] = here(key);
          return shape("rect", { class: "key", x: at - 3, y: down - 3, width: 6, height: 6 });
        }),
        ...(this.inPlane ? this.found(output, weights, here) : []));
      // names come last, where neither the query nor the output lies
      const taken = [here(this.query), ...(this.inPlane ? [here(output)] : [])];
      keys.forEach((key, j) => {
        const [at, down] = here(key);
        const room = Math.max(0, half - 3.7 * labels[j].length); // keeps the name in the plane
        const across = Math.min(room, Math.max(-room, at));
        const sides = [down - 13, down + 22];
        this.name(labels[j], taken, (down < 0 ? sides : sides.reverse()).map((y) => [across, y]));
      });
      if (this.inPlane) {
        const [cx, cy] = here(output);
        this.name("output", taken, [[cx + 36, cy + 5], [cx - 36, cy + 5], [cx, cy + 26], [cx, cy - 18]]);
      }
      this.handle.setAttribute("transform", `translate(${here(this.query)})`);
      this.handle.setAttribute("aria-valuenow", x);
      this.handle.setAttribute("aria-valuetext", `x ${fixed(x)}, y ${fixed(y)}`);
      this.shares.show(weights,
        weights.map((weight, j) => [`${fixed(weight)} × `,
          element("b", {}, this.written(values[j]))]));
      if (!this.inPlane) this.showLine(output);
      this.say(`The query is at (${fixed(x)}, ${fixed(y)}). It gives ` + weights
        .map((weight, j) => [weight, j])
        .sort(([a], [b]) => b - a).slice(0, 4)
        .map(([weight, j], i) => `${labels[j]} ${i ? "" : "the weight "}${fixed(weight)}`)
        .join(", ") + `. The output is ${this.written(output, 2)}.`);
    }

    // the output among the points that it mixes, joined to each as thickly as its weight
    found(output, weights, here) {
      const [cx, cy] = here(output);
      const lines = this.data.values.map((value, j) => {
        const [x2, y2] = here(value);
        return shape("line", { class: "part", x1: cx, y1: cy, x2, y2,
          "stroke-width": 9 * weights[j] });
      });
      return [...lines, shape("path", { class: "found", d: `M${cx},${cy - 9} l9,15 h-18 z` })];
    }

    // writes a name in the first of some places that is free, and takes it
    name(text, taken, places) {
      const wide = 4 * text.length + 10; // of half a name and half a dot
      const free = ([x, y]) => taken.every(([dotX, dotY]) =>
        Math.abs(x - dotX) > wide || Math.abs(y - 4 - dotY) > 16);
      const [x, y] = places.find(free) ?? places[0];
      taken.push([x, y - 4]);
      this.drawing.append(shape("text", { x, y }, text));
    }

    // the output among the values
    showLine(output) {
      const { values } = this.data;
      const [low, high] = [Math.min(...values), Math.max(...values)];
      const at = (value) => high > low ? 12 + 296 * (value - low) / (high - low) : 160;
      const x = at(output);
      this.line.replaceChildren(
        shape("path", { class: "axis", d: "M12,36 H308" }),
        ...values.map((value) => shape("path", { class: "value",
          d: `M${at(value)},38 l7,13 h-14 z` })),
        shape("circle", { class: "mixture", cx: x, cy: 36, r: 6 }),
        shape("text", { x: Math.min(260, Math.max(60, x)), y: 20 }, `output ${fixed(output)}`));
    }

    numbers() {
      const { labels, values } = this.data;
      const { scores, weights, output } = this.attend();
      return [["key", "score", "weight", "value", "weight × value"],
        ...labels.map((label, j) =>
          [label, fixed(scores[j], 3), fixed(weights[j], 3), this.written(values[j], 3),
            this.written(this.inPlane ? values[j].map((at) => weights[j] * at)
              : weights[j] * values[j], 3)]),
        ["output", "", "", "", this.written(output, 3)]];
    }
  });
