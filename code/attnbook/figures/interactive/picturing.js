// A number in English and in French as chips, with ribbons that show where the translator looked for
// each French token, and how many numbers come out right. translator.js computes all of it.
attnbook.picturing ??= ({ element, shape, sum, fixed, ribbons, boxesIn }, Figure) => {
  const T = attnbook.translator;
  const SHOWN = 8; // tokens at least; more are left out
  const SLICE = 8; // milliseconds of measuring, so that the page stays alive
  const FAINT = 0.02; // weights that are not drawn

  return class extends attnbook.writing(Figure) {
    // above the picture come `lines`; `reads` says the number
    buildPicture(reads, ...lines) {
      this.loadTranslator();
      this.reads = reads;
      this.english = element("div", { class: "row english", role: "group", "aria-label": "English" });
      this.french = element("div", { class: "row french", role: "group", "aria-label": "French" });
      this.ribbons = shape("svg", { "aria-hidden": "true" });
      this.looking = element("p", { class: "looks", "aria-hidden": "true" });
      this.writes = element("b");
      this.says = element("div", { class: "name says", "aria-hidden": "true" }, "French", this.writes);
      this.stage.className = "text";
      this.stage.append(this.ribbons, ...lines, this.looking,
        element("div", { class: "name reads" }, "English", reads), this.english, this.says, this.french);
      this.controls.className = "panel";
      this.controls.append(element("p", { class: "title" }, "Break the translator"));
      this.controls.before(this.stage);
      this.whenResized(this.stage, () => this.place());
    }

    // how many numbers are right
    buildCount() {
      const { tested, wrong } = this.data;
      this.results = new Map([["{}", tested.map((number) => !wrong.includes(number))]]); // by switches
      this.amount = element("strong", { "aria-hidden": "true" });
      this.spoken = element("span", { class: "spoken", "aria-live": "polite" });
      this.of = element("span", { "aria-hidden": "true" });
      this.count = element("p", { class: "count" }, this.amount, this.of, this.spoken);
      this.cells = tested.map(() => element("i"));
      this.said.after(element("div", { class: "result" }, this.count,
        element("div", { class: "meter", "aria-hidden": "true" }, ...this.cells)));
    }

    paint() {}

    // what it writes for a number, and where it looks
    translate(number) {
      this.source = this.sourceOf(T.spell(number));
      this.wanted = this.wantedOf(number);
      this.all = [...T.greedySearch(this.model, this.source, {
        maxLength: this.data.most, switches: this.switches })];
      this.ended = this.all.at(-1).token === T.END;
      this.tokens = this.all.map(({ token }) => token).filter((token) => token !== T.END);
      this.looks = this.all.map(({ maps }, i) => this.meanOfHeads(maps.at(-1).cross, i));
      this.pointed = this.pressed = null;
      this.fill();
      const text = this.textOf(this.tokens);
      const [said, shown] = [this.ended ? T.numberOfFrench(text) : null, number.toLocaleString("en")];
      this.writes.textContent = said === null ? "?" : said.toLocaleString("en");
      this.says.classList.toggle("off", said !== number);
      const written = !this.ended ? "French words without an end" : !text ? "nothing"
        : `“${text}”, which is ${said?.toLocaleString("en") ?? "not a number"}`;
      this.right = said === number;
      return `${Object.keys(this.switches).length ? "Now the" : "The"} translator writes ${written}`
        + `${this.right ? "" : `, instead of ${shown}`}.`;
    }

    // where the decoder looked for a token, as the mean of its heads; one that is off brings nothing
    meanOfHeads(heads, i) {
      const { cross_weights: weights, cross_heads_off: off = [] } = this.switches;
      const on = heads.filter((_, head) => weights !== "off" && !off.includes(head));
      return this.source.map((_, j) => sum(on.map(({ weights }) => T.row(weights, i)[j])) / heads.length);
    }

    // the chips of both languages, the French ones still waiting
    fill() {
      this.keys = this.source.map((token, i) => {
        const [text, end] = [this.nameOf(0, token), token === T.END];
        return element("span", { class: this.kindsOf(0, this.source, i, end && "end") },
          element("span", {}, ...(end ? ["end", element("small", {}, "of the number")] : [text])),
          element("span", { class: "share", "aria-hidden": "true" }));
      });
      this.english.replaceChildren(...this.keys);
      const written = this.tokens.slice(0, Math.max(SHOWN, this.wanted.length - 1));
      this.queries = written.map((token, i) => {
        const [text, wrong] = [this.nameOf(1, token), token !== this.wanted[i]];
        const nameOf = (key) => (key === T.END ? "the end of the number" : this.nameOf(0, key));
        const looks = this.looks[i].map((share, j) => [share, nameOf(this.source[j])])
          .sort(([a], [b]) => b - a).slice(0, 2).filter(([share]) => share > FAINT)
          .map(([share, name]) => `${name} ${fixed(100 * share, 0)} percent`).join(", ");
        const told = [text, wrong && "wrong", looks && `the translator looked at ${looks}`].filter(Boolean);
        return element("button", { type: "button", "aria-pressed": false,
          class: this.kindsOf(1, written, i, i > this.shown && "waiting", wrong && "wrong"), "aria-label": told.join(", "),
          onclick: () => this.press(i), onmouseenter: () => this.point(i),
          onmouseleave: () => this.point(null), "data-gloss": this.glossOf(text) }, text);
      });
      const more = this.tokens.length > written.length ? [element("span", { class: "chip end" }, "…")] : [];
      this.french.replaceChildren(...this.queries, ...more);
      const ems = [this.source, this.wanted.slice(0, -1), written].map((tokens, row) => // a letter has 0.6
        sum(tokens.map((token) => 1.6 + 0.6 * this.nameOf(row && 1, token).length)));
      this.english.style.setProperty("--ems", Math.max(...ems.slice(0, 2))); // the English stays as it is
      this.french.style.setProperty("--ems", Math.max(...ems));
      this.place();
    }

    // what a French token means, such as 20 for -vingt
    glossOf(text) {
      const word = text.replace("-", "");
      const number = T.numberOfFrench(word) ?? T.numberOfFrench(word.replace(/s$/, ""));
      return number?.toLocaleString("en") ?? { et: "and" }[word] ?? "";
    }

    // the ribbons of one token are strong: of that which is pointed at, pressed, or written last
    get lit() {
      return this.pointed ?? this.pressed ?? Math.min(this.shown, this.queries.length - 1);
    }

    press(i) {
      this.pressed = this.pressed === i ? null : i;
      this.queries.forEach((query, at) => query.setAttribute("aria-pressed", at === this.pressed));
      this.highlight();
    }

    point(i) {
      this.pointed = i;
      this.highlight();
    }

    highlight() {
      for (const path of this.ribbons.children) {
        path.classList.toggle("on", path.query === this.lit);
        path.style.display = path.query > this.shown ? "none" : "";
      }
      this.queries.forEach((query, i) => query.classList.toggle("lit", i === this.lit));
      const [before, after] = sum(this.looks[this.lit] ?? []) ? ["To write ", ", it looks at:"] : ["It writes ", " without the English."];
      this.looking.replaceChildren(...(this.queries.length
        ? [before, element("b", {}, this.nameOf(1, this.tokens[this.lit])), after] : ["It writes nothing."]));
      this.keys.forEach((key, j) => {
        const path = [...this.ribbons.children].find(({ query, place }) => query === this.lit && place === j);
        key.lastChild.textContent = path ? `${fixed(100 * path.share, 0)}\u00a0%` : "";
        key.lastChild.style.left = `${path?.x}px`;
      });
    }

    // Ribbons: from a French chip, shared out among the English ones by weight
    place(drawn = this.looks) {
      const at = boxesIn(this.stage);
      const lookers = this.queries.map(at).map((box) => ({ ...box, y: box.top }));
      const places = this.keys.map(at).map((box) => ({ ...box, y: box.bottom }));
      const looks = drawn.slice(0, lookers.length);
      const paths = ribbons(lookers, places, looks, FAINT).map(({ looker, place, share, x, d }) =>
        Object.assign(shape("path", { class: "look", d }), { query: looker, place, share, x: x - places[place].left }));
      const cut = sum(looks.flat()) ? [] // stubs that end in a cross, where ribbons would begin and end
        : [...places.map((box) => [box, 1, 0]), ...lookers.map((box, i) => [box, -1, i])].map(([{ x, y }, down, query]) =>
          Object.assign(shape("path", { class: "cut",
            d: `M${x},${y}v${8 * down}m-4,0l8,${8 * down}m0,${-8 * down}l-8,${8 * down}` }), { query }));
      this.ribbons.replaceChildren(...paths, ...cut);
      this.highlight();
    }

    // count, in slices, the numbers that come out right
    measure() {
      const [{ tested, most }, key, switches] = [this.data, JSON.stringify(this.switches), this.switches];
      clearTimeout(this.measuring);
      if (this.results.has(key)) return this.setCount(this.results.get(key));
      const found = [];
      this.setCount(found);
      const slice = () => {
        const end = performance.now() + SLICE;
        while (found.length < tested.length && performance.now() < end)
          found.push(this.isRight(tested[found.length], most, switches));
        if (found.length < tested.length) this.measuring = setTimeout(slice);
        else this.results.set(key, found);
        this.setCount(found);
      };
      this.measuring = setTimeout(slice);
    }

    isRight(number, most, switches) {
      const wanted = this.wantedOf(number);
      let i = 0;
      for (const { token } of T.greedySearch(this.model, this.sourceOf(T.spell(number)),
        { maxLength: most, switches }))
        if (token !== wanted[i++]) return false;
      return i === wanted.length;
    }

    setCount(found) {
      const [right, done] = [found.filter(Boolean).length, found.length === this.cells.length];
      this.amount.textContent = found.length ? right : "…";
      this.of.textContent = done ? `of ${found.length} numbers are right`
        : found.length ? `of ${found.length} right so far` : `testing ${this.cells.length} numbers`;
      this.count.classList.toggle("testing", !found.length);
      this.count.classList.toggle("low", found.length > 0 && right < found.length / 2);
      this.cells.forEach((cell, i) => {
        cell.className = found[i] === undefined ? "" : found[i] ? "right" : "wrong";
      });
      if (!done || this.results.size === 1) return; // what stood there at first is not news
      this.spoken.textContent = `${right} of ${found.length} numbers are right.`;
    }

    disconnectedCallback() {
      super.disconnectedCallback();
      clearTimeout(this.measuring);
    }
  };
};

attnbook.picturing.STYLE ??= attnbook.writing.LOOK + `
  :host { container: page / inline-size; }
  .frame { display: grid; gap: .4rem 2.5rem; align-content: start;
    grid-template: "text panel" auto "text result" 1fr "said result" / minmax(0, 1fr) 19rem; }
  .text { position: relative; grid-area: text; display: grid; column-gap: 1rem; container-type: inline-size;
    grid-template: auto auto auto minmax(2.5rem, 1fr) auto / 6.2rem minmax(0, 1fr); }
  .looks { grid-column: 2; margin-bottom: .5rem; }
  .share { inset: calc(100% + .35rem) auto auto 0; padding: 0 .3rem; translate: -50%; white-space: nowrap;
    line-height: 1.35; border-radius: .7rem; background: var(--paper); }
  .share:empty { display: none; }
  .name { display: block; color: var(--key); font-size: .85rem; line-height: 1.2; }
  .name b { display: block; font-size: 2rem; line-height: 1; font-variant-numeric: tabular-nums; }
  .name.says, .french { grid-row: 5; }
  .name.says { color: var(--query); }
  .name.says.off b { color: var(--wrong); }
  .end { text-align: center; line-height: 1.1; } .end small { display: block; font-size: max(.5em, 12px); }
  .text > svg { position: absolute; inset: 0; height: 100%; pointer-events: none; }
  .row { align-content: flex-start;
    font-size: clamp(.95rem, calc((100cqi - 7.2rem) / var(--ems)), 2rem); }
  .french { row-gap: 1.5rem; padding-bottom: 1.3rem; }
  .french button::after { content: attr(data-gloss) / ""; position: absolute; inset: calc(100% + .15rem) 0 auto;
    color: var(--soft); font-size: .85rem; font-weight: 400; line-height: 1.2; text-align: center; }
  .french .lit { background: color-mix(in srgb, var(--chip) 8%, var(--paper));
    box-shadow: inset 0 -4px var(--chip); }
  .french .wrong.lit { background: color-mix(in srgb, var(--ink) 25%, var(--wrong)); }
  .said { grid-area: said; max-width: 40rem; margin: .8rem auto 0; text-align: center;
    min-height: 2.8em; font-variant-numeric: normal; text-wrap: balance; }
  .panel { grid-area: panel; display: grid; gap: .55rem; align-content: start; }
  .panel > p { margin: 0; }
  .result { grid-area: result; }
  .title { font-weight: 650; font-size: 1.05rem; }
  .cut { fill: none; stroke: var(--wrong); stroke-width: 2; }
  .look, .french .chip { transition: none; } /* heading, shares and ribbons change together */
  .count { display: flex; align-items: baseline; gap: .5rem; margin-top: .5rem;
    line-height: 1.2; color: var(--soft); font-size: .9rem; }
  .count strong { font-size: 2.4rem; font-weight: 700; line-height: 1;
    color: var(--right); font-variant-numeric: tabular-nums; }
  .count.low strong { color: var(--wrong); } .count.testing strong { color: var(--soft); }
  .meter { display: grid; grid-template-columns: repeat(25, 1fr); gap: 2px; }
  .meter i { aspect-ratio: 1; border-radius: 1px; }
  .meter .right { background: color-mix(in srgb, var(--right) 30%, var(--paper)); }
  .meter .wrong { background: var(--wrong); }
  @container page (max-width: 52rem) {
    .frame { grid-template: "text" "said" "panel" "result" / minmax(0, 1fr);
      padding: 1rem .8rem; gap: .8rem; }
    .count { margin-top: 0; }
    .meter { grid-template-columns: repeat(50, 1fr); gap: 1px; }
    .text { column-gap: .5rem; grid-template-columns: 3.9rem minmax(0, 1fr); }
    .row { --gap: .3rem; } .french { row-gap: 2.1rem; }
    .looks { grid-column: 1 / -1; }
    .name b { font-size: 1.25rem; }
    .chip { padding-inline: .5em; }
    .said { margin: 0; }
  }
  @media print { .panel, .result { display: none; } .frame { display: block; } }
`;
