// The path of a fact through a language model: at the block that the reader chooses, each token's
// vector is swapped, one at a time, for that of another text, and beside it is what the model answers.
attnbook.define("path-of-a-fact", ({ Interactive, element, shape, range, percent, still }) => {
  const PACE = 200; // milliseconds for a block while it plays
  const [LEFT, RIGHT] = [62, 100]; // room for the tokens and for the answers, in pixels
  const [TOP, ROW, WIDE, CROSS, LOW] = [40, 22, 28, 62, 56]; // rows, the widest line, levels
  const FAINT = 0.02; // what is less likely is not drawn
  const whole = (number) => number.toLocaleString("en");

  return class PathOfAFact extends Interactive {
    static LINES = 3;
    static TABLE = "The numbers after each block";
    static STYLE = `
      .picture { position: relative; touch-action: pan-y; cursor: ew-resize; user-select: none; -webkit-user-select: none; }
      .picture text { font-size: 13px; dominant-baseline: central; }
      .picture .token { font-size: 15px; fill: var(--ink); } .picture .fact { font-weight: 700; }
      .picture .found { font-size: 14px; font-weight: 700; } .picture .turned { fill: var(--value); }
      .picture .over { paint-order: stroke; stroke: var(--paper); stroke-width: 5px; stroke-linejoin: round; }
      .picture .head { fill: var(--weights); } .picture .now { fill: var(--ink); font-weight: 650; }
      .stream { stroke: var(--line); stroke-width: 2; }
      .swap { display: grid; justify-content: start; gap: 2px .35rem; margin-bottom: .5rem; white-space: nowrap; font-size: 15px; line-height: 22px;
        grid-template-columns: repeat(var(--tokens), auto) auto; }
      .swap > * { padding: 0 .15rem; border-radius: .35rem; } .swap .answer { grid-column: -2; padding-left: .5rem; }
      .swap .at { color: var(--value); font-weight: 700; box-shadow: inset 0 0 0 1.5px var(--value); }
      .swap .lifted { grid-row: 2; width: 0; padding: 0; color: var(--soft); font-size: 13px; }
      .swap i { display: inline-block; padding: 0 .5rem; border-radius: 9px; line-height: 18px; font-style: normal; color: var(--paper); background: var(--value); }
      @media (max-width: 600px) { .swap { column-gap: .1rem; font-size: 14px; } .swap .lifted span { display: none; } }
      @media (max-width: 350px) { .swap s { display: none; } }
      .swap s { color: var(--soft); } .swap .answer b { color: var(--value); }
      .river { fill: var(--value); } .river.past { fill: color-mix(in srgb, var(--value) 26%, var(--paper)); }
      .ribbon { fill: none; stroke: var(--weights); stroke-linejoin: round; }
      .ribbon.past { stroke: color-mix(in srgb, var(--weights) 30%, var(--paper)); }
      .here { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 3 3; }
      .vector { fill: var(--paper); stroke: var(--soft); stroke-width: 1.5; }
      .bar { fill: var(--soft); } .bar.ahead { fill: color-mix(in srgb, var(--soft) 45%, var(--paper)); }
      .bar.now { fill: var(--ink); }
      .country { transition: transform .3s ease-in-out; }
      .country rect { fill: var(--paper); stroke: var(--value); stroke-width: 2.5; }
      .picture .country text { fill: var(--value); font-weight: 700; text-anchor: middle; }
      .picture input { position: absolute; margin: 0; height: 1.5rem; cursor: inherit; }
    `;

    build() {
      const { tokens, chances, head, other, answers } = this.data;
      this.last = chances[0].length - 1;
      this.rows = tokens.map((_, i) => TOP + ROW * i);
      this.rows.splice(-2, 2, TOP + ROW * (tokens.length - 2) + 8, TOP + ROW * (tokens.length - 2) + 8 + CROSS + WIDE);
      this.stepper({ last: () => this.last, next: "next block →", pace: PACE });
      this.step = Math.floor(head[0] / 2);
      const move = this.slider("Block", { min: 0, max: this.last, value: this.step }, (at) => this.touch(at));
      const [input] = this.controls.lastChild.querySelectorAll("input");
      this.controls.lastChild.remove(); // the slider is in the picture, where blocks are
      this.move = move;
      this.input = input;
      this.svg = shape("svg", { "aria-hidden": "true" });
      this.picture = element("div", { class: "picture", onpointerdown: (event) => this.drag(event),
        onpointermove: (event) => event.buttons && this.drag(event) }, this.svg, input);
      this.swaps = [tokens.with(-2, other), tokens].map((words, row) => words.map((word, i) =>
        element("span", { style: `grid-area: ${2 * row + 1} / ${i + 1}` }, word)));
      this.moved = element("i", {}, "its vector ↓");
      this.lifted = element("span", { class: "lifted" }, this.moved, element("span"));
      const turned = element("b", {}, answers[1]);
      this.turn = () => {
        const high = this.lifted.offsetTop - this.swaps[0][0].offsetTop;
        this.moved.animate([{ transform: `translateY(${-high}px)` }, { transform: "none" }], { duration: 900, easing: "ease-in-out" });
        turned.animate([{ opacity: 0 }, { opacity: 0, offset: 0.6 }, { opacity: 1 }], 1200);
      };
      this.stage.append(element("div", { class: "swap", style: `--tokens: ${tokens.length}` }, ...this.swaps[0],
        element("span", { class: "answer", style: "grid-row: 1" }, `→ ${answers[1]}`), this.lifted, ...this.swaps[1],
        element("span", { class: "answer", style: "grid-row: 3" }, "→ ", element("s", {}, answers[0]), " ", turned)), this.picture);
      this.whenResized(this.picture, () => this.lay());
      this.onceByItself(() => {
        this.go(0);
        this.play();
      });
    }

    touch(block) {
      this.pause();
      this.go(block);
    }

    drag(event) {
      if (event.target === this.input) return; // it does so by itself
      const x = event.clientX - this.picture.getBoundingClientRect().left;
      this.touch(Math.max(0, Math.min(this.last, Math.round((x - this.from) / this.unit))));
    }

    go(block) {
      this.step = block;
      this.move(block);
      this.draw();
      if (block === 0 && !still()) this.turn();
    }

    // what stays where it is, for the width that the figure has
    lay() {
      const { tokens, chances, head, weight, moved, ranks, answers } = this.data;
      const width = this.picture.clientWidth;
      if (!width) return;
      this.from = LEFT + 12;
      this.unit = (width - RIGHT - 12 - this.from) / this.last;
      this.x = (block) => this.from + block * this.unit;
      const [fact, end] = this.rows.slice(-2);
      const text = (x, y, name, words, more = {}) => shape("text", { x, y, class: name, ...more }, words);
      const right = { "text-anchor": "end" };
      const [carrier, mid] = [head[0], (this.mid = this.x(head[0] - 0.5))];
      const rivers = chances.map((of, i) => {
        const there = range(this.last + 1).filter((block) => of[block][1] > FAINT);
        const edge = (side) => there.flatMap((block) => [-0.5, 0.5].map((part) =>
          [this.x(block + part), this.rows.at(i - 2) + side * WIDE * of[block][1] / 2].join()));
        return `M${[...edge(-1), ...edge(1).reverse()].join(" L")} Z`;
      });
      const flow = (name) => rivers.map((d) => shape("path", { class: `river ${name}`, d }));
      this.cut = shape("rect", { y: 0, width, height: end + WIDE });
      const bend = WIDE * moved / 2;
      this.ribbon = shape("path", { class: "ribbon", "stroke-width": WIDE * moved,
        d: `M${mid - bend},${fact} H${mid} V${end} H${mid + bend}` });
      this.low = end + WIDE / 2 + 34 + LOW; // where the ranks' bars stand
      const high = (rank) => 3 + (LOW - 8) * (1 - Math.log(rank) / Math.log(Math.max(...ranks)));
      this.bars = ranks.map((rank, block) => shape("rect", { class: "bar", x: this.x(block - 0.5) + 0.5,
        width: this.unit - 1, y: this.low - high(rank), height: high(rank) }));
      this.here = shape("path", { class: "here" });
      this.after = text(0, TOP - 24, "now", "", { "text-anchor": "middle" });
      this.dots = this.rows.map((y) => shape("circle", { class: "vector", cy: y, r: 4.5 }));
      this.found = this.rows.map((y) => text(width, y, "found", "", right));
      this.guess = [48, 30].map((up) => text(0, this.low - up, "over", ""));
      this.country = shape("g", { class: "country" },
        shape("rect", { x: -33, y: -11, width: 66, height: 22, rx: 11 }), text(0, 0, "", "country"));
      const marks = [...range(this.last + 1).filter((block) => block % 5 === 0
        && Math.abs(block - carrier) * this.unit > 30), carrier];
      this.svg.replaceChildren(shape("clipPath", { id: "ahead" }, this.cut),
        text(0, TOP - 24, "", "swap"), text(width, TOP - 24, "", "answer", right),
        ...tokens.map((token, i) => text(0, this.rows[i], i < tokens.length - 2 ? "token" : "token fact", token)),
        ...this.rows.map((y) => shape("line", { class: "stream", x1: this.x(-0.5), x2: this.x(this.last + 0.5), y1: y, y2: y })),
        ...flow("past"), shape("g", { "clip-path": "url(#ahead)" }, ...flow("")), this.ribbon, ...this.bars, this.here,
        ...(width < 300 ? [`head ${head[1]} of`, `block ${carrier} gives`, `“${tokens.at(-2)}” ${percent(weight)}`] // there is less room
          : [`head ${head[1]} of block ${carrier}:`, `“${tokens.at(-1)}” looks at “${tokens.at(-2)}”,`, `${percent(weight)} of its weight`])
          .map((words, n) => text(mid - WIDE / 2 - 8, fact + WIDE / 2 + 15 + 17 * n, "over head", words, right)),
        ...this.guess, ...this.dots, this.country, ...this.found, this.after,
        ...marks.map((block) => text(this.x(block), this.low + 12, "", String(block), { "text-anchor": "middle" })),
        text(0, this.low + 12, "", "block"));
      this.svg.style.height = `${this.low + 22}px`;
      Object.assign(this.input.style, { left: `${this.x(0) - 8}px`, width: `${this.unit * this.last + 16}px`,
        top: `${end + WIDE / 2 + 4}px` });
      this.paint();
    }

    // what the model answers if a token's vector is swapped; the first ones are the same in both texts
    likely(token) {
      const { tokens, chances } = this.data;
      return chances[token - tokens.length + 2]?.[this.step] ?? chances[0].at(-1);
    }

    paint() {
      const { tokens, ranks, guesses, answers } = this.data;
      const [now, last] = [this.step, tokens.length - 1];
      const holder = this.likely(last)[1] > this.likely(last)[0] ? last : last - 1;
      for (const words of this.swaps) words.forEach((word, i) => word.classList.toggle("at", i === holder));
      this.lifted.style.gridColumn = `${holder + 1} / -1`;
      this.lifted.lastChild.textContent = ` after block ${now}`;
      if (this.x) {
        const x = this.x(now);
        this.cut.setAttribute("x", x);
        this.ribbon.setAttribute("class", `ribbon ${holder === last ? "past" : ""}`);
        this.bars.forEach((bar, block) =>
          bar.setAttribute("class", `bar ${block === now ? "now" : block > now ? "ahead" : ""}`));
        const [fact, end] = this.rows.slice(-2);
        // through the lines, and past the texts between them
        this.here.setAttribute("d", `M${x},${TOP - 14} V${fact + 20} M${x},${end - 12} V${end + 20}`);
        this.dots.forEach((dot) => dot.setAttribute("cx", x));
        this.after.textContent = `after block ${now}`;
        this.after.setAttribute("x", Math.min(Math.max(x, LEFT + 32), this.x(this.last) - 20));
        this.found.forEach((node, i) => {
          const turned = Number(this.likely(i)[1] > this.likely(i)[0]);
          node.textContent = `${answers[turned]} ${percent(this.likely(i)[turned])}`;
          node.setAttribute("class", turned ? "found turned" : "");
        });
        this.guess[0].textContent = `Stopped here: “${guesses[now]}”.`;
        this.guess[1].textContent = `${answers[0]} is guess ${whole(ranks[now])}.`;
        const above = end - WIDE / 2 - 13; // where there is room for the word
        const at = (...place) => `translate(${place.join("px, ")}px)`;
        if (this.holder && this.holder !== holder && !still()) { // it goes through the head
          this.turn();
          this.country.animate({ transform: [this.country.style.transform, ...(holder === last ? [fact, above] : [above, fact])
            .map((y) => at(this.mid, y))], offset: [0, 0.3, 0.8] }, 700);
        }
        this.country.style.transform = holder === last ? at(Math.max(x, this.mid + 48), above)
          : at(Math.max(LEFT + 36, Math.min(x, this.mid - 48)), fact);
        this.holder = holder;
      }
      this.say(`After block ${now}, only a swap at “${tokens[holder]}” turns the answer to ${answers[1]}: `
        + "this vector carries the country.");
    }

    numbers() {
      const { tokens, chances, ranks, guesses, answers: [answer, other] } = this.data;
      return [["after block", ...tokens.slice(-2).map((token) => `“${token}” swapped: ${other}`), `place of ${answer}`, "first guess"],
        ...ranks.map((rank, block) => [String(block), ...chances.map((of) => percent(of[block][1])), whole(rank), guesses[block]])];
    }
  };
});
