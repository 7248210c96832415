// The translator that runs in the page, as words, heads, a network and the word that it writes; heads
// and network can be switched off. translator.js computes it.
attnbook.define("stack", ({ Interactive, element, shape, percent, ribbons, boxesIn, still }) => {
  const T = attnbook.translator;
  const SHOWN = 8; // tokens; more are left out
  const FAINT = 0.02; // weights that are not drawn
  const LIKELY = 3; // next words
  const PACE = 3000; // milliseconds for a word while it plays
  // those of the word before that runs back, of ribbons that grow, of what flows on, and of the next word that drops
  const [RUNS, GROWS, FLOWS, DROPS] = [900, 600, 300, 550];
  const DRAWN = { strokeDasharray: ["1 1", "1 1"], strokeDashoffset: [1, 0] }; // of a line, from its beginning

  return class Stack extends attnbook.writing(Interactive) {
    static STYLE = attnbook.writing.LOOK + `
      .frame { position: relative; }
      .narrows { container-type: inline-size; }
      .said { position: absolute; width: 1px; height: 1px; min-height: 0; margin: 0; overflow: hidden;
        clip-path: inset(50%); }
      .controls { justify-content: center; align-items: center; margin: 0; }
      .controls :nth-of-type(3) { min-width: 4.2rem; }
      .controls b { font-size: 1.6rem; font-variant-numeric: tabular-nums; }
      .flow { position: relative; display: grid; justify-items: center; max-width: 46rem;
        margin: 0 auto; padding-left: 1.8rem; }
      .flow > svg { position: absolute; inset: 0; z-index: 1; height: 100%; pointer-events: none; }
      .flow > .row { font-size: 19px; row-gap: 1.5rem; }
      .looks { margin-bottom: 1.4rem; }
      .french [aria-pressed="true"] { box-shadow: 0 0 0 3px var(--chip); }
      .french .later { border-style: dashed; }
      .writing .later { color: transparent; background: none; } .writing .verdict { opacity: 0; }
      .all .look { opacity: .5; }
      .flies { position: absolute; inset: 0 auto auto 0; z-index: 2; width: 12px; height: 12px; border-radius: 6px;
        background: var(--weights); offset-rotate: 0deg; }
      .chip.flies { width: auto; height: auto; min-height: 0; --chip: var(--query); font-size: 17px; line-height: 1.5;
        color: var(--paper); background: var(--query); }
      .block { display: grid; grid-template: "reads heads" auto "network network" auto / 6.2rem 1fr;
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
      .verdict { margin: 1.8rem 0 .2rem; text-align: center; min-height: 1.4em; }
      .verdict b { color: var(--wrong); }
      .pipe, .back { fill: none; stroke: var(--line); stroke-width: 2; }
      .back { stroke: var(--query); stroke-width: 8; stroke-linejoin: round; opacity: .35; }
      .pipe.blue { stroke: var(--query); }
      .tip { fill: var(--soft); } .tip.blue { fill: var(--query); }
      @media (max-width: 600px) { .frame { padding-inline: .5rem; } .controls { column-gap: .5rem; } }
      @container (max-width: 44rem) {
        .flow { min-height: 37rem; align-content: start; padding-left: .9rem; }
        .flow > .row { --gap: .35rem; row-gap: 1.2rem; font-size: 15px; } .flow .chip { padding-inline: .45em; }
        .block { grid-template: "heads heads" auto "reads network" auto / 5.6rem 1fr; padding: .5rem;
          margin-top: 4rem; }
        .looks { min-height: 2.8em; } /* it may need two lines */
        .block > .title { display: none; } .block > .row { --gap: .25rem; padding: .3rem; }
        .verdict { min-height: 2.85em; margin-top: 1.3rem; } .reads .chip { font-size: 15px; } .score { max-width: 100%; padding-inline: .5rem; font-size: 12.5px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
        .head { flex-direction: column; padding: .2rem .45rem; } .chip.flies { font-size: 14px; }
        .head button { min-height: 1.6rem; font-size: 14px; } }
    `;

    build() {
      this.loadTranslator();
      this.at = 0; // of the numbers
      this.off = new Set(); // heads by their number; the network is "network"
      this.lit = null; // the head whose looks are strong; at first all are
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
      this.stepper({ last: () => this.last, pace: PACE });
      this.button("Another number", () => {
        this.at = (this.at + 1) % this.data.numbers.length;
        this.begin();
      }).className = "again";
      this.step = Infinity; // the last word, until it is seen
      this.whenResized(this.flow, () => this.drawCurves());
      this.write();
      this.onceByItself(() => this.begin());
    }

    // write the whole number, all heads alike
    begin() {
      this.pause();
      this.lit = null;
      this.step = Infinity;
      this.write();
      if (!still()) this.play();
    }

    get last() {
      return Math.max(0, this.words.length - 1); // what is broken may write nothing
    }

    // a first word has a way, too
    go(step) {
      if (this.playing && !step) this.step = -1;
      super.go(Math.min(step, this.last));
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
      this.pause();
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
      this.words = shown.map((token, i) => element("button", { type: "button",
        class: this.kindsOf(1, shown, i, token !== this.wanted[i] && "wrong"),
        onclick: () => this.choose(i) }, this.nameOf(1, token)));
      const more = this.written.length > SHOWN ? [element("span", { class: "chip end" }, "…")] : [];
      this.french.replaceChildren(...this.words, ...more);
      this.words[focused]?.focus();
      this.step = Math.min(this.step, this.last);
      this.draw();
    }

    choose(i) {
      this.pause();
      this.step = i - 1; // so that it is on its way
      this.go(i);
    }

    // the word before runs back and asks, ribbons grow, and the next word drops to its place
    travel() {
      const word = this.words[this.step];
      if (!word) return;
      let wait = 0; // milliseconds
      const [first, at] = [this.score.querySelector("b"), boxesIn(this.flow)];
      const move = (nodes, frames, duration, delay = wait) => [...nodes].map((node) =>
        node.animate(frames, { duration, delay, easing: "ease-in-out", fill: "backwards" }));
      const appear = (...nodes) => move(nodes, { opacity: [0, 1] }, 200);
      const pulse = (node, role) => node.animate([{ boxShadow: `0 0 0 5px var(--${role})` }, {}], { duration: 700, delay: wait });
      const fly = (name, d, duration, more) => {
        const chip = element("span", { class: name ? "chip flies" : "flies", "aria-hidden": "true",
          style: `offset-path: path("${d}")` }, name);
        this.flow.append(chip);
        move([chip], { offsetDistance: ["0%", "100%"], ...more }, duration)[0].onfinish = () => chip.remove();
        move([chip], { opacity: [0, 1] }, duration / 5);
      };
      const wayOf = (line) => line.getAttribute("d");
      if (this.step) {
        const [line, tip] = this.lines.back.children;
        const beside = Array(2).fill("1em 50%"); // where the line is at the edge
        fly(this.reads.textContent, wayOf(line).replace(/H[^H]*$/, `H${at(this.reads).x}`), RUNS,
          { offsetAnchor: ["50% 50%", ...beside, "50% 50%"] });
        move([line], DRAWN, RUNS);
        move([tip], { opacity: [0, 0, 1] }, RUNS);
        wait += RUNS;
      }
      appear(this.reads.parentNode, this.looking);
      pulse(this.heads[0].parentNode, "query");
      wait += 300;
      move([this.lines.looks], { clipPath: ["inset(0 0 100% 0)", "inset(0)"] }, GROWS);
      wait += GROWS;
      appear(...this.heads.map((head) => head.lastChild), ...this.keys.map((key) => key.lastChild));
      for (const name of ["heads", "network"]) {
        for (const line of this.lines[name].querySelectorAll(".pipe")) fly("", wayOf(line), FLOWS);
        wait += FLOWS;
        pulse(name === "heads" ? this.network : this.score, "weights");
      }
      appear(this.score.firstChild);
      wait += 400;
      const [{ x, top, bottom }, end] = [at(first), at(word)];
      const [from, to] = [(top + bottom) / 2, (end.top + end.bottom) / 2];
      fly(first.textContent, `M${x},${from} C${x},${end.top} ${end.x},${from} ${end.x},${to}`, DROPS);
      move(this.lines.word.children, { opacity: [0, 1] }, DROPS);
      wait += DROPS;
      move([word], { color: ["transparent", "transparent"], background: ["none", "none"], borderStyle: ["dashed", "dashed"] }, 0);
      if (word === this.words.at(-1)) appear(this.verdict);
    }

    // where each head looked before the chosen token was written
    looks() {
      const i = this.step;
      return this.steps[i].maps.at(-1).cross.map(({ weights }) => [...T.row(weights, i)]);
    }

    paint() {
      for (const move of this.flow.getAnimations({ subtree: true })) move.cancel();
      for (const chip of this.flow.querySelectorAll(".flies")) chip.remove();
      this.flow.classList.toggle("writing", this.playing);
      this.words.forEach((word, i) => {
        word.setAttribute("aria-pressed", i === this.step);
        word.classList.toggle("later", i > this.step);
      });
      for (const [key, toggle] of this.switchOf) toggle.setAttribute("aria-checked", !this.off.has(key));
      const text = this.textOf(this.written);
      const right = text === this.textOf(this.wanted);
      const word = this.written.length ? this.nameOf(1, this.written[this.step]) : "nothing";
      const told = this.looks().map((weights, head) => {
        const most = weights.indexOf(Math.max(...weights));
        const place = this.source[most] === T.END ? "the end" : `“${this.nameOf(0, this.source[most])}”`;
        return this.off.has(head) ? null : `head ${head + 1} at ${place}`;
      }).filter(Boolean);
      const [looking, ...others] = told;
      const where = looking ? [looking.replace(" at", " looks most at"), ...others].join(", ")
        : "no head looks";
      const number = this.number.toLocaleString("en");
      const asks = this.step ? this.nameOf(1, this.written[this.step - 1]) : "start";
      this.say(`“${asks}” asks, and ${where}. The next word is “${word}”. `
        + `The French for ${number} is ${right ? "right" : "wrong"}.`);
      const said = T.numberOfFrench(text);
      this.verdict.replaceChildren(...(right ? [`This is the French for ${number}.`]
        : [element("b", {}, said === null ? `This is not the French for ${number}.`
          : `This is the French for ${said.toLocaleString("en")}, not for ${number}.`)]));
      this.reads.textContent = asks;
      const { probabilities } = this.steps[this.step];
      const likely = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]).slice(0, LIKELY)
        .map((token) => [T.END === token ? "end" : this.nameOf(1, token), ` ${percent(probabilities[token])}`]);
      this.score.replaceChildren(element("span", {}, "next: ", ...likely.flatMap(([name, share], i) =>
        (i ? [", ", name, share] : [element("b", {}, name), share]))));
      this.heads.forEach((head, i) => head.lastChild.replaceChildren(...this.looks()[i].map((weight) =>
        element("i", { style: `--share: ${100 * weight}%` }))));
      this.drawCurves();
    }

    showLit() {
      const off = this.off.has(this.lit);
      const [asks, one] = [element("b", {}, this.reads.textContent), this.lit !== null];
      const writes = this.written.length ? this.nameOf(1, this.written[this.step]) : "the end";
      this.looking.replaceChildren(...(one ? ["To write ", element("b", {}, writes), ", ", asks,
        ` asks. Head ${this.lit + 1} ${off ? "is off." : "looks at:"}`] : [asks, " asks, and every head looks:"]));
      this.heads.forEach((head, i) => head.classList.toggle("lit", i === this.lit));
      this.flow.classList.toggle("all", !one);
      for (const path of this.lines.looks.children) path.classList.toggle("on", path.head === this.lit);
      this.keys.forEach((key, j) => {
        key.lastChild.textContent = off || !one ? "" : percent(this.looks()[this.lit][j]);
      });
    }

    drawCurves() {
      const { offsetWidth: width, offsetHeight: height } = this.flow;
      if (!width) return;
      const at = boxesIn(this.flow);
      const arrow = (from, to, more = "") => {
        const [a, b] = [at(from), at(to)];
        const middle = (a.bottom + b.top) / 2;
        return [shape("path", { class: `pipe ${more}`, pathLength: 1, d: `M${a.x},${a.bottom} C${a.x},${middle} ${b.x},${middle} `
          + `${b.x},${b.top - 9}` }), shape("path", { class: `tip ${more}`, d: `M${b.x},${b.top - 3} l-5,-8 h10z` })];
      };
      const lookers = this.heads.map(at).map((box) => ({ ...box, y: box.top }));
      const places = this.keys.map(at).map((box) => ({ ...box, y: box.bottom }));
      const looks = this.looks().map((weights, head) => weights.map((share) => this.off.has(head) ? 0 : share));
      const word = this.words[this.step];
      this.curves.setAttribute("viewBox", `0 0 ${width} ${height}`);
      const parts = {
        back: this.step ? this.wayBack(at(this.words[this.step - 1]), at) : [],
        looks: ribbons(lookers, places, looks, FAINT).map(({ looker, share, d }) =>
          Object.assign(shape("path", { class: "look", d }), { head: looker, share })),
        heads: this.heads.flatMap((head, i) => (this.off.has(i) ? [] : arrow(head, this.network))),
        network: arrow(this.network, this.score),
        word: word && word.offsetTop === this.words[0].offsetTop ? arrow(this.score, word, "blue") : [],
      };
      this.lines = Object.fromEntries(Object.entries(parts).map(([name, paths]) => [name, shape("g", {}, ...paths)]));
      this.curves.replaceChildren(...Object.values(this.lines));
      this.showLit();
    }

    // from the word before into the block: below its own line of words, then beside them all
    wayBack({ x, bottom }, at) {
      const { x: middle, top } = at(this.reads.parentNode); // the chip itself may be on its way
      const under = bottom + parseFloat(getComputedStyle(this.french).rowGap) / 2;
      const side = Math.min(at(this.block).left, ...this.words.map((word) => at(word).left)) - 10;
      const [to, y, r] = [middle - this.reads.offsetWidth / 2, top + this.reads.offsetHeight / 2, under - bottom];
      return [shape("path", { class: "back", pathLength: 1, d: `M${x},${bottom} q0,${r} ${-r},${r} H${side + r} q${-r},0 ${-r},${-r} `
        + `V${y + r} q0,${-r} ${r},${-r} H${to - 7}` }),
        shape("path", { class: "tip blue", d: `M${to - 1},${y} l-9,-7 v14z` })];
    }

    numbers() {
      const names = this.source.map((token) => (token === T.END ? "end" : this.nameOf(0, token)));
      return [["", ...names], ...this.looks().map((weights, head) =>
        [`head ${head + 1}`, ...weights.map((weight) => weight.toFixed(3))])];
    }
  };
});
