// The numbers of every part of the Transformer when the page's translator reads and writes a number:
// for each box of the map its matrices, and the vector of one token that passes through it.
window.attnbook.climbs ??= ({ range, fixed }, { turn }) => {
  const listed = ({ rows, columns, data }) => range(rows).map((i) => [...data.subarray(i * columns, (i + 1) * columns)]);
  const projection = ({ weight }) => turn(listed(weight));

  return ({ ids, heads: numHeads, follow }) => {
    const T = attnbook.translator;
    const parameters = T.load(attnbook.numbers.weights);
    const shifted = (bias) => (total, j) => `, + bias ${fixed(bias[j])} = ${fixed(total + bias[j])}`;
    // a matrix with what the one before is multiplied by, and what then happens to a sum of products
    const made = (name, of, values, above, then) => ({ name, of, values, above, then });

    function attending(layer, x, memory, allowed, token) {
      const { output, heads } = T.multiHeadAttention(layer, x, memory, { place: "", numHeads, allowed, switches: {} });
      const strongest = heads.map(({ weights }) => Math.max(...T.row(weights, token)));
      const head = strongest.indexOf(Math.max(...strongest)); // the one that looks most at one token
      const { query, key, value, scores, weights, output: mixed, divisor } = heads[head];
      const [from, to] = [head * query.columns, (head + 1) * query.columns];
      return { head, output, chain: [made("x", "soft", listed(x)),
        made("Q", "query", listed(query), made("W_Q", "query", projection(layer.q_proj).map((row) => row.slice(from, to))),
          shifted(layer.q_proj.bias.data.slice(from, to))),
        made("scores", "soft", listed(scores), made("Kᵀ", "key", turn(listed(key))),
          (total) => `,  ÷ √${query.columns} = ${fixed(total / divisor)}`),
        made("weights", "weights", listed(weights)),
        made("head", "value", listed(mixed), made("V", "value", listed(value))),
        made("heads", "value", range(x.rows).map((i) => heads.flatMap(({ output: one }) => [...T.row(one, i)]))),
        made("output", "soft", listed(output), made("W_O", "soft", projection(layer.out_proj)),
          shifted(layer.out_proj.bias.data))] };
    }

    function computing({ up_proj: up, down_proj: down }, x) {
      const wide = T.linear(x, up);
      wide.data = wide.data.map((number) => Math.max(0, number));
      const output = T.linear(wide, down);
      const relu = (total, j) => `${shifted(up.bias.data)(total, j)}${total + up.bias.data[j] < 0 ? ", ReLU: 0" : ""}`;
      return { output, chain: [made("x", "soft", listed(x)),
        made("neurons", "other", listed(wide), made("W_1", "other", projection(up)), relu),
        made("output", "soft", listed(output), made("W_2", "other", projection(down)), shifted(down.bias.data))] };
    }

    // the steps of one token on its side, in the order of the map's boxes
    function climb(side, block, subLayers, last, memory) {
      const token = follow[side];
      const embed = (switches) => T.tokenEmbedding(parameters[`${side}_embedding`], ids[side], side, switches);
      const soft = (name, x) => made(name, "soft", listed(x));
      const [words, both] = [embed({ [`${side}_positions`]: "off" }), embed({})];
      const places = { ...both, data: both.data.map((number, n) => number - words.data[n]) };
      const row = (x) => [...T.row(x, token)];
      const steps = [{ chain: [made("tokens", "soft", ids[side].map((id) => [id]))] },
        { chain: [soft("vectors", words)], stream: row(words) },
        { chain: [soft("position", places)], stream: row(words), copy: row(places) },
        { chain: [soft("word", words), soft("position", places), soft("sum", both)], stream: row(both) }];
      let x = both;
      for (const name of subLayers) {
        const around = block[`${name}_residual`] ?? block.attention_residual;
        const normed = T.layerNorm(x, around.norm);
        const part = name === "feed_forward" ? computing(block[name], normed)
          : attending(block[name], normed, name === "cross_attention" ? memory : normed,
            side === "target" && name === "self_attention" ? T.causal : T.everywhere, token);
        const after = T.add(x, part.output);
        steps.push({ chain: [soft("before", x), soft("after", normed)], stream: row(x), copy: row(normed) },
          { ...part, stream: row(x), copy: row(part.output) },
          { chain: [soft("stream", x), made("update", name === "feed_forward" ? "other" : "weights", listed(part.output)), soft("sum", after)], stream: row(after) });
        x = after;
      }
      const out = T.layerNorm(x, last);
      return { out, steps: [...steps, { chain: [soft("before", x), soft("after", out)], stream: row(out) }]
        .map((step) => ({ ...step, side, token })) };
    }

    const { encoder, decoder, output } = parameters;
    const source = climb("source", Object.values(encoder)[0], ["self_attention", "feed_forward"], parameters.encoder_norm);
    const target = climb("target", Object.values(decoder)[0], ["self_attention", "cross_attention", "feed_forward"],
      parameters.decoder_norm, source.out);
    const logits = T.linear(target.out, output);
    const chances = T.maskedSoftmax(logits, T.everywhere);
    const at = (side) => ({ side, token: follow[side] });
    const scores = made("logits", "other", listed(logits), made("W", "other", projection(output)));
    return [...source.steps, { chain: [made("memory", "soft", listed(source.out))], ...at("source"),
      stream: [...T.row(source.out, follow.source)] }, ...target.steps,
    { chain: [made("x", "soft", listed(target.out)), scores], ...at("target"), stream: [...T.row(logits, follow.target)] },
    { chain: [{ ...scores, above: null }, made("probabilities", "weights", listed(chances))], ...at("target"),
      written: [...T.row(chances, follow.target)] }];
  };
};
