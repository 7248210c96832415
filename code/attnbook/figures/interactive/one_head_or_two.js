// What a verb gets of its two nouns, in two sentences: above, one head mixes them; below, each of two
// heads brings one. The reader sets the weights of the one head.
attnbook.define("one-head-or-two", ({ Interactive, shape, fixed, ribbon }) => {
  const SHADES = [10, 48]; // percent of the colour: the first noun, and the second
  const [HIGH, FALL, LINE] = [32, 52, 24]; // pixels: boxes, ribbons and titles
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
      .box { stroke: var(--value); stroke-width: 1.5; fill: var(--paper); }
      .verb.box { stroke: var(--query); fill: color-mix(in srgb, var(--query) 12%, var(--paper)); }
      .filled { fill: color-mix(in srgb, var(--value) var(--dark), var(--paper)); }
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

    // the two sentences: their first noun and their last, as places in SHADES
    sentences() {
      const { words: [first, verb, last] } = this.data;
      return [[0, 1], [1, 0]].map((nouns) => ({ nouns, verb, names: nouns.map((n) => [first, last][n]) }));
    }

    // everything as it is after a part of the flow
    show(part) {
      const { across } = this;
      const narrow = across < 480;
      const apart = narrow ? 12 : 34; // from one sentence to the other
      const wide = (across - apart) / 2;
      const [gap, room] = narrow ? [4, 0.9] : [10, 0.8];
      const size = { word: (wide - 2 * gap) / 3, box: room * wide };
      const text = (kind, x, y, ...says) => shape("text", { class: kind, x, y }, ...says);
      const top = 2 * LINE; // of the mixtures, the words and what two heads bring
      const words = top + HIGH + FALL;
      const below = words + HIGH + FALL;
      const end = below + HIGH + LINE;
      const middle = across / 2;
      const { title, sign } = this.verdict();
      this.svg.setAttribute("class", narrow ? "narrow" : "");
      this.svg.setAttribute("viewBox", `0 0 ${across} ${end + LINE}`);
      this.svg.style.height = `${end + LINE}px`;
      this.svg.replaceChildren(text("asks", middle, LINE / 2 - 2, this.data.asks),
        text("title", middle, 1.5 * LINE, title),
        ...this.sentences().flatMap((sentence, s) =>
          this.sentence(sentence, { x: s * (wide + apart) + wide / 2, gap, top, words, below, ...size }, text, part)),
        text("sign", middle, top + HIGH / 2, sign), text("sign", middle, below + HIGH / 2, "≠"),
        text("title", middle, end + LINE / 2 + 2, "two heads: both words, unmixed"));
    }

    verdict() {
      if (this.share === EVEN) return { title: "one head: the same mixture both times", sign: "=" };
      return { title: this.share % 1 ? "one head: two mixtures"
        : `one head: the ${this.share ? "first" : "last"} word only`, sign: "≠" };
    }

    sentence({ nouns, verb, names }, { x, gap, word, box, top, words, below }, text, part) {
      const { share } = this;
      const [way, mixed] = [Math.min(1, part / ARRIVES), Math.max(0, (part - ARRIVES) / (1 - ARRIVES))];
      const sides = [-1, 1].map((side) => x + side * (word + gap)); // middles of the nouns
      const rect = (kind, left, y, width, more = {}) =>
        shape("rect", { class: kind, x: left, y, width: Math.max(0, width), height: HIGH, rx: 4, ...more });
      const dark = (percent) => ({ style: `--dark: ${percent}%` });
      const shares = [share, 1 - share];
      const full = 0.55 * word; // the width of a ribbon that has all of the weight
      const parts = [top, below].map((y, two) => {
        const room = two ? [0.5, 0.5] : shares; // of the box, for each noun
        const ends = [x - box / 2 + room[0] * box / 2, x + box / 2 - room[1] * box / 2];
        const [from, to] = two ? [words + HIGH, y] : [words, y + HIGH];
        return { y, two, room, ends, from, to };
      });
      const ribbons = parts.flatMap(({ two, ends, from, to }) => nouns.flatMap((_, n) => {
        const half = (two ? 1 : shares[n]) * full / 2;
        return [shape("path", { class: "ribbon", d: ribbon([sides[n] - half, sides[n] + half, from], [ends[n] - half, ends[n] + half, to]) }),
        text("share", sides[n], from + (two ? 12 : -12), written(two ? 1 : shares[n]))];
      }));
      // the nouns on their way, which fill the boxes
      const going = parts.flatMap(({ y, two, room, ends }) => nouns.flatMap((noun, n) => {
        const size = between(word, room[n] * box, smooth(way));
        const at = between(sides[n], ends[n], smooth(way));
        const height = between(words, y, way);
        return room[n] === 0 ? [] : [rect("filled", at - size / 2, height, size, dark(SHADES[noun])),
          text("word", at, height + HIGH / 2, two || mixed < 0.4 ? names[n] : "")];
      }));
      const shade = shares[0] * SHADES[nouns[0]] + shares[1] * SHADES[nouns[1]];
      const says = names.map((name, n) => (shares[n] === 1 ? name : shares[n] && `${written(shares[n])} ${name}`));
      return [
        ...ribbons, text("weights", x, words - 12, "weights"),
        ...parts.map(({ y }) => rect("box", x - box / 2, y, box)), ...going,
        rect("filled mixed", x - box / 2, top, box, { ...dark(shade), opacity: mixed }),
        text("", x, top + HIGH / 2, mixed < 0.6 ? "" : says.filter(Boolean).join(" + ")),
        ...parts.map(({ y }) => rect("box", x - box / 2, y, box, { style: "fill: none" })),
        shape("path", { class: "box", d: `M${x},${below} v${HIGH}` }),
        ...this.data.questions.map((question, n) => text("", parts[1].ends[n], below + HIGH + 13, question)),
        ...nouns.flatMap((noun, n) => [rect("box filled", sides[n] - word / 2, words, word, dark(SHADES[noun])),
          text("word", sides[n], words + HIGH / 2, names[n])]),
        rect("verb box", x - word / 2, words, word), text("verb word", x, words + HIGH / 2, verb),
      ];
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
