// Multi-head attention in five stages: the numbers of one token travel from x to the output.
attnbook.define("heads", ({ Interactive, element, range, fixed, still }) => {
  const HEADS = [0, 1];
  const NAMES = ["project", "split", "attend", "join", "multiply by W_O"];
  const short = (number) => fixed(number, 1).replace(/[.]0$/, "").replace(/^−0$/, "0");

  // a letter after _ stands lower
  const lowered = (text) => text.split(/_(.)/).map((part, i) =>
    (i % 2 ? element("sub", {}, part) : part));

  return class Heads extends Interactive {
    static LINES = 5;
    static STYLE = `
      :host { container-type: inline-size; }
      .stage { padding: .25rem .2rem .35rem .3rem; border-left: 3px solid transparent; color: var(--soft); }
      .stage.now { border-color: var(--weights); color: var(--ink); background: var(--tint); }
      .stage > button { display: block; width: 100%; min-height: 1.6rem; padding: 0; border: 0;
        text-align: left; font-size: 13px; color: inherit; background: none; }
      .row { display: grid; grid-template-columns: 1.1rem minmax(0, 1fr); align-items: center;
        margin-top: 2px; font-size: 13px; }
      .cells { display: flex; }
      .cells.two { gap: .5rem; }
      .half { display: grid; flex: 1 1 0; min-width: 0;
        grid-template-columns: repeat(var(--many), minmax(0, 1fr)); }
      .cell { height: 1.35rem; line-height: 1.3rem; text-align: center; font-size: 11.5px;
        border: 1px solid var(--line); margin-left: -1px; white-space: nowrap;
        letter-spacing: -.03em; font-variant-numeric: tabular-nums; }
      .now .cell { border-color: color-mix(in srgb, var(--of) 50%, var(--paper));
        background: color-mix(in srgb, var(--of) var(--share, 10%), var(--paper)); }
      .cell.none { color: var(--soft); }
      .q { --of: var(--query); } .k { --of: var(--key); } .v { --of: var(--value); }
      .w { --of: var(--weights); } .x { --of: var(--soft); }
      .now .letter { color: var(--of); font-weight: 700; }
      .of { font-size: 11px; text-align: center; }
      .term { flex: 1 1 0; min-width: 0; }
      .now .term { color: var(--value); }
      .now .of { color: var(--key); }
      sub { line-height: 0; }
      .job { flex: 1 1 0; min-width: 0; font-size: 13px; }
      .now .job b { color: var(--ink); }
      @container (min-width: 34rem) { .row { grid-template-columns: 3.4rem minmax(0, 1fr); }
        .cell { font-size: 14px; } .now .some { font-weight: 700; } .of { font-size: 13px; } .cells.two { gap: 2rem; } }
    `;

    build() {
      const { tokens, jobs, rows, first, features } = this.data;
      this.word = first;
      this.width = rows.x[0].length;
      this.stepper({ last: () => NAMES.length - 1 });
      this.choice("Word", tokens, (word) => {
        this.word = word;
        this.draw();
      }, first);
      const half = this.width / 2;
      this.made = []; // rows of cells, and what fills them
      const line = (letter, role, name, of, heads = true) => {
        const cells = range(this.width).map(() => element("span", { class: "cell" }));
        const parts = heads ? HEADS.map((h) => cells.slice(h * half, (h + 1) * half)) : [cells];
        this.made.push({ name, cells, numbers: of });
        return this.line(letter, role, parts);
      };
      const of = (name) => () => rows[name][this.word];
      const roles = ["q", "k", "v"];
      this.weights = HEADS.map(() => tokens.map(() => element("span", { class: "cell" })));
      const words = HEADS.map(() => tokens.map((token) => element("span", { class: "of" }, token)));
      const two = (all) => this.around("", element("div", { class: "cells two" }, ...all));
      const named = HEADS.map((h) => element("span", { class: "job" },
        element("b", {}, `head ${h + 1}`), ` ${jobs[h]}`));
      this.terms = HEADS.map(() => element("span", { class: "job term" }));
      const kinds = element("div", { class: "half", style: `--many: ${this.width}` },
        ...Object.entries(features).map(([name, many]) =>
          element("span", { class: "of", style: `grid-column: span ${many}` }, name)));
      this.stages = [
        ["x times W_Q, W_K and W_V", this.around("", kinds), line("x", "x", "x", of("x"), false),
          ...roles.map((role) => line(role, role, role, of(role), false))],
        ["half of the numbers for each head", two(named),
          ...roles.map((role) => line(role, role, `split ${role}`, of(role)))],
        ["weights w, and the average of all v",
          this.line("", "w", words), this.line("w", "w", this.weights), two(this.terms),
          line("v", "v", "most", () => HEADS.flatMap((head) => this.half("v", head, this.most(head)))),
          line("Σ", "v", "heads", of("joined"))],
        ["both averages in one row", line("", "v", "joined", of("joined"), false)],
        ["the heads meet", line("", "x", "output", of("output"), false)],
      ].map(([text, ...lines], i) => element("div", { class: "stage" },
        element("button", { type: "button", onclick: () => this.go(i) },
          element("b", {}, `${i + 1} `, ...lowered(NAMES[i])), ": ", ...lowered(text)), ...lines));
      this.names = this.stages.map((stage) => stage.firstChild);
      for (const { name, cells } of this.made)
        if (/split|most|heads|joined/.test(name)) // head 1 is darker
          cells.forEach((cell, i) => cell.style.setProperty("--share", i < half ? "26%" : "9%"));
      this.stage.append(...this.stages);
    }

    // the numbers of a word that belong to a head
    half(name, head, word) {
      const half = this.width / 2;
      return this.data.rows[name][word].slice(head * half, (head + 1) * half);
    }

    // the word that a head looks at most
    most(head) {
      const row = this.data.weights[head][this.word];
      return row.indexOf(Math.max(...row));
    }

    around(letter, cells, role = "") {
      return element("div", { class: `row ${role}` },
        element("span", { class: "letter" }, letter), cells);
    }

    line(letter, role, parts) {
      return this.around(letter, element("div", { class: `cells${parts.length > 1 ? " two" : ""}` },
        ...parts.map((cells) => element("div", { class: "half", style: `--many: ${cells.length}` },
          ...cells))), role);
    }

    go(step) {
      const from = this.step;
      this.step = step;
      this.draw();
      if (this.step === from + 1) this.travel();
    }

    // the numbers of the stage come from where they were before
    travel() {
      if (still()) return;
      const named = (name) => this.made.find((row) => row.name === name).cells;
      const ways = [[], ["q", "k", "v"].map((role) => [role, `split ${role}`]),
        [["most", "heads"]], [["heads", "joined"]], [["joined", "output"]]];
      for (const [start, end] of ways[this.step])
        named(end).forEach((cell, i) => {
          const [was, is] = [named(start)[i], cell].map((node) => node.getBoundingClientRect());
          cell.animate([{ transform: `translate(${was.x - is.x}px, ${was.y - is.y}px)` },
            { transform: "none" }], { duration: 700, easing: "ease-in-out" });
        });
    }

    paint() {
      const { weights, tokens } = this.data;
      this.names.forEach((name, i) => name.setAttribute("aria-pressed", i === this.step));
      this.stages.forEach((stage, i) => stage.classList.toggle("now", i === this.step));
      const fill = (cell, text) => {
        cell.textContent = text;
        cell.className = `cell ${text === "0" ? "none" : "some"}`;
      };
      for (const { cells, numbers } of this.made)
        numbers().forEach((number, i) => fill(cells[i], short(number)));
      this.weights.forEach((cells, head) => cells.forEach((cell, j) => {
        const share = weights[head][this.word][j];
        fill(cell, fixed(share));
        cell.style.setProperty("--share", `${45 * share}%`);
      }));
      this.terms.forEach((term, head) => {
        const most = this.most(head);
        term.textContent = `${fixed(weights[head][this.word][most])} · v of ${tokens[most]} + …`;
      });
      this.say(this.explain());
    }

    explain() {
      const { tokens, weights, rows } = this.data;
      const [word, half] = [tokens[this.word], this.width / 2];
      const looks = HEADS.map((head) => {
        const most = this.most(head);
        const share = fixed(weights[head][this.word][most]);
        return `head ${head + 1} gives “${tokens[most]}” a weight of ${share}`;
      });
      const joined = rows.joined[this.word];
      return [
        `The ${this.width} features of “${word}” are multiplied by three matrices, which gives a query q, `
          + "a key k and a value v. All other words get theirs in the same way.",
        `Nothing is computed: head 1 takes the first ${half} numbers of q, k and v, and head 2 the others.`,
        `For “${word}”, ${looks.join(", and ")}. Each head averages its ${half} numbers of v `
          + "of all words.",
        `The two averages, ${half} numbers each, are put side by side, which gives ${joined.length} numbers.`,
        "Only here do the heads meet, because each number of the output can use the numbers of both. "
          + `The output has ${this.width} numbers, as many as x.`][this.step];
    }

    numbers() {
      const { tokens, weights, rows } = this.data;
      const named = { x: "x", q: "q", k: "k", v: "v", joined: "joined", output: "output" };
      return [["", ...range(this.width).map((i) => String(i + 1))],
        ...Object.entries(named).map(([name, title]) =>
          [title, ...rows[name][this.word].map((number) => fixed(number, 3))]),
        ...HEADS.map((head) => [`weights of head ${head + 1}`,
          ...range(this.width).map((j) =>
            (j < tokens.length ? fixed(weights[head][this.word][j], 3) : ""))])];
    }
  };
});
