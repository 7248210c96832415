// How the next token is drawn: the probabilities are stairs from 0 to 100 %, on which random numbers
// fall. The temperature divides the logits, top-k keeps some of the likeliest tokens, and of these top-p
// keeps those that have most of the probability. A drawn token is appended, and the next ones follow.
attnbook.define("sampling", ({ Interactive, element, range, sum, fixed, percent, still }) => {
  const DRAWS = 10;
  const [ROW, FALL, STAY] = [25, 70, 900]; // pixels; milliseconds for a row of a fall, and until it goes on
  const whole = (number) => number.toLocaleString("en");
  const named = (piece) => piece?.trim() || (piece?.includes("\n") ? "↵" : "␣");

  // numbers from 0 to 1, the same ones on every page (a linear congruential generator)
  const generator = (seed) => () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;

  return class Sampling extends Interactive {
    static LINES = 4;
    static STYLE = `
      .controls { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: .5rem 1.2rem; }
      .controls label { display: grid; grid-template-columns: 1fr auto; gap: 0 .5rem; }
      .controls label:first-child { grid-template-columns: auto minmax(0, 1fr); grid-column: 1 / -1; }
      .controls input { grid-area: 2 / 1 / 3 / 3; width: 100%; } .controls output { text-align: right; }
      .text { margin: .8rem 0 .6rem; min-height: 1.5em; font-size: 16px; line-height: 1.5; color: var(--ink); }
      .text b { color: var(--weights); } .text b:last-of-type { animation: come .5s; }
      .text::after { content: ""; display: inline-block; width: 1.2em; margin-left: .2em; border-bottom: 2px solid var(--weights); }
      .text.over::after { content: " …"; width: auto; border: 0; }
      .row { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem .6rem; color: var(--soft); font-size: 13px; }
      .row button { cursor: pointer; font-size: 15px; }
      .row button:first-child { border-color: var(--weights); color: var(--weights); font-weight: 600; }
      .row i { display: inline-block; width: 1.6em; height: .8em; margin-right: .4em; }
      i { background: var(--weights); } i.before { background: color-mix(in srgb, var(--weights) 28%, var(--paper)); }
      .next { display: grid; grid-template-columns: auto minmax(3rem, 1fr) 3rem; gap: 0 .6rem; margin-top: .4rem; }
      .next li { display: grid; grid-template-columns: subgrid; grid-column: 1 / -1; align-items: center; height: ${ROW}px; }
      .next :is(.axis, .from) { color: var(--soft); font-size: 13px; height: 20px; } .axis .room { height: 20px; }
      .next .edge .room { box-shadow: 0 3.5px var(--paper), 0 5px var(--ink); }
      .edge .room::after { content: "top-k"; position: absolute; z-index: 1; inset: calc(100% + 5px) auto auto 6px; color: var(--soft); font-size: 13px; }
      .name { max-width: 8rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; text-align: right; font-weight: 600; }
      .room { position: relative; height: 18px; } .room > * { position: absolute; } .room span { inset: 0; }
      .room i { height: 100%; min-width: 1px; transition: left .3s, width .3s; } .room i + i { top: 4px; height: 10px; }
      .plain .room i + i { top: 0; height: 100%; }
      .others .room i { mask: repeating-linear-gradient(90deg, #000 0 2px, #0006 2px 4px); }
      .room u { position: absolute; top: 3px; width: 12px; height: 12px; margin-left: -6px; box-sizing: border-box; border: 1.5px solid var(--paper);
        border-radius: 50%; background: var(--ink); animation: fall var(--time) var(--wait) cubic-bezier(.5, 0, .9, .6) backwards; }
      .room s { top: -2px; height: calc(${ROW}px * var(--rows) + 2px); border-left: 1.5px dashed var(--ink); }
      .room b { transform: translateX(-50%); font-weight: 400; white-space: nowrap; } .from b { transform: translateX(6px); } .axis b:last-child { transform: translateX(-75%); }
      .number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
      .cut :is(.name, .number) { color: var(--soft); font-weight: 400; }
      @keyframes fall { from { transform: translateY(var(--from)); } }
      @keyframes come { from { opacity: 0; } 40% { opacity: 0; } }
      @media (max-width: 600px) { .text { min-height: 3em; margin: .4rem 0; } .controls { gap: .3rem; }
        .controls label:not(:first-child) { grid: auto / 6rem minmax(0, 1fr) 3.2em; grid-column: 1 / -1; align-items: center; }
        .controls input { grid-area: auto; } }
    `;

    build() {
      const { prompts, hottest, shown, most } = this.data;
      [this.temperature, this.k, this.p, this.random] = [1, shown, 1, generator(0)];
      this.found = []; // where numbers have fallen, and the place of the token there
      const set = (change) => (value) => {
        this.settle();
        change(value);
        this.found = [];
        this.draw();
      };
      const start = (at) => ([this.prompt, this.path] = [prompts[at].text, [{ at: prompts[at].node }]]);
      start(0);
      this.choice("Prompt", prompts.map(({ text }) => `${text} …`), set(start));
      this.slider("Temperature", { min: 0, max: hottest, step: 0.1, value: 1,
        text: (number) => fixed(number, 1) }, set((value) => (this.temperature = value)));
      this.slider("top-k", { min: 1, max: most + 1, value: shown,
        text: (k) => (k > most ? "off" : String(k)) }, set((k) => (this.k = k > most ? Infinity : k)));
      this.slider("top-p", { min: 0.05, max: 1, step: 0.05, value: 1,
        text: (number) => (number < 1 ? fixed(number) : "off") }, set((value) => (this.p = value)));
      this.text = element("p", { class: "text" });
      const buttons = [this.button("Draw one, go on", () => this.goOn()),
        this.button(`Draw ${DRAWS}`, () => this.drop(DRAWS)), this.button("← back", () => this.goBack())];
      const row = element("div", { class: "row" }, ...buttons, ...[["before", "before the cuts"], ["", "after"]]
        .map(([kind, text]) => element("span", {}, element("i", { class: kind }), text)));
      [this.one, this.ten, this.back] = buttons;
      this.rows = range(shown + 1).map((i) => {
        const [name, number] = ["name", "number"].map((kind) => element("span", { class: kind }));
        const [bars, fallen] = [[element("i", { class: "before" }), element("i")], element("span")];
        const room = element("span", { class: "room" }, ...bars, fallen);
        return { name, number, bars, room, row: element("li", { class: i < shown ? "" : "others" }, name, room, number) };
      });
      this.hint = element("b");
      this.border = element("s", { style: `--rows: ${shown + 1}` });
      const line = (kind, ...children) => element("li", { class: kind, "aria-hidden": "true" }, element("span"),
        element("span", { class: "room" }, ...children));
      this.stage.append(this.text, row, element("ul", { class: "next" }, line("from", this.border, this.hint),
        ...this.rows.map((parts) => parts.row),
        line("axis", ...range(3).map((i) => element("b", { style: `left: ${50 * i}%` }, percent(i / 2))))));
      this.onceByItself(() => this.drop(DRAWS), 400);
    }

    // The tokens in groups of [how many, the probability of each]: one for each that is stored, then
    // those of a bin together; before the cuts, and after them.
    groups() {
      const [t, k, p] = [this.temperature, ...(this.temperature ? [this.k, this.p] : [Infinity, 1])];
      const { logits, width, counts, means } = this.node();
      const half = t ? width / 2 / t : 1; // in a bin, logits are spread evenly about their mean
      const rise = Math.sinh(half) / half;
      const sizes = [...logits.map(() => 1), ...counts];
      const parts = [...logits, ...means].map((logit, i) => (
        t ? Math.exp((logit - logits[0]) / t) * (i < logits.length ? 1 : rise) : Number(i === 0)));
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
      return { before, kept, sizes, left, share, after: before.map((each, i) => (kept[i] ? each / share : 0)) };
    }

    over = () => this.path.at(-1).at < 0; // what comes next is not stored
    node = () => this.data.nodes[this.path.findLast(({ at }) => at >= 0).at];
    piece = (place) => this.data.pieces[this.node().pieces[place]];

    called = (place) => (this.piece(place) ? `“${named(this.piece(place))}”` : "a rare token");

    // random numbers from 0 to 1, and the places of the groups that they fall on
    sample(count) {
      const { kept, after } = this.groups();
      return range(count).map(() => {
        const x = this.random();
        let at = x;
        const place = kept.findIndex((size, i) => (at -= size * after[i]) < 0);
        return { x, place: place < 0 ? kept.findLastIndex(Boolean) : place }; // rounding
      });
    }

    drop(count) {
      this.settle();
      if (this.over()) return;
      this.found = this.sample(count);
      this.draw();
    }

    // what waits for a number to fall does not wait any longer
    settle() {
      clearTimeout(this.timer);
      this.pending?.();
      this.pending = null;
    }

    goOn() {
      this.drop(1);
      if (this.over()) return;
      this.pending = () => {
        const [{ place }] = this.found;
        this.path.push({ at: this.node().next[place] ?? -1, word: this.piece(place)?.replaceAll("\n", "↵") ?? " (rare)",
          name: this.called(place) });
        if (!this.over()) this.found = [];
        this.draw();
      };
      if (still()) this.settle();
      else this.timer = setTimeout(() => this.settle(), STAY);
    }

    goBack() {
      this.settle();
      if (this.path.length > 1) this.path.pop();
      this.found = [];
      this.draw();
    }

    paint() {
      const words = this.path.slice(1).map(({ word }) => word);
      this.text.replaceChildren(this.prompt, ...words.map((word) => element("b", {}, word)));
      const over = this.over();
      this.text.classList.toggle("over", over);
      for (const [button, idle] of [[this.one, over], [this.ten, over], [this.back, !words.length]])
        button.setAttribute("aria-disabled", idle);
      this.stairs(this.groups());
      const last = words.length ? `Drawn and appended: ${this.path.at(-1).name}. ` : "";
      this.say(over ? `${last}This page has not stored what comes after it. Press “← back”.`
        : this.found.length ? this.told() : last + this.cuts());
    }

    // each step begins where the one above it ends
    stairs({ before, kept, sizes, left, share, after }) {
      const { shown, vocabulary } = this.data;
      const rest = (numbers, each) => sum(numbers.slice(shown).map((count, j) => count * each[shown + j]));
      const ends = [0, 0];
      this.rows.forEach(({ name, number, bars, room, row }, i) => {
        const other = i === shown;
        const cut = !(other ? sum(kept.slice(shown)) : kept[i]);
        const shares = other ? [rest(sizes, before), rest(kept, after)] : [before[i], after[i]];
        name.textContent = other ? `${whole(vocabulary - shown)} others` : named(this.piece(i));
        number.textContent = cut ? "cut" : percent(shares[1]);
        row.classList.toggle("cut", cut);
        row.classList.toggle("plain", share > 1 - 1e-9);
        row.classList.toggle("edge", this.temperature > 0 && this.k === i + 1);
        bars.forEach((bar, k) => {
          bar.style.left = `${100 * ends[k]}%`;
          bar.style.width = `${100 * shares[k]}%`;
          bar.hidden = !shares[k];
          ends[k] += shares[k];
        });
        const here = this.found.map(({ x, place }, order) => Math.min(place, shown) === i && element("u", { style:
          `left: ${100 * x}%; --from: ${-ROW * (i + 1)}px; --time: ${FALL * (i + 2)}ms; --wait: ${90 * order}ms` }));
        room.lastChild.replaceChildren(...here.filter(Boolean));
      });
      this.border.hidden = this.p === 1 || !this.temperature;
      this.border.style.left = this.hint.style.left = `${this.border.hidden ? 0 : 100 * this.p * left}%`;
      this.hint.textContent = this.border.hidden ? "random numbers fall ↓" : "top-p";
    }

    cuts() {
      const { kept, share } = this.groups();
      const count = sum(kept);
      const exact = !kept.slice(this.node().logits.length).some(Boolean);
      const number = exact ? whole(count) : `About ${whole(100 * Math.round(count / 100))}`;
      const all = whole(this.data.vocabulary);
      return !this.temperature ? "At temperature 0, the likeliest token is always taken (greedy decoding)."
        : count === this.data.vocabulary ? `All ${all} tokens can be drawn.`
          : `${number} of ${all} tokens can be drawn. Before the cut, ${count > 1 ? "they" : "it"} had `
            + `${percent(share)} of the probability.`;
    }

    told() {
      const times = new Map();
      for (const { place } of this.found) times.set(this.called(place), (times.get(this.called(place)) ?? 0) + 1);
      const told = [...times].sort(([, a], [, b]) => b - a).map(([name, n]) => (n > 1 ? `${name} (${n} times)` : name));
      return `Drawn: ${told.join(", ")}.`;
    }

    numbers() {
      const [{ logits }, { before, after }] = [this.node(), this.groups()];
      return [["", "logit", "before the cuts", "after them"], ...range(this.data.shown).map((i) =>
        [named(this.piece(i)), fixed(logits[i]), fixed(before[i], 4), fixed(after[i], 4)])];
    }
  };
});
