// A word asks all others. The reader takes away one of the three projections, or all of them.
attnbook.define("roles", ({ Interactive, element, shape, range, sum, dot, softmax, fixed, percent,
  ribbon }) => {
  const [WORD, FALL] = [100, 74]; // width of a word and height of the ribbons, in their units
  const ALL = 0.92 * WORD; // as wide as all of the weight: each ribbon is as wide as its share
  const HEARD = 0.2; // a weight from which on a word is named
  const LEGIBLE = 0.3; // of a bar: a part that has room for its word
  const through = (row, matrix) =>
    matrix[0].map((_, k) => dot(row, matrix.map((cells) => cells[k])));
  const list = (parts) => [parts.slice(0, -1).join(", "), ...parts.slice(-1)]
    .filter(Boolean).join(" and ");

  // what is taken away: its button, and what then makes query, key and value
  const REMOVED = [
    { name: "nothing", query: "W_Q", key: "W_K", value: "W_V" },
    { name: "separate query", query: "W_K", key: "W_K", value: "W_V" },
    { name: "value projection", query: "W_Q", key: "W_K", value: null },
    { name: "all projections", query: null, key: null, value: null }];

  return class Roles extends Interactive {
    static LINES = 6;
    static STYLE = `
      :host { container-type: inline-size; }
      .controls { align-items: center; gap: .4rem; }
      .controls button[aria-pressed="true"] { background: var(--hover); font-weight: 600;
        box-shadow: inset 0 -3px var(--weights); }
      .voice { margin: 0 0 .3rem; text-align: center; color: var(--query);
        font-size: clamp(14px, 4.3cqi, 17px); }
      .voice i { font-style: normal; letter-spacing: .1em; }
      .words { display: grid; gap: .1rem .2rem; align-items: center; text-align: center;
        grid-template-columns: 3rem repeat(var(--words), minmax(0, 1fr)); }
      .label { text-align: left; font-size: 13px; }
      .chip { min-width: 0; min-height: 2.1rem; padding: .1rem; font-weight: 600;
        font-size: clamp(14px, 1.7cqi, 16px); border: 1.5px solid var(--line);
        border-radius: .5rem; }
      .chip[aria-pressed="true"] { color: var(--query); border-color: var(--query);
        box-shadow: inset 0 0 0 1px var(--query); }
      .has { min-height: 2.5em; align-content: center; line-height: 1.25;
        font-size: clamp(12px, 1.5cqi, 14px); }
      .key { color: var(--key); } .value { color: var(--value); }
      .weight { color: var(--weights); font-weight: 600; font-variant-numeric: tabular-nums; }
      .wide { grid-column: 2 / -1; }
      .ribbon { fill: var(--weights); opacity: .5; }
      .shares, .track { display: flex; height: 24px; overflow: hidden; }
      .shares { width: calc(${100 * ALL / WORD}% / var(--words));
        margin-left: calc((var(--row) + ${(1 - ALL / WORD) / 2}) * 100% / var(--words)); }
      .shares span, .track span { overflow: hidden; font-size: 12px; line-height: 24px;
        color: var(--paper); text-align: center; box-shadow: inset -1px 0 var(--paper); }
      .shares span { background: var(--weights); box-shadow: none; }
      .shares span:nth-child(even) { opacity: .7; }
      .track span { background: var(--value); line-height: 18px; }
      .track .own { background: var(--soft); }
      .after { margin-top: .8rem; min-height: calc(26px * var(--rows) + 2.4rem); }
      .after p { margin: 0 0 .2rem; font-weight: 600; font-size: 14px; }
      .after ul + p { margin-top: .5rem; }
      .after ul { display: grid; grid-template-columns: 4.6rem minmax(3rem, 1fr) 2rem;
        gap: 0 .5rem; align-items: center; }
      .after li { display: contents; }
      .after li > * { line-height: 26px; }
      .after .track { height: 18px; line-height: 18px; }
      .after .number { text-align: right; font-variant-numeric: tabular-nums; }
      @media (prefers-reduced-motion: no-preference) {
        .shares span, .track span { transition: width .25s; } }
      @media (min-width: 600.01px) { .said { min-height: 4.2em; } } /* three lines: nothing jumps */
      @container (min-width: 44rem) {
        .sides { display: grid; grid-template-columns: minmax(0, 1.35fr) minmax(0, 1fr);
          column-gap: 2.4rem; align-items: center; }
      }
    `;

    build() {
      const { words, features, hands, row, x } = this.data;
      this.row = row;
      this.removed = REMOVED[0];
      this.controls.append(element("span", {}, "Remove"));
      this.buttons = REMOVED.map((removed) => this.button(removed.name, () => {
        this.removed = removed;
        this.draw();
      }));
      this.chips = words.map((word, i) => element("button", { type: "button", class: "chip",
        onclick: () => {
          this.row = i;
          this.draw();
        } }, word));
      const cells = (kind) => words.map(() => element("span", { class: kind }));
      this.keys = cells("key has");
      this.given = cells("weight");
      this.values = cells("value has");
      const label = (name) => element("span", { class: `label ${name}` }, name);
      this.ribbons = words.map(() => shape("path", { class: "ribbon" }));
      this.shares = words.map(() => element("span"));
      this.whole = element("div", { class: "wide shares", "aria-hidden": "true" }, ...this.shares);
      this.voice = element("p", { class: "voice", "aria-hidden": "true" });
      const most = Math.max(...x.map((kinds) => kinds.filter(Boolean).length));
      const rows = Math.max(features.length, most + hands.length);
      this.after = element("div", { class: "after", style: `--rows: ${rows}` });
      this.stage.className = "sides";
      this.stage.append(element("div", {}, this.voice,
        element("div", { class: "words", style: `--words: ${words.length}` },
          element("span"), ...this.chips, label("key"), ...this.keys,
          label("weight"), ...this.given, label("value"), ...this.values,
          shape("svg", { class: "wide", preserveAspectRatio: "none", height: FALL,
            viewBox: `0 0 ${WORD * words.length} ${FALL}`, "aria-hidden": "true" },
          ...this.ribbons),
          this.whole)),
      this.after);
    }

    // queries, keys and values of all words, the weights of the one that asks, and its mixture
    attend() {
      const { x } = this.data;
      const made = (name) => (name ? x.map((own) => through(own, this.data[name])) : x);
      const [queries, keys, values] = ["query", "key", "value"].map((r) => made(this.removed[r]));
      const weights = softmax(keys.map((key) => dot(key, queries[this.row])));
      const parts = values[0].map((_, k) => values.map((value, j) => weights[j] * value[k]));
      return { query: queries[this.row], keys, values, weights, parts, mixture: parts.map(sum) };
    }

    // the names of the columns of queries and keys, or of values
    names(role) {
      const { features, labels, hands } = this.data;
      return this.removed[role] ? (role === "value" ? hands : labels) : features;
    }

    has(numbers, role) {
      return this.names(role).filter((_, k) => numbers[k]).join(", ") || "–";
    }

    paint() {
      const now = this.attend();
      const word = this.data.words[this.row];
      this.buttons.forEach((button, k) =>
        button.setAttribute("aria-pressed", REMOVED[k] === this.removed));
      this.chips.forEach((chip, i) => chip.setAttribute("aria-pressed", i === this.row));
      now.weights.forEach((weight, j) => {
        this.keys[j].textContent = this.has(now.keys[j], "key");
        this.given[j].textContent = percent(weight);
        this.values[j].textContent = this.has(now.values[j], "value");
        this.shares[j].style.width = `${100 * weight}%`;
        this.ribbons[j].setAttribute("d", this.ribbon(j, now.weights));
      });
      this.whole.style.setProperty("--row", this.row);
      this.voice.replaceChildren(element("b", {}, word), " looks for ", ...this.wish(now.query));
      this.paintAfter(now);
      this.say(this.explain(word, now));
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

    // what the word is afterwards: beside what it was, or in one sum with it
    paintAfter({ parts, mixture }) {
      const { words, features, hands, x } = this.data;
      const [word, own] = [words[this.row], x[this.row]];
      const none = range(words.length).map(() => 0);
      const was = features.map((name, k) => ({ name, own: own[k], parts: none }))
        .filter(({ own }) => own);
      const found = hands.map((name, k) => ({ name, own: 0, parts: parts[k] }));
      const both = features.map((name, k) => ({ name, own: own[k], parts: parts[k] }));
      const most = Math.max(...mixture, ...was.map(({ own }) => own),
        ...(this.removed.value ? this.data.W_V.flat() : both.map(({ own }, k) => own + mixture[k])));
      const title = (text) => element("p", {}, text);
      const bars = (rows) => element("ul", {}, ...rows.map((row) => this.bar(row, most)));
      this.after.replaceChildren(...(this.removed.value
        ? [title(`what “${word}” is by itself`), bars(was),
          title(`what “${word}” takes in`), bars(found)]
        : [title(`what “${word}” is and takes in, in one sum`), bars(both)]));
    }

    bar({ name, own, parts }, most) {
      const part = (amount, text, kind = "") => element("span", { class: kind,
        style: `width: ${100 * amount / most}%` }, amount / most > LEGIBLE ? text : "");
      return element("li", {}, element("span", {}, name),
        element("span", { class: "track" }, part(own, "itself", "own"),
          ...parts.map((amount, j) => part(amount, this.data.words[j]))),
        element("span", { class: "number" }, fixed(own + sum(parts), 1)));
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
          + "training could change."][REMOVED.indexOf(this.removed)];
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
