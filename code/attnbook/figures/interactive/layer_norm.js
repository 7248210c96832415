// Layer norm of a token, in two motions: all features move down by their mean, and then shrink.
attnbook.define("layer-norm", ({ Interactive, element, sum, fixed }) => {
  const PACE = 2600, MOVE = 1200; // milliseconds for a step while it plays, and for its motion
  const [HIGH, LABEL] = [150, 20]; // pixels from the lowest value to the highest, and of a number
  const STEPS = ["x", "x − μ", "(x − μ) / σ"];
  const short = (number) => fixed(number, 1).replace(/\.0$/, "");

  return class LayerNorm extends Interactive {
    static LINES = 3;
    static STYLE = `
      .steps { display: flex; gap: .3rem .9rem; margin: 0 0 .5rem; color: var(--soft); white-space: nowrap; }
      .steps span { padding: 0 .5rem; line-height: 28px; border-radius: .3rem; box-shadow: inset 0 0 0 1px var(--line); font-style: italic; }
      .steps .now { color: var(--ink); font-weight: 600; background: var(--hover); box-shadow: inset 0 0 0 1.5px var(--soft); }
      .plot { position: relative; height: ${HIGH + 2 * LABEL}px; margin-right: 5.6rem; }
      .plot > * { position: absolute; box-sizing: border-box; }
      .bar { width: calc(60% / var(--many)); background: color-mix(in srgb, var(--soft) 45%, var(--paper)); border: 1px solid var(--soft); }
      .number { width: calc(100% / var(--many)); line-height: ${LABEL}px; text-align: center; font-weight: 600; font-variant-numeric: tabular-nums;
        background: linear-gradient(var(--paper), var(--paper)) center / 1.7em 15px no-repeat; } /* no line through it */
      .zero, .mean { left: 0; right: 0; border-top: 2px solid var(--soft); }
      .mean { border-top: 2px dashed var(--other); }
      .spread { left: 0; right: 0; background: color-mix(in srgb, var(--other) 16%, transparent); border: 1px solid color-mix(in srgb, var(--other) 60%, transparent);
        border-width: 1px 0; transition: opacity .4s; }
      .label { left: calc(100% + .5rem); line-height: 20px; font-weight: 600; white-space: nowrap; color: var(--other); transition: opacity .4s; }
      .away { opacity: 0; }
    `;

    build() {
      const { token } = this.data;
      this.mean = sum(token) / token.length;
      this.variance = sum(token.map((number) => (number - this.mean) ** 2)) / token.length;
      this.spread = Math.sqrt(this.variance);
      const all = [0, ...[0, 1].flatMap((step) => this.values(step))];
      this.most = Math.max(...all);
      this.unit = HIGH / (this.most - Math.min(...all));
      this.stepper({ last: () => STEPS.length - 1, pace: PACE });
      this.names = STEPS.map((name) => element("span", {}, name));
      const part = (name) => element("div", { class: name });
      this.parts = Object.fromEntries(["spread", "zero", "mean"].map((name) => [name, part(name)]));
      this.labels = Object.fromEntries(["spread", "mean"].map((name) => [name, part("label")]));
      this.bars = token.map(() => part("bar"));
      this.texts = token.map(() => part("number"));
      this.stage.append(element("p", { class: "steps", "aria-hidden": "true" }, ...this.names),
        element("div", { class: "plot", style: `--many: ${token.length}`, "aria-hidden": "true" }, ...this.bars,
          ...Object.values(this.parts), ...Object.values(this.labels), ...this.texts));
      this.at = this.step;
      this.onceByItself(() => this.play());
    }

    // the features at a step, or on the way to it
    values(at) {
      return this.data.token.map((number) => (number - Math.min(at, 1) * this.mean) * this.scale(at));
    }

    scale(at) {
      return 1 + Math.max(0, at - 1) * (1 / this.spread - 1);
    }

    paint() {
      this.names.forEach((name, step) => name.className = step === this.step ? "now" : "");
      for (const node of [this.parts.spread, this.labels.spread]) node.classList.toggle("away", !this.step);
      this.labels.mean.textContent = this.step ? "mean 0" : `mean μ = ${short(this.mean)}`;
      const from = this.at;
      this.glide((part) => {
        this.at = from + (this.step - from) * part;
        this.place();
      }, from === this.step, MOVE);
      this.say([`The mean of the ${this.bars.length} features is μ\u00a0=\u00a0${short(this.mean)}.`,
        `μ is subtracted from each feature. The mean of the squared differences is σ²\u00a0=\u00a0${short(this.variance)}, so σ\u00a0=\u00a0${short(this.spread)}.`,
        "Each feature is divided by σ. Now the mean is 0, and the mean of the squares is 1."][this.step]);
    }

    place() {
      const y = (value) => LABEL + (this.most - value) * this.unit;
      const count = this.bars.length;
      this.values(this.at).forEach((value, j) => {
        const [top, bottom] = [y(Math.max(value, 0)), y(Math.min(value, 0))];
        this.bars[j].style.cssText = `left: ${100 * (j + 0.2) / count}%; top: ${top}px; height: ${bottom - top}px`;
        this.texts[j].style.cssText = `left: ${100 * j / count}%; top: ${value < 0 ? bottom : top - LABEL}px`;
        this.texts[j].textContent = short(value);
      });
      const [mean, spread] = [this.mean * (1 - Math.min(this.at, 1)), this.spread * this.scale(this.at)];
      this.parts.zero.style.top = `${y(0) - 1}px`;
      this.parts.mean.style.top = `${y(mean) - 1}px`;
      this.parts.spread.style.cssText = `top: ${y(spread)}px; height: ${2 * spread * this.unit}px`;
      this.labels.mean.style.top = `${y(mean) - 10}px`;
      this.labels.spread.style.top = `${Math.min(y(spread) - 20, y(mean) - 31)}px`; // above that of the mean
      this.labels.spread.textContent = `σ = ${short(spread)}`;
    }

    numbers() {
      return [["", ...this.bars.map((_, j) => `feature ${j + 1}`)],
        ...STEPS.map((name, step) => [name, ...this.values(step).map((value) => fixed(value, 3))])];
    }
  };
});
