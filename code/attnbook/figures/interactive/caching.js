// Writing a text token by token, without a cache of keys and values, with one, and with flash attention:
// each query meets each key, what is kept stays, and each score takes its time, so that costs can be watched.
attnbook.define("caching", ({ Interactive, element, range, still }) => {
  const PACE = 1900; // milliseconds for a step while it plays
  const [DOWN, EACH] = [400, 16]; // milliseconds until keys are there; then for each score
  const WAYS = ["no cache", "KV cache", "flash attention"];
  const [CACHE, FLASH] = [1, 2];
  const COSTS = [["computed", "scores computed"], ["in memory", "in memory at once"]];
  const TILE = 2; // tokens
  const [KEYS, VALUES, STATE, NAMES, SCORES] = [2, 3, 4, 5, 6]; // rows of the grid; words are in the first

  const several = (number, name) => `${number} ${name}${number > 1 ? "s" : ""}`;

  return class Caching extends Interactive {
    static TABLE = "What each step computes";
    static LINES = 4;
    static STYLE = `
      .room { container-type: inline-size; }
      .controls input { width: 6.5rem; } label > output { min-width: 1em; }
      .written { margin: 0 0 .4rem; line-height: 24px; } .written b { color: var(--value); } .written small { margin-right: .5em; color: var(--soft); }
      .written span { padding: 0 .3em; border-radius: .25rem; background: var(--tint); box-shadow: 0 0 0 1px var(--line); }
      .panels { --q: 12px; --apart: 8px; --words: 0; --cell: min(26px, calc((100cqw - 3 * var(--q) - 2 * var(--apart) - 4px) / (3 * var(--most) + 1))); display: grid; grid-template-columns: repeat(3, auto); justify-content: space-between; }
      .panels > div { width: min-content; } .panels p { margin: 0 0 .2rem; line-height: 1.3; font-size: 12.5px; color: var(--soft); height: 3.9em; }
      .panels b { color: var(--ink); } .panels p b { display: block; font-size: 13px; white-space: nowrap; }
      @media (max-width: 600px) { .controls label { flex-basis: 100%; } .controls label > input { flex: 1; } }
      .grid { display: grid; grid-template: var(--words) repeat(2, var(--cell)) 1.5rem 1.2rem / var(--q) repeat(var(--most), var(--cell)) calc(var(--more) * (var(--cell) + 4px));
        grid-auto-rows: var(--cell); font-size: 12.5px; line-height: 1.2rem; white-space: nowrap; }
      .grid > .word { display: none; color: var(--ink); writing-mode: vertical-rl; rotate: 180deg; place-self: end center; padding-top: 5px; line-height: 1; }
      .grid > .name { margin-left: -1px; color: var(--of); font-size: 12px; font-weight: 600; align-self: center; line-height: 1; } .grid > .end { justify-self: end; }
      .grid > .s.name { padding-left: 3px; } .grid > .state { color: var(--ink); align-self: end; width: 0; }
      .k { --of: var(--key); } .v { --of: var(--value); } .q { --of: var(--query); } .s { --of: var(--weights); }
      i { margin: 1px; background: var(--of); border-radius: 2px; } .grid > i.q { margin-right: 3px; } .grid > i.sum { margin-left: 5px; }
      i.there { background: color-mix(in srgb, var(--of) 40%, var(--paper)); } i.ghost { background: none; box-shadow: inset 0 0 0 1px var(--line); } i.whole { background: none; border: 1px dotted var(--line); }
      .not, .tight { visibility: hidden; }
      .box { margin: -2px; border: 1px dashed var(--soft); border-radius: 5px; } .cache .box { border: 2px solid var(--ink); }
      .middle { display: grid; place-content: center; } .middle > * { font-size: 12.5px; font-weight: 400; line-height: 1.2; padding: 0 3px; background: var(--paper); white-space: normal; text-align: center; }
      .panels .soft > * { color: var(--soft); } .quarter { border: 1.5px solid var(--ink); border-radius: 3px; } .panels .quarter > * { font-weight: 600; color: var(--weights); border-radius: 9px; padding: 0 2px; }
      .quarter > :empty { display: none; }
      .cost { display: grid; margin-top: .5rem; font-size: 12.5px; line-height: 1.3; white-space: nowrap; } .cost span { color: var(--soft); } .cost b { font-size: 14px; }
      .cost i { width: calc(var(--share) * (var(--q) + var(--most) * var(--cell))); height: 8px; margin: 1px 0 5px; --of: var(--soft); } .cost i:last-child { --of: var(--weights); } .wide { display: none; }
      @container (min-width: 34rem) { .panels { --q: 16px; --apart: 22px; --words: 2.7rem; } .written { font-size: 17px; } .panels p { height: 2.9em; } .panels p b { font-size: 16px; } .grid > .word { display: block; }
        .panels .quarter > * { padding: 0 6px; font-size: 14px; }
        .tight:not(.not) { visibility: visible; } .wide { display: inline; } .narrow { display: none; } }
    `;

    build() {
      const { words, prompt } = this.data;
      this.most = words.length - 1;
      this.slide = this.slider("Tokens", { min: prompt, max: this.most, value: prompt }, (step) => {
        this.pause();
        this.go(step, false);
      });
      this.stepper({ first: prompt, last: () => this.most, next: "next token →", pace: PACE });
      this.step = this.most;
      this.written = element("p", { class: "written" });
      this.panels = WAYS.map((name, way) => this.panel(name, way));
      this.stage.className = "room";
      this.stage.append(this.written, element("div", { class: "panels", style: `--most: ${this.most}` }, ...this.panels.map(({ node }) => node)));
      this.onceByItself(() => {
        this.go(prompt);
        this.play();
      });
    }

    // how many keys (and values) and how many scores one step computes
    made(way, step) {
      return way === CACHE && step > this.data.prompt ? [1, step] : [step, step ** 2];
    }

    // how many scores it computes, and how many are in memory at once
    costs(way, step) {
      const scores = this.made(way, step)[1];
      return [scores, way === FLASH ? Math.min(TILE, step) ** 2 : scores];
    }

    // half as many tokens, if they can be
    half(step) {
      return step % 2 || step / 2 < this.data.prompt ? 0 : step / 2;
    }

    panel(name, way) {
      const { words } = this.data;
      const all = range(this.most);
      const put = (kind, row, column, text = "", tag = "span") => element(tag, { class: kind, style: `grid-area: ${row} / ${column}` }, text);
      const cell = (kind, row, column) => put(kind, row, column, "", "i");
      const tokens = all.map((j) => put("word", 1, j + 2, words[j]));
      const vectors = all.map((j) => [cell("k", KEYS, j + 2), cell("v", VALUES, j + 2)]);
      const queries = all.map((i) => cell("q", SCORES + i, 1));
      const scores = all.map((i) => all.map((j) => cell("s", SCORES + i, j + 2)));
      const sums = way === FLASH ? all.map((i) => cell("v sum", SCORES + i, this.most + 2)) : [];
      const middle = (kind, text = "") => element("div", { class: `middle ${kind}` }, element("b", {}, text));
      const quarters = range(4).map(() => middle("quarter"));
      const [box, whole, skipped] = [element("div", { class: "box" }), element("i", { class: "whole", style: `grid-area: ${SCORES} / 2 / span ${this.most} / span ${this.most}` }),
        middle("soft", way === CACHE ? "not computed" : "used, then dropped")];
      const [state, meet] = [put("state", STATE, 2), element("span")];
      const grid = element("div", { class: "grid", style: `--more: ${way === FLASH ? 1 : 0}` }, box, whole,
        put("name k", KEYS, 1, "K"), put("name v", VALUES, 1, "V"), put("name q", NAMES, 1, "Q"), put("name s", NAMES, 2, "scores"),
        ...(sums.length ? [put("name v end", NAMES, this.most + 2, "sums")] : []),
        ...tokens, state, ...vectors.flat(), ...queries, ...scores.flat(), ...sums, ...quarters, skipped);
      const costs = COSTS.map(() => ({ count: element("b"), bar: element("i") }));
      const cost = element("div", { class: "cost" }, ...costs.flatMap(({ count, bar }, n) =>
        [element("span", {}, count, ...COSTS[n].map((text, m) => element("span", { class: m ? "wide" : "narrow" }, ` ${text}`))), bar]));
      const node = element("div", { class: way === CACHE ? "cache" : "", "aria-hidden": "true" }, element("p", {}, element("b", {}, name), meet), grid, cost);
      return { node, tokens, vectors, queries, scores, sums, quarters, state, box, skipped, costs, meet };
    }

    go(step, moves = true) {
      this.forward = moves && (step === this.step + 1 || step === this.data.prompt);
      this.step = step;
      this.draw();
    }

    paint() {
      const { words, prompt } = this.data;
      const { step } = this;
      const read = prompt > 1 ? prompt : 0; // words of a prompt are marked
      this.slide(step);
      this.written.replaceChildren(...(read ? [element("small", {}, "prompt"), element("span", {}, words.slice(0, read).join(" ")), " "] : []),
        `${words.slice(read, step).join(" ")} → `, element("b", {}, words[step]));
      this.panels.forEach((panel, way) => this.paintPanel(panel, way));
      this.say(this.explain());
      this.forward = false;
    }

    explain() {
      const { words, prompt } = this.data;
      const { step } = this;
      const without = `${step} × ${step} = ${several(step ** 2, "score")}`;
      if (step === prompt)
        return prompt > 1 ? `All three read the ${prompt} tokens of the prompt at once, with ${without}. The cache keeps their keys and values.`
          : "The first token takes one key, one value and one score. The cache keeps the key and the value.";
      const half = this.half(step);
      return `“${words[step]}” takes ${without}${half ? `, 4 × the ${half ** 2} of ${several(half, "token")}` : ""}. `
        + `With a cache, only a row of ${step} is new. Flash attention drops each tile after its use.`;
    }

    paintPanel({ tokens, vectors, queries, scores, sums, quarters, state, box, skipped, costs, meet }, way) {
      const { step } = this;
      const [pairs] = this.made(way, step);
      const old = step - pairs; // the first of the keys that are new
      meet.textContent = way === FLASH ? "the same, tile by tile" : `${pairs < step ? "one" : "every"} query × every key`;
      state.textContent = pairs < step ? `${old} kept, ${pairs} new` : step > this.data.prompt ? "all made again" : step > 1 ? "all new" : "new";
      const area = (node, top, left, bottom, right) => (node.style.gridArea = `${top} / ${left} / ${bottom} / ${right}`);
      this.costs(way, step).forEach((count, n) => {
        costs[n].count.textContent = count;
        costs[n].bar.style.setProperty("--share", count / this.most ** 2);
      });
      const gone = way === FLASH ? step - TILE : old; // of how many tokens there is a word
      area(box, KEYS, 2, VALUES + 1, step + 2);
      area(skipped, SCORES, 2, SCORES + gone, way === FLASH ? step + 2 : gone + 2);
      skipped.classList.toggle("not", gone < 3);
      skipped.classList.toggle("tight", gone < 6);
      const moves = this.forward && !still();
      const after = { duration: DOWN, delay: DOWN + EACH * this.made(way, step)[1], fill: "backwards" };
      if (moves && way === FLASH) skipped.animate([{ opacity: 0 }, {}], after);
      const half = this.half(step);
      quarters.forEach((node, n) => { // a quarter of the square, or the tile that is in memory
        const size = way === FLASH ? Math.min(TILE, step) : half;
        const [row, column] = [Math.floor(n / 2), n % 2].map((part) => (way === FLASH ? step - size : part * half));
        node.classList.toggle("not", way === FLASH ? n > 0 : way === CACHE || half < 2);
        node.firstChild.textContent = way === FLASH ? "" : half ** 2;
        area(node, SCORES + row, 2 + column, SCORES + row + size, 2 + column + size);
        if (moves) node.animate([{ opacity: 0 }, {}], after);
      });
      const show = (node, at, frames, delay = 0, duration = DOWN) => {
        node.classList.toggle("not", at >= step);
        for (const before of node.getAnimations()) before.cancel();
        if (moves && at >= old && at < step) node.animate(frames, { duration, delay, fill: "backwards", easing: "ease-in-out" });
      };
      tokens.forEach((node, j) => node.classList.toggle("not", j >= step));
      vectors.forEach((pair, j) => pair.forEach((node) => {
        node.classList.toggle("there", j < old);
        show(node, j, [{ transform: "scaleY(0)", transformOrigin: "top" }, { transformOrigin: "top" }]);
      }));
      queries.forEach((node, i) => show(node, i < old ? step : i, [{ opacity: 0 }, {}]));
      const tile = (i) => Math.ceil(step / TILE) - 1 - Math.floor((step - 1 - i) / TILE); // the last is whole
      scores.forEach((row, i) => row.forEach((node, j) => {
        const turn = way === FLASH ? TILE * (tile(i) * step + TILE * tile(j)) : (i - old) * step + j;
        const [start, used] = [DOWN + EACH * turn, way === FLASH && tile(Math.min(i, j)) < tile(step - 1)];
        node.classList.toggle("ghost", i < old || used);
        show(node, Math.max(i, j), i < old ? [] : [{ opacity: 0 }, {}], start, 4 * EACH);
        if (moves && used && i < step && j < step) // in memory, for as long as its tile takes
          node.animate([{ background: "var(--of)" }, { background: "var(--of)" }], { duration: TILE ** 2 * EACH, delay: start });
      }));
      sums.forEach((node, i) => show(node, i, [{ opacity: 0 }, {}], DOWN + EACH * TILE * tile(i) * step, EACH * TILE * step));
    }

    numbers() {
      return [["", ...WAYS.flatMap((way) => COSTS.map(([cost]) => `${cost}, ${way}`))], ...range(this.most + 1).slice(this.data.prompt).map((n) =>
        [several(n, "token"), ...WAYS.flatMap((_, way) => this.costs(way, n).map(String))])];
    }
  };
});
