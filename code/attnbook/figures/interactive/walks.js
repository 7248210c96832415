// Scores as walks: what each has added up after more and more features, and how far they spread.
attnbook.define("walks", ({ Interactive, shape, range, sum, fixed }) => {
  const [TOP, HIGH, LEFT, RIGHT] = [14, 340, 34, 40];
  const STOPS = 4; // their roots are evenly apart
  const PACE = 1500;

  return class Walks extends Interactive {
    static LINES = 4;
    static STYLE = `
      .controls { align-items: center; gap: .4rem .7rem; }
      .walk { fill: none; stroke: var(--soft); stroke-width: 1; opacity: .45; stroke-linejoin: round; }
      .head { fill: var(--ink); opacity: .6; }
      .root { fill: none; stroke: var(--weights); stroke-width: 3; stroke-linecap: round; }
      .inner { fill: var(--weights); opacity: .1; }
      .reach { stroke: var(--weights); stroke-width: 2; }
      .tick { stroke: var(--line); }
      svg text { text-anchor: middle; paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
      svg .end { text-anchor: end; } svg .start { text-anchor: start; }
      svg .name { fill: var(--weights); font-size: 15px; font-weight: 600; }
    `;

    build() {
      this.picture = shape("svg", { height: HIGH, "aria-hidden": "true" });
      this.stage.append(this.picture);
      this.stepper({ last: () => STOPS, next: "more features →", pace: PACE });
      this.toggle("divide by √d", (on) => {
        this.divided = Number(on);
        this.draw();
      });
      [this.step, this.divided, this.at, this.narrowed] = [STOPS, 0, STOPS, 0]; // the last two are on their way to the first
      this.whenResized(this.picture, () => this.plot());
      this.onceByItself(() => {
        this.at = 0;
        this.play();
      });
    }

    // how many features there are at a stop, or between two
    features(stop) {
      return this.data.d * (stop / STOPS) ** 2;
    }

    // the sum of a walk after some features
    sumOf(walk, features) {
      const place = features / this.data.d * (walk.length - 1);
      const before = Math.min(walk.length - 2, Math.floor(place));
      return walk[before] + (walk[before + 1] - walk[before]) * (place - before);
    }

    spread(features) {
      const { walks } = this.data;
      return Math.sqrt(sum(walks.map((walk) => this.sumOf(walk, features) ** 2)) / walks.length);
    }

    paint() {
      const [at, part] = [this.at, this.narrowed];
      this.glide((done) => {
        this.at = at + (this.step - at) * done;
        this.narrowed = part + (this.divided - part) * done;
        this.plot();
      }, at === this.step && part === this.divided, this.playing ? 0.9 * PACE : 700);
      this.say(this.explain());
    }

    plot() {
      const { walks, d } = this.data;
      const width = this.picture.clientWidth || 326;
      const [end, middle] = [this.features(this.at), HIGH / 2 - 18];
      const far = Math.max(...walks.flat().map(Math.abs));
      const x = (features) => LEFT + (width - LEFT - RIGHT) * features / d;
      // divided by the root of its features, a sum of √d is as high as one of √d after d features
      const y = (sum, features) => middle - (middle - TOP) / far * sum * (1 + this.narrowed * (Math.sqrt(d / (features || d)) - 1));
      const text = (x, y, kind, words) => shape("text", { x, y, class: kind }, words);
      const step = d / (walks[0].length - 1);
      const past = range(Math.floor(end / step) + 1).map((n) => n * step).concat(end);
      const line = (sumAt) => past.map((n) => `${x(n)},${y(sumAt(n), n)}`).join(" L");
      const smooth = range(101).map((n) => end * (n / 100) ** 2);
      const edge = (sign) => smooth.map((n) => `${x(n)},${y(sign * Math.sqrt(n || d * this.narrowed / 1e6), n || d / 1e6)}`);
      const stops = range(STOPS).map((k) => this.features(k + 1));
      this.picture.replaceChildren(
        ...stops.flatMap((n) => [shape("path", { class: "tick", d: `M${x(n)},${TOP} V${HIGH - 46}` }),
          text(x(n), HIGH - 30, "", String(n)), text(x(n), HIGH - 8, "name", this.root(n))]),
        text(LEFT - 8, HIGH - 30, "end", "d"), text(LEFT - 8, HIGH - 8, "name end", "√d"),
        text(LEFT - 8, middle + 5, "end", "0"),
        shape("path", { class: "axis", d: `M${LEFT},${middle} H${x(d)}` }),
        shape("path", { class: "inner", d: `M${edge(1).join(" L")} L${edge(-1).reverse().join(" L")} Z` }),
        ...walks.map((walk) => shape("path", { class: "walk", d: `M${line((n) => this.sumOf(walk, n))}` })),
        ...walks.map((walk) => shape("circle", { class: "head", r: 2.5, cx: x(end), cy: y(this.sumOf(walk, end), end) })),
        ...[1, -1].map((sign) => shape("path", { class: "root", d: `M${edge(sign).join(" L")}` })),
        ...stops.filter((n) => n <= end + 1e-6).flatMap((n) => [
          shape("path", { class: "reach", d: `M${x(n)},${y(Math.sqrt(n), n)} V${y(-Math.sqrt(n), n)}` }),
          text(x(n), y(Math.sqrt(n), n) - 8, "name", this.narrowed > 0.5 ? "1" : this.root(n))]),
        ...(this.at < 0.5 ? [] : [1, -1]).map((sign) => text(x(end) + 7, y(sign * Math.sqrt(end), end) + 5, "name start",
          (sign < 0 ? "−" : "") + (this.narrowed > 0.5 ? "1" : "√d"))));
    }

    root(features) {
      return fixed(Math.sqrt(features), Number.isInteger(Math.sqrt(features)) ? 0 : 1);
    }

    explain() {
      const [features, many] = [this.features(this.step), this.data.walks.length];
      if (!features) return `${many} scores begin at 0. Each feature adds a random step, up or down.`;
      const spread = this.spread(features);
      const root = `√${features}\u00a0=\u00a0${this.root(features)}`;
      if (this.divided) return `Divided by ${root}, the ${many} scores spread by ${fixed(spread / Math.sqrt(features))}. `
        + "The walks are about equally wide at every number of features.";
      return `After ${features} features, scores typically lie ${root} away from 0 (here: ${fixed(spread, 1)}).`
        + (this.step % 2 ? "" : ` Four times as many features as ${features / 4} take them only about twice as far.`);
    }

    numbers() {
      return [["features", "root", "spread", "spread ÷ root"], ...range(STOPS).map((k) => {
        const n = this.features(k + 1);
        return [n, fixed(Math.sqrt(n)), fixed(this.spread(n), 3), fixed(this.spread(n) / Math.sqrt(n), 3)];
      })];
    }
  };
});
