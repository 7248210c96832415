// Rotary positions in texts longer than in training: where each pair meets new angles.
attnbook.define("stretch", ({ Interactive, element, shape, range, fixed, degrees }) => {
  const TURN = 2 * Math.PI;
  const HIGH = 40; // of a row
  const list = (names) =>
    names.length < 2 ? names.join() : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;

  return class Stretch extends Interactive {
    static LINES = 5;
    static STYLE = `
      .rows { display: grid; grid-template-columns: 8.2rem minmax(0, 1fr); gap: .25rem .6rem;
        align-items: center; font-size: 13px; line-height: 1.3; }
      .name { color: var(--ink); font-weight: 600; }
      .name span { display: block; font-weight: 400; color: var(--soft); }
      .name .slower { color: var(--wrong); }
      @media (max-width: 600px) { .rows { grid-template-columns: minmax(0, 1fr); gap: .1rem; }
        .name { margin-top: .3rem; } .name span { display: inline; margin-left: .5em; } }
      .trained { fill: var(--line); opacity: .45; }
      .wave { fill: none; stroke: var(--soft); stroke-width: 1.5; }
      .wave.new { stroke: var(--wrong); stroke-width: 3; }
      .scale { height: 20px; }
    `;

    build() {
      const { methods, factors, first, length } = this.data;
      this.method = 0;
      this.factor = first;
      this.choice("Frequencies", methods, (i) => this.set("method", i));
      this.slider("Length of the text", { min: 0, max: factors.length - 1, value: first,
        text: (i) => `${factors[i] * length} tokens` }, (i) => this.set("factor", i));
      this.rows = this.trained.map((_, i) => {
        const step = element("span");
        const plot = shape("svg", { height: HIGH, "aria-hidden": "true" });
        return { step, plot, name: element("div", { class: "name" }, `pair ${i}`, step) };
      });
      this.axis = shape("svg", { class: "scale", "aria-hidden": "true" });
      const grid = element("div", { class: "rows" },
        ...this.rows.flatMap(({ name, plot }) => [name, plot]), element("div"), this.axis);
      this.stage.append(grid);
      this.whenResized(grid, () => this.paint());
    }

    // another method lets the waves stretch on their way
    set(name, value) {
      const from = this.now;
      this[name] = value;
      const to = this.now;
      this.glide((part) => this.drawWaves(to.map((speed, i) => speed ** part * from[i] ** (1 - part))),
        name === "factor");
      this.explain();
      this.showNumbers();
    }

    get trained() {
      return this.data.frequencies[0][0];
    }

    get now() {
      return this.data.frequencies[this.method][this.factor];
    }

    get tokens() {
      return this.data.length * this.data.factors[this.factor];
    }

    // whether a training text had no such angle (up to its length, which its last distance nearly is)
    isNew(pair, distance, speed = this.now[pair]) {
      return (speed * distance) % TURN > this.trained[pair] * this.data.length;
    }

    // whether a pair was slowed down that met every angle in training, so that it need not be
    isSpoiled(pair, speed = this.now[pair]) {
      return speed < this.trained[pair] && this.trained[pair] * this.data.length >= TURN;
    }

    // how many of the distances in the text have a new angle
    newOnes(pair) {
      return range(this.tokens).filter((distance) => this.isNew(pair, distance)).length;
    }

    paint() {
      this.drawWaves();
      this.explain();
    }

    drawWaves(speeds = this.now) {
      const { length } = this.data;
      const last = this.tokens - 1;
      const width = this.axis.clientWidth || 300;
      const x = (distance) => 2 + (width - 4) * distance / last;
      this.rows.forEach(({ step, plot }, pair) => {
        const [was, is] = [this.trained[pair], speeds[pair]];
        step.textContent = was === is ? `${degrees(is)} a token` : `${degrees(was)} → ${degrees(is)}`;
        step.className = this.isSpoiled(pair, is) ? "slower" : "";
        const fine = range(8 * last + 1).map((i) => i / 8);
        const y = (distance) => HIGH / 2 - (HIGH / 2 - 4) * Math.cos(is * distance);
        const path = (points) =>
          points.map((p, i) => `${i ? "L" : "M"}${x(p).toFixed(1)},${y(p).toFixed(1)}`).join("");
        const pieces = [[]]; // of the curve, where angles are new
        for (const p of fine)
          if (this.isNew(pair, p, is)) pieces.at(-1).push(p);
          else if (pieces.at(-1).length) pieces.push([]);
        plot.replaceChildren(
          shape("rect", { class: "trained", x: 0, y: 0, width: x(Math.min(length - 1, last)), height: HIGH }),
          shape("path", { class: "wave", d: path(fine) }),
          shape("path", { class: "wave new", d: pieces.map(path).join("") }));
      });
      const text = (place, anchor, words) => shape("text",
        { x: place, y: 14, "text-anchor": anchor }, words);
      this.axis.replaceChildren(text(0, "start", "0"), text(width, "end", `distance ${last}`),
        ...(last > length ? [text(Math.max(x(length - 1), 60), "middle", `${length - 1} (training)`)] : []));
    }

    explain() {
      const { length } = this.data;
      const pairs = range(this.trained.length);
      const fresh = pairs.filter((pair) => this.newOnes(pair) > 0).map(String);
      if (this.tokens === length) {
        this.say(`This text is as long as those in training (${length} tokens), so no pair meets a new angle.`);
        return;
      }
      const [plural, verb] = fresh.length > 1 ? ["s", "meet"] : ["", "meets"];
      const angles = fresh.length === 0 ? "No pair meets an angle that is new to the model."
        : `Pair${plural} ${list(fresh)} ${verb} angles that no training text contained (red).`;
      const pair = pairs.find((pair) => this.isSpoiled(pair));
      const unchanged = pairs.every((pair) => this.now[pair] === this.trained[pair]);
      const price = unchanged ? "" : pair === undefined
        ? " Pairs that met every angle in training stay as they were."
        : ` But one step now rotates pair ${pair} by only ${degrees(this.now[pair])} instead of ` +
          `${degrees(this.trained[pair])}, so neighbours look closer together than in training.`;
      this.say(angles + price);
    }

    numbers() {
      return [["pair", "trained frequency", "frequency", "turns in training", "turns in this text",
        "distances with new angles"],
      ...this.trained.map((was, pair) => [pair, was.toPrecision(3), this.now[pair].toPrecision(3),
        fixed(was * this.data.length / TURN), fixed(this.now[pair] * this.tokens / TURN),
        `${this.newOnes(pair)} of ${this.tokens}`])];
    }
  };
});
