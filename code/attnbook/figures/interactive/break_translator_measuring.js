// Of the breakable translator: how many numbers it still gets right. It is measured in slices, so
// that the page stays alive.
attnbook.measuring ??= ({ element }, Figure) => {
  const T = attnbook.translator;
  const SLICE = 8; // milliseconds
  const EXAMPLES = 4; // of numbers that went wrong
  const HEAD = ["changed", "right", "95 % interval", "you predicted", "trained like this, but briefly"];
  const GUESSES = [[0, 20], [21, 100], [101, 180], [181, 200]];

  // two shares that are the same are one
  const between = (low, high) => (low === high ? low : `${low} to ${high}`);

  // Wilson's interval: which shares of all held-out numbers are likely, at 95 % confidence
  function interval(right, of) {
    const z = 1.96;
    const [share, extra] = [right / of, z * z / of];
    const middle = share + extra / 2;
    const half = z * Math.sqrt(share * (1 - share) / of + extra / (4 * of));
    return [middle - half, middle + half].map((end) =>
      Math.min(1, Math.max(0, end / (1 + extra))));
  }

  return class extends Figure {
    buildMeasurement() {
      const count = this.data.tested.length;
      this.go = element("button", { type: "button", class: "go", onclick: () => this.ask() },
        `Measure on ${count} numbers`);
      const reset = element("button", { type: "button", onclick: () => {
        this.switches = {};
        this.change("divisor", "");
      } }, "Reset all switches");
      this.guess = element("div", { class: "guess", "aria-live": "polite" });
      this.progress = element("progress", { max: count, value: 0, "aria-label": "Numbers tested" });
      this.tried = element("div", { class: "scroll tried", tabindex: 0, role: "region",
        "aria-label": "Measurements" });
      this.copy = element("button", { type: "button", onclick: () => this.copyTable() },
        "Copy the table");
      this.copied = element("div");
      this.wrongs = element("div", { class: "wrongs" });
      this.stage.append(element("p", { class: "title" }, "Measure the model on numbers that it never " +
        `saw in training. As trained, it gets ${count} of ${count} right`),
        element("div", { class: "row" }, this.go, reset), this.guess, this.wrongs, this.tried,
        element("div", { class: "row" }, this.copy), this.copied);
      this.copy.hidden = true;
    }

    key() {
      return JSON.stringify(this.switches);
    }

    // before switches are measured for the first time, one says what one expects
    ask() {
      const key = this.key();
      if (key === "{}" || this.guesses.has(key)) {
        this.measure();
        return;
      }
      this.stopMeasuring();
      this.guess.replaceChildren(
        element("p", {}, "First, make a prediction. How many of the 200 numbers will be right?"),
        element("div", { class: "row" }, ...GUESSES.map(([low, high]) =>
          element("button", { type: "button", onclick: () => {
            this.guesses.set(key, [low, high]);
            this.measure();
          } }, `${low} to ${high}`))));
      this.guess.querySelector("button").focus();
    }

    stopMeasuring() {
      this.measuring = null;
    }

    // every token of every number; at the end how many numbers are right, and some that are not
    *testing(switches) {
      const { tested, most } = this.data;
      let right = 0;
      const wrong = [];
      for (const [done, number] of tested.entries()) {
        const wanted = this.wantedOf(number);
        const written = [];
        let good = true;
        for (const { token } of T.greedySearch(this.model, this.sourceOf(T.spell(number)),
          { maxLength: most, switches })) {
          yield done;
          good &&= token === wanted[written.length];
          written.push(token);
          if (!good && wrong.length === EXAMPLES) break; // nothing that follows can mend it
        }
        if (good) right++;
        else if (wrong.length < EXAMPLES) wrong.push({ number, written });
      }
      return { right, wrong };
    }

    measure() {
      const { key, switches } = { key: this.key(), switches: { ...this.switches } };
      const test = this.measuring = this.testing(switches);
      this.progress.value = 0;
      this.guess.replaceChildren(element("p", {}, "Testing …"), this.progress);
      this.wrongs.replaceChildren();
      this.go.focus();
      const slice = () => {
        if (this.measuring !== test || !this.isConnected) return;
        const end = performance.now() + SLICE;
        while (performance.now() < end) {
          const { value, done } = test.next();
          if (done) {
            this.results.set(key, { switches, ...value });
            this.showResult(key);
            return;
          }
          this.progress.value = value;
        }
        setTimeout(slice);
      };
      setTimeout(slice);
    }

    // what models learn that never had what these switches take away, if the laboratory knows
    learned(switches) {
      const entries = Object.entries(switches);
      if (entries.length > 1) return null;
      const [name, value] = entries[0] ?? ["none", ""];
      const heads = Array.isArray(value) && value.length === 1;
      const key = name === "none" ? name : `${name}=${heads ? 0 : value}`;
      return attnbook.numbers.without.switches[key] ?? null;
    }

    rows() {
      return [...this.results].map(([key, { switches, right }]) => {
        const count = this.data.tested.length;
        const [low, high] = interval(right, count);
        const learned = this.learned(switches);
        return [this.described(switches), `${right} of ${count}`,
          `${this.percent(low)}–${this.percent(high)} %`, this.guesses.get(key)?.join("–") ?? "–",
          learned ? `${[...new Set([learned[0], learned[2]])].join("–")} %` : "–"];
      });
    }

    showResult(key) {
      this.measuring = null;
      const count = this.data.tested.length;
      const { switches, right, wrong } = this.results.get(key);
      const [low, high] = interval(right, count).map(this.percent);
      const { seeds } = attnbook.numbers.without;
      const learned = this.learned(switches);
      const changed = Object.keys(switches).length > 0;
      this.tried.replaceChildren(this.tableOf([HEAD, ...this.rows()]));
      this.copy.hidden = false;
      this.copied.replaceChildren();
      const line = (name, ...text) => element("p", {}, element("strong", {}, name), ...text);
      this.guess.replaceChildren(line(changed ? "Changed in this model. " : "As trained. ",
        `${changed ? `With “${this.described(switches)}”, the` : "The"} model gets ${right} of ${count} ` +
        `right, which is ${100 * right / count} %. At 95 % confidence, the share for all held-out ` +
        `numbers is ${between(low, high)} %.${this.scored(key)}`));
      if (learned)
        this.guess.append(line(changed ? "Trained like this from the start. " : "Trained again. ",
          `${seeds} ${changed ? "" : "unchanged "}models, each with a much shorter training, get ` +
          `${between(learned[0], learned[2])} % right.`));
      if (learned && changed)
        this.guess.append(element("p", {}, "Changing a trained model is not the same as training " +
          "a model with the change from the start."));
      if (wrong.length) this.showWrong(wrong, count - right);
    }

    // how good the predictions are
    scored(key) {
      const good = (key) => {
        const [[low, high], { right }] = [this.guesses.get(key), this.results.get(key)];
        return low <= right && right <= high;
      };
      if (!this.guesses.has(key)) return "";
      const said = [...this.guesses.keys()].filter((key) => this.results.has(key));
      return ` You predicted ${this.guesses.get(key).join("–")}, which is ${good(key) ? "right" : "wrong"}. ` +
        `So far, you have predicted ${said.filter(good).length} of ${said.length} correctly.`;
    }

    // some numbers that went wrong, with what was written; one sees how by pressing the number
    showWrong(wrong, all) {
      const rows = wrong.map(({ number, written }) => {
        const text = this.textOf(written);
        const shown = number.toLocaleString("en");
        return element("tr", {}, element("th", { scope: "row" },
          element("button", { type: "button", "aria-label": `Translate ${shown}`, onclick: () => {
            this.input.value = number;
            this.read(this.input.value);
          } }, shown)), element("td", {}, `“${text}”`),
        element("td", {}, this.saying(text, written.at(-1) === T.END)));
      });
      this.wrongs.replaceChildren(element("p", {}, element("strong", {}, all > rows.length
        ? `The first ${rows.length} of the ${all} numbers that went wrong` : "Numbers that went wrong")),
      element("table", {}, element("tbody", {}, ...rows)));
    }

    async copyTable() {
      const text = [HEAD, ...this.rows()].map((row) => row.join("\t")).join("\n");
      try {
        await navigator.clipboard.writeText(text);
        this.copied.replaceChildren(element("p", { class: "note" }, "Copied."));
      } catch { // in a frame that may not: to copy by hand
        const area = element("textarea", { readonly: true, "aria-label": "The table" });
        area.value = text;
        this.copied.replaceChildren(area);
        area.select();
      }
    }
  };
};
