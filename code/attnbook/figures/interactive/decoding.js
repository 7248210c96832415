// A translation that is written token by token: where each looks, what it could be, and what it is.
attnbook.define("decoding", ({ Interactive, element, shape, sum, ribbons, boxesIn, percent }) => {
  const PACE = 2200; // milliseconds for a step while it plays
  const [LOOKS, FLIES] = [600, 700]; // milliseconds until ribbons have grown, and for the token that is taken
  const FAINT = 0.03; // a weight below it has no ribbon
  const THICK = { narrow: 15, wide: 32 }; // pixels of a ribbon that has all of the weight

  return class Decoding extends Interactive {
    static LINES = 3;
    static STYLE = `
      :host { container-type: inline-size; }
      .flow { position: relative; display: grid; gap: 0 .8rem; }
      .flow svg { position: absolute; inset: 0; height: 100%; pointer-events: none; }
      .before path { fill: var(--weights); opacity: .13; }
      .looks path { fill: var(--weights); opacity: .6; }
      .label { font-size: 13px; line-height: 1.25; color: var(--soft); }
      .looking, .writing, .unit { display: none; }
      .row { display: flex; flex-wrap: wrap; gap: .3rem 1px; font-size: 12px; letter-spacing: -.03em; }
      .source { justify-content: space-between; margin-bottom: 4.6rem; }
      .place { position: relative; display: grid; justify-items: center; text-align: center; }
      .chip { min-width: 1em; padding: 0 1px; line-height: 22px; white-space: nowrap; border-radius: .3rem; border: 1px solid var(--of);
        color: var(--of); background: color-mix(in srgb, var(--of) 5%, var(--paper)); }
      small { height: 18px; font-size: 12px; letter-spacing: -.03em; line-height: 18px; white-space: nowrap; color: var(--ink);
        font-variant-numeric: tabular-nums; }
      .source .place { --of: var(--key); }
      .source small { width: 0; order: -1; display: flex; justify-content: center; }
      .written small { background: var(--paper); }
      .source .place:not(.seen) .chip { border-color: color-mix(in srgb, var(--key) 30%, var(--paper)); }
      .written .place { --of: var(--query); }
      .later { visibility: hidden; }
      .above { z-index: -1; opacity: .5; } .flow { isolation: isolate; }
      .now .chip, .flies { color: var(--paper); background: var(--query); }
      .flies { position: absolute; z-index: 1; }
      .next { margin-top: .5rem; }
      .bars { letter-spacing: 0; }
      .bars .name { min-width: 5.5rem; color: var(--ink); }
      .bars li > :nth-child(2) { background: linear-gradient(var(--line) 0 0) center / 100% 2px no-repeat; }
      .bars .bar { margin: 4px 0; background: var(--rivals); }
      .bars li:first-child { --of: var(--query); }
      .bars li:first-child .name { color: var(--query); font-weight: 600; }
      .bars li:first-child .bar { background: var(--query); }
      .bars li:last-child .name, .bars li:last-child .number { color: var(--soft); }
      .bars .number { min-width: 2.6rem; }
      @media (prefers-reduced-motion: no-preference) { .bars .bar { transition: width .5s; } }
      @media (max-width: 600px) { .frame { padding: .6rem .4rem; } }
      @container (min-width: 40rem) {
        .flow { grid-template-columns: 5.6rem minmax(0, 1fr); } .unit { display: inline; } .narrow { display: none; }
        .looking, .writing { display: block; }
        .row { gap: .5rem .25rem; font-size: 15px; letter-spacing: 0; }
        .source { margin-bottom: 0; }
        .label { align-self: center; }
        .label:has(+ .source) { padding-top: 18px; } .writing { padding-bottom: 18px; } /* beside the chips */
        .looking { grid-column: 1; height: 7.5rem; display: grid; align-items: center; color: var(--weights); }
        .chip { min-width: 1.1rem; padding: 0 .36rem; line-height: 30px; border-width: 1.5px; border-radius: .4rem; }
        small { font-size: 13px; letter-spacing: 0; }
        .next { margin-top: 0; }
        .list { margin-top: .5rem; }
        .bars .bar { height: 18px; margin: 3px 0; }
        .said { min-height: 2.8em; }
      }
    `;

    build() {
      const { source, written, likeliest } = this.data;
      this.best = likeliest.map(([[, chance]]) => chance);
      this.stepper({ last: () => written.length - 1, pace: PACE });
      this.step = this.best.indexOf(Math.min(...this.best)); // where it is least sure
      const place = (token, number) => element("span", { class: "place" }, element("span", { class: "chip" }, token),
        element("small", {}, number));
      this.keys = source.map((token) => place(token, ""));
      this.words = written.map((token, t) => place(token, percent(this.best[t])));
      this.before = shape("svg", { class: "before", "aria-hidden": "true" });
      this.looks = shape("svg", { class: "looks", "aria-hidden": "true" });
      this.candidates = this.bars([...likeliest[0].map(([token]) => token), "all others"]);
      this.names = this.candidates.list.querySelectorAll(".name");
      const label = (kind, text) => element("span", { class: `label ${kind}` }, text);
      this.stage.className = "flow";
      this.stage.append(this.before, this.looks,
        label("", element("span", {}, "source", element("span", { class: "narrow" }, ", with the weights in %"))), element("div", { class: "row source" }, ...this.keys),
        label("looking", "weights: where the new token looks"),
        element("span"),
        label("writing", "written so far"), element("div", { class: "row written" }, ...this.words),
        label("next", "likeliest next tokens"), element("div", { class: "list" }, this.candidates.list));
      this.whenResized(this.stage, () => this.place());
      this.onceByItself(() => {
        this.step = written.length - 1; // from the first
        this.play();
      });
    }

    go(step) {
      if (this.playing && !step) this.step = -1; // the first token moves, too
      super.go(step);
    }

    paint() {
      const { source, written, weights, likeliest } = this.data;
      const row = weights[this.step];
      this.flying?.remove();
      this.keys.forEach((key, j) => {
        key.classList.toggle("seen", row[j] >= FAINT);
        key.lastChild.replaceChildren(...(row[j] < FAINT ? [] : [percent(row[j]).slice(0, -2), element("span", { class: "unit" }, "\u00a0%")]));
      });
      this.words.forEach((word, t) =>
        word.className = `place ${t < this.step ? "old" : t > this.step ? "later" : "now"}`);
      const most = likeliest[this.step];
      const all = [...most, ["all others", Math.max(0, 1 - sum(most.map(([, chance]) => chance)))]];
      all.forEach(([token], i) => {
        this.names[i].textContent = token;
        this.names[i].title = token;
      });
      this.candidates.show(all.map(([, chance]) => chance), all.map(([, chance]) => percent(chance)));
      this.place();
      const looked = row.indexOf(Math.max(...row));
      this.say(`Token ${this.step + 1} of ${written.length}: the model looks most at “${source[looked]}” `
        + `(${percent(row[looked])}) and writes “${written[this.step]}”, the likeliest token (${percent(this.best[this.step])}).`);
    }

    // ribbons from a word to the tokens that it looks at, all as wide as their weights
    place() {
      const at = boxesIn(this.stage);
      const width = THICK[this.stage.clientWidth < 600 ? "narrow" : "wide"] / 0.75;
      const places = this.keys.map((key) => at(key.firstChild)).map((box) => ({ x: box.x, width, y: box.bottom }));
      const line = this.words[this.step].offsetTop; // on a telephone, ribbons to a second line pass through the first
      this.words.forEach((word) => word.classList.toggle("above", word.offsetTop < line));
      const paths = this.words.slice(0, this.step + 1).map((word, t) => {
        const box = at(word.firstChild);
        if (word.offsetTop !== line) return [];
        return ribbons([{ x: box.x, width, y: box.top }], places, [this.data.weights[t]], FAINT)
          .map(({ d }) => shape("path", { d }));
      });
      this.looks.replaceChildren(...paths.pop());
      this.before.replaceChildren(...paths.flat());
    }

    // the ribbons grow from the new token, and then the likeliest candidate flies to its place
    travel() {
      const word = this.words[this.step];
      const [at, chip] = [boxesIn(this.stage), word.firstChild];
      const [start, end] = [at(this.names[0]), at(chip)];
      this.looks.animate([{ clipPath: "inset(100% 0 0 0)" }, { clipPath: "inset(0)" }], { duration: LOOKS, easing: "ease-out" });
      chip.animate([{ background: "transparent", color: "transparent" }, { background: "transparent", color: "transparent" }],
        { duration: LOOKS + FLIES });
      word.lastChild.animate([{ opacity: 0 }, { opacity: 0 }], { duration: LOOKS + FLIES });
      this.flying = element("span", { class: "chip flies", "aria-hidden": "true",
        style: `left: ${end.left}px; top: ${end.top}px` }, this.data.written[this.step]);
      this.stage.append(this.flying);
      this.flying.animate([{ opacity: 0, transform: `translate(${start.left - end.left}px, ${start.top - end.top}px)` },
        { opacity: 1, offset: 0.15 }, { transform: "none" }],
      { duration: FLIES, delay: LOOKS, easing: "ease-in-out", fill: "backwards" })
        .onfinish = ({ target }) => target.effect.target.remove();
    }

    numbers() {
      const { source, written, weights } = this.data;
      return [["written", ...source], ...weights.map((row, t) =>
        [written[t], ...row.map((weight) => weight.toFixed(3))])];
    }
  };
});
