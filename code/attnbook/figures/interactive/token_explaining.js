// How each number on the way of a token comes about: the sentences and the rows of cells.
attnbook.explaining ??= ({ fixed, range, sum, KINDS, below, short }, Figure) => {
  const PURPOSE = { q: "a query (what the token looks for)",
    k: "a key (what the token can be found by)", v: "a value (what the token hands over)" };

  const column = (matrix, f) => matrix.map((row) => row[f]);
  const times = (a, b) => a.map((number, i) => number * b[i]);
  const factor = (number) => (number < 0 ? `(${short(number)})` : short(number));
  const vector = (numbers) => `(${numbers.map(short).join(", ")})`;
  const written = (a, b) => a.map((number, i) => `${factor(number)}·${factor(b[i])}`).join(" + ");

  return class extends Figure {
    // How a number comes about: a sentence, rows of cells with a title, the column that is meant,
    // and which cells of the picture go into it.
    explain({ kind, j, f }, now) {
      if (kind === "x") return this.explainInput(j, now);
      if (PURPOSE[kind]) return this.explainProjection(kind, j ?? this.follow, f, now);
      return this[{ score: "explainScore", scaled: "explainScaled", weight: "explainWeight",
        output: "explainOutput" }[kind]](j ?? f, now);
    }

    explainInput(j, { x }) {
      return { rows: [], uses: (cell) => cell.kind === "x" && cell.j === j,
        said: `Every token enters as a vector of ${x[0].length} numbers. The vector of ` +
          `${this.name(j)} is x${below(j)} = ${vector(x[j])}.` };
    }

    // one number of a query, key or value; all of them if f is null
    explainProjection(kind, j, f, now) {
      const [projection, title] = [`W_${kind.toUpperCase()}`, kind + below(j)];
      const result = kind === "q" ? now.queries[j] : now[kind][j];
      return { title: projection, heads: range(result.length).map((at) => at + 1), column: f,
        rows: [
          ...this.data[projection].map((cells, r) => ({ label: `${short(now.x[j][r])} ×`, cells })),
          { label: `${title} =`, cells: result, role: KINDS[kind][1] }],
        uses: (cell) => cell.kind === "x" && cell.j === j,
        said: f === null
          ? "Three projections, which all tokens share, make a query (what a token looks for), a " +
            "key (what it can be found by) and a value (what it hands over). " +
            `${title} = x${below(j)} ${projection} = ${vector(result)}.`
          : `The projection ${projection} turns each vector into ${PURPOSE[kind]}. Number ${f + 1} ` +
            `of ${title} is ${written(now.x[j], column(this.data[projection], f))} = ` +
            `${short(result[f])}.` };
    }

    explainScore(j, { q, k, score }) {
      const [query, key] = [`q${below(this.follow)}`, `k${below(j)}`];
      return { title: `${query} · ${key}`, heads: q.map((_, f) => f + 1),
        rows: [{ label: query, cells: q, role: "query" },
          { label: `× ${key}`, cells: k[j], role: "key" },
          { label: "=", cells: times(q, k[j]), result: short(score[j]) }],
        uses: (cell) => cell.kind === "q" || (cell.kind === "k" && cell.j === j),
        said: `How well does the key of ${this.name(j)} fit the query of ` +
          `${this.name(this.follow)}? ${query} · ${key} = ${written(q, k[j])} = ` +
          `${short(score[j])}.` };
    }

    explainScaled(j, { q, score, scaled }) {
      const root = short(Math.sqrt(q.length));
      return { title: `÷ √${q.length}`, heads: this.allTokens(), column: j,
        rows: [{ label: "scores", cells: score }, { label: `÷ ${root} =`, cells: scaled }],
        uses: (cell) => cell.kind === "score" && cell.j === j,
        said: "A typical score grows with the root of the number of features, so every score is " +
          `divided by √${q.length}. ` +
          `For ${this.name(j)}, ${short(score[j])} ÷ √${q.length} = ` +
          `${short(scaled[j])}.` };
    }

    explainWeight(j, { scaled, weight }) {
      const largest = Math.max(...scaled);
      // subtracted from all it changes no weight, and numbers stay such that one can read them
      const less = largest < 0 || largest > 6 ? largest : 0;
      const powers = scaled.map((score) => Math.exp(score - less));
      const total = fixed(sum(powers));
      return { title: "softmax", heads: this.allTokens(), column: j,
        rows: [{ label: less ? "s − largest" : "s", cells: scaled.map((score) => score - less) },
          { label: less ? "e^(…) =" : "e^s =", cells: powers, result: total },
          { label: `÷ ${total} =`, cells: weight, role: "weights" }],
        uses: (cell) => cell.kind === "scaled",
        said: "Softmax turns the scores into weights that are positive and add up to 1. " +
          `For ${this.name(j)}, e^${factor(scaled[j] - less)} = ${short(powers[j])}. Divided by ` +
          `${total}, the sum of all ${scaled.length} powers, this gives ${short(weight[j])}.` };
    }

    explainOutput(f, { weight, v, output }) {
      const values = column(v, f);
      return { title: "mix", heads: this.allTokens(),
        rows: [{ label: "weight", cells: weight, role: "weights" },
          { label: "× v", cells: values, role: "value" },
          { label: "=", cells: times(weight, values), result: short(output[f]) }],
        uses: (cell) => cell.kind === "weight" || (cell.kind === "v" && cell.f === f),
        said: "Each value is multiplied by its weight, and the products are added up. " +
          `Number ${f + 1} is ${written(weight, values)} = ${short(output[f])}. The figure shows ` +
          "two digits but computes with all of them." };
    }

    ending({ x, weight, output, best }) {
      return `${this.name(this.follow)} came in as ${vector(x[this.follow])} and leaves as ` +
        `${vector(output)}, a mixture of all values. The largest share, ${short(weight[best])}, comes ` +
        `from ${this.name(best)}. Another token's query weighs the same values differently.`;
    }

    allTokens() {
      return this.data.tokens.map((_, j) => this.label(j));
    }
  };
};
