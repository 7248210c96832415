// Two words as arrows of length 1. Projections turn them into a query and a key, or a single one
// turns both, and the dot product is the shadow of one on the other.
attnbook.define("turning", ({ Interactive, element, shape, dot, fixed, lowered, still }) => {
  const LONG = 150; // of an arrow of length 1
  const ARC = 0.6; // of that, how far from the origin a turn is drawn
  const [WIDE, LEFT, HIGH, TOP] = [392, 148, 218, 190]; // of the plane, and where its origin is
  const FIRST = 1000; // milliseconds until both turn by themselves
  const [BACK, TURN] = [500, 1300]; // milliseconds of the way back to the words, and of a turn
  const APART = 0.4; // radians from which on a word and its arrow have names of their own
  const SQUARE = 15; // of the mark of a right angle
  const CASES = [
    { name: "the words", maps: [] },
    { name: "W_Q for both", maps: ["W_Q", "W_Q"] },
    { name: "W_Q and W_K", maps: ["W_Q", "W_K"] }];
  const through = (row, matrix) => matrix[0].map((_, k) => dot(row, matrix.map((cells) => cells[k])));
  const angleOf = ([x, y]) => Math.atan2(y, x);
  const between = (from, to, part) => from.map((angle, i) => angle + part * (to[i] - angle));
  const arrowAt = (angle) => [Math.cos(angle), Math.sin(angle)];
  const on = (angle, radius) => arrowAt(angle).map((part, axis) => radius * (axis ? -part : part));
  const short = (number) => fixed(number).replace(/\.?0+$/, "");
  const factor = (number) => (number < -0.005 ? `(${short(number)})` : short(number));
  const pair = (arrow) => `(${arrow.map(short).join(", ")})`;

  return class Turning extends Interactive {
    static LINES = 4;
    static STYLE = `
      :host { container-type: inline-size; }
      .controls button { border-color: var(--line); cursor: pointer; }
      .controls [aria-pressed="true"] { background: var(--hover); border-color: var(--weights);
        box-shadow: inset 0 -3px var(--weights); font-weight: 600; }
      .controls { gap: .4rem; }
      .beside { display: grid; gap: 0 1rem; align-items: center; }
      .plane text { font-size: 15px; font-weight: 600; fill: var(--role); stroke: var(--paper); stroke-width: 4px;
        stroke-linejoin: round; paint-order: stroke; }
      .plane .word { font-weight: 400; }
      .plane .turn { font-size: 16px; text-anchor: middle; }
      .ink { --role: var(--ink); } .was { --role: var(--soft); }
      .query { --role: var(--query); } .key { --role: var(--key); }
      .plane line { stroke: var(--role); stroke-width: 3; } .plane .head { fill: var(--role); stroke: none; }
      .plane .was :is(line, .head) { opacity: .45; }
      .arc { fill: none; stroke: var(--role); stroke-width: 2; }
      .plane .shadow { stroke: var(--weights); stroke-width: 15; opacity: .4; }
      .right { fill: none; stroke: var(--soft); stroke-width: 1.5; }
      .plane .fall { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 4 4; }
      .score { display: grid; grid-template-columns: auto 1fr; gap: 0 .8rem; align-items: center; color: var(--soft);
        font-size: 14px; white-space: nowrap; }
      .score b { grid-row: span 3; min-width: 4.6rem; color: var(--weights); font-size: 2.1rem; line-height: 1.2;
        font-variant-numeric: tabular-nums; }
      @container (min-width: 33rem) {
        .beside { grid-template-columns: minmax(0, 1fr) 12.5rem; }
        .score { display: block; } .score b { display: block; font-size: 2.6rem; }
        .score span { display: block; } .said { min-height: 2.8em; }
      }
    `;

    build() {
      this.case = this.drawn = CASES.at(still() ? -1 : 0);
      this.words = this.data.x.map(angleOf);
      this.angles = this.aims();
      this.buttons = CASES.map((each) => {
        const button = this.button("", () => this.turn(each));
        button.append(...lowered(each.name));
        return button;
      });
      this.plane = shape("svg", { class: "plane", "aria-hidden": "true",
        viewBox: `${-LEFT} ${-TOP} ${WIDE} ${HIGH}` });
      this.asked = element("span");
      this.sum = element("span");
      this.shadow = element("span");
      this.product = element("b");
      this.stage.append(element("div", { class: "beside" }, this.plane, element("div", { class: "score",
        "aria-hidden": "true" }, this.product, this.asked, this.sum, this.shadow)));
      this.onceByItself(() => this.turn(CASES.at(-1)), FIRST);
    }

    // the two vectors of a case
    vectors() {
      const { x } = this.data;
      return x.map((row, i) => (this.case.maps[i] ? through(row, this.data[this.case.maps[i]]) : row));
    }

    aims() {
      return this.vectors().map(angleOf);
    }

    // the words come back to their places, and then their projections turn them
    turn(to) {
      const [from, aims] = [this.angles, (this.case = to, this.aims())];
      const time = this.drawn.maps.length ? BACK + TURN : TURN;
      const back = 1 - TURN / time;
      this.glide((part) => {
        if (part >= back) this.drawn = to;
        this.angles = part < back ? between(from, this.words, part / back)
          : between(this.words, aims, (part - back) / (1 - back));
        this.draw();
      }, false, time);
    }

    paint() {
      const { words } = this.data;
      const projected = this.drawn.maps.length > 0;
      const shown = this.angles.map(arrowAt);
      const product = dot(...shown);
      this.buttons.forEach((button, i) => button.setAttribute("aria-pressed", CASES[i] === this.case));
      this.plane.replaceChildren(...this.shadowOf(product), ...words.flatMap((word, i) => {
        const [was, now] = [this.words[i], this.angles[i]];
        const far = Math.abs(now - was);
        const role = projected ? ["query", "key"][i] : "ink";
        return [...(far > 0.02 ? [this.arrow("was", was, far > APART ? word : ""), this.arc(was, now, i)] : []),
          this.arrow(role, now, `${projected ? "qk"[i] : word} ${pair(shown[i])}`)];
      }));
      const names = projected ? ["q", "k"] : words;
      this.asked.textContent = `score ${names.join(" · ")}`;
      this.product.textContent = short(product);
      this.sum.textContent = `= ${shown[0].map((part, k) =>
        `${factor(part)}·${factor(shown[1][k])}`).join(" + ")}`;
      this.shadow.textContent = product > 0.005 ? `= the shadow on ${names[1]}` : "no shadow";
      this.explain();
    }

    // what the first arrow casts on the second, or the mark of a right angle
    shadowOf(product) {
      const [a, b] = this.angles;
      if (Math.abs(product) < 0.005) {
        const [one, both, other] = [[a, SQUARE], [(a + b) / 2, Math.SQRT2 * SQUARE], [b, SQUARE]]
          .map((place) => on(...place));
        return [shape("path", { class: "right", d: `M${one} L${both} L${other}` })];
      }
      const [tip, foot] = [on(a, LONG), on(b, LONG * product)];
      return product < 0 ? [] : [shape("path", { class: "shadow", d: `M0,0 L${foot}` }),
        shape("path", { class: "fall", d: `M${tip} L${foot}` })];
    }

    // from the origin, with a name beyond its tip
    arrow(role, angle, name) {
      const [[x, y], [dx, dy], [atX, atY]] = [LONG - 6, LONG, LONG + 12].map((radius) => on(angle, radius));
      const [across] = arrowAt(angle);
      const anchor = Math.abs(across) < 0.7 ? "middle" : across > 0 ? "start" : "end";
      return shape("g", { class: role }, shape("line", { x1: 0, y1: 0, x2: x, y2: y }),
        this.head([dx, dy], angle, 13),
        shape("text", { x: atX, y: atY + 5, "text-anchor": anchor, class: role === "was" ? "word" : "" }, name));
    }

    head([x, y], angle, long) {
      const [dx, dy] = on(angle, long);
      return shape("path", { class: "head",
        d: `M${x},${y} L${x - dx - 0.42 * dy},${y - dy + 0.42 * dx} L${x - dx + 0.42 * dy},${y - dy - 0.42 * dx} Z` });
    }

    // the turn of a word so far, and the matrix that turns it
    arc(from, to, i) {
      const [way, radius] = [Math.sign(to - from), ARC * LONG];
      const [start, neck, end, label] = [[from, radius], [to - way * 0.1, radius], [to, radius],
        [(from + to) / 2, 1.27 * radius]].map((place) => on(...place));
      const map = this.drawn.maps[i];
      return shape("g", { class: map === "W_Q" ? "query" : "key" },
        shape("path", { class: "arc", d: `M${start} A${radius},${radius} 0 0 ${way > 0 ? 0 : 1} ${neck}` }),
        this.head(end, to + way * (Math.PI / 2 - 0.05), 10),
        ...(Math.abs(to - from) < APART ? [] : [shape("text", { class: "turn", x: label[0], y: label[1] + 5 },
          ...lowered(map, (text) => shape("tspan", { dy: 4, "font-size": 12 }, text)))]));
    }

    explain() {
      const { words: [asks, found] } = this.data;
      const product = short(dot(...this.vectors()));
      this.say([`As they are, “${asks}” and “${found}” have the score ${product}.`,
        "A single projection turns both words in the same way. So the angle between them stays the same, "
          + `and the score stays ${product}.`,
        "Two projections turn each word in a way of its own. So the query of "
          + `“${asks}” meets the key of “${found}”, and their score is ${product}.`,
      ][CASES.indexOf(this.case)]);
    }

    numbers() {
      const { x, words } = this.data;
      const vectors = this.vectors();
      const row = (name, arrow) => [name, ...arrow.map((number) => fixed(number))];
      return [["", "feature 1", "feature 2"], ...words.map((word, i) => row(word, x[i])),
        ...(this.case.maps.length ? vectors.map((arrow, i) => row("qk"[i], arrow)) : []),
        ["dot product", fixed(dot(...vectors)), ""]];
    }
  };
});
