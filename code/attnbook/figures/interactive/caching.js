// Writing a text token by token, without a cache of keys and values and with one: each query meets
// each key, what is kept stays, and each score takes its time, so that costs can be watched.
attnbook.define("caching", ({ Interactive, element, range, sum, still }) => {
  const PACE = 1900; // milliseconds for a step while it plays
  const [DOWN, EACH] = [400, 16]; // milliseconds until keys are there; then for each score
  const WAYS = ["without a cache", "with a cache"];
  const MEET = ["every query × every key", "one query × every key"];
  const [KEYS, VALUES, SCORES] = [3, 4, 6]; // rows of the grid; words are in the first, its names in the fifth

  const several = (number, name) => `${number} ${name}${number > 1 ? "s" : ""}`;

  return class Caching extends Interactive {
    static TABLE = "What each step computes";
    static LINES = 3;
    static STYLE = `
      .room { container-type: inline-size; }
      .controls input { width: 6.5rem; } label > output { min-width: 1em; }
      .written { margin: 0 0 .4rem; line-height: 24px; } .written b { color: var(--value); } .written small { margin-right: .5em; color: var(--soft); }
      .written span { padding: 0 .3em; border-radius: .25rem; background: var(--tint); box-shadow: 0 0 0 1px var(--line); }
      .panels { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .8rem; }
      .panels p { margin: .2rem 0 .3rem; line-height: 1.3; font-size: 14px; white-space: nowrap; } .panels b { display: block; font-size: 16px; } .panels small { font-size: 12.5px; color: var(--soft); }
      @media (max-width: 350px) { .panels p { white-space: normal; } }
      @media (max-width: 600px) { .controls label { flex-basis: 100%; } .controls label > input { flex: 1; } }
      .grid { --high: 17px; display: grid; grid-template: 2.6rem 1.1rem repeat(2, 16px) 1.4rem / 1.25rem repeat(var(--most), minmax(0, 1fr));
        grid-auto-rows: var(--high); gap: 2px; font-size: 12.5px; line-height: 1.1rem; white-space: nowrap; }
      .grid > span { color: var(--soft); } .grid > .word { color: var(--ink); writing-mode: vertical-rl; rotate: 180deg; justify-self: center; }
      .grid > .name { color: var(--of); font-weight: 600; align-self: center; }
      .grid > .state { color: var(--ink); justify-self: start; } .cache .state:not(.kept) { padding-left: 5px; }
      .grid > .end { justify-self: end; } .grid > .kept { justify-self: center; font-weight: 600; }
      .k { --of: var(--key); } .v { --of: var(--value); } .q { --of: var(--query); } .s { --of: var(--weights); }
      i { background: var(--of); border-radius: 2px; } .grid > i.q { margin-left: .5rem; }
      i.there { background: color-mix(in srgb, var(--of) 40%, var(--paper)); } i.ghost { background: none; box-shadow: inset 0 0 0 1px var(--line); }
      .not, .tight { visibility: hidden; }
      .box { margin: -4px; border: 1px dashed var(--soft); border-radius: 5px; } .cache .box { border: 2px solid var(--ink); }
      .middle { display: grid; place-content: center; } .panels .middle > * { font-size: 12.5px; font-weight: 400; padding: 0 3px; background: var(--paper); white-space: normal; text-align: center; }
      .quarter { margin: -1px; border: 1.5px solid var(--ink); border-radius: 3px; } .panels .quarter > * { font-weight: 600; color: var(--weights); border-radius: 9px; padding: 0 6px; font-size: 14px; }
      .soft { color: var(--soft); } .more { min-height: 1.3em; color: var(--weights); font-weight: 600; }
      @container (min-width: 34rem) { .written { font-size: 17px; } .panels { gap: 1.6rem; } .more { display: inline; margin-left: .8em; } .tight:not(.not) { visibility: visible; } .grid { --high: 20px; grid-template-rows: 1.2rem 1.1rem repeat(2, 18px) 1.4rem; }
        .grid > .word { writing-mode: initial; rotate: none; } }
    `;

    build() {
      const { words, prompt } = this.data;
      this.most = words.length - 1;
      this.slide = this.slider("Tokens", { min: prompt, max: this.most, value: prompt }, (step) => {
        this.pause();
        this.go(step, false);
      });
      this.stepper({ first: prompt, last: () => this.most, next: "next token →", pace: PACE });
      this.step = Math.floor((prompt + this.most) / 2);
      this.written = element("p", { class: "written" });
      this.panels = WAYS.map((name, way) => this.panel(name, way));
      this.stage.className = "room";
      this.stage.append(this.written, element("div", { class: "panels" }, ...this.panels.map(({ node }) => node)));
      this.onceByItself(() => {
        this.go(prompt);
        this.play();
      });
    }

    // how many keys (and values) and how many scores one step computes
    made(way, step) {
      return way && step > this.data.prompt ? [1, step] : [step, step ** 2];
    }

    // of all steps so far
    total(way, step) {
      return sum(range(step + 1).slice(this.data.prompt).map((n) => this.made(way, n)[1]));
    }

    // with a step that had half as many tokens
    compared(way, step) {
      const half = step / 2;
      if (step % 2 || half < this.data.prompt) return "";
      const [before, now] = [half, step].map((n) => this.made(way, n)[1]);
      return now % before ? "" : `${now / before} × the ${before} of ${several(half, "token")}`;
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
      const middle = (kind, text = "") => element("div", { class: `middle ${kind}` }, element("b", {}, text));
      const quarters = range(4).map(() => middle("quarter"));
      const [kept, made, box, skipped] = [put("state kept", 2, 2, "kept"), put("state", 2, 2), element("div", { class: "box" }), middle("soft", "not computed")];
      const [count, meet] = [element("p"), element("small")];
      const grid = element("div", { class: "grid", style: `--most: ${this.most}`, "aria-hidden": "true" }, box,
        put("name k", KEYS, 1, "K"), put("name v", VALUES, 1, "V"), put("name q", SCORES - 1, 1, "Q"), put("name s", SCORES - 1, 2, "scores"),
        ...tokens, kept, made, ...vectors.flat(), ...queries, ...scores.flat(), ...quarters, skipped);
      const node = element("div", { class: way ? "cache" : "" }, element("p", {}, element("b", {}, name), meet), grid, count);
      return { node, tokens, vectors, queries, scores, quarters, kept, made, box, skipped, count, meet };
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
        return prompt > 1 ? `Both read the ${prompt} tokens of the prompt at once, with ${without}. The cache keeps their keys and values.`
          : "The first token takes one key, one value and one score. The cache keeps the key and the value.";
      return `Without a cache, “${words[step]}” takes ${without}. `
        + `The cache keeps ${several(step - 1, "key")} and ${several(step - 1, "value")}, so only a row of ${step} scores is new.`;
    }

    paintPanel({ tokens, vectors, queries, scores, quarters, kept, made, box, skipped, count, meet }, way) {
      const { step } = this;
      const [pairs, many] = this.made(way, step);
      const old = step - pairs; // the first of the keys that are new
      meet.textContent = MEET[way && step > this.data.prompt ? 1 : 0];
      const area = (node, top, left, bottom, right) => (node.style.gridArea = `${top} / ${left} / ${bottom} / ${right}`);
      count.replaceChildren(element("b", {}, pairs > 1 ? `${step} × ${step} = ${many} scores` : several(many, "score")),
        `${this.total(way, step)} so far`, element("div", { class: "more" }, this.compared(way, step)));
      area(box, KEYS, 2, VALUES + 1, step + 2);
      area(kept, 2, 1, 3, old + 2);
      kept.classList.toggle("not", !old);
      area(made, 2, old < 3 ? old + 2 : 2, 3, old < 3 ? this.most + 2 : step + 2);
      made.classList.toggle("end", old > 2);
      made.textContent = pairs === 1 ? "new" : step === this.data.prompt ? "all new" : "all made again";
      area(skipped, SCORES, 2, SCORES + old, old + 2);
      skipped.classList.toggle("not", old < 3);
      skipped.classList.toggle("tight", old < 4);
      const moves = this.forward && !still();
      const half = step / 2;
      quarters.forEach((node, n) => {
        const [row, column] = [Math.floor(n / 2), n % 2].map((part) => part * half);
        node.classList.toggle("not", pairs < 4 || !this.compared(way, step));
        if (step % 2) return;
        node.firstChild.textContent = half ** 2;
        area(node, SCORES + row, 2 + column, SCORES + row + half, 2 + column + half);
        if (moves) node.animate([{ opacity: 0 }, {}], { duration: DOWN, delay: DOWN + EACH * many, fill: "backwards" });
      });
      const show = (node, at, frames, delay = 0, duration = DOWN) => {
        node.classList.toggle("not", at >= step);
        for (const before of node.getAnimations()) before.cancel();
        if (moves && at >= old && at < step) node.animate(frames, { duration, delay, fill: "backwards", easing: "ease-in-out" });
      };
      tokens.forEach((node, j) => node.classList.toggle("not", j >= step));
      vectors.forEach((pair, j) => pair.forEach((node, n) => {
        node.classList.toggle("there", j < old);
        show(node, j, [{ opacity: 0.3, translate: `0 ${-36 - 18 * n}px` }, {}]);
      }));
      queries.forEach((node, i) => show(node, i < old ? step : i, [{ opacity: 0 }, {}]));
      scores.forEach((row, i) => row.forEach((node, j) => {
        node.classList.toggle("ghost", i < old);
        show(node, Math.max(i, j), i < old ? [] : [{ opacity: 0 }, {}], DOWN + EACH * ((i - old) * step + j), 4 * EACH);
      }));
    }

    numbers() {
      const names = WAYS.flatMap((way) => [`keys, ${way}`, `scores, ${way}`]);
      return [["", ...names], ...range(this.most + 1).slice(this.data.prompt).map((n) =>
        [several(n, "token"), ...WAYS.flatMap((_, way) => this.made(way, n).map(String))])];
    }
  };
});
