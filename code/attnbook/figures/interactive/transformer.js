// The whole Transformer as a map. Boxes are buttons over a drawing of lines; what stands where is in
// the data. As "you are here" it is a small picture without buttons.
attnbook.define("transformer", (shared) => {
  const { element, shape, towards, boxesIn, still } = shared;
  const matrices = attnbook.matrices(shared);
  const Panel = attnbook.panel(shared, matrices);
  const climbs = attnbook.climbs(shared, matrices);
  const PACE = 1000; // of the vector that goes up, in milliseconds a step

  return class Transformer extends Panel {
    static STYLE = `${matrices.STYLE}${Panel.STYLE}
      .frame { max-width: var(--figure-width, 46rem); }
      .stage { container-type: inline-size; }
      .both { display: grid; gap: 0 1.5rem; grid-template: "map text" auto
        "map inside" auto "map scale" auto "map unfolds" 1fr / minmax(0, 22rem) minmax(0, 1fr); }
      .map { grid-area: map; }
      .how { flex: 1 1 18rem; margin: 0; }
      .text { grid-area: text; }
      .inside { grid-area: inside; } .inside > .note { min-height: 2.8em; } /* of the longest */
      .vector { position: absolute; z-index: 2; width: 44px; translate: -50% -50%; pointer-events: none;
        text-align: center; font-weight: 700; font-size: 12px; line-height: 15px; }
      .sheet .vector svg { position: static; width: 44px; height: 18px; fill: var(--of); background: var(--paper);
        outline: 2px solid var(--of); border-radius: 2px; }
      .vector.copy svg { height: 14px; }
      .vector.out { opacity: 0; }
      .vector b { position: absolute; left: 50%; bottom: 100%; translate: -50% -3px; white-space: nowrap; }
      .vector b.alone { bottom: auto; top: 50%; translate: calc(-50% - 8px) -50%; color: var(--paper); }
      .box.carries > .size { visibility: hidden; }
      .box.bare > .size { display: none; }
      .unfolds { grid-area: unfolds; margin-top: .5rem; }
      @container (max-width: 599px) {
        .both { grid-template: "text" "map" "inside" "scale" "unfolds" / minmax(0, 24rem);
          gap: .6rem; } }
      @container (min-width: 760px) {
        .both { grid-template-columns: minmax(0, 25rem) minmax(0, 1fr); }
        .inside > .note { min-height: 0; }
        .both .box { font-size: 13.5px; } }
      .sheet { position: relative; }
      .sheet svg { position: absolute; inset: 0; height: 100%; }
      .stream { fill: none; stroke: var(--line); stroke-width: 7; }
      .branch { fill: none; stroke: var(--soft); stroke-width: 1.3; marker-end: url(#tip); }
      #tip path { fill: var(--soft); }
      .box { position: absolute; min-height: 0; padding: 0; overflow: hidden; font-size: 12.5px;
        line-height: 1; border-radius: .25rem; cursor: pointer; }
      .box > span { display: block; }
      .box > .size { color: var(--soft); font-size: max(.93em, 12px); white-space: pre;
        word-spacing: -.14em; }
      .flat > span { display: inline; }
      .flat > .size { margin-left: .25em; }
      .box:is([aria-pressed="true"], .now.near) > .size { color: inherit; }
      .attention { background: color-mix(in srgb, var(--weights) 22%, var(--paper));
        border-color: var(--weights); }
      .network { background: color-mix(in srgb, var(--other) 24%, var(--paper));
        border-color: var(--other); }
      .norm { background: color-mix(in srgb, var(--soft) 24%, var(--paper)); }
      @container (max-width: 335px) { .box { font-size: 11.2px; } .box > .size { font-size: .93em; } }
      @container (max-width: 310px) { .box { font-size: 10.2px; } }
      @container (max-width: 280px) { .box { font-size: 9.5px; } }
      .round { border: 2px solid var(--ink); border-radius: 50%; font-weight: 700; }
      .norms { font-size: 13px; }
      .norms p { margin: .3rem 0 0; color: var(--soft); }
      .norms + * { margin-top: .6rem; }
      input[type="radio"] { flex: none; width: 1.5rem; height: 1.5rem; margin: 0; }
      sub { font-size: .8em; line-height: 0; vertical-align: -.2em; }
      .box.near { border: 2px dashed var(--weights); }
      .box[aria-pressed="true"], .box.now.near { color: var(--paper); background: var(--weights);
        border: 1px solid var(--weights); }
      .map .box[aria-pressed="true"]:not(.now) { color: var(--ink); background: var(--paper); border-width: 2px; }
      .box:focus-visible { z-index: 1; }
      .gone { visibility: hidden; }
      @media (prefers-reduced-motion: no-preference) {
        .box { transition: left .5s, top .5s, width .5s; }
        .vector { transition: left .6s, top .6s, opacity 0s; }
        .vector.late { transition: left .6s, top .6s, opacity .1s .6s; }
        .vector rect { transition: fill-opacity .3s .5s; } }
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
    static HOW = "The vectors of two tokens go up, first in the encoder and then in the decoder. " +
      "Click or tap a box, or move with Tab and the arrow keys. Sizes: tokens × features in our translator, for ";
    static PRE = "Pre-norm puts each norm beside the stream, before a sub-layer, and one more " +
      "norm on top of each stack. Below that last norm, the stream itself passes through no norm.";
    static POST = "Post-norm, the design of 2017, puts the norms on the stream itself, after each " +
      "addition, and adds no norm on top of the stack. The input never passes through unchanged.";

    build() {
      if (this.data.here) {
        this.buildThumbnail();
        return;
      }
      this.boxes = [];
      this.stage.className = "stage";
      const [stacks, inside] = this.data.sheets.map((sheet) => this.sheet(sheet));
      const sided = this.data.sheets[0].boxes;
      this.path = ["source", "target"].flatMap((side) => sided.filter((box) => box.side === side)); // of a token
      this.steps = climbs(this.data.run);
      const pace = { valueOf: () => PACE + this.takes }; // it is asked again at each step
      this.stepper({ last: () => this.path.length - 1, pace });
      this.choose(this.first("self-attention"));
      this.step = this.path.indexOf(this.picked);
      [this.vector, this.copy] = ["", "copy"].map((kind) => element("div", { class: `vector ${kind}`,
        "aria-hidden": "true" }, element("b"), shape("svg", { preserveAspectRatio: "none" })));
      stacks.append(this.vector, this.copy);
      this.insides = element("p", { class: "note" });
      this.scaled = element("p", { class: "note" });
      this.drawing = shape("svg", { role: "group", "aria-label": "The matrices" });
      this.scale = element("div", { class: "scale" }, this.scaled, this.drawing);
      this.whenResized(this.scale, () => {
        this.drawScale();
        this.placeVector();
      });
      this.moved = false; // whether readers have just chosen the place of the norms
      this.heading = element("p", { class: "part" });
      this.more = element("p", { class: "more" });
      this.stage.append(element("div", { class: "both", role: "group",
        "aria-label": "The parts; the arrow keys move from one to the next",
        onkeydown: (event) => this.key(event) },
      element("div", { class: "text stack" }, element("div", {}, this.heading, this.said, this.more),
        ...this.texts().map(([part, ...all]) => element("div", { "aria-hidden": "true" },
          element("p", { class: "part" }, part),
          ...all.map((lines) => element("p", {}, ...lines))))),
      element("div", { class: "map" }, stacks),
      element("div", { class: "inside" }, this.insides, inside), this.scale,
      this.details));
      this.controls.append(element("p", { class: "note how" }, `${Transformer.HOW}${this.data.number}.`));
      this.onceByItself(() => {
        this.go(0);
        this.play();
      }, 600);
      this.details.className = "unfolds";
      this.table.before(element("div", { class: "norms", role: "radiogroup",
        "aria-label": "Where the norms are" },
      element("p", { "aria-hidden": "true" }, "The norms come"),
      this.norms("before each part (pre-norm)", false),
      this.norms("after each addition (post-norm, 2017)", true)));
    }

    go(step) {
      const on = step === this.step + 1;
      this.step = step;
      this.choose(this.path[step]);
      this.draw();
      if (on && !still()) this.travel();
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
          this.pick(this.first("norm"));
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
      this.pause();
      if (box.side) this.step = this.path.indexOf(box);
      this.choose(box);
      this.draw();
    }

    choose(box, span) {
      cancelAnimationFrame(this.frame);
      [this.picked, this.moved, this.run, this.takes] = [box, false, 1, 0];
      if (box.part.endsWith("attention")) this.looking = box; // its inside has its sizes
      const { chain, token } = this.shownStep();
      this.span = span ?? Panel.INSIDE[box.part] ?? [0, chain.length];
      this.entry = [token, null];
    }

    // the numbers of the chosen box, or of the attention that it is inside of
    shownStep() {
      return this.steps[this.path.indexOf(this.picked.side ? this.picked : this.looking)];
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
        node.classList.toggle("bare", Boolean(this.post && box.post)); // there is no room for a size
        node.classList.toggle("now", box === this.path[this.step]);
        node.tabIndex = box === this.picked ? 0 : -1;
      });
      this.insides.textContent = `Inside each of the ${this.data.sizes.h} heads of ${this.looking.part}:`;
      for (const { box, node } of this.boxes)
        if (box.sizes) node.querySelector(".size").textContent = box.sizes[this.looking.part];
      this.heading.textContent = this.picked.part;
      this.say(this.sentence());
      this.more.replaceChildren(...this.about(this.picked));
      this.drawScale();
      this.placeVector();
    }

    // The token's vector is in the box, in place of its size, or on the stream; a copy goes through the
    // part beside the stream, and comes back.
    placeVector() {
      const [box, now, before] = [this.path[this.step], this.steps[this.step], this.path[this.step - 1]];
      const place = boxesIn(this.vector.parentNode);
      const nodeOf = (wanted) => this.boxes.find(({ box: one }) => one === wanted).node;
      const middle = (node) => [place(node).x, (place(node).top + place(node).bottom) / 2];
      const inside = (node) => { // beside the name, or below it
        const size = node.querySelector(".size");
        if (!size) return null;
        const [[x, y], { bottom }] = [middle(size), place(node)];
        return node.classList.contains("flat") ? [place(size).left + 23, y] : [x, Math.min(y + 3, bottom - 9)];
      };
      const node = nodeOf(box);
      const [x, y] = middle(node);
      const stream = middle(nodeOf(this.path.find(({ side, label }) => side === box.side && label === "+")))[0];
      const [plus, waits] = [box.label === "+", box.part === "positions"]; // in the box below
      const branch = box.part.endsWith("attention") || box.part === "feed-forward";
      const at = waits ? inside(nodeOf(before)) : now.copy ? [stream, branch ? middle(nodeOf(before))[1] : y]
        : plus ? [x, y - place(node).height / 2 - 13]
          : inside(node) ?? [x + (box.side === "source" ? 1 : -1) * (place(node).width / 2 + 28), y];
      for (const { box: one, node: its } of this.boxes)
        its.classList.toggle("carries", !this.post && (one === box || (waits && one === before)));
      const role = branch ? (box.part === "feed-forward" ? "other" : "weights") : "soft";
      this.showVector(this.vector, at, now.stream, "ink", this.post);
      this.showVector(this.copy, now.copy ? inside(node) : plus ? [x, y] : at, now.copy, role, this.post || !now.copy);
      const [name] = this.vector.children;
      const alone = !now.stream;
      name.className = alone ? "alone" : "";
      name.textContent = alone || plus || (now.copy && !waits) || !inside(node) ? this.word(now) : "";
    }

    word({ side, token, written }) {
      const { words, vocabulary } = this.data.run;
      return written ? vocabulary[written.indexOf(Math.max(...written))] : words[side][token];
    }

    showVector(node, [x, y], values, of, out) {
      Object.assign(node.style, { left: `${x}px`, top: `${y}px` });
      node.classList.toggle("out", Boolean(out));
      node.classList.toggle("late", this.path[this.step].label === "+"); // it comes back first
      const svg = node.lastChild;
      svg.style.visibility = values || node === this.copy ? "" : "hidden";
      if (!values) return; // a copy that comes back keeps its colours
      node.style.setProperty("--of", `var(--${of})`);
      const [columns, shade] = [values.length / 4, matrices.shades(values)];
      if (svg.childElementCount !== values.length) {
        svg.setAttribute("viewBox", `0 0 ${columns} 4`);
        svg.replaceChildren(...values.map((_, n) => shape("rect", { x: n % columns, y: Math.floor(n / columns),
          width: 1, height: 1 })));
      }
      values.forEach((value, n) => svg.children[n].setAttribute("fill-opacity", shade(value)));
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
