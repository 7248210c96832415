// The two recurrent translators of chapter 1, run in a page. Each function computes what that of the
// same name in attnbook.seq2seq or PyTorch does. A vector is a Float32Array.
window.attnbook.recurrent ??= ({ dot, softmax }) => {
  const { load, row, START, END } = attnbook.translator;

  // W x + b
  const linear = ({ weight, bias }, x) => Float32Array.from({ length: weight.rows },
    (_, i) => dot(row(weight, i), x) + (bias ? bias.data[i] : 0));
  const joined = (a, b) => Float32Array.from([...a, ...b]);
  const sigmoid = (x) => 1 / (1 + Math.exp(-x));

  // one step of torch.nn.GRU: the new state
  function gru(layer, suffix, x, h) {
    const part = (name) => layer[`${name}${suffix}`];
    const read = linear({ weight: part("weight_ih"), bias: part("bias_ih") }, x);
    const kept = linear({ weight: part("weight_hh"), bias: part("bias_hh") }, h);
    const size = h.length;
    return h.map((old, i) => {
      const reset = sigmoid(read[i] + kept[i]);
      const keep = sigmoid(read[size + i] + kept[size + i]);
      const candidate = Math.tanh(read[2 * size + i] + reset * kept[2 * size + i]);
      return (1 - keep) * candidate + keep * old;
    });
  }

  // Read the source from both sides. after[j] is the context vector when each GRU has read j tokens,
  // so the last one is the context vector; memory has the states of each token.
  function prefill(parameters, source) {
    const embedded = source.map((token) => row(parameters.source_embedding.weight, token));
    const states = (tokens, suffix) => {
      let h = new Float32Array(parameters.initial_state.weight.columns / 2);
      return [h, ...tokens.map((x) => (h = gru(parameters.encoder, suffix, x, h)))];
    };
    const forwards = states(embedded, "_l0");
    const backwards = states([...embedded].reverse(), "_l0_reverse");
    const n = source.length;
    return {
      after: forwards.map((state, j) => joined(state, backwards[j])),
      memory: source.map((_, j) => joined(forwards[j + 1], backwards[n - j])),
    };
  }

  // Yields each token that is written, and the weights of its look, or null without one.
  function* greedySearch({ parameters, looks }, source, { maxLength }) {
    const { after, memory } = prefill(parameters, source);
    let context = after.at(-1);
    let z = linear(parameters.initial_state, context).map(Math.tanh);
    let token = START;
    for (let written = 0; written < maxLength && token !== END; written++) {
      const weights = looks ? softmax(memory.map((h) => dot(h, z))) : null;
      if (looks)
        context = context.map((_, k) => memory.reduce((total, h, j) => total + weights[j] * h[k], 0));
      const y = row(parameters.target_embedding.weight, token);
      z = gru(parameters.decoder, "", joined(y, context), z);
      const scores = linear(parameters.output, joined(z, context));
      token = scores.indexOf(Math.max(...scores));
      yield { token, weights };
    }
  }

  // both models, from their weights
  const models = () => ({
    one_vector: { parameters: load(attnbook.pair.one_vector), looks: false },
    looking_back: { parameters: load(attnbook.pair.looking_back), looks: true },
  });

  return { models, prefill, greedySearch };
};
