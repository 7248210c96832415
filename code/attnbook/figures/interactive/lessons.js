// One sentence as lessons: training predicts all rows in one pass, writing one row in each pass.
attnbook.define("lessons", ({ Interactive, element, range, percent, still }) => {
  const PACE = 1200; // milliseconds for a step while it plays
  const [BARE, MASKED] = [0, 1]; // the steps before the first pass
  const AT_FIRST = 3; // passes that have been made before anybody presses
  const KINDS = {
    training: { does: "all rows in one pass", reads: "known translation", legends: [] },
    writing: { does: "one row in each pass", reads: "own words", legends: ["not written yet"] } };

  return class Lessons extends Interactive {
    static LINES = 4;
    static STYLE = `
      :host { container-type: inline-size; }
      .source { display: flex; flex-wrap: wrap; align-items: center; justify-content: center; gap: .1rem .6rem;
        margin: 0; font-size: 13px; color: var(--soft); }
      .source b { padding: .1rem .6rem; font-size: 14px; color: var(--key); border: 1.5px solid; border-radius: .4rem;
        background: color-mix(in srgb, var(--key) 6%, var(--paper)); }
      .more { display: none; }
      .panels { display: grid; grid-template-columns: minmax(0, 1fr); gap: .3rem 1.8rem; }
      .title { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 .4rem; margin: .5rem 0 0; font-size: 13px;
        white-space: nowrap; color: var(--soft); }
      .title b { font-size: 15px; color: var(--ink); text-transform: capitalize; }
      .legend { justify-content: space-between; margin: 0 2.2rem .2rem 1.1rem; }
      .legend i { font-style: normal; }
      .legend i::before { content: ""; display: inline-block; width: 1.3em; height: .8em; margin-right: .4em; vertical-align: -.1em;
        border-radius: .2rem; background: var(--cover); border: 1px var(--edge) var(--line); }
      .legend i:first-child::before { background: var(--read); border-color: transparent; }
      .panels { --read: color-mix(in srgb, var(--soft) 18%, var(--paper)); }
      .writing { --read: color-mix(in srgb, var(--query) 17%, var(--paper)); }
      .training { --edge: solid; --cover: repeating-linear-gradient(135deg,
        color-mix(in srgb, var(--soft) 50%, var(--paper)) 0 1px, var(--paper) 1px 6px); }
      .writing { --edge: dashed; --cover: var(--paper); --line: color-mix(in srgb, var(--soft) 70%, var(--paper)); }
      .rows { display: grid; gap: 3px 2px; font-size: 12px; letter-spacing: -.03em; line-height: 22px;
        grid-template-columns: 1rem repeat(var(--tokens), minmax(0, auto)) 2.1rem; }
      .pass { display: grid; place-content: center; border-radius: .3rem; font-weight: 600; letter-spacing: 0;
        color: var(--soft); box-shadow: inset 0 0 0 1px var(--line); }
      .pass.done { color: var(--query); box-shadow: inset 0 0 0 1px var(--query); }
      .pass.now { color: var(--paper); background: var(--query); box-shadow: none; }
      .training .pass { grid-area: 1 / 1 / -1 / auto; writing-mode: vertical-rl; line-height: 1;
        transform: rotate(180deg); }
      .cell { position: relative; min-width: 0; padding: 0 2px; overflow: hidden; text-align: center; white-space: nowrap;
        border-radius: .25rem; }
      .read, .answer { background: color-mix(in srgb, var(--soft) 18%, var(--paper)); }
      .own { background: var(--read); }
      .guess { color: var(--paper); background: var(--query); }
      .answer { box-shadow: inset 0 0 0 2px var(--query); }
      .open { visibility: hidden; }
      .asked::before { content: "?"; position: absolute; inset: 0; color: var(--query); font-weight: 700; border-radius: inherit;
        background: var(--paper); box-shadow: inset 0 0 0 2px var(--query); }
      .sheet { border-radius: .25rem; background: var(--cover); border: 1px var(--edge) var(--line); z-index: 1; position: relative; overflow: hidden; }
      .sheet b { position: absolute; inset: 1px auto 1px .3rem; display: grid; place-content: center; padding: 0 .3rem; font-size: 14px; letter-spacing: 0; white-space: nowrap;
        border-radius: .2rem; background: var(--paper); }
      .sheet b[hidden] { display: none; }
      .sheet .shift { color: var(--query); }
      .sheet.away { clip-path: inset(0 0 0 100%); }
      .down { z-index: 1; place-self: end center; width: 13px; height: 13px; margin-bottom: -9px; border-radius: 50%; line-height: 13px; font-size: 12px;
        text-align: center; letter-spacing: 0; font-weight: 700; color: var(--query); background: var(--paper); box-shadow: 0 0 0 1px var(--query); }
      .chance { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
      @media (prefers-reduced-motion: no-preference) { .training .sheet { transition: clip-path .7s calc(60ms * var(--row)); } }
      @media (max-width: 600px) { .frame { padding: .5rem .4rem; } }
      @container (min-width: 40rem) {
        .source { margin-top: .7rem; } .source b { font-size: 16px; } .more { display: inline; }
        .panels { grid-template-columns: repeat(2, minmax(0, 1fr)); margin-top: .4rem; }
        .rows { gap: 4px 2px; font-size: 14px; line-height: 28px;
          grid-template-columns: 1.3rem repeat(var(--tokens), minmax(0, auto)) 2.6rem; }
        .legend { margin: 0 2.8rem .2rem 1.4rem; }
        .said { min-height: 2.8em; }
      }
    `;

    build() {
      const { source, reads, says } = this.data;
      this.tokens = [...reads, says.at(-1)];
      this.stepper({ last: () => MASKED + reads.length, pace: PACE });
      this.step = MASKED + Math.min(AT_FIRST, reads.length);
      this.panels = Object.keys(KINDS).map((kind) => this.panel(kind));
      this.stage.append(element("p", { class: "source" },
        element("span", {}, "source", element("span", { class: "more" }, ", which every row reads")), element("b", {}, source)),
        element("div", { class: "panels", "aria-hidden": "true" }, ...this.panels.map(({ node }) => node)));
      this.onceByItself(() => {
        this.go(BARE);
        this.play();
      });
    }

    // a row for each lesson: the number of its pass, the tokens, and the probability of the right one
    panel(kind) {
      const rows = range(this.data.reads.length);
      const { does, reads, legends } = KINDS[kind];
      const cells = rows.map((t) => this.tokens.map((token, c) => element("span", { class: "cell",
        style: `grid-area: ${t + 1} / ${c + 2}` }, token)));
      const sheets = rows.map((t) => element("span", { class: "sheet", style: `--row: ${t}` }));
      // what is predicted is what the next row reads: the shift
      const downs = kind === "writing" ? [] : rows.slice(1).map((t) => element("span", { class: "down",
        style: `grid-area: ${t} / ${t + 2}` }, "↓"));
      if (downs.length) {
        sheets[0].append(element("b", {}, "causal mask"));
        sheets[1].append(element("b", { class: "shift" }, "read by the next row"));
        downs.push(sheets[1].lastChild);
      }
      const chances = rows.map((t) => element("span", { class: "chance",
        style: `grid-area: ${t + 1} / ${this.tokens.length + 2}` }));
      const passes = kind === "training" ? [element("span", { class: "pass" }, "pass 1")]
        : rows.map((t) => element("span", { class: "pass", style: `grid-area: ${t + 1} / 1` }, String(t + 1)));
      const node = element("div", { class: kind },
        element("p", { class: "title" }, element("b", {}, kind), does),
        element("p", { class: "title legend" }, ...[reads, ...legends].map((text) => element("i", {}, text))),
        element("div", { class: "rows", style: `--tokens: ${this.tokens.length};
          grid-template-rows: repeat(${rows.length}, 1fr)` }, ...passes, ...cells.flat(), ...sheets, ...chances, ...downs.slice(0, -1)));
      return { node, cells, sheets, chances, passes, downs };
    }

    // how many passes have been made, in writing
    get passes() {
      return Math.max(0, this.step - MASKED);
    }

    // what a row shows of a token
    kindOf(panel, t, c) {
      if (panel) return c === t + 1 && t < this.passes ? "guess" : c > t || t > this.passes ? "open" : c ? "own" : "read";
      if (c !== t + 1) return "read";
      return this.step === BARE ? "answer" : this.passes ? "guess" : "asked";
    }

    go(step) {
      const from = this.step;
      this.step = step;
      this.draw();
      if (!still() && (step === from + 1 || (step === BARE && from !== BARE))) this.travel();
    }

    // the translation goes into all rows; what is predicted appears, and drops into the next row
    travel() {
      const [training, writing] = this.panels.map(({ cells }) => cells);
      const high = training[1][0].offsetTop - training[0][0].offsetTop;
      const drop = (row, far, delay) => row.forEach((cell) => cell.animate(
        [{ transform: `translateY(${-far}px)`, opacity: 0 }, { opacity: 1, offset: 0.1 }, { transform: "none" }],
        { duration: 500, delay, easing: "ease-in-out", fill: "backwards" }));
      const pop = (cell) => cell.animate([{ transform: "scale(.3)", opacity: 0 }, { transform: "none", opacity: 1 }],
        { duration: 300, easing: "ease-out" });
      if (this.step === BARE) training.forEach((row, t) => drop(row, t * high, 0));
      if (this.passes === 1) training.forEach((row, t) => pop(row[t + 1]));
      if (!this.passes) return;
      pop(writing[this.passes - 1][this.passes]);
      if (this.passes < training.length) drop(writing[this.passes].slice(0, this.passes + 1), high, 450);
    }

    paint() {
      this.panels.forEach(({ cells, sheets, chances, passes, downs }, panel) => {
        for (const down of downs) down.hidden = !this.passes;
        cells.forEach((row, t) => {
          row.forEach((cell, c) => cell.className = `cell ${this.kindOf(panel, t, c)}`);
          // it covers what the row must not see, or what does not exist yet
          const from = !panel || t < this.passes ? t + 2 : t === this.passes ? t + 1 : 0;
          sheets[t].style.gridArea = `${t + 1} / ${from + 2} / auto / -2`;
          sheets[t].hidden = from === this.tokens.length;
          sheets[t].classList.toggle("away", !panel && this.step === BARE);
          const known = panel ? t < this.passes : this.passes;
          chances[t].textContent = known ? percent(this.data.chances[t]) : "";
        });
        passes.forEach((pass, t) => pass.className = `pass ${t + 1 === this.passes ? "now" : t < this.passes ? "done" : ""}`);
      });
      this.say(this.explain());
    }

    explain() {
      const { reads, says, chances } = this.data;
      if (this.step === BARE) return "In training, the correct translation is there from the start. Each row could read "
        + "its answer, which is outlined.";
      if (this.step === MASKED) return "The mask hides from each row its answer and all later tokens. So each row has to "
        + "predict the token under its question mark.";
      const t = this.passes - 1;
      if (this.passes === 1) return `Pass 1: training has predicted all ${reads.length} tokens. Writing has predicted one, `
        + `“${says[0]}”, which drops into its next row.`;
      if (this.passes < reads.length) return `Pass ${this.passes}: writing predicts “${says[t]}” (${percent(chances[t])}) `
        + "and will read it in the next pass. Training needed pass 1 only.";
      return `After ${reads.length} passes, writing has the same tokens and the same numbers, because the mask showed each `
        + "row only what writing has at that time.";
    }

    numbers() {
      const { reads, says, chances } = this.data;
      return [["row", "reads", "predicts", "probability"], ...reads.map((_, t) =>
        [String(t + 1), reads.slice(0, t + 1).join(" "), says[t], chances[t].toFixed(3)])];
    }
  };
});
