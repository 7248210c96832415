// What one head of a language model looks at in a sentence, and all other heads as a map to search.
attnbook.define("all-heads", (shared) => {
  const { Interactive, element, shape, range, sum, fixed, towards, ribbons, percent, boxesIn } = shared;
  const STEPS = 255; // a weight is stored as a byte
  const STRONGEST = 5;
  const LEAST = 0.1; // what has less stays empty in the map
  const FAINT = 0.004; // weights that are not drawn
  const BROAD = 60; // pixels: a word counts as wide as this for its ribbon

  // what a head can be searched for: a number from 0 to 1, of its map and the two chosen words
  const over = (map, first, score) =>
    sum(map.slice(first).map((row, i) => score(row, i + first))) / (map.length - first);
  const SEARCHES = [
    ["the blue word looks at", "", null],
    ["each word looks at the word before it", "from each word to the word before it",
      (map) => over(map, 1, (row, i) => row[i - 1])],
    ["each word looks at itself", "from each word to itself", (map) => over(map, 1, (row, i) => row[i])],
    ["each word looks at the first word", "from each word to the first word",
      (map) => over(map, 1, (row) => row[0])],
    // entropy, as a share of the largest that a row can have
    ["each word looks at all words evenly", "evenly at all words", (map) => over(map, 1, (row, i) =>
      -sum(row.map((weight) => (weight ? weight * Math.log(weight) : 0))) / Math.log(i + 1))],
  ];

  return class AllHeads extends Interactive {
    static TABLE = "The weights of this head";
    static STYLE = `
      :host { container-type: inline-size; }
      .said { min-height: 1.4em; margin: .2rem 0; font-size: 1.1rem; font-weight: 600; }
      .does { margin: .2rem 0 .7rem; }
      .looks { position: relative; display: grid; gap: 7rem .3rem; justify-content: space-between;
        grid-template-columns: repeat(var(--words), auto); }
      .looks svg { position: absolute; inset: 0; height: 100%; pointer-events: none; }
      .looks path { fill: color-mix(in srgb, var(--weights) 85%, var(--paper)); stroke: var(--paper);
        stroke-width: 2.5; paint-order: stroke; }
      .tokens { display: contents; }
      .looks :is(button, .looker) { grid-area: 1 / calc(var(--i) + 1); min-width: 3rem;
        box-sizing: border-box; padding: .15rem .45rem; line-height: 1.3; font-weight: 600;
        text-align: center; border: 1.5px solid var(--soft); border-radius: .5rem; cursor: pointer; }
      .looks button span { display: block; }
      .looks button span + span { min-height: 1.3em; font-size: 13px; color: var(--weights);
        font-variant-numeric: tabular-nums; }
      .looks .looker { grid-row: 2; cursor: auto; }
      .looks :is(.looker, [aria-pressed="true"]) { border-color: var(--query); color: var(--query);
        box-shadow: inset 0 0 0 1px var(--query); }
      .looks .later { font-weight: 400; border-style: dashed; border-color: var(--soft); }
      .looks .later span { color: var(--soft); }
      .unread { grid-area: 1 / var(--from) / auto / -1; align-self: end; margin-bottom: -1.9rem;
        text-align: center; }
      .added { grid-area: 2 / 1 / auto / var(--from); margin-right: 3.6rem; text-align: right; }
      :is(.unread, .added) { contain: inline-size; color: var(--soft); font-size: 14px; }
      .caption { margin: 1.1rem 0 .3rem; color: var(--soft); font-size: 14px; }
      .caption b { color: var(--ink); }
      .scale { white-space: nowrap; }
      .scale i { display: inline-block; width: 5rem; height: .7em; margin: 0 .3em;
        background: linear-gradient(to right, color-mix(in srgb, var(--weights) var(--least), var(--paper)),
          var(--weights)); }
      .heads { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 2px .4rem; }
      .way, .axis { color: var(--soft); font-size: 12px; white-space: nowrap; font-variant-numeric: tabular-nums; }
      .way { grid-column: 2; display: flex; align-items: center; gap: .4rem; color: var(--ink); }
      .way i { flex: 1; height: 1.5px; margin-right: .5rem; background: var(--soft); position: relative; }
      .way i::after { content: ""; position: absolute; inset: -4px -6px auto auto; border: 5px solid transparent;
        border-left: 7px solid var(--soft); border-right: 0; }
      .axis { display: grid; text-align: center; } .axis > * { width: 0; justify-self: center; display: flex; justify-content: center; }
      .axis.down { align-items: center; } .axis.down > * { width: auto; justify-self: end; }
      .axis, .grid { gap: 2px; grid-auto-flow: column; grid-auto-columns: minmax(0, 1fr); }
      .axis.down { grid-auto-flow: row; min-width: 3.1rem; } .axis .now { color: var(--ink); font-weight: 700; }
      .grid { display: grid; grid-template-rows: repeat(var(--heads), 19px); outline-offset: 3px;
        touch-action: pan-y; user-select: none; -webkit-user-select: none; }
      .grid > * { border-radius: 2px; cursor: pointer; position: relative; overflow: hidden;
        box-shadow: inset 0 0 0 1px color-mix(in srgb, var(--soft) 20%, transparent); }
      .grid > *::before { content: ""; position: absolute; inset: 0; background: var(--weights);
        opacity: var(--share); }
      .grid > [aria-selected="true"] { outline: 3px solid var(--ink); z-index: 1; overflow: visible; }
      .explore { margin-top: .9rem; }
      .explore > summary { color: var(--ink); font-weight: 600; }
      .both { display: grid; gap: .4rem 1.2rem; }
      .both .caption { margin-top: 0; }
      .strongest { display: grid; grid-template-columns: repeat(auto-fill, minmax(11.8rem, 1fr));
        gap: .4rem; margin: .1rem 0 .5rem; }
      .strongest button { border-color: var(--line); font-size: 14px; white-space: nowrap; }
      .strongest button[aria-pressed="true"] { border: 2px solid var(--ink); font-weight: 600; }
      .explore .controls { margin: .6rem 0 1rem; }
      .map { max-width: 19rem; }
      .map .on { fill: var(--weights); }
      .map text { font-size: .62px; fill: var(--soft); text-anchor: end; }
      .map text.top { text-anchor: start; }
      .map .chosen { fill: var(--query); font-weight: 600; }
      .map .row { fill: none; stroke: var(--query); stroke-width: .12; }
      @container (min-width: 52rem) {
        .said { font-size: 1.25rem; }
      }
      @container (min-width: 42rem) {
        .both { grid-template-columns: minmax(0, 1fr) 17rem; align-items: start; }
        .all { display: flex; flex-direction: column; }
        .head { display: contents; }
        :is(.said, .does) { order: -2; }
        .looks { order: -1; }
      }
      /* on a telephone, words come one below the other */
      @container (max-width: 41.99rem) {
        .map, .added { display: none; }
        .said { min-height: 2.8em; }
        .looks { grid-template-columns: auto auto; gap: .1rem 5.5rem; }
        .looks :is(button, .looker) { grid-area: calc(var(--i) + 1) / 1; align-self: center; }
        .looks button { display: flex; justify-content: space-between; align-items: center;
          gap: .8rem; min-height: 1.6rem; padding-block: 0; }
        .looks .looker { grid-column: 2; }
        .unread { grid-area: var(--from) / 2; margin: 0 0 0 -4.9rem; text-align: left; contain: none; }
        .grid { grid-template-rows: repeat(var(--heads), 24px); column-gap: 1px; }
        .across { column-gap: 1px; } .across > :not(:nth-child(5n + 1), .now), .across > :is(:has(+ .now), .now + *) { visibility: hidden; }
        .strongest { grid-template-columns: repeat(2, 1fr); }
        .strongest button { padding: .1rem .2rem; font-size: 12px; }
      }
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
      this.choice("Find heads in which", SEARCHES.map(([name]) => name), (search) => {
        this.search = search;
        this.target.toggleAttribute("hidden", search > 0);
        this.toStrongest();
      });
      this.target = element("select", { "aria-label": "the word it looks at", onchange: () => {
        this.lookedAt = Number(this.target.value);
        this.toStrongest();
      } });
      this.controls.append(this.target);
      this.tokens = element("div", { class: "tokens", role: "group",
        "aria-label": "Words: choose the one that looks" });
      this.looker = element("span", { class: "looker", "aria-hidden": "true" });
      this.ribbons = shape("svg", { "aria-hidden": "true" });
      this.added = element("span", { class: "added" }, "this mix is added to");
      this.unread = element("span", { class: "unread" }, "not read yet");
      this.words = element("div", { class: "looks" }, this.ribbons, this.tokens, this.added, this.looker,
        this.unread);
      this.squares = range(blocks * heads).map((place) => element("div", { role: "option",
        id: `head-${place}`, onclick: () => this.choose(place) }));
      this.grid = element("div", { class: "grid", role: "listbox", tabindex: 0,
        "aria-label": "All heads, block by block",
        onkeydown: (event) => this.key(event),
        onpointermove: (event) => event.buttons && this.drag(event) }, ...this.squares);
      this.strongest = element("div", { class: "strongest" });
      this.rank = element("p", { class: "caption" });
      this.map = shape("svg", { class: "map", "aria-hidden": "true" });
      this.caption = element("p", { class: "caption" });
      this.does = element("p", { class: "does" }, "A head adds to each word a mix of the words so "
        + "far. A wider ribbon brings more of its word.");
      this.stage.style.setProperty("--heads", heads);
      this.stage.append(element("div", { class: "all" }, element("div", { class: "head" }, this.said, this.words),
        this.does, this.caption, this.heads(blocks, heads)),
      element("details", { class: "explore" }, element("summary", {}, "Choose other words, or see all weights of a head"),
          this.controls, element("div", { class: "both" }, element("div", {},
            element("p", { class: "caption" }, "The strongest heads"), this.strongest, this.rank),
          this.map), this.details));
      this.offer();
      this.chosen = 0;
      this.toStrongest();
      this.whenResized(this.words, () => this.join());
    }

    // the map with numbers on both sides, and the way of a text through the blocks
    heads(blocks, heads) {
      const axis = (kind, ...texts) => element("div", { class: `axis ${kind}`, "aria-hidden": "true" },
        ...texts.map((text) => element("span", {}, text)));
      this.sides = [axis("across", ...range(blocks)), axis("down", ...range(heads).map((head) => `head ${head}`))];
      const [top, left] = this.sides;
      return element("div", { class: "heads" },
        element("div", { class: "way", "aria-hidden": "true" }, "text in", element("i"), "next word out"),
        axis("down", "block"), top, left, this.grid);
    }

    drag({ clientX, clientY }) {
      const place = this.squares.indexOf(this.shadowRoot.elementFromPoint(clientX, clientY));
      if (place >= 0 && place !== this.chosen) this.choose(place);
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

    offer() { // the words that the chosen one may look at
      const { tokens } = this.data.texts[this.text];
      const names = tokens.map((token) => token.trim() || "␣");
      this.target.replaceChildren(...names.slice(0, this.looks + 1).map((name, value) =>
        element("option", { value, selected: value === this.lookedAt }, name)));
      this.words.style.setProperty("--words", tokens.length);
      this.chips = names.map((name, i) => element("button", { type: "button", style: `--i: ${i}`,
        onclick: () => {
          this.looks = i;
          this.lookedAt = Math.min(this.lookedAt, i);
          this.offer();
          this.draw();
          this.chips[i].focus();
        } }, element("span", {}, name), element("span")));
      this.looker.style.setProperty("--i", this.looks);
      this.looker.textContent = names[this.looks];
      this.words.style.setProperty("--from", this.looks + 2);
      this.unread.hidden = this.looks === tokens.length - 1;
      this.added.hidden = this.looks < 3; // no room on its left
      this.tokens.replaceChildren(...this.chips);
    }

    maps() { return this.unpacked[this.text]; }

    scores() {
      const [, , score] = SEARCHES[this.search];
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
      const { blocks, heads } = this.data;
      const { tokens } = this.data.texts[this.text];
      const scores = this.scores();
      const order = this.ranked();
      const darkest = Math.ceil(20 * scores[order[0]]) / 20; // the scale ends above all of them
      this.squares.forEach((square, place) => {
        square.style.setProperty("--share", scores[place] < LEAST ? 0 : scores[place] / darkest);
        square.setAttribute("aria-selected", place === this.chosen);
        square.setAttribute("aria-label", `${this.name(place)}, ${percent(scores[place])}`);
        square.title = `${this.name(place)}: ${percent(scores[place])}`;
      });
      this.grid.setAttribute("aria-activedescendant", `head-${this.chosen}`);
      [Math.floor(this.chosen / heads), this.chosen % heads].forEach((place, side) =>
        [...this.sides[side].children].forEach((name, i) => name.classList.toggle("now", i === place)));
      const had = [...this.strongest.children].indexOf(this.shadowRoot.activeElement);
      this.strongest.replaceChildren(...order.slice(0, STRONGEST).map((place) =>
        element("button", { type: "button", "aria-pressed": String(place === this.chosen),
          onclick: () => this.choose(place) }, `${this.name(place)}: ${percent(scores[place])}`)));
      if (had >= 0) this.strongest.children[had].focus();
      const map = this.maps()[this.chosen];
      const row = map[this.looks];
      this.chips.forEach((chip, i) => {
        chip.setAttribute("aria-pressed", String(i === this.looks));
        chip.classList.toggle("later", i > this.looks);
        chip.lastChild.textContent = i > this.looks ? "–" : percent(row[i]);
      });
      this.join();
      this.drawMap(map);
      const [looks, lookedAt] = [this.looks, this.lookedAt].map((i) => tokens[i].trim());
      const what = SEARCHES[this.search][1] || `from “${looks}” to “${lookedAt}”`;
      const [rank, last] = [1, -1].map((sign) => 1 + scores.filter((score) => sign * (score - scores[this.chosen]) > 0).length);
      this.say(rank === last ? `All ${scores.length} heads look alike ${what}: ${percent(scores[this.chosen])}` : rank === 1 ? `The head that looks most ${what}, of ${scores.length}: `
        + percent(scores[this.chosen])
        : `Number ${rank} of ${scores.length} in looking ${what}: ${percent(scores[this.chosen])}`);
      this.caption.replaceChildren(
        element("b", {}, `And the other ${scores.length - 1} heads? `),
        `The text passes through ${blocks} blocks, each with ${heads} heads. In `
        + `${scores.filter((score) => score >= LEAST).length} heads, this weight is ${percent(LEAST)} or more. `,
        element("span", { class: "scale" }, percent(LEAST),
          element("i", { style: `--least: ${100 * LEAST / darkest}%` }), percent(darkest)));
      this.rank.textContent = `${this.name(this.chosen)[0].toUpperCase()}${this.name(this.chosen).slice(1)}`
        + ` is number ${rank} of ${scores.length}. The head in the middle of the list has `
        + `${percent(scores[order[Math.floor(scores.length / 2)]])}.`;
    }

    // ribbons from the chosen word to the words that it looks at
    join() {
      const turned = getComputedStyle(this.chips[0]).display === "flex"; // on a telephone
      const at = boxesIn(this.words);
      const place = (node) => {
        const { x, height, left, right, top, bottom } = at(node);
        return turned ? { x: (top + bottom) / 2, width: height, near: left, far: right }
          : { x, width: BROAD, near: top, far: bottom };
      };
      const looker = place(this.looker);
      const row = this.maps()[this.chosen][this.looks];
      const seen = this.chips.slice(0, row.length).map(place).map((chip) => ({ ...chip, y: chip.far }));
      this.ribbons.replaceChildren(...ribbons([{ ...looker, y: looker.near }], seen, [row], FAINT)
        .map(({ d }) => shape("path", { d, transform: turned && "matrix(0 1 1 0 0 0)" })));
    }

    // rows are the words that look, columns those that they look at
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
