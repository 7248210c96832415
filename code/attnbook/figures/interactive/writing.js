// The translator of numbers, ready to run, and how its figures draw tokens, looks and switches.
attnbook.writing ??= (Figure) => {
  const T = attnbook.translator;
  const EMPTY = "·"; // of padding, which fills texts up to one length and says nothing

  return class extends Figure {
    loadTranslator() {
      const { tokens, heads } = this.data;
      this.model = { parameters: T.load(attnbook.numbers.weights), numHeads: heads };
      this.known = tokens.map((side) => new Map(side.map((token, i) => [token, i])));
    }

    sourceOf(words) {
      return [...T.tokensOf(words).map((t) => this.known[0].get(t)), T.END];
    }

    // the tokens that are right
    wantedOf(number) {
      return [...T.tokensOf(T.spellFrench(number)).map((t) => this.known[1].get(t)), T.END];
    }

    // the classes of a token's chip; quatre-vingt-un is one word
    kindsOf(side, tokens, i, ...more) {
      const goesOn = (token) => token !== undefined && this.nameOf(side, token).startsWith("-");
      return ["chip", ...more, goesOn(tokens[i]) && "joined", goesOn(tokens[i + 1]) && "joins"]
        .filter(Boolean).join(" ");
    }

    nameOf(side, token) {
      return { [T.PADDING]: EMPTY, [T.START]: "⟨start⟩", [T.END]: "⟨end⟩" }[token]
        ?? this.data.tokens[side][token];
    }

    textOf(tokens) {
      return T.join(tokens.filter((t) => t !== T.END).map((t) => this.nameOf(1, t)));
    }
  };
};

attnbook.writing.LOOK ??= `
  .row { position: relative; display: flex; flex-wrap: wrap; justify-content: center;
    gap: var(--gap); --gap: .7rem; }
  .chip { position: relative; box-sizing: border-box; display: inline-flex; align-items: center;
    min-height: 2.2em; padding: 0 .7em; border-radius: .55em; border: 1.5px solid var(--chip);
    font: inherit; font-weight: 600; color: var(--chip);
    background: color-mix(in srgb, var(--chip) 6%, var(--paper)); }
  .english .chip { --chip: var(--key); }
  .french .chip { --chip: var(--query); cursor: pointer; }
  .chip.joins { border-start-end-radius: 0; border-end-end-radius: 0; }
  .chip.joined { margin-left: calc(-1 * var(--gap) - 1.5px);
    border-start-start-radius: 0; border-end-start-radius: 0; }
  .row .chip.end { --chip: var(--soft); font-weight: 400; border-style: dashed; cursor: auto; }
  .french .wrong { color: var(--paper); background: var(--wrong); border-color: var(--wrong); }
  .french .wrong.joined { border-left-color: var(--paper); }
  .french [aria-pressed="true"] { box-shadow: 0 0 0 3px var(--weights); }
  .looks { margin: 0 0 1.5rem; min-height: 1.4em; text-align: center; color: var(--weights);
    font-size: .95rem; }
  .looks b { color: var(--query); }
  .share { position: absolute; inset: auto -1rem calc(100% + .1rem); text-align: center;
    font-size: .85rem; font-weight: 600; font-variant-numeric: tabular-nums; color: var(--weights); }
  .look { fill: var(--weights); opacity: .15; }
  .look.on { opacity: .85; }
  .toggle { display: block; flex: none; box-sizing: border-box; width: 2.2rem; height: 1.25rem;
    border: 1.5px solid var(--knob, var(--soft)); border-radius: 1rem; }
  .toggle::after { content: ""; display: block; width: .75rem; height: .75rem; margin: .15rem;
    border-radius: 50%; background: var(--knob, var(--soft)); }
  [aria-checked="true"] > .toggle { background: var(--set); border-color: var(--set); }
  [aria-checked="true"] > .toggle::after { background: var(--paper);
    transform: translateX(.95rem); }
  .again { flex: none; min-height: 2rem; border-radius: 1rem; padding: .1rem .9rem;
    border-color: var(--line); font-size: .9rem; cursor: pointer; }
  .again:hover { border-color: var(--weights); background: var(--hover); }
  .spoken { position: absolute; width: 1px; height: 1px; min-height: 0; margin: 0; overflow: hidden;
    clip-path: inset(50%); }
  @media (prefers-reduced-motion: no-preference) {
    .chip { transition: background-color .25s, color .25s, border-color .25s; }
    .look { transition: opacity .3s; }
    .toggle::after { transition: transform .15s; }
  }
`;
