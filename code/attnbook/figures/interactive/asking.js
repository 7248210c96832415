// Words of a sentence that ask each other: one whose question can be changed, in three steps; all at
// once, as ribbons; or one that is worked out, which asking_table.js has.
attnbook.define("asking", (shared) => {
  const { Interactive, element, shape, range, sum, dot, softmax, fixed, ribbons, percent, still } = shared;
  const WORD = 100; // width of a word, in the units of the ribbons
  const FAINT = 0.004; // weights that are not drawn
  const HEARD = 0.2; // a weight from which on a word counts for the verdict
  const SEEN = 0.05; // a product from which on it is drawn
  const PAUSES = [1200, 2600]; // milliseconds from one step to the next
  const TRAVEL = 1100; // milliseconds that the points of the query need to the words
  const STEPS = ["ask", "weigh", "mix"];
  const points = (count) => range(count).map(() => element("i", { class: "point" }));

  return class Asking extends attnbook.askingTable(shared, Interactive) {
    static LINES = 4;
    static STYLE = `
      :host { container-type: inline-size; }
      .said { position: absolute; width: 1px; height: 1px; min-height: 0; margin: 0;
        overflow: hidden; clip-path: inset(50%); } /* the picture says it */
      .frame { position: relative; }
      .words, .mixture { --columns: 3.4rem repeat(var(--words), minmax(0, 1fr)); }
      .words { --label: 1; display: grid; align-items: center; text-align: center;
        grid-template-columns: var(--columns); }
      .chip { min-width: 0; min-height: 2.2rem; margin: 0 .2rem; padding: 0 .1rem; box-sizing: border-box;
        line-height: 2rem; font-size: clamp(14px, 2.4cqi, 18px); font-weight: 600;
        background: var(--paper); border: 1.5px solid var(--soft); border-radius: .5rem; }
      .chip.asks { color: var(--query); border-color: var(--query);
        box-shadow: inset 0 0 0 1px var(--query); }
      button.chip { cursor: pointer; }
      button.chip:hover { background: var(--hover); }
      .weight { color: var(--weights); font-weight: 600; font-variant-numeric: tabular-nums; }
      .query { color: var(--query); } .key { color: var(--key); } .value { color: var(--value); }
      .words :is(.key, .fit, .weight) { font-size: clamp(13px, 2cqi, 16px); line-height: 1.5rem; }
      .words .label { grid-column: var(--label); text-align: left; font-size: 13px; font-weight: 600;
        line-height: 1.15; }
      .words .found { border-color: var(--key); color: var(--key); }
      .ribbons { grid-column: calc(var(--label) + 1) / -1; height: 4.4rem; }
      .ribbons path { fill: var(--weights); opacity: .13; vector-effect: non-scaling-stroke; }
      .ribbons .on { opacity: .78; stroke: var(--weights); stroke-width: 1.3px; } /* small ones, too */
      .hands { grid-column: calc(var(--label) + 1) / -1; display: grid; align-items: center;
        grid-template-columns: repeat(var(--words), minmax(0, 1fr)); }
      .hands span { height: 15px; border-left: 1px solid var(--soft); margin: 0 10% 0 calc(10% - 1px); }
      .hands i { display: block; height: 11px; margin: 2px 0; background: linear-gradient(90deg,
        var(--value) var(--taken), color-mix(in srgb, var(--value) 22%, var(--paper)) 0); }
      .words .name { font-weight: 400; color: var(--value); }
      .step { grid-column: 1 / -1; display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .5rem;
        align-items: center; margin: .3rem 0 0; padding: .1rem; text-align: left; border: 0;
        line-height: 1.25; font-size: 14px; cursor: pointer; }
      .step b { color: var(--role); }
      .number-of { display: inline-block; width: 1.6rem; height: 1.6rem; border: 1.5px solid var(--role);
        border-radius: 50%; box-sizing: border-box; font: 600 15px/1.45rem var(--book-sans, sans-serif);
        text-align: center; color: var(--role); }
      .step:hover i, .step[aria-pressed="true"] i { background: var(--role); color: var(--paper); }
      [data-step="1"] :is(.two, .three), [data-step="2"] .three { opacity: 0; }
      .point { display: inline-block; width: var(--point); height: var(--point); border-radius: 50%;
        box-sizing: border-box; background: var(--query); border: 1.5px solid var(--query); }
      .point.none { background: none; border-color: color-mix(in srgb, var(--soft) 60%, var(--paper)); }
      .wishes { grid-column: 1 / -1; display: flex; flex-wrap: wrap; gap: .1rem 1.4rem;
        align-items: center; margin-bottom: .9rem; }
      .wish { gap: .5rem; color: var(--query); --point: 16px; --pitch: 22px; }
      .wish span:first-child { min-width: 3.3rem; text-align: left; }
      .slots { position: relative; display: flex; border-radius: .3rem; }
      .slots .point { margin: 8px calc((var(--pitch) - var(--point)) / 2); }
      .slots:has(:focus-visible) { outline: 3px solid var(--weights); }
      .slots input { position: absolute; left: calc(-1 * var(--pitch)); top: 0; height: 100%; opacity: 0;
        width: calc(100% + var(--pitch)); appearance: none; cursor: pointer; }
      .slots input::-webkit-slider-thumb { appearance: none; width: var(--pitch); height: 2rem; }
      .slots input::-moz-range-thumb { width: var(--pitch); height: 2rem; border: 0; }
      .wishes p { margin: 0; font-size: 14px; line-height: 1.25; text-align: left; }
      .words .fit { --point: 7px; display: flex; gap: 3px; justify-content: center; align-items: center; }
      .fit .dots { display: flex; flex-wrap: wrap; gap: 1px; max-width: 31px; }
      .fit .point { position: relative; z-index: 2; }
      .self { grid-column: calc(var(--label) + var(--row) - 1); }
      .mixture { grid-column: var(--label) / -1; display: grid; grid-template-columns: var(--columns);
        align-items: center; margin: 10px 0 8px; padding: .1rem 0 .3rem; outline: 2px solid var(--value);
        outline-offset: 6px; border-radius: .3rem; }
      .mixture .name { grid-column: 1; text-align: left; color: var(--value); font-size: 13px; }
      .mixture .terms { grid-column: 2 / var(--row); display: grid; align-content: center; height: 2rem;
        justify-self: end; font-size: 13px; line-height: 1.15; text-align: right; }
      .mixture .bar { grid-column: var(--row); display: flex; align-items: center; margin-inline: 10%;
        height: 2rem; }
      .bar .part { flex: none; height: 15px; background: var(--value);
        box-shadow: inset -1px 0 var(--paper); }
      .bar::before { content: ""; height: 19px; border-left: 1px solid var(--soft); margin-left: -1px; }
      .bar .number { padding-left: .4rem; font-weight: 600; font-variant-numeric: tabular-nums; }
      .verdict { grid-column: 1 / -1; margin: .3rem 0 0; font-size: 16px; min-height: 2.6em;
        line-height: 1.3; }
      .voice { margin: .6rem 0 .2rem 3.4rem; text-align: center; font-size: 17px; min-height: 1.4em;
        color: var(--query); }
      @media (prefers-reduced-motion: no-preference) {
        .two, .three { transition: opacity .5s; } .fit.two { transition: none; }
        [data-step="2"] .two { transition-delay: ${TRAVEL}ms; } .part { transition: width .2s; } }
      @container (min-width: 40rem) {
        .words, .mixture { --columns: 3.9rem repeat(var(--words), minmax(0, 1fr)); }
        .drag .words { --label: 2; grid-template-columns: 11.2rem var(--columns); }
        .drag .step { grid-column: 1; margin-right: 1rem; } .weigh { grid-row: span 2; }
        .drag .ask { align-self: start; }
        .wishes { grid-column: 2 / -1; } .wish { --point: 14px; --pitch: 18px; }
        .wish span:first-child { min-width: 0; }
        .ribbons { height: 4.6rem; }
        .words .fit { --point: 11px; gap: 7px; } .fit .dots { max-width: none; gap: 3px; }
        .mixture { padding-top: 1.3rem; margin-top: 0; } .self { z-index: 1; margin-bottom: -1.1rem; }
        .mixture :is(.bar, .terms) { height: 1.5rem; }
        .mixture .terms { font-size: 14px; white-space: nowrap; }
        .verdict { min-height: 1.3em; }
      }
      .all { max-width: 46rem; margin: 0 auto; }
      .all .ribbons { height: 8rem; }
      @media print { .two, .three { opacity: 1 !important; } .point { transform: none !important; } }
    ` + super.TABLE_STYLE;

    build() {
      const { words, queries, row, view } = this.data;
      this.row = row;
      this.queries = queries.map((query) => [...query]);
      this.total = sum(queries[row]);
      this.shares = words.map(() => element("span", { class: "weight two" }));
      this.fall = WORD;
      this.ribbons = shape("svg", { class: "ribbons two", preserveAspectRatio: "none",
        "aria-hidden": "true" });
      this.words = element("div", { class: "words", style: `--words: ${words.length}` });
      this.voice = element("p", { class: "voice", "aria-hidden": "true" });
      ({ query: () => this.buildAsking(), ribbons: () => this.buildAll(),
        row: () => this.buildRow() })[view]();
      if (view !== "row") this.whenResized(this.ribbons, ([{ contentRect: { width, height } }]) => {
        this.fall = WORD * words.length * height / width; // so that nothing is stretched
        this.paint();
      });
    }

    label(text, role) {
      return element("span", { class: `label ${role}` }, text);
    }

    weights(i) {
      return softmax(this.data.keys.map((key) => dot(key, this.queries[i])));
    }

    // what a word takes in: the mean of the values with its weights
    output(i) {
      const weights = this.weights(i);
      return range(this.data.hands.length).map((k) =>
        sum(this.data.values.map((value, j) => weights[j] * value[k])));
    }

    paint() {
      const { words, voices, view } = this.data;
      const one = view === "query";
      const weights = this.weights(this.row);
      weights.forEach((weight, j) => {
        this.shares[j].textContent = percent(weight);
      });
      this.voice.replaceChildren(element("b", {}, words[this.row]), ` asks: “${voices[this.row]}”`);
      const at = (i, y) => ({ x: (i + 0.5) * WORD, width: WORD, y });
      const [lookers, looks] = one ? [[{ ...at(this.row, this.fall), width: WORD / 2 }], [weights]]
        : [words.map((_, i) => at(i, this.fall)), words.map((_, i) => this.weights(i))];
      this.ribbons.setAttribute("viewBox", `0 0 ${WORD * words.length} ${this.fall}`);
      this.ribbons.replaceChildren(
        ...ribbons(lookers, words.map((_, j) => at(j, 0)), looks, FAINT).map(({ looker, d }) =>
          shape("path", { d, class: one || looker === this.row ? "on" : null })));
      const most = words.map((word, j) => [weights[j], word]).sort(([a], [b]) => b - a)
        .slice(0, 2).map(([weight, word]) => `${percent(weight)} to “${word}”`);
      const takes = this.output(this.row)
        .map((amount, k) => `${this.data.hands[k]} ${fixed(amount, 1)}`);
      this.say(`${this.asks()} It gives ${most.join(" and ")}. `
        + `It takes in ${takes.join(", ")}.`);
      if (one) this.paintAsking(weights);
      else this.paintChips();
      if (view === "row") this.paintRow(weights);
    }

    asks() {
      const { words, voices, view, features } = this.data;
      const word = words[this.row];
      if (view !== "query") return `“${word}” asks: “${voices[this.row]}”`;
      const wanted = this.queries[this.row].map((count, k) => `${features[k]} ${count}`);
      return `“${word}” looks for ${wanted.join(", ")}.`;
    }

    // ------------------------------------------------------------------ one word and its question

    buildAsking() {
      const { words, features, keys, values, hands, row } = this.data;
      const bold = (text) => element("b", {}, text);
      this.stage.className = "drag";
      this.words.style.setProperty("--row", row + 2);
      this.largest = Math.max(...values.flat());
      this.fits = words.map(() => element("span", { class: "fit two" }));
      this.taken = words.map(() => []);
      const handed = (k) => element("div", { class: "hands three", "aria-hidden": "true" },
        ...values.map((value, j) => {
          const bar = element("i", { style: `width: ${100 * value[k] / this.largest}%` });
          this.taken[j].push(bar);
          return element("span", {}, bar);
        }));
      this.bars = hands.map(() => ({ terms: element("span", { class: "terms" }),
        number: element("span", { class: "number" }),
        parts: words.map((word) => element("div", { class: "part", title: word })) }));
      this.verdict = element("p", { class: "verdict" });
      const least = this.queries[row].indexOf(Math.min(...this.queries[row]));
      const [ask, weigh, mix] = this.steps = [
        ["query", bold(words[row]), " looks for"],
        ["weights", "The better a key ", bold("fits"), ", the larger its ", bold("weight"), "."],
        ["value", "A ", bold("mixture"), " of all values, each times its weight."],
      ].map(([role, ...text], k) => element("button", { type: "button", class: `step ${STEPS[k]}`,
        style: `--role: var(--${role})`, onclick: () => this.stepTo(k + 1) },
      element("i", { class: "number-of" }, k + 1), element("span", {}, ...text)));
      this.words.append(
        ask, element("div", { class: "wishes" }, ...features.map((name, k) => this.wish(name, k)),
          element("p", {}, `${this.total} dots in all. Give more of them to `,
            element("b", { class: "query" }, features[least]), ".")),
        this.label("", ""), ...words.map((word, i) =>
          element("span", { class: i === row ? "chip asks" : "chip" }, word)),
        this.label("key", "key"), ...keys.map((key) => element("span", { class: "key" }, this.kind(key))),
        weigh, this.label("fit", "two"), ...this.fits, this.label("weight", "weight two"), ...this.shares,
        this.label("value", "value three"), element("span", { class: "hands" }),
        ...hands.flatMap((name, k) => [this.label(name, "name three"), handed(k)]),
        this.label("", ""), this.ribbons,
        element("span", { class: "chip asks self two" }, words[row]),
        mix, element("div", { class: "mixture three" }, ...this.bars.flatMap(({ terms, number, parts }, k) =>
          [element("span", { class: "name" }, hands[k]), terms,
            element("div", { class: "bar" }, ...parts, number)]), this.verdict));
      this.stage.append(this.words);
      this.play();
    }

    kind(key) {
      return this.data.features.filter((_, k) => key[k]).join(", ") || "none";
    }

    // as many dots as the word gives to one feature, of all that it has
    wish(name, k) {
      const dots = points(this.total);
      const input = element("input", { type: "range", min: 0, max: this.total,
        "aria-label": `${name}, for which “${this.data.words[this.row]}” looks`,
        oninput: () => this.give(k, Number(input.value)) });
      (this.wishes ??= []).push({ dots, input });
      return element("label", { class: "wish" }, element("span", {}, name),
        element("span", { class: "slots" }, ...dots, input));
    }

    // What one feature gets more is taken from the one of the others that has most, and what it
    // gets less is given to the one that has least.
    give(k, wanted) {
      const query = this.queries[this.row];
      const way = Math.sign(wanted - query[k]);
      for (; query[k] !== wanted; query[k] += way) {
        const others = range(query.length).filter((i) => i !== k);
        query[others.reduce((a, b) => (way * (query[b] - query[a]) > 0 ? b : a))] -= way;
      }
      this.stepTo(3);
      this.draw();
    }

    // what belongs to later steps is not seen yet
    stepTo(step) {
      clearTimeout(this.later);
      this.stage.dataset.step = step;
      this.steps.forEach((button, k) => button.setAttribute("aria-pressed", k + 1 === step));
      if (step === 2 && !still()) this.travel();
    }

    // the points of the query go to the words whose keys they fit
    travel() {
      for (const [to, from] of this.trips) {
        const [a, b] = [from, to].map((node) => node.getBoundingClientRect());
        to.animate([{ transform: `translate(${a.x - b.x}px, ${a.y - b.y}px)` }, { transform: "none" }],
          { duration: TRAVEL, easing: "ease-in-out" });
      }
    }

    // step after step, once, when it comes into sight
    play() {
      this.stepTo(still() ? 3 : 1);
      const next = ([pause, ...others], step) => {
        this.later = setTimeout(() => {
          this.stepTo(step);
          if (others.length) next(others, step + 1);
        }, pause);
      };
      this.whenSeen(() => {
        if (this.stage.dataset.step === "1") next(PAUSES, 2);
      });
    }

    disconnectedCallback() {
      super.disconnectedCallback();
      if (this.steps) this.stepTo(3);
    }

    paintAsking(weights) {
      const { keys, values, words } = this.data;
      const query = this.queries[this.row];
      this.wishes.forEach(({ dots, input }, k) => {
        dots.forEach((point, i) => point.classList.toggle("none", i >= query[k]));
        input.value = query[k];
        input.setAttribute("aria-valuetext", `${query[k]} of ${this.total} points`);
      });
      this.trips = keys.flatMap((key, j) => {
        const from = query.flatMap((count, k) =>
          range(key[k] * count).map((i) => this.wishes[k].dots[i % count]));
        const dots = points(from.length || 1);
        dots[0].classList.toggle("none", !from.length);
        this.fits[j].replaceChildren(element("span", { class: "dots" }, ...dots),
          element("b", {}, from.length));
        return from.map((point, i) => [dots[i], point]);
      });
      this.taken.forEach((bars, j) =>
        bars.forEach((bar) => bar.style.setProperty("--taken", `${100 * weights[j]}%`)));
      const output = this.output(this.row);
      this.bars.forEach(({ number, parts, terms }, k) => {
        const products = values.map((value, j) => weights[j] * value[k]);
        const seen = words.flatMap((word, j) =>
          (products[j] < SEEN ? [] : [`${word} ${percent(weights[j])} × ${values[j][k]}`]));
        terms.textContent = seen.map((term) => term.replaceAll(" ", "\u00a0")).join(" + ");
        number.textContent = fixed(output[k], 1);
        parts.forEach((part, j) => {
          part.style.width = `${products[j] < SEEN ? 0 : 100 * products[j] / this.largest}%`;
        });
      });
      const heard = words.filter((_, j) => weights[j] >= HEARD);
      this.verdict.replaceChildren(`So “${words[this.row]}” now carries `,
        heard.length > 1 ? "a blend of " : "mostly what it found at ",
        ...heard.flatMap((word, k) => [k ? " and " : "", element("b", {}, word)]), ".");
    }

    numbers() {
      const { words, hands, view } = this.data;
      if (view === "query")
        return [["word", "weight", ...hands], ...words.map((word, j) =>
          [word, fixed(this.weights(this.row)[j], 3), ...this.data.values[j].map(String)]),
        ["mixture", "", ...this.output(this.row).map((amount) => fixed(amount, 3))]];
      return [["", ...words, ...hands], ...words.map((word, i) =>
        [word, ...this.weights(i).map((weight) => fixed(weight, 3)),
          ...this.output(i).map((amount) => fixed(amount, 3))])];
    }
  };
});
