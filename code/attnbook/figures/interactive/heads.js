// Multi-head attention in six stages, one at a time: the numbers of a word part into two heads,
// which attend, and come together again.
attnbook.define("heads", ({ Interactive, element, shape, range, fixed, lowered }) => {
  const HEADS = [0, 1];
  const ROLES = ["q", "k", "v"];
  const NAMES = ["project", "split", "weigh", "average", "join", "times W_O"];
  const [PROJECT, SPLIT, WEIGH, AVERAGE, JOIN, MEET] = range(NAMES.length);
  const DONE = { [WEIGH]: /^v/, [AVERAGE]: /^[kq]/, [JOIN]: /^[akqvw]/ }; // what stands back in a stage
  const MOVE = 900, PACE = 3000; // milliseconds
  const BROAD = 560, APART = 24, PAD = 10, TEXT = 18, GAP = 5; // pixels: the last is the height of a line
  const short = (number) => fixed(number, 1).replace(/[.]0$/, "").replace(/^−0$/, "0");

  return class Heads extends Interactive {
    static LINES = 4;
    static STYLE = `
      .frame { container-type: inline-size; }
      .tabs { display: grid; grid-template-columns: repeat(3, auto); gap: .3rem; margin-bottom: .8rem; }
      .tabs button { padding: 0 .3rem; font-size: 14px; white-space: nowrap; border-color: var(--line); }
      .tabs [aria-pressed="true"] { font-weight: 600; border-color: var(--weights); background: var(--hover);
        box-shadow: inset 0 -3px var(--weights); }
      .room { position: relative; font-size: 12px; line-height: 1; }
      .room > * { position: absolute; left: 0; top: 0; display: grid; box-sizing: border-box;
        grid-auto-flow: column; grid-auto-columns: minmax(0, 1fr); transition: transform ${MOVE}ms, width ${MOVE}ms,
        height ${MOVE}ms, opacity ${MOVE / 2}ms, visibility ${MOVE / 2}ms; }
      .room > .appears { transition: opacity ${MOVE / 2}ms var(--late, ${MOVE / 3}ms), visibility 0s var(--late, ${MOVE / 3}ms); }
      .room > .falls { --late: ${MOVE * 0.8}ms; } /* after what it is made of */
      .room.quiet > * { transition: none; }
      .room > .gone { opacity: 0; visibility: hidden; }
      .room > .done:not(.text) { opacity: .5; } /* words stay legible */
      .cell { display: grid; place-items: center; min-width: 0; margin-right: -1px; white-space: nowrap;
        letter-spacing: -.03em; font-variant-numeric: tabular-nums; color: var(--ink); font-weight: 600;
        border: 1px solid color-mix(in srgb, var(--of) 45%, var(--paper));
        background: color-mix(in srgb, var(--of) var(--share, var(--some)), var(--paper)); transition: background ${MOVE / 2}ms; }
      .cell.none { font-weight: 400; color: var(--soft); --some: var(--none); }
      .q { --of: var(--query); } .k { --of: var(--key); } .v { --of: var(--value); } .x { z-index: 1; --of: var(--soft); --some: 22%; --none: 5%; }
      .first { --some: 42%; --none: 18%; } .second { --some: 24%; --none: 5%; } /* head 1 is darker */
      .other:not(.own) .cell, .sparse .none { font-size: 0 !important; } /* only colour: numbers are those of the word */
      .arcs path { fill: none; stroke: var(--weights); opacity: .5; }
      .weight { align-items: center; white-space: nowrap; padding-left: 4px; font-weight: 600; border-left: 2px solid var(--weights);
        font-variant-numeric: tabular-nums; background: linear-gradient(color-mix(in srgb, var(--weights)
        45%, var(--paper)) 0 0) 0 / calc(100% * var(--part)) 100% no-repeat; }
      .text { align-items: center; color: var(--soft); font-size: 13px; white-space: nowrap; }
      .text b { color: var(--of, var(--ink)); }
      .end { text-align: right; } .mid { text-align: center; }
      .narrow .more { display: none; }
      .own { font-weight: 600; color: var(--ink); }
      .head { border: 1px solid var(--line); border-radius: .5rem; background: var(--tint); }
      .room .flies { z-index: 1; }
      @container (min-width: ${BROAD}px) { .room, .text { font-size: 14px; }
        .room .cell { font-size: 13px; } .tabs { grid-template-columns: repeat(6, auto); } }
    `;

    build() {
      const { tokens, rows, first } = this.data;
      this.word = first;
      this.width = rows.x[0].length;
      this.stepper({ last: () => MEET, pace: PACE });
      this.choice("Word", tokens, (word) => {
        this.pause();
        this.word = word;
        this.draw();
      }, first);
      this.tabs = NAMES.map((name, i) => element("button", { type: "button", onclick: () => {
        this.pause();
        this.go(i);
      } }, `${i + 1} `, ...lowered(name)));
      this.room = element("div", { class: "room", "aria-hidden": "true" });
      this.parts = {}; // what can be seen: nodes by their names
      this.makeTexts();
      this.makeNumbers();
      this.stage.append(element("div", { class: "tabs", role: "group", "aria-label": "Stages" }, ...this.tabs), this.room);
      this.whenResized(this.room, () => {
        if (this.room.clientWidth === this.across) return;
        this.across = this.room.clientWidth;
        this.paint(true);
      });
      this.onceByItself(() => {
        this.emerge();
        this.play();
      });
    }

    add(name, kind, ...children) {
      this.parts[name] = element("div", { class: kind }, ...children);
      this.room.append(this.parts[name]);
    }

    makeTexts() {
      const { tokens, jobs, features, gives } = this.data;
      const text = (name, kind, ...says) => this.add(name, `text ${kind}`, element("span", {}, ...says));
      const bold = (says) => element("b", {}, ...lowered(says));
      const columns = (name, kinds) => this.add(name, "text mid", ...Object.entries(kinds).map(([kind, many]) =>
        element("span", { style: `grid-column: span ${many}` }, kind)));
      HEADS.forEach((h) => {
        this.add(`head${h}`, "head");
        text(`job${h}`, "", bold(`head ${h + 1}`), `: ${jobs[h]}`);
        text(`values${h}`, "v mid", bold("v"), " of each word");
        text(`keys${h}`, "k mid", bold("k"), element("span", { class: "more" }, " of each word"));
        text(`sum${h}`, "v end", bold("sum"));
        text(`query${h}`, "q", bold("q"), element("span", { class: "more" }));
        text(`from${h}`, "v mid", `average of head ${h + 1}`);
        tokens.forEach((token, j) => text(`word${h}${j}`, "", token));
      });
      text("named-x", "x");
      for (const role of "xq") text(`of-${role}`, "own");
      columns("kinds", features);
      columns("gives", gives);
      const made = { q: "_Q, the query (what it looks for)", k: "_K, the key (what it is found by)",
        v: "_V, the value (what it hands over)" };
      ROLES.forEach((role) => text(`named-${role}`, role, bold(role), ...lowered(` = x W${made[role]}`)));
      text("named-joined", "v", bold("joined"));
      text("named-W_O", "mid", ...lowered("each number times its row of W_O"));
      text("named-output", "", bold("output"));
    }

    makeNumbers() {
      const { tokens, W_O } = this.data;
      const shades = ["first", "second"];
      const strip = (name, kind, size) => this.add(name, kind, ...range(size).map(() => element("span", { class: "cell" })));
      const half = this.width / 2;
      HEADS.forEach((h) => {
        strip(`x${h}`, "x", half);
        strip(`q${h}`, `q ${shades[h]}`, half);
        this.add(`arcs${h}`, "arcs", shape("svg"));
        tokens.forEach((_, j) => {
          strip(`k${h}${j}`, `k other ${shades[h]}`, half);
          strip(`v${h}${j}`, `v other ${shades[h]}`, half);
          this.add(`weight${h}${j}`, "weight", element("span"));
        });
      });
      W_O.forEach((row, i) => strip(`W_O${i}`, "x sparse", row.length));
      range(this.width).forEach((i) => strip(`joined${i}`, `v falls ${shades[Number(i >= half)]}`, 1));
      strip("output", "x falls", this.width);
    }

    // the numbers of a word that belong to a head
    half(name, head, word) {
      const half = this.width / 2;
      return this.data.rows[name][word].slice(head * half, (head + 1) * half);
    }

    // where everything is that can be seen in this stage: left, top, width and height
    scene() {
      const { step, word, across } = this;
      const { tokens } = this.data;
      const broad = across >= BROAD;
      const line = broad ? 28 : 23;
      const half = this.width / 2;
      const panel = broad ? (across - APART) / 2 : across;
      const high = 2 * PAD + TEXT + 6 + line * (tokens.length + 2) + 14;
      const end = broad ? high : 2 * high + PAD;
      this.room.classList.toggle("narrow", !broad);
      const all = end + TEXT + line + 10;
      this.room.style.height = `${all}px`;
      const at = {};
      if (step === PROJECT) {
        const names = broad ? 60 : 44;
        const wide = (across - names) / 2; // of a half of the numbers
        const cell = (all - 5 * TEXT - 3 * GAP) / (2 * tokens.length + 2);
        let top = TEXT;
        const row = (strip, name, token) => {
          HEADS.forEach((h) => (at[`${strip}${h}${token}`] = [names + h * wide, top, wide, cell]));
          at[name] = [0, top, names, cell];
          top += cell;
        };
        at["named-x"] = [0, 0, across, TEXT];
        at.kinds = [names, top, 2 * wide, TEXT];
        top += TEXT;
        row("x", "of-x", "");
        ROLES.forEach((role, r) => {
          top += GAP;
          at[`named-${role}`] = [0, top - 3, across, TEXT];
          top += TEXT;
          if (role === "q") row("q", "of-q", "");
          else tokens.forEach((_, j) => row(role, `word${r - 1}${j}`, j));
        });
        return at;
      }
      if (step < MEET) {
        const [names, share, arc] = broad ? [72, 62, 40] : [40, 56, 24];
        const free = panel - 2 * PAD - names - share - arc;
        const [key, value] = [0.36 * free, 0.64 * free]; // values become fractions
        HEADS.forEach((h) => {
          const left = broad ? h * (panel + APART) : 0;
          const top = broad ? 0 : h * (high + PAD);
          const [k, v] = [left + PAD + names, left + PAD + names + key + share];
          const [query, sum] = [top + PAD + TEXT + 6, top + high - PAD - line];
          const row = (j) => query + line + 7 + j * line;
          at[`head${h}`] = [left, top, panel, high];
          at[`job${h}`] = [left + PAD, top + PAD - 3, panel - 2 * PAD, TEXT];
          at[`query${h}`] = [left + PAD, query, names, line];
          at[`q${h}`] = [k, query, key, line];
          for (const j of range(tokens.length)) {
            at[`word${h}${j}`] = [left + PAD, row(j), names, line];
            at[`k${h}${j}`] = [k, row(j), key, line - 1];
            at[`v${h}${j}`] = [v, row(j), value, line - 1];
            if (step >= WEIGH) at[`weight${h}${j}`] = [k + key + 6, row(j) + 1, share - 9, line - 3];
          }
          at[`keys${h}`] = [k - (broad ? 30 : 0), sum, key + (broad ? 30 : 0), line];
          at[`values${h}`] = [v, query, value, line];
          if (step === AVERAGE) at[`sum${h}`] = [v - share, sum, share - 6, line];
          if (step === AVERAGE) range(half).forEach((i) => {
            at[`joined${h * half + i}`] = [v + i * value / half, sum, value / half, line];
          });
          if (step >= AVERAGE) {
            at[`arcs${h}`] = [v + value, row(0), arc, sum + line - row(0)];
            this.drawArcs(h, (j) => (j + 0.5) * line, sum - row(0), line - 2, arc);
          }
          if (step === JOIN) at[`from${h}`] = [h * across / 2, end + 8, across / 2, TEXT];
        });
        if (step === JOIN) range(this.width).forEach((i) => {
          at[`joined${i}`] = [i * across / this.width, end + 8 + TEXT, across / this.width, line];
        });
        return at;
      }
      const column = broad ? 54 : 46;
      const rest = across - column - 8;
      const thin = (all - 2 * TEXT - line - 2 * PAD) / this.width;
      const row = (i) => TEXT + 3 + i * thin + (i >= half ? 6 : 0);
      at["named-joined"] = [0, 0, column + 10, TEXT];
      at["named-W_O"] = [column + 8, 0, rest, TEXT];
      range(this.width).forEach((i) => {
        at[`joined${i}`] = [0, row(i), column, thin];
        at[`W_O${i}`] = [column + 8, row(i), rest, thin];
      });
      const below = row(this.width) + 8;
      at.output = [column + 8, below, rest, line];
      at.gives = [column + 8, below + line, rest, TEXT];
      at["named-output"] = [0, below, column, line];
      return at;
    }

    // from each value to the sum, as wide as the weight
    drawArcs(h, middle, end, high, wide) {
      const paths = this.data.weights[h][this.word].map((part, j) => {
        const below = end + part * high / 2;
        end += part * high;
        return shape("path", { d: `M0,${middle(j)} C${wide},${middle(j)} ${wide},${below} 0,${below}`, "stroke-width": part * high });
      });
      this.parts[`arcs${h}`].firstChild.replaceChildren(...paths);
    }

    // put everything in its place; what was not there appears in it, and the rest moves to it
    place(quiet) {
      const at = this.scene();
      this.room.classList.toggle("quiet", quiet);
      for (const [name, node] of Object.entries(this.parts)) {
        const appears = node.classList.contains("gone") && name in at;
        node.classList.toggle("appears", appears);
        node.classList.toggle("gone", !(name in at));
        node.classList.toggle("done", Boolean(DONE[this.step]?.test(name)));
        if (!(name in at)) continue;
        const [left, top, width, height] = at[name];
        Object.assign(node.style, { transform: `translate(${left}px, ${top}px)`, width: `${width}px`, height: `${height}px` });
      }
    }

    // copies of a row fly from one place to another, and fade by their shares
    fly(name, share, [left, top]) {
      const node = this.parts[name].cloneNode(true);
      const { transform } = node.style;
      node.classList.remove("appears", "done");
      node.classList.add("flies");
      this.room.append(node);
      node.animate([{ transform, opacity: share }, { transform: `translate(${left}px, ${top}px)`, opacity: share }],
        { duration: MOVE, easing: "ease-in" }).finished.then(() => node.remove());
    }

    // the rows of a sum fall together, each as strong as its share
    travel() {
      const { weights, tokens, rows } = this.data;
      const at = this.scene();
      if (this.step === AVERAGE)
        HEADS.forEach((h) => tokens.forEach((_, j) =>
          this.fly(`v${h}${j}`, weights[h][this.word][j], at[`joined${h * this.width / 2}`])));
      if (this.step === MEET)
        rows.joined[this.word].forEach((number, i) => this.fly(`W_O${i}`, Math.min(1, Math.abs(number)), at.output));
    }

    // the first stage begins with x alone, and query, key and value come out of it
    emerge() {
      for (const h of HEADS) {
        const own = [`q${h}`, `k${h}${this.word}`, `v${h}${this.word}`];
        for (const name of own) {
          const { transform } = this.parts[name].style;
          this.parts[name].animate([{ transform: this.parts[`x${h}`].style.transform }, { transform }],
            { duration: 1.5 * MOVE, easing: "ease-in-out" });
        }
        for (const name of this.data.tokens.flatMap((_, j) => [`k${h}${j}`, `v${h}${j}`]))
          if (!own.includes(name))
            this.parts[name].animate({ opacity: [0, 0, 1] }, { duration: 2 * MOVE }); // from words not seen
      }
    }

    paint(quiet = false) {
      const { tokens, weights, rows, W_O } = this.data;
      const half = this.width / 2;
      this.tabs.forEach((tab, i) => tab.setAttribute("aria-pressed", i === this.step));
      const write = (name, numbers, share = () => null) => [...this.parts[name].children].forEach((cell, i) => {
        cell.textContent = short(numbers[i]);
        cell.classList.toggle("none", cell.textContent === "0");
        cell.style.setProperty("--share", share(i) === null ? "" : `${Math.round(share(i))}%`);
      });
      HEADS.forEach((h) => {
        const query = this.half("q", h, this.word);
        write(`x${h}`, this.half("x", h, this.word));
        this.parts[`of-${"xq"[h]}`].firstChild.textContent = tokens[this.word];
        write(`q${h}`, query, (i) => (this.step === WEIGH && query[i] ? 55 : null));
        this.parts[`query${h}`].querySelector(".more").textContent = ` of ${tokens[this.word]}`;
        tokens.forEach((_, j) => {
          const key = this.half("k", h, j);
          const part = weights[h][this.word][j];
          write(`k${h}${j}`, key, (i) => (this.step === WEIGH && query[i] * key[i] > 0 ? 55 : null));
          const value = this.half("v", h, j);
          write(`v${h}${j}`, value, (i) => (this.step >= AVERAGE ? (value[i] ? 8 + 62 * part : 3) : null));
          this.parts[`weight${h}${j}`].firstChild.textContent = `${fixed(part)}${this.step > WEIGH ? " ×" : ""}`;
          this.parts[`weight${h}${j}`].style.setProperty("--part", part);
          for (const name of "word k v".split(" ")) this.parts[`${name}${h}${j}`].classList.toggle("own", j === this.word);
        });
      });
      const joined = rows.joined[this.word];
      joined.forEach((number, i) => {
        write(`joined${i}`, [number]);
        write(`W_O${i}`, W_O[i], (k) => Math.min(40, 40 * Math.abs(number * W_O[i][k])));
      });
      write("output", rows.output[this.word]);
      if (this.across < BROAD) // a number with a sign has no room for its 0
        for (const cell of this.parts.output.children) cell.textContent = cell.textContent.replace(/0(?=[.])/, "");
      this.parts["named-x"].lastChild.replaceChildren(element("b", {}, "x"), `, the ${this.width} features of `,
        element("b", {}, tokens[this.word]));
      if (this.across) this.place(quiet);
      this.say(this.explain());
    }

    explain() {
      const { tokens, weights } = this.data;
      const word = tokens[this.word];
      const most = HEADS.map((head) => {
        const row = weights[head][this.word].map((weight) => fixed(weight));
        const share = row.reduce((a, b) => (Number(b) > Number(a) ? b : a));
        const best = tokens.filter((_, j) => row[j] === share).map((token) => `“${token}”`);
        const names = best.length === tokens.length ? "every word" : best.join(" and ");
        return { names, share: `${names} a weight of ${share}` };
      });
      const half = this.width / 2;
      return [
        `The ${this.width} features of “${word}” are multiplied by three matrices, which gives a query q, `
          + "a key k and a value v. All other words get theirs in the same way.",
        `Nothing is computed: head 1 takes the first ${half} numbers of each q, k and v, and head 2 the others.`,
        `In each head, the query of “${word}” meets the keys of all words. Head 1 gives `
          + `${most[0].share}, and head 2 gives ${most[1].share}.`,
        "Each value counts as much as its weight, and the sum of all is the average. "
          + `The largest weight is on ${most[0].names} in head 1, and on ${most[1].names} in head 2.`,
        `The two averages, ${half} numbers each, are put side by side, which gives ${this.width} numbers.`,
        "Only here do the heads meet, because each number of the output can use the numbers of both. "
          + `The output has ${this.width} numbers, as many as x.`][this.step];
    }

    numbers() {
      const { tokens, weights, rows } = this.data;
      const named = { x: "x", q: "q", k: "k", v: "v", joined: "joined", output: "output" };
      return [["", ...range(this.width).map((i) => String(i + 1))],
        ...Object.entries(named).map(([name, title]) =>
          [title, ...rows[name][this.word].map((number) => fixed(number, 3))]),
        ...HEADS.map((head) => [`weights of head ${head + 1}`,
          ...range(this.width).map((j) =>
            (j < tokens.length ? fixed(weights[head][this.word][j], 3) : ""))])];
    }
  };
});
