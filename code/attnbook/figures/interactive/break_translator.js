// A translator of numbers to be used, broken and measured. It is computed in translator.js; here is
// what one sees of it. All that takes long is done in slices, so that the page stays alive.
attnbook.define("break-translator", ({ Interactive, element, range, fixed }) => {
  const T = attnbook.translator;
  const SLICE = 8; // milliseconds

  const WEIGHTS = [["", "as learned"], ["uniform", "equally at all"], ["first",
    "only at the first token"], ["off", "not at all"]];
  // of each switch: its label, and its values with what they say; "" is as it was trained
  const SWITCHES = {
    divisor: ["Scores are divided by", [["", "√8, the root of d_k"], ["off", "1, not at all"],
      ["sqrt(d_model)", "√32, the root of d_model"]]],
    encoder_weights: ["The encoder looks at the English words", WEIGHTS],
    decoder_weights: ["The decoder looks at its own French words", WEIGHTS],
    cross_weights: ["The decoder looks across at the English words", WEIGHTS],
    encoder_heads_off: ["Heads of the encoder"],
    decoder_heads_off: ["Heads of the decoder, at its own words"],
    cross_heads_off: ["Heads of the decoder, across"],
    source_positions: ["Positions of the English words",
      [["", "as trained"], ["off", "none"], ["shuffled", "shuffled"]]],
    target_positions: ["Positions of the French words",
      [["", "as trained"], ["off", "none"], ["shuffled", "shuffled"]]],
    causal_mask: ["Causal mask", [["", "on"], ["off", "off"]]],
    residual: ["Residual addition", [["", "on"], ["off", "off"]]],
    norm: ["Layer norm", [["", "on"], ["off", "off"]]],
    feed_forward: ["Feed-forward network", [["", "on"], ["off", "off"]]],
  };
  const NAMES = { // in the table
    divisor: "÷ √d", encoder_weights: "encoder looks", decoder_weights: "decoder looks",
    cross_weights: "across looks", encoder_heads_off: "encoder, without head",
    decoder_heads_off: "decoder, without head", cross_heads_off: "across, without head",
    source_positions: "English positions", target_positions: "French positions",
    causal_mask: "causal mask", residual: "residual", norm: "norm", feed_forward: "feed-forward",
  };
  const GUESSES = [[0, 20], [21, 100], [101, 180], [181, 200]];

  const valueText = (name, value) => (Array.isArray(value)
    ? value.map((head) => head + 1).join(", ")
    : SWITCHES[name][1].find(([key]) => key === value)[1]);

  // all that is not as it was trained, in words
  const described = (switches) =>
    Object.entries(switches).map(([name, value]) => `${NAMES[name]} ${valueText(name, value)}`)
      .join("; ") || "as trained";

  // Wilson's interval: which shares of all held-out numbers are likely, at 95 % confidence
  function interval(right, of) {
    const z = 1.96;
    const [share, extra] = [right / of, z * z / of];
    const middle = share + extra / 2;
    const half = z * Math.sqrt(share * (1 - share) / of + extra / (4 * of));
    return [middle - half, middle + half].map((end) =>
      Math.min(1, Math.max(0, end / (1 + extra))));
  }

  // "100" stands for all alone
  const percent = (share) => (share > 0.99 && share < 1
    ? (Math.floor(1000 * share) / 10).toFixed(1) : (100 * share).toFixed(0));

  return class BreakTranslator extends Interactive {
    static LINES = 6;
    static TABLE = "Where each head looks, as numbers";
    static STYLE = `
      form, .row { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem; }
      form label { flex-basis: 100%; }
      form input { flex: 1 1 12rem; min-width: 0; min-height: 2rem; padding: .1rem .5rem;
        background: var(--paper); border: 1px solid var(--soft); border-radius: .3rem; }
      .title { margin: .9rem 0 .3rem; font-size: 13px; font-weight: 600; color: var(--soft); }
      .tokens { display: flex; flex-wrap: wrap; gap: .25rem; align-items: flex-start;
        align-content: flex-start; }
      .tokens.french { min-height: 4.5rem; } /* two lines, so that little jumps */
      .tokens button { display: grid; min-width: 1.9rem; padding: .15rem .4rem; cursor: pointer;
        text-align: center; align-content: center; }
      .tokens button > i { height: 3px; margin-top: 1px; background: var(--weights);
        justify-self: start; min-width: 1px; }
      button[aria-pressed="true"] { background: var(--hover); font-weight: 600;
        box-shadow: inset 0 0 0 1px var(--ink); }
      .verdict { min-height: 1.4em; margin: .3rem 0; }
      .right { color: var(--right); } .wrong { color: var(--wrong); }
      :host { --right: #15703a; --wrong: #a8410a; }
      :host([dark]) { --right: #6fd39b; --wrong: #f0a060; }
      .look { display: flex; flex-wrap: wrap; gap: .3rem 1.5rem; }
      .look { align-items: flex-start; margin-top: .3rem; }
      .look > * { flex: 1 1 15rem; min-width: 0; }
      [aria-busy="true"] .look { opacity: .4; } /* of the number before */
      .heads { width: 100%; font-size: 13px; table-layout: fixed; }
      .heads th { font-weight: 400; color: var(--soft); text-align: center; border: 0; }
      .heads thead td { width: 5.5rem; }
      .heads th[scope="row"] { text-align: right; color: var(--key); white-space: nowrap; }
      .heads td { padding: 1px; border: 0; }
      .heads button { width: 100%; min-height: 1.6rem; padding: 0; font-size: 12px; border: 0;
        border-radius: .15rem; cursor: pointer; font-variant-numeric: tabular-nums;
        background: color-mix(in srgb, var(--weights) calc(var(--share) * 55%), var(--paper)); }
      .heads .removed button { opacity: .35; text-decoration: line-through; }
      .product table { width: 100%; table-layout: fixed; }
      .product th, .product td { padding: .1rem; font-size: 11px; text-align: center; }
      .product .query { color: var(--query); } .product .key { color: var(--key); }
      .product .weights { color: var(--weights); }
      .product { min-height: 9rem; }
      .product p { margin: .3rem 0; }
      .switches { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr));
        gap: .4rem 1.2rem; }
      .switches label, .switches fieldset { display: grid; grid-template-columns: 1fr; gap: .1rem;
        margin: 0; padding: 0; border: 0; min-width: 0; }
      .switches legend { padding: 0; color: var(--soft); }
      .switches select { width: 100%; }
      .switches .on { border-color: var(--weights); box-shadow: inset .25rem 0 var(--weights); }
      .switches fieldset .row button { flex: 1; min-width: 2rem; }
      .switches fieldset button::after { content: " on"; }
      .switches fieldset [aria-pressed="false"]::after { content: " off"; }
      .switches [aria-pressed="false"] { text-decoration: line-through;
        box-shadow: inset .25rem 0 var(--weights); }
      .switches [aria-pressed="true"] { font-weight: 400; background: var(--paper);
        box-shadow: none; }
      .more { margin-top: .4rem; }
      .go { border-color: var(--ink); font-weight: 600; padding: .2rem .8rem; cursor: pointer; }
      .guess { min-height: 4.2rem; margin-top: .4rem; }
      .guess p { margin: 0 0 .3rem; }
      progress { width: 100%; height: .6rem; accent-color: var(--weights); }
      .tried { max-height: 16rem; margin-bottom: .5rem; }
      .tried td, .tried th { text-align: left; font-size: 13px; white-space: nowrap; }
      .tried thead th { white-space: normal; vertical-align: bottom; }
      .tried td:first-child, .tried th:first-child { white-space: normal; min-width: 5rem; }
      textarea { width: 100%; height: 6rem; font: 12px monospace; color: var(--ink);
        background: var(--paper); }
    `;

    build() {
      const { words, show, switches, heads } = this.data;
      this.model = { parameters: T.load(attnbook.numbers.weights), numHeads: heads };
      this.known = this.data.tokens.map((tokens) => new Map(tokens.map((t, i) => [t, i])));
      this.switches = { ...switches };
      this.words = words;
      this.results = new Map(); // of measurements, by their switches
      this.guesses = new Map();
      this.picked = { side: "target", index: 0 }; // the token whose view is shown
      this.place = "cross";
      this.open = null; // head and key of the score that is opened
      this.buildInput();
      this.buildView();
      this.buildSwitches(show);
      this.buildMeasurement();
      this.table.classList.add("look-numbers");
      // code that runs for the first time is slow: every step in a task of its own
      this.writing = setTimeout(() => this.translate({ pause: 0 }));
      this.stage.setAttribute("aria-busy", true);
    }

    // ---------------------------------------------------------------- a number, and its French

    buildInput() {
      this.input = element("input", { type: "text", id: "typed", value: this.words,
        autocomplete: "off", spellcheck: "false", autocapitalize: "none" });
      const form = element("form", { onsubmit: (event) => {
        event.preventDefault();
        this.read(this.input.value);
      } }, element("label", { for: "typed" }, "A number below 100,000, or English words"),
      this.input, element("button", { type: "submit" }, "Translate"),
      element("button", { type: "button", onclick: () => this.next() }, "Another number"));
      this.english = element("div", { class: "tokens", role: "group", "aria-label": "English" });
      this.french = element("div", { class: "tokens french", role: "group", "aria-label": "French" });
      this.verdict = element("p", { class: "verdict" });
      this.controls.replaceWith(form);
      this.stage.append(element("p", { class: "title" }, "It reads"), this.english,
        element("p", { class: "title" }, "and writes, one token after the other; a bar says how sure it is"),
        this.french, this.verdict);
    }

    next() {
      const { tested } = this.data;
      this.at = ((this.at ?? -1) + 1) % tested.length;
      this.input.value = String(tested[this.at]);
      this.read(this.input.value);
    }

    // what was typed; what can't be translated is said
    read(typed) {
      const words = this.wordsOf(typed);
      if (words.trouble) {
        if (this.writing) this.translate({ pause: null }); // nothing stands there half written
        this.input.setAttribute("aria-invalid", "true");
        this.verdict.className = "verdict wrong";
        this.verdict.textContent = words.trouble;
        this.say(words.trouble);
        return;
      }
      this.input.removeAttribute("aria-invalid");
      this.words = words;
      const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
      this.picked = { side: "target", index: 0 };
      this.translate({ pause: still ? null : 110 });
    }

    wordsOf(typed) {
      const text = typed.trim().toLowerCase().replace(/[\s,_]+/g, " ").replace(/ - ?/g, "-");
      const digits = text.replaceAll(" ", "");
      if (!text)
        return { trouble: "Type a number, such as 481, or its English words." };
      if (/^[-−]/.test(digits))
        return { trouble: "It has no word for minus: it has learned the numbers from 0 to 99,999." };
      if (/^\d+$/.test(digits)) {
        if (digits.replace(/^0+/, "").length > 5)
          return { trouble: "It has learned numbers below 100,000 and has seen no larger one: try " +
            "one of up to five digits." };
        return T.spell(Number(digits));
      }
      if (/\d/.test(digits))
        return { trouble: "Type digits alone, such as 2003, or words alone. It knows whole numbers " +
          "only." };
      const words = text.replace(/\band\b ?/g, "")
        .replace(/ty (one|two|three|four|five|six|seven|eight|nine)\b/g, "ty-$1").trim();
      const tokens = T.tokensOf(words);
      const strange = tokens.find((token) => !this.known[0].has(token) || /llion|</.test(token));
      if (!words || strange !== undefined)
        return { trouble: `It has never seen “${strange || text}”: it knows the English words of ` +
          "numbers below 100,000, such as forty-two thousand seven." };
      if (tokens.length > this.data.most)
        return { trouble: `That is long: it reads up to ${this.data.most} words.` };
      return words;
    }

    // write this.words in French: token after token, with so many milliseconds between, or at once
    translate({ pause }) {
      clearTimeout(this.writing);
      this.writing = null;
      const source = [...T.tokensOf(this.words).map((t) => this.known[0].get(t)), T.END];
      this.source = source;
      this.written = [];
      this.encoded = T.encode(this.model, source, this.switches);
      const search = T.greedySearch(this.model, source, {
        maxLength: this.data.most, switches: this.switches });
      const step = () => {
        const { value, done } = search.next();
        if (value) this.written.push(value);
        if (done || (this.written.length > this.data.most)) this.finish();
        else if (pause === null) step();
        else {
          this.showWritten();
          this.writing = setTimeout(step, pause);
        }
      };
      if (pause === null) step();
      else {
        this.writing = setTimeout(step);
        this.verdict.textContent = ""; // what was said, and written, of the number before
        this.showWritten();
        this.stage.setAttribute("aria-busy", true);
      }
    }

    // the French is there: look into how it came about
    finish() {
      this.writing = null;
      this.stage.setAttribute("aria-busy", false);
      const target = [T.START, ...this.written.map(({ token }) => token)];
      if (target.at(-1) === T.END) target.pop();
      else target.length = Math.min(target.length, this.written.length);
      this.maps = T.decode(this.model, target, this.encoded.memory, this.switches).maps[0];
      this.maps.encoder = this.encoded.maps[0];
      this.target = target;
      if (this.picked.side === "target")
        this.picked.index = Math.min(this.picked.index, target.length - 1);
      else this.picked.index = Math.min(this.picked.index, this.source.length - 1);
      this.open = null;
      this.draw();
    }

    nameOf(side, token) {
      if (token === T.END) return "⟨end⟩";
      return token === T.START ? "⟨start⟩" : this.data.tokens[side][token];
    }

    textOf(tokens) {
      return T.join(tokens.filter((t) => t !== T.END).map((t) => this.data.tokens[1][t]));
    }

    showWritten() {
      const chip = (side, token, index, chance) => element("button", { type: "button",
        "aria-pressed": this.picked.side === (side ? "target" : "source") &&
          this.picked.index === index,
        "aria-label": this.nameOf(side, token) + (chance === undefined ? ""
          : `, ${percent(chance)} percent sure`),
        onclick: () => this.pick(side ? "target" : "source", index) },
      this.nameOf(side, token),
      ...(chance === undefined ? [] : [element("i", { style: `width: ${100 * chance}%` })]));
      this.english.replaceChildren(...this.source.map((token, i) => chip(0, token, i)));
      this.french.replaceChildren(...this.written.map(({ token, probability }, i) =>
        chip(1, token, i, probability)));
    }

    pick(side, index) {
      this.picked = { side, index };
      if (side === "source") this.place = "encoder";
      else if (this.place === "encoder") this.place = "cross";
      this.open = null;
      this.draw();
      (side === "source" ? this.english : this.french).children[index]?.focus();
    }

    // ---------------------------------------------------------------- where it looked

    buildView() {
      this.views = Object.entries({ cross: "at the English words", decoder: "at its own words" })
        .map(([place, text]) => element("button", { type: "button", onclick: () => {
          this.place = place;
          if (this.picked.side === "source") this.picked = { side: "target", index: 0 };
          this.open = null;
          this.draw();
        } }, text));
      this.asked = element("p", { class: "title" });
      this.heads = element("table", { class: "heads" });
      this.product = element("div", { class: "product" });
      this.stage.append(this.asked, element("div", { class: "row" }, ...this.views),
        element("div", { class: "look" }, this.heads, this.product), this.said);
    }

    // the keys that the picked token may look at: their tokens
    keys() {
      if (this.place !== "decoder") return this.source.map((t) => this.nameOf(0, t));
      return this.target.map((t) => this.nameOf(1, t));
    }

    asking() {
      const { side, index } = this.picked;
      if (side === "source") return this.nameOf(0, this.source[index]);
      return this.nameOf(1, this.written[index].token);
    }

    showHeads() {
      const { index } = this.picked;
      const heads = this.maps[this.place];
      const removed = this.switches[`${this.place}_heads_off`] ?? [];
      const none = this.switches[`${this.place}_weights`] === "off";
      const keys = this.keys();
      this.asked.textContent = this.place === "encoder"
        ? `Reading “${this.asking()}”, each head of the encoder looks at`
        : `Writing “${this.asking()}”, each head of the decoder looks`;
      this.views.forEach((view, i) => {
        view.hidden = this.place === "encoder";
        view.setAttribute("aria-pressed", this.place === ["cross", "decoder"][i]);
      });
      this.heads.replaceChildren(
        element("thead", {}, element("tr", {}, element("td"), ...heads.map((_, head) =>
          element("th", { scope: "col" }, `head ${head + 1}`)))),
        element("tbody", {}, ...keys.map((key, j) => element("tr", {},
          element("th", { scope: "row", title: key }, key),
          ...heads.map(({ weights }, head) => {
            const weight = T.row(weights, index)[j];
            const pressed = this.open?.head === head && this.open?.key === j;
            return element("td", { class: none || removed.includes(head) ? "removed" : null },
              element("button", { type: "button", "aria-pressed": pressed,
                "aria-label": `head ${head + 1}, ${key}: ${fixed(weight)}`,
                style: `--share: ${weight}`, onclick: () => this.openScore(head, j) },
              fixed(weight)));
          })))));
    }

    openScore(head, key) {
      const same = this.open?.head === head && this.open?.key === key;
      this.open = same ? null : { head, key };
      this.draw();
      // if it was still writing, another number may have fewer tokens
      this.heads.querySelectorAll("tbody tr")[key]?.querySelectorAll("button")[head].focus();
    }

    // q · k, feature by feature
    showProduct() {
      if (!this.open) {
        this.product.replaceChildren(element("p", { class: "note" },
          "Press a weight to see the score it comes from."));
        return;
      }
      const { head, key: j } = this.open;
      const { index } = this.picked;
      const found = this.maps[this.place][head];
      const [query, key] = [T.row(found.query, index), T.row(found.key, j)];
      const [dots, scores, weights] = [found.dots, found.scores, found.weights].map((m) =>
        T.row(m, index)[j]);
      const line = (kind, name, numbers) => element("tr", { class: kind },
        element("th", { scope: "row" }, name),
        ...Array.from(numbers, (number) => element("td", {}, fixed(number, 1))));
      this.product.replaceChildren(
        element("p", {}, element("span", { class: "query" },
          `query that ${this.picked.side === "source" ? "reads" : "writes"} “${this.asking()}”`), " · ",
          element("span", { class: "key" }, `key of “${this.keys()[j]}”`), `, head ${head + 1}:`),
        element("table", {}, element("tbody", {}, line("query", "q", query), line("key", "k", key),
          line("", "q × k", query.map((number, i) => number * key[i])))),
        element("p", {}, `The products add up to ${fixed(dots, 1)}; divided by ` +
          `${fixed(found.divisor)} that is the score ${fixed(scores)}. `,
        element("span", { class: "weights" }, this.after(weights, head))));
    }

    // what becomes of a score
    after(weight, head) {
      const change = this.switches[`${this.place}_weights`];
      if (change === "off") return "Attention is off here: the score is not used.";
      if (change) return `A switch sets the weight to ${fixed(weight)}, whatever the score.`;
      return `Softmax over all scores makes it the weight ${fixed(weight)}.` +
        (this.switches[`${this.place}_heads_off`]?.includes(head) ? " This head is removed." : "");
    }

    // ---------------------------------------------------------------- switches

    buildSwitches(show) {
      this.setters = [];
      const make = (name) => (name.endsWith("heads_off") ? this.headSwitch(name)
        : this.valueSwitch(name));
      const others = Object.keys(SWITCHES).filter((name) => !show.includes(name));
      const grid = (names) => element("div", { class: "switches" }, ...names.map(make));
      this.stage.append(element("p", { class: "title" }, "Break it"));
      if (show.length) this.stage.append(grid(show));
      if (others.length)
        this.stage.append(element("details", { class: "more" },
          element("summary", {}, show.length ? "More switches" : "Switches"), grid(others)));
      this.setters.forEach((set) => set());
    }

    change(name, value) {
      if (value === "" || value.length === 0) delete this.switches[name];
      else this.switches[name] = value;
      // in the order of the list, so that the same switches have the same name
      this.switches = Object.fromEntries(Object.keys(SWITCHES)
        .filter((key) => key in this.switches).map((key) => [key, this.switches[key]]));
      this.setters.forEach((set) => set());
      this.guess.replaceChildren();
      this.stopMeasuring();
      this.translate({ pause: null });
    }

    valueSwitch(name) {
      const [label, values] = SWITCHES[name];
      const select = element("select", { onchange: () => this.change(name, select.value) },
        ...values.map(([value, text]) => element("option", { value }, text)));
      this.setters.push(() => {
        select.value = this.switches[name] ?? "";
        select.classList.toggle("on", name in this.switches);
      });
      return element("label", {}, label, select);
    }

    headSwitch(name) {
      const [label] = SWITCHES[name];
      const buttons = range(this.data.heads).map((head) =>
        element("button", { type: "button", "aria-label": `head ${head + 1}`, onclick: () => {
          const off = this.switches[name] ?? [];
          this.change(name, range(this.data.heads).filter((h) => off.includes(h) !== (h === head)));
        } }, head + 1));
      this.setters.push(() => buttons.forEach((button, head) =>
        button.setAttribute("aria-pressed", !(this.switches[name] ?? []).includes(head))));
      return element("fieldset", {}, element("legend", {}, label),
        element("div", { class: "row" }, ...buttons));
    }

    // ---------------------------------------------------------------- measuring

    buildMeasurement() {
      const count = this.data.tested.length;
      this.go = element("button", { type: "button", class: "go", onclick: () => this.ask() },
        `Measure on ${count} numbers`);
      const reset = element("button", { type: "button", onclick: () => {
        this.switches = {};
        this.change("divisor", "");
      } }, "All as trained");
      this.guess = element("div", { class: "guess", "aria-live": "polite" });
      this.progress = element("progress", { max: count, value: 0, "aria-label": "Numbers tested" });
      this.tried = element("div", { class: "scroll tried", tabindex: 0, role: "region",
        "aria-label": "What was measured" });
      this.copy = element("button", { type: "button", onclick: () => this.copyTable() },
        "Copy the table");
      this.copied = element("div");
      this.stage.append(element("p", { class: "title" }, "Measure it, on numbers that it never saw in training"),
        element("div", { class: "row" }, this.go, reset), this.guess, this.tried,
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
        element("p", {}, "First your prediction. How many of the 200 will be right?"),
        element("div", { class: "row" }, ...GUESSES.map(([low, high]) =>
          element("button", { type: "button", onclick: () => {
            this.guesses.set(key, `${low}–${high}`);
            this.measure();
          } }, `${low} to ${high}`))));
      this.guess.querySelector("button").focus();
    }

    stopMeasuring() {
      this.measuring = null;
    }

    // every token of every number, and at the end how many numbers are right
    *testing(switches) {
      const { tested, most } = this.data;
      let right = 0;
      for (const [done, number] of tested.entries()) {
        const source = [...T.tokensOf(T.spell(number)).map((t) => this.known[0].get(t)), T.END];
        const wanted = [...T.tokensOf(T.spellFrench(number)).map((t) => this.known[1].get(t)), T.END];
        let at = 0;
        for (const { token } of T.greedySearch(this.model, source, { maxLength: most, switches })) {
          yield done;
          if (token !== wanted[at++]) break; // nothing that follows can mend it
          if (token === T.END) right++;
        }
      }
      return right;
    }

    measure() {
      const { key, switches } = { key: this.key(), switches: { ...this.switches } };
      const test = this.measuring = this.testing(switches);
      this.progress.value = 0;
      this.guess.replaceChildren(element("p", {}, "Testing …"), this.progress);
      this.go.focus();
      const slice = () => {
        if (this.measuring !== test || !this.isConnected) return;
        const end = performance.now() + SLICE;
        while (performance.now() < end) {
          const { value, done } = test.next();
          if (done) {
            this.results.set(key, { switches, right: value });
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
        return [described(switches), `${right} of ${count}`,
          `${percent(low)}–${percent(high)} %`, this.guesses.get(key) ?? "–",
          learned ? [...new Set([learned[0], learned[2]].map((n) => n.toFixed(0)))].join("–") + " %"
            : "–"];
      });
    }

    showResult(key) {
      this.measuring = null;
      const count = this.data.tested.length;
      const { switches, right } = this.results.get(key);
      const [low, high] = interval(right, count);
      const guess = this.guesses.get(key);
      const { seeds } = attnbook.numbers.without;
      const learned = this.learned(switches);
      const head = ["changed", "right", "95 % interval", "you said", "trained without it"];
      this.tried.replaceChildren(element("table", {},
        element("thead", {}, element("tr", {}, ...head.map((text) =>
          element("th", { scope: "col" }, text)))),
        element("tbody", {}, ...this.rows().map(([first, ...others]) => element("tr", {},
          element("th", { scope: "row" }, first),
          ...others.map((text) => element("td", {}, text)))))));
      this.copy.hidden = false;
      this.copied.replaceChildren();
      const text = `${described(switches)}: ${right} of ${count} right, ${percent(right / count)} %.` +
        (guess ? ` You said ${guess}.` : "") +
        ` Of all held-out numbers it is ${percent(low)} to ${percent(high)} %, at 95 % confidence.` +
        (learned && Object.keys(switches).length
          ? ` Another question: ${seeds} models trained without it from the start, a short training, ` +
            `have ${learned[0].toFixed(0)} to ${learned[2].toFixed(0)} % right.` : "");
      this.guess.replaceChildren(element("p", {}, text));
    }

    async copyTable() {
      const head = ["changed", "right", "95 % interval", "you said", "trained without it"];
      const text = [head, ...this.rows()].map((row) => row.join("\t")).join("\n");
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

    // ---------------------------------------------------------------- what all kinds have

    // whoever presses something while it writes sees all of it
    draw() {
      if (this.writing && this.written) this.translate({ pause: null });
      else super.draw();
    }

    showNumbers() {
      if (this.maps && !this.writing) super.showNumbers();
    }

    paint() {
      if (!this.maps) return; // the first number is still being written
      this.showWritten();
      const written = this.textOf(this.written.map(({ token }) => token));
      const ended = this.written.at(-1)?.token === T.END;
      const number = T.numberOf(this.words);
      const wanted = number === null ? null : T.spellFrench(number);
      const isRight = ended && written === wanted;
      const judged = wanted === null ? ["", "No number is spelt like that, so there is no right answer."]
        : isRight ? ["right", `✓ right: ${number.toLocaleString("en")}`]
          : ["wrong", `✗ wrong: ${number.toLocaleString("en")} is “${wanted}”` +
            (ended ? "" : "; and it did not stop") + (number ? "" : ". Of all 100,000 numbers this " +
            "alone has the word zero, so it has hardly ever met it")];
      this.verdict.className = `verdict ${judged[0]}`;
      this.verdict.textContent = judged[1];
      this.showHeads();
      this.showProduct();
      this.say(this.sentence(written, isRight, wanted));
    }

    // what was written, how sure, and where it looked
    sentence(written, isRight, wanted) {
      const { side, index } = this.picked;
      const keys = this.keys();
      const looks = this.maps[this.place].map(({ weights }, head) => {
        const shares = Array.from(T.row(weights, index));
        const most = shares.indexOf(Math.max(...shares));
        return [Math.max(...shares), `head ${head + 1} at ${keys[most]}, ${fixed(shares[most])}`];
      }).sort(([a], [b]) => b - a);
      const verdict = wanted === null ? "" : isRight ? ", which is right" : ", which is wrong";
      const sure = side === "target"
        ? `It was ${percent(this.written[index].probability)} % sure of “${this.asking()}”; looking ` +
          `${this.place === "cross" ? "at the English" : "at its own words"}, `
        : `Reading “${this.asking()}”, `;
      return `“${this.words}” became “${written}”${verdict}. ${sure}` +
        `${looks.map(([, text]) => text).join("; ")}.`;
    }

    numbers() {
      const heads = this.maps[this.place];
      return [["", ...heads.map((_, head) => `head ${head + 1}`)],
        ...this.keys().map((key, j) => [key, ...heads.map(({ weights }) =>
          fixed(T.row(weights, this.picked.index)[j], 3))])];
    }
  };
});
