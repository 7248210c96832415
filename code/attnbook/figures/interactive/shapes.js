// All matrices of one head of attention, with a square for each number. A product is in the corner
// between its two factors, so that a word has one row from left to right.
attnbook.define("shapes", (shared) => {
  const { Interactive, element, shape, range, sum, softmax, fixed, still } = shared;
  const { STYLE, LINE, TURN, PASS, passed, turn, times, text, written, shades, product, strips,
    passing } = attnbook.matrices(shared);
  // colour, rows, columns, and what makes it: two factors, or another matrix
  const MATRICES = {
    x: ["soft", "L", "d_model"],
    W_Q: ["query", "d_model", "d_k"], W_K: ["key", "d_model", "d_k"], W_V: ["value", "d_model", "d_v"],
    Q: ["query", "L", "d_k", "x", "W_Q"], K: ["key", "L", "d_k", "x", "W_K"],
    V: ["value", "L", "d_v", "x", "W_V"],
    "Q again": ["query", "L", "d_k", "Q"], Kᵀ: ["key", "d_k", "L", "K"], "V again": ["value", "L", "d_v", "V"],
    scores: ["soft", "L", "L", "Q again", "Kᵀ"], weights: ["weights", "L", "L", "scores"],
    output: ["value", "L", "d_v", "weights", "V again"],
  };
  const NAMES = Object.keys(MATRICES);
  const ABOVE = ["W_Q", "W_K", "W_V", "Kᵀ", "V again"];
  const FIRST = [["x"], ["Q", "W_Q"], ["K", "W_K"], ["V", "W_V"]]; // columns of the two halves
  const SECOND = [["Q again"], ["scores", "Kᵀ"], ["weights"], ["output", "V again"]];
  const STAGES = [["Q", "K", "V"], ["Q again", "Kᵀ", "V again"], ["scores"], ["weights"], ["output"]];
  const COPIES = 1; // the stage that only moves numbers
  const PACE = [6400, 1400, 3600, 1300, 3600]; // of the stages, in milliseconds
  const [GAP, BESIDE, HEAD, FOOT] = [10, 14, 48, 36];
  const stageOf = (name) => STAGES.findIndex((names) => names.includes(name));
  const plain = (name) => name.replace(" again", "");

  return class Shapes extends Interactive {
    static LINES = 5;
    static STYLE = `${STYLE}
      @media (min-width: 600.01px) and (max-width: 900px) { .said { min-height: 4.2em; } }
      label > output { min-width: 1.2em; }
      input[type="range"] { width: 8rem; }
      .controls button { min-width: 3.4rem; }
      .matrix { cursor: pointer; outline: none; }
      .matrix .cell { stroke: var(--paper); }
      .matrix .none { fill: var(--tint); }
      .numbers { pointer-events: none; }
      .matrix .flies { fill: var(--paper); }
      .matrix .hit { opacity: 0; }
      .matrix .edge, .matrix .old { fill: none; stroke: var(--of); }
      .matrix.part .edge { stroke-width: 2.5; }
      .matrix .old { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 4 3; }
      .matrix:focus-visible .edge { stroke: var(--ink); stroke-width: 3.5; }
      .matrix .name { fill: var(--of); font-weight: 700; font-size: 15px; }
      .letter { font-style: italic; fill: var(--ink); paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
      .asks { font-weight: 700; fill: var(--ink); }
      .same { fill: var(--tint); stroke: var(--soft); stroke-dasharray: 2 3; }
      .same.now { fill: var(--hover); stroke: var(--ink); stroke-dasharray: none; }
      .to { stroke: var(--soft); stroke-width: 1.5; fill: none; }
    `;

    build() {
      const { tokens, most, first } = this.data;
      this.tokens = tokens.map((token) => token.replace(/_(\d)$/, (_, index) => "₀₁₂₃₄₅₆₇₈₉"[index])); // a_2 with its index
      [this.chosen, this.entry] = ["scores", first.entry];
      this.sizes = this.now = { L: first.L, d: first.d }; // now has parts of a row, on the way
      this.player = this.button("play", () => (this.run ? this.stop() : this.play(STAGES)));
      if (first.L < tokens.length) for (const [label, name, max] of [["Words L", "L", tokens.length], ["Head size dₖ", "d", most]])
        this.slider(label, { min: 2 + (name === "L"), max, value: this.sizes[name] },
          (value) => this.resize({ ...this.sizes, [name]: value }));
      this.ground = shape("g", { "aria-hidden": "true" });
      this.blocks = Object.fromEntries(NAMES.map((name) => [name, shape("g", { class: "matrix",
        role: "button", tabindex: 0, style: `--of: var(--${MATRICES[name][0]})`,
        onclick: (event) => this.press(name, event), onkeydown: (event) => this.key(name, event) })]));
      const silent = (kind) => shape("g", { class: kind, "aria-hidden": "true" });
      [this.passes, this.close] = ["", ""].map(silent); // a row on its way, and one number
      this.digits = Object.fromEntries(NAMES.map((name) => [name, silent("numbers")]));
      this.svg = shape("svg", {}, this.ground, ...NAMES.flatMap((name) => [this.blocks[name], this.digits[name]]), this.passes, this.close);
      this.stage.append(this.svg);
      this.whenResized(this.stage, () => this.paint());
      this.onceByItself(() => this.play(STAGES));
    }

    // make the numbers of some stages, one after the other; all other numbers stay, or wait
    play(stages) {
      const ends = stages.reduce((all, names) => [...all, (all.at(-1) ?? 0) + PACE[stageOf(names[0])]], []);
      const start = performance.now();
      this.old = null;
      const move = (now) => {
        if (!this.isConnected) { // its cell runs again
          this.run = null;
          return;
        }
        const past = Math.max(0, now - start);
        const at = ends.findIndex((end) => past < end);
        const stage = at < 0 ? -1 : stageOf(stages[at][0]);
        this.run = at < 0 ? null : { stage, alone: stages.length === 1, part: 1 - (ends[at] - past) / PACE[stage] };
        if (this.run && !this.run.alone) this.chosen = this.lit();
        this.draw();
        if (this.run) this.frame = requestAnimationFrame(move);
      };
      move(start);
    }

    stop() {
      cancelAnimationFrame(this.frame);
      this.run = null;
      this.draw();
    }

    resize(sizes) {
      const from = this.now;
      [this.old, this.sizes] = [this.sizes, sizes];
      this.stop();
      this.glide((part) => {
        const between = (name) => (part < 1 ? from[name] + (sizes[name] - from[name]) * part : sizes[name]);
        this.now = { L: between("L"), d: between("d") };
        this.paint();
      });
    }

    // the numbers of a block are made again, and then the entry that was pressed is shown
    press(name, event) {
      const { left, top } = this.svg.getBoundingClientRect();
      const { x, y } = this.boxes[name];
      const at = [event.clientY - top - y, event.clientX - left - x].map((way) => Math.floor(way / this.side));
      this.choose(name, event.detail ? at : this.entry, true);
    }

    key(name, event) {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0],
        Enter: [0, 0], " ": [0, 0] }[event.key];
      if (!step) return;
      event.preventDefault();
      this.choose(name, this.entry.map((at, axis) => at + step[axis]), !step[0] && !step[1]);
    }

    choose(name, entry, replay) {
      [this.chosen, this.old] = [name, null];
      this.entry = this.within(name, entry);
      this.stop();
      if (replay && !still() && stageOf(name) >= 0) this.play([STAGES[stageOf(name)]]);
    }

    size(name, { L, d } = this.sizes) {
      const sizes = { L, d_model: this.data.x[0].length, d_k: d, d_v: Math.min(d, this.data.W_V[0].length) };
      return MATRICES[name].slice(1, 3).map((letter) => sizes[letter]);
    }

    within(name, entry) {
      const there = [this.values[name].length, this.values[name][0].length]; // on the way to another size
      return this.size(name).map((size, axis) => Math.max(0, Math.min(entry[axis], size - 1, there[axis] - 1)));
    }

    // all numbers, for some words and features of the head
    compute(L, d) {
      const all = { x: this.data.x.slice(0, L) };
      for (const role of "QKV") {
        all[`W_${role}`] = this.data[`W_${role}`].map((row) => row.slice(0, d));
        all[role] = all[`${role} again`] = times(all.x, all[`W_${role}`]);
      }
      all.Kᵀ = turn(all.K);
      all.scores = times(all.Q, all.Kᵀ).map((row) => row.map((score) => score / Math.sqrt(d)));
      all.weights = all.scores.map(softmax);
      return { ...all, output: times(all.weights, all.V) };
    }

    // where every matrix is, with squares of a size for which the largest fit; on a telephone, the
    // second half is below the first
    place() {
      const { tokens: { length: most }, x: [{ length: deep }], most: wide, W_V: [{ length: hand }] } = this.data;
      const width = this.stage.clientWidth || 640;
      this.wide = width >= 720;
      const [left, soft] = this.wide ? [58, 56] : [16, 34]; // for words, and for "softmax"
      const [first, second] = [left + GAP + 3 * BESIDE, 2 * GAP + soft + 20];
      this.side = Math.min(deep < 4 ? 28 : 20, this.wide ? (width - first - second) / (deep + 3 * wide + 2 * (most + hand))
        : (width - Math.max(first, second)) / Math.max(deep + 2 * wide + hand, 2 * most + wide + Math.max(hand, 2.8))); // "output" is wide
      this.boxes = {};
      const half = (columns, x, y) => columns.reduce((start, [name, above]) => {
        const [h, w, high] = [...this.size(name, this.now), above ? this.size(above, this.now)[0] : 0]
          .map((size) => size * this.side);
        const column = Math.max(w, name === "scores" ? 54 : 38); // as wide as its name
        const aside = ["Q again", "weights"].includes(name) ? column - w : 0; // beside what is on its right
        this.boxes[name] = { x: start + aside, y, w, h };
        if (above) this.boxes[above] = { x: start, y: y - GAP - high, w, h: high };
        return start + column + ({ x: GAP, "Q again": GAP, scores: soft, weights: GAP }[name] ?? BESIDE);
      }, x);
      const y = HEAD + (this.wide ? Math.max(deep, wide, most) : deep) * this.side + GAP;
      const low = this.wide ? y : y + FOOT + HEAD + (most + Math.max(most, wide)) * this.side + GAP;
      const end = half(FIRST, left, y);
      const last = half(SECOND, this.wide ? end + 20 : 20, low);
      if (this.wide) for (const box of Object.values(this.boxes)) box.x += (width + BESIDE - last) / 2;
      const under = low + most * this.side + FOOT + 12;
      const height = under + (this.wide ? 3 : 4) * LINE; // a row, a column, their products, and the sum
      this.close.setAttribute("transform", `translate(0 ${under})`);
      this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.svg.setAttribute("height", height);
    }

    // the matrix that is made now, or the chosen one
    lit() {
      if (!this.run || (this.run.alone && this.run.stage)) return this.chosen;
      const names = STAGES[this.run.stage];
      return names.findLast((name) => MATRICES[name][4] && this.past(name) >= 0) ?? names[0];
    }

    // the entry of a matrix that is made now, or the chosen one
    at(name) {
      const [i, j] = this.within(name, this.entry);
      if (stageOf(name) !== this.run?.stage || name === "weights") return [i, j];
      return [i, Math.max(0, Math.min(this.size(name)[1] - 1, Math.floor(this.past(name))))];
    }

    // how many columns of a matrix the row of the lit word has passed
    past(name) {
      const names = STAGES[this.run.stage];
      const wide = names.map((each) => this.size(each)[1]);
      return passed(this.run.part, sum(wide)) - sum(wide.slice(0, names.indexOf(name)));
    }

    // how far a number is on its way to its place, from 0 to 1; words follow the one that is lit
    arrival(name, i, j) {
      if (!this.run) return 1;
      const { stage, part, alone } = this.run;
      if (stageOf(name) !== stage) return Number(alone || stageOf(name) < stage);
      const lit = this.within(name, this.entry)[0];
      const late = (part - TURN - PASS) / (1 - TURN - PASS) * (this.size(name)[0] - 1);
      const way = stage === COPIES ? part : i !== lit ? late - i + (i > lit)
        : name === "weights" ? part / (TURN + PASS) : this.past(name) - j;
      return Math.max(0, Math.min(1, way));
    }

    paint() {
      this.place();
      this.values = this.compute(Math.ceil(this.now.L), Math.ceil(this.now.d));
      this.player.textContent = this.run ? "stop" : "play";
      this.bands = {}; // what is at work, with a row, a column, or an entry
      const [lit, part] = [this.lit(), this.run?.part];
      const late = part > TURN + PASS;
      for (const name of this.run && (late || !MATRICES[lit][4]) ? STAGES[this.run.stage] : [lit]) {
        const [[i, j], [left, above]] = [this.at(name), MATRICES[name].slice(3)];
        const column = part < TURN ? null : j;
        if (left) this.bands[left] = (above || name === "weights") && !late ? [i, null] : [];
        if (above) this.bands[above] = late || part < TURN ? [] : [null, j];
        this.bands[name] = !above ? this.bands[left] ?? [] : late ? [] : [i, column];
      }
      for (const name of NAMES) this.paintMatrix(name);
      this.passes.replaceChildren(...this.passing());
      this.paintGround();
      this.close.replaceChildren(...strips(this.rows(), this.stage.clientWidth || 640));
      this.say(this.explain().replaceAll(" × ", "\u00a0×\u00a0"));
    }

    // the row of the lit word turns into a column, which passes over the columns that it is multiplied by
    passing() {
      const { boxes, side, run } = this;
      const made = run ? STAGES[run.stage] : [];
      const [left, above] = [MATRICES[made[0]]?.[3], made.map((name) => MATRICES[name][4])];
      if (!above[0]) return [];
      const places = above.flatMap((name, n) => range(this.size(made[n])[1]).map((j) => boxes[name].x + (j + 0.5) * side));
      const [[i], from, top] = [this.within(left, this.entry), boxes[left], boxes[above[0]]];
      return [passing({ values: this.values[left][i], of: MATRICES[left][0], side, places, part: run.part,
        from: [from.x + from.w, from.y + (i + 0.5) * side], level: top.y + top.h })];
    }

    // where the lit number comes from
    rows() {
      const [{ values }, name] = [this, this.lit()];
      const [[i, j], [of, , , left, above]] = [this.at(name), MATRICES[name]];
      const whose = (place) => (this.wide ? `, ${this.tokens[place]}` : "");
      const row = (from, numbers = values[from][i], word = whose(i)) =>
        ({ name: plain(from) + word, of: MATRICES[from][0], values: numbers });
      if (name === "weights") return [row("scores"), { ...row(name), name: "softmax" }];
      if (!above) return [row(name, values[name][i], ABOVE.includes(name) && name !== "V again" ? "" : whose(i))];
      const factors = [row(left), row(above, turn(values[above])[j], above === "Kᵀ" ? whose(j) : "")];
      return product(...factors, of, (total) => (name === "scores"
        ? `,  ÷ √${this.sizes.d} = ${fixed(total / Math.sqrt(this.sizes.d))}` : ""));
    }

    paintMatrix(name) {
      const [{ x, y, w, h }, side, values] = [this.boxes[name], this.side, this.values[name]];
      const [rows, columns] = this.size(name, this.now);
      const from = this.boxes[MATRICES[name][3]]; // where a copy comes from
      const rect = (kind, left, top, width, height, more = {}) =>
        shape("rect", { class: kind, x: left, y: top, width, height, ...more });
      const words = written(values, side);
      const shade = shades(values, words ? 0.3 : 0.8);
      this.digits[name].replaceChildren();
      const cells = values.flatMap((row, i) => row.flatMap((value, j) => {
        const part = this.arrival(name, i, j);
        const way = part * part * (3 - 2 * part);
        const [down, right] = name === "Kᵀ" ? [j, i] : [i, j];
        const [n, m] = [x + j * side, y + i * side]; // a product falls from its column, all else comes from its row
        const [start, high] = MATRICES[name][4] ? [n, y - GAP - side] : [from?.x + right * side, from?.y + down * side];
        const at = part > 0 && part < 1 ? [n * way + start * (1 - way), m * way + high * (1 - way)] : [n, m];
        const size = [side * Math.min(1, columns - j), side * Math.min(1, rows - i)];
        if (part && words) this.digits[name].append(text(words[i][j], at[0] + side / 2, at[1] + side / 2 + 4.5, { class: "number" }));
        return [...part > 0 && part < 1 ? [rect("flies", ...at, ...size)] : [], rect(`cell${part ? "" : " none"}`, ...at, ...size,
          { "fill-opacity": part ? shade(value) : 1 })];
      }));
      const [i, j] = this.bands[name] ?? [];
      const band = i >= 0 || j >= 0 ? [rect("band", x + (j ?? 0) * side, y + (i ?? 0) * side, j == null ? w : side,
        i == null ? h : side)] : [];
      const [tall, wide] = this.old ? this.size(name, this.old) : [rows, columns];
      const old = tall < rows || wide < columns ? [rect("old", x, y, wide * side, tall * side)] : [];
      const [sized, above] = [this.size(name).join(" × "), ABOVE.includes(name)];
      const edge = ["Q again", "weights"].includes(name) ? [x + w, "end"] : [x, "start"];
      const label = [["name", plain(name), 34, 16], ["", sized, 19, 31]].map(([kind, words, up, down]) =>
        text(words, edge[0], above ? y - up : y + h + down, { class: kind, "text-anchor": edge[1] }));
      const inner = !MATRICES[this.chosen][4] || (i == null) === (j == null) ? -1 : Number(j == null); // what drops out
      label[1].replaceChildren(...this.size(name).flatMap((size, axis) => [axis ? " × " : "",
        shape("tspan", { class: axis === inner && "inner" }, size)]));
      const node = this.blocks[name];
      node.setAttribute("class", `matrix${name in this.bands ? " part" : ""}`);
      node.setAttribute("aria-pressed", name === this.chosen);
      node.setAttribute("aria-label", `${plain(name).replace("_", "")}, ${sized}${plain(name) === name ? "" : ", again"}`);
      node.replaceChildren(...cells, rect("edge", x, y, w, h), ...band, ...old, label[0], " ", label[1],
        rect("hit", x - 2, y - 2, Math.max(w, 24) + 4, h + 4));
    }

    // words, letters at the edges, and between two factors the edges that must be equally long
    paintGround() {
      const { boxes, bands, sizes: { L } } = this;
      const { x, scores, weights } = boxes;
      const middle = { "text-anchor": "middle" };
      const waits = this.run?.stage === COPIES || (this.run && !this.run.alone && this.run.stage < COPIES);
      const there = (name) => !(waits && stageOf(name) === COPIES); // nothing flies over a letter
      const same = [["x", "W_Q"], ["Q again", "Kᵀ"], ["weights", "V again"]].filter(([, above]) => there(above)).flatMap(([left, above]) => {
        const [a, b] = [boxes[left], boxes[above]];
        const [right, low, wide] = [b.x - 3, a.y - 3, b.x - 3 - a.x];
        const words = `${MATRICES[left][2]} = ${this.size(left)[1]}`;
        const half = 3.3 * words.length;
        return [shape("path", { class: `same${left in bands && above in bands ? " now" : ""}`,
          d: `M${a.x},${low} A${wide},${low - b.y} 0 0 1 ${right},${b.y} V${b.y + b.h} L${a.x + a.w},${low} Z` }),
        text(words, Math.min(right - wide / 2 + half, right - 3), low - 0.42 * (low - b.y),
          { class: "letter", "text-anchor": "end" })];
      });
      const row = ["x", "Q again", "weights"].map((name) => bands[name]?.[0]).find((at) => at >= 0);
      const words = this.wide ? this.tokens.slice(0, L).map((token, i) => text(token, x.x - 6,
        x.y + (i + 0.5) * this.side + 4, { class: i === row && "asks", "text-anchor": "end" })) : [];
      const level = scores.y + scores.h / 2;
      const [start, end] = [scores.x + scores.w + 5, weights.x - 5];
      this.ground.replaceChildren(...same, ...words,
        ...ABOVE.filter(there).map((name) => text(MATRICES[name][2], boxes[name].x + boxes[name].w / 2, boxes[name].y - 5,
          { class: "letter", ...middle })),
        ...[[x, this.wide ? 58 : 8], ...(waits ? [] : [[boxes["Q again"], 8]])].map(([box, aside]) =>
          text("L", box.x - aside, box.y + box.h / 2 + 4, { class: "letter", ...middle })),
        text("learned", boxes.W_Q.x - 8, boxes.W_Q.y - 34, { "text-anchor": "end" }),
        shape("path", { class: "to", d: `M${start},${level} H${end} m-5,-4 l5,4 l-5,4` }),
        ...(this.wide ? [["softmax", -7]] : [["soft", -6], ["max", 15]]).map(([word, down]) =>
          text(word, (start + end) / 2, level + down, middle)));
    }

    // a matrix with its size, in words
    sized(name) {
      return `${plain(name)} (${this.size(name).join(" × ")})`;
    }

    explain() {
      const [{ L, d }, tokens, name] = [this.sizes, this.tokens, this.chosen];
      const said = this.sized(name);
      if (this.old) {
        const more = this.old.L < L || this.old.d < d ? "more" : "fewer";
        return this.old.L === L ? `With a head of ${d} features, W_Q, W_K, W_V, Q, K, V and the output have `
          + `${more} columns. The weights stay ${L} × ${L}.`
          : `With ${L} words, x, Q, K, V and the output have ${more} rows. Scores and weights `
          + `have ${more} rows and columns (${L ** 2} numbers, not ${this.old.L ** 2}). W_Q, W_K and W_V do not change.`;
      }
      if (name === "x") return `${said} has a row for each word and a column for each feature.`;
      if (name.startsWith("W_")) return `${said} is learned. It has the same size for every text.`;
      if (stageOf(name) === COPIES) return `Now the queries meet the keys, and ${this.sized("K")} is turned over, which `
        + `gives ${this.sized("Kᵀ")}. V waits for the weights.`;
      const [[i, j], [left, above]] = [this.within(name, this.entry), MATRICES[name].slice(3)];
      if (this.run && above) return `The row of “${tokens[i]}” in ${plain(left)} turns, and passes over ${plain(above)}. Times each column, it `
        + `gives one number of ${plain(name)}. All other rows do the same.`;
      const number = fixed(this.values[name][i][j]);
      const entry = (words) => (this.run ? "" : ` ${words}: ${number}.`);
      if (name === "weights") return `Softmax turns each row of the scores into weights that add up to 1. The size `
        + `stays ${L} × ${L}.${entry(`The weight of “${tokens[j]}” for “${tokens[i]}”`)}`;
      return `${this.sized(left)} times ${this.sized(above)} gives ${said}${name === "scores" ? ", divided by √dₖ" : ""}. The two `
        + `${this.size(left)[1]}s in the middle must be equal, and drop out.${entry(name === "scores"
          ? `“${tokens[i]}” asks “${tokens[j]}”` : `Row “${tokens[i]}”, column ${j + 1}`)}`;
    }

    numbers() {
      return [["", "letters", "sizes", "numbers"], ...NAMES.filter((name) => !/again|ᵀ/.test(name)).map((name) => {
        const [rows, columns] = this.size(name);
        return [name, MATRICES[name].slice(1, 3).join(" × "), `${rows} × ${columns}`, String(rows * columns)];
      })];
    }
  };
});
