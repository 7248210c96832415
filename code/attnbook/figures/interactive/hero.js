// A translator that writes one number by itself, and that three buttons break in place. Ribbons show
// where it looked for each token. translator.js computes it; picturing.js draws it.
attnbook.define("hero", (shared) => {
  const { Interactive, element, still } = shared;
  const STEP = { first: 700, again: 130 }; // milliseconds for each token that is written
  const TOUR = { watch: 6500, hide: 2000, mend: 6200 }; // until the steps of the tour, each after the last
  const HIDES = 1; // the button that the tour presses: without the English, the ribbons are gone

  return class Hero extends attnbook.picturing(shared, Interactive) {
    static LINES = 4;
    static STYLE = attnbook.picturing.STYLE + `
      .frame { max-width: var(--figure-width, 66rem); padding: 1.2rem 1.6rem 1.3rem; border: 0;
        border-radius: 1rem; background: var(--tint); }
      .about { grid-column: 1 / -1; display: flex; justify-content: space-between; align-items: center; gap: 1rem;
        margin: 0 0 .5rem; color: var(--soft); font-size: .92rem; }
      .name.says.later b, .said.later { opacity: 0; } /* until the last word is written */
      .french .waiting::after { content: none; }
      .french .waiting { border: 1.5px dashed var(--line); color: transparent; background: none; }
      .said.tour { font-weight: 650; }
      .break { display: flex; align-items: center; gap: .5rem; width: 100%;
        min-height: 3.1rem; padding: .3rem .9rem; text-align: left; font-size: .97rem; font-weight: 550;
        cursor: pointer; border: 1.5px solid var(--soft); border-radius: .7rem; background: var(--paper); }
      .break:hover { border-color: var(--weights); background: var(--hover); }
      .break.broken { border-color: var(--wrong); color: var(--wrong);
        background: color-mix(in srgb, var(--wrong) 8%, var(--paper)); }
      .break.next { border-color: var(--weights); animation: pulse 1.4s; }
      @keyframes pulse { from { box-shadow: 0 0 var(--weights); } to { box-shadow: 0 0 0 14px transparent; } }
      .try { margin-left: auto; padding: .2rem .55rem; border-radius: 1rem; color: var(--paper);
        background: var(--weights); line-height: 1.15; font-size: .8rem; white-space: nowrap; }
      .panel:has(.broken) .try { visibility: hidden; }
      @media (prefers-reduced-motion: no-preference) {
        .break { transition: background-color .2s, border-color .2s; }
      }
      @container page (min-width: 52.01rem) {
        .text { min-height: 23rem; }
      }
      @container page (max-width: 60rem) {
        .said { min-height: 5.6em; }
      }
      @container page (max-width: 52rem) {
        .frame { padding: 1rem .8rem; }
        .text { min-height: 21.8rem; }
        .break { min-height: 2.75rem; }
        .row { font-size: clamp(.8rem, calc((100cqi - 5.6rem) / var(--ems)), 2rem); } .end small { display: none; }
        .chip { padding-inline: .4em; } /* so that no chip falls on the shares below the first row */
        .about { flex-wrap: wrap; justify-content: center; gap: .3rem; text-align: center; }
      }
      @container page (max-width: 21rem) {
        .text { min-height: 25.5rem; } .looks { min-height: 2.8em; } .said { min-height: 7em; }
      }
    `;

    build() {
      this.at = 0; // of the numbers to show
      this.broken = new Set();
      const again = element("button", { type: "button", class: "again",
        onclick: () => this.show(this.at + 1, "first") }, "Another number");
      this.buildPicture(element("b"), element("div", { class: "about" }, this.data.about, again));
      this.buttons = this.data.breaks.map(({ act }, i) => element("button", { type: "button", class: "break",
        onclick: () => {
          this.buttons[0].querySelector(".try")?.remove();
          this.toggleBreak(i);
        } }, element("span", {}, act),
      ...(i ? [] : [element("small", { class: "try", "aria-hidden": "true" }, "try this")])));
      this.controls.append(...this.buttons);
      this.buildCount();
      this.show(0, "first");
      this.measure();
      for (const touch of ["pointerdown", "focusin"])
        this.shadowRoot.addEventListener(touch, () => this.rest());
      if (!still()) this.whenSeen(() => this.tour());
    }

    // the English is hidden and shown again, unless somebody touches the figure; nothing is spoken
    tour() {
      if (this.next === null) return;
      for (const node of [this.said, this.spoken]) node.ariaLive = "off";
      const { classList } = this.buttons[HIDES];
      const go = ([[pause, act], ...later]) => {
        this.next = setTimeout(() => {
          act();
          if (later.length) go(later);
          else this.rest();
        }, pause);
      };
      go([[TOUR.watch, () => {
        classList.add("next");
        this.say("Watch: we now hide the English.");
        this.said.classList.add("tour");
      }], [TOUR.hide, () => {
        classList.remove("next");
        this.toggleBreak(HIDES);
      }], [TOUR.mend, () => {
        this.toggleBreak(HIDES);
        this.say(`Restored. Now you try.${this.data.hint}`);
      }]]);
    }

    rest() {
      clearTimeout(this.next);
      this.next = null;
      const { classList } = this.buttons[HIDES];
      if (classList.contains("next")) this.sentence(); // what was announced does not come
      classList.remove("next");
      setTimeout(() => {
        for (const node of [this.said, this.spoken]) node.ariaLive = "polite";
      });
    }

    get switches() {
      return Object.fromEntries([...this.broken].sort()
        .flatMap((i) => Object.entries(this.data.breaks[i].switches)));
    }

    toggleBreak(i) {
      const broken = !this.broken.delete(i);
      if (broken) this.broken.add(i);
      const { act, undo } = this.data.breaks[i];
      this.buttons[i].classList.toggle("broken", broken);
      this.buttons[i].firstChild.textContent = broken ? undo : act;
      this.show(this.at, "again");
      this.measure();
    }

    // translate a number, and show it token after token
    show(at, pace) {
      const { numbers } = this.data;
      this.at = at % numbers.length;
      this.shown = still() ? Infinity : 0;
      const number = numbers[this.at];
      this.reads.textContent = number.toLocaleString("en");
      this.told = this.translate(number);
      this.sentence();
      clearTimeout(this.writing);
      this.reveal(this.shown, STEP[pace]);
    }

    point(i) {
      this.rest();
      super.point(i);
    }

    // one token after the other, each with its ribbons
    reveal(upTo, step) {
      this.shown = upTo;
      this.queries.forEach((query, i) => query.classList.toggle("waiting", i > upTo));
      for (const node of [this.says, this.said])
        node.classList.toggle("later", upTo < this.queries.length - 1);
      this.highlight();
      if (upTo < this.queries.length) this.writing = setTimeout(() => this.reveal(upTo + 1, step), step);
    }

    sentence() {
      const why = this.broken.size === 1 ? ` ${this.data.breaks[[...this.broken][0]].why}` : "";
      this.said.classList.remove("tour");
      this.say(this.told + (why || (this.right ? this.data.hint : "")));
    }

    disconnectedCallback() {
      super.disconnectedCallback();
      if (this.shadowRoot) this.rest();
    }
  };
});
