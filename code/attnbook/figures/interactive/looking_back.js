// One look back in small steps: every number travels from where it was made to where it is needed.
attnbook.define("looking-back", ({ Interactive, element, shape, sum, dot, softmax, fixed, ribbon, range,
  boxesIn }) => {
  const PACE = 1900; // milliseconds for a step
  const TRAVEL = 900; // those of a number on its way
  const LAST = 4;
  const [WIDE, FALL] = [100, 44]; // of a state, and of the ribbons, in their units
  const short = (number) => fixed(number, Number.isInteger(number) ? 0 : 2);

  return class LookingBack extends Interactive {
    static LINES = 3;
    static STYLE = `
      :host { container-type: inline-size; }
      .controls button { min-width: 4.4rem; }
      .row { display: grid; gap: .1rem .5rem; align-items: center; margin-bottom: .35rem; text-align: center;
        grid-template-columns: repeat(var(--states), minmax(0, 1fr)); font-variant-numeric: tabular-nums; }
      .row > * { grid-column: span 1; }
      .row > .label, .row > .wide { grid-column: 1 / -1; }
      .label { color: var(--soft); font-size: 13px; line-height: 1.25; text-align: left; } .label b { color: var(--ink); }
      .token { font-weight: 600; }
      i { display: inline-block; font-style: normal; }
      .q { color: var(--query); } .k { color: var(--key); } .w { color: var(--weights); } .v { color: var(--value); }
      .box { justify-self: center; width: fit-content; max-width: 100%; padding: .1rem .6rem; box-sizing: border-box;
        border: 1.5px solid; border-radius: .4rem; }
      .sum { display: flex; flex-wrap: wrap; justify-content: center; gap: 0 .4rem; }
      .sum > span { color: var(--ink); }
      .bar { display: block; height: 9px; margin: .15rem auto 0; border-radius: 2px; background: var(--weights); }
      .made b { font-size: 1.1em; }
      sup { line-height: 0; }
      .ribbon { fill: var(--weights); opacity: .5; }
      .later { opacity: 0; }
      @media (prefers-reduced-motion: no-preference) { .row { transition: opacity .4s; } .later { transition: none; } }
      @media print { .later { opacity: 1; } }
      @container (min-width: 34rem) {
        .row { grid-template-columns: 8.2rem repeat(var(--states), minmax(0, 1fr)); }
        .row > .label { grid-column: 1; } .row > .wide { grid-column: 2 / -1; }
      }
    `;

    build() {
      const { z, memory, tokens } = this.data;
      const energies = memory.map((state) => dot(z, state));
      const exponentials = energies.map(Math.exp);
      const total = sum(exponentials);
      const weights = softmax(energies);
      const context = z.map((_, k) => dot(weights, memory.map((state) => state[k])));
      Object.assign(this, { energies, exponentials, weights, context });
      this.says = ["The encoder has read all tokens, and the decoder has the state z.",
        "z is multiplied by each state, feature by feature. The sum of the products is the energy.",
        "The exponential function makes every energy positive.",
        `Each exponential is divided by their sum, ${fixed(total)}. These shares are the weights.`,
        `Each state is multiplied by its weight. The sum is the context, ${this.vector(context)}.`];
      this.stepper({ last: () => LAST, pace: PACE });
      this.trips = range(LAST + 1).map(() => []); // of each step: copies of numbers, and where they come from
      const number = (kind, amount) => element("i", { class: kind }, short(amount));
      const copy = (step, source) => {
        const node = element("i", { class: source.className }, source.textContent);
        this.trips[step].push([node, source]);
        return node;
      };
      const joined = (sign, parts) => parts.flatMap((part, k) => (k ? [sign, ...part] : part));
      const vector = (numbers) => ["(", ...joined(", ", numbers.map((node) => [node])), ")"];
      const states = memory.map((state) => state.map((amount) => number("k", amount)));
      const asks = z.map((amount) => number("q", amount));
      const made = (kind, amounts) => amounts.map((amount) => element("b", { class: kind }, short(amount)));
      const [scores, sizes, shares] = [made("", energies), made("", exponentials.map((x) => Number(fixed(x)))),
        made("w", weights.map((x) => Number(fixed(x))))];
      const cells = (write) => tokens.map((_, j) => element("span", { class: "made" }, ...write(j)));
      const wide = (kind, ...parts) => element("span", { class: `wide ${kind}` }, ...parts);
      const bar = (part) => element("span", { class: "bar", style: `width: ${80 * part}%` });
      let end = WIDE * (memory.length - 1) / 2;
      const flow = shape("svg", { class: "wide", height: FALL, viewBox: `0 0 ${WIDE * memory.length} ${FALL}`,
        preserveAspectRatio: "none", "aria-hidden": "true" }, ...weights.map((weight, j) => {
        const start = WIDE * (j + (1 - weight) / 2);
        end += WIDE * weight;
        return shape("path", { class: "ribbon", d: ribbon([start, start + WIDE * weight, 0],
          [end - WIDE * weight, end, FALL]) });
      }));
      const rows = [
        [0, [], ...tokens.map((token) => element("span", { class: "token k" }, token))],
        [0, ["", "states of the encoder"], ...states.map((state, j) =>
          element("span", { class: "box k" }, "h", element("sub", {}, j + 1), " = ", ...vector(state)))],
        [0, ["", "state of the decoder"], wide("box q", "z = ", ...vector(asks))],
        [1, ["1 energies"], ...cells((j) => [...joined(" + ", states[j].map((state, k) =>
          [copy(1, asks[k]), "·", copy(1, state)])), " = ", scores[j]])],
        [2, ["2 weights", " exponentials …"], ...cells((j) => ["e", element("sup", {}, copy(2, scores[j])), " = ", sizes[j],
          bar(exponentials[j] / Math.max(...exponentials))])],
        [3, ["", "… and their shares"], ...cells((j) => [copy(3, sizes[j]), ` / ${fixed(total)} = `, shares[j]])],
        [4, [], flow],
        [4, ["3 context"], wide("box v sum", element("span", {}, ...joined(" + ", shares.map((share, j) =>
          [copy(4, share), "·", ...vector(states[j].map((state) => copy(4, state)))]))),
        element("b", {}, `≈ ${this.vector(context)}`))]];
      this.rows = rows.map(([step, [name = "", more = ""], ...parts]) => [step, element("div", { class: "row" },
        element("span", { class: "label" }, element("b", {}, name), more), ...parts)]);
      this.stage.style.setProperty("--states", memory.length);
      this.stage.append(...this.rows.map(([, row]) => row));
      this.step = LAST; // complete until it is seen
      this.onceByItself(() => this.play());
    }

    vector(numbers) {
      return `(${numbers.map(short).join(", ")})`;
    }

    // numbers go to where they are needed
    travel() {
      const box = boxesIn(this.stage);
      for (const [node, source] of this.trips[this.step]) {
        const [from, to] = [source, node].map(box);
        node.animate({ transform: [`translate(${from.x - to.x}px, ${from.top - to.top}px)`, "none"] },
          { duration: TRAVEL, easing: "ease-in-out" });
      }
    }

    paint() {
      for (const [step, row] of this.rows) row.classList.toggle("later", step > this.step);
      this.say(this.says[this.step]);
    }

    numbers() {
      return [["", "energy", "exponential", "weight"], ...this.data.tokens.map((token, j) => [token,
        ...[this.energies, this.exponentials, this.weights].map((numbers) => fixed(numbers[j], 3))])];
    }
  };
});
