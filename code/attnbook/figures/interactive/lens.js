// The logit lens: what each token of a text would predict if the model stopped after the embedding,
// or after one of its blocks; and how likely the final guess of one token is at every stage.
attnbook.define("lens", ({ Interactive, element, percent, still }) => {
  const PACE = { first: 1200, next: 260 }; // milliseconds for a stage
  const DARKEST = 45; // percent of a colour behind a guess: letters stay legible on it
  const whole = (number) => number.toLocaleString("en");

  return class Lens extends Interactive {
    static LINES = 4;
    static TABLE = "The three best guesses of this token";
    static STYLE = `
      .title { margin: 0 0 .5rem; }
      .title output { font-weight: 650; }
      .tokens { display: grid; grid-template-columns: repeat(auto-fit, minmax(4.4rem, 1fr)); gap: .4rem .25rem; }
      .tokens button { display: grid; gap: .25rem; min-width: 0; padding: .3rem .25rem; cursor: pointer;
        border: 1.5px solid var(--line); border-radius: .5rem; text-align: center; line-height: 1.3; }
      .tokens button[aria-pressed="true"] { border-color: var(--ink); box-shadow: inset 0 0 0 1px var(--ink); }
      .tokens span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; } .token { font-weight: 600; }
      .token::after { content: "↓" / ""; display: block; color: var(--soft); font-weight: 400; line-height: 1; }
      .guess { padding: .15rem .2rem; border-radius: .35rem; --of: var(--soft); color: var(--ink);
        background: color-mix(in srgb, var(--of) calc(${DARKEST}% * var(--share)), var(--paper)); }
      .guess.final { --of: var(--weights); box-shadow: inset 0 0 0 1.5px var(--weights); font-weight: 600; }
      .tokens small, .axis, .stage small { color: var(--soft); font-size: 12.5px; font-variant-numeric: tabular-nums; }
      .about { display: flex; flex-wrap: wrap; align-items: center; gap: .2rem .8rem; margin: .8rem 0 .6rem; }
      .about span { flex: 1 1 12rem; min-height: 2.8em; align-content: center; }
      .about b { color: var(--weights); white-space: nowrap; }
      .controls { display: grid; grid-template-columns: 3rem minmax(0, 1fr) 2.6rem; align-items: center; gap: 0 .4rem; margin: 0; }
      .controls input[type="range"] { width: 100%; }
      .axis { position: relative; height: 6rem; margin-bottom: 1.4rem; }
      .axis span { position: absolute; right: 0; transform: translateY(50%); white-space: nowrap; }
      /* the middle of each bar is where the slider's thumb, 16 pixels wide, stands */
      .strip { display: flex; height: 6rem; margin: 0 calc(8px - (100% - 16px) / (var(--stages) - 1) / 2) 1.4rem;
        border-bottom: 1px solid var(--soft); }
      .stage { position: relative; flex: 1; display: flex; align-items: end; padding: 0 .5px; cursor: pointer; }
      .stage i { flex: 1; min-height: 1px; background: var(--weights); opacity: .45; }
      .stage.best i { opacity: 1; }
      .stage.now { background: var(--hover); box-shadow: 0 0 0 1.5px var(--ink); border-radius: 2px; z-index: 1; }
      .stage small { position: absolute; top: 100%; left: 50%; transform: translateX(-50%); padding-top: .15rem; }
      @media (max-width: 600px) { .title { min-height: 2.8em; }
        .tokens { grid-template-columns: repeat(auto-fit, minmax(3.6rem, 1fr)); font-size: 13px; }
        .tokens button { padding-inline: .1rem; } }
    `;

    build() {
      const { tokens, guesses } = this.data;
      this.last = guesses.length - 1; // of the stages: 0 is the embedding, then each block is one
      [this.now, this.token, this.view] = [still() ? this.last : 0, tokens.length - 1, 0];
      const set = (name) => (value) => {
        this[name] = value;
        this.draw();
      };
      this.move = this.slider("Stage", { min: 0, max: this.last, value: this.now, text: this.name }, (at) => this.go(at));
      const [input, shown] = this.controls.lastChild.children;
      this.choice("Show", ["its probability", "its place among all tokens"], set("view"));
      const [, choice] = this.controls.children;
      this.cells = tokens.map((name, i) => element("button", { type: "button", onclick: () => set("token")(i) },
        element("span", { class: "token" }, name), element("span", { class: "guess" }), element("small")));
      this.about = element("span");
      this.axis = element("div", { class: "axis", "aria-hidden": "true" });
      const marked = (stage) => stage && (this.last <= 12 || (stage - 1) % 5 === 0);
      this.bars = guesses.map((_, stage) => element("span", { class: "stage", onclick: () => this.go(stage) },
        element("i"), ...(marked(stage) ? [element("small", {}, String(stage - 1))] : [])));
      const strip = element("div", { class: "strip", "aria-hidden": "true", style: `--stages: ${guesses.length}` }, ...this.bars);
      [this.back, this.next] = [["◀", "Back", -1], ["▶", "Next", 1]].map(([sign, label, by]) =>
        element("button", { type: "button", "aria-label": label, onclick: () => this.go(this.now + by) }, sign));
      this.controls.replaceChildren(this.axis, strip, element("span"), this.back, input, this.next);
      this.stage.append(element("p", { class: "title" }, "If the model stopped ", shown, ", it would predict:"),
        element("div", { class: "tokens", role: "group", "aria-label": "Tokens of the text" }, ...this.cells),
        element("div", { class: "about" }, this.about, choice), this.controls);
      this.ticks = [[["0 %", 0], ["50 %", 0.5], ["100 %", 1]],
        [1, 10, 100, 1000, 10_000].map((place) => [`${place > 1 ? "" : "place "}${whole(place)}`, this.height(place)])
          .filter(([, height]) => height >= 0)];
      for (const touch of ["pointerdown", "keydown", "focusin"])
        this.shadowRoot.addEventListener(touch, () => this.rest());
      if (!still()) this.whenSeen(() => this.play(PACE.first));
    }

    // where a place among all tokens stands: 1 is at the top, the last one at the bottom
    height(place) {
      return 1 - Math.log(place) / Math.log(this.data.vocabulary);
    }

    name(stage) {
      return stage ? `after block ${stage - 1}` : "after the embedding";
    }

    go(stage) {
      this.now = Math.max(0, Math.min(stage, this.last));
      this.move(this.now);
      this.draw();
    }

    // one stage after the other, until somebody does something; nothing is spoken meanwhile
    play(wait) {
      this.said.ariaLive = "off";
      this.playing = setTimeout(() => {
        this.go(this.now + 1);
        if (this.now < this.last) this.play(PACE.next);
        else this.rest();
      }, wait);
    }

    rest() {
      clearTimeout(this.playing);
      setTimeout(() => (this.said.ariaLive = "polite"));
    }

    paint() {
      const { tokens, pieces, final, guesses, likeliest, chances, places } = this.data;
      const [{ now, last, token }, goal] = [this, pieces[final[this.token]]];
      const best = (i) => [pieces[guesses[now][i][0]], percent(likeliest[now][i][0])];
      this.cells.forEach((cell, i) => {
        const [, guess, share] = cell.children;
        [guess.textContent, share.textContent] = best(i);
        guess.style.setProperty("--share", likeliest[now][i][0]);
        guess.classList.toggle("final", places[now][i] === 1);
        cell.setAttribute("aria-pressed", i === token);
      });
      const whose = token === tokens.length - 1 ? "the last token" : `the token “${tokens[token]}”`;
      this.about.replaceChildren(`After “${tokens[token]}”, the model finally predicts `, element("b", {}, `“${goal}”`), ".");
      this.axis.replaceChildren(...this.ticks[this.view].map(([name, height]) =>
        element("span", { style: `bottom: ${100 * height}%` }, name)));
      this.bars.forEach((bar, stage) => {
        const place = places[stage][token];
        bar.firstChild.style.height = `${100 * (this.view ? this.height(place) : chances[stage][token])}%`;
        bar.classList.toggle("best", place === 1);
        bar.classList.toggle("now", stage === now);
      });
      this.back.setAttribute("aria-disabled", now === 0);
      this.next.setAttribute("aria-disabled", now === last);
      const [text, share] = best(token);
      this.say(`${this.name(now).replace("a", "A")}, ${whose} ${now < last ? "would predict" : "predicts"} “${text}” (${share}). `
        + (now === last ? "This is its final guess." : places[now][token] === 1 ? "This is already its final guess."
          : `Its final guess, “${goal}”, is in place ${whole(places[now][token])}.`));
    }

    numbers() {
      const [{ pieces, guesses, likeliest, chances, places }, token] = [this.data, this.token];
      return [["", ...guesses[0][0].map((_, k) => `guess ${k + 1}`), "final guess", "its place"],
        ...guesses.map((of, stage) => [this.name(stage),
          ...of[token].map((piece, k) => `${pieces[piece]} ${percent(likeliest[stage][token][k])}`),
          percent(chances[stage][token]), whole(places[stage][token])])];
    }

    disconnectedCallback() {
      super.disconnectedCallback();
      clearTimeout(this.playing);
    }
  };
});
