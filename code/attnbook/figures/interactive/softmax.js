// Scores that can be dragged, their exponentials, and the shares that these have in their sum.
attnbook.define("softmax", ({ Interactive, element, shape, range, sum, softmax, fixed, still }) => {
  const STEP = 0.1; // of a score, by an arrow key
  const FACTORS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5];
  const MOVES = 450; // milliseconds of a change of all scores
  // heights: where the tracks of scores begin and end, the line under the bars of eˢ, the whole,
  // the names of its pieces, and the last line
  const [TOP, BASE, WHOLE, THICK, NAMES, LAST, HIGH] = [44, 200, 264, 38, 322, 390, 396];
  const ROOM = BASE - TOP - 20; // for the highest bar
  const FITS = 9; // an eˢ up to this keeps its unit; if one is larger, all bars shrink
  const PILL = [48, 26]; // its width and height
  const LETTER = 8.8; // about the width of one

  // with as many digits as one reads; what is positive is never written as 0
  function size(number, digits = 2) {
    if (number === 0 || (number >= 0.5 / 10 ** digits && number < 1e4))
      return fixed(number, number < 10 ? digits : number < 100 ? 1 : 0);
    const [digit, power] = number.toExponential(0).split("e");
    if (number < 1 && number >= 1e-4) return number.toPrecision(1);
    return `${digit}·10${[...power.replace("+", "")].map((sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign] ?? "⁻").join("")}`;
  }

  // no weight is 0
  const share = (weight) => (weight < 0.005 ? ">\u00a00" : fixed(weight));

  return class Softmax extends Interactive {
    static LINES = 3;
    static STYLE = `
      .controls { align-items: center; }
      .controls label { flex: 1 1 17rem; color: var(--soft); font-size: 13px; white-space: nowrap; }
      .controls input { flex: 1 1 4rem; min-width: 4rem; max-width: 14rem; accent-color: var(--weights); }
      .controls label > output { min-width: 6.6em; font-size: 14px; }
      svg text { text-anchor: middle; }
      svg .word { fill: var(--key); font-size: 17px; font-weight: 600; }
      svg .ink { fill: var(--ink); } svg .big { font-size: 15px; }
      svg .share { fill: var(--weights); font-size: 15px; font-weight: 600; }
      svg :is(.share, .change).in { fill: var(--paper); }
      .lead { margin: 0 0 .3rem; font-weight: 600; }
      svg .change { fill: var(--ink); }
      svg .outside { fill: var(--wrong); font-weight: 600; }
      svg .start { text-anchor: start; }
      .track { stroke: var(--line); stroke-width: 4; stroke-linecap: round; }
      .zero { stroke: var(--soft); stroke-width: 1.5; }
      .score { stroke: var(--key); stroke-width: 6; }
      .rule { stroke: var(--line); stroke-width: 1.5; }
      .part, .piece { fill: var(--weights); }
      .flow { fill: var(--weights); opacity: .22; }
      .handle { cursor: ns-resize; }
      .handle rect { fill: var(--key); stroke: var(--paper); stroke-width: 1.5; }
      .handle .grip { fill: transparent; stroke: none; }
      .handle path { fill: none; stroke: var(--key); stroke-width: 2; stroke-linecap: round;
        stroke-linejoin: round; }
      .handle text { fill: var(--paper); font-weight: 600; }
      .handle:hover path { stroke-width: 3; }
      .handle:focus-visible { outline: none; }
      .handle:focus-visible .pill { stroke: var(--weights); stroke-width: 4; }
      @media (max-width: 600px) { .controls label { flex: 1 1 100%; } }
    `;

    build() {
      const { words, scores, largest } = this.data;
      this.scores = [...scores];
      this.factor = 1;
      this.since = this.weigh(); // the weights before the last change
      this.told = null; // what has changed them: the place of a word, or "factor", "more" or "less"
      this.more = this.button("Add 1 to all", () => this.shift(1));
      this.less = this.button("Subtract 1", () => this.shift(-1));
      this.slider("All scores ×", { min: 0, max: FACTORS.length - 1, value: FACTORS.indexOf(1),
        text: (place) => `scores × ${FACTORS[place]}` }, (place) => this.multiply(FACTORS[place]));
      const input = this.controls.querySelector("input");
      input.closest("label").firstChild.replaceWith(element("span", {}, "even"));
      input.after(element("span", {}, "winner takes all"));
      this.drawing = shape("g", { "aria-hidden": "true" });
      this.handles = words.map((word, i) => this.handle(word, i, largest));
      this.picture = shape("svg", { height: HIGH }, this.drawing,
        ...this.handles.map(({ node }) => node));
      this.stage.append(element("p", { class: "lead" }, "Drag a score, and watch the pieces."), this.picture);
      this.whenResized(this.picture, () => this.paint());
    }

    handle(word, i, largest) {
      const [wide, high] = PILL;
      const shown = shape("text", { y: 5 });
      const node = shape("g", { class: "handle", role: "slider", tabindex: 0,
        "aria-label": `Score of ${word}`, "aria-orientation": "vertical",
        "aria-valuemin": -largest, "aria-valuemax": largest,
        onkeydown: (event) => this.key(event, i),
        ontouchstart: (event) => event.preventDefault(), // a finger here moves the score only
        onpointerdown: (event) => {
          node.setPointerCapture(event.pointerId);
          node.focus();
          this.held = { y: event.clientY, score: this.scores[i] };
          this.begin(i);
        },
        onpointermove: (event) => node.hasPointerCapture(event.pointerId) && this.move(i,
          this.held.score + STEP * Math.round((this.held.y - event.clientY) / this.unit / STEP)) },
      shape("rect", { class: "grip", x: -wide / 2 - 3, y: -high / 2 - 10, width: wide + 6, height: high + 20 }),
      shape("path", { d: `M-5,${-high / 2 - 4} l5,-5 l5,5 M-5,${high / 2 + 4} l5,5 l5,-5` }),
      shape("rect", { class: "pill", x: -wide / 2, y: -high / 2, width: wide, height: high,
        rx: high / 2 }), shown);
      return { node, shown };
    }

    key(event, i) {
      const { largest } = this.data;
      const by = { ArrowUp: STEP, ArrowRight: STEP, ArrowDown: -STEP, ArrowLeft: -STEP,
        PageUp: 1, PageDown: -1, Home: -2 * largest, End: 2 * largest }[event.key];
      if (!by) return;
      event.preventDefault();
      if (this.told !== i) this.begin(i);
      this.move(i, this.scores[i] + by);
    }

    // what comes now is compared with what there is
    begin(told) {
      this.running = null;
      this.since = this.weigh();
      this.told = told;
    }

    move(i, score) {
      const { largest } = this.data;
      this.scores[i] = Math.min(largest, Math.max(-largest, score));
      this.draw();
    }

    multiply(factor) {
      if (this.told !== "factor") this.begin("factor");
      this.factor = factor;
      this.draw();
    }

    inside(by) {
      return this.aims.every((score) => Math.abs(score + by) <= this.data.largest);
    }

    // where the scores will be once nothing moves
    get aims() {
      return this.running?.aims ?? this.scores;
    }

    shift(by) {
      if (!this.inside(by)) return;
      const [from, aims] = [[...this.scores], this.aims.map((score) => score + by)];
      this.begin(by > 0 ? "more" : "less");
      if (still()) {
        this.scores = aims;
        this.draw();
        return;
      }
      const run = this.running = { aims, start: performance.now() };
      const step = (now) => {
        if (this.running !== run || !this.isConnected) return;
        const part = Math.min(1, Math.max(0, (now - run.start) / MOVES));
        this.scores = from.map((score, i) => score + (aims[i] - score) * part);
        if (part < 1) requestAnimationFrame(step);
        else {
          this.running = null;
          this.scores = aims;
        }
        this.draw();
      };
      requestAnimationFrame(step);
    }

    weigh() {
      return softmax(this.scores.map((score) => this.factor * score));
    }

    measure() {
      const parts = this.scores.map((score) => Math.exp(this.factor * score));
      const scores = this.scores.map((score) => this.factor * score);
      const total = sum(scores);
      const none = Math.abs(total) < 1e-6;
      return { parts, whole: sum(parts), weights: this.weigh(), total,
        plain: scores.map((score) => (none ? null : score / total)) };
    }

    // by how much a weight has changed; null before anything has been done
    change(i, weights) {
      if (this.told === null) return null;
      const by = weights[i] / this.since[i];
      return Math.abs(by - 1) < 5e-4 ? "same" : `× ${size(by)}`;
    }

    paint() {
      const { words, largest } = this.data;
      const width = this.picture.clientWidth || 330;
      const [left, right] = width < 560 ? [14, 56] : [28, 76];
      const column = (width - left - right) / words.length;
      const now = this.measure();
      const text = (x, y, kind, ...parts) => shape("text", { x, y, class: kind }, ...parts);
      const raised = (number) => shape("tspan", { dy: -6, "font-size": 12 }, number);
      const gap = Math.min(22, (column - PILL[0]) / 12);
      const bar = Math.min(64, column - PILL[0] - 3 * gap);
      const over = width < 560 ? 1 : 4; // of the line at 0 beside a handle
      // the score of a word, and beside it the bar of its exponential
      const places = words.map((_, i) => {
        const pair = PILL[0] + gap + bar;
        const start = left + (i + 0.5) * column - pair / 2;
        return { track: start + PILL[0] / 2, bar: start + PILL[0] + gap + bar / 2,
          middle: start + pair / 2 };
      });
      const middle = (TOP + BASE) / 2;
      this.unit = (BASE - TOP - PILL[1]) / 2 / largest; // pixels for a score of 1
      const y = (score) => middle - this.unit * score;
      const high = ROOM / Math.max(FITS, ...now.parts); // pixels for an eˢ of 1
      const long = width - left - right;
      const starts = now.weights.map((_, i) => left + long * sum(now.weights.slice(0, i)));
      const ends = now.weights.map((weight, i) => starts[i] + long * weight);
      const factor = this.factor === 1 ? "" : `${this.factor}·`;

      this.drawing.replaceChildren(
        ...words.flatMap((word, i) => {
          const [{ track, bar: x, middle: here }, part] = [places[i], now.parts[i]];
          const grown = high * part;
          const [from, to] = [x - bar / 2, x + bar / 2];
          const [top, bend] = [BASE + 25, (BASE + 25 + WHOLE) / 2];
          return [
            shape("path", { class: "flow", d: `M${from},${top} C${from},${bend} ${starts[i]},${bend} `
              + `${starts[i]},${WHOLE} H${ends[i]} C${ends[i]},${bend} ${to},${bend} ${to},${top} Z` }),
            text(here, 14, "word", word),
            text(track - 3, 34, "", "score"),
            text(x + 3, 34, "", ...(over < 4 ? [] : ["e", raised("score")])), // is also below the bar
            shape("path", { class: "track", d: `M${track},${TOP + 6} V${BASE - 6}` }),
            shape("path", { class: "zero", d: `M${track - PILL[0] / 2 - over},${middle} h${PILL[0] + 2 * over}` }),
            text(track - PILL[0] / 2 - 10, middle + 4, "", i && over < 4 ? "" : "0"),
            shape("path", { class: "score", d: `M${track},${middle} V${y(this.scores[i])}` }),
            shape("rect", { class: "part", x: from, width: bar, y: BASE - grown, height: grown }),
            shape("path", { class: "rule", d: `M${from - 4},${BASE} H${to + 4}` }),
            text(x, BASE - grown - 7, "ink big", size(part)),
            text(x, BASE + 18, "", "e", raised(factor + fixed(this.scores[i]))),
          ];
        }),
        ...this.wholeOf(now, { left, long, right, starts, ends }),
        ...this.last(now, places, width));
      this.handles.forEach(({ node, shown }, i) => {
        node.setAttribute("transform", `translate(${places[i].track} ${y(this.scores[i])})`);
        node.setAttribute("aria-valuenow", fixed(this.scores[i]).replace("−", "-"));
        node.setAttribute("aria-valuetext",
          `${fixed(this.scores[i])}, weight ${share(now.weights[i])}`);
        shown.textContent = fixed(this.scores[i]);
      });
      this.more.setAttribute("aria-disabled", !this.inside(1));
      this.less.setAttribute("aria-disabled", !this.inside(-1));
      if (!this.running) this.explain(now);
    }

    // the sum, the whole with its pieces, and their names, which do not overlap
    wholeOf(now, { left, long, right, starts, ends }) {
      const { words } = this.data;
      const names = words.map((word, i) => `${word} ${share(now.weights[i])}`);
      const apart = right < 60 ? 5 : 10;
      const half = names.map((name) => LETTER * name.length / 2 + apart);
      const at = starts.map((start, i) => (start + ends[i]) / 2);
      const limit = left + long + 4;
      const changes = now.weights.map((_, i) => this.change(i, now.weights) ?? "");
      const inside = (i) => 2 * half[i] <= ends[i] - starts[i];
      const below = range(at.length).filter((i) => !inside(i)); // these stand side by side
      below.forEach((i, k) => {
        const last = below[k - 1];
        at[i] = Math.max(at[i], k ? at[last] + half[last] + half[i] : half[i]);
      });
      below.reverse().forEach((i, k) => {
        const next = below[k - 1];
        at[i] = Math.min(at[i], k ? at[next] - half[next] - half[i] : limit - half[i]);
      });
      const side = left + long + right / 2 + 4;
      const text = (x, y, kind, ...parts) => shape("text", { x, y, class: kind }, ...parts);
      return [
        text(side, BASE - 24, "", "sum"),
        text(side, BASE - 6, "ink big", size(now.whole)),
        text(side, (BASE + WHOLE) / 2 + 18, "", `÷ ${size(now.whole)}`),
        text(side, WHOLE + 16, "", "sum"),
        text(side, WHOLE + 34, "ink big", "1"),
        text(side, NAMES, "", "weights"),
        ...words.flatMap((_, i) => [
          shape("rect", { class: "piece", x: starts[i] + (i ? 1 : 0), y: WHOLE, height: THICK,
            width: Math.max(0.5, ends[i] - starts[i] - (i ? 1 : 0) - (i < words.length - 1 ? 1 : 0)) }),
          text(at[i], inside(i) ? WHOLE + (changes[i] ? 17 : 24) : NAMES, `share ${inside(i) ? "in" : ""}`, names[i]),
          text(at[i], inside(i) ? WHOLE + 32 : NAMES + 17, `change ${inside(i) ? "in" : ""}`, changes[i]),
        ]),
      ];
    }

    // the rule without exponentials
    last({ plain }, places, width) {
      const text = (x, kind, ...parts) => shape("text", { x, y: LAST, class: kind }, ...parts);
      const shown = (part) => (part === null ? "none" : fixed(part, Math.abs(part) < 10 ? 2 : 0));
      const kind = (part) => (part === null || part < 0 || part > 1 ? "outside" : "ink");
      return [
        shape("path", { class: "rule", d: `M0,${LAST - 43} H${width}` }),
        shape("text", { x: 0, y: LAST - 24, class: "start" },
          "Without e: each score ÷ the sum of the scores"),
        ...plain.map((part, i) => text(places[i].middle, `big ${kind(part)}`, shown(part))),
      ];
    }

    explain({ weights }) {
      const done = { more: "multiplied", less: "divided" }[this.told];
      if (this.told === null)
        this.say("The weights stay positive, and they always sum to 1.");
      else if (done)
        this.say(`Each exponential is ${done} by ${fixed(Math.E ** this.factor)}, and so is their sum. `
          + "So no weight changes.");
      else if (this.told === "factor") this.explainFactor(weights);
      else this.explainOne(this.told, weights);
    }

    explainOne(moved, weights) {
      const { words } = this.data;
      const others = range(words.length).filter((i) => i !== moved);
      const by = weights[others[0]] / this.since[others[0]];
      const [how, what] = by < 1 ? ["Raising", "takes weight from"] : ["Lowering", "gives weight to"];
      this.say(Math.abs(by - 1) < 5e-4 ? (this.factor === 0 ? "All scores are multiplied by 0, so no weight changes."
          : "The score is as it was, and so is every weight.")
        : `${how} ${words[moved]} ${what} ${others.map((i) => words[i]).join(" and ")}`
          + (others.length > 1 ? ` in the same proportion: both × ${size(by)}.` : "."));
    }

    explainFactor(weights) {
      const { words } = this.data;
      const best = weights.indexOf(Math.max(...weights));
      const temperature = `(temperature T = ${this.factor ? size(1 / this.factor) : "∞"})`;
      this.say(this.factor === 0 ? `All scores × 0 ${temperature}: each e⁰ is 1, so the weights are even.`
        : `All scores × ${this.factor} ${temperature}: ${words[best]} has ${share(weights[best])} of the weight.`
          + (this.factor === 2 ? " Twice the scores, and each ratio of two weights is squared." : ""));
    }

    numbers() {
      const { words } = this.data;
      const { parts, whole, weights, plain } = this.measure();
      return [["word", "score", "× factor", "e^score", "weight", "score ÷ sum"],
        ...words.map((word, i) => [word, fixed(this.scores[i], 3),
          fixed(this.factor * this.scores[i], 3), size(parts[i], 3), size(weights[i], 3),
          plain[i] === null ? "none" : fixed(plain[i], 3)]),
        ["sum", "", "", size(whole, 3), fixed(sum(weights), 3), ""]];
    }
  };
});
