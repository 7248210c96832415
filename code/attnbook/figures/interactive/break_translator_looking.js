// Of the breakable translator: where each head looked, and the score behind each weight.
attnbook.looking ??= ({ element, range, fixed }, Figure) => {
  const T = attnbook.translator;

  return class extends Figure {
    buildView() {
      this.views = Object.entries({ cross: "at the English words", decoder: "at the French so far" })
        .map(([place, text]) => element("button", { type: "button", onclick: () => {
          this.place = place;
          if (this.picked.side === "source") this.place = "encoder"; // it has this view alone
          this.open = null;
          this.draw();
        } }, text));
      this.asked = element("p", { class: "title" });
      this.heads = element("table", { class: "heads" });
      this.product = element("div", { class: "product" });
      this.stage.append(this.asked, element("div", { class: "row" }, ...this.views),
        element("div", { class: "look" }, this.heads, this.product), this.said);
    }

    // where each head looked, when the picked token was read or written
    get maps() {
      return this.place === "encoder" ? this.encoded.maps[0]
        : this.written[this.picked.index].maps[0][this.place];
    }

    // the weights of the place and the heads that switches take away
    removed() {
      return this.switches[`${this.place}_weights`] === "off" ? range(this.data.heads)
        : this.switches[`${this.place}_heads_off`] ?? [];
    }

    // the tokens that stand there; of its own words the last ones may have been written later
    keys() {
      if (this.place !== "decoder") return this.source.map((t) => this.nameOf(0, t));
      return this.target.map((t) => this.nameOf(1, t));
    }

    asking() {
      const { side, index } = this.picked;
      if (side === "source") return this.nameOf(0, this.source[index]);
      return this.nameOf(1, this.written[index].token);
    }

    showHeads() {
      const { index } = this.picked;
      const heads = this.maps;
      const removed = this.removed();
      const keys = this.keys();
      this.asked.textContent = this.place === "encoder"
        ? `When the encoder reads “${this.asking()}”, each head looks`
        : `When the decoder writes “${this.asking()}”, each head looks`;
      this.views.forEach((view, i) => {
        view.hidden = i === 1 && this.place === "encoder";
        view.setAttribute("aria-pressed", (i === 1) === (this.place === "decoder"));
      });
      this.heads.replaceChildren(
        element("thead", {}, element("tr", {}, element("td"), ...heads.map((_, head) =>
          element("th", { scope: "col" }, `head ${head + 1}`)))),
        element("tbody", {}, ...keys.map((key, j) => element("tr", {},
          element("th", { scope: "row", title: key }, key),
          ...heads.map(({ weights }, head) => {
            const weight = T.row(weights, index)[j]; // none, if it was written later
            const pressed = this.open?.head === head && this.open?.key === j;
            const later = weight === undefined;
            return element("td", { class: later ? "later" : removed.includes(head) ? "removed" : null },
              element("button", { type: "button", "aria-pressed": pressed,
                "aria-label": `head ${head + 1}, ${key}: ${later ? "not written yet" : fixed(weight)}`,
                style: `--share: ${weight}`, onclick: () => this.openScore(head, j) },
              later ? "–" : fixed(weight)));
          })))));
    }

    openScore(head, key) {
      const same = this.open?.head === head && this.open?.key === key;
      this.open = same ? null : { head, key };
      this.draw();
      // if it was still writing, another number may have fewer tokens
      this.heads.querySelectorAll("tbody tr")[key]?.querySelectorAll("button")[head].focus();
    }

    // q · k, feature by feature
    showProduct() {
      if (!this.open) {
        this.product.replaceChildren(element("p", { class: "note" },
          "Press a weight to see the score behind it, or press an English or French token to see " +
          "where each head looks for it."));
        return;
      }
      const { head, key: j } = this.open;
      const { index } = this.picked;
      const found = this.maps[head];
      this.product.classList.add("opened"); // from now on it keeps its height
      if (j >= found.weights.columns) {
        this.product.replaceChildren(element("p", {}, `“${this.keys()[j]}” had not been written yet when ` +
          `“${this.asking()}” was chosen, so head ${head + 1} has no score and no weight for ` +
          `“${this.keys()[j]}”. In training, the decoder gets the whole sentence, and the causal mask ` +
          "hides the later words."));
        return;
      }
      const [query, key] = [T.row(found.query, index), T.row(found.key, j)];
      const [dots, scores, weights] = [found.dots, found.scores, found.weights].map((m) =>
        T.row(m, index)[j]);
      const square = Math.round(found.divisor ** 2);
      const root = square === 1 ? "1" : `√${square} = ${fixed(found.divisor)}`;
      const line = (kind, name, numbers) => element("tr", { class: kind },
        element("th", { scope: "row" }, name),
        ...Array.from(numbers, (number) => element("td", {}, fixed(number, 1))));
      this.product.replaceChildren(
        element("p", {}, element("span", { class: "query" },
          `query for ${this.picked.side === "source" ? "reading" : "writing"} “${this.asking()}”`), " · ",
          element("span", { class: "key" }, `key of “${this.keys()[j]}”`), `, head ${head + 1}:`),
        element("table", {}, element("tbody", {}, line("query", "q", query), line("key", "k", key),
          line("", "q × k", query.map((number, i) => number * key[i])))),
        element("p", {}, `Before rounding, the products add up to ${fixed(dots)}; dividing by ` +
          `${root} gives the score ${fixed(scores)}. `,
        element("span", { class: "weights" }, this.after(weights, head))));
    }

    // what becomes of a score
    after(weight, head) {
      const change = this.switches[`${this.place}_weights`];
      if (change === "off") return "Attention is off here, so the score is not used.";
      if (change) return `A switch sets the weight to ${fixed(weight)}, whatever the score is.`;
      return `Softmax over all scores turns it into the weight ${fixed(weight)}.` +
        (this.switches[`${this.place}_heads_off`]?.includes(head) ? " This head is removed." : "");
    }

    // where each head looked, in a sentence
    looks(index) {
      const removed = this.removed();
      const keys = this.keys();
      const words = this.place === "decoder" ? "French words so far" : "English words";
      if (removed.length === this.data.heads) return `Attention to the ${words} is switched off.`;
      const looks = this.maps.map(({ weights }, head) => {
        const shares = Array.from(T.row(weights, index));
        const most = shares.indexOf(Math.max(...shares));
        // with a hyphen at which no line ends
        return [shares[most], `${keys[most].replace("-", "\u2011")} (${fixed(shares[most])})`, head];
      }).filter(([,, head]) => !removed.includes(head)).sort(([a], [b]) => b - a);
      const from = this.place === "encoder" ? `For “${this.asking()}”` : `Of the ${words}`;
      const seen = this.switches[`${this.place}_weights`] === "uniform"
        ? `Here, each head looked equally at all ${words}.`
        : `${from}, ${looks.map(([, text, head], i) =>
          `head ${head + 1} ${i ? "" : "looked most "}at ${text}`).join(", ")}.`;
      return [seen, ...removed.map((head) => `Head ${head + 1} is off.`)].join(" ");
    }
  };
};
