// What the interactive figures share. Each is an element <attnbook-KIND> with its data as JSON and
// a still picture in it, in whose place stands what the class in KIND.js builds.
window.attnbook ??= (() => {
  const STYLE = `
    :host { display: block; margin: 1rem 0; color-scheme: light; @light
      font: 15px/1.4 var(--book-sans, system-ui, sans-serif); color: var(--ink); }
    :host([dark]) { color-scheme: dark; @dark }
    .frame { max-width: var(--figure-width, 40rem); /* the book's pages set it */ padding: .8rem 1rem; border: 1px solid var(--line);
      border-radius: .4rem; background: var(--paper); }
    .controls { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; margin-bottom: .6rem; }
    label { display: flex; align-items: center; gap: .5rem; max-width: 100%; color: var(--soft); } label[hidden] { display: none; }
    label > output { min-width: 3.2em; }
    select, button, input { font: inherit; color: var(--ink); accent-color: var(--soft); } select { min-width: 0; max-width: 100%; }
    select, button { min-height: 2rem; padding: .1rem .5rem; background: var(--paper);
      border: 1px solid var(--soft); border-radius: .3rem; }
    input[type="range"] { width: 9rem; min-height: 1.5rem; margin: 0; }
    input[type="checkbox"] { width: 1.5rem; height: 1.5rem; margin: 0; }
    [aria-disabled="true"] { opacity: .5; }
    :focus-visible { outline: 3px solid var(--weights); outline-offset: 1px; }
    output, .said { color: var(--ink); font-variant-numeric: tabular-nums; }
    .said { min-height: 2.8em; margin: .6rem 0 .2rem; } /* the longest text: nothing jumps */
    @media (max-width: 600px) { .said { min-height: calc(1.4em * var(--lines)); } }
    .stack { display: grid; } /* as high as its highest child: nothing jumps */
    .stack > * { grid-area: 1 / 1; min-width: 0; min-height: 0; }
    .stack > [aria-hidden] { visibility: hidden; }
    .note { margin: .4rem 0; color: var(--soft); font-size: 13px; }
    sub { font-size: .75em; line-height: 0; }
    summary { min-height: 1.5rem; line-height: 1.5rem; color: var(--soft); cursor: pointer; }
    .scroll { overflow: auto; max-height: 20rem; }
    table { border-collapse: collapse; font-size: 12px; font-variant-numeric: tabular-nums; }
    th, td { padding: .1rem .3rem; text-align: right; border-bottom: 1px solid var(--line); }
    svg { display: block; width: 100%; overflow: visible; }
    svg text { fill: var(--soft); font-size: 13px; }
    .axis { stroke: var(--soft); vector-effect: non-scaling-stroke; }
    ul { list-style: none; margin: 0; padding: 0; }
    .bars { display: grid; grid-template-columns: auto minmax(3rem, 1fr) auto;
      align-items: center; gap: .15rem .6rem; }
    .bars li { display: contents; } .bars span { line-height: 24px; }
    .bars .name { max-width: 9rem; overflow: hidden; white-space: nowrap; text-overflow: ellipsis;
      color: var(--key); }
    .bars .bar { height: 16px; min-width: 1px; background: var(--weights); }
    .bars .number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
    @media print { .controls, details { display: none; } .frame { break-inside: avoid; }
      * { print-color-adjust: exact; } }
    @media (prefers-reduced-motion: reduce) { * { animation: none !important; transition: none !important; } }
  `;

  const SVG = "http://www.w3.org/2000/svg";
  const whole = (text) => (text?.replaceAll ? text.replaceAll(" %", "\u00a0%") : text);
  const fill = (node, attributes, children) => {
    for (const [name, value] of Object.entries(attributes))
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value !== null && value !== false) node.setAttribute(name, value);
    node.append(...children.map(whole));
    return node;
  };
  const element = (name, attributes = {}, ...children) =>
    fill(document.createElement(name), attributes, children);
  const shape = (name, attributes = {}, ...children) =>
    fill(document.createElementNS(SVG, name), attributes, children);
  const lowered = (text, make = (index) => element("sub", {}, index)) => // names such as W_Q and d_k, with their index
    text.split(/(?<=\b[Wd])_(\w+)/).map((part, n) => (n % 2 ? make(part) : part));
  const range = (size) => Array.from({ length: size }, (_, i) => i);
  const dot = (a, b) => a.reduce((total, number, i) => total + number * b[i], 0);
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
  const fixed = (number, digits = 2) => // what is rounded to 0 has no sign
    number.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace("-", "−");

  function softmax(scores) {
    const largest = Math.max(...scores); // with exponents of at most 0 nothing overflows
    const parts = scores.map((score) => Math.exp(score - largest));
    const total = sum(parts);
    return parts.map((part) => part / total);
  }

  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  // of some elements the nearest one where an arrow key points to; null if there is none
  function towards(key, from, elements) {
    if (!ARROWS[key]) return null;
    const [right, down] = ARROWS[key];
    const middle = (node) => {
      const { x, y, width, height } = node.getBoundingClientRect();
      return [x + width / 2, y + height / 2];
    };
    const here = middle(from);
    const far = (node) => {
      const [x, y] = middle(node).map((at, axis) => at - here[axis]);
      const ahead = x * right + y * down;
      return ahead < 1 ? Infinity : ahead + 3 * Math.abs(x * down + y * right);
    };
    const nearest = elements.reduce((a, b) => (far(b) < far(a) ? b : a));
    return far(nearest) < Infinity ? nearest : null;
  }

  // A band between two levels, from a to b on one and from c to d on the other. Its edges part where
  // it slants, so that it is as thick across there as at its ends, unless it is too thick for that.
  function ribbon([a, b, low], [c, d, high]) {
    const [fall, aside] = [high - low, c + d - a - b];
    const more = (b - a + d - c) / 3 * (Math.hypot(fall, aside) - Math.abs(fall)) / (aside || 1);
    const apart = Math.sign(fall * aside) * Math.min(Math.abs(more), Math.abs(fall) / 4);
    const [left, right] = [apart, -apart].map((part) => (low + high) / 2 + part);
    return `M${a},${low} C${a},${left} ${c},${left} ${c},${high} `
      + `H${d} C${d},${right} ${b},${right} ${b},${low} Z`;
  }

  // Ribbons from those who look to what they look at, all as wide as their weights, at both ends.
  // Places have a middle x, a width and the level y where ribbons end. Ribbons lie side by side.
  function ribbons(lookers, places, weights, least = 0) {
    const totals = places.map((_, j) => sum(weights.map((shares) => shares[j])));
    const unit = Math.min(...lookers.map(({ width }) => 0.75 * width),
      ...places.map(({ width }, j) => Math.min(0.75, 0.9 / totals[j]) * width));
    const ends = places.map(({ x }, j) => x - unit * totals[j] / 2);
    return lookers.flatMap((looker, i) => {
      let left = looker.x - unit / 2;
      return weights[i].flatMap((share, j) => {
        const size = share * unit;
        const [start, stop] = [left, ends[j]];
        left += size;
        ends[j] += size;
        return share <= least ? [] : [{ looker: i, place: j, share, x: stop + size / 2,
          d: ribbon([start, start + size, looker.y], [stop, stop + size, places[j].y]) }];
      });
    });
  }

  // what a share is in percent, on one line; a small one is not called 0
  const percent = (share) =>
    (share > 0 && share < 0.005 ? "<\u00a01\u00a0%" : `${Math.round(100 * share)}\u00a0%`);

  // where nodes of a frame are in it: their middle x, their edges and their size
  function boxesIn(frame) {
    const { left, top } = frame.getBoundingClientRect();
    return (node) => {
      const box = node.getBoundingClientRect();
      return { x: box.x + box.width / 2 - left, width: box.width, height: box.height,
        left: box.left - left, right: box.right - left, top: box.top - top, bottom: box.bottom - top };
    };
  }

  const degrees = (angle) => {
    const size = 180 * angle / Math.PI;
    return `${size < 10 ? Number(size.toPrecision(2)) : fixed(size, 0)}°`;
  };

  // a sector of a circle about the origin; angles are 0 at the right and grow to the left
  function sector(radius, from, to) {
    const at = (angle) => `${radius * Math.cos(angle)},${-radius * Math.sin(angle)}`;
    const [wide, clockwise] = [Math.abs(to - from) > Math.PI, to < from].map(Number);
    return `M0,0 L${at(from)} A${radius},${radius} 0 ${wide} ${clockwise} ${at(to)} Z`;
  }

  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches; // nothing moves by itself

  const PREFERS_DARK = matchMedia("(prefers-color-scheme: dark)");

  function isDark() {
    const { documentElement: html, body } = document;
    const theme = html.dataset.theme ?? html.getAttribute("theme"); // the book's pages, Colab
    if (theme === "dark" || theme === "light") return theme === "dark";
    if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false"; // JupyterLab
    if (body.dataset.vscodeThemeKind) return !/light/.test(body.dataset.vscodeThemeKind);
    return PREFERS_DARK.matches;
  }

  // What all kinds have: data, theme, a sentence that is spoken, and the numbers as a table.
  class Interactive extends HTMLElement {
    static LINES = 4; // of the sentence, on a telephone
    static STYLE = ""; // of this kind
    static TABLE = "The numbers"; // its name
    #parsing; // what is watched while it is on the page
    #theme;
    #size = { disconnect() {} }; // of an element, if it matters to this kind
    #sized = null;
    #seen = { disconnect() {} }; // whether it has come into sight
    #follow = () => this.toggleAttribute("dark", isDark());

    connectedCallback() {
      // on a page, the parser has not read the data yet, after which picture and text follow
      this.#parsing = new MutationObserver(() => this.start());
      this.#parsing.observe(this, { childList: true });
      this.start();
      this.#theme = new MutationObserver(this.#follow);
      for (const node of [document.documentElement, document.body])
        this.#theme.observe(node, { attributes: true });
      PREFERS_DARK.addEventListener("change", this.#follow);
      this.#follow();
      if (this.#sized) this.#size.observe(this.#sized); // somebody puts it back
    }

    // a cell that runs again leaves nothing behind that holds its old figure
    disconnectedCallback() {
      this.#parsing.disconnect();
      this.#theme.disconnect();
      this.#size.disconnect();
      this.#seen.disconnect();
      clearTimeout(this.timer);
      PREFERS_DARK.removeEventListener("change", this.#follow);
    }

    start() {
      if (this.shadowRoot || !this.querySelector("p")) return;
      this.data = JSON.parse(this.querySelector("script").textContent);
      const root = this.attachShadow({ mode: "open" });
      this.controls = element("div", { class: "controls" });
      this.stage = element("div");
      this.said = element("p", { class: "said", "aria-live": "polite",
        style: `--lines: ${this.constructor.LINES}` });
      this.table = element("div", { class: "scroll", tabindex: 0, role: "group",
        "aria-label": this.constructor.TABLE });
      this.details = element("details", { ontoggle: () => this.showNumbers() },
        element("summary", {}, this.constructor.TABLE), this.table);
      const frame = element("div", { class: "frame", role: "group",
        "aria-label": this.getAttribute("label") }, this.controls, this.stage, this.said);
      if (this.numbers) frame.append(this.details);
      root.append(element("style", {}, STYLE + this.constructor.STYLE), frame);
      this.build();
      this.draw();
    }

    // do this whenever an element of the figure gets another size
    whenResized(node, react) {
      this.#size = new ResizeObserver(react);
      this.#sized = node;
      this.#size.observe(node);
    }

    // do this once, when the figure comes into sight
    whenSeen(react) {
      this.#seen = new IntersectionObserver((entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        this.#seen.disconnect();
        react();
      }, { threshold: 0.3 });
      this.#seen.observe(this);
    }

    // do this once it has come into sight, in silence, unless somebody is quicker or wants no motion
    onceByItself(act, wait = 0) {
      if (still()) return;
      let taken = false;
      for (const event of ["pointerdown", "focusin"])
        this.shadowRoot.addEventListener(event, () => (taken = true));
      this.whenSeen(() => (this.timer = setTimeout(() => {
        if (taken || still()) return;
        this.said.ariaLive = "off";
        act();
        setTimeout(() => (this.said.ariaLive = "polite"));
      }, wait)));
    }

    draw() {
      this.showSteps?.();
      this.paint();
      this.showNumbers();
    }

    // show a step; on the way forward, figures with a travel() let what the step brings move there
    go(step) {
      const before = this.step;
      this.step = step;
      this.draw();
      if (step === before + 1 && !still()) this.travel?.();
    }

    // draw what moves, with parts from 0 to 1, or at once if it has no way to go or may not move
    glide(draw, quiet = false, time = 250) {
      cancelAnimationFrame(this.frame);
      const start = performance.now();
      const move = (now) => {
        const part = quiet || still() ? 1 : Math.min(1, Math.max(0, (now - start) / time));
        draw(part * (2 - part));
        if (part < 1) this.frame = requestAnimationFrame(move);
      };
      move(start);
    }

    // what has not changed is not spoken again
    say(text) {
      if (text !== this.said.told) this.said.replaceChildren(...lowered(whole(this.said.told = text)));
    }

    // numbers(), which most kinds have, gives rows of cells; the first row and each row's first
    // cell are headings, but for an empty corner
    showNumbers() {
      if (!this.details.open) return;
      this.table.replaceChildren(this.tableOf(this.numbers()));
    }

    tableOf([head, ...rows]) {
      const heading = (scope) => (text) =>
        text === "" ? element("td") : element("th", { scope }, text);
      return element("table", {},
        element("thead", {}, element("tr", {}, ...head.map(heading("col")))),
        element("tbody", {}, ...rows.map(([first, ...others]) =>
          element("tr", {}, heading("row")(first),
            ...others.map((text) => element("td", {}, text))))));
    }

    choice(label, options, onchange, chosen = 0) {
      const select = element("select", { onchange: () => onchange(Number(select.value)) },
        ...options.map((text, value) =>
          element("option", { value, selected: value === chosen }, text)));
      this.controls.append(element("label", {}, label, select));
    }

    // text(value) is what is shown and spoken; returns a function that moves the slider
    slider(label, { min, max, step = 1, value, text = String }, onchange) {
      const shown = element("output", { "aria-live": "off" });
      const input = element("input", { type: "range", min, max, step, "aria-label": label,
        oninput: () => {
          show(Number(input.value));
          onchange(Number(input.value));
        } });
      const show = (value) => {
        input.value = value;
        input.setAttribute("aria-valuetext", text(value));
        shown.textContent = text(value);
      };
      show(value);
      this.controls.append(element("label", {}, label, input, shown));
      return show;
    }

    toggle(label, onchange) {
      const input = element("input", { type: "checkbox", role: "switch",
        onchange: () => onchange(input.checked) });
      this.controls.append(element("label", {}, input, label));
    }

    button(label, onclick) {
      const button = element("button", { type: "button", onclick }, label);
      this.controls.append(button);
      return button;
    }

    // Buttons for a step back and on, and with a pace (in ms) one to run to the last, unspoken on the
    // way. this.go(step) shows one, this.step is the one shown, and last() may change.
    stepper({ first = 0, last, next = "next →", pace }) {
      const by = (move) => {
        this.pause();
        this.go(Math.max(first, Math.min(this.step + move, last())));
      };
      this.step = first;
      const back = this.button("← back", () => by(-1));
      const on = this.button(next, () => by(1));
      const player = pace && this.button("play", () => (this.playing ? this.pause() : this.play()));
      this.pause = () => {
        if (!this.playing) return;
        clearTimeout(this.timer);
        this.playing = false;
        this.draw();
      };
      this.play = () => {
        const forward = () => {
          this.playing = this.step < last() - 1;
          this.go(this.step + 1);
          if (this.playing) this.timer = setTimeout(forward, pace);
        };
        this.playing = true;
        if (this.step === last()) this.go(first);
        else this.draw();
        this.timer = setTimeout(forward, pace);
      };
      this.showSteps = () => {
        back.setAttribute("aria-disabled", this.step === first);
        on.setAttribute("aria-disabled", this.step === last());
        if (!player) return;
        player.textContent = this.playing ? "pause" : "play";
        this.said.ariaLive = this.playing ? "off" : "polite";
      };
    }

    // rows of a name, a bar and a number; show(shares, texts) sets the bars, from 0 to 1
    bars(names, more = "") {
      const bars = names.map(() => element("div", { class: "bar" }));
      const numbers = names.map(() => element("span", { class: "number" }));
      const list = element("ul", { class: `bars ${more}` }, ...names.map((name, i) =>
        element("li", {}, element("span", { class: "name", title: name }, name),
          element("span", {}, bars[i]), numbers[i])));
      const show = (shares, texts) => shares.forEach((share, i) => {
        bars[i].style.width = `${100 * share}%`;
        numbers[i].replaceChildren(...[texts[i]].flat());
      });
      return { list, show };
    }
  }

  const shared = { Interactive, element, shape, fill, range, sum, dot, softmax, fixed, lowered, towards, ribbon,
    ribbons, percent, boxesIn, degrees, sector, still };

  // The element of one kind, unless another figure of this page has brought it.
  function define(kind, classFrom) {
    const name = `attnbook-${kind}`;
    if (!customElements.get(name)) customElements.define(name, classFrom(shared));
  }

  return { define };
})();
