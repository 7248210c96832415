// The package's translator of numbers, to be read and to be run in a page. Each function computes
// what that of the same name in attnbook does, attentionWeights what attnbook.interventions does.
//
// A matrix is { rows, columns, data }: its numbers stand in one typed array, row after row. A token
// is a row. `switches` are those of attnbook.interventions.broken, by the same names: {} for none.
window.attnbook.translator ??= (() => {
  const matrix = (rows, columns, data = new Float32Array(rows * columns)) =>
    ({ rows, columns, data });
  const row = ({ columns, data }, i) => data.subarray(i * columns, (i + 1) * columns);

  // ------------------------------------------------------------------ arithmetic

  // x Wᵀ + b: a row of the weight, and a number of the bias, for each feature that comes out. Nearly
  // all time is spent here, so the innermost loop makes no views of rows.
  function linear(x, { weight, bias }) {
    const y = matrix(x.rows, weight.rows);
    const size = x.columns;
    for (let i = 0; i < x.rows; i++)
      for (let j = 0; j < weight.rows; j++) {
        let total = bias ? bias.data[j] : 0;
        for (let k = 0; k < size; k++)
          total += x.data[i * size + k] * weight.data[j * size + k];
        y.data[i * y.columns + j] = total;
      }
    return y;
  }

  const add = (x, y) =>
    matrix(x.rows, x.columns, x.data.map((number, i) => number + y.data[i]));
  const zeros = (x) => matrix(x.rows, x.columns);

  // each row to mean 0 and variance 1, then its learned scale and shift
  function layerNorm(x, { weight, bias }) {
    const y = zeros(x);
    for (let i = 0; i < x.rows; i++) {
      const [numbers, normed] = [row(x, i), row(y, i)];
      let [mean, variance] = [0, 0];
      for (const number of numbers) mean += number / x.columns;
      for (const number of numbers) variance += (number - mean) ** 2 / x.columns;
      const size = Math.sqrt(variance + 1e-5);
      for (let j = 0; j < x.columns; j++)
        normed[j] = (numbers[j] - mean) / size * weight.data[j] + bias.data[j];
    }
    return y;
  }

  // ------------------------------------------------------------------ attention.py

  // q · k for each query and each key
  const dotScores = (query, key) => linear(query, { weight: key });

  // each row to weights that sum to 1 over the keys that allowed(i, j); none allowed: zeros
  function maskedSoftmax(scores, allowed) {
    const weights = zeros(scores);
    for (let i = 0; i < scores.rows; i++) {
      const [given, parts] = [row(scores, i), row(weights, i)];
      let [largest, total] = [-Infinity, 0];
      for (let j = 0; j < given.length; j++)
        if (allowed(i, j)) largest = Math.max(largest, given[j]);
      for (let j = 0; j < given.length; j++)
        if (allowed(i, j)) total += parts[j] = Math.exp(given[j] - largest);
      for (let j = 0; j < given.length; j++) if (total) parts[j] /= total;
    }
    return weights;
  }

  const everywhere = () => true;
  const causal = (i, j) => j <= i; // a token sees itself and what came before it

  // softmax(Q Kᵀ / divisor) V
  function attention(query, key, value, { allowed, divisor, change }) {
    const dots = dotScores(query, key);
    const scores = matrix(dots.rows, dots.columns, dots.data.map((number) => number / divisor));
    const learned = maskedSoftmax(scores, allowed);
    const weights = attentionWeights(learned, allowed, change);
    const output = matrix(query.rows, value.columns);
    for (let i = 0; i < query.rows; i++)
      for (let j = 0; j < key.rows; j++) {
        const [mixed, weight, from] = [row(output, i), row(weights, i)[j], row(value, j)];
        for (let k = 0; k < mixed.length; k++) mixed[k] += weight * from[k];
      }
    return { query, key, value, dots, divisor, scores, weights, output };
  }

  // ------------------------------------------------------------------ interventions.py

  // what stands in the place of the learned weights: equal ones
  function attentionWeights(learned, allowed, change) {
    if (change !== "uniform") return learned;
    const weights = zeros(learned);
    for (let i = 0; i < learned.rows; i++) {
      const parts = row(weights, i);
      let count = 0;
      for (let j = 0; j < parts.length; j++) count += allowed(i, j);
      for (let j = 0; j < parts.length; j++)
        parts[j] = allowed(i, j) ? 1 / count : 0;
    }
    return weights;
  }

  // none of the first sixteen positions keeps its place
  const SHUFFLED = [5, 2, 7, 0, 6, 1, 3, 4, 13, 10, 15, 8, 14, 9, 11, 12];

  const divisorOf = (switches, dK, dModel) =>
    ({ "off": 1, "sqrt(d_model)": Math.sqrt(dModel) })[switches.divisor] ?? Math.sqrt(dK);

  // ------------------------------------------------------------------ multihead.py

  // columns of one head
  function split(x, head, dK) {
    const part = matrix(x.rows, dK);
    for (let i = 0; i < x.rows; i++)
      part.data.set(row(x, i).subarray(head * dK, (head + 1) * dK), i * dK);
    return part;
  }

  // place is "encoder", "decoder" or "cross": the switches of each are its own
  function multiHeadAttention(layer, x, memory, { place, numHeads, allowed, switches }) {
    const [query, key, value] = [
      linear(x, layer.q_proj), linear(memory, layer.k_proj), linear(memory, layer.v_proj)];
    const dK = x.columns / numHeads;
    const heads = [];
    const merged = matrix(x.rows, x.columns);
    for (let head = 0; head < numHeads; head++) {
      const found = attention(split(query, head, dK), split(key, head, dK), split(value, head, dK), {
        allowed, divisor: divisorOf(switches, dK, x.columns), change: switches[`${place}_weights`] });
      heads.push(found);
      if (switches[`${place}_heads_off`]?.includes(head)) continue;
      for (let i = 0; i < x.rows; i++) row(merged, i).set(row(found.output, i), head * dK);
    }
    const output = linear(merged, layer.out_proj);
    return { output: switches[`${place}_weights`] === "off" ? zeros(output) : output, heads };
  }

  // ------------------------------------------------------------------ blocks.py

  function feedForward(layer, x, switches) {
    if (switches.feed_forward === "off") return zeros(x);
    const wide = linear(x, layer.up_proj);
    wide.data = wide.data.map((number) => Math.max(number, 0));
    return linear(wide, layer.down_proj);
  }

  // what surrounds a sub-layer: a norm before it, and the addition after it
  const before = (x, { norm }, switches) => (switches.norm === "off" ? x : layerNorm(x, norm));
  const after = (x, update, switches) => (switches.residual === "off" ? update : add(x, update));

  function encoderBlock(block, x, { numHeads, switches }) {
    const read = before(x, block.attention_residual, switches);
    const { output, heads } = multiHeadAttention(block.self_attention, read, read, {
      place: "encoder", numHeads, allowed: everywhere, switches });
    x = after(x, output, switches);
    const update = feedForward(block.feed_forward,
      before(x, block.feed_forward_residual, switches), switches);
    return { x: after(x, update, switches), heads };
  }

  function decoderBlock(block, x, memory, { numHeads, switches }) {
    const read = before(x, block.self_attention_residual, switches);
    const itself = multiHeadAttention(block.self_attention, read, read, { place: "decoder", numHeads,
      allowed: switches.causal_mask === "off" ? everywhere : causal, switches });
    x = after(x, itself.output, switches);
    const cross = multiHeadAttention(block.cross_attention,
      before(x, block.cross_attention_residual, switches), memory, {
        place: "cross", numHeads, allowed: everywhere, switches });
    x = after(x, cross.output, switches);
    const update = feedForward(block.feed_forward,
      before(x, block.feed_forward_residual, switches), switches);
    return { x: after(x, update, switches), decoder: itself.heads, cross: cross.heads };
  }

  // ------------------------------------------------------------------ positions.py

  // features 2i and 2i + 1 are the sine and the cosine of p · 10000^(-2i / d_model)
  function sinusoidalPosition(p, dModel) {
    return Float32Array.from({ length: dModel }, (_, j) => {
      const angle = p * 10000 ** -((j - j % 2) / dModel);
      return j % 2 ? Math.cos(angle) : Math.sin(angle);
    });
  }

  // side is "source" or "target"
  function tokenEmbedding({ token: table }, tokens, side, switches) {
    const dModel = table.weight.columns;
    const x = matrix(tokens.length, dModel);
    tokens.forEach((token, place) => {
      const change = switches[`${side}_positions`];
      const p = change === "shuffled" ? SHUFFLED[place] ?? place : place;
      const wave = change === "off" ? new Float32Array(dModel) : sinusoidalPosition(p, dModel);
      for (let j = 0; j < dModel; j++)
        row(x, place)[j] = row(table.weight, token)[j] * Math.sqrt(dModel) + wave[j];
    });
    return x;
  }

  // ------------------------------------------------------------------ transformer.py

  const lastNorm = (x, norm, switches) => (switches.norm === "off" ? x : layerNorm(x, norm));

  // read the source: its vectors, and where each head of each block looked
  function encode({ parameters, numHeads }, source, switches) {
    let x = tokenEmbedding(parameters.source_embedding, source, "source", switches);
    const maps = Object.values(parameters.encoder).map((block) => {
      const found = encoderBlock(block, x, { numHeads, switches });
      x = found.x;
      return found.heads;
    });
    return { memory: lastNorm(x, parameters.encoder_norm, switches), maps };
  }

  // score every possible next token at each position of the target
  function decode({ parameters, numHeads }, target, memory, switches) {
    let x = tokenEmbedding(parameters.target_embedding, target, "target", switches);
    const maps = Object.values(parameters.decoder).map((block) => {
      const found = decoderBlock(block, x, memory, { numHeads, switches });
      x = found.x;
      return { decoder: found.decoder, cross: found.cross };
    });
    const hidden = lastNorm(x, parameters.decoder_norm, switches);
    return { logits: linear(hidden, parameters.output), maps };
  }

  // ------------------------------------------------------------------ decoding.py

  const [PADDING, START, END, UNKNOWN] = [0, 1, 2, 3];

  // Yields each token that is written, the likeliest at each step, with the probability of each token
  // there is and with where each head of each block looked then. The target is read anew for each: there is no cache.
  function* greedySearch(model, source, { maxLength, switches }) {
    const { memory } = encode(model, source, switches);
    const target = [START];
    while (target.length <= maxLength) {
      const { logits, maps } = decode(model, target, memory, switches);
      const last = matrix(1, logits.columns, row(logits, logits.rows - 1));
      const token = last.data.indexOf(Math.max(...last.data));
      yield { token, probabilities: maskedSoftmax(last, everywhere).data, maps };
      if (token === END) return;
      target.push(token);
    }
  }

  // ------------------------------------------------------------------ data.py

  const ENGLISH = ("zero one two three four five six seven eight nine ten eleven twelve thirteen " +
    "fourteen fifteen sixteen seventeen eighteen nineteen").split(" ");
  const ENGLISH_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
  const FRENCH = ("zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze " +
    "quinze seize dix-sept dix-huit dix-neuf").split(" ");
  const FRENCH_TENS = ["vingt", "trente", "quarante", "cinquante", "soixante", "soixante",
    "quatre-vingt", "quatre-vingt"];

  // a number below a million in words: four hundred eighty-one
  function spell(number) {
    if (number < 20) return ENGLISH[number];
    if (number < 100)
      return ENGLISH_TENS[Math.floor(number / 10) - 2] +
        (number % 10 ? `-${ENGLISH[number % 10]}` : "");
    const [unit, name] = number < 1000 ? [100, "hundred"] : [1000, "thousand"];
    const rest = number % unit;
    return `${spell(Math.floor(number / unit))} ${name}` + (rest ? ` ${spell(rest)}` : "");
  }

  // one below a million: quatre cent quatre-vingt-un; `last` is false before mille, where
  // cents and quatre-vingts lose their s
  function spellFrench(number, last = true) {
    if (number < 20) return FRENCH[number];
    if (number < 100) {
      const ten = Math.floor(number / 10);
      const word = FRENCH_TENS[ten - 2];
      const rest = ten === 7 || ten === 9 ? number % 20 : number % 10;
      if (number === 80) return last ? "quatre-vingts" : word;
      if (!rest) return word;
      return word + (number < 80 && rest % 10 === 1 ? " et " : "-") + FRENCH[rest];
    }
    const [unit, name] = number < 1000 ? [100, "cent"] : [1000, "mille"];
    const [count, rest] = [Math.floor(number / unit), number % unit];
    const s = unit === 100 && count > 1 && !rest && last ? "s" : "";
    return (count > 1 ? `${spellFrench(count, false)} ` : "") + name + s +
      (rest ? ` ${spellFrench(rest, last)}` : "");
  }

  // the number below a million that French words say, or null if it is not spelt so
  function numberOfFrench(words) {
    let [total, group] = [0, 0];
    for (const word of words.split(/[ -]/)) {
      if (word === "mille") [total, group] = [1000 * (group || 1), 0];
      else if (/^cents?$/.test(word)) group = 100 * (group || 1);
      else if (/^vingts?$/.test(word) && group % 100 === 4) group += 76; // four twenties
      else if (FRENCH.includes(word)) group += FRENCH.indexOf(word);
      else if (word !== "et") group += 10 * (FRENCH_TENS.indexOf(word) + 2);
    }
    const number = total + group;
    return number < 1e6 && spellFrench(number) === words ? number : null;
  }

  // a text cut into tokens: what a hyphen joins to the word before begins with it
  const tokensOf = (text) => text.split(" ").flatMap((word) => word.split(/(?=-)/));
  const join = (tokens) => tokens.join(" ").replaceAll(" -", "-");

  // ------------------------------------------------------------------ the weights

  const bytesOf = (base64) =>
    Int8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

  // A weight is a whole number of 8 bits, times a power of two that its row shares. Gives the
  // parameters by the parts of their names: parameters.encoder[0].self_attention.q_proj.weight
  function load({ shapes, numbers, powers }) {
    const parameters = {};
    const [whole, exponents] = [bytesOf(numbers), bytesOf(powers)];
    let [at, rowAt] = [0, 0];
    for (const [name, rows, columns] of shapes) {
      const data = new Float32Array(rows * columns);
      for (let i = 0; i < rows; i++) {
        const power = 2 ** exponents[rowAt++];
        for (let j = 0; j < columns; j++) data[i * columns + j] = power * whole[at++];
      }
      const path = name.split(".");
      const last = path.pop();
      const owner = path.reduce((part, key) => (part[key] ??= {}), parameters);
      owner[last] = matrix(rows, columns, data);
    }
    return parameters;
  }

  return { load, encode, decode, greedySearch, linear, add, layerNorm, multiHeadAttention, tokenEmbedding,
    maskedSoftmax, everywhere, causal, row, spell, spellFrench, numberOfFrench, SHUFFLED, tokensOf, join, PADDING, START, END, UNKNOWN };
})();
