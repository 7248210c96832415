// Rotary positions: a query and a key rotate with the places of their words. The reader drags
// either word, or both, and sees that the score depends on the distance alone.
attnbook.define("rotary", ({ Interactive, element, shape, range, sum, fixed, degrees, sector }) => {
  const NAMES = ["fast", "middle", "slow"];
  const PI = Math.PI;
  const places = (n) => `${n} place${n === 1 ? "" : "s"}`;
  const near = (angle) => angle - 2 * PI * Math.round(angle / (2 * PI)); // from −π to π

  return class Rotary extends Interactive {
    static LINES = 4;
    static STYLE = `
      @media (min-width: 600.01px) { .said { min-height: 4.2em; } } /* three lines beside the margin */
      .room { position: relative; }
      .room text { font-size: 13px; text-anchor: middle; }
      .room .start { text-anchor: start; } .room .end { text-anchor: end; }
      .room .strong { font-weight: 600; fill: var(--ink); font-size: 15px; }
      .room .large { font-weight: 600; fill: var(--weights); font-size: 24px; }
      .room .title { font-weight: 600; fill: var(--ink); font-size: 17px; }
      .room .tip { font-size: 17px; paint-order: stroke; stroke: var(--paper); stroke-width: 5px; }
      .room .word { fill: var(--soft); font-size: 15px; }
      @media (max-width: 600px) { .room .word { font-size: 13px; } .room .title { font-size: 15px; } }
      .room :is(text, tspan):is(.query, .key, .between) { font-weight: 600; }
      .room :is(text, tspan, .head).query { fill: var(--query); } .room :is(text, tspan, .head).key { fill: var(--key); }
      .room :is(text, tspan).between { fill: var(--weights); }
      .query { stroke: var(--query); } .key { stroke: var(--key); } .room :is(text:not(.tip), tspan, .head) { stroke: none; }
      .tile { fill: var(--paper); stroke-width: 2; }
      .bar { fill: var(--hover); stroke: var(--soft); }
      .rail { fill: none; stroke: var(--line); stroke-width: 2; }
      .face { fill: none; stroke: var(--line); stroke-dasharray: 1 6; stroke-linecap: round; }
      .tick { fill: var(--line); }
      .way { fill: none; stroke-width: 5; opacity: .4; }
      .room button { position: absolute; min-height: 0; padding: 0; border: 0; background: none; cursor: pointer; }
      .press { fill: var(--paper); stroke: var(--line); }
      .press.chosen { fill: var(--hover); stroke: var(--soft); stroke-width: 2; }
      .wedge { fill: var(--weights); opacity: .3; }
      .wedge.old { fill: var(--soft); opacity: .18; }
      .arrow { stroke-width: 3; }
      .room input { position: absolute; left: 0; appearance: none; margin: 0; padding: 0; opacity: 0;
        min-height: 0; pointer-events: none; touch-action: pan-y; }
      input::-webkit-slider-thumb { appearance: none; width: var(--wide); height: var(--high);
        pointer-events: auto; cursor: grab; }
      input::-moz-range-thumb { width: var(--wide); height: var(--high); border: 0;
        pointer-events: auto; cursor: grab; }
      input:focus-visible { outline: 0; }
      input[name="query"]:focus-visible ~ svg .tile.query, input[name="key"]:focus-visible ~ svg .tile.key,
      input[name="both"]:focus-visible ~ svg .bar { stroke: var(--weights); stroke-width: 4; }
    `;

    build() {
      const { tokens, asks, found } = this.data;
      const last = tokens.length - 1;
      [this.p, this.r] = this.from = [asks, found]; // `from`: before the last move
      this.at = this.seats(); // of all tokens, on their way
      this.large = 1; // the pair that is drawn large
      this.turned = [1, 1]; // how much of their way q and k have rotated
      this.stepper({ last: () => last - this.p + this.r, next: "next place →", pace: 900 });
      this.go = (r) => {
        this.from = [this.p, this.r];
        [this.p, this.r] = [r + this.p - this.r, r];
        this.draw();
      };
      const start = () => {
        this.pause();
        this.from = [this.p, this.r];
      };
      const input = (name, label, move) => element("input", { type: "range", name, min: 0, max: last,
        "aria-label": label, onfocus: start, onpointerdown: start, oninput: ({ target }) => {
          [this.p, this.r] = move(Number(target.value));
          this.draw();
        } });
      this.inputs = [
        input("query", `Place of the query, “${tokens[asks]}”`, (p) => [Math.max(p, this.r + 1), this.r]),
        input("key", `Place of the key, “${tokens[found]}”`, (r) => [this.p, Math.min(r, this.p - 1)]),
        input("both", "Places of both, by that of the key", (r) => [r + this.p - this.r, r])];
      this.buttons = NAMES.map((name, pair) => element("button", { type: "button",
        "aria-label": `Enlarge the ${name} pair`, onclick: () => {
          this.large = pair;
          this.from = [this.p, this.r];
          this.draw();
          this.say(`This is the ${name} pair. q and k are ${places(this.p - this.r)} apart, so it adds `
            + `${this.p - this.r} × ${degrees(this.data.frequencies[pair])} to the angle between them.`);
        } }));
      this.drawing = shape("svg", { "aria-hidden": "true" });
      this.stage.append(element("div", { class: "room" }, ...this.inputs, ...this.buttons, this.drawing));
      this.whenResized(this.stage, () => this.paint());
      this.whenSeen(() => this.glide((part) => { // first q rotates from place 0 to its own, then k
        this.turned = [Math.min(1, 2 * part), Math.max(0, 2 * part - 1)];
        this.show();
      }, false, 3000));
    }

    // where each token is: two at their places, the others in order
    seats() {
      const { tokens, asks, found } = this.data;
      const free = range(tokens.length).filter((place) => place !== this.p && place !== this.r);
      return tokens.map((_, i) => (i === asks ? this.p : i === found ? this.r : free.shift()));
    }

    // the arrows of a pair of features, at places that need not be whole numbers
    arrows(pair, p, r) {
      return [["query", p], ["key", r]].map(([role, place]) => {
        const [x, y] = this.data[role][pair];
        const first = Math.atan2(y, x);
        return { role, place, first, long: Math.hypot(x, y),
          angle: first + this.data.frequencies[pair] * place };
      });
    }

    // what each pair adds to the score
    parts(p, r = 0) {
      return NAMES.map((_, pair) => {
        const [q, k] = this.arrows(pair, p, r);
        return q.long * k.long * Math.cos(q.angle - k.angle);
      });
    }

    // where everything is
    measure() {
      const n = this.data.tokens.length;
      const width = this.stage.clientWidth || 700;
      const narrow = width < 540;
      const left = narrow ? 0 : 52;
      const step = (width - left) / n;
      const wide = narrow ? width : 0.6 * width; // of the plane
      const radius = Math.min(150, wide / 2 - 38);
      const plane = { x: wide / 2, y: 206 + radius, low: 230 + 2 * radius, radius };
      const dials = { left: narrow ? 0 : wide + 14, right: width, row: narrow ? 66 : 82, top: narrow ? plane.low + 44 : 164 };
      return { width, narrow, left, step, plane, dials, x: (place) => left + (place + 0.5) * step,
        height: narrow ? dials.top + 3 * dials.row + 44 : plane.low + 28 };
    }

    paint() {
      const { height, left, step, width, dials } = this.place = this.measure();
      const { tokens } = this.data;
      const apart = this.p - this.r;
      this.drawing.setAttribute("height", height);
      this.inputs.forEach((input, i) => {
        const both = i === 2;
        input.max = tokens.length - 1 - (both ? apart : 0);
        input.value = i ? this.r : this.p;
        input.style = `left: ${left}px; width: ${width - left}px; top: ${both ? 86 : 0}px; `
          + `--wide: ${(both ? apart + 1 : 1) * step}px; --high: ${both ? 32 : 78}px; height: ${both ? 32 : 78}px`;
        input.setAttribute("aria-valuetext", both
          ? `key ${this.r}, query ${this.p}` : `place ${input.value}, ${places(apart)} apart`);
      });
      this.buttons.forEach((button, pair) => {
        button.setAttribute("aria-pressed", pair === this.large);
        button.style = `left: ${dials.left}px; top: ${dials.top + pair * dials.row}px; width: ${dials.right - dials.left}px; `
          + `height: ${dials.row - 8}px`;
      });
      this.turned = [1, 1];
      this.step = this.r;
      this.showSteps();
      const [from, to] = [this.at, this.seats()];
      this.glide((part) => {
        this.at = to.map((place, i) => from[i] + (place - from[i]) * part);
        this.show();
      }, String(from) === String(to));
      this.explain();
    }

    // all that moves
    show() {
      const { asks, found } = this.data;
      const [p, r] = [this.at[asks], this.at[found]];
      const turned = [p * this.turned[0], r * this.turned[1]];
      this.drawing.replaceChildren(...this.words(p, r), ...this.plane(...turned), ...this.dials(turned, this.parts(p, r)));
    }

    text(x, y, words, kind = "") {
      return shape("text", { x, y, class: kind }, words);
    }

    roleAt(place) {
      return { [this.p]: "query", [this.r]: "key" }[place] ?? "";
    }

    words(p, r) {
      const { tokens, asks, found } = this.data;
      const { x, step, narrow, width } = this.place;
      const role = (i) => ({ [asks]: "query", [found]: "key" })[i];
      const apart = this.p - this.r;
      const room = (p - r + 1) * step;
      const bar = room > 215 ? `drag both: ${places(apart)} apart` : room > 105 ? `both: ${apart} apart`
        : `${apart} apart`;
      const order = range(tokens.length).sort((a, b) => Boolean(role(a)) - Boolean(role(b)));
      return [
        ...(narrow ? [] : [this.text(0, 77, "place", "start")]),
        ...range(tokens.length).map((place) => this.text(x(place), 77, String(place),
          `place ${this.roleAt(place)}`)),
        ...order.flatMap((i) => {
          const middle = x(this.at[i]);
          const wide = Math.min(step - 5, 64);
          return role(i) ? [
            this.text(middle, 15, `‹ ${role(i)[0]} ›`, `strong ${role(i)}`),
            shape("rect", { class: `tile ${role(i)}`, x: middle - wide / 2, y: 25, width: wide, height: 32,
              rx: 6 }),
            this.text(middle, 46, tokens[i], `word ${role(i)}`),
          ] : [this.text(middle, 46, tokens[i], "word")];
        }),
        shape("rect", { class: "bar", x: x(r) - step / 2 + 1, y: 89, width: room - 2, height: 26, rx: 13 }),
        this.text((x(p) + x(r)) / 2, 107, `‹ ${bar} ›`),
        this.text(width / 2, 141, `Move both words: the score stays ${fixed(sum(this.parts(this.p, this.r)))}`, "title")];
    }

    arrow({ role, angle, long }, scale, head) {
      const [x, y] = [Math.cos(angle), -Math.sin(angle)];
      const tip = long * scale;
      const neck = tip - head;
      const side = 0.45 * head;
      return [shape("path", { class: `arrow ${role}`, d: `M0,0 L${neck * x},${neck * y}` }),
        shape("path", { class: `head ${role}`, d: `M${tip * x},${tip * y} L${neck * x - side * y},${neck * y + side * x} `
          + `L${neck * x + side * y},${neck * y - side * x} Z` })];
    }

    // between two arrows, the smaller way
    wedge([q, k], radius, more = "") {
      return shape("path", { class: `wedge ${more}`, d: sector(radius, k.angle, k.angle + near(q.angle - k.angle)) });
    }

    // one pair, whose arrows run on rails with a stop for each place
    plane(p, r) {
      const { tokens, frequencies, asks, found } = this.data;
      const { plane: { x, y, low, radius } } = this.place;
      const { large } = this;
      const arrows = this.arrows(large, p, r);
      const scale = radius / Math.max(...arrows.map(({ long }) => long));
      const omega = frequencies[large];
      const at = (angle, far) => [far * Math.cos(angle), -far * Math.sin(angle)];
      const arc = (far, from, to) => { // each turn that is complete, and the rest
        const half = ([x, y]) => `A${far},${far} 0 0 0 ${x},${y}`;
        const [start, end] = [at(from, far), at(to, far)];
        const turn = `M${start} ${half(at(from + PI, far))} ${half(start)} `;
        const rest = (to - from) % (2 * PI);
        return turn.repeat((to - from) / (2 * PI))
          + `M${start} A${far},${far} 0 ${Number(rest > PI)} 0 ${end}`;
      };
      const last = tokens.length - 1;
      const group = shape("g", { class: "plane", transform: `translate(${x},${y})` });
      for (const { role, first, angle, long } of arrows) {
        const far = long * scale;
        group.append(
          shape("circle", { class: "face", r: far }),
          shape("path", { class: "rail", d: arc(far, first, first + last * omega) }),
          shape("path", { class: `way ${role}`, d: arc(far, first, angle) }),
          ...range(tokens.length).map((place) => {
            const [cx, cy] = at(first + place * omega, far);
            return shape("circle", { class: "tick", r: 3, cx, cy });
          }));
      }
      const outer = arrows[0].long < arrows[1].long ? 1 : 0;
      const stays = this.from[0] !== this.p && this.from[0] - this.from[1] === this.p - this.r;
      if (stays) group.append(this.wedge(this.arrows(large, ...this.from), 0.45 * radius, "old"));
      group.append(this.wedge(arrows, 0.45 * radius),
        ...arrows.flatMap((arrow) => this.arrow(arrow, scale, 14)),
        ...arrows.map(({ role, angle, long }, i) => { // each word is at its arrow, and beside one that would hide it
          const apart = near(angle - arrows[1 - i].angle);
          const aside = i !== outer && Math.abs(apart) < 0.4 ? 0.4 * (Math.sign(apart) || 1) - apart : 0;
          const [cx, cy] = at(angle + aside, long * scale + (i === outer || !aside ? 20 : 8));
          return this.text(cx, cy + 6, tokens[i ? found : asks], `tip ${role}`);
        }));
      const turn = degrees(omega);
      const times = [p, r, p - r].map(Math.round);
      return [this.text(x, 168, `the ${NAMES[large]} pair: ${turn} a place`, "strong"), group,
        shape("text", { x, y: low + 22 }, ...[["query", tokens[asks], times[0]], ["key", tokens[found], times[1]],
          ["between", "between", times[2]]].map(([kind, name, times], i) =>
          shape("tspan", { class: kind, dx: i && 10 }, `${name}: ${times} × ${turn}`)))];
    }

    // all pairs, what each adds, and the sum
    dials([p, r], found) {
      const { frequencies } = this.data;
      const { dials: { left, right, row, top } } = this.place;
      const most = Math.max(...NAMES.flatMap((_, pair) => this.arrows(pair, 0, 0).map(({ long }) => long)));
      const radius = row / 2 - 10;
      const below = top + 3 * row + 26;
      return [...NAMES.flatMap((name, pair) => {
        const arrows = this.arrows(pair, p, r);
        const scale = radius / most;
        const y = top + (pair + 0.5) * row - 4;
        return [shape("rect", { class: `press ${pair === this.large ? "chosen" : ""}`, x: left, y: top + pair * row,
          width: right - left, height: row - 8, rx: 6 }),
        shape("g", { class: "dial", transform: `translate(${left + radius + 12},${y})` },
          ...arrows.map(({ long }) => shape("circle", { class: "rail", r: long * scale })),
          this.wedge(arrows, 0.45 * radius),
          ...arrows.flatMap((arrow) => this.arrow(arrow, scale, 8))),
        this.text(left + 2 * radius + 26, y - 2, name, "strong start"),
        this.text(left + 2 * radius + 26, y + 16, `${degrees(frequencies[pair])} a place`, "start"),
        this.text(right - 12, y + 5, fixed(found[pair]), "strong part end")];
      }),
      shape("path", { class: "axis", d: `M${left},${below - 26} H${right}` }), this.text(left + 12, below, "score", "strong start"), this.text(right - 12, below + 2, fixed(sum(found)), "large end"),
      this.text(left + 64, below, this.verdict(), "start")];
    }

    verdict() {
      const was = this.from[0] - this.from[1];
      if (String(this.from) === String([this.p, this.r])) return "";
      return was === this.p - this.r ? "the same" : `was ${fixed(sum(this.parts(was)))}`;
    }

    explain() {
      const { tokens, asks, found } = this.data;
      const [p, r] = this.from;
      const [was, is] = [p - r, this.p - this.r];
      const [before, now] = [was, is].map((k) => fixed(sum(this.parts(k))));
      const names = `“${tokens[asks]}” is ${places(is)} after “${tokens[found]}”`;
      if (p === this.p && r === this.r)
        this.say(`${names}. Press play to move both words, or drag one of them. Press fast or slow to enlarge `
          + "that pair.");
      else if (was === is)
        this.say(`Both words moved by ${places(Math.abs(this.p - p))}. In each pair, q and k rotated by the same angle, `
          + `so the angle between them is the same as before. The score is still ${now}.`);
      else
        this.say(`${names}, no longer ${was}. All arrows keep their lengths, but the angles between q and k `
          + `change, and the score goes from ${before} to ${now}.`);
    }

    numbers() {
      const parts = this.parts(this.p, this.r);
      const size = (angle) => `${fixed(180 * angle / PI, 1)}°`;
      return [["pair", "length of q", "length of k", "q rotated by", "k rotated by", "angle between", "product"],
        ...NAMES.map((name, pair) => {
          const [q, k] = this.arrows(pair, this.p, this.r);
          return [name, fixed(q.long), fixed(k.long), size(q.angle - q.first), size(k.angle - k.first),
            size(Math.abs(near(q.angle - k.angle))), fixed(parts[pair], 3)];
        }), ["score", "", "", "", "", "", fixed(sum(parts), 3)]];
    }
  };
});
