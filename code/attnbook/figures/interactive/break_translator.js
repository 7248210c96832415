// A translator of numbers to be used, broken and measured. It is computed in translator.js; here is
// what one sees of it. All that takes long is done in slices, so that the page stays alive.
attnbook.define("break-translator", ({ Interactive, element, range, fixed }) => {
  const T = attnbook.translator;
  const SLICE = 8; // milliseconds

  const WEIGHTS = [["", "as learned"], ["uniform", "equally at all"], ["first",
    "only at the first token"], ["off", "not at all"]];
  const POSITIONS = [["", "as trained"], ["off", "none"], ["shuffled", "shuffled"]];
  // the French begins after ⟨start⟩, which has a place of its own
  const places = (start) => "They tell each word its place. Shuffled: in every sentence alike, the " +
    `first word has place ${T.SHUFFLED[start] + 1}, the second place ${T.SHUFFLED[start + 1] + 1}, ` +
    "and so on.";
  const ON = [["", "on"], ["off", "off"]];
  const HEADS = "Press a head to switch it off.";
  // of each switch: its label, its values with what they say, what it is for, and its chapter; the
  // value "" is as it was trained
  const SWITCHES = {
    divisor: ["Scores are divided by", [["", "√8, the root of a head's width"], ["off", "1, not at all"],
      ["sqrt(d_model)", "√32, the root of a vector's width"]],
    "Smaller scores share the weight among more words.", "03-scaling"],
    encoder_weights: ["The encoder looks at the English words", WEIGHTS,
      "The English words learn of each other.", "02-queries-keys-values"],
    decoder_weights: ["The decoder looks at its own French words", WEIGHTS,
      "It sees what is written already.", "05-word-order"],
    cross_weights: ["The decoder looks across at the English words", WEIGHTS,
      "It sees what is to be said.", "01-looking-back"],
    encoder_heads_off: ["Heads of the encoder", null, HEADS, "07-heads"],
    decoder_heads_off: ["Heads of the decoder, at its own words", null, HEADS, "07-heads"],
    cross_heads_off: ["Heads of the decoder, across", null, HEADS, "07-heads"],
    source_positions: ["Positions of the English words", POSITIONS, places(0), "06-positions"],
    target_positions: ["Positions of the French words", POSITIONS, places(1), "06-positions"],
    causal_mask: ["Causal mask", ON,
      "In training it hides the words that are yet to be written.", "05-word-order"],
    residual: ["Residual addition", ON,
      "Each part adds to what it has read, and replaces nothing.", "08-blocks"],
    norm: ["Layer norm", ON,
      "It brings each vector to mean 0 and variance 1 before a part reads it.", "08-blocks"],
    feed_forward: ["Feed-forward network", ON,
      "It works on each word's vector alone.", "08-blocks"],
  };
  const BOOK = document.documentElement.dataset.content_root; // on the book's pages alone
  const EXAMPLES = 4; // of numbers that went wrong
  const EMPTY = "·"; // of padding, which fills texts up to one length and says nothing
  const LIKELY = 3; // tokens that are named at each place
  const HEAD = ["changed", "right", "95 % interval", "you said", "trained so, but shorter"];
  const GUESSES = [[0, 20], [21, 100], [101, 180], [181, 200]];

  const valueText = (name, value) => (Array.isArray(value)
    ? `without ${value.map((head) => head + 1).join(", ")}`
    : SWITCHES[name][1].find(([key]) => key === value)[1]);

  // all that is not as it was trained, in words
  const described = (switches) =>
    Object.entries(switches).map(([name, value]) =>
      `${SWITCHES[name][0]}: ${valueText(name, value)}`).join("; ") || "As trained";

  // what a French text says; one that never ended says nothing
  function saying(text, ended) {
    const number = T.numberOfFrench(text);
    if (!ended) return "does not stop";
    if (!text) return "is nothing at all";
    return number === null ? "is not a number" : `says ${number.toLocaleString("en")}`;
  }

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

  // "100" stands for all alone
  const percent = (share) => (share > 0.99 && share < 1
    ? (Math.floor(1000 * share) / 10).toFixed(1) : (100 * share).toFixed(0));

  // and no token has the chance 0
  const chance = (share) => (share < 0.001 ? "under 0.1"
    : share < 0.01 ? (100 * share).toFixed(1) : percent(share));

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
      .out { min-height: 6.5rem; } /* of two lines, so that little jumps */
      .tokens small { font-size: 11px; color: var(--soft); }
      .tokens button.wrong { border-color: var(--wrong); box-shadow: inset 0 0 0 1px; }
      .tokens button { display: grid; min-width: 1.9rem; padding: .15rem .4rem; cursor: pointer;
        text-align: center; align-content: center; }
      .tokens button > i { height: 3px; margin-top: 1px; background: var(--weights);
        justify-self: start; min-width: 1px; }
      button[aria-pressed="true"] { background: var(--hover); font-weight: 600;
        box-shadow: inset 0 0 0 1px var(--ink); }
      .verdict { min-height: 1.4em; margin: .3rem 0; }
      .refused { flex-basis: 100%; margin: 0; padding-left: .5rem; border-left: .25rem solid; }
      .refused:empty { border: 0; margin-top: -.4rem; } /* there, so that it is spoken */
      [aria-invalid="true"] { border: 2px solid var(--wrong); }
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
      .heads .later button, .switches [aria-pressed="false"] { color: var(--soft);
        background: repeating-linear-gradient(135deg, var(--paper) 0 5px, var(--hover) 5px 8px); }
      .product table { width: 100%; table-layout: fixed; }
      .product th, .product td { padding: .1rem; font-size: 11px; text-align: center; }
      .product .query { color: var(--query); } .product .key { color: var(--key); }
      .product .weights { color: var(--weights); }
      .product.opened { min-height: 10.5rem; }
      .product p { margin: .3rem 0; }
      .switches { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr));
        gap: .4rem 1.2rem; }
      .switches label, .switches fieldset { display: grid; grid-template-columns: 1fr; gap: .1rem;
        margin: 0; padding: 0; border: 0; min-width: 0; }
      .switches legend { padding: 0; color: var(--soft); }
      .switches .note, .wrongs p { margin: 0 0 .2rem; }
      a { color: inherit; }
      .echo { position: sticky; z-index: 1; margin: 0 0 .7rem; border-bottom: 1px solid var(--line);
        top: var(--figure-top, 0); /* under the bar of the book's pages */
        padding: .25rem 0; min-height: 3.2em; background: var(--paper); }
      .echo::after { content: ""; position: absolute; inset: 100% 0 auto; height: .7rem;
        background: linear-gradient(var(--paper), transparent); pointer-events: none; }
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
      .guess { margin-top: .4rem; }
      .guess p { margin: 0 0 .3rem; }
      progress { width: 100%; height: .6rem; accent-color: var(--weights); }
      .tried { max-height: 16rem; margin-bottom: .5rem; }
      .tried td, .tried th { text-align: left; font-size: 13px; white-space: nowrap; }
      .tried thead th { white-space: normal; vertical-align: bottom; }
      .tried td:first-child, .tried th:first-child { white-space: normal; min-width: 5rem; }
      .wrongs td, .wrongs th { text-align: left; font-size: 13px; padding-right: .8rem; }
      .wrongs td:last-child { white-space: nowrap; }
      .wrongs { margin-bottom: .6rem; }
      @media (max-width: 600px), (pointer: coarse) { /* for thumbs */
        select, button, form input { min-height: 2.6rem; }
        .heads button { min-height: 2.2rem; }
      }
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
        autocomplete: "off", spellcheck: "false", autocapitalize: "none",
        "aria-describedby": "refused" });
      this.refused = element("p", { class: "refused wrong", id: "refused", role: "alert" });
      const form = element("form", { onsubmit: (event) => {
        event.preventDefault();
        this.read(this.input.value);
      } }, element("strong", {}, "Break the translator"),
      element("label", { for: "typed" }, "A number below 100,000, or English words"),
      this.input, element("button", { type: "submit" }, "Translate"),
      element("button", { type: "button", onclick: () => this.next() }, "Another number"),
      this.refused);
      this.english = element("div", { class: "tokens", role: "group", "aria-label": "English" });
      this.french = element("div", { class: "tokens french", role: "group", "aria-label": "French" });
      this.verdict = element("p", { class: "verdict" });
      this.controls.replaceWith(form);
      this.stage.append(element("p", { class: "title" }, "It reads"), this.english,
        element("p", { class: "title" }, "and writes, one token after the other; a bar says how sure it is"),
        element("div", { class: "out" }, this.french, this.verdict));
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
        this.refused.textContent = `${words.trouble} Below still stands “${this.words}”.`;
        return;
      }
      this.input.removeAttribute("aria-invalid");
      this.refused.textContent = "";
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
      const large = { trouble: "It has learned numbers below 100,000 and has seen no larger one: " +
        "try one of up to five digits." };
      if (/^\d+$/.test(digits)) return digits >= 1e5 ? large : T.spell(Number(digits));
      if (/\d/.test(digits))
        return { trouble: "Type digits alone, such as 2003, or words alone. It knows whole numbers " +
          "only." };
      const words = text.replace(/\band\b ?/g, "")
        .replace(/ty (one|two|three|four|five|six|seven|eight|nine)\b/g, "ty-$1").trim();
      const tokens = T.tokensOf(words);
      const unexpected = tokens.find((token) => !this.known[0].has(token) || /llion|</.test(token));
      if (!words || unexpected !== undefined)
        return { trouble: `It has never seen “${unexpected || text}”: it knows the English words of ` +
          "numbers below 100,000, such as forty-two thousand seven." };
      if (tokens.length > this.data.most)
        return { trouble: `That is long: it reads up to ${this.data.most} words.` };
      return T.numberOf(words) >= 1e5 ? large : words;
    }

    sourceOf(words) {
      return [...T.tokensOf(words).map((t) => this.known[0].get(t)), T.END];
    }

    // the tokens that are right
    wantedOf(number) {
      return [...T.tokensOf(T.spellFrench(number)).map((t) => this.known[1].get(t)), T.END];
    }

    // write this.words in French: token after token, with the given number of milliseconds
    // between, or at once
    translate({ pause }) {
      clearTimeout(this.writing);
      this.writing = null;
      const source = this.source = this.sourceOf(this.words);
      this.number = T.numberOf(this.words);
      if (this.number >= 1e5) this.number = null; // it has learned none so large
      this.wanted = this.number === null ? null : this.wantedOf(this.number);
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

    // why the model as it was trained fails on a short number: these are few
    rarity(number) {
      if (!number) return ". Of all 100,000 numbers this alone has the word zero, so it has hardly ever met it";
      const isShort = number < 1000 && !Object.keys(this.switches).length;
      return isShort ? ". Short numbers were rare in its training: of 100, one is below 1,000" : "";
    }

    // the French is there: look into how it came about
    finish() {
      this.writing = null;
      this.stage.setAttribute("aria-busy", false);
      const target = [T.START, ...this.written.map(({ token }) => token)];
      if (target.at(-1) === T.END) target.pop();
      else target.length = Math.min(target.length, this.written.length);
      this.target = target;
      if (this.picked.side === "target")
        this.picked.index = Math.min(this.picked.index, target.length - 1);
      else this.picked.index = Math.min(this.picked.index, this.source.length - 1);
      this.open = null;
      this.draw();
    }

    nameOf(side, token) {
      return { [T.PADDING]: EMPTY, [T.START]: "⟨start⟩", [T.END]: "⟨end⟩" }[token]
        ?? this.data.tokens[side][token];
    }

    textOf(tokens) {
      return T.join(tokens.filter((t) => t !== T.END).map((t) => this.nameOf(1, t)));
    }

    // the first token that is wrong; −1 if none is
    wrongAt() {
      return this.wanted ? this.written.findIndex(({ token }, i) => token !== this.wanted[i]) : -1;
    }

    showWritten() {
      const wrong = this.wrongAt();
      const chip = (side, token, index, share) => {
        const name = side ? "target" : "source";
        const place = index + side; // the French begins after ⟨start⟩
        const told = this.switches[`${name}_positions`] === "shuffled"
          ? `place ${(T.SHUFFLED[place] ?? place) + 1}` : "";
        const bad = side && index === wrong;
        return element("button", { type: "button", class: bad ? "wrong" : null,
          "aria-pressed": this.picked.side === name && this.picked.index === index,
          title: token === T.PADDING ? "padding: it fills texts up, and says nothing" : null,
          "aria-label": [told ? `${this.nameOf(side, token)} ${told}` : this.nameOf(side, token),
            ...(share === undefined ? [] : [`${percent(share)} percent sure`]),
            ...(bad ? ["the first that is wrong"] : [])].join(", "),
          onclick: () => this.pick(name, index) },
        this.nameOf(side, token),
        ...(share === undefined ? [] : [element("i", { style: `width: ${100 * share}%` })]),
        ...(told ? [" ", element("small", {}, told)] : []));
      };
      const chips = this.written.map(({ token, probabilities }, i) =>
        chip(1, token, i, probabilities[token]));
      if (this.writing && this.shown === this.source) {
        // one more: those that stand there stay, or a press that begins now would be lost
        this.french.append(...chips.slice(this.french.children.length));
        return;
      }
      this.shown = this.source;
      this.english.replaceChildren(...this.source.map((token, i) => chip(0, token, i)));
      this.french.replaceChildren(...chips);
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
          if (this.picked.side === "source") this.place = "encoder"; // it has this view alone
          this.open = null;
          this.draw();
        } }, text));
      this.asked = element("p", { class: "title" });
      this.heads = element("table", { class: "heads" });
      this.product = element("div", { class: "product" });
      this.stage.append(this.asked, element("div", { class: "row" }, ...this.views),
        element("div", { class: "look" }, this.heads, this.product), this.said);
    }

    // where each head looked, when the picked token was read or written
    get maps() {
      return this.place === "encoder" ? this.encoded.maps[0]
        : this.written[this.picked.index].maps[0][this.place];
    }

    // the weights of the place and the heads that switches take away
    removed() {
      return this.switches[`${this.place}_weights`] === "off" ? range(this.data.heads)
        : this.switches[`${this.place}_heads_off`] ?? [];
    }

    // the tokens that stand there; of its own words the last ones may have been written later
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
      const heads = this.maps;
      const removed = this.removed();
      const keys = this.keys();
      this.asked.textContent = this.place === "encoder"
        ? `Reading “${this.asking()}”, each head of the encoder looks`
        : `Writing “${this.asking()}”, each head of the decoder looks`;
      this.views.forEach((view, i) => {
        view.hidden = i === 1 && this.place === "encoder";
        view.setAttribute("aria-pressed", (i === 1) === (this.place === "decoder"));
      });
      this.heads.replaceChildren(
        element("thead", {}, element("tr", {}, element("td"), ...heads.map((_, head) =>
          element("th", { scope: "col" }, `head ${head + 1}`)))),
        element("tbody", {}, ...keys.map((key, j) => element("tr", {},
          element("th", { scope: "row", title: key }, key),
          ...heads.map(({ weights }, head) => {
            const weight = T.row(weights, index)[j]; // none, if it was written later
            const pressed = this.open?.head === head && this.open?.key === j;
            const later = weight === undefined;
            return element("td", { class: later ? "later" : removed.includes(head) ? "removed" : null },
              element("button", { type: "button", "aria-pressed": pressed,
                "aria-label": `head ${head + 1}, ${key}: ${later ? "not written yet" : fixed(weight)}`,
                style: `--share: ${weight}`, onclick: () => this.openScore(head, j) },
              later ? "–" : fixed(weight)));
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
          "Press a weight to see the score it comes from, or a token, English or French, to see " +
          "where the heads look from there."));
        return;
      }
      const { head, key: j } = this.open;
      const { index } = this.picked;
      const found = this.maps[head];
      this.product.classList.add("opened"); // from now on it keeps its height
      if (j >= found.weights.columns) {
        this.product.replaceChildren(element("p", {}, `“${this.keys()[j]}” was not written yet when ` +
          `“${this.asking()}” was chosen: head ${head + 1} has no score for it, and no weight. In ` +
          "training the whole sentence is there, and the causal mask hides what comes later."));
        return;
      }
      const [query, key] = [T.row(found.query, index), T.row(found.key, j)];
      const [dots, scores, weights] = [found.dots, found.scores, found.weights].map((m) =>
        T.row(m, index)[j]);
      const square = Math.round(found.divisor ** 2);
      const root = square === 1 ? "1" : `√${square} = ${fixed(found.divisor)}`;
      const line = (kind, name, numbers) => element("tr", { class: kind },
        element("th", { scope: "row" }, name),
        ...Array.from(numbers, (number) => element("td", {}, fixed(number, 1))));
      this.product.replaceChildren(
        element("p", {}, element("span", { class: "query" },
          `query that ${this.picked.side === "source" ? "reads" : "writes"} “${this.asking()}”`), " · ",
          element("span", { class: "key" }, `key of “${this.keys()[j]}”`), `, head ${head + 1}:`),
        element("table", {}, element("tbody", {}, line("query", "q", query), line("key", "k", key),
          line("", "q × k", query.map((number, i) => number * key[i])))),
        element("p", {}, `Before rounding, the products add up to ${fixed(dots)}; divided by ` +
          `${root} that is the score ${fixed(scores)}. `,
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
      const grid = (names) => element("div", { class: "switches" }, ...names.map((name) =>
        element("div", {}, make(name), this.why(name))));
      // while one switches, what is written stays in view
      this.echo = element("p", { class: "echo", "aria-hidden": "true" });
      const part = element("div", {}, element("p", { class: "title" }, "Break it"), this.echo);
      if (show.length) part.append(grid(show));
      if (others.length)
        part.append(element("details", { class: "more" },
          element("summary", {}, show.length ? "More switches" : "Switches"), grid(others)));
      this.stage.append(part);
      this.setters.forEach((set) => set());
    }

    // what a switch is for, and which chapter has it
    why(name) {
      const [,, text, file] = SWITCHES[name];
      const chapter = `Chapter ${parseInt(file)}`;
      return element("p", { class: "note" }, `${text} `, BOOK === undefined ? chapter
        : element("a", { href: `${BOOK}chapters/${file}.html` }, chapter));
    }

    change(name, value) {
      if (value === "" || value.length === 0) delete this.switches[name];
      else this.switches[name] = value;
      // in the order of the list, so that the same switches have the same name
      this.switches = Object.fromEntries(Object.keys(SWITCHES)
        .filter((key) => key in this.switches).map((key) => [key, this.switches[key]]));
      this.setters.forEach((set) => set());
      this.guess.replaceChildren();
      this.wrongs.replaceChildren();
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
      } }, "Undo all switches");
      this.guess = element("div", { class: "guess", "aria-live": "polite" });
      this.progress = element("progress", { max: count, value: 0, "aria-label": "Numbers tested" });
      this.tried = element("div", { class: "scroll tried", tabindex: 0, role: "region",
        "aria-label": "What was measured" });
      this.copy = element("button", { type: "button", onclick: () => this.copyTable() },
        "Copy the table");
      this.copied = element("div");
      this.wrongs = element("div", { class: "wrongs" });
      this.stage.append(element("p", { class: "title" }, "Measure it, on numbers that it never saw in " +
        `training. As trained, it writes ${count} of ${count} right`),
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
        element("p", {}, "First your prediction. How many of the 200 will be right?"),
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

    disconnectedCallback() {
      super.disconnectedCallback();
      clearTimeout(this.writing);
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
        return [described(switches), `${right} of ${count}`,
          `${percent(low)}–${percent(high)} %`, this.guesses.get(key)?.join("–") ?? "–",
          learned ? `${[...new Set([learned[0], learned[2]])].join("–")} %` : "–"];
      });
    }

    showResult(key) {
      this.measuring = null;
      const count = this.data.tested.length;
      const { switches, right, wrong } = this.results.get(key);
      const [low, high] = interval(right, count).map(percent);
      const { seeds } = attnbook.numbers.without;
      const learned = this.learned(switches);
      const changed = Object.keys(switches).length > 0;
      this.tried.replaceChildren(element("table", {},
        element("thead", {}, element("tr", {}, ...HEAD.map((text) =>
          element("th", { scope: "col" }, text)))),
        element("tbody", {}, ...this.rows().map(([first, ...others]) => element("tr", {},
          element("th", { scope: "row" }, first),
          ...others.map((text) => element("td", {}, text)))))));
      this.copy.hidden = false;
      this.copied.replaceChildren();
      const line = (name, ...text) => element("p", {}, element("strong", {}, name), ...text);
      this.guess.replaceChildren(line(changed ? "Changed in this model. " : "In this model. ",
        `${described(switches)}: ${right} of ${count} right, ${100 * right / count} %. Of all held-out ` +
        `numbers it is ${between(low, high)} %, at 95 % confidence.${this.scored(key)}`));
      if (learned)
        this.guess.append(line(changed ? "Trained so from the start. " : "Trained anew. ",
          `${seeds} models${changed ? "" : " with nothing missing"}, of a much shorter training, have ` +
          `${between(learned[0], learned[2])} % right.`));
      if (learned && changed)
        this.guess.append(element("p", {}, "To take a part from a grown model is not the same as " +
          "never to have had it."));
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
      return ` You said ${this.guesses.get(key).join("–")}: ${good(key) ? "right" : "wrong"}. ` +
        `Your right predictions: ${said.filter(good).length} of ${said.length}.`;
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
        element("td", {}, saying(text, written.at(-1) === T.END)));
      });
      this.wrongs.replaceChildren(element("p", {}, element("strong", {}, all > rows.length
        ? `The first ${rows.length} of the ${all} that went wrong` : "What went wrong")),
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

    // ---------------------------------------------------------------- what all kinds have

    // whoever presses something while it writes sees all of it
    draw() {
      if (this.writing && this.written) this.translate({ pause: null });
      else super.draw();
    }

    showNumbers() {
      if (this.target && !this.writing) super.showNumbers();
    }

    paint() {
      if (!this.target) return; // the first number is still being written
      this.showWritten();
      const written = this.textOf(this.written.map(({ token }) => token));
      const ended = this.written.at(-1)?.token === T.END;
      const { number } = this;
      const isRight = ended && number !== null && this.wrongAt() < 0;
      const judged = number === null
        ? ["", "No number that it has learned is spelt like that, so there is no right answer."]
        : isRight ? ["right", `✓ right: ${number.toLocaleString("en")}`]
          : ["wrong", `✗ wrong: ${number.toLocaleString("en")} is “${T.spellFrench(number)}”. What it ` +
            `wrote ${saying(written, ended)}` + this.rarity(number)];
      this.verdict.className = `verdict ${judged[0]}`;
      this.verdict.textContent = judged[1];
      const mark = { right: "✓", wrong: "✗", "": "" }[judged[0]];
      this.echo.replaceChildren("It writes “", element("strong", {}, written), "” ",
        element("span", { class: judged[0] }, mark),
        ...(Object.keys(this.switches).length ? [element("br"), `As trained: “${this.intact()}”`] : []));
      this.showHeads();
      this.showProduct();
      this.say(this.sentence(written, isRight));
    }

    // what it writes with nothing changed
    intact() {
      if (this.before?.words !== this.words) {
        const search = T.greedySearch(this.model, this.source, { maxLength: this.data.most, switches: {} });
        this.before = { words: this.words, text: this.textOf([...search].map(({ token }) => token)) };
      }
      return this.before.text;
    }

    // what was written, how sure, and where it looked
    sentence(written, isRight) {
      const { side, index } = this.picked;
      const verdict = this.number === null ? "" : isRight ? ", which is right" : ", which is wrong";
      const sure = side === "target" ? `The likeliest were ${this.likeliest(index)}`
        : `Reading “${this.asking()}”`;
      const where = this.place === "decoder" ? "at its own words" : "at the English";
      return `“${this.words}” became “${written}”${verdict}. ${sure}; looking ${where}` +
        `${this.looks(index)}.`;
    }

    // the likeliest tokens at this place, the one that was written first
    likeliest(index) {
      const { probabilities } = this.written[index];
      return Array.from(probabilities.keys()).sort((a, b) => probabilities[b] - probabilities[a])
        .slice(0, LIKELY).map((token) => `“${this.nameOf(1, token)}” ${chance(probabilities[token])} %`)
        .join(", ");
    }

    // where each head looked, in words
    looks(index) {
      const removed = this.removed();
      const keys = this.keys();
      if (removed.length === this.data.heads) return " is switched off";
      const looks = this.maps.map(({ weights }, head) => {
        const shares = Array.from(T.row(weights, index));
        const most = shares.indexOf(Math.max(...shares));
        // with a hyphen at which no line ends
        return [shares[most], `head ${head + 1} at ${keys[most].replace("-", "\u2011")}, ` +
          fixed(shares[most]), head];
      }).filter(([,, head]) => !removed.includes(head)).sort(([a], [b]) => b - a);
      const texts = this.switches[`${this.place}_weights`] === "uniform"
        ? ["each head equally at all"] : looks.map(([, text]) => text);
      return [`, ${texts[0]}`, ...texts.slice(1),
        ...removed.map((head) => `head ${head + 1} is off`)].join("; ");
    }

    numbers() {
      const heads = this.maps;
      const shown = (weight) => (weight === undefined ? "–" : fixed(weight, 3));
      return [["", ...heads.map((_, head) => `head ${head + 1}`)],
        ...this.keys().map((key, j) => [key, ...heads.map(({ weights }) =>
          shown(T.row(weights, this.picked.index)[j]))])];
    }
  };
});
