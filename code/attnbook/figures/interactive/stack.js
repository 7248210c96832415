// The translator that runs in the page, as words, heads, a network and the word that it writes; heads
// and network can be switched off. translator.js computes it.
attnbook.define("stack", ({ Interactive, element, shape }) => {
  const T = attnbook.translator;
  const SHOWN = 8; // tokens; more are left out
  const FAINT = 0.05; // weights that are not drawn

  return class Stack extends attnbook.writing({ element }, Interactive) {
    static LINES = 5;
    static STYLE = `
      .middle { justify-content: center; align-items: center; }
      .flow { position: relative; display: grid; justify-items: center; gap: 0; max-width: 44rem;
        margin: 0 auto; padding: 0 1.6rem; }
      .flow > svg { position: absolute; inset: 0; z-index: 1; height: 100%; pointer-events: none; }
      .row { position: relative; display: flex; flex-wrap: wrap; justify-content: center; gap: .4rem; }
      .texts { min-height: 4.8rem; align-content: flex-start; } /* two lines: nothing jumps */
      .english { align-content: flex-end; }
      .note { margin: 1rem 0 0; text-align: center; }
      .chip { box-sizing: border-box; min-height: 2.2rem; padding: .2rem .6rem; border: 1.5px solid var(--chip);
        border-radius: .5rem; display: inline-flex;
        align-items: center; color: var(--chip); font-weight: 600; background: var(--paper); }
      .chip.reads { --chip: var(--key); } .chip.french { --chip: var(--query); cursor: pointer; }
      .chip.end { --chip: var(--soft); font-weight: 400; border-style: dashed; }
      .chip.later { font-weight: 400; border-style: dashed; border-width: 1px; }
      .chip.wrong { --chip: var(--wrong); text-decoration: underline wavy 1px; }
      .chip[aria-pressed="true"].french { box-shadow: 0 0 0 2px var(--chip); }
      .block { position: relative; display: grid; gap: 1.6rem; justify-items: center;
        margin: 3.6rem 0 2.6rem; padding: 1.2rem 1.4rem 1rem; border: 1.5px solid var(--soft);
        border-radius: .8rem; background: var(--paper); }
      .block > .title { position: absolute; left: .9rem; bottom: .4rem; margin: 0; color: var(--soft);
        font-size: 13px; }
      .part { min-height: 2.4rem; padding: .2rem .8rem; cursor: pointer; font-weight: 600;
        line-height: 1.15; border-radius: .6rem; border: 1.5px solid var(--part); color: var(--part);
        background: color-mix(in srgb, var(--part) 14%, var(--paper)); }
      .part::after { content: "on" / ""; display: block; font-size: 11.5px; font-weight: 400; }
      .head { --part: var(--weights); } .network { --part: var(--ink); padding-inline: 2.4rem; }
      .part[aria-checked="false"] { --part: var(--soft); border-style: dashed; background: none; }
      .part[aria-checked="false"]::after { content: "off" / ""; }
      .look { fill: none; stroke: var(--weights); opacity: .8; }
      .pipe { fill: none; stroke: var(--soft); stroke-width: 1.5; }
      .tip { fill: var(--soft); }
      @media (min-width: 700px) {
        .row { gap: 1rem; } .texts { min-height: 5.4rem; } .chip { font-size: 17px; padding-inline: .9rem; }
        .block { padding-inline: 2.6rem; margin-top: 4.6rem; } .part { padding-inline: 1.3rem; } }
      @media (prefers-reduced-motion: no-preference) { .look { transition: stroke-width .2s; } }
      @media (max-width: 600px) {
        .english { min-height: 4.8rem; }
        .flow { padding: 0 1.2rem 0 0; }
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
      this.english = element("div", { class: "row english", role: "group",
        "aria-label": "English" });
      this.french = element("div", { class: "row texts", role: "group", "aria-label": "French" });
      this.curves = shape("svg", { "aria-hidden": "true" });
      const back = element("p", { class: "note" }, "a word that is written is read before the next");
      this.named = element("b");
      this.flow = element("div", { class: "flow" }, this.curves, this.english,
        this.block = element("div", { class: "block", role: "group",
          "aria-label": "Parts to switch off" }, element("p", { class: "title" }, "a block"),
        element("div", { class: "row" }, ...this.heads), this.network), this.french, back);
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
      this.words.forEach((word, i) => {
        word.setAttribute("aria-pressed", i === this.chosen);
        word.classList.toggle("later", i > this.chosen);
      });
      [...this.heads, this.network].forEach((part, i) =>
        part.setAttribute("aria-checked", !this.off.has(i < this.heads.length ? i : "network")));
      const right = T.join(this.written.map((token) => this.nameOf(1, token)))
        === T.join(this.wanted.filter((token) => token !== T.END).map((token) => this.nameOf(1, token)));
      const name = this.written.length ? `“${this.nameOf(1, this.written[this.chosen])}”` : "nothing";
      const told = this.looks().map((weights, head) => {
        const most = weights.indexOf(Math.max(...weights));
        const word = this.source[most] === T.END ? "the end" : `“${this.nameOf(0, this.source[most])}”`;
        return this.off.has(head) ? null : `head ${head + 1} at ${word}`;
      }).filter(Boolean);
      const [looking, ...others] = told;
      const where = looking ? [looking.replace(" at", " looks most at"), ...others].join(", ")
        : "no head looks";
      this.say(`To write ${name}, ${where}. `
        + `The French for ${this.number.toLocaleString("en")} is ${right ? "right" : "wrong"}.`);
      this.drawCurves();
    }

    drawCurves() {
      const { left, top, width, height } = this.flow.getBoundingClientRect();
      if (!width) return;
      const at = (node, low) => {
        const box = node.getBoundingClientRect();
        return [box.x + box.width / 2 - left, (low ? box.bottom : box.top) - top];
      };
      const tip = ([x, y], way) => shape("path", { class: "tip", d: way === "left"
        ? `M${x},${y} l8,-5 v10z` : `M${x},${y} l-5,-8 h10z` });
      const arrow = (d, to, way) => [shape("path", { class: "pipe", d }), tip(to, way)];
      const line = (from, to) => {
        const middle = (from[1] + to[1]) / 2;
        return `M${from} C${from[0]},${middle} ${to[0]},${middle} ${to}`;
      };
      const looks = this.looks();
      const on = this.heads.filter((_, head) => !this.off.has(head));
      this.curves.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.curves.replaceChildren(
        ...this.heads.flatMap((button, head) => (this.off.has(head) ? [] : looks[head]
          .map((weight, j) => (weight < FAINT ? "" : shape("path", { class: "look",
            d: line(at(this.keys[j], true), at(button)), "stroke-width": 16 * weight }))))),
        ...on.flatMap((button) => arrow(line(at(button, true), at(this.network)), at(this.network))),
        ...(this.words.length ? this.pathsOfWriting(at, arrow, line) : []));
    }

    // from the network to the word that it writes, and from there back into the block
    pathsOfWriting(at, arrow, line) {
      const word = this.words[this.chosen];
      const { left } = this.flow.getBoundingClientRect();
      const [x, y] = at(word, true);
      const edge = this.block.getBoundingClientRect().right - left;
      const [far, low] = [edge + 16, at(this.french, true)[1] + 11];
      const middle = at(this.network)[1] - 12;
      return [...arrow(line(at(this.network, true), at(word)), at(word)),
        ...arrow(`M${x},${y} V${low} H${far} V${middle} H${edge + 7}`, [edge + 1, middle], "left")];
    }

    numbers() {
      const names = this.source.map((token) => (token === T.END ? "end" : this.nameOf(0, token)));
      return [["", ...names], ...this.looks().map((weights, head) =>
        [`head ${head + 1}`, ...weights.map((weight) => weight.toFixed(3))])];
    }
  };
});
