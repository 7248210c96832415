// Rotary positions: a query and a key rotate with the places of their words. The reader drags
// either word, or both, and sees that the score depends on the distance alone.
attnbook.define("rotary", ({ Interactive, element, shape, range, sum, fixed, degrees, sector }) => {
  const NAMES = ["fast", "middle", "slow"];
  const PI = Math.PI;
  const places = (n) => `${n} place${n === 1 ? "" : "s"}`;
  const near = (angle) => angle - 2 * PI * Math.round(angle / (2 * PI)); // from −π to π

  return class Rotary extends Interactive {
    static LINES = 5;
    static STYLE = `
      @media (min-width: 600.01px) { .said { min-height: 4.2em; } } /* three lines beside the margin */
      .room { position: relative; }
      .room text { font-size: 13px; text-anchor: middle; }
      .room .start { text-anchor: start; }
      .room .strong { font-weight: 600; fill: var(--ink); font-size: 15px; }
      .room .large { font-weight: 600; fill: var(--weights); font-size: 22px; }
      .room .word { fill: var(--soft); font-size: 15px; }
      @media (max-width: 600px) { .room .word { font-size: 13px; } }
      .room :is(text, tspan):is(.query, .key, .between) { font-weight: 600; }
      .room :is(text, tspan, .head).query { fill: var(--query); }
      .room :is(text, tspan, .head).key { fill: var(--key); }
      .room :is(text, tspan).between { fill: var(--weights); }
      .query { stroke: var(--query); } .key { stroke: var(--key); } .room :is(text, tspan, .head) { stroke: none; }
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
      .curve { fill: none; stroke: var(--weights); stroke-width: 2; }
      .stop { fill: var(--paper); stroke: var(--weights); stroke-width: 1.5; }
      .here { fill: var(--weights); stroke: var(--paper); stroke-width: 2; }
      .drop { stroke: var(--weights); stroke-dasharray: 3 3; }
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
      const wide = narrow ? width : Math.min(350, 0.5 * width); // of the plane
      const radius = Math.min(narrow ? 102 : 134, wide / 2 - 40);
      const plane = { x: wide / 2, y: 192 + radius, low: 219 + 2 * radius, radius };
      const right = narrow ? 0 : wide + 18;
      const dials = { left: right, top: narrow ? plane.low + 74 : 144, cell: (width - right) / 4.2 };
      const top = dials.top + 156;
      const curve = { left: right + 4, right: width - 8, top, high: narrow ? 74 : plane.low - top - 6 };
      return { width, narrow, left, step, plane, dials, curve, x: (place) => left + (place + 0.5) * step,
        height: curve.top + curve.high + 62 };
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
        button.style = `left: ${dials.left + pair * dials.cell}px; top: ${dials.top - 14}px; width: ${dials.cell - 6}px; height: 138px`;
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
      this.drawing.replaceChildren(...this.words(p, r), ...this.plane(...turned),
        ...this.dials(turned, this.parts(p, r)), ...this.curve(p - r));
    }

    text(x, y, words, kind = "") {
      return shape("text", { x, y, class: kind }, words);
    }

    roleAt(place) {
      return { [this.p]: "query", [this.r]: "key" }[place] ?? "";
    }

    words(p, r) {
      const { tokens, asks, found } = this.data;
      const { x, step, narrow } = this.place;
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
        this.text((x(p) + x(r)) / 2, 107, `‹ ${bar} ›`)];
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

    // the stops whose numbers have room on a rail, which a slow pair's have not all
    numbered(far) {
      const roomy = far * this.data.frequencies[this.large] > 15;
      return range(this.data.tokens.length).filter((place) => roomy || this.roleAt(place)
        || (place % 2 === 0 && !this.roleAt(place - 1) && !this.roleAt(place + 1)));
    }

    // one pair, whose arrows run on rails with a stop for each place
    plane(p, r) {
      const { tokens, frequencies } = this.data;
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
        ...arrows.flatMap((arrow) => this.arrow(arrow, scale, 12)),
        ...this.numbered(radius + 15).map((place) => {
          const [cx, cy] = at(arrows[outer].first + place * omega, radius + 15);
          return this.text(cx, cy + 5, String(place), this.roleAt(place));
        }),
        ...arrows.map(({ role, angle, long }, i) => {
          const apart = near(angle - arrows[1 - i].angle); // beside an arrow that would hide the name
          const aside = i !== outer && Math.abs(apart) < 0.3 ? 0.26 * (Math.sign(apart) || 1) : 0;
          const [cx, cy] = at(angle + aside, long * scale + (i === outer ? 32 : aside ? 4 : 13));
          return this.text(cx, cy + 5, role[0], `strong ${role}`);
        }));
      const turn = degrees(omega);
      const times = [p, r, p - r].map(Math.round);
      return [this.text(x, 142, `the ${NAMES[large]} pair: ${turn} a place`, "strong"), group,
        shape("text", { x, y: low + 22 }, ...[["query", "q", times[0]], ["key", "k", times[1]],
          ["between", "q − k", times[2]]].map(([kind, name, times], i) =>
          shape("tspan", { class: kind, dx: i && 10 }, `${name}: ${times} × ${turn}`))),
        this.text(x, low + 43, `lengths ${arrows.map(({ long }) => fixed(long)).join(" and ")}, at every place`)];
    }

    // all pairs, what each adds, and the sum
    dials([p, r], found) {
      const { frequencies } = this.data;
      const { dials: { left, top, cell } } = this.place;
      const most = Math.max(...NAMES.flatMap((_, pair) => this.arrows(pair, 0, 0).map(({ long }) => long)));
      const radius = Math.min(40, cell / 2 - 7);
      const middle = (i) => left + (i + 0.5) * cell - 3;
      const [y, below] = [top + 82, top + 142];
      return [...NAMES.flatMap((name, pair) => {
        const arrows = this.arrows(pair, p, r);
        const scale = radius / most;
        return [shape("rect", { class: `press ${pair === this.large ? "chosen" : ""}`, x: left + pair * cell,
          y: top - 14, width: cell - 6, height: 138, rx: 6 }),
        this.text(middle(pair), top + 6, name, "strong"),
          this.text(middle(pair), top + 24, degrees(frequencies[pair])),
          shape("g", { class: "dial", transform: `translate(${middle(pair)},${y})` },
            ...arrows.map(({ long }) => shape("circle", { class: "rail", r: long * scale })),
            this.wedge(arrows, 0.45 * radius),
            ...arrows.flatMap((arrow) => this.arrow(arrow, scale, 8))),
          this.text(middle(pair), below, fixed(found[pair]), "strong part"),
          this.text(middle(pair) + cell / 2, below, pair < NAMES.length - 1 ? "+" : "=")];
      }),
      this.text(left + 3.6 * cell, top + 6, "score", "strong"),
      this.text(left + 3.6 * cell, below + 2, fixed(sum(found)), "large"),
      this.text(left + 3.6 * cell, below - 26, ...this.verdict())];
    }

    verdict() {
      const was = this.from[0] - this.from[1];
      if (String(this.from) === String([this.p, this.r])) return [""];
      return was === this.p - this.r ? ["the same", "between"] : [`was ${fixed(sum(this.parts(was)))}`];
    }

    // the score at each distance
    curve(distance) {
      const { curve: { left, right, top, high } } = this.place;
      const last = this.data.tokens.length - 1;
      const fine = range(16 * last + 1).map((i) => i / 16);
      const score = (k) => sum(this.parts(k));
      const values = fine.map(score);
      const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)];
      const x = (k) => left + (right - left) * k / last;
      const y = (value) => top + 20 + high * (most - value) / (most - least);
      const stops = range(last).map((k) => k + 1);
      const under = top + high + 38;
      return [
        shape("path", { class: "axis", d: `M${left},${y(0)} H${right}` }),
        shape("path", { class: "curve", d: `M${fine.map((k, i) => `${x(k)},${y(values[i])}`).join(" L")}` }),
        shape("path", { class: "drop", d: `M${x(distance)},${y(score(distance))} V${under - 14}` }),
        ...stops.map((k) => shape("circle", { class: "stop", r: 3.5, cx: x(k), cy: y(score(k)) })),
        shape("circle", { class: "here", r: 7, cx: x(distance), cy: y(score(distance)) }),
        ...stops.map((k) => this.text(x(k), under, String(k), k === this.p - this.r ? "between" : "")),
        this.text((left + right) / 2, under + 19, "score at each distance from k to q")];
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
