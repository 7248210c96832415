// The translator that runs in the page, as words, heads, a network and the word that it writes; heads
// and network can be switched off. translator.js computes it.
attnbook.define("stack", ({ Interactive, element, shape }) => {
  const T = attnbook.translator;
  const SHOWN = 8; // tokens; more are left out
  const FAINT = 0.04; // weights that are not drawn

  return class Stack extends attnbook.writing({ element }, Interactive) {
    static LINES = 5;
    static STYLE = `
      .middle { justify-content: center; align-items: center; }
      .flow { position: relative; display: grid; justify-items: center; gap: 0; }
      .flow > svg { position: absolute; inset: 0; z-index: 1; height: 100%; pointer-events: none; }
      .row { position: relative; display: flex; flex-wrap: wrap; justify-content: center; gap: .4rem; }
      .note { position: relative; margin: .1rem 0 .35rem; text-align: center; }
      .chip { min-height: 2.2rem; padding: .2rem .6rem; border: 1.5px solid var(--chip);
        border-radius: .5rem; display: inline-flex;
        align-items: center; color: var(--chip); font-weight: 600; background: var(--paper); }
      .chip.reads { --chip: var(--key); } .chip.french { --chip: var(--query); cursor: pointer; }
      .chip.end { --chip: var(--soft); font-weight: 400; border-style: dashed; }
      .chip.wrong { --chip: var(--wrong); text-decoration: underline wavy 1px; }
      .chip[aria-pressed="true"].french { box-shadow: 0 0 0 2px var(--chip); }
      .block { position: relative; display: grid; gap: 1.6rem; justify-items: center;
        margin: 4.4rem 0 2.2rem; padding: .8rem 1rem; border: 1.5px solid var(--line);
        border-radius: .8rem; background: var(--paper); box-shadow: 5px -5px 0 -1px var(--paper),
          5px -5px 0 0 var(--line), 10px -10px 0 -1px var(--paper), 10px -10px 0 0 var(--line); }
      .part { min-height: 2.4rem; padding: .2rem .8rem; cursor: pointer; font-weight: 600;
        border-radius: .6rem; border: 1.5px solid var(--part); color: var(--part); }
      .head { --part: var(--weights); } .network { --part: var(--ink); padding-inline: 2.4rem; }
      .part[aria-checked="false"] { border-style: dashed; color: var(--soft);
        border-color: var(--soft); font-weight: 400; text-decoration: line-through; }
      .look { fill: none; stroke: var(--weights); stroke-linecap: round; }
      .pipe { fill: none; stroke: var(--soft); stroke-width: 1.5; }
      @media (prefers-reduced-motion: no-preference) {
        .look { transition: stroke-width .2s, opacity .2s; } }
      @media (max-width: 600px) {
        .row.texts { min-height: 4.9rem; align-content: flex-start; } /* two lines: nothing jumps */
        .row.english { align-content: flex-end; }
        .chip { padding-inline: .4rem; } .part { padding-inline: .5rem; }
        .network { padding-inline: 1rem; } .block { padding-inline: .5rem; } }
    `;

    build() {
      this.loadTranslator();
      this.at = 0; // of the numbers
      this.off = new Set(); // heads by their number; the network is "network"
      const part = (name, key) => element("button", { type: "button", role: "switch",
        class: `part ${key === "network" ? key : "head"}`, onclick: () => this.toggle(key) }, name);
      this.heads = Array.from({ length: this.data.heads }, (_, i) => part(`head ${i + 1}`, i));
      this.network = part("small network", "network");
      this.english = element("div", { class: "row texts english", role: "group",
        "aria-label": "English" });
      this.french = element("div", { class: "row texts", role: "group", "aria-label": "French" });
      this.curves = shape("svg", { "aria-hidden": "true" });
      this.label = element("p", { class: "note" });
      this.named = element("b");
      this.flow = element("div", { class: "flow" }, this.curves, this.english,
        element("div", { class: "block", role: "group", "aria-label": "Parts to switch off" },
          element("div", { class: "row" }, ...this.heads), this.network), this.label, this.french);
      this.stage.append(this.flow);
      this.button("Another number", () => {
        this.at = (this.at + 1) % this.data.numbers.length;
        this.write();
      });
      this.controls.prepend(this.named);
      this.controls.classList.add("middle");
      this.whenResized(this.flow, () => this.drawCurves());
      this.write();
    }

    get switches() {
      const heads = [...this.off].filter((key) => key !== "network");
      return { ...(heads.length && { cross_heads_off: heads }),
        ...(this.off.has("network") && { feed_forward: "off" }) };
    }

    toggle(key) {
      this.off[this.off.has(key) ? "delete" : "add"](key);
      this.write();
    }

    // translate the number with what is switched on
    write() {
      this.number = this.data.numbers[this.at];
      this.named.textContent = this.number.toLocaleString("en");
      this.source = this.sourceOf(T.spell(this.number));
      this.wanted = this.wantedOf(this.number);
      this.steps = [...T.greedySearch(this.model, this.source, {
        maxLength: this.data.most, switches: this.switches })].slice(0, this.data.most);
      this.written = this.steps.map(({ token }) => token).filter((token) => token !== T.END);
      this.chosen = Math.min(this.chosen ?? 1, Math.max(0, this.written.slice(0, SHOWN).length - 1));
      this.keys = this.source.map((token) => element("span",
        { class: token === T.END ? "chip end" : "chip reads" },
        token === T.END ? "end" : this.nameOf(0, token)));
      this.english.replaceChildren(...this.keys);
      const focused = this.words?.indexOf(this.shadowRoot.activeElement) ?? -1;
      this.words = this.written.slice(0, SHOWN).map((token, i) => element("button", { type: "button",
        class: token === this.wanted[i] ? "chip french" : "chip french wrong",
        onclick: () => this.choose(i), onmouseenter: () => this.choose(i) }, this.nameOf(1, token)));
      const more = this.written.length > SHOWN ? [element("span", { class: "chip end" }, "…")] : [];
      this.french.replaceChildren(...this.words, ...more);
      this.words[focused]?.focus();
      this.draw();
    }

    choose(i) {
      this.chosen = i;
      this.draw();
    }

    // where each head looked before the chosen token was written
    looks() {
      const i = this.chosen;
      return this.steps[i].maps.at(-1).cross.map(({ weights }) => [...T.row(weights, i)]);
    }

    paint() {
      this.words.forEach((word, i) => word.setAttribute("aria-pressed", i === this.chosen));
      [...this.heads, this.network].forEach((part, i) =>
        part.setAttribute("aria-checked", !this.off.has(i < this.heads.length ? i : "network")));
      const right = T.join(this.written.map((token) => this.nameOf(1, token)))
        === T.join(this.wanted.filter((token) => token !== T.END).map((token) => this.nameOf(1, token)));
      const name = this.written.length ? `“${this.nameOf(1, this.written[this.chosen])}”` : "nothing";
      this.label.textContent = `writes ${name}`;
      const told = this.looks().map((weights, head) => {
        const most = weights.indexOf(Math.max(...weights));
        const word = this.source[most] === T.END ? "the end" : `“${this.nameOf(0, this.source[most])}”`;
        return this.off.has(head) ? null : `head ${head + 1} at ${word}`;
      }).filter(Boolean);
      const [looking, ...others] = told;
      const where = looking ? [looking.replace(" at", " looks most at"), ...others].join(", ")
        : "no head looks";
      this.say(`To write ${name}, ${where}. `
        + `So ${this.number.toLocaleString("en")} is written ${right ? "correctly" : "wrong"}.`);
      this.drawCurves();
    }

    drawCurves() {
      const { left, top, width, height } = this.flow.getBoundingClientRect();
      if (!width) return;
      const at = (node, low) => {
        const box = node.getBoundingClientRect();
        return [box.x + box.width / 2 - left, (low ? box.bottom : box.top) - top];
      };
      const line = (from, to) => {
        const middle = (from[1] + to[1]) / 2;
        return `M${from} C${from[0]},${middle} ${to[0]},${middle} ${to}`;
      };
      const looks = this.looks();
      const pipe = (from, to) => shape("path", { class: "pipe", d: line(from, to) });
      const on = this.heads.filter((_, head) => !this.off.has(head));
      this.curves.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.curves.replaceChildren(
        ...this.heads.flatMap((button, head) => (this.off.has(head) ? [] : looks[head]
          .map((weight, j) => (weight < FAINT ? "" : shape("path", { class: "look",
            d: line(at(this.keys[j], true), at(button)), "stroke-width": 1 + 11 * weight,
            opacity: 0.25 + 0.5 * weight }))))),
        ...on.map((button) => pipe(at(button, true), at(this.network))),
        this.words.length ? pipe(at(this.network, true), at(this.label)) : "");
    }

    numbers() {
      const names = this.source.map((token) => (token === T.END ? "end" : this.nameOf(0, token)));
      return [["", ...names], ...this.looks().map((weights, head) =>
        [`head ${head + 1}`, ...weights.map((weight) => weight.toFixed(3))])];
    }
  };
});
