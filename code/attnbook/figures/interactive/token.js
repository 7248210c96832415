// One token on its way through self-attention. Each number is a cell, empty until its step. One that
// is there can be opened: its computation, from token_explaining.js, stands in a sentence and in rows
// of cells below.
attnbook.define("token", (shared) => {
  const { Interactive, element, fill, range, dot, softmax, fixed, lowered, towards } = shared;

  const KINDS = { // step in which a cell is computed, and its colour
    x: [0, "ink"], q: [1, "query"], k: [1, "key"], v: [1, "value"], score: [2, "soft"],
    scaled: [3, "soft"], weight: [4, "weights"], output: [5, "ink"] };
  const below = (i) => "₁₂₃₄₅₆"[i];
  const product = (row, matrix) =>
    matrix[0].map((_, f) => dot(row, matrix.map((cells) => cells[f])));
  // whole numbers as they are, others with as many digits as a cell has room for
  const short = (number) => {
    const size = Math.abs(number);
    if (Math.abs(number - Math.round(number)) < 1e-9) return fixed(Math.round(number) + 0, 0);
    return fixed(number, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
  };
  const PACE = 2200; // milliseconds for a step while it plays
  const Explaining = attnbook.explaining({ ...shared, KINDS, below, short }, Interactive);

  return class Token extends Explaining {
    static STYLE = `
      .frame { max-width: 46rem; }
      .stage { container-type: inline-size; }
      .stack > p { margin: .6rem 0; }
      @media (max-width: 600px) { .frame { padding: .6rem .5rem; } .controls { gap: .3rem; } }
      .steps, .names { display: flex; flex-wrap: wrap; gap: .3rem .25rem; }
      .names { flex: auto; }
      .names button { flex: auto; padding: .1rem .4rem; border-color: var(--line); }
      [aria-pressed="true"], [aria-current="step"] { background: var(--hover); font-weight: 600;
        box-shadow: inset 0 -3px var(--weights); }
      .flow, .lens { display: grid; gap: 2px; justify-content: start; align-items: center;
        font-size: 13px; }
      .flow { grid-template-columns: var(--all); }
      .band { display: contents; }
      .band > * { grid-row: var(--row); grid-column: var(--column) / span var(--span); }
      .crowded .cell { font-size: 11.5px; letter-spacing: -.3px; }
      .head, .side { color: var(--role); text-align: center; white-space: nowrap; }
      .head { padding-top: .3rem; }
      .side { padding-right: .3rem; text-align: right; }
      .token { display: flex; justify-content: center; min-width: 0; max-width: 6rem; }
      .token.side { justify-content: end; }
      .again { display: none; }
      .token span { overflow: hidden; text-overflow: ellipsis; }
      .followed { font-weight: 600; }
      .cell { height: 28px; min-height: 0; padding: 0; overflow: hidden; border-radius: 0;
        border: 1px solid color-mix(in srgb, var(--role) 45%, var(--paper)); font-size: inherit;
        line-height: 26px; text-align: center; font-variant-numeric: tabular-nums; }
      .cell[inert] { border: 1px dashed var(--line); }
      .lit { border-color: var(--role); background: linear-gradient(90deg, color-mix(in srgb,
        var(--role) var(--strength, 22%), var(--paper)) var(--share, 100%), var(--paper) 0); }
      .used { box-shadow: inset 0 0 0 2px var(--role); }
      .open { outline: 3px solid var(--ink); outline-offset: 1px; z-index: 1; }
      .cell:focus-visible { outline: 3px solid var(--weights); z-index: 2; }
      .lens { height: calc(30px + 30px * var(--rows)); margin: .4rem 0; padding: .3rem .5rem;
        align-content: start; overflow: hidden; background: var(--paper); border-radius: .3rem;
        box-shadow: inset 0 0 0 1px var(--line);
        grid-template-columns: auto repeat(var(--cells), minmax(0, 4rem)) auto; }
      .lens .cell { position: relative; background: var(--paper); overflow: visible; }
      .lens .sum { margin-left: 9px; }
      .lens .sum::before { content: "+"; position: absolute; left: -10px; }
      .lens b { justify-self: start; padding-left: .4rem; white-space: nowrap; }
      .hint { grid-column: 1 / -1; }
      @media print { .steps { display: none; } }
      @container (max-width: 599px) {
        .names { flex-basis: 100%; order: -1; }
        .names { gap: .15rem; }
        .names button { padding: 0 .1rem; font-size: 12px; }
        .flow, .lens { font-size: 12.5px; }
        .flow { display: block; }
        .band { display: grid; gap: 2px; align-items: center; grid-template-columns: var(--own); }
        .band > * { grid-column: calc(var(--column) - var(--left)) / span var(--span); }
        .band + .band { margin-top: .4rem; }
        .again { display: flex; }
        .token { max-width: 4.2rem; }
        .flow.crowded .token { max-width: 3rem; padding-right: .1rem; }
        .crowded .cell { font-size: 10.5px; letter-spacing: -.4px; }
        .lens.crowded b { width: 0; padding: 0; overflow: hidden; }
      }
    `;

    #print = matchMedia("print");
    #printing = ({ matches }) => { // on paper stands the last step
      if (matches) this.onScreen = this.step;
      this.go(matches ? this.names.length - 1 : this.onScreen);
    };

    connectedCallback() {
      super.connectedCallback();
      this.#print.addEventListener("change", this.#printing);
    }

    disconnectedCallback() {
      super.disconnectedCallback();
      this.#print.removeEventListener("change", this.#printing);
    }

    build() {
      const { tokens, x, W_K, W_V, follow } = this.data;
      this.step = 1; // the first that computes something
      this.follow = follow;
      this.opened = null; // the cell under the mouse or in focus
      this.controls.append(element("span", { class: "note" }, "Follow"));
      this.followers = tokens.map((_, i) => this.button(this.name(i), () => {
        this.follow = i;
        this.open(null);
      }));
      const button = (label, step) =>
        element("button", { type: "button", onclick: () => this.go(step()) }, label);
      this.names = ["x", "q, k, v", "scores", `÷ √${W_K[0].length}`, "softmax", "mix", "output"]
        .map((name, step) => button(name, () => step));
      this.back = button("← Back", () => this.step - 1);
      this.next = button("Next →", () => this.step + 1);
      this.lens = element("div", { class: `lens ${tokens.length > 4 ? "crowded" : ""}`,
        style: `--rows: ${Math.max(3, x[0].length + 1)}; --cells: 1` });
      this.cells = [];
      this.stage.className = "stage";
      this.stage.append(
        element("div", { class: "steps", role: "group", "aria-label": "Steps",
          onkeydown: (event) => this.stepKey(event) },
        this.back, element("div", { class: "names" }, ...this.names), this.next),
        element("div", { class: "stack" }, this.said),
        this.picture(x[0].length, W_K[0].length, W_V[0].length), this.lens);
      this.reserve();
      const play = () => this.onceByItself(() => {
        this.go(this.step + 1);
        if (this.step < this.names.length - 1) play();
      }, PACE);
      play();
    }

    // as much room as the longest sentences need
    reserve() {
      const said = this.data.tokens.flatMap((_, i) => {
        this.follow = i;
        const now = this.attend();
        const all = this.cells.map((cell) => this.explain(cell, now).said);
        return [...all, this.explainProjection("q", i, null, now).said, this.ending(now)];
      });
      said.sort((a, b) => b.length - a.length);
      this.said.after(...said.slice(0, 3).map((text) =>
        element("p", { class: "room", "aria-hidden": "true" }, ...lowered(text))));
      this.follow = this.data.follow;
    }

    // a token with its number, so that two equal ones can be told apart
    name(i) {
      const token = this.data.tokens[i];
      return (token.length > 9 ? `${token.slice(0, 8)}…` : token) + below(i);
    }

    label(i) {
      return [element("span", {}, this.data.tokens[i]), below(i)];
    }

    // Rows of tokens, with the query above all and the output below the values. On a telephone
    // these are two bands, one below the other.
    picture(dModel, dK, dV) {
      const n = this.data.tokens.length;
      const start = { x: 2, k: dModel + 3, score: dModel + dK + 4 }; // a column each, and a gap
      Object.assign(start, { q: start.k, scaled: start.score + 1, weight: start.score + 2,
        v: start.score + 4, output: start.score + 4 });
      const at = (role, row, column, span = 1) =>
        `--row: ${row}; --column: ${column}; --span: ${span}; --role: var(--${role})`;
      const text = (kind, style, words = "") => element("div", { class: kind, style }, ...lowered(words));
      const head = (kind, words, span = 1) =>
        text("head", at(KINDS[kind][1], 2, start[kind], span), words);
      const names = (kind, column) => range(n).map((j) =>
        fill(text(`side token ${kind}`, at("ink", j + 3, column)), {}, this.label(j)));
      const cell = (kind, row, f = 0, j = null) => {
        const node = element("button", { class: "cell", type: "button",
          style: at(KINDS[kind][1], row, start[kind] + f) });
        for (const event of ["mouseenter", "focus"])
          node.addEventListener(event, () => this.open(made));
        const made = { kind, j, f, node };
        this.cells.push(made);
        return node;
      };
      const row = (kind, row, count) => range(count).map((f) => cell(kind, row, f));
      const block = (kind, count = 1) =>
        range(n).flatMap((j) => range(count).map((f) => cell(kind, j + 3, f, j)));
      const columns = (count, rem = 3.2) => `repeat(${count}, minmax(0, ${rem}rem))`;
      const left = `auto ${columns(dModel)} 12px ${columns(dK)}`;
      const right = `${columns(3, 3.8)} 12px ${columns(dV)}`;
      this.asks = text("side", at("query", 1, 1, dModel + 1));
      this.gives = text("side", at("ink", n + 3, start.score, 3));
      this.scores = head("score");
      this.sides = [...names("", 1), ...names("again", start.score - 1)];
      const crowded = dModel + dK > 6 || dV > 3; // then numbers have to be small
      return element("div", { class: `flow ${crowded ? "crowded" : ""}`, role: "group",
        style: `--all: ${left} 12px ${right}`,
        "aria-label": "The numbers; the arrow keys move from one to the next",
        onkeydown: (event) => this.cellKey(event),
        onmouseleave: () => this.open(this.focused()),
        onfocusout: () => this.open(null) },
      element("div", { class: "band", style: `--own: ${left}; --left: 0` },
        head("x", "x", dModel), head("k", dK > 2 ? "keys k = x W_K" : "k", dK), this.asks,
        ...row("q", 1, dK), ...this.sides.slice(0, n), ...block("x", dModel), ...block("k", dK)),
      element("div", { class: "band", style: `--own: auto ${right}; --left: ${start.score - 2}` },
        this.scores, head("scaled", `÷ √${dK}`), head("weight", "weight"),
        head("v", dV > 1 ? "values v" : "v", dV), ...this.sides.slice(n), ...block("score"),
        ...block("scaled"), ...block("weight"), ...block("v", dV), this.gives,
        ...row("output", n + 3, dV)));
    }

    ready({ kind }) {
      return KINDS[kind][0] <= this.step;
    }

    focused() {
      return this.cells.find(({ node }) => node === this.shadowRoot.activeElement) ?? null;
    }

    go(step) {
      this.step = Math.max(0, Math.min(step, this.names.length - 1));
      this.open(null);
    }

    open(cell) {
      this.opened = cell && this.ready(cell) ? cell : null;
      this.draw();
    }

    stepKey(event) {
      const to = { ArrowRight: this.step + 1, ArrowLeft: this.step - 1, Home: 0,
        End: this.names.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      this.go(to);
      if (this.names.includes(event.target)) this.names[this.step].focus();
    }

    cellKey(event) {
      const nodes = this.cells.filter((cell) => this.ready(cell)).map(({ node }) => node);
      const to = towards(event.key, event.target, nodes);
      if (event.key.startsWith("Arrow")) event.preventDefault();
      to?.focus();
    }

    // all numbers on the way of the followed token, each under the name of its kind
    attend() {
      const { x, W_Q, W_K, W_V } = this.data;
      const [queries, k, v] = [W_Q, W_K, W_V].map((matrix) => x.map((row) => product(row, matrix)));
      const q = queries[this.follow];
      const score = k.map((key) => dot(q, key));
      const scaled = score.map((number) => number / Math.sqrt(q.length));
      const weight = softmax(scaled);
      const best = weight.indexOf(Math.max(...weight));
      return { x, queries, q, k, v, score, scaled, weight, output: product(weight, v), best };
    }

    // what is open when nobody points at anything
    usual({ best, output }) {
      const [kind, j, f] = [["x", this.follow, 0], ["q", null, null], ["score", best, 0],
        ["scaled", best, 0], ["weight", best, 0], ["output", null, 0],
        ["output", null, output.length - 1]][this.step];
      return { kind, j, f };
    }

    paint() {
      const now = this.attend();
      const [i, last] = [this.follow, this.names.length - 1];
      const shown = this.opened ?? this.usual(now);
      const explained = this.explain(shown, now);
      this.followers.forEach((button, j) => button.setAttribute("aria-pressed", j === i));
      this.names.forEach((button, step) => {
        button.tabIndex = step === this.step ? 0 : -1;
        button.setAttribute("aria-current", step === this.step ? "step" : "false");
      });
      this.back.setAttribute("aria-disabled", this.step === 0);
      this.next.setAttribute("aria-disabled", this.step === last);
      this.sides.forEach((node, j) =>
        node.classList.toggle("followed", j % this.followers.length === i));
      this.asks.textContent = `query q${below(i)}`;
      this.gives.textContent = `output${below(i)}`;
      this.scores.textContent = `q${below(i)} · k`;
      for (const cell of this.cells) this.paintCell(cell, now, shown, explained);
      this.showLens(explained);
      this.say(this.step === last && !this.opened ? this.ending(now) : explained.said);
    }

    paintCell(cell, now, shown, { uses }) {
      const { kind, j, f, node } = cell;
      const [step, ready] = [KINDS[kind][0], this.ready(cell)];
      const vectors = j === null ? now[kind] : now[kind][j];
      const text = ready ? short(Array.isArray(vectors) ? vectors[f] : vectors) : "";
      const mixing = this.step >= 5 && kind === "v";
      node.textContent = text;
      node.setAttribute("aria-label", `${kind}${below(j ?? this.follow)}` +
        `${Array.isArray(vectors) ? `, number ${f + 1}` : ""}: ${text}`);
      node.inert = !ready; // nothing to point at, to reach or to read aloud
      const first = kind === "x" && j === this.follow && f === 0;
      node.tabIndex = (this.opened ? cell === this.opened : first) ? 0 : -1;
      const mixed = this.step === 5 && step === 4;
      node.classList.toggle("lit", step === this.step || this.step === 6 || mixing || mixed);
      node.classList.toggle("used", ready && uses(cell));
      node.classList.toggle("open", ready && kind === shown.kind && j === shown.j
        && (shown.f ?? f) === f);
      if (kind === "weight") node.style.setProperty("--share", `${100 * now.weight[j]}%`);
      if (kind === "v") node.style.setProperty("--strength", mixing ? `${60 * now.weight[j]}%` : "22%");
    }

    // a row of products has plus signs between its cells, and their sum after them
    showLens({ title, heads, rows, column }) {
      if (!rows.length) {
        this.lens.replaceChildren(element("span", { class: "hint" },
          "From the next step on, point at a number or tap it to see here how it was computed."));
        return;
      }
      const text = (kind, role, words) =>
        element("span", { class: kind, style: `--role: var(--${role})` }, ...lowered(words));
      this.lens.style.setProperty("--cells", heads.length);
      this.lens.replaceChildren(text("side followed", "ink", title),
        ...heads.map((head) =>
          fill(text("head token", "soft", ""), {}, [head].flat())), element("b"),
        ...rows.flatMap(({ label, cells, role = "soft", result }) => [
          text("side", role, label),
          ...cells.map((number, f) =>
            text(`cell${result && f ? " sum" : ""}${f === column ? " used" : ""}`, role,
              short(number))),
          element("b", {}, result ? `= ${result}` : "")]));
    }

    numbers() {
      const { x, queries, k, v, score, scaled, weight, output } = this.attend();
      const heads = (name, vectors) => vectors[0].map((_, f) => `${name} ${f + 1}`);
      const digits = (numbers) => numbers.map((number) => fixed(number, 3));
      const before = ["", ...heads("x", x), ...heads("q", queries), ...heads("k", k),
        `q${below(this.follow)} · k`, `÷ √${k[0].length}`, "weight"];
      return [[...before, ...heads("v", v)],
        ...x.map((row, j) => [this.name(j), ...digits([...row, ...queries[j], ...k[j], score[j],
          scaled[j], weight[j], ...v[j]])]),
        [`output${below(this.follow)}`, ...before.slice(1).map(() => ""), ...digits(output)]];
    }
  };
});
