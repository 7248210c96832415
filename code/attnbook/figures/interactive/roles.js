// A word asks all others with its query, they answer with their keys, and their values come back.
// Each word's features pass through three matrices, some of which the reader takes away.
attnbook.define("roles", ({ Interactive, element, shape, sum, dot, softmax, fixed, percent,
  ribbon, boxesIn, still }) => {
  const [WORD, FAN, FALL] = [100, 30, 44]; // width of a word, heights of lines and ribbons, in their units
  const ALL = 0.92 * WORD; // as wide as all of the weight: each ribbon is as wide as its share
  const [SEEN, HEARD] = [0.05, 0.2]; // weights from which on a word is in full colour, and is named
  const DARKEST = 45; // percent of the colour of weights in a cell that has all of the weight
  const PASS = 800; // milliseconds that features need to a matrix
  const through = (row, matrix) =>
    matrix[0].map((_, k) => dot(row, matrix.map((cells) => cells[k])));
  const list = (parts) => [parts.slice(0, -1).join(", "), ...parts.slice(-1)]
    .filter(Boolean).join(" and ");

  // the cases: a name, and what makes query, key and value
  const CASES = [
    { name: "all three", query: "W_Q", key: "W_K", value: "W_V" },
    { name: "without a query of its own", query: "W_K", key: "W_K", value: "W_V" },
    { name: "without a value of its own", query: "W_Q", key: "W_K", value: null },
    { name: "without any of the three", query: null, key: null, value: null }];
  const TITLES = { query: "query", key: "key", weigh: "weight", value: "value", output: "output" };
  // what each is for, and what takes its place
  const JOBS = {
    query: { W_Q: "what “WORD” looks for", W_K: "“WORD” asks with its key", null: "“WORD” asks as it is" },
    key: { W_K: "what a word is found by", null: "each answers as it is" },
    value: { W_V: "what a word hands over", null: "each hands over all it is" } };

  return class Roles extends Interactive {
    static LINES = 4;
    static STYLE = `
      :host { container-type: inline-size; }
      .controls { display: none; } .frame > div { position: relative; }
      .row { display: grid; gap: 0 .3rem; text-align: center;
        grid-template-columns: repeat(var(--words), minmax(0, 1fr)); }
      .label { grid-column: 1 / -1; margin: .3rem 0 .15rem; text-align: left; font-size: 13px;
        line-height: 1.25; color: var(--soft); }
      .label b { margin-right: .3rem; font-size: 15px; }
      .query b, .asks { color: var(--query); } .key b { color: var(--key); }
      .weigh b, .back { color: var(--weights); } .value b { color: var(--value); }
      .lacks b { color: var(--soft); text-decoration: line-through; }
      .chip { min-width: 0; min-height: 2.1rem; padding: .1rem; font-weight: 600; border-radius: .5rem;
        font-size: clamp(14px, 1.9cqi, 17px); border: 1.5px solid var(--line); }
      .chip[aria-pressed="true"] { color: var(--query); border-color: var(--query);
        box-shadow: inset 0 0 0 1px var(--query); }
      .is { margin-top: .15rem; font-size: 12.5px; line-height: 1.2; color: var(--soft); }
      .at { position: relative; left: var(--at); width: fit-content; max-width: 100%;
        transform: translateX(calc(-1 * var(--at))); }
      .wide { position: relative; grid-column: 1 / -1; }
      .made { position: relative; } .made .label { position: relative; z-index: 1; width: fit-content; background: var(--paper); }
      .made .key.label, .made .value.label { margin-bottom: .65rem; }
      .rails { position: absolute; inset: -1.1rem 0 2rem; }
      .rails i { grid-row: 1; margin-left: -3px; border-left: 1.5px solid var(--soft); opacity: .5; }
      .cell { position: relative; }
      .gate { --role: var(--key); position: absolute; z-index: 2; top: -9px; left: -4px; min-width: 1.45rem; padding: 0 1px;
        border-radius: .2rem; background: var(--role); color: var(--paper);
        font: italic 600 13px/17px Georgia, serif; text-align: center; }
      .gate sub { font-size: .75em; line-height: 0; vertical-align: -.2em; }
      .gate[data-matrix="W_Q"] { --role: var(--query); } .gate[data-matrix="W_V"] { --role: var(--value); }
      .gate.none { visibility: hidden; }
      .made .wide .gate { top: 0; left: var(--at); transform: translateX(-50%); padding: 0 .4rem; }
      .wide:has(.gate) { padding-top: 15px; }
      .ghost { position: absolute; z-index: 3; top: 0; left: 0; font-size: 13px; white-space: nowrap; pointer-events: none;
        padding: 0 .2rem; border-radius: .2rem; background: var(--paper); box-shadow: 0 0 0 1px var(--line); }
      .asks { display: none; }
      .back { grid-row: 2; grid-column: 1 / -1; margin: 0; text-align: right; } /* beside the bar */
      .late .back { text-align: left; }
      .wish { display: block; padding: .1rem .7rem; border-radius: 1rem; border: 1.5px solid; color: var(--query);
        background: var(--paper); font-size: clamp(14px, 1.9cqi, 16px); }
      .wish.key { color: var(--key); } .wish.plain { color: var(--ink); }
      .wish i { font-style: normal; letter-spacing: .1em; }
      .fan { fill: none; stroke: var(--query); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
      .has { position: relative; display: grid; align-content: center; min-height: 2.4rem; padding-top: 7px;
        box-sizing: border-box; background: var(--paper); line-height: 1.15; border: 1.5px solid; border-radius: .3rem; font-size: clamp(12.5px, 1.7cqi, 15px); }
      .has.key { color: var(--key); } .has.value { color: var(--value); }
      .has.empty { border-color: var(--line); } .has.plain { color: var(--ink); }
      .has.key::before { content: ""; position: absolute; top: -2.5rem; left: calc(50% - 5px); border: 5px solid transparent;
        border-top: 8px solid var(--query); border-bottom: 0; } /* above the label */
      .weight { padding: .1rem 0; border-radius: .2rem; font-variant-numeric: tabular-nums; line-height: 1.2;
        font-size: clamp(15px, 1.9cqi, 17px); font-weight: 600; box-shadow: inset 0 0 0 1px var(--line);
        background: color-mix(in srgb, var(--weights) var(--share), var(--paper)); }
      .chip.faint, .has.faint, .weight.faint { color: var(--soft); border-color: var(--line); font-weight: 400; }
      .has.faint::before { opacity: .35; } :is(.gate, .fan).faint { opacity: .3; }
      .weight small { display: block; font-size: 12.5px; font-weight: 400; }
      .ribbon { fill: var(--weights); opacity: .5; }
      .shares { display: flex; grid-row: 2; height: 16px; overflow: hidden;
        width: calc(${100 * ALL / WORD}% / var(--words));
        margin-left: calc((var(--row) + ${(1 - ALL / WORD) / 2}) * 100% / var(--words)); }
      .shares span { overflow: hidden; background: var(--weights); }
      .shares span:nth-child(even) { opacity: .7; }
      .carries { display: flex; flex-wrap: wrap; justify-content: center; gap: .2rem .3rem; padding-top: .3rem;
        font-size: 14px; }
      .wide:has(.carries) { min-height: 4.9rem; } /* three lines: nothing jumps */
      .carries > span { padding: .05rem .6rem; border: 1.5px solid var(--soft); border-radius: .8rem;
        font-variant-numeric: tabular-nums; }
      .carries small { font-size: 13px; color: var(--soft); }
      .carries > .found { border-color: var(--value); color: var(--value); }
      .carries i { font-style: normal; white-space: nowrap; }
      .cases { display: grid; grid-template-columns: 1fr 1fr; gap: .35rem; margin-top: .9rem; }
      .cases button { line-height: 1.2; border-color: var(--line); }
      .cases button[aria-pressed="true"] { background: var(--hover); border-color: var(--weights);
        box-shadow: inset 0 -3px var(--weights); font-weight: 600; }
      @media (prefers-reduced-motion: no-preference) { .shares span { transition: width .25s; } }
      @media (min-width: 600.01px) { .said { min-height: 2.8em; } } /* two lines: nothing jumps */
      @media (min-width: 600.01px) and (max-width: 900px) { .said { min-height: 4.2em; } }
      @container (min-width: 42rem) {
        .row { grid-template-columns: 11.5rem repeat(var(--words), minmax(0, 1fr)); }
        .label { grid-column: 1; margin: 0; align-self: center; }
        .label b { display: block; }
        .label:not(.word) span { display: block; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
        .row .wide:has(.carries) { min-height: 0; }
        .label.word { grid-row: 1 / 3; }
        .has.key::before { top: -9px; }
        .made .row .label { margin-bottom: 0; }
        .rails { bottom: 1.15rem; } .rails i { margin-left: 0; }
        .cell, .row .weight { margin: 0 .9rem; }
        .has { min-height: 2.2rem; padding: 0 0 0 .4rem; }
        .has.plain { padding: 0; }
        .cell .gate { top: calc(50% - 9px); left: -13px; }
        .cell::before { content: ""; position: absolute; top: 50%; left: -.9rem; width: .9rem;
          border-top: 1.5px solid var(--soft); opacity: .5; }
        .row .asks { display: block; }
        :is(.asks, .back) span::after { content: " ↘"; }
        .row .back { grid-row: 1; text-align: left; }
        .wide { grid-column: 2 / -1; }
        .row:has(.has, .weight, .carries, .wish) { min-height: 2.3rem; align-items: center; }
        .row:has(.weight) { padding: .3rem 0; }
        .cases { grid-template-columns: repeat(4, auto); }
      }
    `;

    build() {
      const { words, row, x, features } = this.data;
      this.row = row;
      this.case = CASES[0];
      this.stage.style.setProperty("--words", words.length);
      this.chips = words.map((word, i) => element("button", { type: "button", class: "chip",
        onclick: () => {
          this.row = i;
          this.draw();
          this.pass("query");
        } }, word));
      const [keys, weights, values] = ["key has", "weight", "value has"].map((name) =>
        words.map(() => element("span", { class: name })));
      this.own = x.map((own) => element("span", { class: "is" }, this.named(features, own)));
      const gate = () => element("i", { class: "gate", "aria-hidden": "true" });
      this.gates = { query: [gate()], key: words.map(gate), value: words.map(gate) };
      const behind = (role, cells) => cells.map((cell, j) =>
        element("span", { class: "cell" }, this.gates[role][j], cell));
      Object.assign(this, { keys, weights, values });
      this.jobs = {};
      // a name, and what it is for, beside its cells or above them
      const line = (name, text, ...cells) => {
        const job = element("span", {}, text);
        const title = name in TITLES ? [element("b", {}, TITLES[name])] : [];
        this.jobs[name] = job;
        return element("div", { class: "row" }, element("span", { class: `label ${name}` }, ...title, job), ...cells);
      };
      const picture = (high, ...shapes) => shape("svg", { class: "wide", preserveAspectRatio: "none", height: high,
        viewBox: `0 0 ${WORD * words.length} ${high}`, "aria-hidden": "true" }, ...shapes);
      this.fan = words.map(() => shape("path", { class: "fan" }));
      this.ribbons = words.map(() => shape("path", { class: "ribbon" }));
      this.shares = words.map(() => element("span"));
      this.wish = element("span", { class: "wish at" });
      this.carries = element("div", { class: "carries at" });
      this.cases = CASES.map((each) => element("button", { type: "button",
        onclick: () => this.take(each) }, each.name));
      this.stage.append(
        line("word", "Each word has features. Press one to let it ask.", ...this.chips,
          ...this.own),
        element("div", { class: "made" },
          element("div", { class: "row rails", "aria-hidden": "true" }, ...words.map((_, j) =>
            element("i", { style: `grid-column: ${j - words.length - 1}` }))),
          line("query", "", element("div", { class: "wide" }, this.gates.query[0], this.wish)),
          line("asks", "asks every word", picture(FAN, ...this.fan)),
          line("key", "", ...behind("key", keys)),
          line("weigh", "how well query and key fit", ...weights),
          line("value", "", ...behind("value", values))),
        line("back", "comes back", picture(FALL, ...this.ribbons),
          element("div", { class: "wide shares", "aria-hidden": "true" }, ...this.shares)),
        line("output", "", element("div", { class: "wide" }, this.carries)),
        element("div", { class: "cases", role: "group", "aria-label": "Projections" }, ...this.cases));
      this.onceByItself(() => {
        const late = [...this.stage.querySelectorAll(".fan, .weight, .ribbon, .shares, .carries")];
        this.pass("query");
        this.pass("key", PASS);
        this.pass("value", 2 * PASS);
        for (const node of late)
          this.appear(node, PASS * { fan: 1.2, weight: 2.4, ribbon: 3.4 }[node.classList[0]] || 4 * PASS);
      });
    }

    take(each) {
      const roles = ["query", "key", "value"].filter((role) => this.case[role] !== each[role]);
      this.case = each;
      this.draw();
      for (const role of roles) this.pass(role);
    }

    appear(node, delay) {
      node.animate([{ opacity: 0 }, {}], { duration: 300, delay, fill: "backwards" });
    }

    // the features of words go into a matrix, and what it makes of them comes out
    pass(role, delay = 0) {
      if (still()) return;
      const box = boxesIn(this.stage);
      const cells = { query: [this.wish], key: this.keys, value: this.values }[role];
      cells.forEach((cell, j) => {
        const own = this.own[role === "query" ? this.row : j];
        const [from, to] = [own, this.gates[role][j]].map(box);
        const ghost = element("span", { class: "ghost", "aria-hidden": "true" }, own.textContent);
        this.stage.append(ghost);
        const at = ({ x, top, bottom }, size) => `translate(${x}px, ${(top + bottom) / 2}px) translate(-50%, -50%) scale(${size})`;
        ghost.animate({ transform: [at(from, 1), at(to, 1), at(to, 0.3)], opacity: [1, 1, 0], offset: [0, 0.8, 1] },
          { duration: PASS, delay, easing: "ease-in-out", fill: "backwards" }).finished.then(() => ghost.remove());
        this.appear(cell, delay + 0.9 * PASS);
      });
    }

    // queries, keys and values of all words, the weights of the one that asks, and its mixture
    attend() {
      const { x } = this.data;
      const made = (name) => (name ? x.map((own) => through(own, this.data[name])) : x);
      const [queries, keys, values] = ["query", "key", "value"].map((r) => made(this.case[r]));
      const scores = keys.map((key) => dot(key, queries[this.row]));
      const weights = softmax(scores);
      const mixture = values[0].map((_, k) => dot(weights, values.map((value) => value[k])));
      return { query: queries[this.row], keys, values, scores, weights, mixture };
    }

    // the names of the columns of queries and keys, or of values
    names(role) {
      const { features, labels, hands } = this.data;
      return this.case[role] ? (role === "value" ? hands : labels) : features;
    }

    named(names, numbers) {
      return names.filter((_, k) => numbers[k]).join(", ") || "–";
    }

    paint() {
      const now = this.attend();
      const { words } = this.data;
      const word = words[this.row];
      const middle = (this.row + 0.5) / words.length;
      this.stage.style.setProperty("--at", `${100 * middle}%`);
      this.stage.style.setProperty("--row", this.row);
      this.chips.forEach((chip, i) => chip.setAttribute("aria-pressed", i === this.row));
      this.cases.forEach((button, i) => button.setAttribute("aria-pressed", CASES[i] === this.case));
      for (const role of ["query", "key", "value"]) {
        const matrix = this.case[role];
        for (const gate of this.gates[role]) {
          gate.dataset.matrix = matrix;
          gate.classList.toggle("none", !matrix);
          gate.replaceChildren("W", element("sub", {}, matrix?.at(-1) ?? ""));
        }
        this.jobs[role].textContent = JOBS[role][this.case[role]].replace("WORD", word);
        this.jobs[role].parentNode.classList.toggle("lacks", this.case[role] !== CASES[0][role]);
      }
      this.jobs.output.textContent = `what “${word}” then carries`;
      this.stage.classList.toggle("late", middle > 0.5);
      this.wish.replaceChildren(...this.wanted(now.query));
      this.wish.classList.toggle("key", this.case.query === "W_K");
      this.wish.classList.toggle("plain", !this.case.query);
      for (const role of ["key", "value"])
        this[`${role}s`].forEach((cell, j) => {
          cell.textContent = this.named(this.names(role), now[`${role}s`][j]);
          cell.classList.toggle("plain", !this.case[role]);
          cell.classList.toggle("empty", cell.textContent === "–");
        });
      const { keys, weights, values } = this;
      now.weights.forEach((weight, j) => {
        weights[j].replaceChildren(element("small", {}, `score ${now.scores[j]}`), percent(weight));
        weights[j].style.setProperty("--share", `${DARKEST * weight}%`);
        this.shares[j].style.width = `${100 * weight}%`;
        this.ribbons[j].setAttribute("d", this.ribbon(j, now.weights));
        const [from, to] = [this.row, j].map((i) => WORD * (i + 0.5));
        this.chips[j].classList.toggle("faint", weight < SEEN && j !== this.row);
        for (const nodes of [keys, weights, values, this.fan, this.gates.key, this.gates.value])
          nodes[j].classList.toggle("faint", weight < SEEN);
        this.fan[j].setAttribute("d", `M${from},0 C${from},${FAN / 2} ${to},${FAN / 2} ${to},${FAN - 8}`);
      });
      this.carries.replaceChildren(...this.carried(now.mixture));
      this.say(this.explain(word, now));
    }

    // what the word is and what it takes in: beside each other, or in one sum
    carried(mixture) {
      const { features, hands, x } = this.data;
      const pill = (kind, title, names, amounts) => element("span", { class: kind },
        element("small", {}, `${title} `), ...names.map((name, k) => `${name} ${fixed(amounts[k], 1)}`)
          .filter((_, k) => amounts[k] >= 0.05).flatMap((text, k) => [k ? "\u00a0· " : "", element("i", {}, text)]));
      const own = x[this.row];
      return this.case.value ? [pill("own", "still", features, own), pill("found", "and takes in", hands, mixture)]
        : [pill("sum", "mixed up", features, own.map((amount, k) => amount + mixture[k]))];
    }

    wanted(query) {
      const wanted = this.names("query").flatMap((name, k) =>
        (query[k] ? [` ${name} `, element("i", {}, "●".repeat(query[k])), " "] : []));
      return wanted.length ? wanted : ["nothing"];
    }

    // from a word down to its part of the whole, which stands below the word that asks
    ribbon(j, weights) {
      const width = ALL * weights[j];
      const start = WORD * (j + 0.5) - width / 2;
      const end = WORD * (this.row + 0.5) - ALL / 2 + ALL * sum(weights.slice(0, j));
      return ribbon([start, start + width, 0], [end, end + width, FALL]);
    }

    explain(word, { query, weights }) {
      const found = list(weights.map((weight, j) => [weight, this.data.words[j]])
        .filter(([weight]) => weight > HEARD).sort(([a], [b]) => b - a)
        .map(([weight, name]) => `“${name}” (${percent(weight)})`));
      const even = Math.max(...weights) - Math.min(...weights) < 1e-9;
      const finds = even ? `So every word gets the same weight, ${percent(weights[0])}.`
        : `So it finds ${found}.`;
      const wanted = list(this.names("query").flatMap((name, k) =>
        (query[k] ? `${name} ${query[k]}` : []))) || "nothing";
      return [
        `The query of “${word}” is ${wanted}. ${finds} The mixture that it takes in stays `
          + "apart from its own features.",
        `Without a separate query, “${word}” has to ask with its own key, which is ${wanted}. `
          + finds,
        `Without a value projection, a word hands over all of its features. “${word}” adds the mixture `
          + "to its own features, so the next layer can hardly tell the two apart.",
        `Without any projection, a word looks for words like itself. ${finds} Nothing is left in attention that `
          + "training could change."][CASES.indexOf(this.case)];
    }

    numbers() {
      const { words, x, features } = this.data;
      const { weights, values, mixture } = this.attend();
      const names = this.names("value");
      return [["word", "weight", ...names],
        ...words.map((word, j) => [word, fixed(weights[j], 3), ...values[j].map(String)]),
        ["mixture", "", ...mixture.map((amount) => fixed(amount, 3))],
        ...(names === features ? [["sum with itself", "",
          ...mixture.map((amount, k) => fixed(amount + x[this.row][k], 3))]] : [])];
    }
  };
});
