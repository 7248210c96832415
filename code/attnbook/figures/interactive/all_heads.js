// All heads of a language model as a grid to search; one of them with its weights on a sentence.
attnbook.define("all-heads", ({ Interactive, element, shape, range, sum, fixed, towards }) => {
  const STEPS = 255; // a weight is stored as a byte
  const STRONGEST = 5;
  const percent = (share) => `${fixed(100 * share, 0)}\u00a0%`;

  // what a head can be searched for: a number from 0 to 1, of its map and the two chosen tokens
  const over = (map, first, score) =>
    sum(map.slice(first).map((row, i) => score(row, i + first))) / (map.length - first);
  const SEARCHES = [
    ["a token looks at another", null],
    ["looks at the token before", (map) => over(map, 1, (row, i) => row[i - 1])],
    ["looks at itself", (map) => over(map, 1, (row, i) => row[i])],
    ["looks at the first token", (map) => over(map, 1, (row) => row[0])],
    // entropy, as a share of the largest that a row can have
    ["looks everywhere evenly", (map) => over(map, 1, (row, i) =>
      -sum(row.map((weight) => (weight ? weight * Math.log(weight) : 0))) / Math.log(i + 1))],
  ];

  return class AllHeads extends Interactive {
    static LINES = 5;
    static TABLE = "The weights of this head";
    static STYLE = `
      .heads { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 2px .4rem;
        margin: .2rem 0 .6rem; }
      .grid { display: grid; grid-template-columns: repeat(var(--heads), 1fr); gap: 2px;
        outline-offset: 3px; touch-action: manipulation; }
      .grid > * { height: 24px; border-radius: 2px; cursor: pointer; position: relative;
        background: var(--hover); overflow: hidden; }
      .grid > *::before { content: ""; position: absolute; inset: 0; background: var(--weights);
        opacity: var(--share); }
      .grid > [aria-selected="true"] { outline: 3px solid var(--ink); z-index: 1; overflow: visible; }
      .axis-blocks { display: grid; gap: 2px; color: var(--soft); font-size: 12px;
        font-variant-numeric: tabular-nums; text-align: right; }
      .axis-blocks span { height: 24px; line-height: 24px; }
      .both { display: grid; gap: .4rem 1.2rem; }
      .caption { margin: 0; color: var(--soft); font-size: 13px; }
      .scale { display: inline-block; width: 5rem; height: .7em; margin: 0 .3em;
        background: linear-gradient(to right, var(--hover), var(--weights)); }
      .strongest { display: flex; flex-wrap: wrap; gap: .4rem; margin: .1rem 0 .5rem; }
      .strongest button[aria-pressed="true"] { border: 2px solid var(--ink); font-weight: 600; }
      .tokens { display: flex; flex-wrap: wrap; gap: .3rem; margin: .3rem 0; }
      .tokens button { min-width: 2rem; padding: .1rem .45rem .2rem; line-height: 1.2;
        border-color: var(--line); position: relative; }
      .tokens button span { display: block; position: relative; }
      .tokens button span + span { min-height: 1.2em; font-size: 12px;
        font-variant-numeric: tabular-nums; }
      .tokens button i { position: absolute; inset: auto 0 0 0; height: 4px; background: var(--weights);
        transform-origin: left; transform: scaleX(var(--share)); }
      .tokens button[aria-pressed="true"] { border: 2px solid var(--query); color: var(--query);
        font-weight: 600; }
      .tokens button.later { color: var(--soft); background: var(--hover); }
      .map { max-width: 19rem; }
      .map .on { fill: var(--weights); }
      .map text { font-size: .62px; fill: var(--soft); text-anchor: end; }
      .map text.top { text-anchor: start; }
      .map .chosen { fill: var(--query); font-weight: 600; }
      .map .row { fill: none; stroke: var(--query); stroke-width: .12; }
      @media (min-width: 700px) {
        .heads { grid-template-columns: minmax(0, 1fr); }
        .axis-blocks { grid-auto-flow: column; grid-auto-columns: 1fr; text-align: center; }
        .axis-blocks span { height: 1rem; line-height: 1rem; }
        .grid { grid-auto-flow: column; grid-auto-columns: 1fr; grid-template-columns: none;
          grid-template-rows: repeat(var(--heads), 1fr); }
        .grid > * { height: 19px; }
        .both { grid-template-columns: minmax(0, 1fr) 17rem; align-items: start; }
      }
      /* on a telephone, the grid is longer than the screen: what one chooses there comes first */
      @media (max-width: 699px) { .stage { display: grid; } .heads, .of-grid { order: 1; }
        .map { display: none; }
        .strongest button { padding: .1rem .3rem; font-size: 13px; } }
    `;

    build() {
      const { texts, blocks, heads, link } = this.data;
      [this.looks, this.lookedAt] = link;
      this.search = 0;
      this.text = 0;
      this.unpacked = texts.map((text) => this.unpack(text));
      if (texts.length > 1) { // all begin alike, so their names are their ends
        const same = Math.min(...texts.slice(1).map((text) => text.same));
        const end = ({ tokens }) => (same ? "…" : "") + tokens.slice(Math.max(0, same - 1)).join("");
        this.choice("Sentence", texts.map(end), (text) => {
          this.text = text;
          this.looks = Math.min(this.looks, texts[text].tokens.length - 1);
          this.lookedAt = Math.min(this.lookedAt, this.looks);
          this.offer();
          this.draw();
        });
      }
      this.choice("Find a head:", SEARCHES.map(([name]) => name), (search) => {
        this.search = search;
        this.another.toggleAttribute("hidden", search > 0);
        this.toStrongest();
      });
      this.target = element("select", { onchange: () => {
        this.lookedAt = Number(this.target.value);
        this.toStrongest();
      } });
      this.another = element("label", {}, "looks at", this.target);
      this.controls.append(this.another);
      this.squares = range(blocks * heads).map((place) => element("div", { role: "option",
        id: `head-${place}`, onclick: () => this.choose(place) }));
      this.grid = element("div", { class: "grid", role: "listbox", tabindex: 0,
        style: `--heads: ${heads}`, "aria-label": "All heads, block by block",
        onkeydown: (event) => this.key(event) }, ...this.squares);
      this.strongest = element("div", { class: "strongest" });
      this.tokens = element("div", { class: "tokens", role: "group",
        "aria-label": "Tokens: choose the one that looks" });
      this.map = shape("svg", { class: "map", "aria-hidden": "true" });
      this.stage.className = "stage";
      this.most = element("span");
      this.stage.append(
        element("p", { class: "caption" }, "The strongest heads"), this.strongest,
        element("p", { class: "caption of-grid" }, `All ${blocks * heads} heads. The numbers 0 to `
          + `${blocks - 1} name the blocks, each of ${heads} heads. 0`,
        element("i", { class: "scale" }), this.most),
        element("div", { class: "heads" }, element("div", { class: "axis-blocks",
          "aria-hidden": "true" }, ...range(blocks).map((block) => element("span", {}, block))),
        this.grid),
        element("div", { class: "both" },
          element("div", {}, this.caption = element("p", { class: "caption" }), this.tokens,
            this.said), this.map));
      this.offer();
      this.chosen = 0;
      this.toStrongest();
    }

    // of a text all maps: (heads of all blocks, token, token up to itself)
    unpack({ tokens, same, rows }) {
      const { blocks, heads } = this.data;
      const levels = Uint8Array.from(atob(rows), (letter) => letter.charCodeAt(0));
      let place = 0;
      return range(blocks * heads).map((head) => tokens.map((_, i) =>
        i < same ? this.first[head][i] : range(i + 1).map(() => levels[place++] / STEPS)));
    }

    get first() { // what the other texts begin with, too
      return (this.firstMaps ??= this.unpack(this.data.texts[0]));
    }

    offer() { // the tokens that the chosen one may look at
      const { tokens } = this.data.texts[this.text];
      this.target.replaceChildren(...tokens.slice(0, this.looks + 1).map((token, value) =>
        element("option", { value, selected: value === this.lookedAt }, token.trim() || "␣")));
      this.chips = tokens.map((token, i) => {
        const share = element("span");
        const chip = element("button", { type: "button", onclick: () => {
          this.looks = i;
          this.lookedAt = Math.min(this.lookedAt, i);
          this.offer();
          this.draw();
          this.chips[i].focus();
        } }, element("span", {}, token.trim() || "␣"), share, element("i"));
        chip.share = share;
        return chip;
      });
      this.tokens.replaceChildren(...this.chips);
    }

    maps() { return this.unpacked[this.text]; }

    scores() {
      const [, score] = SEARCHES[this.search];
      return this.maps().map((map) => (score ? score(map) : map[this.looks][this.lookedAt]));
    }

    ranked() {
      const scores = this.scores();
      return range(scores.length).sort((a, b) => scores[b] - scores[a]);
    }

    toStrongest() {
      this.choose(this.ranked()[0]);
    }

    choose(head) {
      this.chosen = head;
      this.draw();
    }

    key(event) {
      const to = towards(event.key, this.squares[this.chosen], this.squares);
      const edge = { Home: 0, End: this.squares.length - 1 }[event.key];
      if (!to && edge === undefined) return;
      event.preventDefault();
      this.choose(edge ?? this.squares.indexOf(to));
    }

    name(place) {
      const { heads } = this.data;
      return `block ${Math.floor(place / heads)}, head ${place % heads}`;
    }

    paint() {
      const { tokens } = this.data.texts[this.text];
      const scores = this.scores();
      const order = this.ranked();
      const most = scores[order[0]];
      this.most.textContent = percent(most);
      this.squares.forEach((square, place) => {
        square.style.setProperty("--share", most ? scores[place] / most : 0);
        square.setAttribute("aria-selected", place === this.chosen);
        square.setAttribute("aria-label", `${this.name(place)}, ${percent(scores[place])}`);
        square.title = `${this.name(place)}: ${percent(scores[place])}`;
      });
      this.grid.setAttribute("aria-activedescendant", `head-${this.chosen}`);
      const had = [...this.strongest.children].indexOf(this.shadowRoot.activeElement);
      this.strongest.replaceChildren(...order.slice(0, STRONGEST).map((place) =>
        element("button", { type: "button", "aria-pressed": String(place === this.chosen),
          onclick: () => this.choose(place) }, `${this.name(place)}: ${percent(scores[place])}`)));
      if (had >= 0) this.strongest.children[had].focus();
      const map = this.maps()[this.chosen];
      const row = map[this.looks];
      this.caption.textContent =
        `B${this.name(this.chosen).slice(1)}: press a word to see where it looks`;
      this.chips.forEach((chip, i) => {
        chip.setAttribute("aria-pressed", String(i === this.looks));
        chip.classList.toggle("later", i > this.looks);
        chip.style.setProperty("--share", row[i] ?? 0);
        chip.share.textContent = i > this.looks ? "–" : percent(row[i]);
      });
      this.drawMap(map);
      const rank = order.indexOf(this.chosen) + 1;
      const name = this.name(this.chosen);
      const score = percent(scores[this.chosen]);
      const [looks, lookedAt] = [this.looks, this.lookedAt].map((i) => tokens[i].trim());
      this.say((this.search === 0
        ? `In ${name}, “${looks}” gives “${lookedAt}” ${score} of its weight. `
        : `B${name.slice(1)}, has ${score} for “${SEARCHES[this.search][0]}”. `)
        + `That is number ${rank} of ${scores.length}. The head in the middle of the list has `
        + `${percent(scores[order[Math.floor(scores.length / 2)]])}.`);
    }

    // rows are the tokens that look, columns those that they look at
    drawMap(map) {
      const size = map.length;
      const names = this.data.texts[this.text].tokens.map((token) => token.trim() || "␣");
      this.map.setAttribute("viewBox", `-4.6 -3.9 ${size + 4.7} ${size + 4}`);
      this.map.replaceChildren(
        ...map.flatMap((row, i) => row.map((weight, j) => shape("rect", { class: "on", x: j + 0.04,
          y: i + 0.04, width: 0.92, height: 0.92, opacity: 0.06 + 0.94 * weight }))),
        ...names.flatMap((name, i) => [
          shape("text", { x: -0.25, y: i + 0.72, class: i === this.looks ? "chosen" : null }, name),
          shape("text", { class: "top", transform: `translate(${i + 0.72} -.25) rotate(-90)` }, name)]),
        shape("rect", { class: "row", x: 0, y: this.looks, width: this.looks + 1, height: 1 }));
    }

    numbers() {
      const { tokens } = this.data.texts[this.text];
      return [["", ...tokens], ...this.maps()[this.chosen].map((row, i) =>
        [tokens[i], ...tokens.map((_, j) => (j <= i ? fixed(row[j], 3) : ""))])];
    }
  };
});
