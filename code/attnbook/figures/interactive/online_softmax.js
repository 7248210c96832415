// A softmax from one block of scores at a time: the largest so far, denominator and numerator.
attnbook.define("online-softmax", ({ Interactive, element, range, sum, dot, softmax, fixed }) =>
  class OnlineSoftmax extends Interactive {
    static STYLE = `
      .room { container-type: inline-size; }
      .keys { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: .3rem; }
      @container (min-width: 34rem) { .keys { grid-template-columns: repeat(8, minmax(0, 1fr)); } }
      .keys li { padding: .15rem .2rem; border: 1px solid var(--line); border-radius: .3rem;
        color: var(--soft); font-size: 13px; text-align: center; white-space: nowrap;
        font-variant-numeric: tabular-nums; }
      .keys span { display: block; }
      .keys .now { border-color: var(--weights); box-shadow: 0 0 0 1px var(--weights); color: var(--ink); background: var(--hover); }
      .keys .now .part { color: var(--weights); font-weight: 600; }
      .keys .value { color: var(--value); }
      .keys .later { border-style: dashed; }
      .sums { display: grid; grid-template-columns: auto 1fr; gap: .25rem .8rem;
        margin: .8rem 0 0; font-variant-numeric: tabular-nums; }
      .sums dt { color: var(--soft); } .sums dd { margin: 0; }
      .sums b { white-space: nowrap; }
      @media (max-width: 600px) { .sums { grid-template-columns: 1fr; gap: 0; }
        .sums dd { margin-bottom: .35rem; } }
    `;
    static LINES = 5;

    build() {
      const { scores, values } = this.data;
      const sizes = range(5).map((power) => 2 ** power).filter((size) => size < scores.length);
      sizes.push(scores.length);
      this.size = 2;
      this.kept = false; // the old sums are left as they are
      this.stepper({ last: () => this.blocks() - 1 }); // a step adds a block
      this.choice("Scores per block", sizes.map((size) =>
        size === scores.length ? `all ${size}` : String(size)), (place) => {
        this.size = sizes[place];
        this.go(0);
      }, sizes.indexOf(2));
      this.toggle("leave the old sums as they are", (kept) => {
        this.kept = kept;
        this.draw();
      });
      const short = (number) => String(number).replace("-", "−");
      this.parts = scores.map(() => element("div", { class: "part" }));
      this.keys = scores.map((score, j) => element("li", {},
        element("span", {}, `s = ${short(score)}`),
        element("span", { class: "value" }, `v = ${short(values[j])}`), this.parts[j]));
      const names = ["largest so far, m", "factor f = e^(old m − m)",
        "ℓ = f · old ℓ + Σ e^(s − m)", "a = f · old a + Σ e^(s − m) · v",
        "output so far, a ÷ ℓ"];
      this.sums = names.map(() => element("dd"));
      this.stage.className = "room";
      this.stage.append(element("ul", { class: "keys" }, ...this.keys),
        element("dl", { class: "sums" }, ...names.flatMap((name, i) =>
          [element("dt", {}, name), this.sums[i]])));
    }

    blocks() {
      return Math.ceil(this.data.scores.length / this.size);
    }

    // m, the factor of the old sums, and the sums, after each block
    measure() {
      const { scores, values } = this.data;
      let m = -Infinity, l = 0, a = 0;
      return range(this.blocks()).map((block) => {
        const first = block * this.size, last = Math.min(first + this.size, scores.length);
        const [s, v] = [scores, values].map((all) => all.slice(first, last));
        const before = { m, l, a };
        m = Math.max(m, ...s);
        const factor = this.kept && block ? 1 : Math.exp(before.m - m); // e^(−∞) = 0 at first
        const parts = s.map((score) => Math.exp(score - m));
        l = factor * l + sum(parts);
        a = factor * a + dot(parts, v);
        return { first, last, before, factor, parts, v, m, l, a };
      });
    }

    paint() {
      const states = this.measure();
      const { first, last, before, factor, parts, v, m, l, a } = states[this.step];
      this.keys.forEach((key, j) => {
        const now = j >= first && j < last;
        key.className = now ? "now" : j < first ? "" : "later";
        this.parts[j].replaceChildren(...[now ? "e^(s−m)" : j < first ? "done" : "not seen",
          now ? `= ${fixed(parts[j - first])}` : "\u00a0" // as high as the others
        ].map((text) => element("span", {}, text)));
      });
      const show = (place, computed, result) => this.sums[place].replaceChildren(
        computed, element("b", {}, `${computed && " = "}${result}`));
      const bracket = (number) => (number < 0 ? `(${fixed(number)})` : fixed(number));
      const old = (number) => (this.step ? `${fixed(factor)} · ${bracket(number)} + ` : "");
      show(0, "", fixed(m));
      show(1, "", this.step === 0 ? "nothing to correct"
        : this.kept ? "1.00, no correction"
        : `e^(${fixed(before.m)} − ${bracket(m)}) = ${fixed(factor)}`);
      show(2, old(before.l) + fixed(sum(parts)), fixed(l));
      show(3, old(before.a) + bracket(dot(parts, v)), fixed(a));
      show(4, "", fixed(a / l));
      const whole = dot(softmax(this.data.scores), this.data.values);
      const grown = this.step > 0 && m > before.m;
      const ready = this.step === states.length - 1;
      // to the digits that are shown
      const right = fixed(a / l) === fixed(whole);
      this.say(`Block ${this.step + 1} of ${states.length}. ` +
        (this.step === 0 ? "" : !grown ? "The largest score stays the same, and so do the old sums. "
          : this.kept ? "The largest score has grown, but the old sums still use its old value. "
          : "The largest score has grown, so the old sums shrink. ") +
        (!ready ? `So far the output is ${fixed(a / l)}.`
          : right ? `The output is ${fixed(a / l)}, the same as from softmax over all scores at once.`
          : `The output is ${fixed(a / l)}; softmax over all scores at once gives ` +
            `${fixed(whole)}.`));
    }

    numbers() {
      return [["", "m", "factor", "ℓ", "a", "a ÷ ℓ"], ...this.measure().map((state, i) =>
        [`block ${i + 1}`, ...[state.m, state.factor, state.l, state.a, state.a / state.l]
          .map((number) => fixed(number, 3))])];
    }
  });
