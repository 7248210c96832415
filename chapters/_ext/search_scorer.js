// How search orders the pages that it has found. Sphinx puts this file before its own code, which
// then takes the numbers from here. A page ranks by the words of the query that its title has, or
// one of its headings, or a term of the glossary that it explains. Chapters come before what only
// lists or supplements them.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,

  score([page, , , , score]) {
    Scorer.pages ??= Scorer.rank(new URLSearchParams(location.search).get("q") ?? "");
    return 1000 * Scorer.pages.get(page) + score; // Sphinx's own score orders places of a page
  },

  // How well each page fits a query, by its name.
  rank(query) {
    const asked = Scorer.words(query);
    const { docnames, titles, alltitles } = Search._index;
    const fits = docnames.map(() => 0);
    for (const [heading, places] of Object.entries(alltitles)) {
      const words = Scorer.words(heading);
      const found = [...asked].filter((word) => words.has(word)).length;
      if (!found) continue;
      const fit = found / asked.size - 0.1 * (1 - found / words.size); // short headings fit better
      for (const [page] of places)
        fits[page] = Math.max(fits[page], titles[page] === heading ? fit : 0.8 * fit);
    }
    return new Map(docnames.map((page, i) => [page, fits[i] + Scorer.bonus(page)]));
  },

  words(text) {
    const stemmer = new Stemmer();
    const asking = /^(why|what|which|who|how|when|does|do)$/;
    const words = splitQuery(text.toLowerCase().replaceAll("√", " sqrt "));
    const named = words.filter((word) => !stopwords.includes(word) && !asking.test(word));
    return new Set(named.map((word) => stemmer.stemWord(word)));
  },

  bonus(page) {
    if (/\/lab\/|\/(experiments|laboratory|questions|teaching)$/.test(page)) return 0;
    if (/\/00-/.test(page)) return 0.35; // what is attention?
    return /\/\d\d-/.test(page) ? 0.3 : 0.1;
  },
};
