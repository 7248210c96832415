// Scores that can be dragged. A curve, that of eˢ or of another rule, turns each into a bar, and the
// shares of the bars in their sum are the weights.
attnbook.define("softmax", ({ Interactive, element, shape, range, sum, fixed }) => {
  const [STEP, MOVES] = [0.1, 600]; // of a score, by an arrow key; ms of a change of all scores, or of the curve
  const FACTORS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5];
  // heights: the first track and from one to the next, the plot and the line at 0 below it, the
  // whole, and the names of its pieces
  const [TRACK, APART, TOP, BASE, WHOLE, THICK, NAMES, HIGH] = [15, 34, 98, 244, 304, 36, 364, 386];
  const [ABOVE, BELOW] = [38, 20]; // room for the numbers above a bar, and below one that hangs down
  const [PILL, LETTER] = [[46, 26], 8.8]; // width and height of a handle; about the width of a letter

  const text = (x, y, kind, ...parts) => shape("text", { x, y, class: kind }, ...parts);
  const raised = (number) => shape("tspan", { dy: -6, "font-size": 12 }, number);
  // what a rule makes of a score, the part that has room at first, and how its curve is called
  const RULES = [
    { name: "softmax", of: Math.exp, fits: 6, called: (score) => ["e", raised(score)],
      says: "Each bar is as high as the curve above its score. The weights stay positive, and they sum to 1." },
    { name: "scores", of: (score) => score, fits: 2.5, called: (score) => [score],
      says: "This curve is a straight line, so a score below 0 can become a negative weight, and a weight can exceed 1 (red)." },
    { name: "squares", of: (score) => score * score, fits: 5,
      called: (score) => [score === "score" ? "score²" : `(${score})²`],
      says: "This curve rises on both sides, so a score of −2 gets as much weight as a score of 2." },
    { name: "ReLU", of: (score) => Math.max(0, score), fits: 2.5, called: (score) => [`max(0, ${score})`],
      says: "Every score below 0 gets the weight 0, even if the score rises a little." },
    { name: "sigmoid", of: (score) => 1 / (1 + Math.exp(-score)), fits: 1.3, called: () => ["sigmoid"],
      says: "This curve flattens out, so two scores far above 0 get nearly equal weights." },
  ];

  // with as many digits as one reads; what is positive is never written as 0
  function size(number, digits = 2) {
    if (number < 0) return `−${size(-number, digits)}`;
    if (number === 0 || (number >= 0.5 / 10 ** digits && number < 1e4))
      return fixed(number, number < 10 ? digits : number < 100 ? 1 : 0);
    const [digit, power] = number.toExponential(0).split("e");
    if (number < 1 && number >= 1e-4) return number.toPrecision(1);
    return `${digit}·10${[...power.replace("+", "")].map((sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign] ?? "⁻").join("")}`;
  }

  // what is above 0 is not called 0
  const share = (weight) => (weight > 0 && weight < 0.005 ? ">\u00a00" : fixed(weight, Math.abs(weight) < 10 ? 2 : 0));
  const spoken = (weight) => share(weight).replace(">\u00a0", "almost ");
  const same = (a, b) => Math.abs(a - b) < 5e-4 * Math.abs(b) || Math.abs(a - b) < 1e-9;

  return class Softmax extends Interactive {
    static LINES = 3;
    static STYLE = `
      .controls { align-items: center; gap: .4rem .7rem; } .below { margin: .4rem 0 0; }
      .rules { display: flex; flex: 1 1 100%; flex-wrap: wrap; gap: .3rem; }
      .rules button { flex: 1 1 auto; padding: .1rem .3rem; font-size: 14px; }
      .rules [aria-pressed="true"] { border: 2px solid var(--weights); color: var(--weights); font-weight: 600; }
      .controls label { flex: 1 1 13rem; color: var(--soft); font-size: 13px; white-space: nowrap; gap: .3rem; }
      .controls input { flex: 1 1 4rem; min-width: 4rem; accent-color: var(--weights); }
      .controls label > output { min-width: 2.9em; font-size: 14px; }
      svg text { text-anchor: middle; paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
      svg :is(.word, .share) { fill: var(--key); font-size: 15px; font-weight: 600; } svg .share { fill: var(--weights); }
      svg .ink { fill: var(--ink); } svg .big { font-size: 15px; }
      svg .curve { fill: none; stroke: var(--weights); stroke-width: 2.5; }
      svg .called { fill: var(--weights); font-size: 17px; font-weight: 600; }
      svg :is(.share, .change) { stroke: none; } svg :is(.share, .change).in { fill: var(--paper); }
      svg .change:not(.in) { fill: var(--ink); } svg .share.outside:not(.in) { fill: var(--wrong); }
      svg .start { text-anchor: start; } svg .end { text-anchor: end; }
      .track { stroke: var(--line); stroke-width: 4; stroke-linecap: round; }
      .rule { stroke: var(--line); stroke-width: 1.5; } .one { fill: none; stroke: var(--ink); stroke-width: 1.5; }
      .stem { stroke: var(--key); stroke-width: 1.5; } .guide { stroke: var(--weights); stroke-width: 1.5; }
      .dot { fill: var(--weights); stroke: var(--paper); stroke-width: 1.5; }
      .part, .piece { fill: var(--weights); } .flow { fill: var(--weights); opacity: .22; }
      :is(.part, .piece, .flow).outside { fill: var(--wrong); }
      .handle { cursor: ew-resize; } .handle rect { fill: var(--key); stroke: var(--paper); stroke-width: 1.5; }
      .handle .grip { fill: transparent; stroke: none; }
      .handle path { fill: none; stroke: var(--key); stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
      svg .handle text { fill: var(--paper); stroke: none; font-weight: 600; }
      .handle:hover path { stroke-width: 3; } .handle:focus-visible { outline: none; }
      .handle:focus-visible .pill { stroke: var(--weights); stroke-width: 4; }
      .reading * { --wait: calc(.7s * var(--i)); }
      .reading .stem { stroke-dasharray: 1; animation: read .3s var(--wait) backwards; }
      .reading .dot { animation: appear .1s calc(var(--wait) + .3s) backwards; }
      .reading .guide { stroke-dasharray: 1; animation: read .3s calc(var(--wait) + .3s) backwards; }
      .reading .bar { animation: appear .2s calc(var(--wait) + .6s) backwards; }
      .reading .sent { animation: appear .5s 2.2s backwards; }
      @keyframes read { from { stroke-dashoffset: 1; } } @keyframes appear { from { opacity: .15; } }
    `;

    build() {
      const { words, scores, largest } = this.data;
      this.now = { scores: [...scores], factor: 1 };
      this.aim = this.now; // where all of it is once nothing moves
      [this.rule, this.before, this.bend] = [RULES[0], RULES[0], 1]; // how far the curve has come from that before
      this.begin(null);
      const button = (name, onclick) => element("button", { type: "button", onclick }, name);
      this.rules = RULES.map((rule) => button(rule.name, () => this.send(null, this.aim, rule)));
      [this.more, this.less] = [["Add 1 to all", 1], ["Subtract 1", -1]].map(([name, by]) => button(name, () => this.shift(by)));
      this.twice = button("Double all", () => this.twice.ariaDisabled === "false"
        && this.send("factor", { ...this.aim, factor: 2 * this.aim.factor }));
      this.showFactor = this.slider("All scores ×", { min: 0, max: FACTORS.length - 1, value: FACTORS.indexOf(1),
        text: (place) => `× ${FACTORS[place]}` }, (place) => this.multiply(FACTORS[place]));
      const input = this.controls.querySelector("input");
      input.closest("label").firstChild.replaceWith(element("span", {}, "even"));
      input.after(element("span", {}, "winner takes all"));
      this.drawing = shape("g", { "aria-hidden": "true" });
      this.handles = words.map((word, i) => this.handle(word, i, largest));
      this.picture = shape("svg", { height: HIGH }, this.drawing, ...this.handles.map(({ node }) => node));
      this.stage.append(this.picture, element("div", { class: "controls below" }, this.more, this.less, this.twice,
        element("div", { class: "rules", role: "group", "aria-label": "Rule" }, ...this.rules)));
      this.whenResized(this.picture, () => this.paint());
      this.onceByItself(() => this.stage.classList.add("reading"));
    }

    handle(word, i, largest) {
      const [wide, high] = PILL;
      const shown = text(0, 5);
      const node = shape("g", { class: "handle", role: "slider", tabindex: 0, "aria-label": `Score of ${word}`,
        "aria-valuemin": -largest, "aria-valuemax": largest,
        onkeydown: (event) => this.key(event, i),
        ontouchstart: (event) => event.preventDefault(), // a finger here moves the score only
        onpointerdown: (event) => {
          node.setPointerCapture(event.pointerId);
          node.focus();
          this.begin(i);
          this.held = { x: event.clientX, score: this.now.scores[i] };
        },
        onpointermove: (event) => node.hasPointerCapture(event.pointerId) && this.move(i,
          this.held.score + STEP * Math.round((event.clientX - this.held.x) / this.unit / STEP)) },
      shape("rect", { class: "grip", x: -wide / 2 - 10, y: -22, width: wide + 20, height: 44 }),
      shape("path", { d: `M${-wide / 2 - 4},-5 l-5,5 l5,5 M${wide / 2 + 4},-5 l5,5 l-5,5` }),
      shape("rect", { class: "pill", x: -wide / 2, y: -high / 2, width: wide, height: high, rx: high / 2 }), shown);
      return { node, shown };
    }

    key(event, i) {
      const { largest } = this.data;
      const by = { ArrowUp: STEP, ArrowRight: STEP, ArrowDown: -STEP, ArrowLeft: -STEP,
        PageUp: 1, PageDown: -1, Home: -2 * largest, End: 2 * largest }[event.key];
      if (!by) return;
      event.preventDefault();
      if (this.told !== i) this.begin(i);
      this.move(i, this.now.scores[i] + by);
    }

    // What comes now is compared with what there is: told says what changes it, which is the place of
    // a word, "factor", "more" or "less". Null if nothing has been done.
    begin(told) {
      cancelAnimationFrame(this.frame);
      this.stage.classList.remove("reading");
      this.now = this.aim;
      this.bend = 1;
      this.told = told;
      this.since = { ...this.now, ...this.measure() };
    }

    move(i, score) {
      const { largest } = this.data;
      const scores = [...this.now.scores];
      scores[i] = Math.min(largest, Math.max(-largest, score));
      this.now = this.aim = { ...this.now, scores };
      this.draw();
    }

    multiply(factor) {
      if (this.told !== "factor") this.begin("factor");
      this.now = this.aim = { ...this.now, factor };
      this.draw();
    }

    inside(by) {
      return this.aim.scores.every((score) => Math.abs(score + by) <= this.data.largest + 1e-9);
    }

    shift(by) {
      if (this.inside(by))
        this.send(by > 0 ? "more" : "less", { ...this.aim, scores: this.aim.scores.map((score) => score + by) });
    }

    // to other scores or another factor, or with the same ones to another rule
    send(told, aim, rule = this.rule) {
      this.begin(told);
      const from = this.now;
      [this.aim, this.before, this.rule] = [aim, this.rule, rule];
      if (told === null) this.since = null;
      this.glide((part) => {
        const between = (a, b) => a + (b - a) * part;
        this.bend = part;
        this.now = part === 1 ? aim : { factor: between(from.factor, aim.factor),
          scores: from.scores.map((score, i) => between(score, aim.scores[i])) };
        this.draw();
      }, false, MOVES);
    }

    // a number on its way from one rule to the next
    bent(of) {
      return of(this.before) + (of(this.rule) - of(this.before)) * this.bend;
    }

    // the height of the curve at a score
    part(score) {
      return this.bent(({ of }) => of(this.now.factor * score));
    }

    measure() {
      const parts = this.now.scores.map((score) => this.part(score));
      const [whole, most] = [sum(parts), sum(parts.map(Math.abs))];
      return { parts, whole, weights: parts.map((part) => (Math.abs(whole) <= 1e-6 * most ? null : part / whole)) };
    }

    // by how much a weight has changed; nothing before anything has been done
    change(weight, i) {
      const before = this.since?.weights[i] ?? null;
      if (this.told === null || weight === null || before === null) return "";
      return same(weight, before) ? "same" : before ? `× ${size(weight / before)}` : "new";
    }

    paint() {
      const width = this.picture.clientWidth || 326;
      const now = this.measure();
      const place = this.placeIn(width, width < 480, now);
      this.unit = place.x(1) - place.x(0);
      this.drawing.replaceChildren(...this.plot(place), ...this.bars(now, place), ...this.wholeOf(now, place));
      this.handles.forEach(({ node, shown }, i) => {
        const score = this.now.scores[i];
        node.setAttribute("transform", `translate(${place.x(score)} ${TRACK + APART * i})`);
        node.setAttribute("aria-valuenow", fixed(score).replace("−", "-"));
        node.setAttribute("aria-valuetext", `${fixed(score)}, weight ${now.weights[i] === null ? "none" : share(now.weights[i])}`);
        shown.textContent = fixed(score);
      });
      this.rules.forEach((button, k) => button.setAttribute("aria-pressed", RULES[k] === this.rule));
      this.more.setAttribute("aria-disabled", !this.inside(1));
      this.less.setAttribute("aria-disabled", !this.inside(-1));
      this.twice.setAttribute("aria-disabled", !FACTORS.includes(2 * this.aim.factor));
      this.showFactor(FACTORS.indexOf(this.aim.factor));
      if (this.now === this.aim && this.bend === 1) this.say(this.explain(now));
    }

    // where scores and parts are: the plot on the left, a bar for each word on the right
    placeIn(width, narrow, { parts }) {
      const { words, largest } = this.data;
      const end = width - (narrow ? 128 : 236);
      const inset = PILL[0] / 2 + 10;
      const column = (width - end - 4) / words.length;
      const highest = Math.max(this.bent(({ fits }) => fits), ...parts);
      const lowest = Math.min(0, ...parts);
      const under = lowest < 0 ? BELOW : 0;
      const unit = (BASE - TOP - ABOVE - under) / (highest - lowest);
      const zero = BASE - under + unit * lowest;
      return { width, narrow, end, column, bar: Math.min(44, column - 10), zero, top: highest + ABOVE / unit,
        x: (score) => inset + (end - 2 * inset) * (score + largest) / (2 * largest), y: (part) => zero - unit * part,
        at: (i) => end + 4 + (i + 0.5) * column };
    }

    // the tracks of the scores, and below them the curve
    plot({ x, y, zero, end, width, top }) {
      const { words, largest } = this.data;
      const { factor } = this.now;
      const all = range(321).map((n) => largest * (n / 160 - 1));
      const seen = all.filter((score) => Math.abs(this.part(score)) <= top && y(this.part(score)) <= BASE + 4);
      const called = seen.findLast((score) => y(this.part(score)) >= TOP + 8) ?? 0;
      const beside = called < largest - 0.5; // the curve's upper end, above the largest bar's number; else above the curve
      const name = factor === 1 ? "score" : `${Number(factor.toFixed(2))}·score`;
      return [
        ...words.flatMap((word, i) => {
          const middle = TRACK + APART * i;
          const right = this.now.scores[i] < -1.2; // where the handle leaves room for the word
          const room = LETTER * word.length + 6;
          return [
            shape("path", { class: "track", d: right ? `M${x(-largest)},${middle} H${end - room}`
              : `M${Math.max(x(-largest), room)},${middle} H${x(largest)}` }),
            text(right ? end : 0, middle + 5, `word ${right ? "end" : "start"}`, word),
          ];
        }),
        shape("path", { class: "rule", d: `M${x(-largest)},${zero} H${width}` }),
        ...[-4, -2, 0, 2, 4].filter((score) => Math.abs(score) <= largest).flatMap((score) => [
          shape("path", { class: "rule", d: `M${x(score)},${zero} v5` }),
          text(x(score), BASE + 18, "", String(score).replace("-", "−"))]),
        shape("path", { class: "curve", d: `M${seen.map((score) => `${x(score)},${y(this.part(score))}`).join(" L")}` }),
        text(beside ? x(called) + 9 : end, beside ? TOP + 13 : y(this.part(called)) - 9, `called ${beside ? "start" : "end"}`,
          ...this.rule.called(name)),
      ];
    }

    // from each score down to the curve, and across to its bar; above the bars is their sum
    bars({ parts, whole }, { x, y, zero, at, bar, narrow }) {
      const { words } = this.data;
      const { scores, factor } = this.now;
      const middle = at((words.length - 1) / 2);
      const all = parts.map((part) => size(part)).join(" + ").replaceAll("+ −", "− ");
      return [
        ...parts.flatMap((part, i) => [
          shape("path", { class: "stem", pathLength: 1, style: `--i: ${i}`,
            d: `M${x(scores[i])},${TRACK + APART * i} V${y(part)}` }),
          shape("path", { class: "guide", pathLength: 1, style: `--i: ${i}`, d: `M${x(scores[i])},${y(part)} H${at(i) - bar / 2}` })]),
        ...parts.flatMap((part, i) => {
          const [low, high, below] = [Math.max(zero, y(part)), Math.min(zero, y(part)), part < 0];
          return [
            shape("circle", { class: "dot", r: 4.5, cx: x(scores[i]), cy: y(part), style: `--i: ${i}` }),
            shape("g", { class: "bar", style: `--i: ${i}` },
              shape("rect", { class: `part ${below ? "outside" : ""}`, x: at(i) - bar / 2, width: bar, y: high, height: low - high }),
              text(at(i), below ? low + 16 : high - 7, "ink big", size(part)),
              ...(narrow || this.rule !== RULES[0] || this.bend < 1 ? []
                : [text(at(i), high - 24, "", "e", raised(fixed(factor * scores[i])))]),
              text(at(i), BASE + 18, "word", words[i])),
          ];
        }),
        text(middle, 19, "", "sum of the bars"),
        text(middle, 40, "ink big", narrow ? size(whole) : `${all} = ${size(whole)}`),
        ...(narrow ? ["weight =", `bar ÷ ${size(whole)}`] : [`weight = bar ÷ ${size(whole)}`])
          .map((line, k) => text(middle, 66 + 17 * k, "", line)),
      ];
    }

    // The whole with its pieces. What is negative goes back from the end of the others, below it.
    wholeOf({ weights }, { width, narrow, at, bar }) {
      const box = (x, width, kind) => shape("rect", { class: kind, x, y: WHOLE, width, height: THICK });
      if (weights.includes(null))
        return [box(1, width - 2, "one"), text(width / 2, WHOLE + 23, "share outside", "The sum is 0: no weights")];
      const above = sum(weights.filter((weight) => weight > 0));
      const unit = (width - 2) / above;
      let [next, back] = [1, 1 + unit * above];
      const ends = weights.map((weight) => (weight < 0 ? [back += unit * weight, back - unit * weight]
        : [next, next += unit * weight]));
      const { names, kinds, lefts, inside } = this.named(weights, ends, narrow, width);
      const [top, bend] = [BASE + 27, (BASE + 27 + WHOLE) / 2];
      return [
        ...ends.map(([from, to], i) => shape("path", { class: `flow sent ${kinds[i]}`, d: `M${at(i) - bar / 2},${top} `
          + `C${at(i) - bar / 2},${bend} ${from},${bend} ${from},${WHOLE} H${to} `
          + `C${to},${bend} ${at(i) + bar / 2},${bend} ${at(i) + bar / 2},${top} Z` })),
        ...ends.map(([from, to], i) => shape("rect", { class: `piece sent ${kinds[i]}`, x: from + 0.75,
          y: weights[i] < 0 ? WHOLE + THICK + 3 : WHOLE, height: weights[i] < 0 ? 7 : THICK,
          width: Math.max(weights[i] ? 0.5 : 0, to - from - 1.5) })),
        ...(above > 1.005 ? [box(1, unit, "one"), text(unit, WHOLE - 6, "ink end", "the whole: 1")] : []),
        ...names.flatMap((name, i) => {
          const change = this.change(weights[i], i);
          return [
            text(lefts[i], inside(i) ? WHOLE + (change ? 16 : 23) : NAMES, `share sent ${kinds[i]} ${inside(i) ? "in" : ""}`, name),
            text(lefts[i], inside(i) ? WHOLE + 31 : NAMES + 17, `change ${inside(i) ? "in" : ""}`, change)];
        })];
    }

    // the names of the pieces, which do not overlap: in its piece, or side by side below
    named(weights, ends, narrow, width) {
      const names = weights.map((weight, i) => `${this.data.words[i]} ${share(weight)}`);
      const kinds = weights.map((weight) => (weight < 0 || weight > 1 ? "outside" : ""));
      const half = names.map((name) => LETTER * name.length / 2 + (narrow ? 5 : 10));
      const lefts = ends.map(([from, to]) => (from + to) / 2);
      const inside = (i) => weights[i] > 0 && 2 * half[i] <= ends[i][1] - ends[i][0];
      const below = range(names.length).filter((i) => !inside(i)).sort((i, j) => lefts[i] - lefts[j]);
      below.forEach((i, k) => {
        const last = below[k - 1];
        lefts[i] = Math.max(lefts[i], k ? lefts[last] + half[last] + half[i] : half[i]);
      });
      below.reverse().forEach((i, k) => {
        const next = below[k - 1];
        lefts[i] = Math.min(lefts[i], k ? lefts[next] - half[next] - half[i] : width - half[i]);
      });
      return { names, kinds, lefts, inside };
    }

    explain({ weights, whole }) {
      const usual = this.rule === RULES[0];
      if (weights.includes(null)) return "The bars sum to 0, and nothing can be divided by 0. So this rule gives no weights.";
      if (this.told === null || this.since.weights.includes(null)) return this.rule.says;
      if (this.told === "factor") return this.explainFactor(weights, usual);
      if (typeof this.told === "number") return this.explainOne(this.told, this.since.whole / whole);
      const first = weights.findIndex((weight, i) => !same(weight, this.since.weights[i]));
      const how = this.told === "more" ? "Adding" : "Subtracting";
      return usual ? `Each exponential is ${this.told === "more" ? "multiplied" : "divided"} by ${fixed(Math.E ** this.now.factor)}, `
        + "and so is their sum. So no weight changes."
        : first < 0 ? `${how} 1 changes no weight.`
          : `${how} 1 changes the weights: that of ${this.data.words[first]} goes from ${spoken(this.since.weights[first])} to ${
            spoken(weights[first])}. With softmax, no weight changes.`;
    }

    explainOne(moved, by) {
      const [score, before] = [this.now.scores[moved], this.since.scores[moved]];
      if (same(by, 1)) return score === before
        ? "The score is as it was, and so is every weight." : "Its bar stays as high as it was, so no weight changes.";
      const doing = `${score > before ? "Raising" : "Lowering"} ${this.data.words[moved]}`;
      if (by < 0 || this.since.weights.some((weight) => weight < 0)) return `${doing} multiplies every other weight by ${size(by)}.`;
      const others = this.data.words.filter((_, i) => i !== moved);
      return `${doing} ${by < 1 ? "takes weight from" : "gives weight to"} ${others.join(" and ")}` + (others.length > 1 ? ` in the same proportion: both × ${size(by)}.` : ".");
    }

    explainFactor(weights, usual) {
      const [{ factor }, best] = [this.now, weights.indexOf(Math.max(...weights))];
      const has = `${this.data.words[best]} has ${share(weights[best])} of the weight.`;
      if (!usual) return weights.every((weight, i) => same(weight, this.since.weights[i]))
        ? factor === this.since.factor ? "The scores are as they were, and so is every weight."
          : `All scores × ${factor}, and no weight changes. So larger scores can't make this rule sharper.` : `All scores × ${factor}: ${has}`;
      const temperature = `(temperature T = ${factor ? size(1 / factor) : "∞"})`;
      return factor === 0 ? `All scores × 0 ${temperature}: each e⁰ is 1, so the weights are even.`
        : `All scores × ${factor} ${temperature}: ${has}`
          + (factor === 2 * this.since.factor ? " Twice the scores, and each ratio of two weights is squared." : "");
    }

    numbers() {
      const [{ parts, whole, weights }, { scores, factor }] = [this.measure(), this.now];
      return [["word", "score", "× factor", "bar", "weight"],
        ...this.data.words.map((word, i) => [word, fixed(scores[i], 3), fixed(factor * scores[i], 3),
          size(parts[i], 3), weights[i] === null ? "none" : size(weights[i], 3)]),
        ["sum", "", "", size(whole, 3), weights.includes(null) ? "none" : fixed(sum(weights), 3)]];
    }
  };
});
