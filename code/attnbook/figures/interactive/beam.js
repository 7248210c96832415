// A beam grows token by token: all continuations compete, the best stay, and the others fade.
attnbook.define("beam", ({ Interactive, element, shape, fixed, boxesIn }) => {
  const PACE = 2000; // milliseconds for a step while it plays
  const [FLIES, FADES] = [800, 700]; // milliseconds to a place in the order, and out of the beam
  const [HIGH, BOX] = [48, 38]; // pixels from one beginning to the next, and of its box
  const [LONG, WIDE] = [0.74, 0.92]; // of the room of a beginning its box has, where steps go to the right, and down
  const SEARCHES = { greedy: "greedy", best: "beam" };
  const quoted = (text) => `“${text}”`;

  return class Beam extends Interactive {
    static LINES = 3;
    static TABLE = "All beginnings";
    static STYLE = `
      :host { container-type: inline-size; }
      .greedy { --of: var(--other); } .best { --of: var(--query); }
      .written { display: grid; gap: 0 .8rem; grid-template-columns: auto auto 1fr; margin-bottom: .7rem; line-height: 1.5; }
      .written > * { display: contents; } .written b { color: var(--of); }
      .written span { font-variant-numeric: tabular-nums; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; } .ahead .number { font-weight: 700; } .written .unit { display: none; }
      .tree { --high: ${HIGH}px; position: relative; height: calc(22px + var(--high) * var(--steps)); font-size: 13px; line-height: 18px; }
      .tree > * { position: absolute; box-sizing: border-box; }
      .tree svg { top: 22px; height: calc(100% - 22px); }
      .wide { display: none; }
      .beam { inset: 0 auto 0 0; width: calc(100% * var(--kept) / var(--most)); border-radius: .4rem; background: var(--hover); }
      .head { z-index: 1; top: 0; left: calc(100% * var(--r) / var(--most)); padding-left: .3rem; line-height: 20px; color: var(--soft); }
      .node { left: calc(100% * (var(--r) + ${(1 - WIDE) / 2}) / var(--most)); width: calc(${100 * WIDE}% / var(--most));
        top: calc(22px + var(--high) * var(--c)); height: ${BOX}px; border-radius: .35rem; text-align: center; white-space: nowrap;
        color: var(--ink); background: var(--paper); box-shadow: inset 0 0 0 1px var(--of, var(--soft)); font-variant-numeric: tabular-nums; }
      .node b { display: block; padding-top: 1px; overflow: hidden; text-overflow: ellipsis; font-weight: 400; }
      .node:is(.greedy, .best) { box-shadow: inset 0 0 0 2px var(--of); } .node:is(.greedy, .best) b { color: var(--of); font-weight: 700; }
      .node.dropped { color: var(--soft); background: none; box-shadow: none; }
      .node.start { box-shadow: none; background: none; font-weight: 600; line-height: ${BOX}px; }
      .dropped.old { opacity: .8; } .later { visibility: hidden; }
      path { fill: none; stroke: var(--of, var(--soft)); vector-effect: non-scaling-stroke; }
      path:is(.greedy, .best) { stroke-width: 3; } path.dropped { stroke-dasharray: 3 3; }
      @media (max-width: 600px) { .frame { padding: .6rem .5rem; } .written { font-size: 13px; gap: 0 .5rem; } }
      @container (min-width: 40rem) {
        .wide { display: block; } .narrow { display: none; } .written .unit { display: inline; }
        .tree { height: calc(var(--high) * var(--most)); font-size: 14px; }
        .tree svg { top: 0; height: 100%; }
        .beam { inset: -5px 0 auto; width: auto; height: calc(var(--high) * var(--kept)); }
        .head { top: calc(var(--high) * var(--r)); left: .4rem; padding: 0; font-size: 13px; }
        .node { left: calc(100% * var(--c) / var(--steps)); width: calc(${100 * LONG}% / var(--steps)); top: calc(var(--high) * var(--r)); }
      }
      @container (min-width: 52rem) { .said { min-height: 1.4em; } }
    `;

    build() {
      const { start, steps } = this.data;
      this.stepper({ last: () => steps.length, pace: PACE });
      this.step = steps.length;
      const [most, count] = [Math.max(...steps.map((all) => all.length)), steps.length + 1];
      const stays = Math.max(...steps.map((all) => all.filter(({ kept }) => kept).length));
      this.middle = Math.floor((stays - 1) / 2); // where the start is
      const kind = (one) => ["kept", "greedy", "best"].filter((name) => one[name]).join(" ").replace(/^(?!kept)/, "dropped ");
      const box = (c, r, name, ...inner) => element("div", { class: name, style: `--c: ${c}; --r: ${r}` }, ...inner);
      const root = box(0, this.middle, "node start", start);
      this.nodes = [[root], ...steps.map((all, t) => all.map((one, r) =>
        box(t + 1, r, `node ${kind(one)}`, element("b", { title: one.token }, one.token), fixed(one.logP))))];
      // of each beginning the lines from the one that it continues: to the right, and down
      this.lines = steps.map((all, t) => all.map((one, r) => {
        const before = t ? one.before : this.middle;
        const [from, to] = [before, r].map((row) => row + BOX / HIGH / 2);
        const [left, right] = [before, r].map((row) => row + 0.5);
        const low = t + BOX / HIGH;
        return [`M${t + LONG},${from} C${t + 0.9},${from} ${t + 0.84},${to} ${t + 1},${to}`,
          `M${left},${low} C${left},${low + 0.2} ${right},${low} ${right},${t + 1}`].map((d) => shape("path", { class: kind(one), d }));
      }));
      const svg = (way, size) => shape("svg", { class: ["wide", "narrow"][way], viewBox: `0 0 ${size}`, preserveAspectRatio: "none" },
        ...this.lines.flat().sort((a, b) => a[0].classList.length - b[0].classList.length).map((pair) => pair[way]));
      this.rows = Object.entries(SEARCHES).map(([name, label]) => {
        const [text, number] = [element("span"), element("span", { class: "number" })];
        return { name, text, number, node: element("div", { class: name }, element("b", {}, label), number, text) };
      });
      this.stage.append(element("div", { class: "written", "aria-hidden": "true" }, ...this.rows.map(({ node }) => node)),
        element("div", { class: "tree", "aria-hidden": "true", style: `--steps: ${count}; --most: ${most}; --kept: ${stays}` },
          element("div", { class: "beam" }), svg(0, `${count} ${most}`), svg(1, `${most} ${count}`),
          box(0, 0, "head", `the best ${stays} stay`), box(0, stays, "head", "dropped"), ...this.nodes.flat()));
      this.onceByItself(() => {
        this.go(0);
        this.play();
      });
    }

    // of a search the tokens until a step, and the log p of all
    written(name, step) {
      const path = this.data.steps.slice(0, step).map((all) => all.find((one) => one[name]));
      return { text: path.map(({ token }) => token).filter((token) => !/^<.*>$/.test(token)).join(" ").replace(/ (?=[.,]$)/, ""),
        logP: path.at(-1)?.logP ?? 0 };
    }

    // all continuations leave what they continue for their places; those that have lost fade there
    travel() {
      const at = boxesIn(this.stage);
      this.nodes[this.step].forEach((node, r) => {
        const one = this.data.steps[this.step - 1][r];
        const [from, to] = [this.nodes[this.step - 1][this.step > 1 ? one.before : 0], node].map(at);
        node.animate([{ transform: `translate(${from.x - to.x}px, ${from.top - to.top}px)`, opacity: 0 }, { opacity: 1, offset: 0.4 },
          { transform: "none" }], { duration: FLIES, easing: "ease-in-out" });
        const looks = { color: "var(--ink)", background: "var(--paper)", boxShadow: "inset 0 0 0 1px var(--soft)" };
        if (!one.kept) node.animate([looks, { ...looks, offset: FLIES / (FLIES + FADES) }, {}], FLIES + FADES);
        for (const line of this.lines[this.step - 1][r]) line.animate([{ opacity: 0 }, { opacity: 0, offset: 0.5 }, {}], { duration: FLIES });
      });
    }

    paint() {
      const shown = (node, t) => {
        node.classList.toggle("later", t > this.step);
        node.classList.toggle("old", t < this.step);
      };
      this.nodes.forEach((all, t) => all.forEach((node) => shown(node, t)));
      this.lines.forEach((all, t) => all.flat().forEach((line) => shown(line, t + 1)));
      const found = this.rows.map(({ name }) => this.written(name, this.step));
      this.rows.forEach(({ text, number, node }, n) => {
        text.textContent = this.step ? `… ${found[n].text}` : this.data.start;
        number.replaceChildren(...(this.step ? [element("span", { class: "unit" }, "log p "), fixed(found[n].logP)] : []));
        node.classList.toggle("ahead", this.step > 0 && found[n].logP > found[1 - n].logP);
      });
      this.say(this.explain());
    }

    explain() {
      const { step } = this;
      if (!step) return `Both searches have written ${quoted(this.data.start)}. Now all continuations compete.`;
      const [greedy, best] = ["greedy", "best"].map((name) => this.written(name, step));
      const behind = (other) => this.written("best", other).logP < this.written("greedy", other).logP;
      if (step === this.data.steps.length) return `The beam ends with the log p ${fixed(best.logP)}. `
        + (best.logP > greedy.logP ? `Greedy search has only ${fixed(greedy.logP)}, because it can take no token back.`
          : `Greedy search, with ${fixed(greedy.logP)}, is not behind.`);
      if (behind(step)) return `Step ${step}: greedy search is ahead with ${quoted(greedy.text)} (log p ${fixed(greedy.logP)}). But the beam keeps ${quoted(best.text)}, too.`;
      if (behind(step - 1)) return `Step ${step}: ${quoted(best.text)} (${fixed(best.logP)}) overtakes ${quoted(greedy.text)} (${fixed(greedy.logP)}).`;
      return `Step ${step}: ${quoted(best.text)} (${fixed(best.logP)}) is ahead of ${quoted(greedy.text)} (${fixed(greedy.logP)}).`;
    }

    numbers() {
      const { steps } = this.data;
      return [["", ...this.nodes.at(-1).map((_, r) => `place ${r + 1}`)], ...steps.map((all, t) =>
        [`step ${t + 1}`, ...all.map(({ token, logP, kept }) => `${token} ${fixed(logP)}${kept ? "" : " (dropped)"}`)])];
    }
  };
});
