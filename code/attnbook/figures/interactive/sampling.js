// How the next token is drawn: the temperature divides the logits, top-k keeps some of the likeliest
// tokens, and of these top-p keeps those that have most of the probability; then one is drawn.
attnbook.define("sampling", ({ Interactive, element, range, sum, fixed, percent }) => {
  const DRAWS = 10;
  const TOP_K = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 40, 50, 75, 100, 150, 200];
  const SCALES = [0.2, 1]; // where bars end: at the first that none is longer than
  const whole = (number) => number.toLocaleString("en");

  // numbers from 0 to 1, the same ones on every page (a linear congruential generator)
  const generator = (seed) => () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;

  return class Sampling extends Interactive {
    static LINES = 3;
    static STYLE = `
      .controls { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: .5rem 1.2rem; margin: 0; }
      .controls label { display: grid; grid-template-columns: 1fr auto; gap: 0 .5rem; }
      .controls :is(label:first-child, .row) { grid-column: 1 / -1; }
      .controls label:first-child { grid-template-columns: auto minmax(0, 1fr); }
      .controls input { grid-area: 2 / 1 / 3 / 3; width: 100%; } .controls output { text-align: right; }
      .row { display: flex; flex-wrap: wrap; align-items: center; gap: .3rem .6rem; color: var(--soft); font-size: 13px; }
      .row button { border-color: var(--weights); cursor: pointer; color: var(--weights); font-weight: 600; font-size: 15px; }
      .row i { display: inline-block; width: 1.6em; height: .8em; margin-right: .4em; }
      i { background: var(--weights); } i.before { background: color-mix(in srgb, var(--weights) 28%, var(--paper)); }
      .next { display: grid; grid-template-columns: auto minmax(3rem, 1fr) 3rem 62px; gap: 0 .5rem; margin-top: .6rem; }
      .next li { display: grid; grid-template-columns: subgrid; grid-column: 1 / -1; align-items: center; height: 23px; }
      .next .axis { height: 18px; color: var(--soft); font-size: 12.5px; }
      .name { max-width: 8rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; text-align: right; font-weight: 600; }
      li:last-child .name { overflow: visible; min-width: 0; } /* without a bar */
      .room { position: relative; height: 17px; }
      .room i { position: absolute; left: 0; height: 100%; } .room i + i { top: 5px; height: 7px; }
      .axis b { position: absolute; transform: translateX(-50%); font-weight: 400; }
      .number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
      .cut :is(.name, .number) { color: var(--soft); font-weight: 400; }
      .dots { display: flex; gap: 1px; } .dots i { width: 5px; height: 5px; border-radius: 50%; background: var(--ink); }
      .drawn { min-height: 2.8em; margin: .2rem 0; }
      @media (max-width: 600px) { .drawn { min-height: 5.6em; } .controls { gap: .3rem; }
        .controls label:not(:first-child) { grid: auto / 6rem minmax(0, 1fr) 3.2em; grid-column: 1 / -1; align-items: center; }
        .controls input { grid-area: auto; } .axis b + b { display: none; } .axis b:last-child { display: block; } }
    `;

    build() {
      const { prompts, hottest } = this.data;
      [this.at, this.temperature, this.k, this.p, this.random] = [0, 1, Infinity, 1, generator(0)];
      this.found = []; // the places of the tokens that were drawn
      const set = (name, of = (value) => value) => (value) => {
        this[name] = of(value);
        this.found = [];
        this.draw();
      };
      this.choice("Prompt", prompts.map(({ prompt }) => `${prompt} …`), set("at"));
      this.slider("Temperature", { min: 0, max: hottest, step: 0.1, value: 1,
        text: (number) => fixed(number, 1) }, set("temperature"));
      this.slider("top-k", { min: 0, max: TOP_K.length, value: TOP_K.length,
        text: (place) => String(TOP_K[place] ?? "off") }, set("k", (place) => TOP_K[place] ?? Infinity));
      this.slider("top-p", { min: 0.05, max: 1, step: 0.05, value: 1,
        text: (number) => (number < 1 ? fixed(number) : "off") }, set("p"));
      const drawing = this.button(`Draw ${DRAWS} tokens`, () => {
        this.found = this.sample(DRAWS);
        this.draw();
      });
      this.controls.append(element("div", { class: "row" }, drawing, ...[["before", "before the cuts"], ["", "after them"]]
        .map(([kind, text]) => element("span", {}, element("i", { class: kind }), text))));
      this.ticks = range(3).map((i) => element("b", { style: `left: ${50 * i}%` }));
      this.rows = range(this.data.shown + 1).map((i) => {
        const [name, number, dots] = ["name", "number", "dots"].map((kind) => element("span", { class: kind }));
        const bars = [element("i", { class: "before" }), element("i")];
        const room = element("span", { class: "room" }, ...(i < this.data.shown ? bars : []));
        return { name, number, dots, bars, row: element("li", {}, name, room, number, dots) };
      });
      this.drawn = element("p", { class: "drawn", "aria-live": "polite" });
      this.stage.append(element("ul", { class: "next" },
        element("li", { class: "axis", "aria-hidden": "true" }, element("span"),
          element("span", { class: "room" }, ...this.ticks)), ...this.rows.map(({ row }) => row)));
      this.said.after(this.drawn);
    }

    // The tokens in groups of [how many, the probability of each]: one for each that is stored, then
    // those of a bin together; before the cuts, and after them.
    groups() {
      const [t, k, p] = [this.temperature, ...(this.temperature ? [this.k, this.p] : [Infinity, 1])];
      const { logits, width, counts } = this.data.prompts[this.at];
      const middles = counts.map((_, bin) => logits.at(-1) - (bin + 0.5) * width);
      const sizes = [...logits.map(() => 1), ...counts];
      const parts = [...logits, ...middles].map((logit, i) => (
        t ? Math.exp((logit - logits[0]) / t) : Number(i === 0)));
      const total = sum(parts.map((part, i) => part * sizes[i]));
      const before = parts.map((part) => part / total);
      const first = sizes.map((size, i) => (k < Infinity ? Number(i < k) : size));
      const left = sum(first.map((size, i) => size * before[i])); // after top-k
      let since = 0; // the probability of those before, as a share of what top-k has left
      const kept = first.map((size, i) => {
        const each = before[i] / left;
        const more = p === 1 ? size : Math.min(size, Math.max(0, Math.ceil((p - since) / each)));
        since += size * each;
        return more;
      });
      const share = sum(kept.map((size, i) => size * before[i]));
      return { before, kept, sizes, share, after: before.map((each, i) => (kept[i] ? each / share : 0)) };
    }

    // places of groups, drawn one after the other
    sample(count) {
      const { kept, after } = this.groups();
      return range(count).map(() => {
        let at = this.random();
        const place = kept.findIndex((size, i) => (at -= size * after[i]) < 0);
        return place < 0 ? kept.findLastIndex(Boolean) : place; // rounding
      });
    }

    paint() {
      const { shown, vocabulary } = this.data;
      const { pieces } = this.data.prompts[this.at];
      const { before, kept, after, share } = this.groups();
      const shares = [before, after].map((all) => all.slice(0, shown));
      const scale = SCALES.find((end) => end >= Math.max(...shares.flat()) - 1e-9);
      this.ticks.forEach((tick, i) => (tick.textContent = percent(scale * i / 2)));
      const others = sum(kept.slice(shown).map((size, i) => size * after[shown + i]));
      this.rows.forEach(({ name, number, dots, bars, row }, i) => {
        const other = i === shown;
        const cut = other ? !kept.slice(shown).some(Boolean) : !kept[i];
        name.textContent = other ? `${whole(vocabulary - shown)} others` : pieces[i];
        number.textContent = cut ? "cut" : percent(other ? others : after[i]);
        row.classList.toggle("cut", cut);
        bars.forEach((bar, k) => (bar.style.width = other ? 0 : `${100 * shares[k][i] / scale}%`));
        dots.replaceChildren(...this.found.filter((place) => (other ? place >= shown : place === i)).map(() => element("i")));
      });
      const [count, exact] = [sum(kept), !kept.slice(pieces.length).some(Boolean)];
      const number = exact ? whole(count) : `About ${whole(100 * Math.round(count / 100))}`;
      this.say(!this.temperature ? "At temperature 0, the likeliest token is always taken (greedy decoding)."
        : count === vocabulary ? `All ${whole(vocabulary)} tokens can be drawn.`
          : `${number} of ${whole(vocabulary)} tokens can be drawn. Before the cut, `
            + `${count > 1 ? "they" : "it"} had ${percent(share)} of the probability.`);
      const times = new Map();
      for (const place of this.found) {
        const name = place < pieces.length ? `“${pieces[place]}”` : "a rare token";
        times.set(name, (times.get(name) ?? 0) + 1);
      }
      const told = [...times].sort(([, a], [, b]) => b - a).map(([name, n]) => (n > 1 ? `${name} (${n} times)` : name));
      this.drawn.textContent = told.length ? `Drawn: ${told.join(", ")}.` : "";
    }

    numbers() {
      const [{ logits, pieces }, { before, after }] = [this.data.prompts[this.at], this.groups()];
      return [["", "logit", "before the cuts", "after them"], ...range(this.data.shown).map((i) =>
        [pieces[i], fixed(logits[i]), fixed(before[i], 4), fixed(after[i], 4)])];
    }
  };
});
