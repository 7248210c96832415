// How large the cache of keys and values is, and what each way to shrink it saves.
attnbook.define("cache", ({ Interactive, element, fixed }) => {
  const UNITS = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [0, "bytes"]];
  const BITS = [32, 16, 8, 4];
  const OWN = "your own sizes";
  const SIZES = [ // what can be changed: its name, and what it is called
    ["full", "layers that keep all tokens"],
    ["windowed", "layers with a window"],
    ["window", "tokens in the window"],
    ["linear", "layers with a fixed state"],
    ["state", "numbers in the state"],
    ["heads", "heads of queries"],
    ["kv_heads", "heads of keys and values"],
    ["head_size", "features of a head"],
    ["latent", "latent (0: none)"],
  ];
  const three = (number) => // with three digits
    number >= 99.95 || number === 0 ? fixed(number, 0) : fixed(number, number >= 9.995 ? 1 : 2);
  const size = (bytes) => {
    const [unit, name] = UNITS.find(([unit]) => bytes >= unit);
    return `${three(bytes / (unit || 1))}\u00a0${name}`;
  };
  const grouped = (number) => number.toLocaleString("en");

  return class Cache extends Interactive {
    static LINES = 6;
    static STYLE = `
      .controls { align-items: center; }
      .controls label { flex: 1 1 17rem; white-space: nowrap; }
      .controls input { flex: 1; min-width: 4rem; }
      label > output { min-width: 5em; text-align: right; }
      .bars { grid-template-columns: minmax(6rem, 19rem) minmax(3rem, 1fr) auto; }
      .bars .name { max-width: none; white-space: normal; color: var(--ink); line-height: 1.25; }
      .bars .bar { background: var(--line); }
      .bars li:last-child .bar { background: var(--key); }
      .bars li:last-child .name, .bars li:last-child .number { font-weight: 600; }
      .bars .number { min-width: 4.6rem; }
      @media (max-width: 600px) { .bars { grid-template-columns: minmax(0, 1fr) auto; }
        .bars .name { grid-column: 1 / -1; margin-top: .3rem; } }
      .sizes { display: grid; gap: .4rem 1.2rem;
        grid-template-columns: repeat(auto-fill, minmax(16rem, 1fr)); margin: .4rem 0; }
      .sizes label { justify-content: space-between; }
      .sizes input { width: 6.5rem; min-height: 2rem; text-align: right; background: var(--paper);
        border: 1px solid var(--soft); border-radius: .3rem; }
    `;

    build() {
      const { models, first } = this.data;
      this.tokens = 2 ** 17;
      this.texts = 1;
      this.bits = 16;
      const names = models.map(({ name, year }) => `${name} (${year})`);
      this.choice("Model", [...names, OWN], (i) => this.take(models[i]), first);
      this.model = this.controls.querySelector("select");
      const power = (label, name, most) => this.slider(label,
        { min: 0, max: most, value: Math.log2(this[name]), text: (n) => grouped(2 ** n) },
        (n) => this.set(name, 2 ** n));
      power("Tokens in a text", "tokens", 20);
      power("Texts at once", "texts", 10);
      this.choice("Bits of a number", BITS.map(String),
        (i) => this.set("bits", BITS[i]), BITS.indexOf(this.bits));
      this.sizes = models[first];
      this.shown = this.bars(this.stages().map(({ name }) => name));
      this.inputs = Object.fromEntries(SIZES.map(([name, text]) =>
        [name, element("input", { type: "number", min: 0, step: 1, inputmode: "numeric",
          "aria-label": text, onchange: () => this.own(name) })]));
      this.stage.append(this.shown.list);
      this.said.after(element("details", {}, element("summary", {}, "The sizes of the model"),
        element("div", { class: "sizes" }, ...SIZES.map(([name, text]) =>
          element("label", {}, text, this.inputs[name])))));
      this.take(models[first]);
    }

    set(name, value) {
      this[name] = value;
      this.draw();
    }

    // another model; the sizes of the last one stay where the reader may change them
    take(model) {
      if (model) this.sizes = { ...model };
      for (const [name] of SIZES) this.inputs[name].value = this.sizes[name];
      this.draw();
    }

    // a size that the reader has typed; what is no whole number, or would be no model, is undone
    own(name) {
      const text = this.inputs[name].value; // "" is no number
      const number = text === "" ? NaN : Number(text);
      const least = ["heads", "head_size", "kv_heads"].includes(name) ? 1 : 0;
      if (!Number.isInteger(number) || number < least || number > 1e7) {
        this.inputs[name].value = this.sizes[name];
        return;
      }
      this.sizes[name] = number;
      this.model.value = this.data.models.length;
      this.draw();
    }

    // the cache after each way to shrink it, in bytes
    stages() {
      const { heads, kv_heads, head_size, latent, full, windowed, window, linear, state } = this.sizes;
      const { tokens, texts, bits } = this;
      const each = texts * bits / 8;
      const [all, kept] = [2 * heads * head_size, latent || 2 * kv_heads * head_size];
      const everywhere = (full + windowed + linear) * tokens;
      const short = kept * (full * tokens + windowed * Math.min(tokens, window)) + linear * state;
      return [
        { name: "each head has its own keys and values", bytes: 2 * texts * all * everywhere },
        { name: "shared by heads, or a latent", bytes: 2 * texts * kept * everywhere },
        { name: "windows, and fixed states", bytes: 2 * texts * short },
        { name: `with ${bits} bits for each number`, bytes: each * short },
      ];
    }

    paint() {
      const stages = this.stages();
      const largest = Math.max(...stages.map(({ bytes }) => bytes), 1);
      this.shown.show(stages.map(({ bytes }) => bytes / largest),
        stages.map(({ bytes }) => size(bytes)));
      const { name } = stages.at(-1);
      this.shown.list.querySelector("li:last-child .name").textContent = name;
      const [first, last] = [stages[0].bytes, stages.at(-1).bytes];
      const texts = this.texts === 1 ? "one text" : `${grouped(this.texts)} texts`;
      const model = this.data.models[this.model.value]?.name ?? "A model with your sizes";
      const start = `${model} keeps ${size(last)} for ${texts} of ${grouped(this.tokens)} tokens.`;
      const times = first / last;
      this.say(last === 0 ? `${start} So it can't attend to any of them.`
        : stages.every(({ bytes }) => bytes === first)
          ? `${start} Each head has its own keys and values in every layer, so nothing is saved.`
          : `${start} With 16 bits, and keys and values of their own for all heads in every layer, `
            + `the cache would take ${size(first)}, which is ${three(times)} times as much.`);
    }

    numbers() {
      return [["the cache", "bytes", "size"],
        ...this.stages().map(({ name, bytes }) => [name, grouped(bytes), size(bytes)])];
    }
  };
});
