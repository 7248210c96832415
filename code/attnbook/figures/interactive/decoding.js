// A translation that is written token by token: where each looks, and what else it could be.
attnbook.define("decoding", ({ Interactive, element, fixed }) =>
  class Decoding extends Interactive {
    static STYLE = `
      .tokens { display: flex; flex-wrap: wrap; gap: .3rem; margin: .4rem 0; }
      .token { display: grid; justify-items: center; padding: .1rem .4rem; color: var(--key);
        border-bottom: .45rem solid color-mix(in srgb, var(--weights) var(--share), var(--line)); }
      small { font-size: 12px; color: var(--ink); }
      .written { min-height: 3.2em; margin: .6rem 0; font-size: 17px; }
      mark { padding: 0 .2rem; color: var(--paper); background: var(--query);
        border-radius: .2rem; }
      .candidates { display: grid; grid-template-columns: minmax(5rem, auto) 1fr;
        gap: .2rem .6rem; }
      .chance { padding-left: .3rem; background: linear-gradient(90deg, var(--line) 0 0)
        no-repeat left / var(--share) 100%; border-left: 3px solid var(--soft); }
    `;
    static LINES = 2;

    build() {
      const { source, written } = this.data;
      this.stepper({ last: () => written.length - 1 });
      this.slide = this.slider("Token", { min: 1, max: written.length, value: 1,
        text: (number) => `${number} of ${written.length}` }, (number) => this.go(number - 1));
      this.source = source.map((token) => element("span", { class: "token" }, token));
      this.target = element("p", { class: "written" });
      this.candidates = element("div", { class: "candidates" });
      this.stage.append(
        element("p", { class: "tokens" }, ...this.source), this.target, this.candidates);
    }

    go(step) {
      this.step = step;
      this.slide(step + 1);
      this.draw();
    }

    paint() {
      const { source, written, weights, likeliest } = this.data;
      const row = weights[this.step];
      this.source.forEach((chip, j) => {
        chip.style.setProperty("--share", `${100 * Math.min(1, row[j])}%`);
        chip.replaceChildren(source[j], element("small", {}, fixed(row[j])));
      });
      this.target.replaceChildren(...written.slice(0, this.step).flatMap((t) => [t, " "]),
        element("mark", {}, written[this.step]));
      this.candidates.replaceChildren(...likeliest[this.step].flatMap(([token, chance]) => [
        element("span", {}, token),
        element("span", { class: "chance", style: `--share: ${100 * chance}%` },
          chance < 0.01 ? "under 0.01" : fixed(chance))]));
      const most = row.indexOf(Math.max(...row));
      this.say(`To write ${written[this.step]}, the model looks most at ` +
        `${source[most]} (${fixed(row[most])}).`);
    }

    numbers() {
      const { source, written, weights } = this.data;
      return [["written", ...source], ...weights.map((row, t) =>
        [written[t], ...row.map((weight) => fixed(weight, 3))])];
    }
  });
