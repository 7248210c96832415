// The book's interactive figures: one custom element for each kind, and what they share. Each is
// <attnbook-KIND> with its data as JSON and a still picture in it, which this script replaces.
(() => {
  if (customElements.get("attnbook-map")) return; // another figure of this page has brought it

  const STYLE = `
    :host { display: block; margin: 1rem 0; color-scheme: light;
      --ink: #1f2328; --soft: #57606a; --line: #d0d4da; --paper: #ffffff; --hover: #f2ecf0;
      --query: #0072b2; --key: #b84f00; --value: #00795a; --weights: #9c3d81;
      font: 15px/1.4 system-ui, sans-serif; color: var(--ink); }
    :host([dark]) { color-scheme: dark;
      --ink: #e6e8eb; --soft: #a9b4c0; --line: #454c55; --paper: #14181e; --hover: #2c2430;
      --query: #6cb8ec; --key: #f0a060; --value: #4cc9a0; --weights: #e08cc6; }
    .frame { max-width: 40rem; padding: .8rem 1rem; border: 1px solid var(--line);
      border-radius: .4rem; background: var(--paper); }
    .controls { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; margin-bottom: .6rem; }
    label { display: flex; align-items: center; gap: .5rem; color: var(--soft); }
    select, button, input { font: inherit; color: var(--ink); accent-color: var(--soft); }
    select, button { min-height: 2rem; padding: .1rem .5rem; background: var(--paper);
      border: 1px solid var(--soft); border-radius: .3rem; }
    :focus-visible { outline: 3px solid var(--weights); outline-offset: 1px; }
    output, .said { color: var(--ink); font-variant-numeric: tabular-nums; }
    .said { min-height: 2.8em; margin: .6rem 0 .2rem; } /* the longest text: nothing jumps */
    @media (max-width: 600px) { .said { min-height: calc(1.4em * var(--lines)); } }
    summary { color: var(--soft); cursor: pointer; }
    .scroll { overflow: auto; max-height: 20rem; }
    table { border-collapse: collapse; font-size: 12px; font-variant-numeric: tabular-nums; }
    th, td { padding: .1rem .3rem; text-align: right; border-bottom: 1px solid var(--line); }
    .sides { display: grid; grid-template-columns: auto minmax(5rem, 1fr) auto; }
    ul { list-style: none; margin: 0; padding: 0; max-width: 8.5rem; }
    li { height: 26px; line-height: 26px; padding: 0 .4rem; overflow: hidden;
      white-space: nowrap; text-overflow: ellipsis; border-radius: .3rem; }
    .rows li { color: var(--query); text-align: right; cursor: pointer; }
    .rows li[aria-selected="true"] { background: var(--hover); font-weight: 600; }
    .columns li { display: flex; gap: .4em; color: var(--key); }
    .columns span { overflow: hidden; text-overflow: ellipsis; }
    .columns b { flex: none; min-width: 2.2em; color: var(--ink); font-weight: 400;
      font-size: 13px; }
    svg { display: block; width: 100%; overflow: visible; }
    label > output { min-width: 3.2em; }
    input[type="range"] { width: 9rem; min-height: 1.5rem; margin: 0; }
    input[type="checkbox"] { width: 1.5rem; height: 1.5rem; margin: 0; }
    .beside { display: flex; flex-wrap: wrap; gap: .8rem 1.4rem; align-items: center; }
    .beside > * { flex: 1 1 15rem; min-width: 0; }
    .beside > svg { max-width: 21rem; }
    .bars { display: grid; grid-template-columns: auto minmax(3rem, 1fr) auto; max-width: none;
      align-items: center; gap: .15rem .6rem; }
    .bars li { display: contents; }
    .bars span { line-height: 24px; }
    .bars .name { max-width: 9rem; overflow: hidden; text-overflow: ellipsis; color: var(--key); }
    .bars .bar { height: 16px; min-width: 1px; background: var(--weights); }
    .number b { color: var(--value); font-weight: 400; }
    .bars .number, .heading { text-align: right; font-variant-numeric: tabular-nums; }
    .measures { margin-top: .6rem; }
    .measures .name { max-width: none; color: var(--soft); }
    .measures .bar { background: var(--soft); }
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
    .handle { cursor: grab; }
    .halo { fill: var(--query); fill-opacity: .15; stroke: none; }
    .handle:focus-visible { outline: none; }
    .handle:focus-visible .halo { stroke: var(--weights); stroke-width: 3; }
    .weight { stroke: var(--weights); fill: none; stroke-linecap: round; }
    .tokens { display: flex; flex-wrap: wrap; gap: .3rem; margin: .4rem 0; }
    .token { display: grid; justify-items: center; padding: .1rem .4rem; color: var(--key);
      border-bottom: .45rem solid color-mix(in srgb, var(--weights) var(--share), var(--line)); }
    small { font-size: 12px; color: var(--ink); }
    .written { min-height: 3.2em; margin: .6rem 0; font-size: 17px; }
    mark { padding: 0 .2rem; color: var(--paper); background: var(--query); border-radius: .2rem; }
    .candidates { display: grid; grid-template-columns: minmax(5rem, auto) 1fr; gap: .2rem .6rem; }
    .chance { padding-left: .3rem; background: linear-gradient(90deg, var(--line) 0 0)
      no-repeat left / var(--share) 100%; border-left: 3px solid var(--soft); }
    @media print { .controls, details { display: none; } .frame { break-inside: avoid; } }
    @media (prefers-reduced-motion: no-preference) { .weight { transition: opacity .15s; } }
    .note { margin: .4rem 0; color: var(--soft); font-size: 13px; }
    .places { display: grid; grid-auto-columns: minmax(0, 1fr); grid-auto-flow: column;
      touch-action: pan-y; user-select: none; -webkit-user-select: none; }
    .places > div { padding: 0 2px; text-align: center; color: var(--soft); }
    .places button { width: 100%; margin: .1rem 0 .5rem; padding: .1rem; overflow: hidden;
      text-overflow: ellipsis; white-space: nowrap; cursor: grab; }
    .places [aria-pressed="true"] { background: var(--hover); font-weight: 600; }
    [aria-disabled="true"] { opacity: .5; }
    .output { fill: var(--value); }
    .axis { stroke: var(--soft); vector-effect: non-scaling-stroke; }
    .first { stroke: var(--ink); stroke-width: 2; vector-effect: non-scaling-stroke; }
    .clocks { display: grid; grid-template-columns: repeat(8, minmax(0, 6rem)); gap: .3rem .2rem;
      font-size: 13px; text-align: center; color: var(--soft); }
    @media (max-width: 600px) { .clocks { grid-template-columns: repeat(4, 1fr); } }
    .face { fill: none; stroke: var(--line); stroke-width: 2; }
    .turn { fill: var(--soft); opacity: .3; }
    .hand { fill: none; stroke: var(--ink); stroke-width: 5; stroke-linecap: round; }
    .hand.later { stroke: var(--soft); stroke-dasharray: 7 8; }
    .curve { fill: none; stroke: var(--soft); stroke-width: 2; }
    .here { fill: var(--ink); stroke: var(--paper); stroke-width: 2; }
    svg text { fill: var(--soft); font-size: 13px; }
  `;

  const SVG = "http://www.w3.org/2000/svg";
  const fill = (node, attributes, children) => {
    for (const [name, value] of Object.entries(attributes))
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value !== null && value !== false) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const element = (name, attributes = {}, ...children) =>
    fill(document.createElement(name), attributes, children);
  const shape = (name, attributes = {}, ...children) =>
    fill(document.createElementNS(SVG, name), attributes, children);
  const range = (size) => Array.from({ length: size }, (_, i) => i);
  const dot = (a, b) => a.reduce((total, number, i) => total + number * b[i], 0);
  const fixed = (number, digits = 2) => number.toFixed(digits).replace("-", "−");

  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

  function softmax(scores) {
    const largest = Math.max(...scores); // with exponents of at most 0 nothing overflows
    const parts = scores.map((score) => Math.exp(score - largest));
    const total = sum(parts);
    return parts.map((part) => part / total);
  }

  function isDark() {
    const { documentElement: html, body } = document;
    const theme = html.dataset.theme ?? html.getAttribute("theme"); // the book's pages, Colab
    if (theme === "dark" || theme === "light") return theme === "dark";
    if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false"; // JupyterLab
    if (body.dataset.vscodeThemeKind) return !/light/.test(body.dataset.vscodeThemeKind);
    return matchMedia("(prefers-color-scheme: dark)").matches;
  }

  // What all figures have: data, theme, a sentence that is spoken, and the numbers as a table.
  class Figure extends HTMLElement {
    static LINES = 4; // of the sentence, on a telephone

    connectedCallback() {
      if (this.shadowRoot) return;
      // on a page, the parser has not read the data yet
      if (this.querySelector("script")) this.start();
      else document.addEventListener("DOMContentLoaded", () => this.start(), { once: true });
    }

    start() {
      this.data = JSON.parse(this.querySelector("script").textContent);
      const root = this.attachShadow({ mode: "open" });
      this.controls = element("div", { class: "controls" });
      this.stage = element("div");
      this.said = element("p", { class: "said", "aria-live": "polite",
        style: `--lines: ${this.constructor.LINES}` });
      this.table = element("div", { class: "scroll", tabindex: 0, role: "region",
        "aria-label": "The numbers" });
      this.details = element("details", { ontoggle: () => this.showNumbers() },
        element("summary", {}, "The numbers"), this.table);
      root.append(element("style", {}, STYLE),
        element("div", { class: "frame", role: "group", "aria-label": this.getAttribute("label") },
          this.controls, this.stage, this.said, this.details));
      const follow = () => this.toggleAttribute("dark", isDark());
      const watcher = new MutationObserver(follow);
      for (const node of [document.documentElement, document.body])
        watcher.observe(node, { attributes: true });
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", follow);
      follow();
      this.build();
      this.draw();
    }

    draw() {
      this.paint();
      this.showNumbers();
    }

    // what has not changed is not spoken again
    say(text) {
      if (this.said.textContent !== text) this.said.textContent = text;
    }

    // numbers() gives rows of cells; the first row and each row's first cell are headings
    showNumbers() {
      if (!this.details.open) return;
      const [head, ...rows] = this.numbers();
      const heading = (scope) => (text) => element("th", { scope }, text);
      this.table.replaceChildren(element("table", {},
        element("thead", {}, element("tr", {}, ...head.map(heading("col")))),
        element("tbody", {}, ...rows.map(([first, ...others]) =>
          element("tr", {}, heading("row")(first),
            ...others.map((text) => element("td", {}, text)))))));
    }

    choice(label, options, onchange, chosen = 0) {
      const select = element("select", { onchange: () => onchange(Number(select.value)) },
        ...options.map((text, value) =>
          element("option", { value, selected: value === chosen }, text)));
      this.controls.append(element("label", {}, label, select));
    }

    // text(value) is what is shown and spoken; returns a function that moves the slider
    slider(label, { min, max, step = 1, value, text = String }, onchange) {
      const shown = element("output", { "aria-live": "off" });
      const input = element("input", { type: "range", min, max, step, "aria-label": label,
        oninput: () => {
          show(Number(input.value));
          onchange(Number(input.value));
        } });
      const show = (value) => {
        input.value = value;
        input.setAttribute("aria-valuetext", text(value));
        shown.textContent = text(value);
      };
      show(value);
      this.controls.append(element("label", {}, label, input, shown));
      return show;
    }

    toggle(label, onchange) {
      const input = element("input", { type: "checkbox", role: "switch",
        onchange: () => onchange(input.checked) });
      this.controls.append(element("label", {}, input, label));
    }

    button(label, onclick) {
      const button = element("button", { type: "button", onclick }, label);
      this.controls.append(button);
      return button;
    }

    // rows of a name, a bar and a number; show(shares, texts) sets the bars, from 0 to 1
    bars(names, more = "") {
      const bars = names.map(() => element("div", { class: "bar" }));
      const numbers = names.map(() => element("span", { class: "number" }));
      const list = element("ul", { class: `bars ${more}` }, ...names.map((name, i) =>
        element("li", {}, element("span", { class: "name", title: name }, name),
          element("span", {}, bars[i]), numbers[i])));
      const show = (shares, texts) => shares.forEach((share, i) => {
        bars[i].style.width = `${100 * share}%`;
        numbers[i].replaceChildren(...[texts[i]].flat());
      });
      return { list, show };
    }
  }

  // Keys in the plane, and a query that can be moved among them.
  class Query extends Figure {
    static TEMPERATURES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];
    static SIZE = 320; // of the plane, in the units of its drawing
    static ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };

    build() {
      const { labels, query, reach, step } = this.data;
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
      this.plane = shape("svg", { class: "plane", viewBox: `${-SIZE / 2} ${-SIZE / 2} ${SIZE} ${SIZE}`,
        onclick: (event) => this.follow(event) }, this.drawing, this.handle);
      this.shares = this.bars(labels);
      this.line = shape("svg", { class: "plane", viewBox: "0 0 320 62", "aria-hidden": "true" });
      this.stage.append(element("div", { class: "beside" }, this.plane,
        element("div", {}, element("div", { class: "soft heading" }, "weight × value"),
          this.shares.list, this.line)));
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
      this.move([((clientX - left) / width - 0.5) * scale, (0.5 - (clientY - top) / height) * scale]);
    }

    move(point) {
      const { reach, step } = this.data;
      this.query = point.map((at) =>
        Math.min(reach, Math.max(-reach, Math.round(at / step) * step)));
      this.draw();
    }

    attend() {
      const { keys, values } = this.data;
      const divisor = Math.SQRT2 * Query.TEMPERATURES[this.level]; // a key has two features
      const scores = keys.map((key) => sum(key.map((at, i) => at * this.query[i])) / divisor);
      const weights = softmax(scores);
      return { scores, weights, output: sum(weights.map((weight, j) => weight * values[j])) };
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
        ...keys.flatMap((key, j) => {
          const [at, down] = here(key);
          const room = Math.max(0, half - 3.7 * labels[j].length); // keeps the name in the plane
          return [
            shape("rect", { class: "key", x: at - 3, y: down - 3, width: 6, height: 6 }),
            shape("text", { x: Math.min(room, Math.max(-room, at)),
              y: down + (down < 0 ? -13 : 22) }, labels[j])];
        }));
      this.handle.setAttribute("transform", `translate(${here(this.query)})`);
      this.handle.setAttribute("aria-valuenow", x);
      this.handle.setAttribute("aria-valuetext", `x ${fixed(x)}, y ${fixed(y)}`);
      this.shares.show(weights,
        weights.map((weight, j) => [`${fixed(weight)} × `,
          element("b", {}, String(values[j]).replace("-", "−"))]));
      this.showLine(output);
      this.say(`The query is at (${fixed(x)}, ${fixed(y)}). It gives ` + weights
        .map((weight, j) => [weight, j])
        .sort(([a], [b]) => b - a).slice(0, 4)
        .map(([weight, j], i) => `${labels[j]} ${i ? "" : "the weight "}${fixed(weight)}`)
        .join(", ") + `. The output is ${fixed(output)}.`);
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
          [label, ...[scores[j], weights[j], values[j], weights[j] * values[j]]
            .map((number) => fixed(number, 3))]),
        ["output", "", "", "", fixed(output, 3)]];
    }
  }

  // The weights of one query for any number of features, with and without the division by √d.
  class Scale extends Figure {
    static DEAF = 0.01; // a row whose Jacobian is smaller does not learn

    build() {
      const { sizes, scores } = this.data;
      const keys = scores[0][0].map((_, j) => `key ${j + 1}`);
      this.row = this.size = 0;
      this.divided = false;
      const set = (name) => (value) => {
        this[name] = value;
        this.draw();
      };
      this.slider("Features d", { min: 0, max: sizes.length - 1, value: this.size,
        text: (place) => String(sizes[place]) }, set("size"));
      this.toggle("divide by √d", set("divided"));
      if (scores.length > 1)
        this.choice("Draw", scores.map((_, i) => `draw ${i + 1}`), set("row"));
      this.weights = this.bars(keys);
      this.measures = this.bars(["largest weight", "entropy (nats)", "size of the Jacobian"],
        "measures");
      this.stage.append(this.weights.list, this.measures.list);
    }

    measure() {
      const { sizes, scores } = this.data;
      const divisor = this.divided ? Math.sqrt(sizes[this.size]) : 1;
      const divided = scores[this.row][this.size].map((score) => score / divisor);
      const weights = softmax(divided);
      const slopes = weights.flatMap((w, i) => weights.map((v, j) => w * ((i === j) - v)));
      return { scores: divided, weights, largest: Math.max(...weights),
        entropy: -sum(weights.map((w) => (w > 0 ? w * Math.log(w) : 0))),
        jacobian: Math.hypot(...slopes) };
    }

    paint() {
      const { weights, largest, entropy, jacobian } = this.measure();
      const most = Math.log(weights.length);
      const d = this.data.sizes[this.size];
      this.weights.show(weights, weights.map((weight) => fixed(weight)));
      // no Jacobian of softmax is larger than 0.5
      this.measures.show([largest, entropy / most, 2 * jacobian],
        [fixed(largest), `${fixed(entropy)} of ${fixed(most)}`, `${fixed(jacobian, 3)} of 0.5`]);
      this.say(`d = ${d}, ${this.divided ? "divided by √d" : "undivided"}: key ` +
        `${weights.indexOf(largest) + 1} has the largest weight, ${fixed(largest)}. The entropy is ` +
        `${fixed(entropy)} of at most ${fixed(most)} nats, the size of the Jacobian ` +
        `${fixed(jacobian, 3)}: this row ${jacobian < Scale.DEAF ? "is deaf" : "still listens"}.`);
    }

    numbers() {
      const { scores, weights, largest, entropy, jacobian } = this.measure();
      return [["", "score", "weight"],
        ...weights.map((weight, j) => [`key ${j + 1}`, fixed(scores[j], 3), fixed(weight, 3)]),
        ["largest weight", "", fixed(largest, 3)],
        ["entropy (nats)", "", fixed(entropy, 3)],
        ["size of the Jacobian", "", fixed(jacobian, 3)]];
    }
  }

  // Tokens on both sides, joined by lines; block and head can be chosen, one token picked out.
  class AttentionMap extends Figure {
    static LINES = 3;

    build() {
      const { rows, columns, weights, start } = this.data;
      [this.block, this.head] = start ?? [0, 0];
      this.picked = null; // the token whose row alone is shown
      this.shares = []; // beside each token of the right, its weight in that row
      const numbered = (name, list) => list.map((_, i) => `${name} ${i + 1}`);
      if (weights.length > 1)
        this.choice("Block", numbered("block", weights), (block) => {
          this.block = block;
          this.draw();
        }, this.block);
      if (weights[0].length > 1)
        this.choice("Head", [...numbered("head", weights[0]), "mean of all heads"], (head) => {
          this.head = head;
          this.draw();
        }, this.head);
      this.options = rows.map((token, i) =>
        element("li", { role: "option", tabindex: i ? -1 : 0, title: token,
          onfocus: () => this.pick(i),
          onmouseenter: () => this.pick(i) }, token));
      this.labels = columns.map((token) => {
        const number = element("b");
        this.shares.push(number);
        return element("li", { title: token }, element("span", {}, token), number);
      });
      this.list = element("ul", { class: "rows", role: "listbox", "aria-label": "Tokens that look",
        onkeydown: (event) => this.key(event),
        onfocusout: () => this.pick(null),
        onmouseleave: () => this.pick(this.focused()) }, ...this.options);
      this.lines = shape("svg", { "aria-hidden": "true" });
      this.stage.append(element("div", { class: "sides" }, this.list, this.lines,
        element("ul", { class: "columns" }, ...this.labels)));
      new ResizeObserver(() => this.paint()).observe(this.lines);
    }

    focused() {
      const place = this.options.indexOf(this.shadowRoot.activeElement);
      return place < 0 ? null : place;
    }

    key(event) {
      const last = this.options.length - 1;
      const here = this.focused();
      const to = { ArrowDown: Math.min(here + 1, last), ArrowUp: Math.max(here - 1, 0),
        Home: 0, End: last }[event.key];
      if (event.key === "Escape") this.pick(null);
      if (to === undefined) return;
      event.preventDefault();
      this.options.forEach((option, i) => option.setAttribute("tabindex", i === to ? 0 : -1));
      this.options[to].focus();
      this.pick(to);
    }

    pick(row) {
      this.picked = row;
      this.paint();
    }

    // the map of the chosen block and head: one row for each token that looks
    map() {
      const heads = this.data.weights[this.block];
      if (this.head < heads.length) return heads[this.head];
      return heads[0].map((row, i) => row.map((_, j) =>
        heads.reduce((sum, head) => sum + head[i][j], 0) / heads.length));
    }

    paint() {
      const { rows, columns } = this.data;
      const map = this.map();
      const step = 26;
      const width = this.lines.clientWidth || 200;
      const height = step * Math.max(rows.length, columns.length);
      // on paper it is as wide as there is room
      fill(this.lines, { height, viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none" }, []);
      const y = (i) => step * (i + 0.5);
      this.lines.replaceChildren(...map.flatMap((row, i) => row.map((weight, j) =>
        weight < 0.005 ? null : shape("path", { class: "weight",
          d: `M4,${y(i)} C${width / 2},${y(i)} ${width / 2},${y(j)} ${width - 4},${y(j)}`,
          "stroke-width": 0.5 + 5 * weight,
          opacity: this.picked === null || this.picked === i ? 0.15 + 0.85 * weight : 0.03 })))
        .filter(Boolean));
      this.options.forEach((option, i) =>
        option.setAttribute("aria-selected", this.picked === i));
      this.shares.forEach((share, j) => {
        share.textContent = this.picked === null ? "" : fixed(map[this.picked][j]);
      });
      this.say(this.picked === null
        ? "Point at a token on the left, tap it, or go there with Tab and the arrow keys."
        : `${rows[this.picked]} looks at ` + map[this.picked]
          .map((weight, j) => [weight, j])
          .sort(([a], [b]) => b - a).slice(0, 4)
          .map(([weight, j]) => `${columns[j]} ${fixed(weight)}`).join(", ") + ".");
    }

    numbers() {
      const { rows, columns } = this.data;
      return [["", ...columns], ...this.map().map((row, i) =>
        [rows[i], ...row.map((weight) => fixed(weight, 3))])];
    }
  }

  // A translation that is written token by token: where each looks, and what else it could be.
  class Decoding extends Figure {
    static LINES = 2;

    build() {
      const { source, written } = this.data;
      this.step = 0;
      const go = (step) => {
        this.step = Math.max(0, Math.min(step, written.length - 1));
        this.slide(this.step + 1);
        this.draw();
      };
      this.back = this.button("← back", () => go(this.step - 1));
      this.next = this.button("next →", () => go(this.step + 1));
      this.slide = this.slider("Token", { min: 1, max: written.length, value: 1,
        text: (number) => `${number} of ${written.length}` }, (number) => go(number - 1));
      this.source = source.map((token) => element("span", { class: "token" }, token));
      this.target = element("p", { class: "written" });
      this.candidates = element("div", { class: "candidates" });
      this.stage.append(
        element("p", { class: "tokens" }, ...this.source), this.target, this.candidates);
    }

    paint() {
      const { source, written, weights, likeliest } = this.data;
      const row = weights[this.step];
      this.back.setAttribute("aria-disabled", this.step === 0);
      this.next.setAttribute("aria-disabled", this.step === written.length - 1);
      this.source.forEach((chip, j) => {
        chip.style.setProperty("--share", `${100 * Math.min(1, row[j])}%`);
        chip.replaceChildren(source[j], element("small", {}, fixed(row[j])));
      });
      this.target.replaceChildren(...written.slice(0, this.step).flatMap((t) => [t, " "]),
        element("mark", {}, written[this.step]));
      this.candidates.replaceChildren(...likeliest[this.step].flatMap(([token, chance]) => [
        element("span", {}, token),
        element("span", { class: "chance", style: `--share: ${100 * chance}%` },
          chance < 0.01 ? "under 0.01" : fixed(chance))]));
      const most = row.indexOf(Math.max(...row));
      this.say(`Writing ${written[this.step]}, it looks most at ` +
        `${source[most]} (${fixed(row[most])}).`);
    }

    numbers() {
      const { source, written, weights } = this.data;
      return [["written", ...source], ...weights.map((row, t) =>
        [written[t], ...row.map((weight) => fixed(weight, 3))])];
    }
  }

  // Tokens to put in another order; under each, its output of self-attention. A column is a place:
  // a token that moves is painted in another column.
  class Permutation extends Figure {
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
        "aria-label": "Tokens in their order; the left and right arrow keys move the one in focus",
        onpointerdown: (event) => this.take(event),
        onpointermove: (event) => this.drag(event),
        onpointerup: () => this.drop(),
        onpointercancel: () => this.drop(),
      }, ...this.columns.map(({ column }) => column));
      this.earlier = this.button("◀ Earlier", () => this.move(this.picked - 1));
      this.later = this.button("Later ▶", () => this.move(this.picked + 1));
      this.button("First order", () => this.reorder(this.first));
      this.toggle("with positions", (on) => {
        this.positions = on;
        this.moved = null;
        this.draw();
      });
      this.stage.append(this.places, element("p", { class: "note" }, "Bars: each token's output, " +
        "one bar for each feature, to the left if negative. Thin lines: the same output in the " +
        "first order."));
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
      if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
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
        button.setAttribute("aria-label", `${tokens[token]}, place ${place + 1} of ${last + 1}`);
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
        return `“${text}”, the first order. Drag a token, or go there with Tab and move it with ` +
          "the left and right arrow keys.";
      const moved = this.moved === null ? ""
        : `${tokens[this.moved]} is now at place ${this.order.indexOf(this.moved) + 1}: `;
      return `${moved}“${text}”. ` + (change < 1e-9
        ? "The outputs are those of before, in the new order."
        : `The outputs are no longer those of before: the largest change of a ` +
          `number is ${fixed(change)}.`);
    }

    numbers() {
      const { tokens, embeddings } = this.data;
      return [["", ...embeddings[0].map((_, feature) => `output ${feature + 1}`)],
        ...this.outputs(this.order).map((output, place) =>
          [tokens[this.order[place]], ...output.map((number) => fixed(number, 3))])];
    }
  }

  // Sinusoidal positions: each pair of features is a clock with a hand at p and one at p + k.
  class Waves extends Figure {
    build() {
      const { d_model, length } = this.data;
      this.p = Math.min(3, length - 1);
      this.k = Math.min(5, length - 1);
      this.stays = false; // what was moved last changes no product
      this.frequencies = range(d_model / 2).map((i) => 10000 ** (-2 * i / d_model));
      const pairs = this.frequencies.length;
      const shown = Math.min(pairs, 8);
      // evenly from the fastest to the slowest of those that turn by half a radian or more
      const turning = this.frequencies.filter((frequency) => frequency * length >= 0.5).length;
      const last = Math.max(shown, turning) - 1;
      this.clocks = range(shown).map((i) => {
        const pair = shown === 1 ? 0 : Math.round(i * last / (shown - 1));
        const hands = shape("svg", { viewBox: "-50 -50 100 100", "aria-hidden": "true" });
        const cosine = element("output", { "aria-live": "off" });
        return { pair, hands, cosine,
          clock: element("div", {}, hands, `pair ${pair}`, element("br"), cosine) };
      });
      const move = (name) => (value) => {
        this.stays = name === "p";
        this[name] = value;
        this.draw();
      };
      this.slider("Position p", { min: 0, max: length - 1, value: this.p }, move("p"));
      this.slider("Offset k", { min: 0, max: length - 1, value: this.k }, move("k"));
      this.curve = shape("svg", { height: 150, "aria-hidden": "true" });
      this.stage.append(
        element("div", { class: "clocks" }, ...this.clocks.map(({ clock }) => clock)),
        element("p", { class: "note" }, "Plain hand: p·ω. Dashed hand: (p + k)·ω. Shaded: the " +
          "angle between them, k·ω, and under the clock its cosine. " + (shown < pairs
          ? `${shown} of ${pairs} pairs; none of those that hardly turn up to ${length - 1}.` : "")),
        this.curve);
      new ResizeObserver(() => this.paint()).observe(this.curve);
    }

    encode(position) {
      return this.frequencies.flatMap((frequency) =>
        [Math.sin(position * frequency), Math.cos(position * frequency)]);
    }

    product() {
      return dot(this.encode(this.p), this.encode(this.p + this.k));
    }

    paint() {
      const { p, k } = this;
      for (const { pair, hands, cosine } of this.clocks) {
        const frequency = this.frequencies[pair];
        const at = (position, radius) => // sine and cosine are the hand's x and y
          `${radius * Math.sin(position * frequency)},${-radius * Math.cos(position * frequency)}`;
        const wide = (k * frequency) % (2 * Math.PI) > Math.PI ? 1 : 0;
        hands.replaceChildren(
          shape("circle", { class: "face", r: 46 }),
          shape("path", { class: "turn", d: `M0,0 L${at(p, 30)} A30,30 0 ${wide} 1 ${at(p + k, 30)} Z` }),
          shape("path", { class: "hand", d: `M0,0 L${at(p, 40)}` }),
          shape("path", { class: "hand later", d: `M0,0 L${at(p + k, 40)}` }));
        cosine.textContent = fixed(Math.cos(k * frequency));
      }
      this.plot();
      const product = fixed(this.product());
      const both = `PE(${p}) · PE(${p + k})`;
      this.say(this.stays
        ? `Moving p turns all hands, but the product stays: ${both} = ${product}. The angle ` +
          "between the two hands of a pair depends on k alone."
        : `${both} = ${product}: the sum of the cosines of the angles between the hands, over ` +
          `all ${this.frequencies.length} pairs. Move p: does the product change?`);
    }

    // the product against the offset, from where p stands
    plot() {
      const from = this.encode(this.p);
      const { length } = this.data;
      const products = range(length).map((k) => dot(from, this.encode(this.p + k)));
      const width = this.curve.clientWidth || 300;
      const [low, high] = [Math.min(0, ...products), from.length / 2];
      const x = (k) => 8 + (width - 16) * k / Math.max(1, length - 1);
      const y = (product) => 20 + 105 * (high - product) / (high - low);
      const [hereX, hereY] = [x(this.k), y(products[this.k])];
      this.curve.replaceChildren(
        shape("path", { class: "axis", d: `M0,${y(0)} H${width} M${hereX},${y(0)} V${hereY}` }),
        shape("path", { class: "curve",
          d: "M" + products.map((product, k) => `${x(k)},${y(product)}`).join(" L") }),
        shape("circle", { class: "here", r: 6, cx: hereX, cy: hereY }),
        shape("text", { x: width, y: 12, "text-anchor": "end" },
          `PE(p) · PE(p + k), at most ${high}`),
        shape("text", { x: 0, y: 145 }, "0"),
        shape("text", { x: width, y: 145, "text-anchor": "end" }, `offset k, 0 to ${length - 1}`));
    }

    numbers() {
      const { p, k } = this;
      return [["pair", "frequency ω", "angle p·ω", "angle (p + k)·ω", "cosine of k·ω"],
        ...this.frequencies.map((frequency, pair) => [pair, frequency.toPrecision(4),
          fixed(p * frequency, 3), fixed((p + k) * frequency, 3),
          fixed(Math.cos(k * frequency), 3)]),
        ["sum", "", "", "", fixed(this.product(), 3)]];
    }
  }

  customElements.define("attnbook-query", Query);
  customElements.define("attnbook-scale", Scale);
  customElements.define("attnbook-map", AttentionMap);
  customElements.define("attnbook-decoding", Decoding);
  customElements.define("attnbook-permutation", Permutation);
  customElements.define("attnbook-waves", Waves);
})();
