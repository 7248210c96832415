// Tokens on both sides, joined by lines; block and head can be chosen, one token picked out.
attnbook.define("attention-map", ({ Interactive, element, shape, fill, fixed }) =>
  class AttentionMap extends Interactive {
    static STYLE = `
      .sides { display: grid; grid-template-columns: auto minmax(5rem, 1fr) auto; }
      .sides ul { max-width: 8.5rem; }
      .sides li { height: 26px; line-height: 26px; padding: 0 .4rem; overflow: hidden;
        white-space: nowrap; text-overflow: ellipsis; border-radius: .3rem; }
      .rows li { color: var(--query); text-align: right; cursor: pointer; }
      .rows li[aria-selected="true"] { background: var(--hover); font-weight: 600; }
      .columns li { display: flex; gap: .4em; color: var(--key); }
      .columns span { overflow: hidden; text-overflow: ellipsis; }
      .columns b { flex: none; min-width: 2.2em; color: var(--ink); font-weight: 400;
        font-size: 13px; }
      .weight { stroke: var(--weights); fill: none; stroke-linecap: round; }
      @media (prefers-reduced-motion: no-preference) { .weight { transition: opacity .15s; } }
    `;
    static LINES = 3;

    build() {
      const { rows, columns, weights, start } = this.data;
      [this.block, this.head] = start;
      this.picked = null; // the token whose row alone is shown
      this.shares = []; // beside each token of the right, its weight in that row
      const numbered = (name, list) => list.map((_, i) => `${name} ${i + 1}`);
      if (weights.length > 1)
        this.choice("Block", numbered("block", weights), (block) => {
          this.block = block;
          this.draw();
        }, this.block);
      if (weights[0].length > 1)
        this.choice("Head", [...numbered("head", weights[0]), "mean of all heads"], (head) => {
          this.head = head;
          this.draw();
        }, this.head);
      this.options = rows.map((token, i) =>
        element("li", { role: "option", tabindex: i ? -1 : 0, title: token,
          onfocus: () => this.pick(i),
          onmouseenter: () => this.pick(i) }, token));
      this.labels = columns.map((token) => {
        const number = element("b");
        this.shares.push(number);
        return element("li", { title: token }, element("span", {}, token), number);
      });
      this.list = element("ul", { class: "rows", role: "listbox", "aria-label": "Tokens that look",
        onkeydown: (event) => this.key(event),
        onfocusout: () => this.pick(null),
        onmouseleave: () => this.pick(this.focused()) }, ...this.options);
      this.lines = shape("svg", { "aria-hidden": "true" });
      this.stage.append(element("div", { class: "sides" }, this.list, this.lines,
        element("ul", { class: "columns" }, ...this.labels)));
      this.whenResized(this.lines, () => this.paint());
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

    // the map of the chosen block and head: one row for each token that looks
    map() {
      const heads = this.data.weights[this.block];
      if (this.head < heads.length) return heads[this.head];
      return heads[0].map((row, i) => row.map((_, j) =>
        heads.reduce((sum, head) => sum + head[i][j], 0) / heads.length));
    }

    paint() {
      const { rows, columns } = this.data;
      const map = this.map();
      const step = 26;
      const width = this.lines.clientWidth || 200;
      const height = step * Math.max(rows.length, columns.length);
      // on paper it is as wide as there is room
      const viewBox = `0 0 ${width} ${height}`;
      fill(this.lines, { height, viewBox, preserveAspectRatio: "none" }, []);
      const y = (i) => step * (i + 0.5);
      this.lines.replaceChildren(...map.flatMap((row, i) => row.map((weight, j) =>
        weight < 0.005 ? null : shape("path", { class: "weight",
          d: `M4,${y(i)} C${width / 2},${y(i)} ${width / 2},${y(j)} ${width - 4},${y(j)}`,
          "stroke-width": 0.5 + 5 * weight,
          opacity: this.picked === null || this.picked === i ? 0.15 + 0.85 * weight : 0.03 })))
        .filter(Boolean));
      this.options.forEach((option, i) =>
        option.setAttribute("aria-selected", this.picked === i));
      this.shares.forEach((share, j) => {
        share.textContent = this.picked === null ? "" : fixed(map[this.picked][j]);
      });
      this.say(this.picked === null
        ? "Point at a token on the left, tap it, or go there with Tab and the arrow keys."
        : `${rows[this.picked]} looks at ` + map[this.picked]
          .map((weight, j) => [weight, j])
          .sort(([a], [b]) => b - a).slice(0, 4)
          .map(([weight, j]) => `${columns[j]} ${fixed(weight)}`).join(", ") + ".");
    }

    numbers() {
      const { rows, columns } = this.data;
      return [["", ...columns], ...this.map().map((row, i) =>
        [rows[i], ...row.map((weight) => fixed(weight, 3))])];
    }
  });
