// Sinusoidal positions: each pair of features is a clock with a hand at p and one at p + k.
attnbook.define("clocks", ({ Interactive, element, shape, range, dot, fixed, degrees, sector }) =>
  class Clocks extends Interactive {
    static STYLE = `
      .clocks { display: grid; grid-template-columns: repeat(4, 1fr); gap: .5rem .2rem;
        font-size: 13px; text-align: center; color: var(--soft); }
      .clocks svg { max-width: 8.5rem; margin: 0 auto; }
      .clocks output { font-weight: 600; }
      @media (max-width: 600px) { .clocks { grid-template-columns: 1fr 1fr; } .clocks svg { max-width: 7rem; }
        .controls label { flex: 1 1 100%; } input[type="range"] { flex: 1; } }
      .face { fill: none; stroke: var(--line); stroke-width: 2; }
      .rotation { fill: var(--weights); opacity: .3; }
      .hand { fill: none; stroke: var(--query); stroke-width: 4; stroke-linecap: round; }
      .hand.later { stroke: var(--key); }
      .note b { color: var(--query); } .note .later { color: var(--key); } .note .between { color: var(--weights); }
      .curve { fill: none; stroke: var(--weights); stroke-width: 2; }
      .here { fill: var(--weights); stroke: var(--paper); stroke-width: 2; }
    `;

    build() {
      const { d_model, length } = this.data;
      this.k = Math.min(5, length - 1);
      this.stays = false; // what was moved last changes no product
      this.frequencies = range(d_model / 2).map((i) => 10000 ** (-2 * i / d_model));
      const pairs = this.frequencies.length;
      const shown = Math.min(pairs, 4);
      // evenly from the fastest to the slowest of those that rotate by half a turn or more
      const rotating = this.frequencies.filter((frequency) => frequency * length >= Math.PI).length;
      const last = Math.max(shown, rotating) - 1;
      this.clocks = range(shown).map((i) => {
        const pair = shown === 1 ? 0 : Math.round(i * last / (shown - 1));
        const hands = shape("svg", { viewBox: "-50 -50 100 100", "aria-hidden": "true" });
        const cosine = element("output", { "aria-live": "off" });
        return { pair, hands, cosine,
          clock: element("div", {}, hands, `pair ${pair}: ${degrees(this.frequencies[pair])} a step`, element("br"), "cosine ", cosine) };
      });
      const move = (name, glides = false) => (value) => {
        if (!glides) this.pause();
        this.stays = name === "step";
        this.glides = glides;
        this[name] = value;
        this.draw();
      };
      this.stepper({ last: () => length - 1, next: "p + 1 →", pace: 300 });
      this.at = this.step = Math.min(3, length - 1); // the hands are on their way from one to the other
      this.go = move("step", true);
      this.showPosition = this.slider("Position p", { min: 0, max: length - 1, value: this.p }, move("step"));
      this.slider("Offset k", { min: 0, max: length - 1, value: this.k }, move("k"));
      this.curve = shape("svg", { height: 150, "aria-hidden": "true" });
      this.stage.append(
        element("div", { class: "clocks" }, ...this.clocks.map(({ clock }) => clock)),
        element("p", { class: "note" }, "Hands at ", element("b", {}, "p"), " and at ",
          element("b", { class: "later" }, "p + k"), ". Shaded: ",
          element("b", { class: "between" }, "the angle between them, k·ω"), ", with its cosine. "
          + (shown < pairs ? `Shown: ${shown} of ${pairs} pairs.` : "")),
        this.curve);
      this.whenResized(this.curve, () => this.paint());
    }

    // the position
    get p() {
      return this.step;
    }

    encode(position) {
      return this.frequencies.flatMap((frequency) =>
        [Math.sin(position * frequency), Math.cos(position * frequency)]);
    }

    product() {
      return dot(this.encode(this.p), this.encode(this.p + this.k));
    }

    paint() {
      const { p, k } = this;
      this.showPosition(p);
      const from = this.at;
      this.glide((part) => {
        this.at = from + (p - from) * part;
        this.turn(this.at);
      }, !this.glides || from === p);
      this.glides = false;
      this.plot();
      const product = fixed(this.product());
      const both = `PE(${p}) · PE(${p + k})`;
      this.say(this.stays
        ? `Moving p rotates all hands, but the product stays the same: ${both} = ${product}. The angle ` +
          "between the two hands of a pair depends on k alone."
        : `${both} = ${product}. This is the sum, over all ${this.frequencies.length} pairs, of the ` +
          "cosine of the angle between their two hands. Does the product change if you move p?");
    }

    // the hands at a position, which need not be a whole number
    turn(p) {
      const { k } = this;
      for (const { pair, hands, cosine } of this.clocks) {
        const frequency = this.frequencies[pair];
        const at = (position) => // sine and cosine are the hand's x and y
          `${40 * Math.sin(position * frequency)},${-40 * Math.cos(position * frequency)}`;
        const first = Math.PI / 2 - p * frequency;
        hands.replaceChildren(
          shape("circle", { class: "face", r: 46 }),
          shape("path", { class: "rotation",
            d: sector(30, first, first - (k * frequency) % (2 * Math.PI)) }),
          shape("path", { class: "hand", d: `M0,0 L${at(p)}` }),
          shape("path", { class: "hand later", d: `M0,0 L${at(p + k)}` }));
        cosine.textContent = fixed(Math.cos(k * frequency));
      }
    }

    // the product against the offset, from where p stands
    plot() {
      const from = this.encode(this.p);
      const { length } = this.data;
      const products = range(length).map((k) => dot(from, this.encode(this.p + k)));
      const width = this.curve.clientWidth || 300;
      const [low, high] = [Math.min(0, ...products), from.length / 2];
      const x = (k) => 8 + (width - 16) * k / Math.max(1, length - 1);
      const y = (product) => 20 + 105 * (high - product) / (high - low);
      const [hereX, hereY] = [x(this.k), y(products[this.k])];
      this.curve.replaceChildren(
        shape("path", { class: "axis", d: `M0,${y(0)} H${width} M${hereX},${y(0)} V${hereY}` }),
        shape("path", { class: "curve",
          d: "M" + products.map((product, k) => `${x(k)},${y(product)}`).join(" L") }),
        shape("circle", { class: "here", r: 6, cx: hereX, cy: hereY }),
        shape("text", { x: width, y: 12, "text-anchor": "end" },
          `PE(p) · PE(p + k), at most ${high}`),
        shape("text", { x: 0, y: 145 }, "0"),
        shape("text", { x: width, y: 145, "text-anchor": "end" }, `offset k, 0 to ${length - 1}`));
    }

    numbers() {
      const { p, k } = this;
      return [["pair", "frequency ω", "angle p·ω", "angle (p + k)·ω", "cosine of k·ω"],
        ...this.frequencies.map((frequency, pair) => [pair, frequency.toPrecision(4),
          fixed(p * frequency, 3), fixed((p + k) * frequency, 3),
          fixed(Math.cos(k * frequency), 3)]),
        ["sum", "", "", "", fixed(this.product(), 3)]];
    }
  });
