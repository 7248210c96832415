// The translator of numbers, ready to run; and of the breakable one the number that is typed, and
// its French, token after token.
attnbook.writing ??= ({ element, still }, Figure) => {
  const T = attnbook.translator;
  const EMPTY = "·"; // of padding, which fills texts up to one length and says nothing

  return class extends Figure {
    loadTranslator() {
      const { tokens, heads } = this.data;
      this.model = { parameters: T.load(attnbook.numbers.weights), numHeads: heads };
      this.known = tokens.map((side) => new Map(side.map((token, i) => [token, i])));
    }

    buildInput() {
      this.input = element("input", { type: "text", id: "typed", value: this.words,
        autocomplete: "off", spellcheck: "false", autocapitalize: "none",
        "aria-describedby": "refused" });
      this.refused = element("p", { class: "refused wrong", id: "refused", role: "alert" });
      const form = element("form", { onsubmit: (event) => {
        event.preventDefault();
        this.read(this.input.value);
      } }, element("strong", {}, "Break the translator"),
      element("label", { for: "typed" }, "A number below 100,000, in digits or English words"),
      this.input, element("button", { type: "submit" }, "Translate"),
      element("button", { type: "button", onclick: () => this.next() }, "Another number"),
      this.refused);
      this.english = element("div", { class: "tokens", role: "group", "aria-label": "English" });
      this.french = element("div", { class: "tokens french", role: "group", "aria-label": "French" });
      this.verdict = element("p", { class: "verdict" });
      this.controls.replaceWith(form);
      this.stage.append(element("p", { class: "title" }, "The model reads"), this.english,
        element("p", { class: "title" }, "and writes one token after another; a bar shows how sure it is"),
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
        this.refused.textContent = `${words.trouble} The result below is still for “${this.words}”.`;
        return;
      }
      this.input.removeAttribute("aria-invalid");
      this.refused.textContent = "";
      this.words = words;
      this.picked = { side: "target", index: 0 };
      this.translate({ pause: still() ? null : 110 });
    }

    wordsOf(typed) {
      const text = typed.trim().toLowerCase().replace(/[\s,_]+/g, " ").replace(/ - ?/g, "-");
      const digits = text.replaceAll(" ", "");
      if (!text)
        return { trouble: "Type a number, such as 481, or its English words." };
      if (/^[-−]/.test(digits))
        return { trouble: "The model has no word for minus. It has only learned the numbers from 0 to 99,999." };
      const large = { trouble: "The model has only learned numbers below 100,000. Try a number with " +
        "up to five digits." };
      if (/^\d+$/.test(digits)) return digits >= 1e5 ? large : T.spell(Number(digits));
      if (/\d/.test(digits))
        return { trouble: "Type only digits, such as 2003, or only words. The model knows only whole " +
          "numbers." };
      const words = text.replace(/\band\b ?/g, "")
        .replace(/ty (one|two|three|four|five|six|seven|eight|nine)\b/g, "ty-$1").trim();
      const tokens = T.tokensOf(words);
      const unexpected = tokens.find((token) => !this.known[0].has(token) || /llion|</.test(token));
      if (!words || unexpected !== undefined)
        return { trouble: `The model has never seen “${unexpected || text}”. It only knows the English ` +
          "words for numbers below 100,000, such as forty-two thousand seven." };
      if (tokens.length > this.data.most)
        return { trouble: `That is too long. The model reads up to ${this.data.most} words.` };
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

    // the classes of a token's chip; quatre-vingt-un is one word
    kindsOf(side, tokens, i, ...more) {
      const goesOn = (token) => token !== undefined && this.nameOf(side, token).startsWith("-");
      return ["chip", ...more, goesOn(tokens[i]) && "joined", goesOn(tokens[i + 1]) && "joins"]
        .filter(Boolean).join(" ");
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
          ? `position ${(T.SHUFFLED[place] ?? place) + 1}` : "";
        const bad = side && index === wrong;
        return element("button", { type: "button", class: bad ? "wrong" : null,
          "aria-pressed": this.picked.side === name && this.picked.index === index,
          title: token === T.PADDING ? "padding, which fills up short texts and means nothing" : null,
          "aria-label": [told ? `${this.nameOf(side, token)} ${told}` : this.nameOf(side, token),
            ...(share === undefined ? [] : [`${this.percent(share)} percent sure`]),
            ...(bad ? ["the first wrong token"] : [])].join(", "),
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

    // what a French text says; one that never ended says nothing
    saying(text, ended) {
      const number = T.numberOfFrench(text);
      if (!ended) return "never ends";
      if (!text) return "is empty";
      return number === null ? "is not a number" : `means ${number.toLocaleString("en")}`;
    }

    // "100" stands for all alone
    percent(share) {
      return share > 0.99 && share < 1 ? (Math.floor(1000 * share) / 10).toFixed(1)
        : (100 * share).toFixed(0);
    }

    disconnectedCallback() {
      super.disconnectedCallback();
      clearTimeout(this.writing);
    }
  };
};

// how the landing page and the stack of heads draw tokens, looks and switches
attnbook.writing.LOOK ??= `
  .row { position: relative; display: flex; flex-wrap: wrap; justify-content: center;
    gap: var(--gap); --gap: .7rem; }
  .chip { position: relative; box-sizing: border-box; display: inline-flex; align-items: center;
    min-height: 2.2em; padding: 0 .7em; border-radius: .55em; border: 1.5px solid var(--chip);
    font: inherit; font-weight: 600; color: var(--chip);
    background: color-mix(in srgb, var(--chip) 6%, var(--paper)); }
  .english .chip { --chip: var(--key); }
  .french .chip { --chip: var(--query); cursor: pointer; }
  .chip.joins { border-start-end-radius: 0; border-end-end-radius: 0; }
  .chip.joined { margin-left: calc(-1 * var(--gap) - 1.5px);
    border-start-start-radius: 0; border-end-start-radius: 0; }
  .row .chip.end { --chip: var(--soft); font-weight: 400; border-style: dashed; cursor: auto; }
  .french .wrong { color: var(--paper); background: var(--wrong); border-color: var(--wrong); }
  .french .wrong.joined { border-left-color: var(--paper); }
  .french [aria-pressed="true"] { box-shadow: 0 0 0 3px var(--weights); }
  .looks { margin: 0 0 1.5rem; min-height: 1.4em; text-align: center; color: var(--weights);
    font-size: .95rem; }
  .looks b { color: var(--query); }
  .share { position: absolute; inset: auto -1rem calc(100% + .1rem); text-align: center;
    font-size: .85rem; font-weight: 600; font-variant-numeric: tabular-nums; color: var(--weights); }
  .look { fill: var(--weights); opacity: .15; }
  .look.on { opacity: .85; }
  .toggle { display: block; flex: none; box-sizing: border-box; width: 2.2rem; height: 1.25rem;
    border: 1.5px solid var(--knob, var(--soft)); border-radius: 1rem; }
  .toggle::after { content: ""; display: block; width: .75rem; height: .75rem; margin: .15rem;
    border-radius: 50%; background: var(--knob, var(--soft)); }
  [aria-checked="true"] > .toggle { background: var(--set); border-color: var(--set); }
  [aria-checked="true"] > .toggle::after { background: var(--paper);
    transform: translateX(.95rem); }
  .again { flex: none; min-height: 2rem; border-radius: 1rem; padding: .1rem .9rem;
    border-color: var(--line); font-size: .9rem; cursor: pointer; }
  .again:hover { border-color: var(--weights); background: var(--hover); }
  .spoken { position: absolute; width: 1px; height: 1px; min-height: 0; margin: 0; overflow: hidden;
    clip-path: inset(50%); }
  @media (prefers-reduced-motion: no-preference) {
    .chip { transition: background-color .25s, color .25s, border-color .25s; }
    .look { transition: opacity .3s; }
    .toggle::after { transition: transform .15s; }
  }
`;
