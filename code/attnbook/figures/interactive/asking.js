// Words of a sentence that ask each other: one whose question can be changed, in three steps; all at
// once, as ribbons; or one that is worked out, which asking_table.js has.
attnbook.define("asking", (shared) => {
  const { Interactive, element, shape, fill, range, sum, dot, softmax, fixed, ribbons, percent, boxesIn, still } = shared;
  const WORD = 100; // width of a word, in the units of the ribbons
  const FAINT = 0.004; // weights that are not drawn
  const HEARD = 0.2; // a weight from which on a word counts for the verdict
  const TRAVEL = 1100; // milliseconds that the points of the query need to the words
  const [FLOW, LAG] = [1000, 140]; // those of the shares of a value down a ribbon, and before the next
  const WAITS = [300, 2000, TRAVEL + 1500]; // before each of three steps comes by itself
  const points = (count) => range(count).map(() => element("i", { class: "point" }));

  return class Asking extends attnbook.askingTable(shared, Interactive) {
    static LINES = 4;
    static STYLE = `
      :host { container-type: inline-size; }
      .said, .unseen { position: absolute; width: 1px; height: 1px; min-height: 0; margin: 0;
        overflow: hidden; clip-path: inset(50%); } /* the picture says it */
      .frame { position: relative; } .controls { display: none; }
      .words, .mixture { --columns: 3.4rem repeat(var(--words), minmax(0, 1fr)); }
      .words { --label: 1; display: grid; align-items: center; text-align: center;
        grid-template-columns: var(--columns); }
      .chip { min-width: 0; min-height: 2.2rem; margin: 0 .2rem; padding: 0 .1rem; box-sizing: border-box;
        line-height: 2rem; font-size: clamp(14px, 2.4cqi, 18px); font-weight: 600;
        background: var(--paper); border: 1.5px solid var(--soft); border-radius: .5rem; }
      .chip.asks { color: var(--query); border-color: var(--query);
        box-shadow: inset 0 0 0 1px var(--query); }
      button.chip { cursor: pointer; } button.chip:hover { background: var(--hover); }
      .weight { color: var(--weights); font-weight: 600; font-variant-numeric: tabular-nums; }
      .query { color: var(--query); } .key { color: var(--key); } .value { color: var(--value); }
      .words :is(.key, .none, .weight) { font-size: clamp(13px, 2cqi, 16px); line-height: 1.5rem; }
      .none { color: var(--soft); } .words .none { line-height: 1.15; }
      .words .label { grid-column: var(--label); text-align: left; font-size: 14px; font-weight: 600;
        line-height: 1.15; }
      .words .found { border-color: var(--key); color: var(--key); }
      .ribbons { grid-column: calc(var(--label) + 1) / -1; height: calc(1px * var(--high, 128)); }
      .ribbons path { fill: var(--weights); opacity: .13; vector-effect: non-scaling-stroke; }
      .ribbons .on { opacity: .78; stroke: var(--weights); stroke-width: 1.3px; } /* small ones, too */
      .mixture .bar { display: flex; align-items: center; height: 21px; white-space: nowrap;
        font-variant-numeric: tabular-nums; color: var(--value); }
      .bar::before { content: ""; flex: none; align-self: stretch; width: 13px; line-height: 21px;
        color: var(--soft); border-right: 1px solid var(--soft); }
      .bar + .bar::before { content: "+"; } .bar.sum::before { content: "="; }
      .bar i, .legend i { flex: none; height: 15px; margin-right: 3px; background: linear-gradient(var(--value) 0 0) 0 /
        var(--taken) no-repeat color-mix(in srgb, var(--value) 25%, var(--paper)); }
      .of { padding-left: 13px; text-align: left; line-height: 1.15; }
      .words .of .weight { display: block; font-size: 14px; line-height: 1.15; } .of i { display: none; }
      .legend { color: var(--value); } .legend i { display: inline-block; width: 18px; margin: 0 .2rem -2px 0; }
      .legend i + i { margin-left: .6rem; }
      .words .name { font-weight: 400; color: var(--value); }
      .step { grid-column: 1 / -1; display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .5rem;
        align-items: center; margin: .3rem 0 0; padding: .1rem; text-align: left; border: 0;
        line-height: 1.25; font-size: 14px; cursor: pointer; }
      .step b { color: var(--role); }
      .number-of { display: inline-block; width: 1.6rem; height: 1.6rem; border: 1.5px solid var(--role);
        border-radius: 50%; box-sizing: border-box; font: 600 15px/1.45rem var(--book-sans, sans-serif);
        text-align: center; color: var(--role); }
      .step:hover i, .step[aria-pressed="true"] i { background: var(--role); color: var(--paper); }
      [inert] { opacity: .25; } /* of later steps */
      .drag { --high: 62; font-size: 14px; } .more { display: none; } .whole { min-width: max-content; } .self { min-height: 1.75rem; line-height: 1.5rem; }
      .drag .shares { line-height: 1.6rem; height: 1.5rem; font-size: calc(13px + 5px * var(--share)); }
      .point { display: inline-block; width: var(--point); height: var(--point); border-radius: 50%;
        box-sizing: border-box; background: var(--query); border: 1.5px solid var(--query); }
      .point.none { background: none; border-color: color-mix(in srgb, var(--soft) 60%, var(--paper)); }
      .try { display: contents; } .try * { grid-column: 1 / -1; }
      .wishes { grid-column: 1 / -1; display: grid; grid-template-columns: repeat(3, auto); justify-content: space-between; }
      .wish { flex-direction: column; align-items: start; gap: 0; line-height: 1.3; font-size: 15px; color: var(--query);
        --point: 13px; --pitch: 16px; }
      .slots { position: relative; display: flex; border-radius: .3rem; }
      .slots .point { margin: 5px calc((var(--pitch) - var(--point)) / 2); }
      .slots:has(:focus-visible) { outline: 3px solid var(--weights); }
      .slots input { position: absolute; left: calc(-1 * var(--pitch)); top: 0; height: 100%; opacity: 0;
        width: calc(100% + var(--pitch)); appearance: none; cursor: pointer; }
      .slots input::-webkit-slider-thumb { appearance: none; width: var(--pitch); height: 2rem; }
      .slots input::-moz-range-thumb { width: var(--pitch); height: 2rem; border: 0; }
      .try button { justify-self: start; min-width: 12rem; margin: 0 0 .5rem; padding: 0 .8rem; font-size: 15px;
        font-weight: 600; cursor: pointer; color: var(--paper); background: var(--query);
        border-color: var(--query); border-radius: 1rem; }
      .try p { order: 1; margin: 0; min-height: 2.5em; line-height: 1.25; text-align: left; }
      .words .fit { --point: 7px; color: var(--soft); display: flex; flex-wrap: wrap; gap: 1px; justify-content: center;
        align-content: center; min-height: 1.2rem; }
      .fit .point { position: relative; z-index: 2; }
      .self { grid-column: calc(var(--label) + var(--row) - 1); }
      .mixture { grid-column: var(--label) / -1; display: grid; grid-template-columns: var(--columns);
        align-items: center; margin: 8px 0 12px; padding: .1rem 0; outline: 2px solid var(--value);
        outline-offset: 6px; border-radius: .3rem; }
      .mixture .name { grid-column: 1; padding-right: .4rem; text-align: right; } .bar .part { position: relative; z-index: 2; flex: none; height: 15px; background: var(--value); box-shadow: inset -1px 0 var(--paper); }
      .bar .number { padding-left: .3rem; font-size: 15px; font-weight: 600; color: var(--ink); }
      .foot { grid-column: 1 / -1; display: flex; flex-wrap: wrap; gap: .2rem 1rem; align-items: baseline;
        justify-content: space-between; padding: .4rem .4rem 0; }
      .verdict { margin: 0; min-height: 2.6em; font-size: 16px; line-height: 1.3; text-align: left; }
      .voice { margin: .6rem 0 .2rem; text-align: center; font-size: clamp(14px, 2.4cqi, 17px);
        min-height: 1.4em; color: var(--query); }
      @media (prefers-reduced-motion: no-preference) {
        .two, .three { transition: opacity .5s; } .fit.two { transition: none; }
        [data-step="2"] .two { transition-delay: ${TRAVEL}ms; }
        .bar i { transition: background-size .4s; } .ribbons path { transition: d .4s, opacity .4s; } }
      @container (min-width: 40rem) {
        .words, .mixture { --columns: 3.9rem repeat(var(--words), minmax(0, 1fr)); }
        .drag .words { --label: 2; grid-template-columns: 11.2rem var(--columns); }
        .drag .step { grid-column: 1; margin-right: 1rem; font-size: 15px; } .ask { grid-row: span 2; } .weigh { grid-row: 3 / span 4; }
        .wishes { grid-column: 2 / -1; justify-content: start; display: flex; flex-wrap: wrap; gap: .1rem 1.4rem; align-items: center; }
        .wish { flex-direction: row; align-items: center; gap: .5rem; --point: 16px; --pitch: 21px; }
        .try { grid-column: 2 / -1; display: flex; gap: .8rem; align-items: center; margin-bottom: .9rem; }
        .try button { flex: none; margin: 0; } .try p { min-height: 3.45em; line-height: 1.15; }
        .verdict { flex: 1; }
        .drag { --high: 145; } .drag .shares { font-size: calc(15px + 9px * var(--share)); }
        .words .fit { --point: 9px; gap: 2px; }
        .words .of i, .more { display: inline; font-style: normal; } .words .whole { display: none; }
        .mixture { margin-top: 0; padding: .5rem 0 .2rem; } .self { z-index: 1; min-height: 2.2rem; line-height: 2rem; margin-bottom: -1.1rem; } }
      @container (max-width: 23rem) { .wish { --point: 11px; --pitch: 13px; } .frame { padding-inline: .4rem; } .chip { margin: 0 1px; padding: 0; } .of { padding-left: 4px; } }
      @container (min-width: 54rem) { /* a line each */
        .words .fit { --point: 12px; gap: 3px; } .try p { min-height: 2.3em; } .verdict { min-height: 0; } .words .of .weight { display: inline; } }
      .all { max-width: 46rem; margin: 0 auto; }
      @media print { [inert] { opacity: 1 !important; } }
    ` + super.TABLE_STYLE;

    build() {
      const { words, queries, row, view } = this.data;
      this.row = row;
      this.queries = queries.map((query) => [...query]);
      this.total = sum(queries[row]);
      this.shares = words.map(() => element("span", { class: "weight shares two" }));
      this.fall = WORD;
      this.ribbons = shape("svg", { class: "ribbons two", preserveAspectRatio: "none", "aria-hidden": "true" });
      this.words = element("div", { class: "words", style: `--words: ${words.length}` });
      this.voice = element("p", { class: "voice", "aria-hidden": "true" });
      ({ query: () => this.buildAsking(), ribbons: () => this.buildAll(),
        row: () => this.buildRow() })[view]();
      if (view !== "row") this.whenResized(this.ribbons, ([{ contentRect: { width, height } }]) => {
        this.fall = WORD * words.length * height / (width || WORD); // so that nothing is stretched
        this.ribbons.replaceChildren(); // new curves, which do not move to their places
        this.paint();
      });
    }

    label(text, role) {
      return element("span", { class: `label ${role}` }, text);
    }

    fitsOf(i) {
      return this.data.keys.map((key) => dot(key, this.queries[i]));
    }

    weights(i) {
      return softmax(this.fitsOf(i));
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
        this.shares[j].style.setProperty("--share", weight);
      });
      this.voice.replaceChildren(element("b", {}, words[this.row]), ` asks: “${voices[this.row]}”`);
      const at = (i, y) => ({ x: (i + 0.5) * WORD, width: WORD, y });
      const [lookers, looks] = one ? [[{ ...at(this.row, this.fall), width: 0.75 * WORD }], [weights]]
        : [words.map((_, i) => at(i, this.fall)), words.map((_, i) => this.weights(i))];
      this.ribbons.setAttribute("viewBox", `0 0 ${WORD * words.length} ${this.fall}`);
      const drawn = ribbons(lookers, words.map((_, j) => at(j, 0)), looks, one ? 0 : FAINT);
      if (this.ribbons.childElementCount !== drawn.length)
        this.ribbons.replaceChildren(...drawn.map(() => shape("path")));
      drawn.forEach(({ looker, d }, k) => // the same curves, which can move
        fill(this.ribbons.children[k], { d, class: one || looker === this.row ? "on" : "" }, []));
      const most = words.map((word, j) => [weights[j], word]).sort(([a], [b]) => b - a)
        .slice(0, 2).map(([weight, word]) => `${percent(weight)} to “${word}”`);
      const takes = this.output(this.row).map((amount, k) => `${this.data.hands[k]} ${fixed(amount, 1)}`);
      this.say(`${this.asks()} It gives ${most.join(" and ")}. It takes in ${takes.join(", ")}.`);
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
      this.stage.style = `--row: ${row + 2}`;
      this.largest = Math.max(...values.flat());
      this.fits = words.map(() => element("span", { class: "fit two" }));
      this.terms = range(words.length).filter((j) => values[j].some(Boolean));
      this.given = this.terms.map(() => element("b", { class: "weight" }));
      this.taken = hands.map((_, k) => this.terms.map((j) =>
        element("i", { style: this.wide(values[j][k]) })));
      this.bars = hands.map(() => ({ number: element("span", { class: "number" }),
        parts: this.terms.map((j) => element("div", { class: "part", title: words[j] })) }));
      this.verdict = element("p", { class: "verdict" });
      const other = this.queries[row].map((count, k, all) => // one that asks for what it lacked
        (k === all.indexOf(Math.min(...all)) ? this.total : 0));
      this.hint = element("p");
      this.self = element("span", { class: "chip asks self two" }, words[row]);
      this.swap = element("button", { type: "button",
        onclick: () => this.send(this.changed() ? this.data.queries[row] : other) });
      [this.other, this.again] = [[other, "instead"], [this.queries[row], "again"]].map(([query, when]) =>
        `Look for ${features[query.indexOf(Math.max(...query))]} ${when}`);
      const [ask, weigh, mix] = this.steps = [
        ["ask", "query", "What ", bold(words[row]), " looks for is its ", bold("query"), "."],
        ["weigh", "weights", "The better a key ", bold("fits"), ", the larger its ", bold("weight"), "."],
        ["mix", "value", "Each word hands over that share of its ", bold("value"), ".",
          element("span", { class: "more" }, " The sum is the ", bold("mixture"), ".")],
      ].map(([name, role, ...text], k) => element("button", { type: "button", class: `step ${name}`,
        style: `--role: var(--${role})`, onclick: () => this.stepTo(k + 1) },
      element("i", { class: "number-of" }, k + 1), element("span", { class: ["", "two", "three"][k] }, ...text)));
      this.words.append(
        ask, element("div", { class: "wishes" }, ...features.map((name, k) => this.wish(name, k))),
        element("div", { class: "try" }, this.swap, this.hint),
        this.label("", ""), ...words.map((word, i) =>
          element("span", { class: i === row ? "chip asks" : "chip" }, word)),
        this.label("key", "key"), ...keys.map((key) =>
          element("span", { class: key.some(Boolean) ? "key" : "none" }, this.kind(key))),
        weigh, this.label("fit", "two"), ...this.fits,
        this.label("weight", "weight two"), ...this.shares, this.label("", ""), this.ribbons,
        this.self,
        mix, element("div", { class: "mixture three" }, this.label("", "name"),
          ...this.terms.map((j, t) => element("span", { class: "of" }, this.given[t],
            element("i", {}, " of "), words[j])), element("b", { class: "of value whole" }, "mixture"),
          ...this.bars.flatMap(({ number, parts }, k) => [this.label(hands[k], "name"),
            ...this.terms.map((j, t) => element("div", { class: "bar" }, this.taken[k][t], values[j][k] || "")),
            element("div", { class: "bar sum" }, ...parts, number)]),
          element("div", { class: "foot" }, element("span", { class: "legend" },
            element("i", { style: "--taken: 0%" }), "has", element("i", { style: "--taken: 100%" }),
            "hands over"), this.verdict)));
      this.stage.append(this.words);
      this.stepTo(3, false); // until it is seen, and as soon as the reader does something
      const show = (k) => this.onceByItself(() => {
        this.stepTo(k + 1);
        if (WAITS[k + 1]) show(k + 1);
      }, WAITS[k]);
      show(0);
      for (const event of ["pointerdown", "focusin"])
        this.shadowRoot.addEventListener(event, () => this.stepTo(3, false), { once: true });
    }

    // how wide an amount of a value is drawn
    wide(amount) {
      return `width: ${50 * amount / this.largest}%`;
    }

    kind(key) {
      return this.data.features.filter((_, k) => key[k]).join(", ") || "no label";
    }

    // as many dots as the word gives to one feature, of all that it has
    wish(name, k) {
      const dots = points(this.total);
      const input = element("input", { type: "range", min: 0, max: this.total,
        "aria-label": `${name}, for which “${this.data.words[this.row]}” looks`, oninput: () => this.give(k, Number(input.value)) });
      (this.wishes ??= []).push({ dots, input });
      return element("label", { class: "wish" }, element("span", {}, name),
        element("span", { class: "slots" }, ...dots, input));
    }

    // What one feature gets more is taken from the one of the others that has most, and what it
    // gets less is given to the one that has least.
    give(k, wanted) {
      const query = [...this.queries[this.row]];
      const way = Math.sign(wanted - query[k]);
      for (; query[k] !== wanted; query[k] += way) {
        const others = range(query.length).filter((i) => i !== k);
        query[others.reduce((a, b) => (way * (query[b] - query[a]) > 0 ? b : a))] -= way;
      }
      this.ask(query);
    }

    changed() {
      return this.queries[this.row].some((count, k) => count !== this.data.queries[this.row][k]);
    }

    ask(query) {
      clearTimeout(this.timer);
      this.queries[this.row] = [...query];
      this.stepTo(3, false);
      this.draw();
    }

    // what belongs to later steps is pale
    stepTo(step, moves = !still()) {
      this.stage.dataset.step = step;
      this.words.querySelectorAll(".two, .three").forEach((part) => part.toggleAttribute("inert", part.matches(".two") ? step < 2 : step < 3));
      this.steps.forEach((button, k) => button.setAttribute("aria-pressed", k + 1 === step));
      if (moves) [() => {}, this.travel, this.handOver][step - 1].call(this);
    }

    // the points of the query go to the words whose keys they fit
    travel() {
      for (const [to, from] of this.trips) {
        const [a, b] = [from, to].map((node) => node.getBoundingClientRect());
        to.animate([{ transform: `translate(${a.x - b.x}px, ${a.y - b.y}px)` }, { transform: "none" }],
          { duration: TRAVEL, easing: "ease-in-out" });
      }
    }

    // a new query sends its points first; all that follows from it waits for them
    send(query) {
      if (still()) {
        this.ask(query);
        return;
      }
      this.queries[this.row] = [...query];
      this.hint.replaceChildren(); // the points come this way
      this.stepTo(3, false);
      this.paintQuery();
      this.travel();
      this.timer = setTimeout(() => {
        this.draw();
        this.handOver();
      }, TRAVEL);
    }

    // what each word hands over flows down its ribbon into the sum, whose numbers are seen at the end
    handOver() {
      const box = boxesIn(this.words);
      const [{ top, bottom }, end] = [box(this.ribbons), box(this.self)];
      const late = LAG * this.bars.length;
      for (const node of [this.verdict, ...this.bars.map(({ number }) => number)])
        node.animate({ opacity: [0, 0, 1], offset: [0, 0.85, 1] }, { duration: 1.1 * FLOW + late });
      this.bars.forEach(({ parts }, k) => parts.forEach((part, t) => {
        const [from, to] = [box(this.shares[this.terms[t]]), box(part)];
        if (to.width < 1) return;
        const along = [0, 0.2, 0.4, 0.6, 0.8, 1].map((s) => {
          const x = from.x + (end.x - from.x) * s * s * (3 - 2 * s);
          const y = top + (bottom - top) * s * (1.5 - s * (1.5 - s)); // the curve of the ribbon
          return { transform: `translate(${x - to.x}px, ${y - (to.top + to.bottom) / 2}px)`, opacity: s ? 1 : 0 };
        });
        part.animate([...along, { transform: "none" }],
          { duration: FLOW, delay: LAG * k, easing: "ease-in-out", fill: "backwards" });
      }));
    }

    // the points of the query, and those that have come to the words
    paintQuery() {
      const { keys } = this.data;
      const query = this.queries[this.row];
      this.wishes.forEach(({ dots, input }, k) => {
        dots.forEach((point, i) => point.classList.toggle("none", i >= query[k]));
        input.value = query[k];
        input.setAttribute("aria-valuetext", `${query[k]} of ${this.total} points`);
      });
      this.trips = keys.flatMap((key, j) => {
        const from = query.flatMap((count, k) =>
          range(key[k] * count).map((i) => this.wishes[k].dots[i % count]));
        const dots = points(from.length);
        this.fits[j].replaceChildren(...(dots.length ? dots : ["no fit"]));
        return from.map((point, i) => [dots[i], point]);
      });
    }

    paintAsking(weights) {
      const { values, words } = this.data;
      this.paintQuery();
      this.terms.forEach((j, t) => {
        this.given[t].textContent = percent(weights[j]);
        this.taken.forEach((bars) => bars[t].style.setProperty("--taken", `${100 * weights[j]}%`));
      });
      const output = this.output(this.row);
      this.bars.forEach(({ number, parts }, k) => {
        number.textContent = fixed(output[k], 1);
        this.terms.forEach((j, t) => { parts[t].style = this.wide(weights[j] * values[j][k]); });
      });
      const heard = words.filter((_, j) => weights[j] >= HEARD);
      const named = () => heard.flatMap((word, k) => [k ? " and " : "", element("b", {}, word)]);
      this.verdict.replaceChildren(`So “${words[this.row]}” now carries `,
        heard.length > 1 ? "a blend of " : "mostly what it found at ", ...named(), ".");
      this.swap.textContent = this.changed() ? this.again : this.other;
      if (this.changed()) this.hint.replaceChildren("The question has changed. Now ", ...named(),
        heard.length > 1 ? " get" : " gets", " most of the weight.");
      else this.hint.replaceChildren("Press the button or drag the dots, and watch where the weight goes.");
    }

    numbers() {
      const { words, hands, view } = this.data;
      if (view === "query")
        return [["word", "fit", "weight", ...hands], ...words.map((word, j) =>
          [word, this.fitsOf(this.row)[j], fixed(this.weights(this.row)[j], 3), ...this.data.values[j].map(String)]),
        ["mixture", "", "", ...this.output(this.row).map((amount) => fixed(amount, 3))]];
      return [["", ...words, ...hands], ...words.map((word, i) =>
        [word, ...this.weights(i).map((weight) => fixed(weight, 3)),
          ...this.output(i).map((amount) => fixed(amount, 3))])];
    }
  };
});
