// What a verb gets of its two nouns, in two sentences: on the left, one head mixes them; on the right,
// each of two heads brings one. The reader sets the weights of the one head.
attnbook.define("one-head-or-two", ({ Interactive, shape, fixed, ribbon }) => {
  const [HIGH, FALL, LINE, SIGN] = [32, 52, 24, 34]; // pixels: boxes, ribbons, titles, and between boxes
  const FLOW = 2800; // milliseconds
  const ARRIVES = 0.6; // the part of them after which all are there, and mix
  const EVEN = 0.5;
  const written = (share) => (share === EVEN ? "½" : fixed(share, 1).replace(/[.]0$/, ""));
  const smooth = (part) => part * part * (3 - 2 * part);
  const between = (a, b, part) => a + (b - a) * part;

  return class OneHeadOrTwo extends Interactive {
    static LINES = 4;
    static STYLE = `
      input[type="range"] { width: 5.5rem; }
      svg text { fill: var(--ink); font-size: 14px; text-anchor: middle; dominant-baseline: central; }
      svg :is(.asks, .word, .title, .share) { font-size: 16px; font-weight: 600; }
      .narrow :is(.asks, .word, .title, .share) { font-size: 14px; }
      svg :is(.asks, .verb) { fill: var(--query); }
      svg .sign { font-size: 22px; font-weight: 600; }
      svg .weights { fill: var(--weights); font-weight: 600; }
      .box { stroke: var(--soft); stroke-width: 1.5; fill: var(--paper); }
      .verb.box { stroke: var(--query); fill: color-mix(in srgb, var(--query) 12%, var(--paper)); }
      .filled { --hue: color-mix(in srgb, var(--other) var(--first), var(--word)); fill: color-mix(in srgb, var(--hue) 36%, var(--paper)); }
      .filled.box { stroke: var(--hue); }
      .ribbon { fill: color-mix(in srgb, var(--weights) 40%, var(--paper)); }
    `;

    build() {
      this.share = EVEN; // of the first word, in one head
      this.slider("In one head, weight of the first word", { min: 0, max: 1, step: 0.1, value: EVEN, text: written },
        (share) => {
          this.share = share;
          this.draw();
        });
      this.button("Mix again", () => this.flow());
      this.svg = shape("svg", { "aria-hidden": "true" });
      this.stage.append(this.svg);
      this.whenResized(this.stage, () => {
        if (this.stage.clientWidth !== this.across) this.draw();
      });
      this.onceByItself(() => this.flow());
    }

    // the nouns go to their places, and mix there
    flow() {
      this.glide((part) => this.show(1 - Math.sqrt(1 - part)), false, FLOW); // as fast at the end
    }

    paint() {
      cancelAnimationFrame(this.frame);
      this.across = this.stage.clientWidth;
      this.show(1);
      const { words: [, verb] } = this.data;
      this.say(this.share === EVEN
        ? `With equal weights, one head gives “${verb}” the same mixture in both sentences. `
          + "Two heads give it both words, one for each question."
        : this.share % 1 ? "With unequal weights, the two mixtures differ, but no word comes unmixed. "
          + `Two heads give “${verb}” both words, one for each question.`
        : `With all of its weight on the ${this.share ? "first" : "last"} word, one head brings nothing of the `
          + `${this.share ? "last" : "first"} one. Two heads bring both words.`);
    }

    // the two sentences: their first noun and their last, as numbers and by name
    sentences() {
      const { words: [first, verb, last] } = this.data;
      return [[0, 1], [1, 0]].map((nouns) => ({ nouns, verb, names: nouns.map((n) => [first, last][n]) }));
    }

    // everything as it is after a part of the flow
    show(part) {
      const { across } = this;
      const narrow = across < 480;
      const apart = narrow ? 14 : 44; // from one head to two
      const wide = (across - apart) / 2;
      const gap = narrow ? 4 : 10;
      const text = (kind, x, y, ...says) => shape("text", { class: kind, x, y }, ...says);
      const top = 2 * LINE; // of the first sentence; the second is upside down
      const box = top + HIGH + FALL;
      const middle = box + HIGH + SIGN / 2;
      const end = 2 * middle - top + 2;
      const { title, sign } = this.verdict();
      this.svg.setAttribute("class", narrow ? "narrow" : "");
      this.svg.setAttribute("viewBox", `0 0 ${across} ${end}`);
      this.svg.style.height = `${end}px`;
      const middles = [wide / 2, across - wide / 2];
      const half = wide / 4 + 5;
      this.svg.replaceChildren(text("asks", across / 2, LINE / 2 - 2, this.data.asks),
        ...middles.flatMap((x, two) => [text("title", x, 1.5 * LINE, ["one head", "two heads"][two]),
          ...this.sentences().map((sentence, s) => this.sentence(sentence, { x, two, gap, wide, word: (wide - 2 * gap) / 3,
            words: s ? 2 * middle - top - HIGH : top, box: s ? middle + SIGN / 2 : box }, text, part))]),
        text("", middles[0], middle, shape("tspan", { class: "sign" }, sign), ` ${title}`),
        text("sign", middles[1], middle, "≠"),
        ...this.data.questions.map((question, n) => text("", middles[1] + (n ? half : -half), middle, question)));
    }

    verdict() {
      if (this.share === EVEN) return { title: "the same mixture", sign: "=" };
      return { title: this.share % 1 ? "two mixtures" : `the ${this.share ? "first" : "last"} word only`, sign: "≠" };
    }

    // a sentence, and what one head or two heads give its verb
    sentence({ nouns, verb, names }, { x, two, gap, wide, word, words, box }, text, part) {
      const [way, mixed] = [Math.min(1, part / ARRIVES), two ? 0 : Math.max(0, (part - ARRIVES) / (1 - ARRIVES))];
      const sides = [-1, 1].map((side) => x + side * (word + gap)); // middles of the nouns
      const rect = (kind, left, y, width, more = {}) =>
        shape("rect", { class: kind, x: left, y, width: Math.max(0, width), height: HIGH, rx: 4, ...more });
      const hue = (first) => ({ style: `--first: ${100 * first}%` });
      const hues = nouns.map((noun) => 1 - noun); // the share of the first noun's
      const shares = [this.share, 1 - this.share];
      const room = two ? [0.5, 0.5] : shares; // of the box, for each noun
      const ends = [x - (1 - room[0]) * wide / 2, x + (1 - room[1]) * wide / 2];
      const down = box > words;
      const from = down ? words + HIGH : words;
      const label = from + (down ? 13 : -13);
      const still = (text) => (way < 1 ? "" : text); // nothing covers it
      const ribbons = nouns.flatMap((_, n) => {
        const share = two ? 1 : shares[n];
        const half = share * 0.55 * word / 2;
        return [shape("path", { class: "ribbon", d: ribbon([sides[n] - half, sides[n] + half, from],
          [ends[n] - half, ends[n] + half, down ? box : box + HIGH]) }),
        text("share", sides[n], label, still(written(share)))];
      });
      // the nouns on their way, which fill the box
      const going = nouns.flatMap((_, n) => {
        const size = between(word, room[n] * wide, smooth(way));
        const at = between(sides[n], ends[n], smooth(way));
        const height = between(words, box, way);
        return room[n] === 0 ? [] : [rect("filled", at - size / 2, height, size, hue(hues[n])),
          text("word", at, height + HIGH / 2, mixed < 0.4 ? names[n] : "")];
      });
      const says = names.map((name, n) => (shares[n] === 1 ? name : shares[n] && `${written(shares[n])} ${name}`));
      return shape("g", { class: two ? "two" : "one" },
        ...ribbons, text("weights", x, label, still("weights")), rect("box", x - wide / 2, box, wide), ...going,
        ...(two ? [shape("path", { class: "box", d: `M${x},${box} v${HIGH}` })] : [
          rect("filled mixed", x - wide / 2, box, wide, { ...hue(shares[0] * hues[0] + shares[1] * hues[1]), opacity: mixed }),
          text("", x, box + HIGH / 2, mixed < 0.6 ? "" : says.filter(Boolean).join(" + "))]),
        rect("box", x - wide / 2, box, wide, { style: "fill: none" }),
        ...nouns.flatMap((_, n) => [rect("box filled", sides[n] - word / 2, words, word, hue(hues[n])),
          text("word", sides[n], words + HIGH / 2, names[n])]),
        rect("verb box", x - word / 2, words, word), text("verb word", x, words + HIGH / 2, verb));
    }

    numbers() {
      const { words: [first, verb, last], questions } = this.data;
      const both = [this.share, 1 - this.share];
      return [["", `weight of ${first}`, `weight of ${last}`],
        ...this.sentences().flatMap(({ nouns, names }) => [["one head", both], ["who", [1, 0]], ["whom", [0, 1]]]
          .map(([head, shares], k) => [`${names[0]} ${verb} ${names[1]}, ${k ? `head ${k}: ${questions[k - 1]}` : head}`,
            ...[0, 1].map((noun) => written(shares[nouns.indexOf(noun)]))]))];
    }
  };
});
