// A prediction: choosing an answer says what is believed with it, or why it is right. One can change
// one's mind; the first answer stays marked. The book's pages show the result then: they listen for
// the event "attnbook-predicted", and put the text of an option into the slot of its letter.
attnbook.define("predict", ({ Interactive, element }) =>
  class Predict extends Interactive {
    static STYLE = `
      .answers { display: grid; gap: .4rem; }
      .answers li { display: grid; }
      .answers button { display: flex; align-items: center; gap: .6rem; min-height: 2.75rem;
        padding: .5rem .8rem; text-align: left; cursor: pointer; border-color: var(--line); }
      .answers button:hover { background: var(--hover); }
      .answers .text { flex: 1; }
      @media (max-width: 600px) {
        .answers button { flex-wrap: wrap; }
        .answers .text { flex-basis: 75%; }
        .answers small:not(:empty) { margin-left: 1.8rem; }
      }
      .mark { min-width: 1em; font-weight: 700; }
      .right .mark, .right b { color: var(--right); }
      .wrong .mark, .wrong b { color: var(--wrong); }
      button[aria-pressed="true"] { border-color: currentcolor;
        box-shadow: inset .25rem 0 var(--soft); }
      small { color: var(--soft); font-size: 13px; }
      .reasons { display: grid; }
      .reasons p { grid-area: 1 / 1; min-height: 0; margin: .6rem 0 .2rem; }
      .reasons p:not(.said) { visibility: hidden; }
      .reasons:not(.right, .wrong) p:not(.said) { display: none; }
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
            element(text.length > 1 ? "span" : "b", {}, text), " ", element("slot", { name: text })),
          this.notes[i]));
      this.stage.append(element("ul", { class: "answers" },
        ...this.buttons.map((button) => element("li", {}, button))));
      // room for the longest reason, so that nothing below moves when one changes one's mind
      const room = options.map((_, i) => element("p", { "aria-hidden": true }, ...this.reason(i)));
      this.reasons = element("div", { class: "reasons" }, ...room);
      this.said.replaceWith(this.reasons);
      this.reasons.append(this.said);
      this.say("Choose an answer before you read on. You can change your mind; your first answer " +
        "stays marked.");
    }

    choose(i) {
      const judged = i === this.data.right ? "right" : "wrong";
      this.buttons.forEach((button, j) => button.setAttribute("aria-pressed", i === j));
      this.buttons[i].classList.add(judged);
      this.marks[i].textContent = this.mark(i);
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
      const name = i === this.data.right ? "That is it" : belief ? `Not so: “${belief}”` : "Not so";
      return [element("b", {}, `${this.mark(i)} ${name}.`), " ", ...this.withCode(why)];
    }

    // `names` between backticks as code
    withCode(text) {
      return text.split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));
    }

    paint() {}
  });
