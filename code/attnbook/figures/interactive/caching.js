// Writing a text token by token, without a cache of keys and values and with one: what each step
// computes comes down from its word, and what is kept stays.
attnbook.define("caching", ({ Interactive, element, shape, range, sum, still }) => {
  const PACE = 1500; // milliseconds for a step while it plays
  const WAYS = ["without a cache", "with a cache"];
  const [LEFT, CELL, HIGH] = [29, 38, 12]; // room for names; a word's column; a row of scores
  const [KEYS, VALUES, SCORES] = [34, 48, 74]; // levels of the rows
  const LATER = 420; // milliseconds until the keys are there, and scores can be computed

  const several = (number, name) => `${number} ${name}${number > 1 ? "s" : ""}`;

  return class Caching extends Interactive {
    static TABLE = "What each step computes";
    static LINES = 3;
    static STYLE = `
      .room { container-type: inline-size; }
      .bars .name { max-width: none; color: var(--ink); font-weight: 600; } .bars .bar { background: var(--ink); min-width: 0; }
      .written { margin: 0 0 .5rem; font-size: 17px; } .written b { color: var(--value); }
      .panels { display: grid; gap: .8rem 1.6rem; grid-template-columns: minmax(0, 22rem); justify-content: center; margin-top: .8rem; }
      @container (min-width: 34rem) { .panels { grid-template-columns: repeat(2, minmax(0, 22rem)); } }
      .line { margin: 0 0 .4rem; font-size: 13.5px; line-height: 1.35; } .line b { display: block; font-size: 16px; }
      .panels text { font-size: 10.2px; fill: var(--ink); text-anchor: middle; }
      .panels .name { font-weight: 600; text-anchor: start; } .panels .of-k { fill: var(--key); } .panels .of-v { fill: var(--value); }
      .panels .of-s { fill: var(--weights); } .panels .end { text-anchor: end; } .panels .soft { fill: var(--soft); }
      .panels .state { fill: var(--paper); font-weight: 600; } .panels .kept.state { fill: var(--ink); }
      .box { fill: none; stroke: var(--line); stroke-width: 1; stroke-dasharray: 3 2.5; }
      .box.cache { fill: var(--tint); stroke: var(--ink); stroke-dasharray: none; }
      .k { fill: var(--key); } .v { fill: var(--value); } .s { fill: var(--weights); }
      .k.there { fill: color-mix(in srgb, var(--key) 32%, var(--paper)); } .v.there { fill: color-mix(in srgb, var(--value) 32%, var(--paper)); }
      .s.masked { fill: color-mix(in srgb, var(--weights) 20%, var(--paper)); } .s.there, .not { opacity: 0; }
    `;

    build() {
      const { words } = this.data;
      this.stepper({ first: 1, last: () => words.length - 1, next: "next token →", pace: PACE });
      this.step = Math.ceil(words.length / 2);
      this.written = element("p", { class: "written" });
      this.totals = this.bars(WAYS);
      this.panels = WAYS.map((name, way) => this.panel(name, way));
      this.stage.className = "room";
      this.stage.append(this.written, this.totals.list,
        element("div", { class: "panels" }, ...this.panels.map(({ node }) => node)));
      this.onceByItself(() => {
        this.go(1);
        this.play();
      });
    }

    // how many keys (and values) and how many scores one step computes
    made(way, step) {
      return way ? [1, step] : [step, step ** 2];
    }

    panel(name, way) {
      const { words } = this.data;
      const most = words.length - 1;
      const middle = (j) => LEFT + (j + 0.5) * CELL;
      const text = (x, y, words, more = {}) => shape("text", { x, y, ...more }, words);
      const cell = (kind, j, y, height) => shape("rect", { class: kind, x: LEFT + j * CELL + 1, y,
        width: CELL - 2, height, rx: 1.5 });
      const tokens = range(most).map((j) => text(middle(j), 10, words[j]));
      const vectors = range(most).map((j) => [cell("k", j, KEYS, HIGH), cell("v", j, VALUES, HIGH)]);
      const scores = range(most).map((i) => range(most).map((j) =>
        cell(j > i ? "s masked" : "s", j, SCORES + i * HIGH, HIGH - 2)));
      const states = range(most).map((j) => [KEYS, VALUES].map((y) => text(middle(j), y + 9, "", { class: "state" })));
      const frame = shape("rect", { class: "box", x: LEFT - 1, y: SCORES - 2, height: 0, width: 0 });
      const masked = text(0, SCORES + 8.5, "masked", { class: "end" });
      const skipped = text(LEFT + 4, SCORES + 9, "not computed", { class: "name soft" });
      const [count, wide] = [element("span"), LEFT + most * CELL + 2];
      const svg = shape("svg", { viewBox: `0 0 ${wide} ${SCORES + most * HIGH + 2}`, "aria-hidden": "true" },
        shape("rect", { class: way ? "box cache" : "box", x: LEFT - 3, y: KEYS - 3, width: wide - LEFT + 2,
          height: VALUES - KEYS + HIGH + 6, rx: 3 }),
        text(0, KEYS + 9, "K", { class: "name of-k" }), text(0, VALUES + 9, "V", { class: "name of-v" }),
        text(0, SCORES + 9, "QKᵀ", { class: "name of-s" }),
        text(wide - 2, KEYS - 7, way ? "kept from step to step" : "dropped after each step", { class: "end soft" }),
        frame, ...tokens, ...scores.flat(), skipped, masked, ...vectors.flat(), ...states.flat());
      const node = element("div", {}, element("p", { class: "line" }, element("b", {}, name), count), svg);
      return { node, tokens, vectors, states, scores, frame, masked, skipped, count };
    }

    go(step) {
      this.forward = step === this.step + 1 || step === 1;
      this.step = step;
      this.draw();
    }

    paint() {
      const { words } = this.data;
      const { step } = this;
      this.written.replaceChildren(`${words.slice(0, step).join(" ")} → `, element("b", {}, words[step]));
      const totals = WAYS.map((_, way) => sum(range(step).map((before) => this.made(way, before + 1)[1])));
      const most = sum(range(words.length).map((n) => n ** 2));
      this.totals.show(totals.map((total) => total / most), totals.map((total) => `${several(total, "score")} so far`));
      this.panels.forEach((panel, way) => this.paintPanel(panel, way));
      this.say(`Without a cache, this step computes ${several(step, "key")} and ${several(step, "value")}. `
        + (step > 1 ? `With a cache, it computes one of each, and uses ${step - 1} of each that it kept.` : "With a cache, it does the same, and keeps both."));
      this.forward = false;
    }

    paintPanel({ tokens, vectors, states, scores, frame, masked, skipped, count }, way) {
      const { step } = this;
      const [pairs, many] = this.made(way, step);
      count.textContent = `computes ${several(pairs, "key")}, ${several(pairs, "value")}, ${several(many, "score")}`;
      frame.setAttribute("width", step * CELL);
      frame.setAttribute("height", step * HIGH + 1);
      masked.setAttribute("x", LEFT + step * CELL - 4);
      masked.classList.toggle("not", way || step < 3);
      skipped.classList.toggle("not", !way || step < 2);
      const moves = this.forward && !still();
      const show = (node, at, frames, delay = 0) => {
        node.classList.remove("made", "there", "not");
        node.classList.add(at >= step ? "not" : !way || at === step - 1 ? "made" : "there");
        for (const old of node.getAnimations()) old.cancel();
        if (moves && node.classList.contains("made"))
          node.animate(frames, { duration: LATER, delay, fill: "backwards", easing: "ease-in-out" });
      };
      tokens.forEach((node, j) => node.classList.toggle("not", j >= step));
      vectors.forEach((pair, j) => pair.forEach((node, n) =>
        show(node, j, [{ opacity: 0.3, transform: `translateY(${2 - [KEYS, VALUES][n]}px)` }, { opacity: 1, transform: "none" }])));
      states.forEach((pair, j) => pair.forEach((node) => {
        const kept = way && j < step - 1;
        node.textContent = j >= step ? "" : kept ? "kept" : "new";
        node.classList.toggle("kept", kept);
        for (const old of node.getAnimations()) old.cancel();
        if (moves && !kept) node.animate([{ opacity: 0 }, {}], { duration: LATER / 2, delay: LATER, fill: "backwards" });
      }));
      scores.forEach((row, i) => row.forEach((node, j) => {
        show(node, i, [{ opacity: 0 }, {}], LATER);
        if (j >= step) node.classList.replace("made", "not");
      }));
    }

    numbers() {
      return [["", ...WAYS.flatMap((way) => [`keys, ${way}`, `scores, ${way}`])],
        ...range(this.data.words.length - 1).map((n) => [`token ${n + 1}`, ...WAYS.flatMap((_, way) => this.made(way, n + 1).map(String))])];
    }
  };
});
