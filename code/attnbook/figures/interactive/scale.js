// Scores, weights and gradient of one query for any number of features, undivided and divided by √d.
attnbook.define("scale", ({ Interactive, element, shape, range, softmax, fixed }) => {
  const SATURATED = 0.01; // a row whose Jacobian is smaller does not learn
  const SIDES = ["q·k", "q·k ÷ √d"];
  const [FAN, ZOOM, LINE] = [26, 44, 34]; // heights of lines to bars, to a zoomed line, and of a line
  const GAP = 4; // between two bars, in percent of their room

  return class Scale extends Interactive {
    static LINES = 6;
    static STYLE = `
      .room { container-type: inline-size; }
      .controls { align-items: center; }
      .controls label { flex: 1 1 20rem; color: var(--ink); }
      .controls input { flex: 1; min-width: 5rem; accent-color: var(--weights); }
      .sides { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr));
        gap: 0 clamp(.9rem, 5cqi, 3rem); }
      .design { font-size: 17px; font-weight: 600; }
      .name { position: relative; margin: .3rem 0 0; color: var(--soft); font-size: 13px; }
      .name.key { color: var(--key); } .name.weight { color: var(--weights); }
      .line { position: relative; height: ${LINE}px; margin: 0 7px; }
      .key { --free: 5.9rem; } /* it stays beside the name of its line */
      .label { position: absolute; bottom: 0; width: 5rem; margin-left: -2.5rem; text-align: center;
        color: var(--weights); font-size: 13px; font-weight: 600; }
      .zoom { --free: calc(50% + 1.8rem); position: relative; height: ${ZOOM}px; margin: 0 7px; color: var(--soft);
        font-size: 13px; }
      .zoom .how { position: absolute; bottom: 1px; right: 52%; white-space: nowrap; }
      .funnel { position: absolute; inset: -2px 0 auto; }
      .funnel path { fill: var(--hover); }
      .line::before { content: ""; position: absolute; inset: 25px -7px auto; height: 2px;
        background: var(--line); }
      .tick { position: absolute; top: 0; width: 4rem; margin-left: -2rem; color: var(--soft);
        font-size: 12.5px; line-height: 16px; text-align: center; }
      .tick::after { content: ""; position: absolute; left: calc(50% - .5px); top: 17px;
        height: 18px; border-left: 1px solid var(--soft); }
      .score { position: absolute; top: 16px; width: 20px; height: 20px; margin-left: -10px;
        border-radius: 50%; background: var(--key); opacity: .75; z-index: 1; }
      .score.best { background: var(--weights); opacity: 1; }
      .fan { margin: 0 7px; width: calc(100% - 14px); }
      .join { fill: none; stroke: var(--soft); opacity: .35; vector-effect: non-scaling-stroke; }
      .join.best { stroke: var(--weights); stroke-width: 2.5; opacity: 1; }
      .shares { display: flex; gap: ${GAP}%; align-items: end; height: 5.3rem; padding: 1.3rem 7px 0;
        border-bottom: 1px solid var(--line); }
      .slot { position: relative; flex: 1; display: flex; align-items: end; height: 100%; }
      .share { position: relative; flex: 1; background: var(--weights); }
      .before { position: absolute; bottom: 0; inset-inline: 0; border: 2px dashed var(--ink); border-bottom: 0; z-index: 1; }
      .sides:not(.raised) .before { visibility: hidden; }
      .share::after { content: ""; position: absolute; left: calc(50% - .5px); bottom: 100%;
        height: calc(5.3rem * (1 - var(--weight)) + 1.3rem); border-left: 1px solid var(--soft);
        opacity: .6; }
      .share.best::after { bottom: calc(100% + 1.3rem); height: calc(5.3rem * (1 - var(--weight))); }
      .best[data-weight]::before { content: attr(data-weight); position: absolute; bottom: 100%;
        left: -2rem; right: -2rem; text-align: center; color: var(--weights); font-weight: 600;
        font-size: 13px; }
      .name.moves { margin-top: .1rem; line-height: 22px; }
      .moves b { color: var(--ink); font-size: 18px; line-height: 1; font-variant-numeric: tabular-nums; }
      .trail { position: absolute; top: 0; height: calc(100% + 26px); }
      .trail path { fill: none; stroke: var(--key); stroke-width: 1.5; opacity: .55; vector-effect: non-scaling-stroke; }
      .trail path.best { stroke: var(--weights); stroke-width: 2.5; opacity: 1; }
      .grown { height: ${ZOOM + LINE}px; } .grown span:not(.label) { position: absolute; left: calc(50% + 10px); white-space: nowrap; }
      :is(.tick, .label) { text-shadow: 0 0 3px var(--paper), 0 0 3px var(--paper), 0 0 3px var(--paper); }
      .verdict { min-height: calc(1.4em * var(--verdict, 1)); margin: .2rem 0 0; font-weight: 600; }
      @container (max-width: 50rem) { .verdict { --verdict: 2; } }
      @container (max-width: 34rem) { .verdict { --verdict: 3; } }
      @container (max-width: 26rem) { .verdict { --verdict: 4; } .half { display: none; } }
      @media (min-width: 601px) { .said { min-height: 4.2em; } }
      .short { display: none; }
      @container (max-width: 44rem) { .long { display: none; } .short { display: inline; }
        .zoom { font-size: 12px; } .name.moves { font-size: 12px; } .moves b { font-size: 13px; } }
      @media (prefers-reduced-motion: no-preference) {
        .share { transition: height .4s; } }
    `;

    build() {
      const { sizes, scores } = this.data;
      this.draws = scores.length;
      this.row = 0;
      this.size = Math.max(0, sizes.length - 3); // far enough for the two sides to differ
      this.slider("Features d", { min: 0, max: sizes.length - 1, value: this.size,
        text: (place) => String(sizes[place]) }, (size) => {
        this.size = size;
        this.draw();
      });
      if (this.draws > 1)
        this.button("New vectors", () => {
          this.row = (this.row + 1) % this.draws;
          this.draw();
        });
      this.raised = 0;
      const raise = this.button("Best score + 1", () => {
        this.raised = 1 - this.raised;
        raise.setAttribute("aria-pressed", this.raised === 1);
        this.draw();
      });
      raise.setAttribute("aria-pressed", false);
      // one scale for all sizes and draws, so that one sees the scores move apart
      const farthest = (of) => Math.max(...scores.flat().flatMap((row, i) =>
        row.map((score) => Math.abs(score) / of(sizes[i % sizes.length]) + (score === Math.max(...row))))); // it may be raised
      this.reach = farthest(() => 1);
      this.zoom = Math.max(1, Math.floor(this.reach / farthest(Math.sqrt)));
      this.sides = SIDES.map((name, k) => this.side(name, k === 1));
      this.stage.className = "room";
      this.stage.append(this.both = element("div", { class: "sides" }, ...this.sides.map(({ node }) => node)));
    }

    // where a score stands on a line that ends at its reach, in percent
    place(score, reach) {
      return 50 + 50 * score / reach;
    }

    // numbers on the line: 0, one that is round and as far out as possible, and half of it
    ticks(reach) {
      const digits = Math.floor(Math.log10(reach));
      const step = Math.max(...[1, 2, 5, 10].map((n) => n * 10 ** digits)
        .filter((step) => step <= reach));
      return [-1, -0.5, 0, 0.5, 1].map((part) => element("span", {
        class: `tick ${part % 1 ? "half" : ""}`, style: `left: ${this.place(part * step, reach)}%` },
      String(part * step).replace("-", "−")));
    }

    // One column: scores on a line, weights as bars in the order of the scores, and how much
    // softmax reacts. A thin line joins each score and its weight. Scores that are divided stand on
    // the line of the others, and again on one that shows its middle larger.
    side(name, zoomed) {
      const keys = this.data.scores[0][0];
      const dots = (kind) => keys.map(() => element("span", { class: kind }));
      const lines = [{ reach: this.reach, dots: dots("score") }];
      if (zoomed) lines.push({ reach: this.reach / this.zoom, dots: dots("score") });
      const bars = dots("share");
      const verdict = element("p", { class: "verdict" });
      const befores = dots("before");
      const trails = zoomed ? [] : keys.map(() => shape("path"));
      const joins = keys.map(() => shape("path", { class: "join" }));
      const moves = element("b");
      const both = (long, short) => [element("span", { class: "long" }, long),
        element("span", { class: "short" }, short)];
      const gradient = element("p", { class: "name moves" },
        ...both("if the best score rises by 1, its weight: ", "best + 1: "), moves);
      const label = element("span", { class: "label", "aria-hidden": "true" }, "best key");
      const drawn = (kind, ...parts) =>
        element("div", { class: kind, "aria-hidden": "true" }, ...parts);
      const svg = (kind, height, ...paths) => shape("svg", { class: kind, height, viewBox: "0 0 100 1",
        preserveAspectRatio: "none", "aria-hidden": "true" }, ...paths);
      const line = ({ reach, dots }) => drawn("line", ...this.ticks(reach), ...dots);
      const edge = 50 / this.zoom;
      const parts = zoomed
        ? [drawn("zoom", svg("funnel", ZOOM, shape("path", {
          d: `M${50 - edge},0 L0,1 H100 L${50 + edge},0 Z` })),
        element("span", { class: "how" },
          ...both(`zoomed in ${this.zoom} times`, `${this.zoom} × larger`)), label), line(lines[1])]
        : [drawn("zoom grown", svg("trail", 0, ...trails), element("span", {}, "d doubles ↓"), label)];
      const node = element("div", {}, element("div", { class: "design" }, name),
        element("div", { class: "name key" },
          ...both(`scores of ${keys.length} keys`, `${keys.length} scores`)),
        ...(zoomed ? [line(lines[0]), ...parts] : [...parts, line(lines[0])]), svg("fan", FAN, ...joins),
        drawn("shares", ...bars.map((bar, k) => element("div", { class: "slot" }, bar, befores[k]))),
        element("p", { class: "name weight" }, "their weights"), gradient, verdict);
      return { node, lines, label, joins, bars, befores, trails, verdict, moves };
    }

    measure(divided, raised = this.raised) {
      const { sizes, scores } = this.data;
      const divisor = divided ? Math.sqrt(sizes[this.size]) : 1;
      const now = scores[this.row][this.size].map((score) => score / divisor);
      now[now.indexOf(Math.max(...now))] += raised;
      const weights = softmax(now);
      const slopes = weights.flatMap((w, i) => weights.map((v, j) => w * ((i === j) - v)));
      const largest = Math.max(...weights);
      return { scores: now, weights, largest, jacobian: Math.hypot(...slopes) };
    }

    paint() {
      const [measured, raised] = [0, 1].map((by) => [false, true].map((divided) => this.measure(divided, by)));
      this.both.classList.toggle("raised", this.raised === 1);
      this.sides.forEach((side, k) => this.paintSide(side, measured[k], raised[k]));
      const d = this.data.sizes[this.size];
      const root = fixed(Math.sqrt(d), Number.isInteger(Math.sqrt(d)) ? 0 : 1);
      const ends = ({ scores }) =>
        `between ${fixed(Math.min(...scores), 1)} and ${fixed(Math.max(...scores), 1)}`;
      const [undivided, divided] = measured;
      if (this.raised) this.say("The best score is now higher by 1 (dashed: the weights before). Its weight "
        + raised.map(({ largest }, k) => {
          const [from, to] = [measured[k].largest, largest].map((weight) => fixed(weight));
          return `${from === to ? `stays ${to}` : `rises from ${from} to ${to}`} ${k ? "with" : "without"} the division`;
        }).join(", and ") + ".");
      else this.say(`With ${d} features, the scores lie ${ends(undivided)}. Softmax gives one key `
        + `${fixed(undivided.largest)} of the weight. Divided by √${d}\u00a0=\u00a0${root}, the scores lie `
        + `${ends(divided)}, and no key gets more than ${fixed(divided.largest)}.`);
    }

    paintSide(side, before, after) {
      const { scores, weights } = this.raised ? after : before;
      const { largest, jacobian } = before;
      const keys = range(scores.length).sort((i, j) => scores[i] - scores[j]);
      const width = (100 - GAP * (keys.length - 1)) / keys.length;
      const nearest = side.lines.at(-1).reach;
      keys.forEach((key, rank) => {
        const [x, weight, bar] = [this.place(scores[key], nearest), weights[key], side.bars[rank]];
        const best = rank === keys.length - 1;
        for (const { reach, dots } of side.lines)
          dots[rank].style.left = `${this.place(scores[key], reach)}%`;
        side.joins[rank].setAttribute("d", `M${x},0 L${rank * (width + GAP) + width / 2},1`);
        bar.style.height = `${100 * weight}%`;
        bar.style.setProperty("--weight", weight);
        bar.dataset.weight = fixed(weight);
        side.befores[rank].style.height = `${100 * before.weights[key]}%`;
        // the scores with 2 features, with 4, and so on
        side.trails[rank]?.setAttribute("d", `M50,0 L${range(this.size + 1).map((n) => `${n === this.size ? x
          : this.place(this.data.scores[this.row][n][key], nearest)},${(n + 1) / (this.size + 1)}`).join(" L")}`);
        for (const part of [bar, side.joins[rank], side.trails[rank] ?? bar, ...side.lines.map(({ dots }) => dots[rank])])
          part.classList.toggle("best", best);
        if (best) side.label.style.left = `clamp(var(--free, 1.8rem), ${x}%, 100% - 1.8rem)`;
      });
      side.moves.textContent = `${fixed(largest)} → ${fixed(after.largest)}`;
      side.verdict.textContent = jacobian < SATURATED
        ? "One key has all the weight; softmax no longer reacts."
        : largest >= 0.95 ? "One key has nearly all of it; softmax hardly reacts."
          : largest >= 0.6 ? "One key has most of the weight; softmax still reacts."
            : "Several keys share the weight; softmax reacts.";
    }

    numbers() {
      const [a, b] = [this.measure(false), this.measure(true)];
      const both = (name, of) => [name, ...of(a), ...of(b)];
      return [["", "q·k", "weight", "q·k ÷ √d", "weight"],
        ...a.weights.map((_, j) => both(`key ${j + 1}`, ({ scores, weights }) =>
          [fixed(scores[j], 3), fixed(weights[j], 3)])),
        both("largest weight", ({ largest }) => ["", fixed(largest, 3)]),
        both("size of the Jacobian", ({ jacobian }) => ["", fixed(jacobian, 3)])];
    }
  };
});
