// A softmax from one block of scores at a time: a larger score makes the sums so far shrink.
attnbook.define("online-softmax", ({ Interactive, element, range, sum, dot, softmax, fixed }) => {
  const PACE = 2600; // milliseconds for a block while it plays
  const [LIFT, SHRINK, FLY] = [300, 1000, 800]; // milliseconds for the old; until it is smaller; then for the new
  const short = (number) => fixed(number).replace(/\.?0+$/, "");
  const logarithm = (number) => { // such as ln 8, where that is short
    const power = Math.exp(number);
    const near = Math.round(power);
    return near > 1 && near < 100 && Math.abs(power - near) < 1e-4 * near ? `ln ${near}` : short(number);
  };
  const bracket = (number) => (number < 0 ? `(${short(number)})` : short(number));
  const axis = (numbers) => { // in percent of what they span, with 0
    const [low, high] = [Math.min(0, ...numbers), Math.max(0, ...numbers)];
    const at = (number) => 100 * (number - low) / (high - low || 1);
    const put = (node, ...ends) => {
      const [from, to] = ends.map(at).sort((a, b) => a - b);
      Object.assign(node.style, { left: `${from}%`, width: `${to - from}%` });
    };
    return { at, put };
  };
  const term = () => ["e", element("sup", {}, "s−m")];

  return class OnlineSoftmax extends Interactive {
    static LINES = 4;
    static STYLE = `
      .room { container-type: inline-size; line-height: 18px; --gutter: 3.2rem; }
      .room p { margin: 0; color: var(--soft); white-space: nowrap; font-size: 14px; } sup { line-height: 0; font-size: .75em; }
      .room b { color: var(--ink); } .w { --of: var(--weights); } .v { --of: var(--value); } .of { color: var(--of); font-weight: 600; }
      .columns { position: relative; display: grid; grid-template-columns: repeat(var(--many), minmax(0, 1fr)); gap: 0 .3rem; margin-left: var(--gutter);
        --of: var(--weights); font-size: 13px; text-align: center; white-space: nowrap; font-variant-numeric: tabular-nums; }
      .scores { height: 92px; margin-block: 18px 8px; } .scores.below { margin-bottom: 26px; } .parts { height: 60px; margin-top: 20px; border-bottom: 1px solid var(--soft); }
      .columns > div { position: relative; }
      i, .number, .m { position: absolute; } .columns * { transition: all ${SHRINK}ms ease-in-out; } .columns i { inset-inline: 12%; }
      .number { z-index: 1; inset-inline: -1rem; color: var(--soft); text-shadow: 0 0 2px var(--paper), 0 0 3px var(--paper), 0 0 4px var(--paper); } .now .number { color: var(--ink); font-weight: 600; }
      i { background: color-mix(in srgb, var(--of) 35%, var(--paper)); border-radius: 2px; } .now i, i.new { background: var(--of); }
      .scores .later i { background: none; outline: 1px dashed var(--soft); outline-offset: -1px; } .parts .later > * { opacity: 0; }
      .m { left: calc(-1 * var(--gutter)); right: 0; border-bottom: 2px solid var(--ink); color: var(--ink); font-weight: 600; text-align: left; }
      .values { margin-top: 3px; } .values .v { color: var(--value); font-weight: 600; } .values .later { color: var(--soft); font-weight: 400; }
      .name { position: absolute; left: calc(-1 * var(--gutter)); }
      .sums { display: grid; gap: .7rem 1.6rem; margin-top: .8rem; }
      .track { position: relative; height: 54px; margin: 3px 4.4rem 0 0; font-variant-numeric: tabular-nums; }
      .track > * { position: absolute; } .track .old { top: 0; height: 14px; } .track .funnel { inset: 14px 0 auto; height: 20px; opacity: .6; border-radius: 0; }
      .track .kept, .track .new { top: 34px; height: 20px; } .track .new { box-shadow: inset 0 0 0 1px var(--paper); transform-origin: 0 0; }
      .track .minus { background: repeating-linear-gradient(45deg, var(--of) 0 3px, var(--paper) 3px 5px); }
      .track > span { z-index: 1; padding-left: .4rem; font-size: 13px; white-space: nowrap; color: var(--soft); } .track .by { top: 15px; color: var(--ink); font-weight: 600; }
      .track .total { top: 35px; color: var(--ink); font-weight: 600; }
      .result { grid-column: 1 / -1; } .result .track { height: 18px; } .result i { inset-block: 0; background: var(--of); } .result .mark { width: 3px; inset-block: -4px; background: var(--ink); }
      .result .total { top: 0; } .parts i { bottom: 0; }
      .room .result p { white-space: normal; }
      @container (max-width: 40rem) { .room .result p { min-height: 36px; } }
      @container (max-width: 34rem) { .room p { font-size: 13px; } .number { font-size: 12px; } .room .wide { display: none; } }
      @container (min-width: 34rem) { .room { --gutter: 4.4rem; } .sums { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
    `;

    build() {
      const { scores, values } = this.data;
      const sizes = range(5).map((power) => 2 ** power).filter((size) => size < scores.length);
      sizes.push(scores.length);
      this.size = 2;
      this.kept = false; // the old sums are left as they are
      this.stepper({ last: () => this.blocks() - 1, pace: PACE }); // a step adds a block
      this.choice("Scores per block", sizes.map((size) =>
        size === scores.length ? `all ${size}` : String(size)), (place) => {
        this.pause();
        this.size = sizes[place];
        this.go(0);
      }, sizes.indexOf(2));
      this.toggle("don’t shrink the sums", (kept) => {
        this.kept = kept;
        this.draw();
      });
      this.step = Math.min(1, this.blocks() - 1);
      this.level = axis(scores).at;
      const columns = (kind, cells, ...more) => element("div", { class: `columns ${kind}`,
        style: `--many: ${scores.length}` }, ...cells, ...more);
      const column = (text = "") => element("div", {}, element("i"), element("span", { class: "number" }, text));
      this.scores = scores.map((score) => column(logarithm(score)));
      this.scores.forEach(({ children: [bar, number] }, j) => {
        const [low, high] = [0, scores[j]].map(this.level).sort((a, b) => a - b);
        Object.assign(bar.style, { bottom: `${low}%`, height: `${high - low}%` });
        number.style.bottom = scores[j] < 0 ? `calc(${low}% - 18px)` : `${high}%`;
      });
      this.parts = scores.map(() => column());
      this.values = values.map((value) => element("div", { class: "v" }, short(value)));
      this.line = element("span", { class: "m" });
      this.sums = [this.track("w", "ℓ"), this.track("v", "a", " · v")];
      this.result = { said: element("p"), bar: element("i"), mark: element("i", { class: "mark" }), total: element("span", { class: "total" }) };
      const { said, ...drawn } = this.result;
      this.stage.className = "room";
      this.stage.append(
        element("p", {}, element("b", {}, "scores s"), element("span", { class: "wide" }, " (dashed: not seen yet)"), ", and the largest so far, ", element("b", {}, "m")),
        columns(`scores ${Math.min(...scores) < 0 ? "below" : ""}`, this.scores, this.line),
        element("p", {}, element("b", {}, ...term()), " of each score"),
        columns("parts", this.parts),
        columns("values", this.values, element("span", { class: "name v of" }, "value v")),
        element("div", { class: "sums" }, ...this.sums.map(({ node }) => node),
          element("div", { class: "result v" }, said, element("div", { class: "track" }, ...Object.values(drawn)))));
      this.onceByItself(() => {
        this.go(0);
        this.play();
      }, 600);
    }

    // what a sum was, what is kept of it, and what is new
    track(kind, name, times = "") {
      const [old, funnel, kept] = ["old", "funnel", "kept"].map((part) => element("i", { class: part }));
      const [was, by, total] = ["was", "by", "total"].map((part) => element("span", { class: part }));
      const fresh = this.data.scores.map(() => element("i", { class: "new" }));
      const made = element("p");
      const node = element("div", { class: kind }, element("p", {}, element("b", {}, name), " = sum of ", ...term(), times),
        element("div", { class: "track" }, old, funnel, kept, ...fresh, was, by, total), made);
      return { node, old, funnel, kept, fresh, was, by, total, made };
    }

    blocks() {
      return Math.ceil(this.data.scores.length / this.size);
    }

    // m, the factor of the old sums, and after each block ℓ and a, each with the ends of its pieces
    measure() {
      const { scores, values } = this.data;
      let [m, parts, sums] = [-Infinity, [], [0, 0]];
      return range(this.blocks()).map((block) => {
        const first = block * this.size, last = Math.min(first + this.size, scores.length);
        const [before, old] = [m, sums];
        m = Math.max(m, ...scores.slice(first, last));
        const factor = this.kept && block ? 1 : Math.exp(before - m); // e^(−∞) = 0 at first
        const fresh = scores.slice(first, last).map((score) => Math.exp(score - m));
        parts = [...parts.map((part) => factor * part), ...fresh];
        const terms = [fresh, fresh.map((part, j) => part * values[first + j])];
        const ends = terms.map((some, n) => range(some.length + 1).map((count) => factor * old[n] + sum(some.slice(0, count))));
        sums = ends.map((places) => places.at(-1));
        return { first, last, grown: block > 0 && m > before, old, factor, parts, terms, m, sums, ends, output: sums[1] / sums[0] };
      });
    }

    paint() {
      const states = this.measure();
      const state = states[this.step];
      this.values.forEach((value, j) => {
        const kind = j >= state.last ? "later" : j >= state.first ? "now" : "";
        for (const node of [this.scores[j], this.parts[j]]) node.className = kind;
        value.className = `v ${kind}`;
        const [bar, number] = this.parts[j].children;
        number.style.bottom = bar.style.height = `${100 * (state.parts[j] ?? 0)}%`;
        number.textContent = kind === "later" ? "" : short(state.parts[j]);
      });
      this.line.style.bottom = `calc(${this.level(state.m)}% - 1px)`;
      this.line.textContent = `m = ${logarithm(state.m)}`;
      this.sums.forEach((track, n) => this.paintSum(track, n, state, axis(states.flatMap(({ ends }) => ends[n]))));
      this.paintResult(state, states);
    }

    paintSum({ old, funnel, kept, fresh, was, by, total, made }, n, { first, old: { [n]: before }, factor, terms: { [n]: terms }, ends: { [n]: ends } }, { at, put }) {
      put(old, 0, before);
      put(kept, 0, ends[0]);
      funnel.style.clipPath = `polygon(${at(0)}% 0, ${at(before)}% 0, ${at(ends[0])}% 100%, ${at(0)}% 100%)`;
      fresh.forEach((node, j) => {
        const [from, to] = [ends[j - first], ends[j - first + 1]];
        node.style.display = j >= first && to !== undefined ? "" : "none";
        node.classList.toggle("minus", to < from);
        put(node, from ?? 0, to ?? 0);
      });
      const beside = (node, place, text) => {
        node.style.left = `${at(Math.max(0, place))}%`;
        node.textContent = text;
      };
      beside(was, before, this.step ? short(before) : "");
      beside(by, ends[0] + 0.85 * Math.max(0, before - ends[0]), !this.step ? "" : this.kept ? "left as it is" : `× ${short(factor)}`);
      beside(total, Math.max(...ends), short(ends.at(-1)));
      const texts = (terms.length > 2 ? [sum(terms)] : terms).map(bracket);
      if (this.step) texts.unshift(`${short(factor)} · ${bracket(before)}`);
      made.replaceChildren(`${"ℓa"[n]} = ${texts.length > 1 ? `${texts.join(" + ")} = ` : ""}`, element("b", {}, short(ends.at(-1))));
    }

    paintResult({ factor, grown, sums, output }, states) {
      const right = dot(softmax(this.data.scores), this.data.values);
      const { at, put } = axis([right, ...states.map((state) => state.output)]);
      const { said, bar, mark, total } = this.result;
      put(bar, 0, output);
      mark.style.left = `calc(${at(right)}% - 1px)`;
      const near = Math.abs(at(right) - at(output)) < 15;
      total.style.left = `${at(Math.max(0, output, near ? right : 0))}%`;
      total.textContent = short(output);
      said.replaceChildren(element("b", {}, "output so far"), ` = a ÷ ℓ = ${short(sums[1])} ÷ ${short(sums[0])} = `,
        element("b", {}, short(output)), " (the mark: softmax over all scores at once)");
      this.say(`Block ${this.step + 1} of ${states.length}. ` +
        (this.step === 0 ? "" : !grown ? "The largest score stays the same, and so do the old sums. "
          : this.kept ? "The largest score has grown, but the old sums still use its old value. "
          : `The largest score has grown, so the old sums shrink by the factor ${short(factor)}. `) +
        (this.step < states.length - 1 ? `So far the output is ${short(output)}.`
          : short(output) === short(right) ? `The output is ${short(output)}, the same as from softmax over all scores at once.`
          : `The output is ${short(output)}; softmax over all scores at once gives ${short(right)}.`));
    }

    // what is new goes from its column into the sums, once the old has shrunk
    travel() {
      const { first, last, parts } = this.measure()[this.step];
      for (const j of range(last).slice(first)) {
        const { x, bottom, width, height } = this.parts[j].getBoundingClientRect(); // of a bar of 1
        const tall = parts[j] * height;
        [{ x, y: bottom - tall, height: tall }, this.values[j].getBoundingClientRect()].forEach((from, n) => {
          const node = this.sums[n].fresh[j];
          const to = node.getBoundingClientRect();
          const transform = `translate(${from.x - to.x}px, ${from.y - to.y}px) `
            + `scale(${width / (to.width || 1)}, ${from.height / to.height})`;
          node.animate([{ transform, opacity: 0 }, { transform, offset: 0.15 }, {}],
            { duration: FLY, delay: SHRINK, fill: "backwards", easing: "ease-in-out" });
        });
      }
      for (const { old, funnel, kept, by, total } of this.sums) {
        old.animate([{ transform: "translateY(34px)" }, {}], LIFT);
        const shrink = (node, ...frames) => node.animate(frames, { duration: SHRINK - LIFT, delay: LIFT, fill: "backwards", easing: "ease-in-out" });
        shrink(kept, { left: old.style.left, width: old.style.width }, {});
        shrink(funnel, { opacity: 0 }, {});
        shrink(by, { opacity: 0 }, {});
        total.animate([{ opacity: 0 }, {}], { duration: 150, delay: SHRINK + FLY, fill: "backwards" });
      }
    }

    numbers() {
      return [["", "m", "factor", "ℓ", "a", "a ÷ ℓ"], ...this.measure().map((state, i) =>
        [`block ${i + 1}`, ...[state.m, state.factor, ...state.sums, state.output]
          .map((number) => fixed(number, 3))])];
    }
  };
});
