// Of the breakable translator: its switches, with what each is for.
attnbook.switching ??= ({ element, range }, Figure) => {
  const T = attnbook.translator;
  const WEIGHTS = [["", "as learned"], ["uniform", "equally at all"], ["first",
    "only at the first token"], ["off", "not at all"]];
  const POSITIONS = [["", "as trained"], ["off", "none"], ["shuffled", "shuffled"]];
  // the French begins after ⟨start⟩, which has a place of its own
  const places = (start) => "They tell each word its position. When they are shuffled, the " +
    `first word of every sentence gets position ${T.SHUFFLED[start] + 1}, the second gets position ` +
    `${T.SHUFFLED[start + 1] + 1}, and so on.`;
  const ON = [["", "on"], ["off", "off"]];
  const HEADS = "Press a head to switch it off.";
  // of each switch: its label, its values with what they say, what it is for, and its chapter; the
  // value "" is as it was trained
  const SWITCHES = {
    divisor: ["Scores are divided by", [["", "√8, the root of a head's width"], ["off", "1 (no division)"],
      ["sqrt(d_model)", "√32, the root of a vector's width"]],
    "Smaller scores spread the weight over more words.", "03-scaling"],
    encoder_weights: ["The encoder looks at the English words", WEIGHTS,
      "Each English word gathers information from the others.", "02-queries-keys-values"],
    decoder_weights: ["The decoder looks at the French words so far", WEIGHTS,
      "This lets the decoder see what it has already written.", "05-word-order"],
    cross_weights: ["The decoder looks at the English words", WEIGHTS,
      "Cross-attention shows the decoder what to translate.", "01-looking-back"],
    encoder_heads_off: ["Heads of the encoder's self-attention", null, HEADS, "07-heads"],
    decoder_heads_off: ["Heads of the decoder's self-attention", null, HEADS, "07-heads"],
    cross_heads_off: ["Heads of cross-attention", null, HEADS, "07-heads"],
    source_positions: ["Positions of the English words", POSITIONS, places(0), "06-positions"],
    target_positions: ["Positions of the French words", POSITIONS, places(1), "06-positions"],
    causal_mask: ["Causal mask", ON,
      "In training, it hides the words that the decoder has yet to write.", "05-word-order"],
    residual: ["Residual addition", ON,
      "Each part adds its output to the vectors that it reads, and replaces nothing.", "08-blocks"],
    norm: ["Layer norm", ON,
      "It brings each vector to mean 0 and variance 1 before a part reads it.", "08-blocks"],
    feed_forward: ["Feed-forward network", ON,
      "It works on each word's vector separately.", "08-blocks"],
  };
  const BOOK = document.documentElement.dataset.content_root; // on the book's pages alone

  return class extends Figure {
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

    // all that is not as it was trained, in words
    described(switches) {
      const textOf = (name, value) => (Array.isArray(value)
        ? `without ${value.map((head) => head + 1).join(", ")}`
        : SWITCHES[name][1].find(([key]) => key === value)[1]);
      return Object.entries(switches).map(([name, value]) =>
        `${SWITCHES[name][0]}: ${textOf(name, value)}`).join("; ") || "As trained";
    }
  };
};
