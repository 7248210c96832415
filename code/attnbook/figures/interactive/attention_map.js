// Tokens on both sides, joined by lines; block and head can be chosen, one token picked out.
attnbook.define("attention-map", ({ Interactive, element, shape, fill, fixed }) =>
  class AttentionMap extends Interactive {
    static STYLE = `
      .sides { display: grid; grid-template-columns: auto minmax(5rem, 1fr) auto; }
      .sides ul { max-width: 8.5rem; }
      .sides li { height: 26px; line-height: 26px; padding: 0 .4rem; overflow: hidden;
        white-space: nowrap; text-overflow: ellipsis; border-radius: .3rem; }
      .rows li { color: var(--query); text-align: right; cursor: pointer; }
      .rows li[aria-selected="true"] { background: var(--tint); font-weight: 600; }
      .columns li { display: flex; gap: .4em; color: var(--key); }
      .columns span { overflow: hidden; text-overflow: ellipsis; }
      .columns b { flex: none; min-width: 2.2em; color: var(--ink); font-weight: 400;
        font-size: 13px; }
      .weight { stroke: var(--weights); fill: none; stroke-linecap: round; }
      @media (prefers-reduced-motion: no-preference) { .weight { transition: opacity .15s; } }
    `;
    static LINES = 3;

    build() {
      const { rows, columns, weights, start, row } = this.data;
      [this.block, this.head] = start;
      this.chosen = row ?? this.strongest(); // the token whose row is shown; null for all
      this.pointed = null; // the one that the mouse is on
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
        element("li", { role: "option", tabindex: i === this.chosen ? 0 : -1, title: token,
          onfocus: () => this.choose(i), onclick: () => this.choose(i),
          onmouseenter: () => this.point(i) }, token));
      this.labels = columns.map((token) => {
        const number = element("b");
        this.shares.push(number);
        return element("li", { title: token }, element("span", {}, token), number);
      });
      this.list = element("ul", { class: "rows", role: "listbox", "aria-label": "Tokens that look",
        onkeydown: (event) => this.key(event),
        onmouseleave: () => this.point(null) }, ...this.options);
      this.lines = shape("svg", { "aria-hidden": "true" });
      this.columns = element("ul", { class: "columns" }, ...this.labels);
      this.stage.append(element("div", { class: "sides" }, this.list, this.lines, this.columns));
      this.whenResized(this.lines, () => this.paint());
    }

    key(event) {
      const last = this.options.length - 1;
      const here = this.options.indexOf(event.target);
      const to = { ArrowDown: Math.min(here + 1, last), ArrowUp: Math.max(here - 1, 0),
        Home: 0, End: last }[event.key];
      if (event.key === "Escape") this.choose(null);
      if (to === undefined) return;
      event.preventDefault();
      this.options[to].focus();
    }

    choose(row) {
      this.chosen = row;
      this.pointed = null;
      if (row !== null)
        this.options.forEach((option, i) => option.setAttribute("tabindex", i === row ? 0 : -1));
      this.paint();
    }

    point(row) {
      this.pointed = row;
      this.paint();
    }

    // the token with the largest weight
    strongest() {
      const most = this.map().map((row) => Math.max(...row));
      return most.indexOf(Math.max(...most));
    }

    // where a token looks, the largest weights first
    looks(row) {
      return row.map((weight, j) => [weight, j]).sort(([a], [b]) => b - a).slice(0, 4)
        .map(([weight, j]) => `${this.data.columns[j]} ${fixed(weight)}`).join(", ");
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
      const picked = this.pointed ?? this.chosen;
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
          opacity: (picked === null || picked === i ? 1 : 0.12) * (0.15 + 0.85 * weight) })))
        .filter(Boolean));
      this.options.forEach((option, i) => {
        option.setAttribute("aria-selected", picked === i);
        option.setAttribute("aria-label", `${rows[i]} looks at ${this.looks(map[i])}`);
      });
      this.columns.setAttribute("aria-label",
        picked === null ? "Tokens that are looked at" : `Weights of ${rows[picked]}`);
      this.shares.forEach((share, j) => {
        share.textContent = picked === null ? "" : fixed(map[picked][j]);
      });
      this.say(picked === null
        ? "The lines show all weights at once. Point at a token on the left, tap it, or move to it with "
          + "the arrow keys."
        : `${rows[picked]} looks at ${this.looks(map[picked])}. `
          + "Choose another token, or press Esc to see all.");
    }

    numbers() {
      const { rows, columns } = this.data;
      return [["", ...columns], ...this.map().map((row, i) =>
        [rows[i], ...row.map((weight) => fixed(weight, 3))])];
    }
  });
