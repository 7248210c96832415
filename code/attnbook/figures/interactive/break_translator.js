// A translator of numbers to be used, broken and measured: switches take its parts away, and the
// French and the ribbons change at once. translator.js computes it; picturing.js draws it.
attnbook.define("break-translator", (shared) => {
  const { Interactive, element, range, fixed, still } = shared;
  const T = attnbook.translator;
  const MOVES = 700; // milliseconds from the ribbons of before to those of now
  const LARGEST = 99_999; // that the model has learned

  return class BreakTranslator extends attnbook.picturing(shared, Interactive) {
    static TABLE = "Where each head looks, as numbers";
    static STYLE = attnbook.picturing.STYLE + `
      .frame { column-gap: 1.8rem; padding-block: 1rem; }
      .text { min-height: 21rem; grid-template: ". looks" auto "reads english" auto ". ." minmax(2.5rem, 1fr)
        "says french" auto "as trained" auto / 6.2rem minmax(0, 1fr); }
      .said { position: absolute; width: 1px; height: 1px; min-height: 0; margin: 0; overflow: hidden;
        clip-path: inset(50%); }
      .text .looks { grid-area: looks; } .reads { grid-area: reads; } .english { grid-area: english; }
      .text .says { grid-area: says; } .text .french { grid-area: french; }
      .looks.refused { color: var(--wrong); text-wrap: balance; }
      .row { --gap: .5rem; font-size: clamp(.8rem, calc((100cqi - 11rem) / var(--ems)), 1.6rem); }
      .end small { display: none; }
      .name input { display: block; box-sizing: border-box; width: 100%; min-height: 2.2rem; padding: 0 .3rem;
        font-size: 1.4rem; font-weight: 700; color: var(--key); background: var(--paper);
        border: 1.5px solid var(--soft); border-radius: .4rem; font-variant-numeric: tabular-nums; }
      .name [aria-invalid="true"] { border-color: var(--wrong); }
      .name.says b { font-size: 1.6rem; }
      .again { margin-top: .35rem; padding: 0 .7rem; font-size: .8rem; }
      .as { grid-area: as; align-self: center; --chip: var(--soft); color: var(--soft); }
      .as.row { grid-area: trained; --gap: .4rem; row-gap: .2rem; font-size: 1rem; }
      .as .chip { min-height: 1.7em; padding-inline: .45em; font-weight: 400; background: none; border-style: dotted; }
      .as .differs { --chip: var(--right); border-style: solid; background: color-mix(in srgb, var(--right) 12%, var(--paper)); }
      .switches { display: grid; gap: .4rem; }
      .switches p { flex-basis: 100%; margin: .2rem 0 -.2rem; color: var(--soft); font-size: 13px; }
      .four { display: flex; flex-wrap: wrap; }
      .switches button { display: flex; align-items: center; gap: .55rem; min-height: 2.4rem; padding: .15rem .7rem;
        text-align: left; line-height: 1.15; font-size: .95rem; cursor: pointer; --set: var(--wrong);
        border: 1.5px solid var(--line); border-radius: .6rem; }
      .switches .head { flex: 1; justify-content: center; padding: 0; white-space: nowrap; font-size: .9rem; }
      .head .toggle { display: none; }
      .switches button:hover { background: var(--hover); }
      .switches [aria-checked="true"] { color: var(--wrong); border-color: var(--wrong);
        background: color-mix(in srgb, var(--wrong) 8%, var(--paper)); }
      .head[aria-checked="true"] { text-decoration: line-through; }
      .count { min-height: 2.4rem; align-items: center; margin: .5rem 0; }
      .result { position: relative; align-self: start; } .meter i { background: var(--tint); }
      .result button { position: absolute; inset: auto 0 0; min-height: 2.6rem; margin: 0 auto; width: fit-content;
        padding: 0 1rem; font-weight: 600; border: 1.5px solid var(--ink); border-radius: .6rem; cursor: pointer; }
      details { grid-column: 1 / -1; }
      @container page (min-width: 52.01rem) { .frame { grid-template-columns: minmax(0, 1fr) 17rem; }
        .result button { bottom: 1.4rem; } }
      @container page (max-width: 52rem) {
        .frame { padding-block: .6rem; gap: .6rem; grid-template: "text" "panel" "result" / minmax(0, 1fr); }
        .text { min-height: 20rem; grid-template: "reads reads" auto "looks looks" auto "english english" auto
          ". ." minmax(2.5rem, 1fr) "french french" auto "says says" auto "as trained" auto / auto minmax(0, 1fr); }
        .row { --gap: .3rem; font-size: clamp(.8rem, calc((100cqi - 2rem) / var(--ems)), 1.5rem); }
        .as.row { --gap: .25rem; font-size: .8rem; justify-content: flex-start; }
        .as { margin-top: .3rem; }
        .name, .name.says { display: flex; align-items: center; gap: .5rem; }
        .name input { width: 5.5rem; min-height: 2.6rem; font-size: 1.2rem; } .name.says b { font-size: 1.2rem; }
        .name .again { margin: 0 0 0 auto; min-height: 2.6rem; }
        .french { row-gap: 1.5rem; }
        .switches button { min-height: 2.75rem; padding: .15rem .5rem; font-size: .88rem; }
        .plain { grid-template-columns: 1fr 1fr; }
        .result { min-height: 5.6rem; } .meter { margin-top: .8rem; }
      }
    `;

    build() {
      this.switches = { ...this.data.switches };
      this.shown = Infinity; // no token waits
      const typed = element("input", { inputmode: "numeric", autocomplete: "off", "aria-label": "A number below 100,000",
        oninput: () => this.read(typed.value) });
      this.buildPicture(typed);
      typed.after(element("button", { type: "button", class: "again", onclick: () => this.another() }, "Another"));
      this.trained = element("div", { class: "as row", role: "group", "aria-label": "As trained, it writes" });
      this.stage.append(element("div", { class: "as name", "aria-hidden": "true" }, "as trained"), this.trained);
      this.setters = [];
      this.controls.append(...this.data.groups.map(([title, items]) =>
        element("div", { class: `switches ${title ? "four" : "plain"}`, role: "group", "aria-label": title ?? "Switches" },
          ...(title ? [element("p", { "aria-hidden": "true" }, title)] : []), ...items.map((item) => this.switchOf(...item)))));
      this.buildCount();
      this.count.tabIndex = -1;
      this.go = element("button", { type: "button", onclick: () => {
        this.count.focus();
        this.go.hidden = true;
        this.measure();
      } }, `Measure on ${this.cells.length} numbers`);
      this.count.after(this.go);
      this.reads.value = this.data.number;
      this.show(this.data.number);
    }

    // what a switch sets, or which head it removes
    switchOf(label, name, value) {
      const isSet = () => (Number.isInteger(value) ? this.switches[name]?.includes(value) ?? false
        : this.switches[name] === value);
      const button = element("button", { type: "button", role: "switch", class: Number.isInteger(value) && "head", onclick: () => {
        const heads = range(this.data.heads).filter((head) =>
          (head === value) !== (this.switches[name] ?? []).includes(head));
        const { [name]: _, ...others } = this.switches;
        const now = Number.isInteger(value) ? heads : isSet() ? [] : value;
        this.switches = Object.fromEntries(Object.entries(now.length ? { ...others, [name]: now } : others).sort());
        this.show(this.number);
      } }, element("i", { class: "toggle" }), label);
      this.setters.push(() => button.setAttribute("aria-checked", isSet()));
      return button;
    }

    another() {
      const { tested } = this.data;
      this.reads.value = tested[this.at = ((this.at ?? -1) + 1) % tested.length];
      this.read(this.reads.value);
    }

    // a number is translated while it is typed
    read(typed) {
      const digits = typed.replace(/[\s,]/g, "");
      const fine = /^\d+$/.test(digits) && Number(digits) <= LARGEST;
      this.reads.setAttribute("aria-invalid", !fine);
      if (fine) this.show(Number(digits));
      else this.say(this.looking.textContent = `It has only learned the numbers from 0 to ${LARGEST.toLocaleString("en")}.`);
      this.looking.classList.toggle("refused", !fine);
    }

    // translate a number with what the switches leave
    show(number) {
      const before = number === this.number ? { looks: this.looks, tokens: this.tokens } : null;
      this.number = number;
      clearTimeout(this.measuring);
      this.setters.forEach((set) => set());
      this.say(this.translate(number));
      this.showTrained();
      this.showCount();
      if (before && !still()) this.move(before);
      else this.place(); // beside all that stands there now
    }

    // what it writes with nothing changed, with a mark where this is something else
    showTrained() {
      if (this.intact?.number !== this.number) {
        const search = T.greedySearch(this.model, this.source, { maxLength: this.data.most, switches: {} });
        this.intact = { number: this.number, tokens: [...search].map(({ token }) => token).filter((token) => token !== T.END) };
      }
      const { tokens } = this.intact;
      this.trained.replaceChildren(...tokens.map((token, i) => element("span",
        { class: this.kindsOf(1, tokens, i, token !== this.tokens[i] && "differs") }, this.nameOf(1, token))));
    }

    // new words come in, and the ribbons go to their new places
    move({ looks, tokens }) {
      this.queries.forEach((query, i) => {
        if (this.tokens[i] !== tokens[i])
          query.animate([{ opacity: 0, transform: "translateY(-.6rem)" }, {}], { duration: MOVES / 2 });
      });
      this.glide((part) => this.place(this.looks.map((shares, i) => shares.map((share, j) =>
        part * share + (1 - part) * (looks[i]?.[j] ?? 0)))), false, MOVES);
    }

    // how many are right, beside how many were; what is not yet measured is a question
    showCount() {
      const known = this.results.has(JSON.stringify(this.switches));
      this.go.hidden = known;
      if (known) return this.measure();
      this.setCount([]);
      this.amount.textContent = "?";
      this.of.textContent = `of ${this.cells.length} numbers are right`;
    }

    setCount(found) {
      super.setCount(found);
      if (found.length < this.cells.length || !Object.keys(this.switches).length) return;
      this.of.textContent += ` (as trained: ${this.results.get("{}").filter(Boolean).length})`;
    }

    // the word before which it goes wrong is lit at first
    get lit() {
      const wrong = this.tokens.findIndex((token, i) => token !== this.wanted[i]);
      return this.pointed ?? this.pressed ?? Math.min(wrong < 0 ? Infinity : wrong, this.queries.length - 1);
    }

    highlight() {
      super.highlight();
      this.showNumbers();
    }

    numbers() {
      const i = Math.max(0, this.lit);
      const heads = this.all[i].maps.at(-1).cross;
      return [["", ...heads.map((_, head) => `head ${head + 1}`)], ...this.source.map((token, j) =>
        [this.nameOf(0, token), ...heads.map(({ weights }) => fixed(T.row(weights, i)[j], 3))])];
    }
  };
});
