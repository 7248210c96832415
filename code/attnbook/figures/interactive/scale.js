// The weights of one query for any number of features, with and without the division by √d.
attnbook.define("scale", ({ Interactive, softmax, fixed }) =>
  class Scale extends Interactive {
    static STYLE = `
      .measures { margin-top: .6rem; }
      .measures .name { max-width: none; color: var(--soft); }
      .measures .bar { background: var(--soft); }
    `;
    static SATURATED = 0.01; // a row whose Jacobian is smaller does not learn

    build() {
      const { sizes, scores } = this.data;
      const keys = scores[0][0].map((_, j) => `key ${j + 1}`);
      this.row = this.size = 0;
      this.divided = false;
      const set = (name) => (value) => {
        this[name] = value;
        this.draw();
      };
      this.slider("Features d", { min: 0, max: sizes.length - 1, value: this.size,
        text: (place) => String(sizes[place]) }, set("size"));
      this.toggle("divide by √d", set("divided"));
      if (scores.length > 1)
        this.choice("Draw", scores.map((_, i) => `draw ${i + 1}`), set("row"));
      this.weights = this.bars(keys);
      this.measures = this.bars(["largest weight", "size of the Jacobian"], "measures");
      this.stage.append(this.weights.list, this.measures.list);
    }

    measure() {
      const { sizes, scores } = this.data;
      const divisor = this.divided ? Math.sqrt(sizes[this.size]) : 1;
      const divided = scores[this.row][this.size].map((score) => score / divisor);
      const weights = softmax(divided);
      const slopes = weights.flatMap((w, i) => weights.map((v, j) => w * ((i === j) - v)));
      return { scores: divided, weights, largest: Math.max(...weights),
        jacobian: Math.hypot(...slopes) };
    }

    paint() {
      const { weights, largest, jacobian } = this.measure();
      const d = this.data.sizes[this.size];
      this.weights.show(weights, weights.map((weight) => fixed(weight)));
      // no Jacobian of softmax is larger than 0.5
      this.measures.show([largest, 2 * jacobian],
        [fixed(largest), `${fixed(jacobian, 3)} of 0.5`]);
      this.say(`d = ${d}, ${this.divided ? "divided by √d" : "undivided"}: key ` +
        `${weights.indexOf(largest) + 1} has the largest weight, ${fixed(largest)}. The size of ` +
        `the Jacobian is ${fixed(jacobian, 3)} of at most 0.5: this row ` +
        `${jacobian < Scale.SATURATED ? "is saturated" : "still listens"}.`);
    }

    numbers() {
      const { scores, weights, largest, jacobian } = this.measure();
      return [["", "score", "weight"],
        ...weights.map((weight, j) => [`key ${j + 1}`, fixed(scores[j], 3), fixed(weight, 3)]),
        ["largest weight", "", fixed(largest, 3)],
        ["size of the Jacobian", "", fixed(jacobian, 3)]];
    }
  });
