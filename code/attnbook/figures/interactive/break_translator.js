// A translator of numbers to be used, broken and measured. translator.js computes it; the parts of
// what one sees of it are in break_translator_*.js.
attnbook.define("break-translator", (shared) => {
  const { Interactive, element, fixed } = shared;
  const T = attnbook.translator;
  const LIKELY = 3; // tokens that are named at each place
  const parts = [attnbook.writing, attnbook.looking, attnbook.switching, attnbook.measuring];
  const Parts = parts.reduce((Figure, part) => part(shared, Figure), Interactive);

  return class BreakTranslator extends Parts {
    static LINES = 8;
    static TABLE = "Where each head looks, as numbers";
    static STYLE = `
      form, .row { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem; }
      form label { flex-basis: 100%; }
      form input { flex: 1 1 12rem; min-width: 0; min-height: 2rem; padding: .1rem .5rem;
        background: var(--paper); border: 1px solid var(--soft); border-radius: .3rem; }
      .title { margin: .9rem 0 .3rem; font-size: 13px; font-weight: 600; color: var(--soft); }
      .tokens { display: flex; flex-wrap: wrap; gap: .25rem; align-items: flex-start;
        align-content: flex-start; }
      .out { min-height: 6.5rem; } /* of two lines, so that little jumps */
      .tokens small { font-size: 11px; color: var(--soft); }
      .tokens button.wrong { border-color: var(--wrong); box-shadow: inset 0 0 0 1px; }
      .tokens button { display: grid; min-width: 1.9rem; padding: .15rem .4rem; cursor: pointer;
        text-align: center; align-content: center; }
      .tokens button > i { height: 3px; margin-top: 1px; background: var(--weights);
        justify-self: start; min-width: 1px; }
      button[aria-pressed="true"] { background: var(--hover); font-weight: 600;
        box-shadow: inset 0 0 0 1px var(--ink); }
      .verdict { min-height: 1.4em; margin: .3rem 0; }
      .refused { flex-basis: 100%; margin: 0; padding-left: .5rem; border-left: .25rem solid; }
      .refused:empty { border: 0; margin-top: -.4rem; } /* there, so that it is spoken */
      [aria-invalid="true"] { border: 2px solid var(--wrong); }
      .right { color: var(--right); } .wrong { color: var(--wrong); }
      .look { display: flex; flex-wrap: wrap; gap: .3rem 1.5rem; }
      .look { align-items: flex-start; margin-top: .3rem; }
      .look > * { flex: 1 1 15rem; min-width: 0; }
      [aria-busy="true"] .look { opacity: .4; } /* of the number before */
      .heads { width: 100%; font-size: 13px; table-layout: fixed; }
      .heads th { font-weight: 400; color: var(--soft); text-align: center; border: 0; }
      .heads thead td { width: 5.5rem; }
      .heads th[scope="row"] { text-align: right; color: var(--key); white-space: nowrap; }
      .heads td { padding: 1px; border: 0; }
      .heads button { width: 100%; min-height: 1.6rem; padding: 0; font-size: 12px; border: 0;
        border-radius: .15rem; cursor: pointer; font-variant-numeric: tabular-nums;
        background: color-mix(in srgb, var(--weights) calc(var(--share) * 45%), var(--paper)); }
      .heads .removed button { opacity: .35; text-decoration: line-through; }
      .heads .later button, .switches [aria-pressed="false"] { color: var(--soft);
        background: repeating-linear-gradient(135deg, var(--paper) 0 5px, var(--hover) 5px 8px); }
      .product table { width: 100%; table-layout: fixed; }
      .product th, .product td { padding: .1rem; font-size: 11px; text-align: center; }
      .product .query { color: var(--query); } .product .key { color: var(--key); }
      .product .weights { color: var(--weights); }
      .product.opened { min-height: 13.7rem; }
      .product p { margin: .3rem 0; }
      .switches { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr));
        gap: .4rem 1.2rem; }
      .switches label, .switches fieldset { display: grid; grid-template-columns: 1fr; gap: .1rem;
        margin: 0; padding: 0; border: 0; min-width: 0; }
      .switches legend { padding: 0; color: var(--soft); }
      .switches .note, .wrongs p { margin: 0 0 .2rem; }
      a { color: inherit; }
      .echo { position: sticky; z-index: 1; margin: 0 -1rem .7rem; scroll-margin-top: 4rem;
        top: max(0px, var(--figure-top, 0px) - 1px); /* under the bar of the book's pages */
        padding: .5rem 1rem; min-height: 3.2em; background: var(--paper);
        border-bottom: 1px solid var(--line); box-shadow: 0 .4rem .5rem -.4rem rgb(0 0 0 / 20%); }
      .echo::after { content: ""; position: absolute; inset: 100% 0 auto; height: .7rem;
        background: linear-gradient(var(--paper), transparent); pointer-events: none; }
      .switches select { width: 100%; }
      .switches .on { border-color: var(--weights); box-shadow: inset .25rem 0 var(--weights); }
      .switches fieldset .row button { flex: 1; min-width: 2rem; }
      .switches fieldset button::after { content: " on"; }
      .switches fieldset [aria-pressed="false"]::after { content: " off"; }
      .switches [aria-pressed="false"] { text-decoration: line-through;
        box-shadow: inset .25rem 0 var(--weights); }
      .switches [aria-pressed="true"] { font-weight: 400; background: var(--paper);
        box-shadow: none; }
      .more { margin-top: .4rem; }
      .go { border-color: var(--ink); font-weight: 600; padding: .2rem .8rem; cursor: pointer; }
      .guess { margin-top: .4rem; }
      .guess p { margin: 0 0 .3rem; }
      progress { width: 100%; height: .6rem; accent-color: var(--weights); }
      .tried { max-height: 16rem; margin-bottom: .5rem; }
      .tried td, .tried th { text-align: left; font-size: 13px; white-space: nowrap; }
      .tried thead th { white-space: normal; vertical-align: bottom; }
      .tried td:first-child, .tried th:first-child { white-space: normal; min-width: 5rem; }
      .wrongs td, .wrongs th { text-align: left; font-size: 13px; padding-right: .8rem; }
      .wrongs td:last-child { white-space: nowrap; }
      .wrongs { margin-bottom: .6rem; }
      @media (max-width: 600px), (pointer: coarse) { /* for thumbs */
        select, button, form input { min-height: 2.6rem; }
        .heads button { min-height: 2.2rem; }
      }
      textarea { width: 100%; height: 6rem; font: 12px monospace; color: var(--ink);
        background: var(--paper); }
    `;

    build() {
      const { words, show, switches } = this.data;
      this.loadTranslator();
      this.switches = { ...switches };
      this.words = words;
      this.results = new Map(); // of measurements, by their switches
      this.guesses = new Map();
      this.picked = { side: "target", index: 0 }; // the token whose view is shown
      this.place = "cross";
      this.open = null; // head and key of the score that is opened
      this.buildInput();
      this.buildView();
      this.buildSwitches(show);
      this.buildMeasurement();
      this.table.classList.add("look-numbers");
      // code that runs for the first time is slow: every step in a task of its own
      this.writing = setTimeout(() => this.translate({ pause: 0 }));
      this.stage.setAttribute("aria-busy", true);
    }

    // whoever presses something while it writes sees all of it
    draw() {
      if (this.writing && this.written) this.translate({ pause: null });
      else super.draw();
    }

    showNumbers() {
      if (this.target && !this.writing) super.showNumbers();
    }

    paint() {
      if (!this.target) return; // the first number is still being written
      this.showWritten();
      const written = this.textOf(this.written.map(({ token }) => token));
      const ended = this.written.at(-1)?.token === T.END;
      const { number } = this;
      const isRight = ended && number !== null && this.wrongAt() < 0;
      const judged = number === null
        ? ["", "The model has learned no number that is spelt like that, so there is no right answer."]
        : isRight ? ["right", `✓ right: ${number.toLocaleString("en")}`]
          : ["wrong", `✗ wrong: ${number.toLocaleString("en")} is “${T.spellFrench(number)}”. The text ` +
            `above ${this.saying(written, ended)}.`];
      this.verdict.className = `verdict ${judged[0]}`;
      this.verdict.textContent = judged[1];
      const mark = { right: "✓", wrong: "✗", "": "" }[judged[0]];
      this.echo.replaceChildren("The model writes “", element("strong", {}, written), "” ",
        element("span", { class: judged[0] }, mark),
        ...(Object.keys(this.switches).length ? [element("br"), `As trained: “${this.intact()}”`] : []));
      this.showHeads();
      this.showProduct();
      this.say(this.sentence(written, isRight));
    }

    // what it writes with nothing changed
    intact() {
      if (this.before?.words !== this.words) {
        const search = T.greedySearch(this.model, this.source, { maxLength: this.data.most, switches: {} });
        this.before = { words: this.words, text: this.textOf([...search].map(({ token }) => token)) };
      }
      return this.before.text;
    }

    // what was written, how sure, and where it looked
    sentence(written, isRight) {
      const { side, index } = this.picked;
      const verdict = this.number === null ? "" : isRight ? ", which is right" : ", which is wrong";
      const sure = side === "target" ? `The likeliest tokens were ${this.likeliest(index)}. ` : "";
      return `“${this.words}” became “${written}”${verdict}. ${sure}${this.looks(index)}`;
    }

    // as percent: no token has the chance 0
    chance(share) {
      if (share < 0.001) return "under 0.1";
      return share < 0.01 ? (100 * share).toFixed(1) : this.percent(share);
    }

    // the likeliest tokens at this place, the one that was written first
    likeliest(index) {
      const { probabilities } = this.written[index];
      return Array.from(probabilities.keys()).sort((a, b) => probabilities[b] - probabilities[a])
        .slice(0, LIKELY).map((token) => `“${this.nameOf(1, token)}” ${this.chance(probabilities[token])} %`)
        .join(", ");
    }

    numbers() {
      const heads = this.maps;
      const shown = (weight) => (weight === undefined ? "–" : fixed(weight, 3));
      return [["", ...heads.map((_, head) => `head ${head + 1}`)],
        ...this.keys().map((key, j) => [key, ...heads.map(({ weights }) =>
          shown(T.row(weights, this.picked.index)[j]))])];
    }
  };
});
