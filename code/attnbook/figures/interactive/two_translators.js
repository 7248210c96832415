// Two recurrent translators get the same number. One has a single vector of it; the other has a
// vector of each token, and looks back at all. recurrent.js computes both.
attnbook.define("two-translators", (shared) => {
  const { Interactive, element, shape, dot, softmax, fixed, ribbons, percent, boxesIn, still } = shared;
  const T = attnbook.translator;
  const R = attnbook.recurrent({ dot, softmax });
  const PACE = { read: 220, write: 380 }; // milliseconds for a token
  const LONGEST = 20; // tokens
  const FAINT = 0.04; // weights that are not drawn
  const DESIGNS = {
    one_vector: ["One vector", (size) => `${size} numbers for all tokens`],
    looking_back: ["Looking back", (size) => `${size} numbers for each token`],
  };
  const DIGITS = ["", "one digit", "two digits", "three digits", "four digits", "five digits", "six digits"];

  return class TwoTranslators extends Interactive {
    static LINES = 5;
    static STYLE = `
      :host { container-type: inline-size; }
      .frame { --figure-width: 60rem; padding: 1rem 1.1rem .6rem; border: 0; border-radius: .8rem;
        background: var(--tint); }
      form, .steps { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem; }
      .controls { align-items: center; margin-bottom: .8rem; }
      input { width: 5.5rem; min-height: 2rem; padding: .1rem .5rem; border: 1px solid var(--soft);
        border-radius: .3rem; background: var(--paper); }
      button { cursor: pointer; }
      .steps button { border-color: var(--line); font-variant-numeric: tabular-nums; }
      .steps [aria-pressed="true"] { border-color: var(--weights); box-shadow: 0 0 0 1px var(--weights);
        background: var(--hover); font-weight: 600; }
      .again { min-width: 9.6rem; margin-left: auto; border-color: var(--line); }
      .refused { flex-basis: 100%; margin: 0; color: var(--wrong); }
      .refused:empty { display: none; }
      .panels { display: grid; gap: .7rem; }
      .panel { display: grid; grid-template-columns: 11rem minmax(0, 1fr); gap: 1rem; min-width: 0;
        padding: .7rem .9rem; border: 1px solid var(--line); border-radius: .6rem;
        background: var(--paper); }
      .about { display: grid; align-content: start; gap: .15rem; }
      .title { font-size: 1.05rem; font-weight: 650; white-space: nowrap; }
      .about .note { margin: 0; white-space: nowrap; }
      .verdict { min-height: 1.4em; font-weight: 600; color: var(--soft); }
      .rate { margin: .1rem 0 0; color: var(--soft); font-size: 13px; line-height: 1.2; }
      .rate b { display: block; color: var(--ink); font-size: 2.4rem; line-height: 1.1; font-variant-numeric: tabular-nums; }
      .verdict.good { color: var(--right); }
      .verdict.bad { color: var(--wrong); }
      .shares { display: flex; flex-wrap: wrap; align-items: end; gap: 3px; align-self: end; margin-top: .2rem; }
      .shares span { flex: 1; color: var(--soft); font-size: 12px; line-height: 1.4; text-align: center; }
      .shares i { display: block; height: 1.5rem; margin-bottom: 2px; border-radius: 2px;
        background: linear-gradient(to top, var(--bar) var(--share), var(--line) 0); --bar: var(--rivals); }
      .shares::after { content: "by number of digits"; flex-basis: 100%; color: var(--soft);
        font-size: 12px; }
      .shares .on { color: var(--ink); font-weight: 600; } .shares .on i { --bar: var(--right); }
      .flow { --scale: 1; position: relative; display: grid; grid-template: auto 1fr auto / minmax(0, 1fr);
        min-width: 0; min-height: 10.5rem; font-size: calc(.92rem * var(--scale)); }
      svg { position: absolute; inset: 0; height: 100%; pointer-events: none; }
      .row { position: relative; display: flex; justify-content: space-evenly; gap: .3em; }
      .token { display: grid; justify-items: center; align-items: center; gap: .25rem; }
      .chip { --chip: var(--key); display: inline-flex; align-items: center; min-height: 2.05em;
        box-sizing: border-box; padding: 0 .45em; border: 1.5px solid var(--chip); border-radius: .45em; font-weight: 600;
        white-space: nowrap; color: var(--chip);
        background: color-mix(in srgb, var(--chip) 5%, var(--paper)); }
      .french .chip { --chip: var(--query); }
      .chip.end { --chip: var(--soft); font-weight: 400; border-style: dashed; }
      .chip.reading { color: var(--paper); background: var(--chip); }
      .french .wrong { --chip: var(--wrong); background: repeating-linear-gradient(135deg,
        color-mix(in srgb, var(--wrong) 20%, var(--paper)) 0 3px, var(--paper) 3px 7px); }
      .french .wrong::before { content: "✗" / ""; margin-right: .25em; }
      .french .missing { --chip: var(--wrong); border-style: dashed; background: var(--paper); }
      .french .waiting { --chip: var(--line); color: transparent; background: none; border-style: dashed; }
      .french .waiting::before { visibility: hidden; }
      .between { position: relative; display: grid; place-items: center; }
      .vector { display: flex; gap: .07em; height: 1.5em; padding: 0 .25em; border-radius: .25em;
        border: 1.5px solid var(--value); background: var(--paper); }
      .vector i { position: relative; width: .16em; height: 100%; }
      .vector i::after { content: ""; position: absolute; left: 0; right: 0; background: var(--value);
        top: calc(50% - max(var(--x), 0) * 45%); bottom: calc(50% + min(var(--x), 0) * 45%);
        min-height: 1px; }
      .vector i:nth-child(9) { margin-left: .2em; } /* of the second GRU */
      path { fill: var(--weights); opacity: .6; }
      .busy path { opacity: .25; } .busy path.late { opacity: .07; }
      .busy path.on { opacity: .8; }
      /* no weights: one width */
      .one_vector path { fill: none; stroke: var(--value); stroke-width: 2; opacity: .5; }
      .one_vector path.on { opacity: 1; }
      @media (prefers-reduced-motion: no-preference) {
        .vector i::after { transition: top .2s, bottom .2s; }
        path { transition: opacity .2s; }
      }
      @container (max-width: 47rem) {
        .panel { grid-template-columns: minmax(0, 1fr); gap: .5rem; }
        .about { display: flex; flex-wrap: wrap; gap: 0 .3rem; justify-content: space-between; align-items: center; }
        .rate { display: flex; align-items: center; gap: .2rem; margin: 0; line-height: 1.05; }
        .rate b { font-size: clamp(1.2rem,7cqi,1.7rem); white-space: nowrap; } .rate span { width: 4.7rem; }
        .about :is(.note, .verdict) { order: 1; }
        .shares { display: none; }
      }
      @container (max-width: 38rem) {
        .frame { display: grid; gap: .4rem; padding: .5rem; }
        .controls { display: contents; }
        .steps, .panels { order: -1; }
        .panels { gap: .4rem; }
        .panel { padding: .2rem .5rem; gap: 0; }
        .about { display: grid; } .verdict { font-size: 14px; } .about .note { display: none; } .rate { grid-area: 1 / 2 / 3; }
        .flow { grid-template: minmax(10.9rem, auto) / auto 1fr auto; font-size: 12.5px; }
        .row { flex-direction: column; justify-content: space-around; gap: 1px; }
        .french { align-items: end; }
        .token { grid-template-columns: minmax(5.7em, max-content) auto; justify-items: start; }
        .chip { min-height: 0; line-height: 1.2; }
        .steps { gap: .25rem; font-size: .88rem; }
        .steps button { padding-inline: .35rem; }
        .again { margin: 0 auto 0 0; }
      }
    `;

    build() {
      this.models = R.models();
      this.known = this.data.tokens.map((tokens) => new Map(tokens.map((t, i) => [t, i])));
      this.buildControls();
      this.panels = Object.keys(DESIGNS).map((design) => this.panel(design));
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
      this.again = element("button", { type: "button", class: "again",
        onclick: () => (this.again.textContent === "Stop" ? this.stop() : this.play(0)) });
      this.again.hidden = still();
      this.controls.append(element("div", { class: "steps", role: "group",
        "aria-label": "Number" }, "Number:", ...this.steps), form, this.again,
      this.refused);
    }

    panel(design) {
      const [title, note] = DESIGNS[design];
      const { features, right } = this.data;
      const [english, french] = ["English", "French"].map((language) => element("div", {
        class: `row ${language.toLowerCase()}`, role: "group", "aria-label": language }));
      const lines = shape("svg", { "aria-hidden": "true" });
      const verdict = element("span", { class: "verdict" });
      const [rate, digits] = [element("b"), element("span")];
      const vector = this.vector();
      const shares = right[design].map((count, i) => element("span", {},
        element("i", { style: `--share: ${fixed(100 * count / right.tested[i], 0)}%` }), `${i + 1}`));
      const about = element("div", { class: "about" }, element("span", { class: "title" }, title),
        element("p", { class: "note" }, note(features.length)), verdict,
        element("p", { class: "rate", "aria-hidden": "true" }, rate, digits),
        element("div", { class: "shares", "aria-hidden": "true" }, ...shares));
      const flow = element("div", { class: "flow" }, lines, english,
        element("div", { class: "between" }, ...(design === "one_vector" ? [vector] : [])), french);
      const section = element("div", { class: `panel ${design}`, role: "group", "aria-label": title },
        about, flow);
      return { design, section, flow, english, french, lines, verdict, vector, shares, rate, digits };
    }

    // as many bars as a state has numbers
    vector() {
      return element("div", { class: "vector", "aria-hidden": "true" },
        ...this.data.features.map(() => element("i")));
    }

    stop() {
      clearTimeout(this.timer);
      this.again.textContent = "Watch them write";
      this.at(Infinity);
    }

    show(number) {
      this.fill(number);
      this.stop();
    }

    play(time) {
      this.at(time);
      const last = Math.max(...this.panels.map(({ source, chips }) => source.length + chips.length));
      if (time < last) {
        const pace = time < this.panels[0].source.length ? PACE.read : PACE.write;
        this.timer = setTimeout(() => this.play(time + 1), pace);
        this.again.textContent = "Stop";
      } else this.stop();
    }

    // what was typed: a number below a million, or trouble
    read(typed) {
      const digits = typed.trim().replace(/[\s,_]/g, "");
      const trouble = !digits ? "Type a number, such as 4321."
        : !/^\d+$/.test(digits) ? "Type a whole number in digits, such as 4321."
          : Number(digits) >= 1e6 ? "The translators only know numbers below 1,000,000. Type up to six digits."
            : "";
      this.input[trouble ? "setAttribute" : "removeAttribute"]("aria-invalid", "true");
      this.refused.textContent = trouble && `${trouble} The picture still shows ${this.number.toLocaleString("en")}.`;
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

    // both translators' texts of a number
    fill(number) {
      this.number = number;
      this.steps.forEach((step, i) => step.setAttribute("aria-pressed", this.data.steps[i] === number));
      this.wanted = T.tokensOf(T.spellFrench(number));
      for (const panel of this.panels) this.fillPanel(panel);
      this.time = Infinity;
      this.place();
    }

    fillPanel(panel) {
      const found = this.write(panel.design, this.number);
      const marks = this.compare(found.texts);
      const right = found.ended && marks.every(({ kind }) => kind === "right");
      Object.assign(panel, found, { right, ...R.prefill(this.models[panel.design].parameters, found.source) });
      panel.keys = found.source.map((token) => {
        const end = token === T.END;
        return element("span", { class: end ? "chip end" : "chip" }, end ? "end" : this.data.tokens[0][token]);
      });
      panel.states = panel.design === "one_vector" ? [] : panel.keys.map(() => this.vector());
      panel.chips = marks.map(({ kind, text, at }) => Object.assign(element("span",
        { class: `chip ${kind}`, "aria-label": kind === "right" ? null : `${text}, ${kind}`,
          role: kind === "right" ? null : "img" },
        kind === "missing" ? "missing" : text), { at }));
      panel.english.replaceChildren(...panel.keys.map((key, j) =>
        element("span", { class: "token" }, key, ...panel.states.slice(j, j + 1))));
      panel.french.replaceChildren(...panel.chips);
      const { right: counts } = this.data;
      const length = String(this.number).length;
      panel.shares.forEach((share, i) => share.classList.toggle("on", i + 1 === length));
      panel.rate.textContent = percent(counts[panel.design][length - 1] / counts.tested[length - 1]);
      panel.digits.textContent = `right, with ${DIGITS[length]}`;
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

    // a moment: both read a token at each step, then write one
    at(time) {
      this.time = time;
      for (const panel of this.panels) {
        const { source, chips, lines, keys } = panel;
        const read = Math.min(time, source.length);
        const written = time - source.length;
        const busy = written < chips.length;
        const isRead = (j) => busy && written <= 0 && (j === read - 1 || j === source.length - read);
        keys.forEach((key, j) => key.classList.toggle("reading", isRead(j)));
        this.fillVectors(panel, read);
        chips.forEach((chip, i) => chip.classList.toggle("waiting", i >= written));
        lines.classList.toggle("busy", busy);
        for (const path of lines.children) {
          path.classList.toggle("late", path.step >= written);
          path.classList.toggle("on", isRead(path.token) || (busy && path.step === written - 1));
        }
        panel.verdict.className = `verdict ${busy ? "" : panel.right ? "good" : "bad"}`;
        panel.verdict.textContent = busy ? (written > 0 ? "writes …" : "reads …") : panel.right ? "✓ right" : `✗ ${this.saying(panel)}`;
      }
      if (this.panels.every(({ source, chips }) => time - source.length >= chips.length)) this.sentence();
      else if (time <= this.panels[0].source.length)
        this.say("Both read the number token by token, and fill their vectors. The first keeps a single vector, and the "
          + "second keeps a vector for each token.");
      else this.say("Both write token by token. The first has only its single vector. The second looks back, and the thicker a "
        + "line, the more it takes from the vector there.");
    }

    // what each GRU knows after some tokens: the first begins on the left, the second on the right
    fillVectors({ vector, states, after, memory, source }, read) {
      const half = this.data.features.length / 2;
      const set = (node, numbers) => [...node.children].forEach((bar, k) =>
        bar.style.setProperty("--x", fixed(numbers[k]).replace("−", "-")));
      set(vector, after[read]);
      states.forEach((state, j) => set(state, memory[j].map((number, k) =>
        ((k < half ? j < read : j >= source.length - read) ? number : 0))));
    }

    // what is predicted in place of the number
    saying({ texts, ended }) {
      const said = T.numberOfFrench(T.join(texts));
      return !ended ? "never predicts the end" : `predicts ${said?.toLocaleString("en") ?? "no number"}`;
    }

    sentence() {
      const { number, data } = this;
      const digits = String(number).length;
      const [one, looking] = Object.keys(DESIGNS).map((design) => data.right[design][digits - 1]);
      const tested = data.right.tested[digits - 1];
      const whose = digits < 3 ? `all ${tested} numbers with ${DIGITS[digits]}`
        : `${tested} unseen numbers with ${DIGITS[digits]}`;
      const [first, second] = this.panels.map(({ right }) => (right ? "right" : "wrong"));
      this.say(`The translator with one vector gets ${number.toLocaleString("en")} ${first}, and the one that looks ` +
        `back gets it ${second}. Of ${whose}, the first gets ${one} right, and the second gets ${looking} right.`);
    }

    // smaller letters where a row would be too long, and what joins its tokens
    place() {
      for (const { flow } of this.panels) flow.style.removeProperty("--scale");
      const rows = this.panels.flatMap(({ english, french }) => [english, french]);
      const scale = Math.min(1, ...rows.map((row) => row.clientWidth / row.scrollWidth || 1));
      for (const panel of this.panels) {
        panel.flow.style.setProperty("--scale", fixed(scale, 3));
        panel.lines.replaceChildren(...this.ribbonsOf(panel));
      }
      this.at(this.time);
    }

    // Where a node of a panel is: its middle x and width along its row, `near` and `far` across it
    where(node, { flow, turned }) {
      const { x, width, height, left, right, top, bottom } = boxesIn(flow)(node);
      return turned ? { x: (top + bottom) / 2, width: height, near: left, far: right }
        : { x, width, near: top, far: bottom };
    }

    ribbonsOf(panel) {
      const { keys, states, chips, vector, looks } = panel;
      panel.turned = getComputedStyle(panel.french).flexDirection === "column"; // on a telephone
      const path = (d, what) => Object.assign(shape("path", { d,
        transform: panel.turned && "matrix(0 1 1 0 0 0)" }), what);
      const at = (nodes) => nodes.map((node) => this.where(node, panel));
      const written = at(chips);
      if (panel.design === "looking_back")
        return ribbons(written.map((chip) => ({ ...chip, y: chip.near })),
          at(states).map((state) => ({ ...state, y: state.far })),
          chips.map((chip) => looks[chip.at] ?? states.map(() => 0)), FAINT)
          .map(({ looker, d }) => path(d, { step: looker }));
      // everything goes into one vector, and comes out of it
      const box = this.where(vector, panel);
      const part = (i, of) => box.x + 0.8 * box.width * ((i + 0.5) / of - 0.5);
      const line = (x, y, to, low) =>
        `M${x},${y}C${x},${(y + low) / 2} ${to},${(y + low) / 2} ${to},${low}`;
      return [
        ...at(keys).map(({ x, far }, token) =>
          path(line(x, far, part(token, keys.length), box.near), { token })),
        ...written.map(({ x, near }, step) =>
          path(line(part(step, chips.length), box.far, x, near), { step })),
      ];
    }
  };
});
