// The book's interactive figures: one custom element for each kind, and what they share. Each is
// <attnbook-KIND> with its data as JSON and a still picture in it, which this script replaces.
(() => {
  if (customElements.get("attnbook-map")) return; // another figure of this page has brought it

  const STYLE = `
    :host { display: block; margin: 1rem 0; color-scheme: light;
      --ink: #1f2328; --soft: #57606a; --line: #d0d4da; --paper: #ffffff; --hover: #f2ecf0;
      --query: #0072b2; --key: #b84f00; --value: #00795a; --weights: #9c3d81;
      font: 15px/1.4 system-ui, sans-serif; color: var(--ink); }
    :host([dark]) { color-scheme: dark;
      --ink: #e6e8eb; --soft: #a9b4c0; --line: #454c55; --paper: #14181e; --hover: #2c2430;
      --query: #6cb8ec; --key: #f0a060; --value: #4cc9a0; --weights: #e08cc6; }
    .frame { max-width: 40rem; padding: .8rem 1rem; border: 1px solid var(--line);
      border-radius: .4rem; background: var(--paper); }
    .controls { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; margin-bottom: .6rem; }
    label { display: flex; align-items: center; gap: .5rem; color: var(--soft); }
    select, button, input { font: inherit; color: var(--ink); accent-color: var(--weights); }
    select, button { min-height: 2rem; padding: .1rem .5rem; background: var(--paper);
      border: 1px solid var(--soft); border-radius: .3rem; }
    :focus-visible { outline: 3px solid var(--weights); outline-offset: 1px; }
    output, .said { color: var(--ink); font-variant-numeric: tabular-nums; }
    .said { min-height: 2.8em; margin: .6rem 0 .2rem; }
    summary { color: var(--soft); cursor: pointer; }
    .scroll { overflow: auto; max-height: 20rem; }
    table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
    th, td { padding: .1rem .45rem; text-align: right; border-bottom: 1px solid var(--line); }
    .sides { display: grid; grid-template-columns: auto minmax(5rem, 1fr) auto; }
    ul { list-style: none; margin: 0; padding: 0; max-width: 8.5rem; }
    li { height: 26px; line-height: 26px; padding: 0 .4rem; overflow: hidden;
      white-space: nowrap; text-overflow: ellipsis; border-radius: .3rem; }
    .rows li { color: var(--query); text-align: right; cursor: pointer; }
    .rows li[aria-selected="true"] { background: var(--hover); font-weight: 600; }
    .columns li { color: var(--key); }
    .columns b { color: var(--ink); font-weight: 400; font-size: 13px; }
    svg { display: block; width: 100%; overflow: visible; }
    .weight { stroke: var(--weights); fill: none; stroke-linecap: round; }
    .tokens { display: flex; flex-wrap: wrap; gap: .3rem; margin: .4rem 0; }
    .token { display: grid; justify-items: center; padding: .1rem .4rem; color: var(--key);
      border-bottom: .45rem solid color-mix(in srgb, var(--weights) var(--share), var(--line)); }
    small { font-size: 12px; color: var(--ink); }
    .written { min-height: 1.6em; margin: .6rem 0; font-size: 17px; }
    mark { padding: 0 .2rem; color: var(--paper); background: var(--query); border-radius: .2rem; }
    .bars { display: grid; grid-template-columns: minmax(5rem, auto) 1fr; gap: .2rem .6rem; }
    .bar { padding-left: .3rem; background: linear-gradient(90deg, var(--hover) 0 0)
      no-repeat left / var(--share) 100%; border-left: 3px solid var(--weights); }
    @media (prefers-reduced-motion: no-preference) { .weight { transition: opacity .15s; } }
  `;

  const SVG = "http://www.w3.org/2000/svg";
  const fill = (node, attributes, children) => {
    for (const [name, value] of Object.entries(attributes))
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value !== null && value !== false) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const element = (name, attributes = {}, ...children) =>
    fill(document.createElement(name), attributes, children);
  const shape = (name, attributes = {}, ...children) =>
    fill(document.createElementNS(SVG, name), attributes, children);
  const fixed = (number, digits = 2) => number.toFixed(digits).replace("-", "−");

  function isDark() {
    const { documentElement: html, body } = document;
    const theme = html.dataset.theme ?? html.getAttribute("theme"); // the book's pages, Colab
    if (theme === "dark" || theme === "light") return theme === "dark";
    if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false"; // JupyterLab
    if (body.dataset.vscodeThemeKind) return !/light/.test(body.dataset.vscodeThemeKind);
    return matchMedia("(prefers-color-scheme: dark)").matches;
  }

  // What all figures have: data, theme, a sentence that is spoken, and the numbers as a table.
  class Figure extends HTMLElement {
    connectedCallback() {
      if (this.shadowRoot) return;
      // on a page, the parser has not read the data yet
      if (this.querySelector("script")) this.start();
      else document.addEventListener("DOMContentLoaded", () => this.start(), { once: true });
    }

    start() {
      this.data = JSON.parse(this.querySelector("script").textContent);
      const root = this.attachShadow({ mode: "open" });
      this.controls = element("div", { class: "controls" });
      this.stage = element("div");
      this.said = element("p", { class: "said", "aria-live": "polite" });
      this.table = element("div", { class: "scroll", tabindex: 0, role: "region",
        "aria-label": "The numbers" });
      this.details = element("details", { ontoggle: () => this.showNumbers() },
        element("summary", {}, "The numbers"), this.table);
      root.append(element("style", {}, STYLE),
        element("div", { class: "frame", role: "group", "aria-label": this.getAttribute("label") },
          this.controls, this.stage, this.said, this.details));
      const follow = () => this.toggleAttribute("dark", isDark());
      const watcher = new MutationObserver(follow);
      for (const node of [document.documentElement, document.body])
        watcher.observe(node, { attributes: true });
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", follow);
      follow();
      this.build();
      this.draw();
    }

    draw() {
      this.paint();
      this.showNumbers();
    }

    // numbers() gives rows of cells; the first row and each row's first cell are headings
    showNumbers() {
      if (!this.details.open) return;
      const [head, ...rows] = this.numbers();
      const heading = (scope) => (text) => element("th", { scope }, text);
      this.table.replaceChildren(element("table", {},
        element("thead", {}, element("tr", {}, ...head.map(heading("col")))),
        element("tbody", {}, ...rows.map(([first, ...others]) =>
          element("tr", {}, heading("row")(first),
            ...others.map((text) => element("td", {}, text)))))));
    }

    choice(label, options, onchange) {
      const select = element("select", { onchange: () => onchange(Number(select.value)) },
        ...options.map((text, value) => element("option", { value }, text)));
      this.controls.append(element("label", {}, label, select));
      return select;
    }
  }

  // Tokens on both sides, joined by lines; layer and head can be chosen, one token picked out.
  class AttentionMap extends Figure {
    build() {
      const { rows, columns, weights } = this.data;
      this.layer = this.head = 0;
      this.picked = null; // the token whose row alone is shown
      const numbered = (name, list) => list.map((_, i) => `${name} ${i + 1}`);
      if (weights.length > 1)
        this.choice("Layer", numbered("layer", weights), (layer) => {
          this.layer = layer;
          this.draw();
        });
      if (weights[0].length > 1)
        this.choice("Head", [...numbered("head", weights[0]), "mean of all heads"], (head) => {
          this.head = head;
          this.draw();
        });
      this.options = rows.map((token, i) =>
        element("li", { role: "option", tabindex: i ? -1 : 0, title: token,
          onfocus: () => this.pick(i),
          onmouseenter: () => this.pick(i) }, token));
      this.labels = columns.map((token) => element("li", { title: token }));
      this.list = element("ul", { class: "rows", role: "listbox", "aria-label": "Tokens that look",
        onkeydown: (event) => this.key(event),
        onfocusout: () => this.pick(null),
        onmouseleave: () => this.pick(this.focused()) }, ...this.options);
      this.lines = shape("svg", { "aria-hidden": "true" });
      this.stage.append(element("div", { class: "sides" }, this.list, this.lines,
        element("ul", { class: "columns" }, ...this.labels)));
      new ResizeObserver(() => this.paint()).observe(this.lines);
    }

    focused() {
      const place = this.options.indexOf(this.shadowRoot.activeElement);
      return place < 0 ? null : place;
    }

    key(event) {
      const last = this.options.length - 1;
      const here = this.focused();
      const to = { ArrowDown: Math.min(here + 1, last), ArrowUp: Math.max(here - 1, 0),
        Home: 0, End: last }[event.key];
      if (event.key === "Escape") this.pick(null);
      if (to === undefined) return;
      event.preventDefault();
      this.options.forEach((option, i) => option.setAttribute("tabindex", i === to ? 0 : -1));
      this.options[to].focus();
      this.pick(to);
    }

    pick(row) {
      this.picked = row;
      this.paint();
    }

    // the map of the chosen layer and head: one row for each token that looks
    map() {
      const heads = this.data.weights[this.layer];
      if (this.head < heads.length) return heads[this.head];
      return heads[0].map((row, i) => row.map((_, j) =>
        heads.reduce((sum, head) => sum + head[i][j], 0) / heads.length));
    }

    paint() {
      const { rows, columns } = this.data;
      const map = this.map();
      const step = 26;
      const width = this.lines.clientWidth || 200;
      this.lines.setAttribute("height", step * Math.max(rows.length, columns.length));
      const y = (i) => step * (i + 0.5);
      this.lines.replaceChildren(...map.flatMap((row, i) => row.map((weight, j) =>
        weight < 0.005 ? null : shape("path", { class: "weight",
          d: `M4,${y(i)} C${width / 2},${y(i)} ${width / 2},${y(j)} ${width - 4},${y(j)}`,
          "stroke-width": 0.5 + 5 * weight,
          opacity: this.picked === null || this.picked === i ? 0.15 + 0.85 * weight : 0.03 })))
        .filter(Boolean));
      this.options.forEach((option, i) =>
        option.setAttribute("aria-selected", this.picked === i));
      this.labels.forEach((label, j) => {
        const number = this.picked === null ? "" : ` ${fixed(map[this.picked][j])}`;
        label.replaceChildren(columns[j], element("b", {}, number));
      });
      this.said.textContent = this.picked === null
        ? "Point at a token on the left, or go there with Tab and the arrow keys, to see its row alone."
        : `${rows[this.picked]} looks at ` + map[this.picked]
          .map((weight, j) => [weight, j])
          .sort(([a], [b]) => b - a).slice(0, 4)
          .map(([weight, j]) => `${columns[j]} ${fixed(weight)}`).join(", ") + ".";
    }

    numbers() {
      const { rows, columns } = this.data;
      return [["", ...columns], ...this.map().map((row, i) =>
        [rows[i], ...row.map((weight) => fixed(weight, 3))])];
    }
  }

  // A translation that is written token by token: where each looks, and what else it could be.
  class Decoding extends Figure {
    build() {
      const { source, written } = this.data;
      this.step = 0;
      const go = (step) => {
        this.step = Math.max(0, Math.min(step, written.length - 1));
        this.range.value = this.step + 1;
        this.draw();
      };
      this.range = element("input", { type: "range", min: 1, max: written.length, value: 1,
        oninput: () => go(Number(this.range.value) - 1) });
      this.place = element("output");
      this.controls.append(
        element("button", { type: "button", onclick: () => go(this.step - 1) }, "← back"),
        element("button", { type: "button", onclick: () => go(this.step + 1) }, "next →"),
        element("label", {}, "Token", this.range, this.place));
      this.source = source.map((token) => element("span", { class: "token" }, token));
      this.target = element("p", { class: "written" });
      this.candidates = element("div", { class: "bars" });
      this.stage.append(
        element("p", { class: "tokens" }, ...this.source), this.target, this.candidates);
    }

    paint() {
      const { source, written, weights, likeliest } = this.data;
      const row = weights[this.step];
      this.place.textContent = `${this.step + 1} of ${written.length}`;
      this.range.setAttribute("aria-valuetext", `${this.step + 1}: ${written[this.step]}`);
      this.source.forEach((chip, j) => {
        chip.style.setProperty("--share", `${100 * Math.min(1, row[j])}%`);
        chip.replaceChildren(source[j], element("small", {}, fixed(row[j])));
      });
      this.target.replaceChildren(...written.slice(0, this.step).flatMap((t) => [t, " "]),
        element("mark", {}, written[this.step]));
      this.candidates.replaceChildren(...likeliest[this.step].flatMap(([token, chance]) => [
        element("span", {}, token),
        element("span", { class: "bar", style: `--share: ${100 * chance}%` }, fixed(chance))]));
      const most = row.indexOf(Math.max(...row));
      this.said.textContent = `Writing ${written[this.step]}, it looks most at ` +
        `${source[most]} (${fixed(row[most])}).`;
    }

    numbers() {
      const { source, written, weights } = this.data;
      return [["written", ...source], ...weights.map((row, t) =>
        [written[t], ...row.map((weight) => fixed(weight, 3))])];
    }
  }

  customElements.define("attnbook-map", AttentionMap);
  customElements.define("attnbook-decoding", Decoding);
})();
