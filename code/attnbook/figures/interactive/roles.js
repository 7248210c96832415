// A word asks all others, with all three projections and without some of them, one below the other.
// The reader chooses the word, and the case whose keys and values are shown.
attnbook.define("roles", ({ Interactive, element, shape, sum, dot, softmax, fixed, percent,
  ribbon }) => {
  const [WORD, FALL] = [100, 64]; // width of a word and height of the ribbons, in their units
  const ALL = 0.92 * WORD; // as wide as all of the weight: each ribbon is as wide as its share
  const HEARD = 0.2; // a weight from which on a word is named
  const DARKEST = 45; // percent of the colour of weights in a cell that has all of the weight
  const through = (row, matrix) =>
    matrix[0].map((_, k) => dot(row, matrix.map((cells) => cells[k])));
  const list = (parts) => [parts.slice(0, -1).join(", "), ...parts.slice(-1)]
    .filter(Boolean).join(" and ");

  // the cases: a name, what the word then does, and what makes query, key and value
  const CASES = [
    { name: "all three", does: "finds what it looks for", query: "W_Q", key: "W_K", value: "W_V" },
    { name: "no query", does: "asks with its own key", query: "W_K", key: "W_K", value: "W_V" },
    { name: "no value", does: "adds whole words to itself", query: "W_Q", key: "W_K", value: null },
    { name: "none", does: "looks for words like itself", query: null, key: null, value: null }];

  return class Roles extends Interactive {
    static LINES = 5;
    static STYLE = `
      :host { container-type: inline-size; }
      .controls { display: none; }
      .row { display: grid; gap: .15rem .2rem; align-items: center; text-align: center;
        grid-template-columns: 3.5rem repeat(var(--words), minmax(0, 1fr)); }
      .label { text-align: left; font-size: 13px; }
      .chip { min-width: 0; min-height: 2.1rem; padding: .1rem; font-weight: 600;
        font-size: clamp(14px, 1.7cqi, 16px); border: 1.5px solid var(--line);
        border-radius: .5rem; }
      .chip[aria-pressed="true"] { color: var(--query); border-color: var(--query);
        box-shadow: inset 0 0 0 1px var(--query); }
      .head { grid-column: 2 / -1; margin: .2rem 0 0; text-align: left; font-size: 13px;
        color: var(--soft); }
      .case { padding: .35rem 0; border-bottom: 1px solid var(--line); }
      .case button { grid-row: 1 / 4; align-self: stretch; padding: .1rem .1rem .1rem .35rem; font-size: 14px;
        font-weight: 600; line-height: 1.2; text-align: left; border-color: var(--line); }
      .case button[aria-pressed="true"] { background: var(--hover); border-color: var(--weights);
        box-shadow: inset 3px 0 var(--weights); }
      .does, .carries { grid-column: 2 / -1; text-align: left; font-size: 13.5px; }
      .weight { height: 1.9rem; line-height: 1.9rem; border-radius: .2rem; font-size: 14px;
        font-weight: 600; font-variant-numeric: tabular-nums; box-shadow: inset 0 0 0 1px var(--line);
        background: color-mix(in srgb, var(--weights) var(--share), var(--paper)); }
      .carries { display: flex; flex-wrap: wrap; gap: .15rem .3rem; }
      .carries > span { padding: 0 .4rem; border: 1.5px solid var(--soft); border-radius: .7rem;
        font-variant-numeric: tabular-nums; }
      .carries > .found { border-color: var(--value); color: var(--value); }
      .carries i { font-style: normal; white-space: nowrap; }
      .voice { min-height: 2.8em; margin: .7rem 0 .2rem; text-align: center; color: var(--query);
        font-size: clamp(14px, 4.1cqi, 16px); }
      .voice i { font-style: normal; letter-spacing: .1em; }
      .has { min-height: 2.5em; align-content: center; line-height: 1.25;
        font-size: clamp(12px, 1.5cqi, 14px); }
      .key { color: var(--key); } .value { color: var(--value); }
      .wide { grid-column: 2 / span var(--words); }
      .ribbon { fill: var(--weights); opacity: .5; }
      .shares { display: flex; height: 24px; overflow: hidden;
        width: calc(${100 * ALL / WORD}% / var(--words));
        margin-left: calc((var(--row) + ${(1 - ALL / WORD) / 2}) * 100% / var(--words)); }
      .shares span { overflow: hidden; background: var(--weights); }
      .shares span:nth-child(even) { opacity: .7; }
      @media (prefers-reduced-motion: no-preference) { .shares span { transition: width .25s; } }
      @media (min-width: 600.01px) { .said { min-height: 2.8em; } } /* two lines: nothing jumps */
      @container (min-width: 42rem) {
        .row { grid-template-columns: 5.6rem repeat(var(--words), minmax(0, 1fr)) 17rem;
          column-gap: .3rem; }
        .narrow { display: none; }
        .voice { min-height: 0; padding: 0 17.3rem 0 5.9rem; } /* above the words */
        .head, .carries { grid-column: -2 / -1; padding-left: .9rem; }
        .head { grid-row: 1; margin: 0; }
        .does { grid-column: 2 / -2; }
        .case button { grid-row: 1 / 3; }
        .carries { grid-row: 1 / 3; }
      }
    `;

    build() {
      const { words, row } = this.data;
      this.row = row;
      this.case = CASES[0];
      this.stage.style.setProperty("--words", words.length);
      this.chips = words.map((word, i) => element("button", { type: "button", class: "chip",
        onclick: () => {
          this.row = i;
          this.draw();
        } }, word));
      this.then = element("span");
      const cells = (kind) => words.map(() => element("span", { class: kind }));
      this.cases = CASES.map((each) => {
        const button = element("button", { type: "button", onclick: () => {
          this.case = each;
          this.draw();
        } }, each.name);
        const [weights, carries] = [cells("weight"), element("div", { class: "carries" })];
        return { each, button, weights, carries, row: element("div", { class: "row case" }, button,
          element("span", { class: "does" }, each.does), ...weights, carries) };
      });
      this.keys = cells("key has");
      this.values = cells("value has");
      const label = (name) => element("span", { class: `label ${name}` }, name);
      this.ribbons = words.map(() => shape("path", { class: "ribbon" }));
      this.shares = words.map(() => element("span"));
      this.whole = element("div", { class: "wide shares", "aria-hidden": "true" }, ...this.shares);
      this.voice = element("p", { class: "voice", "aria-hidden": "true" });
      const line = (...cells) => element("div", { class: "row" }, ...cells);
      this.stage.append(
        line(element("span"), ...this.chips, element("p", { class: "head" },
          element("span", { class: "narrow" }, "weights, and below them "), this.then)),
        ...this.cases.map(({ row }) => row),
        this.voice,
        line(label("key"), ...this.keys),
        line(label("value"), ...this.values),
        line(shape("svg", { class: "wide", preserveAspectRatio: "none", height: FALL,
          viewBox: `0 0 ${WORD * words.length} ${FALL}`, "aria-hidden": "true" }, ...this.ribbons),
        this.whole));
    }

    // queries, keys and values of all words, the weights of the one that asks, and its mixture
    attend(by = this.case) {
      const { x } = this.data;
      const made = (name) => (name ? x.map((own) => through(own, this.data[name])) : x);
      const [queries, keys, values] = ["query", "key", "value"].map((r) => made(by[r]));
      const weights = softmax(keys.map((key) => dot(key, queries[this.row])));
      const mixture = values[0].map((_, k) => dot(weights, values.map((value) => value[k])));
      return { query: queries[this.row], keys, values, weights, mixture };
    }

    // the names of the columns of queries and keys, or of values
    names(role) {
      const { features, labels, hands } = this.data;
      return this.case[role] ? (role === "value" ? hands : labels) : features;
    }

    has(numbers, role) {
      return this.names(role).filter((_, k) => numbers[k]).join(", ") || "–";
    }

    paint() {
      const now = this.attend();
      const word = this.data.words[this.row];
      this.then.textContent = `what “${word}” then carries`;
      this.chips.forEach((chip, i) => chip.setAttribute("aria-pressed", i === this.row));
      this.cases.forEach(({ each, button, weights, carries }) => {
        const { weights: shares, mixture } = this.attend(each);
        button.setAttribute("aria-pressed", each === this.case);
        weights.forEach((cell, j) => {
          cell.textContent = percent(shares[j]);
          cell.style.setProperty("--share", `${DARKEST * shares[j]}%`);
        });
        carries.replaceChildren(...this.carried(each, mixture));
      });
      now.weights.forEach((weight, j) => {
        this.keys[j].textContent = this.has(now.keys[j], "key");
        this.values[j].textContent = this.has(now.values[j], "value");
        this.shares[j].style.width = `${100 * weight}%`;
        this.ribbons[j].setAttribute("d", this.ribbon(j, now.weights));
      });
      this.whole.style.setProperty("--row", this.row);
      this.voice.replaceChildren(`With ${this.case.name}, `, element("b", {}, word), " looks for ",
        ...this.wish(now.query));
      this.say(this.explain(word, now));
    }

    // what the word is and what it takes in: beside each other, or in one sum
    carried(by, mixture) {
      const { features, hands, x } = this.data;
      const pill = (kind, names, amounts) => element("span", { class: kind },
        ...names.map((name, k) => `${name} ${fixed(amounts[k], 1)}`)
          .filter((_, k) => amounts[k] >= 0.05).flatMap((text, k) => [k ? " · " : "", element("i", {}, text)]));
      const own = x[this.row];
      return by.value ? [pill("own", features, own), pill("found", hands, mixture)]
        : [pill("sum", features, own.map((amount, k) => amount + mixture[k]))];
    }

    wish(query) {
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
        `Without any projection, a word looks for words like itself. ${finds} Nothing is left that `
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
