// A word goes upwards through one block, step by step: its vector stays, and attention and then the
// network add to it.
attnbook.define("one-block", ({ Interactive, element, range, sum, fixed }) => {
  const MOVE = 1200, PACE = 3200; // milliseconds
  const TALL = 28, LABEL = 17; // pixels: a bar of 1, and the number on it
  const KINDS = ["own", "attention", "network"]; // what added a part of a bar
  const quoted = (text) => `“${text}”`;

  return class OneBlock extends Interactive {
    static LINES = 4;
    static STYLE = `
      .tower { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: .4rem .3rem; padding-top: 14px; }
      .tower > * { position: relative; grid-column: 1; margin-left: 46px; }
      .tower > ::before, .tip::before { content: ""; position: absolute; left: -34px; width: 6px; top: -.5rem; bottom: -.5rem;
        background: var(--line); }
      .tower > .reached::before { background: var(--soft); }
      .tower > .tip { height: 0; }
      .tower > .tip::before { left: -40px; top: -14px; width: 18px; height: 15px; bottom: auto; clip-path: polygon(50% 0, 100% 100%, 0 100%); }
      .tip b { position: absolute; left: -16px; top: -16px; font-size: 13px; line-height: 18px; color: var(--soft); white-space: nowrap; }
      .tower > .brace { grid-area: 3 / 2 / 6; margin: 0; border: 1.5px solid var(--soft); border-left: 0; border-radius: 0 .4rem .4rem 0;
        width: 20px; box-sizing: border-box; writing-mode: vertical-rl; text-align: center; font-size: 13px; line-height: 18px; color: var(--soft); }
      .brace b, .tip b { font-weight: 600; color: var(--ink); }
      .level { z-index: 1; display: grid; grid-template-columns: repeat(var(--many), auto); justify-content: space-between;
        padding-right: .4rem; }
      .bead { position: absolute; left: -43px; bottom: 10px; width: 24px; height: 24px; border-radius: 50%; font-size: 14px;
        font-weight: 600; line-height: 24px; text-align: center; color: var(--soft); background: var(--line); transition: background .4s; }
      .reached > .bead { color: var(--paper); background: var(--soft); }
      .feature { display: grid; grid-template-rows: minmax(0, 1fr) 20px; justify-items: center; min-width: 2.4rem;
        font-size: 12.5px; color: var(--soft); transition: opacity .4s; }
      .level:not(.reached) > .feature { opacity: .75; }
      .level:not(.reached) .pile > * { visibility: hidden; }
      .pile { display: flex; flex-direction: column; justify-content: flex-end; width: 2.1rem; text-align: center; }
      .pile b { height: ${LABEL}px; line-height: ${LABEL}px; color: var(--ink); font-variant-numeric: tabular-nums; }
      .pile i { box-sizing: border-box; border: 1px solid var(--of); background: color-mix(in srgb, var(--of) 55%, var(--paper)); }
      .name { width: 100%; border-top: 2px solid var(--soft); line-height: 19px; text-align: center; padding: 0 2px; box-sizing: border-box; }
      .reached .has .name { color: var(--ink); -webkit-text-stroke: .4px; } /* as wide as before */
      .own { --of: var(--soft); } .attention { --of: var(--weights); } .network { --of: var(--other); }
      .part { padding: .35rem .6rem .45rem; border-radius: .5rem; transition: background .4s;
        box-shadow: inset 0 0 0 1.5px color-mix(in srgb, var(--of) 45%, var(--paper)); }
      .part.reached { box-shadow: inset 0 0 0 1.5px var(--of); background: color-mix(in srgb, var(--of) 9%, var(--paper)); }
      .part p { margin: 0 0 .2rem; line-height: 1.35; color: var(--soft); }
      .part.reached p { color: var(--ink); } .part p b { color: var(--of); }
      .chips [hidden] { display: inline; visibility: hidden; } /* their room is kept */
      .chips { display: flex; flex-wrap: wrap; gap: .25rem .3rem; }
      .chips span { padding: 0 .45rem; line-height: 24px; border-radius: .3rem; font-size: 14px; color: var(--ink);
        background: color-mix(in srgb, var(--of) calc(40% * var(--share, 0)), var(--paper)); box-shadow: inset 0 0 0 1px var(--line); transition: background .4s; }
      .way { position: absolute; left: -31px; width: 31px; height: 0; border-top: 2px solid var(--line); }
      .reached > .way { border-color: var(--soft); }
      .way::after { content: ""; position: absolute; top: -6px; border: 5px solid transparent; }
      .reads { bottom: 16px; } .reads::after { right: 0; border-left: 8px solid var(--soft); border-right: 0; }
      .adds { top: 17px; } .adds::after { left: 9px; border-right: 8px solid var(--soft); border-left: 0; }
      .plus { position: absolute; left: -41px; top: 8px; width: 20px; height: 20px; border-radius: 50%; background: var(--paper);
        box-sizing: border-box; border: 1.5px solid var(--ink); line-height: 16px; text-align: center; font-weight: 600; color: var(--ink); }
      .frame { container-type: inline-size; } /* where questions have no room beside each other */
      @container (max-width: 34rem) { .network .chips { flex-direction: column; align-items: flex-start; } }
      .tower > .word { justify-self: start; margin-left: 0; min-width: 24px; padding: 0 .7rem; line-height: 30px; font-weight: 600; border: 1.5px solid var(--soft); border-radius: .5rem;
        background: var(--hover); }
      .tower > :is(.word, .brace)::before { display: none; }
      @media (max-width: 600px) { .frame { padding: .6rem .4rem; } .tower > .part { padding-inline: .35rem; } }
    `;

    build() {
      const { words, features, questions, stages, asks } = this.data;
      [this.word] = asks;
      this.stepper({ last: () => 2, pace: PACE });
      this.choice("Word", asks.map((word) => words[word]), (chosen) => {
        this.pause();
        this.word = asks[chosen];
        this.draw();
      });
      this.levels = stages.map((all, n) => {
        const most = Math.max(...asks.map((word) => Math.max(...all[word])));
        const level = element("div", { class: "level", style: `--many: ${features.length}` },
          element("span", { class: "bead" }, String(n + 1)), ...features.map((feature) =>
            element("div", { class: "feature" }, element("div", { class: "pile", style: `height: ${TALL * most + LABEL}px` }),
              element("span", { class: "name" }, feature))));
        return level;
      });
      this.parts = [words, questions].map((texts, n) => {
        const chips = texts.map((text) => element("span", {}, text));
        const title = element("p", {});
        const node = element("div", { class: `part ${KINDS[n + 1]}` }, element("span", { class: "way reads" }),
          element("span", { class: "way adds" }), element("span", { class: "plus" }, "+"), title,
          element("div", { class: "chips" }, ...chips));
        return { node, title, chips };
      });
      this.chip = element("div", { class: "word" });
      const [attention, network] = this.parts.map(({ node }) => node);
      this.tip = element("div", { class: "tip" }, element("b", {}, "the residual stream"));
      const brace = element("div", { class: "brace" }, element("b", {}, "a block"), ", × N");
      this.stage.append(element("div", { class: "tower", "aria-hidden": "true" }, this.tip, this.levels[2], network,
        this.levels[1], attention, this.levels[0], this.chip, brace));
      this.onceByItself(() => this.play());
    }

    // what each part has added to a word's features until a level, the word's own first
    updates(level) {
      const rows = this.data.stages.slice(0, level + 1).map((all) => all[this.word]);
      return rows.map((row, n) => row.map((number, j) => number - (n ? rows[n - 1][j] : 0)));
    }

    listed(numbers) {
      return this.data.features.map((feature, j) => [numbers[j], feature]).filter(([number]) => number > 1e-6)
        .map(([number, feature]) => `${fixed(number, 1)} ${feature}`).join(", ") || "nothing";
    }

    // the bars of the level below rise on the stream, which what is added joins where it is added
    travel() {
      const level = this.levels[this.step];
      const middle = (node) => {
        const { left, top, width, height } = node.getBoundingClientRect();
        return [left + width / 2, top + height / 2];
      };
      const rise = middle(this.levels[this.step - 1].lastChild.lastChild)[1] - middle(level.lastChild.lastChild)[1];
      const { node, chips } = this.parts[this.step - 1];
      const chip = chips[this.shares(this.step).reduce((best, share, j, all) => (share > all[best] ? j : best), 0)];
      const [from, gap] = [middle(chip)[0], chip.getBoundingClientRect().top - 3]; // between two lines, where it covers nothing
      const plus = middle(node.querySelector(".plus"));
      for (const bar of level.querySelectorAll(".pile > *")) {
        const added = bar.className === KINDS[this.step];
        if (bar.localName === "b") { // a number appears when its bar is there
          const last = bar.parentNode.querySelector(`.${KINDS[this.step]}`) ? 2 * MOVE : MOVE;
          bar.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 200, delay: last, fill: "backwards" });
          continue;
        }
        const [x, y] = middle(bar);
        const at = (right, down, more) => ({ transform: `translate(${right}px, ${down}px) scale(${more ?? 0.4})` });
        const way = added ? [...[0, 1].map((opacity) => ({ ...at(from - x, gap - y, 0.2), opacity })),
          at(plus[0] + 36 - x, gap - y, 0.2), at(plus[0] - x, plus[1] - y)] : [at(0, rise, 1), at(plus[0] - x, rise)];
        bar.animate([...way, at(plus[0] - x, 0), at(0, 0, 1)],
          { duration: MOVE, delay: added ? MOVE : 0, fill: "backwards" });
      }
    }

    // how strongly the words, or the questions, are lit in a step
    shares(step) {
      const { weights, fires } = this.data;
      return step === 1 ? weights[this.word] : fires[this.word].map((sum) => Number(sum > 0));
    }

    paint() {
      const { words, features, questions } = this.data;
      this.chip.textContent = words[this.word];
      this.tip.classList.toggle("reached", this.step === 2);
      this.levels.forEach((level, n) => {
        level.classList.toggle("reached", n <= this.step);
        const updates = this.updates(n);
        features.forEach((_, j) => {
          const feature = level.children[j + 1];
          const total = sum(updates.map((row) => row[j]));
          feature.classList.toggle("has", total > 1e-6);
          feature.firstChild.replaceChildren(...(total > 1e-6 ? [element("b", {}, fixed(total, 1))] : []),
            ...range(n + 1).reverse().filter((k) => updates[k][j] > 1e-6).map((k) =>
              element("i", { class: KINDS[k], style: `height: ${TALL * updates[k][j]}px` })));
        });
      });
      this.parts.forEach(({ node, title, chips }, n) => {
        const reached = this.step > n;
        node.classList.toggle("reached", reached);
        const added = element("b", {}, this.listed(this.updates(2)[n + 1]));
        title.replaceChildren(n ? "the network " : "attention ", ...(reached ? ["adds ", added]
          : [n ? "asks some questions" : "looks at all words"]));
        const shares = this.shares(n + 1);
        chips.forEach((chip, j) => {
          chip.style.setProperty("--share", reached ? shares[j] : 0);
          const text = [words, questions][n][j];
          const more = n ? (shares[j] ? "Yes" : "No") : shares[j] === Math.max(...shares) && fixed(shares[j], 1);
          chip.replaceChildren(text, ...(more ? [" ", element("b", { hidden: !reached }, more)] : []));
        });
      });
      this.say(this.explain());
    }

    explain() {
      const { words, questions, weights } = this.data;
      const word = quoted(words[this.word]);
      const updates = this.updates(2);
      const row = weights[this.word];
      const best = row.indexOf(Math.max(...row));
      const yes = questions.filter((_, k) => this.shares(2)[k]).map(quoted);
      return [
        `${word} comes in with ${this.listed(updates[0])}.`,
        `Attention adds ${this.listed(updates[1])}. The weight of ${quoted(words[best])} is ${fixed(row[best], 1)}. `
          + `The features of ${word} stay.`,
        `${yes.length ? `The answer to ${yes.join(" and ")} is yes` : "No answer is yes"}, so the network adds `
          + `${this.listed(updates[2])}. Nothing is replaced.`][this.step];
    }

    numbers() {
      const { features, stages } = this.data;
      const names = ["comes in", "attention adds", "the network adds"];
      const row = (name, numbers) => [name, ...numbers.map((number) => fixed(number, 3))];
      return [["", ...features], ...this.updates(2).map((numbers, n) => row(names[n], numbers)),
        row("goes on", stages[2][this.word])];
    }
  };
});
