// Rotary positions in texts longer than in training: where each pair meets new angles.
attnbook.define("stretch", ({ Interactive, element, shape, range, fixed, degrees, percent }) => {
  const TURN = 2 * Math.PI;
  const HIGH = 40; // of a row
  const list = (names) =>
    names.length < 2 ? names.join() : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;

  return class Stretch extends Interactive {
    static STYLE = `
      .rows { display: grid; grid-template-columns: 8.2rem minmax(0, 1fr); gap: .25rem .6rem;
        align-items: center; font-size: 13px; line-height: 1.3; }
      .name { color: var(--ink); font-weight: 600; }
      .name span { display: block; font-weight: 400; color: var(--soft); }
      .name .slower { color: var(--wrong); }
      @media (max-width: 600px) { .rows { grid-template-columns: minmax(0, 1fr); gap: .1rem; }
        .controls label { flex: 1 1 100%; } label output { white-space: nowrap; }
        input[type="range"] { flex: 1; width: 0; } .name { margin-top: .3rem; } .name span { display: inline; margin-left: .5em; } }
      .trained { fill: var(--line); opacity: .45; }
      .wave { fill: none; stroke: var(--soft); stroke-width: 1.5; }
      .wave.new { stroke: var(--wrong); stroke-width: 3; }
      .scale { height: 20px; }
      .ways { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: .3rem .6rem;
        margin-top: .4rem; font-size: 13px; }
      .ways.found { grid-template-columns: auto 1fr 1fr; }
      .found > * { grid-column: 1 / -1; display: grid; grid-template-columns: subgrid; align-items: center;
        padding: 0 .3rem 0 .5rem; text-align: left; }
      .ways button { border-color: var(--line); cursor: pointer; }
      .ways [aria-pressed="true"] { background: var(--hover); border-color: var(--soft); font-weight: 600; }
      .share { padding: 0 .4rem; line-height: 24px; border-radius: 3px; --bar: color-mix(in srgb, var(--color) 35%, transparent);
        background: linear-gradient(to right, var(--bar) var(--size), transparent 0) var(--paper); --color: var(--soft); }
      .share.few { --color: var(--wrong); }
    `;

    build() {
      const { methods, factors, first, length, pairs, right, found } = this.data;
      this.method = 0;
      this.factor = first;
      this.stepper({ last: () => methods.length - 1, next: "next way →", pace: 2200 });
      this.go = (step) => {
        this.step = step;
        this.set("method", step);
      };
      this.ways = methods.map((name, i) => {
        const shares = found.map(() => element("span", { class: "share" }));
        const way = element("button", { type: "button", onclick: () => {
          this.pause();
          this.go(i);
        } }, element("span", {}, name), ...shares);
        return { shares, way };
      });
      this.slider("Length of the text", { min: 0, max: factors.length - 1, value: first,
        text: (i) => `${factors[i] * length} tokens` }, (i) => this.set("factor", i));
      this.rows = this.trained.map((_, i) => {
        const step = element("span");
        const plot = shape("svg", { height: HIGH, "aria-hidden": "true" });
        return { step, plot, name: element("div", { class: "name" }, `pair ${pairs[i]}${["", ", fast", ", slow"][i ? 2 * (i === pairs.length - 1) : 1]}`, step) };
      });
      this.axis = shape("svg", { class: "scale", "aria-hidden": "true" });
      const grid = element("div", { class: "rows" },
        ...this.rows.flatMap(({ name, plot }) => [name, plot]), element("div"), this.axis);
      this.stage.append(grid);
      const heading = element("div", { class: "heading", "aria-hidden": "true" },
        ...["the model finds …", ...found].map((text) => element("span", {}, text)));
      this.stage.append(element("div", { class: `ways ${right ? "found" : ""}` }, ...right ? [heading] : [],
        ...this.ways.map(({ way }) => way)));
      if (right) this.onceByItself(() => this.play(), 1500);
      this.whenResized(grid, () => this.paint());
    }

    // which way is chosen, and what a model finds with each in a text of this length
    mark() {
      this.showSteps();
      this.ways.forEach(({ shares, way }, i) => {
        const texts = shares.map((share, j) => {
          const size = this.data.right[i][this.factor][j];
          share.style.setProperty("--size", `${100 * size}%`);
          share.classList.toggle("few", size < 0.5);
          return share.textContent = percent(size);
        });
        way.setAttribute("aria-pressed", i === this.method);
        if (texts.length) way.ariaDescription = texts.map((text, j) => `${this.data.found[j]}: ${text}`).join(", ");
      });
    }

    // another method lets the waves stretch on their way
    set(name, value) {
      const from = this.now;
      this[name] = value;
      const to = this.now;
      this.glide((part) => this.drawWaves(to.map((speed, i) => speed ** part * from[i] ** (1 - part))),
        name === "factor");
      this.mark();
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
      this.mark();
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
      const { length, pairs: names } = this.data;
      const pairs = range(this.trained.length);
      const fresh = pairs.filter((pair) => this.newOnes(pair) > 0).map((pair) => String(names[pair]));
      const [plural, verb] = fresh.length > 1 ? ["s", "meet"] : ["", "meets"];
      const angles = this.tokens === length ? "In a text as long as in training, no pair meets a new angle."
        : fresh.length === 0 ? "No pair meets a new angle."
        : `Pair${plural} ${list(fresh)} ${verb} new angles (red).`;
      const pair = pairs.find((pair) => this.isSpoiled(pair));
      const unchanged = pairs.every((pair) => this.now[pair] === this.trained[pair]);
      const price = unchanged ? "" : pair === undefined
        ? " Pairs that met every angle in training stay as they were."
        : ` But pair ${names[pair]} rotates by ${degrees(this.now[pair])} a token instead of `
          + `${degrees(this.trained[pair])}, so neighbours look closer.`;
      this.say(angles + price);
    }

    numbers() {
      return [["pair", "trained frequency", "frequency", "turns in training", "turns in this text",
        "distances with new angles"],
      ...this.trained.map((was, pair) => [this.data.pairs[pair], was.toPrecision(3), this.now[pair].toPrecision(3),
        fixed(was * this.data.length / TURN), fixed(this.now[pair] * this.tokens / TURN),
        `${this.newOnes(pair)} of ${this.tokens}`])];
    }
  };
});
