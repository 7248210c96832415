// Four ways to mark positions: a query slides to new places, and its scores slide along or change.
attnbook.define("rivals", ({ Interactive, element, shape, range, sum, dot, fixed, percent, still }) => {
  const TRAINED = 15; // the last trained place of the query, and the farthest distance of a key
  const NEW = 31;
  const HIGH = 54; // of a curve
  const TOP = 92; // where rows begin
  const FINE = range(8 * TRAINED + 1).map((i) => i / 8); // distances

  return class Rivals extends Interactive {
    static STYLE = `
      .room { position: relative; }
      .room text { fill: var(--ink); }
      .room .soft { fill: var(--soft); }
      .room .middle { text-anchor: middle; }
      .room .end { text-anchor: end; }
      .room .title { font-size: 15px; font-weight: 600; }
      .room .share { font-size: 18px; font-weight: 600; }
      .room .few { fill: var(--wrong); font-weight: 600; }
      .trained { fill: var(--line); opacity: .4; }
      .ghost { fill: none; stroke: var(--weights); stroke-width: 8; opacity: .25; stroke-linejoin: round; }
      .curve { fill: none; stroke: var(--weights); stroke-width: 2; }
      .gap { fill: var(--wrong); opacity: .22; }
      .line { stroke: var(--query); stroke-width: 1.5; stroke-dasharray: 3 4; }
      .key { fill: var(--line); } .key.read { fill: var(--key); }
      .room .k { fill: var(--key); font-size: 15px; font-weight: 600; }
      .handle { fill: var(--query); stroke: var(--paper); stroke-width: 2; }
      .room .q { fill: var(--paper); font-size: 15px; font-weight: 600; text-anchor: middle; }
      .ways { fill: none; stroke: var(--query); stroke-width: 2; stroke-linecap: round; }
      .room input { position: absolute; appearance: none; margin: 0; padding: 0; opacity: 0;
        min-height: 0; top: 20px; height: 44px; cursor: grab; touch-action: pan-y; }
      input::-webkit-slider-thumb { appearance: none; width: 44px; height: 44px; }
      input::-moz-range-thumb { width: 44px; height: 44px; border: 0; }
      input:focus-visible + svg .handle { stroke: var(--weights); stroke-width: 4; }
    `;

    build() {
      const { biases, slope } = this.data;
      this.scores = { // of a query at p and a key some places before it
        rotary: (_, k) => sum(this.data.frequencies.map((speed) => Math.cos((k - 1) * speed))),
        "like T5": (_, k) => biases[Math.round(k)],
        ALiBi: (_, k) => -slope * k,
        sinusoids: (p, k) => dot(this.marked("key", p - k), this.marked("query", p)),
      };
      this.rows = this.data.designs.map(([name, how, ...right]) => {
        const score = this.scores[name];
        const places = name === "sinusoids" ? range(NEW - TRAINED + 1).map((i) => TRAINED + i) : [TRAINED];
        const values = places.flatMap((p) => FINE.map((k) => score(p, k)));
        return { name, how, right, score, low: Math.min(...values), high: Math.max(...values) };
      });
      this.stepper({ first: TRAINED, last: () => NEW, next: "next place →", pace: 250 });
      this.at = this.step = still() ? NEW : TRAINED; // `at` slides there
      this.reader = element("input", { type: "range", min: TRAINED, max: NEW, "aria-label": "Place of the query",
        oninput: () => {
          this.pause();
          this.go(Number(this.reader.value));
        } });
      this.drawing = shape("svg", { "aria-hidden": "true" });
      this.stage.append(element("div", { class: "room" }, this.reader, this.drawing));
      this.whenResized(this.stage, () => this.paint());
      this.onceByItself(() => this.play(), 800);
    }

    // the query or the key with the sinusoids of a place, which need not be a whole number
    marked(role, place) {
      return this.data[role].map((number, i) => {
        const angle = place * this.data.frequencies[Math.floor(i / 2)];
        return number + (i % 2 ? Math.cos(angle) : Math.sin(angle));
      });
    }

    measure() {
      const width = this.stage.clientWidth || 700;
      const narrow = width < 540; // names stand above the curves
      const [left, right] = narrow ? [14, width - 22] : [158, width - 112];
      const row = narrow ? 98 : 80;
      return { width, narrow, left, right, row, top: TOP + (narrow ? 24 : 4),
        height: TOP + 4 * row + (narrow ? 24 : 20), x: (place) => left + (right - left) * place / NEW };
    }

    paint() {
      const { height, x } = this.place = this.measure();
      this.drawing.setAttribute("height", height);
      this.reader.value = this.step;
      this.reader.setAttribute("aria-valuetext", `${this.step}, ${this.step > TRAINED ? "new" : "trained"}`);
      this.reader.style = `left: ${x(TRAINED) - 22}px; width: ${x(NEW) - x(TRAINED) + 44}px`;
      const from = this.at;
      this.glide((part) => { // at an even pace
        this.at = from + (this.step - from) * (1 - Math.sqrt(1 - part));
        this.show();
      }, from === this.step);
      this.explain();
    }

    text(x, y, words, kind = "") {
      return shape("text", { x, y, class: kind }, words);
    }

    show() {
      const { width, narrow, left, right, row, top, height, x } = this.place;
      const bottom = height - 22;
      const here = x(this.at);
      const end = x(TRAINED + 0.5);
      const isNew = Math.round(this.at) > TRAINED;
      const soft = (x, y, words, kind = "middle") => this.text(x, y, words, `soft ${kind}`);
      this.drawing.replaceChildren(
        shape("rect", { class: "trained", x: left - 8, y: 22, width: end - left + 8, height: bottom - 22, rx: 6 }),
        soft((left + end) / 2, 14, "trained places"), soft((end + right) / 2, 14, "new places"),
        ...[0, 5, 10, 15, 20, 25, 30].filter((place) => Math.abs(x(place) - here) > 46).map((place) =>
          soft(x(place), 47, place)),
        ...(narrow ? [soft(right + 10, TOP - 6, `right at ${isNew ? "new" : "trained"} places`, "end")]
          : [this.text(0, 47, "place", "soft"), this.text(0, 72, "k", "k"), soft(width - 42, 47, "right at"),
            soft(width - 42, 64, `${isNew ? "new" : "trained"} places`)]),
        ...range(NEW + 1).map((place) => shape("circle", { cx: x(place), cy: 67, r: 3.5,
          class: place <= this.at && place >= this.at - TRAINED ? "key read" : "key" })),
        ...this.rows.map((design, i) => this.row(design, top + i * row, isNew)),
        shape("rect", { class: "handle", x: here - 22, y: 29, width: 44, height: 26, rx: 13 }),
        shape("path", { class: "ways", d: `M${here - 26},37 l-5,5 l5,5 M${here + 26},37 l5,5 l-5,5` }),
        this.text(here, 47, `q ${Math.round(this.at)}`, "q"),
        soft((left + right) / 2, height - 4, `${width < 310 ? "" : "curve: score with k at each place · "}pale: as at 15`));
    }

    // a design: what it does, its scores here and those of a trained place, and its right answers
    row({ name, how, right: shares, score, low, high }, y, isNew) {
      const { narrow, width, left, x } = this.place;
      const share = shares[Number(isNew)];
      const at = (p) => FINE.map((k) => [x(this.at - k), y + HIGH * (high - score(p, k)) / (high - low)]);
      const [now, before] = [at(this.at), at(TRAINED)];
      const same = name !== "sinusoids";
      const few = share < 0.5 ? "few" : "";
      const here = x(this.at);
      const group = shape("g", { class: "row" },
        shape("path", { class: "line", d: `M${here},${y - 5} V${y + HIGH + 5}` }),
        this.text(0, y + (narrow ? -10 : 16), name, "title"),
        ...(narrow ? [this.text(width, y - 10, percent(share), `title end ${few}`),
          this.text(76, y - 10, width < 310 ? "" : how.join(" "), "soft")]
          : [...how.map((words, i) => this.text(0, y + 34 + 17 * i, words, "soft")),
            this.text(width - 42, y + 32, percent(share), `share middle ${few}`)]),
        shape("path", { class: "ghost", d: `M${before.join(" L")}` }));
      if (!same) group.append(shape("path", { class: "gap", d: `M${now.join(" L")} L${before.reverse().join(" L")} Z` }));
      group.append(shape("path", { class: "curve", d: `M${now.join(" L")}` }));
      const room = x(this.at - TRAINED) - left; // left of the curves
      const words = this.text(left + 2, y + HIGH / 2 + 4, same ? "the same curve" : "a different curve", same ? "" : "few");
      words.setAttribute("opacity", Math.max(0, Math.min(1, room / 24 - 5)));
      group.append(words);
      return group;
    }

    // how much the scores with sinusoids differ from those of the trained place
    change() {
      const { sinusoids } = this.scores;
      return Math.max(...range(TRAINED + 1).map((k) => Math.abs(sinusoids(this.step, k) - sinusoids(TRAINED, k))));
    }

    explain() {
      this.say(this.step === TRAINED
        ? `The query is at place ${TRAINED}, the last trained one. Press play, or drag q, to move it to new places.`
        : `At place ${this.step}, three designs give each distance the same score as at place ${TRAINED}. `
          + `With sinusoids, scores change by up to ${fixed(this.change(), 1)}.`);
    }

    numbers() {
      const columns = this.rows.map(({ score }) => score);
      return [["distance", ...this.rows.map(({ name }) => name), `sinusoids at ${TRAINED}`],
        ...range(TRAINED + 1).map((k) => [String(k), ...columns.map((score) => fixed(score(this.step, k))),
          fixed(this.scores.sinusoids(TRAINED, k))])];
    }
  };
});
