// The whole Transformer as a map. Boxes are buttons over a drawing of lines; what stands where is in
// the data. As "you are here" it is a small picture without buttons.
attnbook.define("transformer", ({ Interactive, element, shape, towards, range, still }) => {
  // The matrices of a part: name, rows, columns, colour, and by what the one before is multiplied.
  const ATTENTION = [["x", "L", "d_model", "soft"], ["Q", "L", "d_k", "query", "W_Q"],
    ["scores", "L", "K", "soft", "Kᵀ", "key"], ["weights", "L", "K", "weights"],
    ["head", "L", "d_v", "value", "V"], ["heads", "L", "d_model", "value"],
    ["output", "L", "d_model", "soft", "W_O"]];
  const INSIDE = { projections: [0, 2], scores: [1, 3], scaling: [2, 3], mask: [2, 3], softmax: [2, 4],
    mixing: [3, 5], heads: [4, 7] };
  const CHAINS = {
    source: [["tokens", "L", "one", "soft"]], target: [["tokens", "L", "one", "soft"]],
    "feed-forward": [["x", "L", "d_model", "soft"], ["neurons", "L", "d_ff", "other", "W_1"],
      ["output", "L", "d_model", "soft", "W_2", "other"]],
    linear: [["x", "L", "d_model", "soft"], ["logits", "L", "vocabulary", "other", "W"]],
    probabilities: [["logits", "L", "vocabulary", "soft"], ["probabilities", "L", "vocabulary", "weights"]],
    norm: [["before", "L", "d_model", "soft"], ["after", "L", "d_model", "soft"]],
    embedding: [["tokens", "L", "one", "soft"], ["vectors", "L", "d_model", "soft"]],
  };
  const [ROOM, LABEL, GAP, APART] = [176, 32, 5, 10]; // of all, for names, and between matrices

  return class Transformer extends Interactive {
    static STYLE = `
      .frame { max-width: var(--figure-width, 46rem); }
      .stage { container-type: inline-size; }
      .both { display: grid; gap: 0 1.5rem; grid-template: "map how" auto "map text" auto
        "map inside" auto "map scale" auto "map unfolds" 1fr / minmax(0, 22rem) minmax(0, 1fr); }
      .map { grid-area: map; }
      .how { grid-area: how; margin-top: 0; }
      .text { grid-area: text; }
      .inside { grid-area: inside; } .inside > .note { min-height: 2.8em; } /* of the longest */
      .scale { grid-area: scale; min-width: 0; }
      .scale .name { fill: var(--of); font-weight: 700; font-size: 14px; }
      .scale rect { fill: color-mix(in srgb, var(--of) 35%, var(--paper)); stroke: var(--of); }
      .scale path { fill: none; stroke: var(--paper); }
      .unfolds { grid-area: unfolds; margin-top: .5rem; }
      @container (max-width: 599px) {
        .both { grid-template: "how" "text" "map" "inside" "scale" "unfolds" / minmax(0, 24rem);
          gap: .6rem; }
        .both .how { margin: 0; } }
      @container (min-width: 760px) {
        .both { grid-template-columns: minmax(0, 24rem) minmax(0, 1fr); }
        .both .box { font-size: 13.5px; } }
      .sheet { position: relative; }
      .sheet svg { position: absolute; inset: 0; height: 100%; }
      .stream { fill: none; stroke: var(--line); stroke-width: 7; }
      .branch { fill: none; stroke: var(--soft); stroke-width: 1.3; marker-end: url(#tip); }
      #tip path { fill: var(--soft); }
      .box { position: absolute; min-height: 0; padding: 0; overflow: hidden; font-size: 12.5px;
        line-height: 1; border-radius: .25rem; cursor: pointer; }
      .box > span { display: block; }
      .box > .size { color: var(--soft); font-size: .93em; white-space: pre;
        word-spacing: -.14em; }
      .flat > span { display: inline; }
      .flat > .size { margin-left: .25em; }
      .box[aria-pressed="true"] > .size { color: inherit; }
      .attention { background: color-mix(in srgb, var(--weights) 22%, var(--paper));
        border-color: var(--weights); }
      .network { background: color-mix(in srgb, var(--other) 24%, var(--paper));
        border-color: var(--other); }
      .norm { background: color-mix(in srgb, var(--soft) 24%, var(--paper)); }
      @container (max-width: 335px) { .box { font-size: 11.2px; } }
      @container (max-width: 310px) { .box { font-size: 10.2px; } }
      @container (max-width: 280px) { .box { font-size: 9.5px; } }
      .round { border: 2px solid var(--ink); border-radius: 50%; font-weight: 700; }
      .norms { font-size: 13px; }
      .norms p { margin: .3rem 0 0; color: var(--soft); }
      .norms + * { margin-top: .6rem; }
      input[type="radio"] { flex: none; width: 1.5rem; height: 1.5rem; margin: 0; }
      sub { font-size: .8em; line-height: 0; vertical-align: -.2em; }
      .box.near { border: 2px dashed var(--weights); }
      .box[aria-pressed="true"] { color: var(--paper); background: var(--weights);
        border-color: var(--weights); }
      .box:focus-visible { z-index: 1; }
      .gone { visibility: hidden; }
      @media (prefers-reduced-motion: no-preference) {
        .box { transition: left .5s, top .5s, width .5s; } }
      .text { align-content: start; }
      .text p { min-height: 0; margin: 0 0 .4rem; }
      .text .part { margin: .2rem 0 .1rem; font-weight: 600; }
      @media (max-width: 600px) { .frame { padding: .6rem .5rem; } }
      .text span { display: block; }
      a { color: var(--query); }
      .frames { fill: var(--hover); stroke: none; }
      .sheet svg text { font-size: 12.5px; text-anchor: middle; }
      .here { display: flex; gap: 1rem; align-items: center; }
      .here > div + div { flex: 1; }
      .here > [aria-hidden] { flex: none; width: 5.5rem; }
      .here svg + svg { margin-top: .3rem; }
      .here .said { min-height: 0; margin: 0 0 .3rem; }
      .small { fill: var(--paper); stroke: var(--soft); vector-effect: non-scaling-stroke; }
      .here .stream { stroke-width: 10; }
      .here .branch { marker-end: none; }
      .small.lit { fill: var(--weights); stroke: var(--weights); }
      .small.near { stroke: var(--weights); stroke-width: 2; }
    `;
    static TABLE = "Pre-norm or post-norm, and the names of the sizes";
    static HOW = "Data flows upwards. Click or tap a box, or move to it with Tab and the arrow keys. " +
      "Sizes are mostly tokens × features in our translator, for the number ";
    static PRE = "Pre-norm puts each norm beside the stream, before a sub-layer, and one more " +
      "norm on top of each stack. Below that last norm, the stream itself passes through no norm.";
    static POST = "Post-norm, the design of 2017, puts the norms on the stream itself, after each " +
      "addition, and adds no norm on top of the stack. The input never passes through unchanged.";

    build() {
      if (this.data.here) {
        this.buildThumbnail();
        return;
      }
      this.controls.remove();
      this.boxes = [];
      this.stage.className = "stage";
      const [stacks, inside] = this.data.sheets.map((sheet) => this.sheet(sheet));
      this.picked = this.first("self-attention");
      this.looking = this.picked.part; // the attention whose inside has its sizes
      this.insides = element("p", { class: "note" });
      this.scaled = element("p", { class: "note" });
      this.scale = element("div", { class: "scale" }, this.scaled);
      this.whenResized(this.scale, () => this.drawScale());
      this.moved = false; // whether readers have just chosen the place of the norms
      this.heading = element("p", { class: "part" });
      this.more = element("p", { class: "more" });
      this.stage.append(element("div", { class: "both", role: "group",
        "aria-label": "The parts; the arrow keys move from one to the next",
        onkeydown: (event) => this.key(event) },
      element("p", { class: "note how" }, `${Transformer.HOW}${this.data.number}.`),
      element("div", { class: "text stack" }, element("div", {}, this.heading, this.said, this.more),
        ...this.texts().map(([part, ...all]) => element("div", { "aria-hidden": "true" },
          element("p", { class: "part" }, part),
          ...all.map((lines) => element("p", {}, ...lines))))),
      element("div", { class: "map" }, stacks),
      element("div", { class: "inside" }, this.insides, inside), this.scale,
      this.details));
      this.details.className = "unfolds";
      this.table.before(element("div", { class: "norms", role: "radiogroup",
        "aria-label": "Where the norms are" },
      element("p", { "aria-hidden": "true" }, "The norms come"),
      this.norms("before each part (pre-norm)", false),
      this.norms("after each addition (post-norm, 2017)", true)));
    }

    // the first box of a part, which is the encoder's
    first(part) {
      return this.boxes.find(({ box }) => box.part === part).box;
    }

    // a choice between the two places of the norms
    norms(label, post) {
      return element("label", {}, element("input", { type: "radio", name: "norms",
        checked: !post, onchange: () => {
          this.post = post;
          this.picked = this.first("norm");
          this.moved = true;
          this.draw();
        } }), label);
    }

    // what lies below the boxes
    ground({ frames, lines }) {
      const area = ([x, y, width, height]) => ({ x, y, width, height });
      return [...frames.flatMap(({ label, at, middle }) => [
        shape("rect", { class: "frames", rx: 4, ...area(at) }),
        shape("text", { x: middle, y: at[1] + 19 }, label)]),
      ...lines.map(({ kind, points }) =>
        shape("path", { class: kind, d: `M${points.join(" L")}` }))];
    }

    // an attention and what is inside of it; only boxes of the stacks have a side
    related(one, other) {
      const inside = (a, b) => a.part.endsWith("attention") && !b.side;
      return inside(one, other) || inside(other, one);
    }

    // what follows "_" is a subscript
    label(text) {
      const [before, below] = text.split("_");
      return below ? [before, element("sub", {}, below)] : [before];
    }

    sheet(sheet) {
      const [width, height] = sheet.size;
      const first = this.boxes.length === 0; // its arrow head serves both
      const arrow = shape("marker", { id: "tip", viewBox: "0 0 6 6", refX: 5, refY: 3,
        markerWidth: 6, markerHeight: 6, orient: "auto" },
      shape("path", { d: "M0,0 L6,3 L0,6 z" }));
      const boxes = sheet.boxes.map((box) => {
        const node = element("button", { type: "button", class: "box",
          onclick: () => this.pick(box), onfocus: () => this.pick(box) },
        element("span", {}, ...this.label(box.label)));
        if (box.size) node.append(" ", element("span", { class: "size" }, box.size));
        if (box.size && box.at[3] === 24) node.classList.add("flat");
        const role = box.part.endsWith("attention") ? "attention"
          : { "feed-forward": "network", norm: "norm" }[box.part];
        if (role) node.classList.add(role);
        if (box.label === "+") {
          node.classList.add("round");
          node.setAttribute("aria-label", `+ ${box.part}`);
        }
        this.boxes.push({ box, node, size: [width, height] });
        return node;
      });
      return element("div", { class: "sheet", style: `aspect-ratio: ${width} / ${height}` },
        shape("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
          ...(first ? [arrow] : []), ...this.ground(sheet)), ...boxes);
    }

    key(event) {
      const nodes = this.boxes.map(({ node }) => node)
        .filter((node) => !node.classList.contains("gone"));
      const to = nodes.includes(event.target) && towards(event.key, event.target, nodes);
      if (!to) return;
      event.preventDefault();
      to.focus();
    }

    pick(box) {
      this.picked = box;
      this.moved = false;
      this.draw();
    }

    // where a box stands now; nothing if it is gone
    place(box) {
      return this.post && "post" in box ? box.post : box.at;
    }

    paint() {
      if (this.data.here) return;
      this.boxes.forEach(({ box, node, size: [width, height] }, i) => {
        const place = this.place(box);
        const [x, y, w, h] = place ?? box.at;
        Object.assign(node.style, { left: `${100 * x / width}%`, top: `${100 * y / height}%`,
          width: `${100 * w / width}%`, height: `${100 * h / height}%` });
        node.classList.toggle("gone", !place);
        node.classList.toggle("near", this.related(box, this.picked));
        node.setAttribute("aria-pressed", box.part === this.picked.part);
        node.tabIndex = box === this.picked ? 0 : -1;
      });
      if (this.picked.part.endsWith("attention")) this.looking = this.picked.part;
      this.insides.textContent = `Inside every attention, here each of the ` +
        `${this.data.sizes.h} heads of ${this.looking}:`;
      for (const { box, node } of this.boxes)
        if (box.sizes) node.querySelector(".size").textContent = box.sizes[this.looking];
      this.heading.textContent = this.picked.part;
      this.say(this.sentence());
      this.more.replaceChildren(...this.about(this.picked));
      if (this.drawn !== this.picked) this.drawScale();
    }

    // the matrices of the chosen box, from left to right, in one scale
    drawScale() {
      const { part, side } = this.picked;
      const moves = this.drawn !== this.picked && this.drawn && !still();
      this.drawn = this.picked;
      const [asks, of] = this.data.asked[part.endsWith("attention") ? part : side ? "" : this.looking]
        ?? [side, side];
      const sizes = { ...this.data.sizes, L: this.data.sizes[asks], K: this.data.sizes[of], one: 1 };
      const width = this.scale.clientWidth || 400;
      const most = width < 420 ? 5 : 7; // on a telephone, up to the output of a head
      const chain = part.endsWith("attention") ? ATTENTION.slice(0, most) : INSIDE[part] ? ATTENTION.slice(...INSIDE[part])
        : CHAINS[part] ?? [[part === "memory" ? "memory" : "x", "L", "d_model", "soft"]];
      const rows = sizes.L;
      const columns = chain.map(([, , column]) => sizes[column]);
      const tallest = Math.max(0, ...chain.map(([, , , , above], n) => (above && n ? columns[n - 1] : 0)));
      let unit = Math.min(10, (ROOM - 2 * LABEL - GAP) / (tallest + rows));
      const wide = () => columns.map((column, n) => Math.max(column * unit, chain[n][0].length * 8.6, 48));
      const total = () => wide().reduce((all, one) => all + one, (chain.length - 1) * APART);
      while (total() > width && unit > 0.5) unit -= 0.05;
      const top = LABEL + (tallest ? tallest * unit + GAP : 0);
      let x = 0;
      const block = (name, colour, y, m, n, written, delay) => {
        const [w, h] = [n * unit, m * unit];
        const lines = unit < 3 ? "" : [...range(n - 1).map((i) => `M${x + (i + 1) * unit},${y} v${h}`),
          ...range(m - 1).map((i) => `M${x},${y + (i + 1) * unit} h${w}`)].join("");
        const [text, index] = name.split("_");
        const node = shape("g", { style: `--of: var(--${colour})` }, shape("rect", { x, y, width: w, height: h }),
          shape("path", { d: lines }), shape("text", { class: "name", x, y: written, style: "text-anchor: start" }, text,
            ...(index ? [shape("tspan", { "baseline-shift": "-20%", "font-size": "80%" }, index)] : [])),
          shape("text", { x, y: written + 14 }, `${m} × ${n}`));
        if (moves) node.animate([{ opacity: 0, transform: "translateX(-12px)" }, { opacity: 1, transform: "none" }],
          { duration: 250, delay: 180 * delay, fill: "backwards" });
        return node;
      };
      const blocks = chain.flatMap(([name, , , colour, above, other], n) => {
        const both = [block(name, colour, top, rows, columns[n], top + rows * unit + 14, n)];
        if (above && n) both.push(block(above, other ?? colour, top - GAP - columns[n - 1] * unit, columns[n - 1],
          columns[n], top - GAP - columns[n - 1] * unit - 18, n - 0.5));
        x += wide()[n] + APART;
        return both;
      });
      this.scaled.textContent = `The matrices of ${part}, to scale:`;
      this.scale.replaceChildren(this.scaled, shape("svg", { viewBox: `0 0 ${width} ${ROOM}`, height: ROOM,
        "aria-hidden": "true" }, ...blocks));
    }

    // what is said of every box, so that there is room for it
    texts() {
      const norm = this.first("norm");
      return [...this.boxes.map(({ box }) => [box, this.data.parts[box.part][0]]),
        [norm, Transformer.PRE], [norm, Transformer.POST]]
        .map(([box, text]) => [box.part, [text], this.about(box)]);
    }

    sentence() {
      if (!this.moved) return this.data.parts[this.picked.part][0];
      return this.post ? Transformer.POST : Transformer.PRE;
    }

    about({ part }) {
      return this.data.parts[part][2].map((number) => element("span", {}, this.link(number)));
    }

    // On the book's pages, their navigation has the title of each chapter and a link to it, which
    // on the chapter's own page leads nowhere else. Without one, the number of the chapter.
    link(number) {
      const found = [...document.querySelectorAll("nav.bd-links a")]
        .find(({ textContent }) => textContent.trim().startsWith(`${number} ·`));
      const text = `Chapter ${found?.textContent.trim() ?? number}`;
      const there = found?.getAttribute("href") ?? "#";
      return there.startsWith("#") ? text : element("a", { href: there }, text);
    }

    buildThumbnail() {
      const { here, parts, sheets } = this.data;
      const found = sheets.flatMap(({ boxes }) => boxes).find(({ part }) => part === here);
      this.controls.remove();
      this.details.remove();
      const small = (box) => {
        const [x, y, width, height] = box.at;
        const state = box.part === here ? "lit" : this.related(box, found) ? "near" : "";
        return shape("rect", { class: `small ${state}`, x, y, width, height });
      };
      const drawings = sheets.map((sheet) => shape("svg",
        { viewBox: `0 0 ${sheet.size.join(" ")}` },
        ...this.ground({ ...sheet, frames: [] }), ...sheet.boxes.map(small)));
      this.stage.append(element("div", { class: "here" },
        element("div", { "aria-hidden": "true" }, ...drawings),
        element("div", {}, this.said,
          element("p", { class: "note" }, "The whole model: ", this.link(8)))));
      this.say(`You are here: ${here}${found.side ? "" : ", inside every attention layer"}. ` +
        parts[here][0]);
    }

    numbers() {
      return [["part", "output shape", "chapters"],
        ...Object.entries(this.data.parts).map(([part, [, leaves, chapters]]) =>
          [part, leaves, chapters.join(", ")])];
    }
  };
});
