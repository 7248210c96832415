// Two heads that continue a repetition: one notes at each word the word before it, and the other
// finds the note that names the word that asks. What a head moves travels along its ribbons.
attnbook.define("induction", ({ Interactive, element, shape, range, percent, ribbons, still }) => {
  const [PACE, FLIGHT, LATER] = [2800, 1100, 70]; // milliseconds: a step, a word's way, the next word's start
  const [WORDS, CARD, NOTE, OWN, ASK, SAID, HIGH] = [32, 92, 124, 148, 254, 298, 316]; // levels
  const LEAST = 0.01; // a smaller weight is not drawn

  return class Induction extends Interactive {
    static LINES = 3;
    static STYLE = `
      .said { margin: .2rem 0 .6rem; }
      .picture { position: relative; }
      .words { position: absolute; inset: 0 0 auto; display: grid; grid-auto-flow: column; grid-auto-columns: minmax(0, 1fr); }
      .words button { margin: 0 1px; padding: 0; height: 2rem; font-weight: 600; white-space: nowrap; border-color: var(--line); }
      .words [aria-pressed="true"] { border-color: var(--query); color: var(--query); box-shadow: inset 0 0 0 1px var(--query); }
      .picture svg { height: ${HIGH}px; }
      .picture text { font-size: inherit; text-anchor: middle; dominant-baseline: central; }
      .picture :is(.moves, .share) { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
      .picture .own { fill: var(--ink); font-weight: 600; } .picture :is(.note, .after) { fill: var(--key); }
      .picture .note { font-weight: 600; } .picture :is(.after, .share, .next) { font-size: 13px; }
      .picture .most { fill: var(--weights); font-weight: 700; }
      .picture .question { fill: var(--query); font-weight: 600; } .picture .asked { opacity: 0; }
      .picture .copy { fill: var(--value); font-weight: 700; } .picture .next { fill: var(--ink); }
      .stream { stroke: var(--line); stroke-width: 2; }
      .card { fill: var(--paper); stroke: var(--soft); }
      .hit { fill: none; stroke: var(--query); stroke-width: 2.5; } .unfit { display: none; }
      .bubble { fill: var(--paper); stroke: var(--query); stroke-width: 1.5; }
      .place { fill: var(--paper); stroke: var(--soft); stroke-dasharray: 4 3; }
      .s3 .place { stroke: var(--value); stroke-width: 2; stroke-dasharray: none; }
      .ribbon { fill: color-mix(in srgb, var(--weights) 80%, var(--paper)); }
      .one, .two, .hit, .share, .noted, .copy { opacity: 0; }
      :is(.s1, .s2, .s3) .noted, .s3 .copy { opacity: 1; }
      g.later, :is(.s1, .s2, .s3) .later.noted { opacity: .8; }
      .s1 .one { opacity: 1; transition: opacity .4s; } :is(.s2, .s3) .one { opacity: .3; transition: opacity .4s; }
      :is(.s2, .s3) :is(.two, .hit, .share) { opacity: 1; transition: opacity .4s ${FLIGHT / 1000}s; }
    `;

    build() {
      const { words, notes } = this.data;
      this.found = notes.map((row) => row.indexOf(Math.max(...row)));
      this.asks = words.length - 1;
      this.stepper({ last: () => 3, next: "next step →", pace: PACE });
      this.step = 3;
      this.chips = words.map((word, i) =>
        element("button", { type: "button", onclick: () => this.ask(i) }, word));
      this.svg = shape("svg", { "aria-hidden": "true" });
      this.picture = element("div", { class: "picture" }, this.svg, element("div", { class: "words",
        role: "group", "aria-label": "Words: choose the one that asks" }, ...this.chips));
      this.stage.append(this.said, this.picture);
      this.whenResized(this.picture, () => this.lay());
      this.onceByItself(() => {
        this.go(0);
        this.play();
      });
    }

    ask(word) {
      this.pause();
      this.asks = word;
      this.wide = 0;
      this.lay();
      this.go(Math.max(2, this.step), 2);
    }

    go(step, moves = step > this.step ? step : 0) {
      this.step = step;
      this.draw();
      if (!still()) this.move(moves);
    }

    // what the second head finds: its word, whether the note there names the word that asks, and the
    // first word that has this note
    match() {
      const { words, matches } = this.data;
      const row = matches[this.asks].slice(0, this.asks + 1);
      const at = row.indexOf(Math.max(...row));
      const noted = (word) => word > 0 && words[this.found[word]] === words[this.asks]; // nothing is before the first word
      return { row, at, fits: noted(at), missed: range(row.length).find(noted) };
    }

    // the picture for the width that the figure has, with all that its steps show
    lay() {
      const { words, notes } = this.data;
      const width = this.picture.clientWidth;
      if (!width || width === this.wide) return;
      this.wide = width;
      const unit = width / words.length;
      this.picture.style.fontSize = `${Math.max(12, Math.min(0.32 * unit, 15))}px`;
      const x = (word) => (word + 0.5) * unit;
      const { row, at, fits } = this.match();
      const text = (x, y, name, words, more = {}) => shape("text", { x, y, class: name, ...more }, words);
      const box = (middle, y, wide, height, name) => shape("rect", { class: name, rx: 5,
        x: middle - wide / 2, y, width: wide, height });
      const flow = (name, lookers, places, weights) => ribbons(lookers, places, weights, LEAST)
        .map(({ d }) => shape("path", { class: `ribbon ${name}`, d }));
      const later = (word) => (word > this.asks ? "later" : "");
      const level = (y, wide = unit - 6) => words.map((_, word) => ({ x: x(word), y, width: wide }));
      const end = Math.max(62, Math.min(x(this.asks), width - 62));
      this.notes = words.map((_, word) => text(x(word), NOTE, `note noted moves ${later(word)}`,
        word ? words[this.found[word]] : "–"));
      this.questions = row.map((_, word) => text(x(word), CARD - 11, "question asked moves", `${words[this.asks]}?`));
      this.copy = text(end, SAID, "copy moves", fits ? words[at] : "?");
      this.ways = { notes: this.found.map((from, to) => [x(from) - x(to), WORDS / 2 - NOTE]),
        asked: row.map((_, word) => [end - x(word), ASK - CARD + 11]), copy: [x(at) - end, OWN - SAID] };
      const left = end > width / 2;
      this.svg.replaceChildren(
        ...words.map((_, word) => shape("line", { class: "stream", x1: x(word), x2: x(word), y1: WORDS, y2: CARD })),
        shape("line", { class: "stream", x1: x(this.asks), x2: x(this.asks), y1: CARD, y2: ASK }),
        ...flow("one", level(CARD, 0.55 * unit), level(WORDS + 1), notes),
        ...words.map((word, i) => shape("g", { class: later(i) },
          box(x(i), CARD, unit - 4, OWN + 14 - CARD, "card"), text(x(i), NOTE - 17, "after", "after"),
          text(x(i), OWN, "own", word))),
        ...flow("two", [{ x: end, y: ASK - 16, width: 0.55 * unit }], level(OWN + 36).slice(0, row.length), [row]),
        box(x(at), CARD, unit - 4, OWN + 14 - CARD, fits ? "hit" : "unfit"),
        ...row.map((share, i) => text(x(i), OWN + 26, i === at ? "share most" : "share",
          unit < 54 ? percent(share).replaceAll("\u00a0", "") : percent(share))),
        box(end, ASK - 15, 120, 30, "bubble"), text(end, ASK, "question", `after ${words[this.asks]}?`),
        box(end, SAID - 16, 84, 32, "place"),
        text(end + (left ? -52 : 52), SAID, "next", "next word", { style: `text-anchor: ${left ? "end" : "start"}` }),
        ...this.notes, ...this.questions, this.copy);
      this.paint();
    }

    // what the step of a head moves, from where it is found, along straight lines
    move(step) {
      if (!this.wide) return;
      const fly = (node, places, more = {}, delay = 0) => node.animate({
        transform: places.map(([right, down]) => `translate(${right}px, ${down}px)`), ...more },
      { duration: FLIGHT, delay, easing: "ease-in-out", fill: "backwards" });
      const [here, { notes, asked, copy: [right, up] }] = [[0, 0], this.ways];
      if (step === 1) this.notes.forEach((node, i) => fly(node, [notes[i], here], {}, LATER * i));
      if (step === 2) this.questions.forEach((node, i) =>
        fly(node, [asked[i], here, here], { opacity: [1, 1, 0], offset: [0, 0.6, 1] }));
      if (step === 3) fly(this.copy, [[right, up], [right, ASK - 70 - SAID], [0, ASK - 24 - SAID], here]);
    }

    paint() {
      this.svg.setAttribute("class", `s${this.step}`);
      this.chips.forEach((chip, i) => chip.setAttribute("aria-pressed", i === this.asks));
      this.say(this.sentence());
    }

    sentence() {
      const { words, notes, heads } = this.data;
      const { row, at, fits, missed } = this.match();
      const [asks, found] = [words[this.asks], words[at]];
      const least = percent(Math.min(...notes.slice(1).map((shares, i) => shares[i])));
      return [
        `What comes after “${asks}”? Two heads find out, one after the other.`,
        `1. Note: each word but the first notes the word before it, which gets ${least} or more of the weight in ${heads[0]}.`,
        `2. Match: in ${heads[1]}, “${asks}” asks for the note “after ${asks}”. ` + (fits
          ? `“${found}” has this note, and gets ${percent(row[at])} of the weight.`
          : missed === undefined ? `No word has it yet. “${found}” gets the most weight, ${percent(row[at])}.`
            : `“${words[missed]}” has it, but gets only ${percent(row[missed])}, and “${found}” gets ${percent(row[at])}.`),
        fits ? `3. Copy: the word with the note “after ${asks}” is “${found}”. It is copied into the prediction.`
          : `3. Copy: ${heads[1]} does not find the note “after ${asks}”, so no word is copied.`,
      ][this.step];
    }

    numbers() {
      const { words, notes, heads } = this.data;
      const { row } = this.match();
      return [["word", "note", `weight in ${heads[0]}`, `weight in ${heads[1]}`], ...words.map((word, i) => [word,
        i ? `after ${words[this.found[i]]}` : "–", percent(notes[i][this.found[i]]), i < row.length ? percent(row[i]) : "–"])];
    }
  };
});
