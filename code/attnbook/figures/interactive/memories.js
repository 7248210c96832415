// Four lines and flash attention, tile by tile: what moves between a fast and a slow memory.
attnbook.define("memories", ({ Interactive, element, shape, range, percent, still }) => {
  const PACE = 140; // milliseconds for a step while it plays
  const WAYS = ["four lines", "flash attention"];
  const LINES = ["line 1: query @ key.mT", "lines 2, 3: softmax(scores / √d)",
    "line 4: weights @ value"];
  const PARTS = { Q: "query", K: "key", V: "value", out: "value", scores: "weights",
    weights: "weights" }; // and their colours
  const SQUARES = new Set(["scores", "weights"]); // of all tokens; flash attention stores none
  const LEFT = { Q: 10, K: 32, V: 54, out: 80, scores: 106, weights: 106 };
  const [WIDE, LONG, APART, FAST, LOW] = [222, 96, 8, 48, 66]; // of a panel, of all tokens; levels
  const TOP = LOW + 9; // of what is in the slow memory; names are where no square passes
  const HIGH = 24; // of what is in the fast memory
  // what the fast memory holds for a tile, with its middle there, in each line or in all of them
  const HOLDS = [{ Q: 110, K: 155, scores: 198 }, { scores: 145, weights: 193 },
    { weights: 110, V: 155, out: 198 }];
  const HOLDS_ALL = { Q: 94, K: 118, V: 142, scores: 172, out: 205 };

  return class Memories extends Interactive {
    static TABLE = "What has moved";
    static LINES = 3;
    static STYLE = `
      .room { container-type: inline-size; }
      .controls button { min-width: 4.4rem; }
      .bars .name { color: var(--ink); font-weight: 600; }
      .bars li > :nth-child(2) { background: linear-gradient(var(--line) 0 0) 0 / calc(100% * var(--end))
        16px no-repeat; background-position-y: center; }
      .bars .bar { margin: 4px 0; min-width: 0; background: var(--ink); }
      @container (max-width: 34rem) { .bars, .bars li { display: grid; grid-template-columns: 1fr auto; }
        .bars li, .bars li > :nth-child(2) { grid-column: 1 / -1; } .bars li > :nth-child(2) { order: 1; } }
      .panels { display: grid; gap: 1rem 1.4rem; justify-content: center; margin-top: .9rem; }
      @container (min-width: 34rem) { .panels { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
      .panels > * { width: 100%; max-width: 17rem; }
      .line { margin: 0 0 .25rem; color: var(--soft); font-size: 13px; white-space: nowrap; }
      .line b { color: var(--ink); font-size: 15px; }
      .panels text { font-size: 10.6px; fill: var(--ink); }
      .panels .name { font-weight: 600; fill: var(--of); }
      .box { fill: var(--tint); stroke: var(--soft); }
      .box.fast { stroke: var(--other); stroke-width: 1.5; }
      .frame-of { fill: none; stroke: var(--soft); stroke-width: .6; stroke-dasharray: 2 2; }
      .block { fill: var(--of); stroke: var(--tint); stroke-width: .8; opacity: .35; }
      .block.empty { opacity: 0; }
      .block.now, .held, .flies { opacity: 1; }
      .held, .flies { fill: var(--of); }
      .panels .none { fill: var(--soft); }
    `;

    build() {
      const { blocks } = this.data;
      this.size = LONG / blocks; // of a block
      this.steps = blocks ** 2;
      this.stepper({ first: 1, last: () => this.steps, next: "next tile →", pace: PACE });
      this.totals = this.bars(WAYS);
      this.ends = WAYS.map((_, way) => this.moved(way, this.steps));
      WAYS.forEach((_, way) => this.totals.list.children[way].style
        .setProperty("--end", this.ends[way] / Math.max(...this.ends)));
      this.panels = WAYS.map((name, way) => this.panel(name, way));
      this.stage.className = "room";
      this.stage.append(this.totals.list,
        element("div", { class: "panels" }, ...this.panels.map(({ node }) => node)));
      this.onceByItself(() => this.play());
    }

    // What moves for one tile, up into the fast memory or down: a part and its block, or a row of
    // blocks and a column. The four lines go through all tiles three times.
    moves(way, visit) {
      const { blocks } = this.data;
      const [line, tile] = [Math.floor(visit / this.steps), visit % this.steps];
      const [i, j] = [Math.floor(tile / blocks), tile % blocks];
      const up = (part, ...at) => ({ part, at, up: true });
      const down = (part, ...at) => ({ part, at, up: false });
      const [query, written] = [j === 0 && up("Q", i), j === blocks - 1 && down("out", i)];
      return (way ? [query, up("K", j), up("V", j), written]
        : line === 0 ? [query, i === 0 && up("K", j), down("scores", i, j)]
        : line === 1 ? [up("scores", i, j), down("weights", i, j)]
        : [up("weights", i, j), i === 0 && up("V", j), written]).filter(Boolean);
    }

    // the first and the last of the tiles of a step, counted over all lines
    visits(way, step) {
      return way ? [step - 1, step - 1] : [3 * step - 3, 3 * step - 1];
    }

    // of all steps so far; by parts, or all together
    moved(way, step, part = null) {
      const all = range(this.visits(way, step)[1] + 1).flatMap((visit) => this.moves(way, visit));
      return this.data.bytes * all.filter((move) => !part || move.part === part).length;
    }

    panel(name, way) {
      const { blocks } = this.data;
      const parts = Object.keys(PARTS).filter((part) => !way || !SQUARES.has(part));
      const of = (part) => `--of: var(--${PARTS[part]})`;
      const square = (part, x, y, kind) => shape("rect", { class: kind, style: of(part), x, y,
        width: this.size, height: this.size });
      const text = (x, y, words, more = {}) => shape("text", { x, y, ...more }, words);
      const stored = Object.fromEntries(parts.map((part) => [part,
        range(SQUARES.has(part) ? blocks ** 2 : blocks).map((n) => {
          const [x, y] = this.place(part, SQUARES.has(part) ? [Math.floor(n / blocks), n % blocks] : [n]);
          return square(part, x, y, "block");
        })]));
      const held = Object.fromEntries(Object.keys(PARTS).map((part) =>
        [part, shape("g", {},
          square(part, -this.size / 2, HIGH, "held"), text(0, HIGH - 9, part,
            { class: "name", style: of(part), "text-anchor": "middle" }))]));
      const [line, ways, flight] = [element("span"), shape("g"), shape("g")];
      const end = LOW + 2 * LONG + APART + 18;
      const nameOf = (part) => { // below a column, or beside a square
        const [x, y] = SQUARES.has(part) ? [LEFT[part] + LONG + 5, this.place(part, [0])[1] + LONG / 2]
          : [LEFT[part] + this.size / 2, TOP + LONG + 13];
        return text(0, 0, part, { class: "name", style: of(part), "text-anchor": "middle",
          transform: `translate(${x}, ${y})${SQUARES.has(part) ? " rotate(90)" : ""}` });
      };
      const svg = shape("svg", { viewBox: `-1 -1 ${WIDE + 2} ${end + 2}`, "aria-hidden": "true" },
        shape("rect", { class: "box fast", width: WIDE, height: FAST, rx: 4 }),
        text(8, HIGH - 9, "fast memory"),
        shape("rect", { class: "box", y: LOW, width: WIDE, height: end - LOW, rx: 4 }),
        text(8, end - 8, "slow memory"),
        ...parts.map(nameOf),
        ...parts.map((part) => shape("rect", { class: "frame-of", x: LEFT[part], y: this.place(part, [0])[1],
          height: LONG, width: SQUARES.has(part) ? LONG : this.size })),
        ...(way ? ["no scores,", "no weights"].map((words, n) =>
          text(LEFT.scores + LONG / 2, TOP + LONG + 13 * n, words, { class: "none", "text-anchor": "middle" })) : []),
        ...Object.values(stored).flat(), ...Object.values(held), ways, flight);
      const node = element("div", {}, element("p", { class: "line" }, element("b", {}, name), " ", line), svg);
      return { node, line, stored, held, ways, flight, square };
    }

    held(way, visit) {
      return way ? HOLDS_ALL : HOLDS[Math.floor(visit / this.steps)];
    }

    // where a block is in the slow memory
    place(part, at) {
      const [i, j] = at.length > 1 ? at : [at[0], 0];
      return [LEFT[part] + j * this.size, TOP + i * this.size + (part === "weights" ? LONG + APART : 0)];
    }

    paint() {
      const now = WAYS.map((_, way) => this.moved(way, this.step));
      const kB = (bytes) => Math.round(bytes / 1000).toLocaleString("en");
      this.totals.show(now.map((bytes) => bytes / Math.max(...this.ends)),
        now.map((bytes, way) => `${kB(bytes)} of ${kB(this.ends[way])} kB moved`));
      this.panels.forEach((panel, way) => this.paintPanel(panel, way));
      if (this.playing) { // it is said when it stops
        this.say("Both do the same arithmetic in each step.");
        return;
      }
      const moved = `the four lines have moved ${kB(now[0])} kB, and flash attention ${kB(now[1])} kB`;
      this.say(this.step < this.steps ? `After step ${this.step} of ${this.steps}, ${moved}.`
        : `At the end, ${moved} (${percent(now[1] / now[0])}), for the same arithmetic.`);
    }

    paintPanel({ line, stored, held, ways, flight, square }, way) {
      const { blocks } = this.data;
      const [first, last] = this.visits(way, this.step);
      const all = range(last + 1).map((visit) => this.moves(way, visit));
      const moves = all.slice(first).flatMap((some, n) =>
        some.map((move) => ({ ...move, slot: this.held(way, first + n)[move.part] })));
      const down = new Set(all.flat().filter(({ up }) => !up).map(({ part, at }) => `${part} ${at}`));
      const at = Math.floor(last / this.steps); // the line that the last tile is in
      const tile = last % this.steps;
      const [row, column] = [Math.floor(tile / blocks), tile % blocks];
      line.textContent = way ? `all lines: tile ${this.step} of ${this.steps}` : LINES[at];
      const used = this.held(way, last);
      const work = { Q: [row], K: [column], V: [column], out: [row] };
      for (const [part, squares] of Object.entries(stored))
        squares.forEach((node, n) => {
          const here = SQUARES.has(part) ? [Math.floor(n / blocks), n % blocks] : [n];
          const active = moves.some((move) => move.part === part && `${move.at}` === `${here}`)
            || (part in used && part !== "out" && `${work[part]}` === `${here}`);
          const made = SQUARES.has(part) || part === "out";
          node.setAttribute("class", `block ${active ? "now" : ""} `
            + `${made && !down.has(`${part} ${here}`) ? "empty" : ""}`);
        });
      for (const [part, node] of Object.entries(held)) {
        node.style.display = part in used ? "" : "none";
        node.setAttribute("transform", `translate(${used[part] ?? 0})`);
      }
      const words = [true, false].map((up) => {
        const parts = moves.filter((move) => move.up === up).map(({ part }) => part);
        return [...new Set(parts)].map((part) => {
          const count = parts.filter((other) => other === part).length;
          return count > 1 ? `${count} × ${part}` : part;
        }).join(", ");
      });
      ways.replaceChildren(...words.flatMap((text, n) => (text
        ? [shape("text", { x: 8, y: HIGH + 5 + 12 * n }, `${n ? "↓" : "↑"} ${text}`)] : [])));
      flight.replaceChildren();
      if (still()) return;
      for (const { part, at: block, up, slot } of moves) {
        const [low, high] = [this.place(part, block), [slot - this.size / 2, HIGH]];
        const [from, to] = (up ? [low, high] : [high, low]).map(([x, y]) => ({ transform: `translate(${x}px, ${y}px)` }));
        const node = square(part, 0, 0, "flies");
        flight.append(node);
        node.animate([from, to], { duration: this.playing ? PACE : 400, fill: "forwards" });
      }
    }

    numbers() {
      return [["kB", ...WAYS], ...Object.keys(PARTS).map((part) => [part, ...WAYS.map((_, way) =>
        (this.moved(way, this.step, part) / 1000).toFixed(0))])];
    }
  };
});
