// Scores of one query as walks over more and more features, undivided and divided by √d: where the
// walks are cut, softmax makes weights of them.
attnbook.define("scale", ({ Interactive, element, shape, range, softmax, fixed }) => {
  const SATURATED = 0.01; // a row whose Jacobian is smaller does not learn
  const SIDES = ["q·k", "q·k ÷ √d"];
  const TOP = 20; // of the walks
  const [LEFT, JOIN, NUMBER] = [30, 44, 34]; // room for the numbers of the axis, for lines to the bars, and behind a bar

  return class Scale extends Interactive {
    static LINES = 5;
    static STYLE = `
      .controls { align-items: center; }
      .controls label { flex: 1 1 18rem; color: var(--ink); }
      .controls input { flex: 1; min-width: 5rem; accent-color: var(--weights); }
      .note { margin: 0 0 .5rem; color: var(--ink); }
      .note .q { color: var(--query); } .note .k { color: var(--key); }
      .sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: .3rem 2rem; }
      .design { font-size: 15px; color: var(--soft); } .design b { color: var(--ink); font-size: 17px; }
      .walk { fill: none; stroke: var(--soft); opacity: .22; }
      .walk.key { stroke: var(--key); stroke-width: 1.5; opacity: .8; }
      .walk.best { stroke: var(--weights); stroke-width: 2.5; opacity: 1; }
      .inner { fill: var(--hover); } .root { fill: none; stroke: var(--ink); stroke-width: 1.5; }
      .cut { stroke: var(--ink); stroke-width: 1.5; }
      .dot { fill: var(--key); stroke: var(--paper); } .dot.best { fill: var(--weights); }
      .join { fill: none; stroke: var(--key); opacity: .45; } .join.best { stroke: var(--weights); stroke-width: 2; opacity: 1; }
      .share { fill: var(--weights); } .before { fill: none; stroke: var(--ink); stroke-dasharray: 4 3; stroke-width: 1.5; }
      svg text { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
      svg .end { text-anchor: end; } svg .middle { text-anchor: middle; }
      svg .ink { fill: var(--ink); font-weight: 600; }
      svg .scores { fill: var(--key); } svg .weight { fill: var(--weights); font-weight: 600; }
      .moves { margin: 0; color: var(--soft); font-size: 13px; line-height: 22px; }
      .moves b { color: var(--ink); font-size: 15px; font-variant-numeric: tabular-nums; }
      .verdict { display: inline-block; color: var(--ink); font-size: 15px; font-weight: 600; }
      @media (max-width: 600px) { .verdict { display: block; } }
      @media (min-width: 601px) { .said { min-height: 4.2em; } }
    `;

    build() {
      const { sizes, scores, walks } = this.data;
      this.row = 0;
      this.size = sizes.length - 1;
      this.showSize = this.slider("Features d", { min: 0, max: this.size, value: this.size,
        text: (place) => String(sizes[place]) }, (size) => {
        this.size = size;
        this.draw();
      });
      if (scores.length > 1)
        this.button("New vectors", () => {
          this.row = (this.row + 1) % scores.length;
          this.draw();
        });
      this.raised = 0;
      const raise = this.button("Best score + 1", () => {
        this.raised = 1 - this.raised;
        raise.setAttribute("aria-pressed", this.raised === 1);
        this.draw();
      });
      raise.setAttribute("aria-pressed", false);
      [this.at, this.lift] = [this.size, 0]; // on their way to the size, and to whether the best score is raised
      // the same scales for all sizes and draws, so that one sees the scores move apart
      this.reach = 0.85 * Math.max(...walks.flat(2).map(Math.abs)); // few get farther
      const keys = scores[0][0].length;
      this.sides = SIDES.map((name) => {
        const [spread, moves, verdict] = [element("span"), element("b"), element("span", { class: "verdict" })];
        const picture = shape("svg", { "aria-hidden": "true" });
        const node = element("div", {}, element("div", { class: "design" }, element("b", {}, name), spread), picture,
          element("p", { class: "moves" }, "best score + 1: ", moves, "\u2002", verdict));
        return { node, picture, spread, moves, verdict };
      });
      this.stage.append(element("p", { class: "note" }, "A query ", element("b", { class: "q" }, "q"),
        " (what a token looks for) meets ", element("b", { class: "k" }, `${keys} keys k`),
        " (what tokens are found by). Each line is one score."),
      element("div", { class: "sides" }, ...this.sides.map(({ node }) => node)));
      this.whenResized(this.stage, () => this.plot());
      this.onceByItself(() => {
        this.at = 0;
        this.travel(4000);
      });
    }

    // the scores after some features, which need not be a whole number
    sums(walks, features) {
      const { places } = this.data;
      const next = Math.max(1, places.findIndex((place) => place >= features));
      const part = (features - places[next - 1]) / (places[next] - places[next - 1]);
      return walks.map((walk) => walk[next - 1] + (walk[next] - walk[next - 1]) * part);
    }

    // where the cut is, or is once it rests: its features, its scores, their weights and their Jacobian
    measure(divided, raised, at = this.size) {
      const { sizes, scores, walks } = this.data;
      const rests = at === this.size;
      const features = rests ? sizes[at] : 2 ** (at + 1);
      const divisor = divided ? Math.sqrt(features) : 1;
      const now = (rests ? scores[this.row][at] : this.sums(walks[this.row], features)).map((score) => score / divisor);
      now[now.indexOf(Math.max(...now))] += raised;
      const weights = softmax(now);
      const slopes = weights.flatMap((w, i) => weights.map((v, j) => w * ((i === j) - v)));
      return { features, scores: now, weights, largest: Math.max(...weights), jacobian: Math.hypot(...slopes) };
    }

    paint() {
      this.travel(500);
      const [measured, raised] = [0, 1].map((by) => [false, true].map((divided) => this.measure(divided, by)));
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

    // the cut goes to its size
    travel(time) {
      const from = [this.at, this.lift];
      const to = [this.size, this.raised];
      this.glide((part) => {
        [this.at, this.lift] = to.map((end, i) => from[i] + (end - from[i]) * part);
        this.plot();
      }, String(from) === String(to), time);
    }

    plot() {
      this.sides.forEach((side, k) => {
        const before = this.measure(k, 0, this.at);
        const { features, largest, jacobian } = before;
        side.spread.textContent = ` spreads by about ${k ? "1" : `√d\u00a0=\u00a0${this.root(features)}`}`;
        side.moves.textContent = `${fixed(largest)} → ${fixed(this.measure(k, 1, this.at).largest)}`;
        side.verdict.textContent = jacobian < SATURATED ? "Softmax no longer reacts."
          : largest >= 0.95 ? "Softmax hardly reacts." : largest >= 0.6 ? "Softmax still reacts." : "Softmax reacts.";
        this.plotSide(side.picture, before, this.measure(k, this.lift, this.at), k === 1);
      });
    }

    root(features) {
      const root = Math.sqrt(features);
      return fixed(root, Number.isInteger(root) || root >= 10 ? 0 : 1);
    }

    plotSide(picture, { features, scores: before, weights: was }, { scores: now, weights }, divided) {
      const { walks, places } = this.data;
      const width = picture.clientWidth || 326;
      const narrow = width < 340;
      const low = narrow ? 138 : 206;
      const bars = Math.min(150, 0.25 * width); // as long as a weight of 1
      const base = width - bars - NUMBER;
      const cut = base - JOIN;
      const by = (n) => (divided ? Math.sqrt(n) : 1);
      const x = (n) => LEFT + (cut - LEFT) * n / features;
      const y = (score) => Math.max(TOP - 8, Math.min(low + 8, (low + TOP) / 2 - (low - TOP) / 2 * score / (this.reach / (divided ? by(places.at(-1)) : 1))));
      const text = (x, y, kind, words) => shape("text", { x, y, class: kind }, words);
      const first = divided ? features / 60 : 0; // one feature divided by 1 says nothing yet
      const past = places.filter((n) => n >= first && n < features);
      const line = (walk, end) => `M${past.map((n) => `${x(n)},${y(walk[places.indexOf(n)] / by(n))}`).join(" L")} L${cut},${y(end)}`;
      const root = (sign) => range(41).map((i) => first + (features - first) * (i / 40) ** 2)
        .map((n) => `${x(n)},${y(sign * Math.sqrt(n) / by(n))}`);
      const [here, ...others] = [this.row, ...range(walks.length).filter((row) => row !== this.row)].map((row) => walks[row]);
      const ranks = range(before.length).sort((i, j) => before[j] - before[i]); // the best one is the first
      const slot = (low - TOP) / ranks.length;
      const best = (rank) => (rank ? "" : "best");
      const level = Math.sqrt(features) / by(features);
      const apart = y(0) - y(level);
      picture.setAttribute("height", low + 32);
      picture.replaceChildren(
        shape("path", { class: "inner", d: `M${root(1).join(" L")} L${root(-1).reverse().join(" L")} Z` }),
        shape("path", { class: "axis", d: `M${LEFT},${y(0)} H${cut}` }),
        ...others.flatMap((walks) => this.sums(walks, features).map((end, i) =>
          shape("path", { class: "walk", d: line(walks[i], end / by(features)) }))),
        ...ranks.map((_, k) => ranks.length - 1 - k).map((rank) =>
          shape("path", { class: `walk key ${best(rank)}`, d: line(here[ranks[rank]], before[ranks[rank]]) })),
        ...[1, -1].map((sign) => shape("path", { class: "root", d: `M${root(sign).join(" L")}` })),
        ...[1, 0, -1].filter((sign) => !sign || apart > 13).map((sign) => text(LEFT - 6, y(sign * level) + 5, "end ink",
          `${sign < 0 ? "−" : ""}${sign ? (divided ? 1 : this.root(features)) : 0}`)),
        shape("path", { class: "cut", d: `M${cut},${TOP - 6} V${low + 8}` }),
        ...ranks.flatMap((key, rank) => {
          const middle = TOP + (rank + 0.5) * slot;
          const bar = (kind, weight) => shape("rect", { class: kind, x: base, y: middle - 0.34 * slot, height: 0.68 * slot,
            width: Math.max(1, bars * weight) });
          return [
            shape("path", { class: `join ${best(rank)}`, d: `M${cut},${y(now[key])} C${cut + 18},${y(now[key])} ${base - 18},${middle} ${base - 3},${middle}` }),
            bar(`share ${best(rank)}`, weights[key]), ...(this.lift && was[key] > 0.02 ? [bar("before", was[key])] : [])];
        }).reverse(),
        ...ranks.map((key, rank) => shape("circle", { class: `dot ${best(rank)}`, r: 5, cx: cut, cy: y(now[key]) })).reverse(),
        text(base + bars * weights[ranks[0]] + 6, TOP + 0.5 * slot + 5, "weight", fixed(weights[ranks[0]])),
        text(LEFT, 10, "scores", `${ranks.length} scores`), text(base, 10, "weight", "weights"),
        text(LEFT, low + 26, "middle", "0"), text(cut + 4, low + 26, "end ink", `d = ${Math.round(features)}${narrow ? "" : " features"}`));
    }

    numbers() {
      const [a, b] = [this.measure(false, this.raised), this.measure(true, this.raised)];
      const both = (name, of) => [name, ...of(a), ...of(b)];
      return [["", "q·k", "weight", "q·k ÷ √d", "weight"],
        ...a.weights.map((_, j) => both(`key ${j + 1}`, ({ scores, weights }) =>
          [fixed(scores[j], 3), fixed(weights[j], 3)])),
        both("largest weight", ({ largest }) => ["", fixed(largest, 3)]),
        both("size of the Jacobian", ({ jacobian }) => ["", fixed(jacobian, 3)])];
    }
  };
});
