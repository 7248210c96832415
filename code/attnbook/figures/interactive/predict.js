// A prediction: choosing an answer says what is believed with it, or why it is right, and marks the
// right one. One can change one's mind; the first answer stays marked. The book's pages show the
// result then: they listen for the event "attnbook-predicted", put the text of an option into the
// slot of its letter, and draw the card around it themselves.
attnbook.define("predict", ({ Interactive, element }) =>
  class Predict extends Interactive {
    static SHORT = 14; // letters of an option: if none is longer, they stand in a row
    static STYLE = `
      :host { margin: .5rem 0 0; }
      .frame { padding: var(--card-padding, .8rem 1rem); border: var(--card-border, 1px solid var(--line));
        border-top: var(--card-border, 4px solid var(--weights)); border-radius: 12px;
        background: var(--card-paper, var(--paper)); }
      .controls { display: none; }
      .answers { display: grid; gap: .15rem; }
      .answers.row { display: flex; flex-wrap: wrap; gap: .15rem 1.5rem; }
      .answers li { display: grid; }
      .answers button { display: flex; align-items: center; gap: .6rem; min-height: 2.1rem;
        padding: .3rem .6rem .3rem .3rem; border: none; border-radius: .5rem; background: none;
        text-align: left; cursor: pointer; }
      .answers button:hover { background: var(--hover); }
      .answers .text { flex: 1; }
      @media (max-width: 600px) {
        .answers button { flex-wrap: wrap; min-height: 2.75rem; }
        .answers:not(.row) .text { flex-basis: 75%; }
        .answers.row { display: grid; }
        .answers small:not(:empty) { margin-left: 1.9rem; }
      }
      .mark { display: grid; flex: none; place-items: center; box-sizing: border-box;
        width: 20px; height: 20px; border: 2px solid var(--soft); border-radius: 50%;
        font-size: 13px; font-weight: 700; line-height: 1; }
      .right .mark, .wrong .mark { color: var(--paper); }
      .right .mark { border-color: var(--right); background: var(--right); }
      .wrong .mark { border-color: var(--wrong); background: var(--wrong); }
      .answers .right, .reasons.right b { color: var(--right); }
      .answers .wrong, .reasons.wrong b { color: var(--wrong); }
      .answers .right .text { font-weight: 600; }
      button[aria-pressed="true"] { background: var(--hover); }
      small { color: var(--soft); font-size: 13px; }
      .reasons { display: grid; }
      .reasons p { grid-area: 1 / 1; min-height: 0; margin: .5rem 0 0 .3rem; }
      .reasons p:not(.said) { visibility: hidden; }
      .reasons:not(.right, .wrong) p { display: none; }
      code { font-size: 90%; }
      @media print { .reasons { display: none; } }
    `;

    build() {
      const { options } = this.data;
      this.first = null;
      this.marks = options.map(() => element("span", { class: "mark" }));
      this.notes = options.map(() => element("small"));
      this.buttons = options.map(({ text }, i) =>
        element("button", { type: "button", "aria-pressed": "false", onclick: () => this.choose(i) },
          this.marks[i],
          element("span", { class: "text" },
            element(/^[A-D]$/.test(text) ? "b" : "span", {}, text), " ", element("slot", { name: text })),
          this.notes[i]));
      const short = ({ text }) => !/^[A-D]$/.test(text) && text.length < Predict.SHORT;
      this.stage.append(element("ul", { class: options.every(short) ? "answers row" : "answers" },
        ...this.buttons.map((button) => element("li", {}, button))));
      // room for the longest reason, so that nothing below moves when one changes one's mind
      const room = options.map((_, i) => element("p", { "aria-hidden": true }, ...this.reason(i)));
      this.reasons = element("div", { class: "reasons" }, ...room);
      this.said.replaceWith(this.reasons);
      this.reasons.append(this.said);
    }

    choose(i) {
      const judged = i === this.data.right ? "right" : "wrong";
      this.buttons.forEach((button, j) => button.setAttribute("aria-pressed", i === j));
      for (const j of [i, this.data.right]) {
        this.buttons[j].classList.add(j === this.data.right ? "right" : "wrong");
        this.marks[j].textContent = this.mark(j);
      }
      if (this.first === null) {
        this.first = i;
        this.notes[i].textContent = "your first answer";
      }
      this.reasons.className = `reasons ${judged}`;
      this.said.replaceChildren(...this.reason(i));
      this.dispatchEvent(new Event("attnbook-predicted", { bubbles: true }));
    }

    mark(i) {
      return i === this.data.right ? "✓" : "✗";
    }

    // what is believed with an answer, and what speaks against it, or why it is right
    reason(i) {
      const { belief, why } = this.data.options[i];
      const name = i === this.data.right ? "That is right" : belief ? `Not so: “${belief}”` : "Not so";
      return [element("b", {}, `${this.mark(i)} ${name}.`), " ", ...this.withCode(why)];
    }

    // `names` between backticks as code
    withCode(text) {
      return text.split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));
    }

    paint() {}
  });
