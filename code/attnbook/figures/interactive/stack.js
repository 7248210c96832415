// The translator that runs in the page, as words, heads, a network and the word that it writes; heads
// and network can be switched off. translator.js computes it.
attnbook.define("stack", ({ Interactive, element, shape, percent, ribbons, boxesIn, still }) => {
  const T = attnbook.translator;
  const SHOWN = 8; // tokens; more are left out
  const FAINT = 0.02; // weights that are not drawn
  const LIKELY = 3; // next words
  const TOUR = 2500; // milliseconds for each head, once, unless somebody touches the figure

  return class Stack extends attnbook.writing({ element, still }, Interactive) {
    static STYLE = attnbook.writing.LOOK + `
      .frame { position: relative; }
      .narrows { container-type: inline-size; }
      .said { position: absolute; width: 1px; height: 1px; min-height: 0; margin: 0; overflow: hidden;
        clip-path: inset(50%); }
      .controls { justify-content: center; align-items: center; margin: 0; }
      .controls b { font-size: 1.6rem; font-variant-numeric: tabular-nums; }
      .flow { position: relative; display: grid; justify-items: center; max-width: 46rem;
        margin: 0 auto; padding-left: 1.8rem; }
      .flow > svg { position: absolute; inset: 0; z-index: 1; height: 100%; pointer-events: none; }
      .flow > .row { font-size: 19px; }
      .looks { margin-bottom: 1.4rem; }
      .french [aria-pressed="true"] { box-shadow: 0 0 0 3px var(--chip); }
      .french .later { font-weight: 400; border-style: dashed; }
      .block { display: grid; grid-template: "reads heads" auto "network network" auto / auto 1fr;
        gap: 1.6rem .8rem; align-items: center; justify-items: center;
        margin: 5rem 0 1.4rem; padding: .9rem 1.2rem; border: 1.5px solid var(--line);
        border-radius: .8rem; background: var(--paper); }
      .block > .title { grid-area: network; place-self: end start; margin: 0; color: var(--soft);
        font-size: 13px; }
      .reads { grid-area: reads; display: grid; justify-items: center; color: var(--query); font-size: 13px;
        --chip: var(--query); }
      .reads .chip { font-size: 17px; white-space: nowrap; }
      .block > .row { grid-area: heads; --gap: .7rem; flex-wrap: nowrap; padding: .5rem;
        border-radius: .8rem; background: color-mix(in srgb, var(--query) 9%, var(--paper)); }
      .part { display: flex; align-items: center; gap: .2rem .5rem; padding: 0 .5rem 0 .8rem;
        font-weight: 600; border-radius: .6rem; border: 1.5px solid var(--line); color: var(--set);
        background: var(--paper); --set: var(--weights); }
      .strip { width: 100%; display: flex; gap: 2px; }
      .strip i { flex: 1; height: .6rem; border-radius: 2px;
        background: color-mix(in srgb, var(--weights) var(--share), var(--tint)); }
      .part.lit { border-color: var(--set); box-shadow: inset 0 4px var(--set); }
      .part:has([aria-checked="false"]) { color: var(--soft); border-style: dashed; }
      :has([aria-checked="false"]) > .strip { visibility: hidden; }
      .head { flex-wrap: wrap; justify-content: space-between; padding: 0 .7rem .3rem; row-gap: 0; }
      .head::after { content: "where it looks"; width: 100%; color: var(--soft); font-size: 12px;
        font-weight: 400; line-height: 1.2; }
      .head:not(:first-child)::after { visibility: hidden; }
      .part button { display: flex; align-items: center; gap: .5rem; min-height: 2.6rem; padding: 0; border: 0; color: inherit; background: none;
        font-weight: inherit; white-space: nowrap; cursor: pointer; }
      .head button { min-height: 2rem; }
      .network { grid-area: network; --set: var(--ink); border-color: var(--soft); }
      [aria-checked="false"] { --knob: var(--wrong); }
      .score { margin: 0 0 1.6rem; padding: .25rem .9rem; border-radius: 1rem; font-size: 14px;
        border: 1.5px solid var(--line); color: var(--soft); background: var(--paper); }
      .score b { color: var(--query); }
      .verdict { margin: 1rem 0 .2rem; text-align: center; min-height: 1.4em; }
      .verdict b { color: var(--wrong); }
      .pipe, .back { fill: none; stroke: var(--line); stroke-width: 2; }
      .back { stroke: var(--query); stroke-width: 8; stroke-linejoin: round; opacity: .35; }
      .pipe.blue { stroke: var(--query); }
      .tip { fill: var(--soft); } .tip.blue { fill: var(--query); }
      @media (max-width: 600px) { .frame { padding-inline: .5rem; } }
      @container (max-width: 44rem) {
        .flow { min-height: 36.6rem; align-content: start; padding-left: .9rem; }
        .flow > .row { --gap: .35rem; row-gap: .9rem; font-size: 15px; } .flow .chip { padding-inline: .45em; }
        .block { grid-template: "heads heads" auto "reads network" auto / auto 1fr; padding: .5rem;
          margin-top: 4rem; }
        .looks { min-height: 2.8em; } /* it may need two lines */
        .block > .title { display: none; } .block > .row { --gap: .25rem; padding: .3rem; }
        .verdict { min-height: 2.85em; } .reads .chip { font-size: 15px; } .score { max-width: 100%; padding-inline: .5rem; font-size: 12.5px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
        .head { flex-direction: column; padding: .2rem .45rem; }
        .head button { min-height: 1.6rem; font-size: 14px; } }
    `;

    build() {
      this.loadTranslator();
      this.at = 0; // of the numbers
      this.off = new Set(); // heads by their number; the network is "network"
      this.lit = 0; // the head whose looks are strong
      this.switchOf = new Map();
      this.heads = Array.from({ length: this.data.heads }, (_, i) => this.part(`head ${i + 1}`, i));
      this.network = this.part("small network", "network");
      this.looking = element("p", { class: "looks", "aria-hidden": "true" });
      this.english = element("div", { class: "row english", role: "group",
        "aria-label": "English" });
      this.french = element("div", { class: "row french", role: "group", "aria-label": "French" });
      this.curves = shape("svg", { "aria-hidden": "true" });
      this.reads = element("span", { class: "chip" });
      this.score = element("p", { class: "score" });
      this.verdict = element("p", { class: "verdict", "aria-hidden": "true" });
      this.named = element("b");
      this.flow = element("div", { class: "flow" }, this.curves, this.looking, this.english,
        this.block = element("div", { class: "block", role: "group", "aria-label": "A block" },
          element("div", { class: "reads" }, this.reads, "asks"),
          element("div", { class: "row" }, ...this.heads),
          element("p", { class: "title" }, "a block"), this.network),
        this.score, this.french, this.verdict);
      this.stage.className = "narrows";
      this.stage.append(this.flow);
      this.controls.append(this.named);
      this.button("Another number", () => {
        this.at = (this.at + 1) % this.data.numbers.length;
        this.chosen = Infinity;
        this.write();
      }).className = "again";
      this.whenResized(this.flow, () => this.drawCurves());
      this.chosen = Infinity; // the last word
      this.write();
      for (const touch of ["pointerover", "focusin"])
        this.shadowRoot.addEventListener(touch, () => {
          this.touched = true;
          clearTimeout(this.timer);
        });
      if (!still()) this.whenSeen(() => this.tour());
    }

    // a head has a name that lights its looks, and a switch; the network has a switch alone
    part(name, key) {
      const head = key !== "network";
      const toggle = element("button", { type: "button", role: "switch", "aria-label": name,
        onclick: () => this.toggle(key) }, ...(head ? [] : [name]), element("i", { class: "toggle" }));
      this.switchOf.set(key, toggle);
      return element("div", { class: `part ${head ? "head" : key}`,
        onmouseenter: () => head && this.light(key) },
      ...(head ? [element("button", { type: "button", onfocus: () => this.light(key),
        onclick: () => this.light(key) }, name)] : []), toggle, ...(head ? [element("div", { class: "strip" })] : []));
    }

    // head after head, and back to the first
    tour() {
      if (this.touched) return;
      this.timer = setTimeout(() => {
        this.light((this.lit + 1) % this.heads.length);
        if (this.lit) this.tour();
      }, TOUR);
    }

    light(head) {
      this.lit = head;
      this.showLit();
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
      this.keys = this.source.map((token, i) => element("span",
        { class: this.kindsOf(0, this.source, i, token === T.END && "end") },
        token === T.END ? "end" : this.nameOf(0, token),
        element("span", { class: "share", "aria-hidden": "true" })));
      this.english.replaceChildren(...this.keys);
      const focused = this.words?.indexOf(this.shadowRoot.activeElement) ?? -1;
      const shown = this.written.slice(0, SHOWN);
      this.chosen = Math.min(this.chosen, Math.max(0, shown.length - 1));
      this.words = shown.map((token, i) => element("button", { type: "button",
        class: this.kindsOf(1, shown, i, token !== this.wanted[i] && "wrong"),
        onclick: () => this.choose(i) }, this.nameOf(1, token)));
      const more = this.written.length > SHOWN ? [element("span", { class: "chip end" }, "…")] : [];
      this.french.replaceChildren(...this.words, ...more);
      this.words[focused]?.focus();
      this.draw();
    }

    choose(i) {
      this.chosen = i;
      this.draw();
      const [from, to] = [this.words[i - 1], this.reads].map((node) => node?.getBoundingClientRect());
      if (from && !still()) this.reads.animate([
        { transform: `translate(${from.x - to.x}px, ${from.y - to.y}px)` }, {}],
      { duration: 700, easing: "ease-in-out" });
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
      for (const [key, toggle] of this.switchOf) toggle.setAttribute("aria-checked", !this.off.has(key));
      const text = this.textOf(this.written);
      const right = text === this.textOf(this.wanted);
      const word = this.written.length ? this.nameOf(1, this.written[this.chosen]) : "nothing";
      const told = this.looks().map((weights, head) => {
        const most = weights.indexOf(Math.max(...weights));
        const place = this.source[most] === T.END ? "the end" : `“${this.nameOf(0, this.source[most])}”`;
        return this.off.has(head) ? null : `head ${head + 1} at ${place}`;
      }).filter(Boolean);
      const [looking, ...others] = told;
      const where = looking ? [looking.replace(" at", " looks most at"), ...others].join(", ")
        : "no head looks";
      const number = this.number.toLocaleString("en");
      const asks = this.chosen ? this.nameOf(1, this.written[this.chosen - 1]) : "start";
      this.say(`“${asks}” asks, and ${where}. The next word is “${word}”. `
        + `The French for ${number} is ${right ? "right" : "wrong"}.`);
      const said = T.numberOfFrench(text);
      this.verdict.replaceChildren(...(right ? [`This is the French for ${number}.`]
        : [element("b", {}, said === null ? `This is not the French for ${number}.`
          : `This is the French for ${said.toLocaleString("en")}, not for ${number}.`)]));
      this.reads.textContent = asks;
      const { probabilities } = this.steps[this.chosen];
      const likely = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]).slice(0, LIKELY)
        .map((token) => [T.END === token ? "end" : this.nameOf(1, token), ` ${percent(probabilities[token])}`]);
      this.score.replaceChildren("next: ", ...likely.flatMap(([name, share], i) =>
        (i ? [", ", name, share] : [element("b", {}, name), share])));
      this.heads.forEach((head, i) => head.lastChild.replaceChildren(...this.looks()[i].map((weight) =>
        element("i", { style: `--share: ${100 * weight}%` }))));
      this.drawCurves();
    }

    showLit() {
      const off = this.off.has(this.lit);
      const writes = this.written.length ? this.nameOf(1, this.written[this.chosen]) : "the end";
      this.looking.replaceChildren("To write ", element("b", {}, writes), ", ",
        element("b", {}, this.reads.textContent), ` asks. Head ${this.lit + 1} ${off ? "is off." : "looks at:"}`);
      this.heads.forEach((head, i) => head.classList.toggle("lit", i === this.lit));
      for (const path of this.curves.querySelectorAll(".look"))
        path.classList.toggle("on", path.head === this.lit);
      this.looks()[this.lit].forEach((weight, j) => {
        this.keys[j].lastChild.textContent = off ? "" : percent(weight);
      });
    }

    drawCurves() {
      const { offsetWidth: width, offsetHeight: height } = this.flow;
      if (!width) return;
      const at = boxesIn(this.flow);
      const arrow = (from, to, more = "") => {
        const [a, b] = [at(from), at(to)];
        const middle = (a.bottom + b.top) / 2;
        return [shape("path", { class: `pipe ${more}`, d: `M${a.x},${a.bottom} C${a.x},${middle} ${b.x},${middle} `
          + `${b.x},${b.top - 9}` }), shape("path", { class: `tip ${more}`, d: `M${b.x},${b.top - 3} l-5,-8 h10z` })];
      };
      const lookers = this.heads.map(at).map((box) => ({ ...box, y: box.top }));
      const places = this.keys.map(at).map((box) => ({ ...box, y: box.bottom }));
      const looks = this.looks().map((weights, head) => weights.map((share) => this.off.has(head) ? 0 : share));
      const word = this.words[this.chosen];
      this.curves.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.curves.replaceChildren(
        ...ribbons(lookers, places, looks, FAINT).map(({ looker, share, d }) =>
          Object.assign(shape("path", { class: "look", d }), { head: looker, share })),
        ...this.heads.flatMap((head, i) => (this.off.has(i) ? [] : arrow(head, this.network))),
        ...arrow(this.network, this.score),
        ...(word && word.offsetTop === this.words[0].offsetTop ? arrow(this.score, word, "blue") : []),
        ...(word && this.chosen ? this.wayBack(at(this.words[this.chosen - 1]), at) : []));
      this.showLit();
    }

    // from the word before into the block: below its own line of words, then beside them all
    wayBack({ x, bottom }, at) {
      const { x: middle, top } = at(this.reads.parentNode); // the chip itself may be on its way
      const under = bottom + parseFloat(getComputedStyle(this.french).rowGap) / 2;
      const side = Math.min(at(this.block).left, ...this.words.map((word) => at(word).left)) - 10;
      const [to, y] = [middle - this.reads.offsetWidth / 2, top + this.reads.offsetHeight / 2];
      return [shape("path", { class: "back", d: `M${x},${bottom} V${under} H${side} V${y} H${to - 7}` }),
        shape("path", { class: "tip blue", d: `M${to - 1},${y} l-9,-7 v14z` })];
    }

    numbers() {
      const names = this.source.map((token) => (token === T.END ? "end" : this.nameOf(0, token)));
      return [["", ...names], ...this.looks().map((weights, head) =>
        [`head ${head + 1}`, ...weights.map((weight) => weight.toFixed(3))])];
    }
  };
});
