// A translator that writes one number by itself, and that three buttons break in place. Ribbons show
// where it looked for each token. translator.js computes it; break_translator_writing.js reads it.
attnbook.define("hero", ({ Interactive, element, shape, fixed, ribbons }) => {
  const T = attnbook.translator;
  const STEP = { first: 700, again: 130 }; // milliseconds for each token that is written
  const SHOWN = 8; // tokens; more are left out
  const SLICE = 8; // milliseconds of measuring, so that the page stays alive
  const FAINT = 0.02; // weights that are not drawn
  const STILL = matchMedia("(prefers-reduced-motion: reduce)");

  return class Hero extends attnbook.writing({ element }, Interactive) {
    static LINES = 4;
    static STYLE = `
      :host { container-type: inline-size; }
      .frame { display: grid; gap: .4rem 2.5rem; align-content: start;
        grid-template: "text panel" auto "text result" 1fr "said result" / minmax(0, 1fr) 18rem;
        padding: 1.2rem 1.6rem 1.3rem; border: 0; border-radius: 1rem;
        background: var(--tint); }
      .text { position: relative; grid-area: text; display: grid; grid-template-rows: auto auto 1fr; }
      .about { display: flex; justify-content: space-between; align-items: center; gap: 1rem;
        margin: 0 0 1.6rem; color: var(--soft); font-size: .92rem; }
      .again { flex: none; min-height: 2rem; border-radius: 1rem; padding: .1rem .9rem; border-color: var(--line);
        font-size: .9rem; cursor: pointer; }
      .again:hover { border-color: var(--weights); background: var(--hover); }
      svg { position: absolute; inset: 0; height: 100%; pointer-events: none; }
      .row { position: relative; display: flex; flex-wrap: wrap; justify-content: center;
        align-content: flex-start; gap: var(--gap);
        font-size: clamp(.95rem, 2.25cqi, 1.5rem); --gap: .7rem; }
      .french { align-content: flex-end; }
      .chip { position: relative; display: inline-flex; align-items: center; min-height: 2.2em;
        padding: 0 .7em; border-radius: .55em; border: 1.5px solid var(--chip);
        font: inherit; font-weight: 600; color: var(--chip);
        background: color-mix(in srgb, var(--chip) 6%, var(--paper)); }
      .english .chip { --chip: var(--key); }
      .french .chip { --chip: var(--query); cursor: pointer; }
      .chip.joins { border-start-end-radius: 0; border-end-end-radius: 0; }
      .chip.joined { margin-left: calc(-1 * var(--gap) - 1.5px); /* quatre-vingt-un is one word */
        border-start-start-radius: 0; border-end-start-radius: 0; }
      .row .chip.end { --chip: var(--soft); font-weight: 400; border-style: dashed; cursor: auto; }
      .french .wrong { color: var(--paper); background: var(--wrong); border-color: var(--wrong); }
      .french .wrong.joined { border-left-color: var(--paper); }
      .french .waiting { border: 1.5px dashed var(--line); color: transparent; background: none; }
      .french .lit { background: color-mix(in srgb, var(--chip) 8%, var(--paper));
        box-shadow: inset 0 -4px var(--chip); }
      .french .wrong.lit { background: color-mix(in srgb, var(--ink) 25%, var(--wrong)); }
      .french [aria-pressed="true"] { box-shadow: 0 0 0 3px var(--weights); }
      .share { position: absolute; inset: auto -1rem calc(100% + .1rem); text-align: center;
        font-size: .85rem; font-variant-numeric: tabular-nums; color: var(--weights); }
      path { fill: var(--weights); opacity: .17; } /* one word at a time */
      path.on { opacity: .85; }
      .said { grid-area: said; max-width: 40rem; margin: .8rem auto 0; text-align: center;
        min-height: 2.8em; font-size: 1.02rem; font-variant-numeric: normal;
        text-wrap: balance; }
      .panel { grid-area: panel; display: grid; gap: .55rem; align-content: start; }
      .panel > p { margin: 0; }
      .result { grid-area: result; }
      .title { font-weight: 650; font-size: 1.05rem; }
      .break { display: flex; align-items: center; gap: .7rem; width: 100%; min-height: 3.1rem;
        padding: .3rem .8rem; text-align: left; font-size: .97rem; font-weight: 550; cursor: pointer;
        border: 1.5px solid var(--soft); border-radius: .7rem; background: var(--paper); }
      .break:hover { border-color: var(--weights); background: var(--hover); }
      .break i { flex: none; width: 2.2rem; height: 1.25rem; border: 1.5px solid var(--soft);
        border-radius: 1rem; box-sizing: border-box; }
      .break i::after { content: ""; display: block; width: .75rem; height: .75rem;
        margin: .15rem; border-radius: 50%; background: var(--soft); }
      .break[aria-pressed="true"] { border-color: var(--wrong);
        background: color-mix(in srgb, var(--wrong) 10%, var(--paper)); }
      .break[aria-pressed="true"] i { background: var(--wrong); border-color: var(--wrong); }
      .break[aria-pressed="true"] i::after { background: var(--paper);
        transform: translateX(.95rem); }
      .count { display: flex; align-items: baseline; gap: .5rem; margin-top: .5rem;
        line-height: 1.2; color: var(--soft); font-size: .9rem; }
      .count strong { font-size: 2.4rem; font-weight: 700; line-height: 1;
        color: var(--right); font-variant-numeric: tabular-nums; }
      .count.low strong { color: var(--wrong); }
      .meter { display: grid; grid-template-columns: repeat(25, 1fr); gap: 2px; }
      .meter i { aspect-ratio: 1; border-radius: 1px; background: var(--line); }
      .meter .right { background: var(--right); }
      .meter .wrong { background: color-mix(in srgb, var(--wrong) 35%, var(--paper)); }
      .spoken { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
      @media (prefers-reduced-motion: no-preference) {
        .chip { transition: background-color .25s, color .25s, border-color .25s; }
        path { transition: opacity .3s; }
        path.new { animation: reach .5s ease-out; }
        .break i::after { transition: transform .15s; }
        .break, .meter i { transition: background-color .2s, border-color .2s; }
      }
      @keyframes reach { from { opacity: 0; clip-path: inset(100% 0 0); } }
      @container (min-width: 46.01rem) {
        .text { min-height: 19rem; }
      }
      @container (max-width: 60rem) {
        .said { min-height: 5.6em; }
      }
      @container (max-width: 46rem) {
        .frame { grid-template: "text" "result" "panel" "said" / minmax(0, 1fr);
          padding: 1rem .8rem; gap: .8rem; }
        .count { margin-top: 0; }
        .meter { grid-template-columns: repeat(50, 1fr); gap: 1px; }
        .text { min-height: 16.5rem; }
        .break { min-height: 2.75rem; }
        .row { --gap: .3rem; }
        .about { flex-wrap: wrap; justify-content: center; gap: .3rem; text-align: center; }
        .chip { padding-inline: .5em; }
        .said { margin: 0; }
      }
      @media print { .panel, .result { display: none; } .frame { display: block; } }
    `;

    build() {
      const { breaks, tested } = this.data;
      this.loadTranslator();
      this.at = 0; // of the numbers to show
      this.broken = new Set();
      this.results = new Map(); // how many are right, by what is broken
      this.english = element("div", { class: "row english", role: "group", "aria-label": "English" });
      this.french = element("div", { class: "row french", role: "group", "aria-label": "French" });
      this.ribbons = shape("svg", { "aria-hidden": "true" });
      this.stage.className = "text";
      const again = element("button", { type: "button", class: "again",
        onclick: () => this.show(this.at + 1, "first") }, "Another number");
      this.stage.append(this.ribbons, element("div", { class: "about" }, this.data.about, again),
        this.english, this.french);
      this.toggles = breaks.map(({ label }, i) => element("button", { type: "button",
        class: "break", "aria-pressed": false, onclick: () => this.toggleBreak(i) },
      element("i"), label));
      this.number = element("strong", { "aria-hidden": "true" });
      this.spoken = element("span", { class: "spoken", "aria-live": "polite" });
      this.count = element("p", { class: "count" }, this.number, element("span",
        { "aria-hidden": "true" }, `of ${tested.length} numbers are right`), this.spoken);
      this.cells = tested.map(() => element("i"));
      this.controls.className = "panel";
      this.controls.append(element("p", { class: "title" }, "Break it, one part at a time"),
        ...this.toggles);
      this.controls.before(this.stage);
      this.said.after(element("div", { class: "result" }, this.count,
        element("div", { class: "meter", "aria-hidden": "true" }, ...this.cells)));
      this.whenResized(this.stage, () => this.place());
      this.show(0, "first");
      this.setCount([]);
      this.measure();
    }

    paint() {}

    get switches() {
      return Object.fromEntries([...this.broken].sort()
        .flatMap((i) => Object.entries(this.data.breaks[i].switches)));
    }

    toggleBreak(i) {
      this.broken[this.broken.has(i) ? "delete" : "add"](i);
      this.toggles[i].setAttribute("aria-pressed", this.broken.has(i));
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
      this.shown = STILL.matches ? Infinity : 0;
      this.fill();
      this.sentence(number);
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
      const kinds = (side, tokens, i, ...more) => ["chip", ...more,
        this.nameOf(side, tokens[i]).startsWith("-") && "joined",
        i + 1 < tokens.length && this.nameOf(side, tokens[i + 1]).startsWith("-") && "joins"]
        .filter(Boolean).join(" ");
      this.keys = this.source.map((token, i) => {
        const [text, end] = [this.nameOf(0, token), token === T.END];
        return element("span", { class: kinds(0, this.source, i, end && "end") }, end ? "end" : text,
          element("span", { class: "share", "aria-hidden": "true" }));
      });
      this.english.replaceChildren(...this.keys);
      const written = this.tokens.slice(0, SHOWN);
      this.queries = written.map((token, i) => {
        const [text, wrong] = [this.nameOf(1, token), token !== this.wanted[i]];
        const looks = this.looks[i].map((share, j) => [share, this.nameOf(0, this.source[j])])
          .sort(([a], [b]) => b - a).slice(0, 2).filter(([share]) => share > FAINT)
          .map(([share, name]) => `${name} ${fixed(100 * share, 0)} percent`).join(", ");
        const told = [text, wrong && "wrong", looks && `looked at ${looks}`].filter(Boolean);
        return element("button", { type: "button", "aria-pressed": false,
          class: kinds(1, written, i, "waiting", wrong && "wrong"), "aria-label": told.join(", "),
          onclick: () => this.press(i), onmouseenter: () => this.point(i),
          onmouseleave: () => this.point(null) }, text);
      });
      const more = this.tokens.length > SHOWN ? [element("span", { class: "chip end" }, "…")] : [];
      this.french.replaceChildren(...this.queries, ...more);
      this.place();
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
      this.keys.forEach((key, j) => {
        const share = this.looks[this.lit]?.[j] ?? 0;
        key.lastChild.replaceChildren(...(share < FAINT ? []
          : [element("span", {}, `${fixed(100 * share, 0)}\u00a0%`)]));
      });
    }

    // one token after the other, each with its ribbons
    reveal(upTo, step) {
      this.shown = upTo;
      this.queries.forEach((query, i) => query.classList.toggle("waiting", i > upTo));
      for (const path of this.ribbons.children) path.classList.toggle("new", path.query === upTo);
      this.highlight();
      if (upTo < this.queries.length) this.writing = setTimeout(() => this.reveal(upTo + 1, step), step);
    }

    // Ribbons: from a French chip, shared out among the English ones by weight
    place() {
      const stage = this.stage.getBoundingClientRect();
      const at = (chip) => {
        const box = chip.getBoundingClientRect();
        return { ...box.toJSON(), x: box.x - stage.x + box.width / 2, top: box.top - stage.top,
          bottom: box.bottom - stage.top };
      };
      const [keys, queries] = [this.keys.map(at), this.queries.map(at)];
      const lookers = queries.map(({ x, width, top }) => ({ x, width, y: top }));
      const places = keys.map(({ x, width, bottom }) => ({ x, width, y: bottom }));
      const looks = this.looks.slice(0, queries.length);
      const paths = ribbons(lookers, places, looks, FAINT).map(({ looker, d }) =>
        Object.assign(shape("path", { d }), { query: looker }));
      this.ribbons.replaceChildren(...paths);
      this.highlight();
    }

    sentence(number) {
      const text = this.textOf(this.tokens);
      const right = this.ended && this.tokens.length === this.wanted.length - 1 &&
        this.tokens.every((token, i) => token === this.wanted[i]);
      const shown = number.toLocaleString("en");
      const why = this.broken.size === 1 ? ` ${this.data.breaks[[...this.broken][0]].why}` : "";
      const said = T.numberOfFrench(text);
      const start = `${this.broken.size ? "Now it" : "It"} writes`;
      this.say(right ? `${start} “${text}”, which is ${shown}.${why || this.data.hint}`
        : !this.ended ? `Now it does not stop writing. It should say ${shown}.${why}`
          : said === null ? `${start} ${text ? `“${text}”` : "nothing"}. It should say ${shown}.${why}`
            : `${start} “${text}”. That is ${said.toLocaleString("en")} instead of ${shown}.${why}`);
    }

    // how many numbers still come out right, in slices
    measure() {
      const [{ tested, most }, key, switches] = [this.data, [...this.broken].sort().join(), this.switches];
      clearTimeout(this.measuring);
      if (this.results.has(key)) return this.setCount(this.results.get(key));
      const found = [];
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
      const right = found.filter(Boolean).length;
      this.number.textContent = right;
      this.count.classList.toggle("low", found.length > 0 && right < found.length / 2);
      this.cells.forEach((cell, i) => {
        cell.className = found[i] === undefined ? "" : found[i] ? "right" : "wrong";
      });
      const done = found.length === this.cells.length;
      if (done && this.results.size > 1) // after a change: what stood there at first is not news
        this.spoken.textContent = `${right} of ${found.length} numbers are right.`;
    }

    disconnectedCallback() {
      super.disconnectedCallback();
      clearTimeout(this.measuring);
    }
  };
});
