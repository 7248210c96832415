// Two recurrent translators get the same number. One has a single vector of it, which fills up token
// by token; the other looks back at each token. recurrent.js computes both.
attnbook.define("two-translators", ({ Interactive, element, shape, dot, softmax, fixed }) => {
  const T = attnbook.translator;
  const R = attnbook.recurrent({ dot, softmax });
  const PACE = { read: 260, write: 330 }; // milliseconds for a token
  const LONGEST = 20; // tokens
  const FAINT = 0.04; // weights that are not drawn
  const DESIGNS = { one_vector: "One vector", looking_back: "Looking back" };
  const DIGITS = ["", "one digit", "two digits", "three digits", "four digits", "five digits", "six digits"];
  const STILL = matchMedia("(prefers-reduced-motion: reduce)");

  return class TwoTranslators extends Interactive {
    static LINES = 5;
    static STYLE = `
      :host { container-type: inline-size; }
      .frame { --figure-width: 60rem; padding: 1rem 1.1rem; border: 0; border-radius: .8rem;
        background: var(--tint); }
      form, .steps { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem; }
      .controls { align-items: center; margin-bottom: .8rem; }
      input { width: 6.5rem; min-height: 2rem; padding: .1rem .5rem; border: 1px solid var(--soft);
        border-radius: .3rem; background: var(--paper); }
      button { cursor: pointer; }
      .steps button { border-color: var(--line); font-variant-numeric: tabular-nums; }
      .steps [aria-pressed="true"] { border-color: var(--weights); box-shadow: 0 0 0 1px var(--weights);
        background: var(--hover); font-weight: 600; }
      .refused { flex-basis: 100%; margin: 0; color: var(--wrong); }
      .refused:empty { display: none; }
      .panels { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
      .panel { position: relative; min-width: 0; padding: .7rem .8rem; border-radius: .6rem;
        background: var(--paper); border: 1px solid var(--line); }
      .head { display: flex; justify-content: space-between; gap: .5rem; margin-bottom: .5rem; }
      .title { font-size: 1.05rem; font-weight: 650; white-space: nowrap; }
      .verdict { text-align: right; font-weight: 600; }
      .verdict.good { color: var(--right); }
      .verdict.bad { color: var(--wrong); }
      svg { position: absolute; inset: 0; height: 100%; pointer-events: none; }
      .row { position: relative; display: flex; flex-wrap: wrap; justify-content: center;
        align-content: flex-start; gap: .3rem; }
      .english { align-content: flex-end; }
      .chip { --chip: var(--key); display: inline-flex; align-items: center; min-height: 1.9rem; padding: 0 .45em;
        border: 1.5px solid var(--chip); border-radius: .45em; font-size: .92rem; font-weight: 600;
        color: var(--chip); background: color-mix(in srgb, var(--chip) 5%, var(--paper)); }
      .french .chip { --chip: var(--query); }
      .row .chip.end { --chip: var(--soft); font-weight: 400; border-style: dashed; }
      .chip.reading { color: var(--paper); background: var(--chip); }
      .french .wrong { color: var(--paper); background: var(--wrong); border-color: var(--wrong); }
      .french .missing { --chip: var(--wrong); border-style: dashed; background: var(--paper); }
      .french .waiting { visibility: hidden; }
      .between { position: relative; display: grid; place-items: center; height: 7.5rem; }
      .vector { display: flex; align-items: center; gap: 2px; height: 3.6rem; padding: 0 .45rem;
        border: 2px solid var(--value); border-radius: .4rem; background: var(--paper); }
      .vector i { position: relative; width: 7px; height: 100%; border-inline: 0; }
      .vector i::after { content: ""; position: absolute; left: 0; right: 0; background: var(--value);
        top: calc(50% - max(var(--x), 0) * 45%); bottom: calc(50% + min(var(--x), 0) * 45%);
        min-height: 1px; }
      .vector i:nth-child(9) { margin-left: 5px; } /* what the second GRU has read */
      .between .note { position: absolute; left: calc(50% + 5.9rem); width: 4.5rem; margin: 0; }
      path { fill: none; stroke: var(--weights); opacity: .7; }
      .one_vector path { stroke: var(--soft); stroke-width: 1.5; opacity: .35; }
      .one_vector path.on { stroke: var(--value); stroke-width: 3; opacity: 1; }
      @media (prefers-reduced-motion: no-preference) {
        .vector i::after { transition: top .2s, bottom .2s; }
      }
      @container (max-width: 38rem) {
        .frame { padding: .8rem .6rem; }
        .panels { grid-template-columns: 1fr; gap: .6rem; }
        .between { height: 5.4rem; }
        .vector { height: 3rem; }
        .chip { min-height: 1.7rem; font-size: .85rem; }
        .between .note { width: 3.5rem; }
        .steps { gap: .25rem; font-size: .88rem; }
        .steps button { padding-inline: .35rem; }
      }
    `;

    build() {
      this.models = R.models();
      this.known = this.data.tokens.map((tokens) => new Map(tokens.map((t, i) => [t, i])));
      this.buildControls();
      this.panels = Object.entries(DESIGNS).map(([design, title]) => this.panel(design, title));
      this.stage.className = "panels";
      this.stage.append(...this.panels.map(({ section }) => section));
      this.whenResized(this.stage, () => this.place());
      this.show(this.data.number);
    }

    paint() {}

    buildControls() {
      const { steps, number } = this.data;
      this.steps = steps.map((step) => element("button", { type: "button", "aria-pressed": false,
        onclick: () => this.read(String(step)) }, step.toLocaleString("en")));
      this.input = element("input", { type: "text", id: "typed", inputmode: "numeric", value: number,
        autocomplete: "off", "aria-describedby": "refused" });
      this.refused = element("p", { class: "refused", id: "refused", role: "alert" });
      const form = element("form", { onsubmit: (event) => {
        event.preventDefault();
        this.read(this.input.value);
      } }, element("label", { for: "typed" }, "or your own"), this.input,
      element("button", { type: "submit" }, "Translate"));
      this.controls.append(element("div", { class: "steps", role: "group",
        "aria-label": "Make the number longer" }, "Make it longer:", ...this.steps), form, this.refused);
    }

    panel(design, title) {
      const [english, french] = ["English", "French"].map((language) => element("div", {
        class: `row ${language.toLowerCase()}`, role: "group", "aria-label": language }));
      const lines = shape("svg", { "aria-hidden": "true" });
      const verdict = element("span", { class: "verdict" });
      const bars = this.data.features.map(() => element("i"));
      const vector = element("div", { class: "vector", "aria-hidden": "true" }, ...bars);
      const between = element("div", { class: "between" },
        ...(design === "one_vector" ? [vector, element("p", { class: "note" },
          `${bars.length} numbers`)] : []));
      const section = element("div", { class: `panel ${design}`, role: "group", "aria-label": title },
        lines, element("div", { class: "head" }, element("span", { class: "title" }, title), verdict), this.roomy(english, 0), between,
        this.roomy(french, 1));
      return { design, section, english, french, lines, verdict, bars, vector };
    }

    // a row that has the room of the longest number's tokens, so that nothing jumps
    roomy(row, side) {
      const longest = Math.max(...this.data.steps);
      const texts = [...T.tokensOf(side ? T.spellFrench(longest) : T.spell(longest)), "end"];
      const room = element("div", { class: "row", "aria-hidden": "true" },
        ...texts.map((text) => element("span", { class: "chip" }, text)));
      return element("div", { class: "stack" }, room, row);
    }

    // what was typed: a number below a million, or trouble
    read(typed) {
      const digits = typed.trim().replace(/[\s,_]/g, "");
      const trouble = !digits ? "Type a number, such as 4321."
        : !/^\d+$/.test(digits) ? "Type a whole number in digits, such as 4321."
          : Number(digits) >= 1e6 ? "They have learned numbers below 1,000,000: try one of up to six digits."
            : "";
      this.input[trouble ? "setAttribute" : "removeAttribute"]("aria-invalid", "true");
      this.refused.textContent = trouble && `${trouble} The pictures still show ${this.number.toLocaleString("en")}.`;
      if (trouble) return;
      this.input.value = Number(digits);
      this.show(Number(digits));
    }

    // what one of the models writes for a number, as tokens and their looks
    write(design, number) {
      const source = [...T.tokensOf(T.spell(number)).map((t) => this.known[0].get(t)), T.END];
      const found = [...R.greedySearch(this.models[design], source, { maxLength: LONGEST })];
      const ended = found.at(-1).token === T.END;
      if (ended) found.pop();
      return { source, ended, looks: found.map(({ weights }) => weights),
        texts: found.map(({ token }) => this.data.tokens[1][token]) };
    }

    show(number) {
      clearTimeout(this.playing);
      this.number = number;
      this.steps.forEach((step, i) => step.setAttribute("aria-pressed", this.data.steps[i] === number));
      this.wanted = T.tokensOf(T.spellFrench(number));
      for (const panel of this.panels) this.fill(panel);
      this.place();
      if (STILL.matches) this.at(Infinity);
      else this.play(0);
    }

    play(time) {
      this.at(time);
      const last = Math.max(...this.panels.map(({ source, chips }) => source.length + chips.length));
      const pace = time < this.panels[0].source.length ? PACE.read : PACE.write;
      if (time <= last) this.playing = setTimeout(() => this.play(time + 1), pace);
    }

    fill(panel) {
      const found = this.write(panel.design, this.number);
      const marks = this.compare(found.texts);
      const right = found.ended && marks.every(({ kind }) => kind === "right");
      const after = R.prefill(this.models[panel.design].parameters, found.source).after;
      Object.assign(panel, found, { marks, right, after });
      panel.keys = found.source.map((token) => {
        const end = token === T.END;
        return element("span", { class: end ? "chip end" : "chip" }, end ? "end" : this.data.tokens[0][token]);
      });
      panel.chips = marks.map(({ kind, text, at }) => Object.assign(element("span",
        { class: `chip ${kind}`, "aria-label": kind === "right" ? null : `${text}, ${kind}`,
          role: kind === "right" ? null : "img" },
        kind === "missing" ? "missing" : text), { at }));
      panel.english.replaceChildren(...panel.keys);
      panel.french.replaceChildren(...panel.chips);
    }

    // Which tokens are right, wrong and missing, with the fewest changes from what is wanted;
    // `at` is the step that wrote it.
    compare(texts) {
      const { wanted } = this;
      const costs = Array.from({ length: texts.length + 1 }, (_, i) =>
        Array.from({ length: wanted.length + 1 }, (_, j) => i + j));
      for (let i = 1; i <= texts.length; i++)
        for (let j = 1; j <= wanted.length; j++)
          costs[i][j] = Math.min(costs[i - 1][j] + 1, costs[i][j - 1] + 1,
            costs[i - 1][j - 1] + (texts[i - 1] !== wanted[j - 1]));
      const marks = [];
      let [i, j] = [texts.length, wanted.length];
      while (i || j) {
        const same = i && j && texts[i - 1] === wanted[j - 1];
        if (i && j && costs[i][j] === costs[i - 1][j - 1] + !same) {
          [i, j] = [i - 1, j - 1];
          marks.unshift({ kind: same ? "right" : "wrong", text: texts[i], at: i });
        } else if (i && costs[i][j] === costs[i - 1][j] + 1)
          marks.unshift({ kind: "wrong", text: texts[--i], at: i });
        else marks.unshift({ kind: "missing", text: wanted[--j], at: null });
      }
      return marks;
    }

    // a moment: first both read a token at each step, then they write one
    at(time) {
      for (const panel of this.panels) {
        const { source, chips, lines, keys, after, bars } = panel;
        const read = Math.min(time, source.length);
        const written = time - source.length;
        const isReading = time < source.length;
        keys.forEach((key, j) => key.classList.toggle("reading",
          isReading && (j === read - 1 || j === source.length - read)));
        bars.forEach((bar, k) => bar.style.setProperty("--x", fixed(after[read][k]).replace("−", "-")));
        chips.forEach((chip, i) => chip.classList.toggle("waiting", i >= written));
        for (const path of lines.children) {
          path.style.display = path.step === undefined || path.step < written ? "" : "none";
          path.classList.toggle("on", path.token !== undefined &&
            isReading && (path.token === read - 1 || path.token === source.length - read));
        }
        const done = written >= chips.length;
        panel.verdict.className = `verdict ${done ? (panel.right ? "good" : "bad") : ""}`;
        panel.verdict.textContent = !done ? "" : panel.right ? "✓ right" : `✗ wrong: ${this.saying(panel)}`;
      }
      if (this.panels.every(({ source, chips }) => time - source.length >= chips.length)) this.sentence();
      else this.said.textContent = "";
    }

    // what a French text says that is wrong
    saying({ texts, ended }) {
      const said = T.numberOfFrench(T.join(texts));
      return !ended ? "it does not stop" : said === null ? "no number" : `it says ${said.toLocaleString("en")}`;
    }

    sentence() {
      const { number, data } = this;
      const digits = String(number).length;
      const [one, looking] = Object.keys(DESIGNS).map((design) => data.right[design][digits - 1]);
      const tested = data.right.tested[digits - 1];
      const whose = digits < 3 ? `all ${tested} numbers of ${DIGITS[digits]}`
        : `${tested} numbers of ${DIGITS[digits]} that they never saw in training`;
      const results = this.panels.map(({ right }) => (right ? "right" : "wrong"));
      this.say(`${number.toLocaleString("en")}: one vector is ${results[0]}, looking back is ${results[1]}. ` +
        `Of ${whose}, one vector gets ${one} right, and looking back ${looking}.`);
    }

    // lines between tokens, as thick as a weight
    place() {
      for (const { design, section, keys, chips, looks, lines, vector } of this.panels) {
        const stage = section.getBoundingClientRect();
        const of = (node) => {
          const box = node.getBoundingClientRect();
          return { x: box.x - stage.x + box.width / 2, top: box.top - stage.top, bottom: box.bottom - stage.top };
        };
        const paths = [];
        const join = (from, to, width, more) => {
          const middle = (from.bottom + to.top) / 2;
          paths.push(Object.assign(shape("path", { "stroke-width": width,
            d: `M${from.x},${from.bottom} C${from.x},${middle} ${to.x},${middle} ${to.x},${to.top}` }), more));
        };
        if (design === "one_vector") {
          keys.forEach((key, token) => join(of(key), of(vector), 1.5, { token }));
          chips.forEach((chip, step) => join(of(vector), of(chip), 1.5, { step }));
        } else
          chips.forEach((chip, step) => (looks[chip.at] ?? []).forEach((weight, j) => {
            if (weight > FAINT) join(of(keys[j]), of(chip), fixed(9 * weight, 1), { step });
          }));
        const hidden = new Set([...lines.children].filter((p) => p.style.display).map((p) => p.step));
        for (const path of paths) if (hidden.has(path.step)) path.style.display = "none";
        lines.replaceChildren(...paths);
      }
    }

    disconnectedCallback() {
      super.disconnectedCallback();
      clearTimeout(this.playing);
    }
  };
});
