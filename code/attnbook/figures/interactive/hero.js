// A translator that writes one number by itself, and that three buttons break in place. Ribbons show
// where it looked for each token. translator.js computes it; break_translator_writing.js reads it.
attnbook.define("hero", ({ Interactive, element, shape, sum, fixed, ribbons, boxesIn, still }) => {
  const T = attnbook.translator;
  const STEP = { first: 700, again: 130 }; // milliseconds for each token that is written
  const TOUR = { watch: 6500, hide: 2000, mend: 6200 }; // until the steps of the tour, each after the last
  const HIDES = 1; // the button that the tour presses: without the English, the ribbons are gone
  const SHOWN = 8; // tokens; more are left out
  const SLICE = 8; // milliseconds of measuring, so that the page stays alive
  const FAINT = 0.02; // weights that are not drawn

  return class Hero extends attnbook.writing({ element, still }, Interactive) {
    static LINES = 4;
    static STYLE = attnbook.writing.LOOK + `
      :host { container: page / inline-size; }
      .frame { display: grid; gap: .4rem 2.5rem; align-content: start;
        grid-template: "text panel" auto "text result" 1fr "said result" / minmax(0, 1fr) 19rem;
        max-width: var(--figure-width, 66rem); padding: 1.2rem 1.6rem 1.3rem; border: 0; border-radius: 1rem;
        background: var(--tint); }
      .text { position: relative; grid-area: text; display: grid; column-gap: 1rem; container-type: inline-size;
        grid-template: auto auto auto minmax(2.5rem, 1fr) auto / 6.2rem minmax(0, 1fr); }
      .about { grid-column: 1 / -1; display: flex; justify-content: space-between; align-items: center; gap: 1rem;
        margin: 0 0 .5rem; color: var(--soft); font-size: .92rem; }
      .looks { grid-column: 2; margin-bottom: .5rem; }
      .share { inset: calc(100% + .35rem) auto auto 0; padding: 0 .3rem; translate: -50%; white-space: nowrap;
        line-height: 1.35; border-radius: .7rem; background: var(--paper); }
      .share:empty { display: none; }
      .name { color: var(--key); font-size: .85rem; line-height: 1.2; }
      .name b { display: block; font-size: 2rem; line-height: 1; font-variant-numeric: tabular-nums; }
      .name.says, .french { grid-row: 5; }
      .name.says { color: var(--query); }
      .name.says.off b { color: var(--wrong); }
      .name.says.later b, .said.later { opacity: 0; } /* until the last word is written */
      .end { text-align: center; line-height: 1.1; } .end small { display: block; font-size: max(.5em, 11px); }
      svg { position: absolute; inset: 0; height: 100%; pointer-events: none; }
      .row { align-content: flex-start;
        font-size: clamp(.95rem, calc((100cqi - 7.2rem) / var(--ems)), 2rem); }
      .french { row-gap: 1.5rem; padding-bottom: 1.3rem; }
      .french button::after { content: attr(data-gloss) / ""; position: absolute; inset: calc(100% + .15rem) 0 auto; color: var(--soft); font-size: .85rem;
        font-weight: 400; line-height: 1.2; text-align: center; }
      .french .waiting::after { content: none; }
      .french .waiting { border: 1.5px dashed var(--line); color: transparent; background: none; }
      .french .lit { background: color-mix(in srgb, var(--chip) 8%, var(--paper));
        box-shadow: inset 0 -4px var(--chip); }
      .french .wrong.lit { background: color-mix(in srgb, var(--ink) 25%, var(--wrong)); }
      .said { grid-area: said; max-width: 40rem; margin: .8rem auto 0; text-align: center;
        min-height: 2.8em; font-variant-numeric: normal; text-wrap: balance; }
      .said.tour { font-weight: 650; }
      .panel { grid-area: panel; display: grid; gap: .55rem; align-content: start; }
      .panel > p { margin: 0; }
      .result { grid-area: result; }
      .title { font-weight: 650; font-size: 1.05rem; }
      .break { display: flex; align-items: center; gap: .5rem; width: 100%;
        min-height: 3.1rem; padding: .3rem .9rem; text-align: left; font-size: .97rem; font-weight: 550;
        cursor: pointer; border: 1.5px solid var(--soft); border-radius: .7rem; background: var(--paper); }
      .break:hover { border-color: var(--weights); background: var(--hover); }
      .break.broken { border-color: var(--wrong); color: var(--wrong);
        background: color-mix(in srgb, var(--wrong) 8%, var(--paper)); }
      .break.next { border-color: var(--weights); animation: pulse 1.4s; }
      @keyframes pulse { from { box-shadow: 0 0 var(--weights); } to { box-shadow: 0 0 0 14px transparent; } }
      .try { margin-left: auto; padding: .2rem .55rem; border-radius: 1rem; color: var(--paper);
        background: var(--weights); line-height: 1.15; font-size: .8rem; white-space: nowrap; }
      .panel:has(.broken) .try { visibility: hidden; }
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
      @media (prefers-reduced-motion: no-preference) {
        .break { transition: background-color .2s, border-color .2s; }
      }
      @container page (min-width: 52.01rem) {
        .text { min-height: 23rem; }
      }
      @container page (max-width: 60rem) {
        .said { min-height: 5.6em; }
      }
      @container page (max-width: 52rem) {
        .frame { grid-template: "text" "said" "panel" "result" / minmax(0, 1fr);
          padding: 1rem .8rem; gap: .8rem; }
        .count { margin-top: 0; }
        .meter { grid-template-columns: repeat(50, 1fr); gap: 1px; }
        .text { min-height: 21.8rem; column-gap: .5rem; grid-template-columns: 3.9rem minmax(0, 1fr); }
        .break { min-height: 2.75rem; }
        .row { --gap: .3rem; } .french { row-gap: 2.1rem; }
        .looks { grid-column: 1 / -1; }
        .name b { font-size: 1.25rem; }
        .about { flex-wrap: wrap; justify-content: center; gap: .3rem; text-align: center; }
        .chip { padding-inline: .5em; }
        .said { margin: 0; }
      }
      @container page (max-width: 21rem) {
        .text { min-height: 25.5rem; } .looks { min-height: 2.8em; } .said { min-height: 7em; }
      }
      @media print { .panel, .result { display: none; } .frame { display: block; } }
    `;

    build() {
      const { breaks, tested } = this.data;
      this.loadTranslator();
      this.at = 0; // of the numbers to show
      this.broken = new Set();
      // which are right, by what is broken
      this.results = new Map([["", tested.map((number) => !this.data.wrong.includes(number))]]);
      this.english = element("div", { class: "row english", role: "group", "aria-label": "English" });
      this.french = element("div", { class: "row french", role: "group", "aria-label": "French" });
      this.ribbons = shape("svg", { "aria-hidden": "true" });
      this.stage.className = "text";
      const again = element("button", { type: "button", class: "again",
        onclick: () => this.show(this.at + 1, "first") }, "Another number");
      this.looking = element("p", { class: "looks", "aria-hidden": "true" });
      this.reads = element("b");
      this.writes = element("b");
      this.says = element("div", { class: "name says", "aria-hidden": "true" }, "French", this.writes);
      this.stage.append(this.ribbons, element("div", { class: "about" }, this.data.about, again),
        this.looking, element("div", { class: "name", "aria-hidden": "true" }, "English", this.reads),
        this.english, this.says, this.french);
      this.buttons = breaks.map(({ act }, i) => element("button", { type: "button", class: "break",
        onclick: () => {
          this.buttons[0].querySelector(".try")?.remove();
          this.toggleBreak(i);
        } }, element("span", {}, act),
      ...(i ? [] : [element("small", { class: "try", "aria-hidden": "true" }, "try this")])));
      this.number = element("strong", { "aria-hidden": "true" });
      this.spoken = element("span", { class: "spoken", "aria-live": "polite" });
      this.of = element("span", { "aria-hidden": "true" });
      this.count = element("p", { class: "count" }, this.number, this.of, this.spoken);
      this.cells = tested.map(() => element("i"));
      this.controls.className = "panel";
      this.controls.append(element("p", { class: "title" }, "Break the translator"),
        ...this.buttons);
      this.controls.before(this.stage);
      this.said.after(element("div", { class: "result" }, this.count,
        element("div", { class: "meter", "aria-hidden": "true" }, ...this.cells)));
      this.whenResized(this.stage, () => this.place());
      this.show(0, "first");
      this.measure();
      for (const touch of ["pointerdown", "focusin"])
        this.shadowRoot.addEventListener(touch, () => this.rest());
      if (!still()) this.whenSeen(() => this.tour());
    }

    // the English is hidden and shown again, unless somebody touches the figure; nothing is spoken
    tour() {
      if (this.next === null) return;
      for (const node of [this.said, this.spoken]) node.ariaLive = "off";
      const { classList } = this.buttons[HIDES];
      const go = ([[pause, act], ...later]) => {
        this.next = setTimeout(() => {
          act();
          if (later.length) go(later);
          else this.rest();
        }, pause);
      };
      go([[TOUR.watch, () => {
        classList.add("next");
        this.say("Watch: we now hide the English.");
        this.said.classList.add("tour");
      }], [TOUR.hide, () => {
        classList.remove("next");
        this.toggleBreak(HIDES);
      }], [TOUR.mend, () => {
        this.toggleBreak(HIDES);
        this.say(`Restored. Now you try.${this.data.hint}`);
      }]]);
    }

    rest() {
      clearTimeout(this.next);
      this.next = null;
      const { classList } = this.buttons[HIDES];
      if (classList.contains("next")) this.sentence(); // what was announced does not come
      classList.remove("next");
      setTimeout(() => {
        for (const node of [this.said, this.spoken]) node.ariaLive = "polite";
      });
    }

    paint() {}

    get switches() {
      return Object.fromEntries([...this.broken].sort()
        .flatMap((i) => Object.entries(this.data.breaks[i].switches)));
    }

    toggleBreak(i) {
      const broken = !this.broken.delete(i);
      if (broken) this.broken.add(i);
      const { act, undo } = this.data.breaks[i];
      this.buttons[i].classList.toggle("broken", broken);
      this.buttons[i].firstChild.textContent = broken ? undo : act;
      this.show(this.at, "again");
      this.measure();
    }

    // translate a number, and show it token after token
    show(at, pace) {
      const { numbers, most } = this.data;
      this.at = at % numbers.length;
      const number = numbers[this.at];
      this.source = this.sourceOf(T.spell(number));
      this.wanted = this.wantedOf(number);
      this.all = [...T.greedySearch(this.model, this.source, {
        maxLength: most, switches: this.switches })];
      this.ended = this.all.at(-1).token === T.END;
      this.tokens = this.all.map(({ token }) => token).filter((token) => token !== T.END);
      this.looks = this.all.map(({ maps }, i) => this.meanOfHeads(maps.at(-1).cross, i));
      this.pointed = this.pressed = null;
      this.shown = still() ? Infinity : 0;
      this.fill();
      this.sentence();
      clearTimeout(this.writing);
      this.reveal(this.shown, STEP[pace]);
    }

    // where the decoder looked for a token, as the mean of its heads
    meanOfHeads(heads, i) {
      if (this.switches.cross_weights === "off") return this.source.map(() => 0);
      return this.source.map((_, j) =>
        heads.reduce((total, { weights }) => total + T.row(weights, i)[j] / heads.length, 0));
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
      const written = this.tokens.slice(0, SHOWN);
      this.queries = written.map((token, i) => {
        const [text, wrong] = [this.nameOf(1, token), token !== this.wanted[i]];
        const nameOf = (key) => (key === T.END ? "the end of the number" : this.nameOf(0, key));
        const looks = this.looks[i].map((share, j) => [share, nameOf(this.source[j])])
          .sort(([a], [b]) => b - a).slice(0, 2).filter(([share]) => share > FAINT)
          .map(([share, name]) => `${name} ${fixed(100 * share, 0)} percent`).join(", ");
        const told = [text, wrong && "wrong", looks && `the translator looked at ${looks}`].filter(Boolean);
        return element("button", { type: "button", "aria-pressed": false,
          class: this.kindsOf(1, written, i, "waiting", wrong && "wrong"), "aria-label": told.join(", "),
          onclick: () => this.press(i), onmouseenter: () => this.point(i),
          onmouseleave: () => this.point(null), "data-gloss": this.glossOf(text) }, text);
      });
      const more = this.tokens.length > SHOWN ? [element("span", { class: "chip end" }, "…")] : [];
      this.french.replaceChildren(...this.queries, ...more);
      const ems = [this.source, this.wanted.slice(0, -1), written].map((tokens, row) => // a letter has 0.6
        sum(tokens.map((token) => 1.6 + 0.6 * this.nameOf(row && 1, token).length)));
      this.stage.style.setProperty("--ems", Math.max(...ems));
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
      this.rest();
      this.pointed = i;
      this.highlight();
    }

    highlight() {
      for (const path of this.ribbons.children) {
        path.classList.toggle("on", path.query === this.lit);
        path.style.display = path.query > this.shown ? "none" : "";
      }
      this.queries.forEach((query, i) => query.classList.toggle("lit", i === this.lit));
      const looks = this.looks[this.lit];
      const [before, after] = sum(looks) ? ["To write ", ", it looks at:"] : ["It writes ", " without the English."];
      this.looking.replaceChildren(...(this.queries.length
        ? [before, element("b", {}, this.nameOf(1, this.tokens[this.lit])), after] : []));
      this.keys.forEach((key, j) => {
        const path = [...this.ribbons.children].find(({ query, place }) => query === this.lit && place === j);
        key.lastChild.textContent = path ? `${fixed(100 * path.share, 0)}\u00a0%` : "";
        key.lastChild.style.left = `${path?.x}px`;
      });
    }

    // one token after the other, each with its ribbons
    reveal(upTo, step) {
      this.shown = upTo;
      this.queries.forEach((query, i) => query.classList.toggle("waiting", i > upTo));
      for (const node of [this.says, this.said])
        node.classList.toggle("later", upTo < this.queries.length - 1);
      this.highlight();
      if (upTo < this.queries.length) this.writing = setTimeout(() => this.reveal(upTo + 1, step), step);
    }

    // Ribbons: from a French chip, shared out among the English ones by weight
    place() {
      const at = boxesIn(this.stage);
      const lookers = this.queries.map(at).map((box) => ({ ...box, y: box.top }));
      const places = this.keys.map(at).map((box) => ({ ...box, y: box.bottom }));
      const looks = this.looks.slice(0, lookers.length);
      const paths = ribbons(lookers, places, looks, FAINT).map(({ looker, place, share, x, d }) =>
        Object.assign(shape("path", { class: "look", d }), { query: looker, place, share, x: x - places[place].left }));
      const cut = sum(looks.flat()) ? [] // stubs that end in a cross, where ribbons would begin and end
        : [...places.map((box) => [box, 1, 0]), ...lookers.map((box, i) => [box, -1, i])].map(([{ x, y }, down, query]) =>
          Object.assign(shape("path", { class: "cut",
            d: `M${x},${y}v${8 * down}m-4,0l8,${8 * down}m0,${-8 * down}l-8,${8 * down}` }), { query }));
      this.ribbons.replaceChildren(...paths, ...cut);
      this.highlight();
    }

    sentence() {
      const number = this.data.numbers[this.at];
      const text = this.textOf(this.tokens);
      const right = this.ended && this.tokens.length === this.wanted.length - 1 &&
        this.tokens.every((token, i) => token === this.wanted[i]);
      const shown = number.toLocaleString("en");
      const why = this.broken.size === 1 ? ` ${this.data.breaks[[...this.broken][0]].why}` : "";
      const said = this.ended ? T.numberOfFrench(text) : null;
      this.reads.textContent = shown;
      this.writes.textContent = said === null ? "?" : said.toLocaleString("en");
      this.says.classList.toggle("off", said !== number);
      this.said.classList.remove("tour");
      const written = !this.ended ? "French words without an end" : !text ? "nothing"
        : `“${text}”, which is ${said?.toLocaleString("en") ?? "not a number"}`;
      this.say(`${this.broken.size ? "Now the" : "The"} translator writes ${written}`
        + `${right ? "" : `, instead of ${shown}`}.${why || (right ? this.data.hint : "")}`);
    }

    // how many numbers still come out right, in slices
    measure() {
      const [{ tested, most }, key, switches] = [this.data, [...this.broken].sort().join(), this.switches];
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
      this.number.textContent = found.length ? right : "…";
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
      if (this.shadowRoot) this.rest();
    }
  };
});
