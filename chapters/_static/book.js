// Paper is white: a dark page is printed as a light one.
const { dataset } = document.documentElement;
addEventListener("beforeprint", () => {
  dataset.onScreen = dataset.theme;
  dataset.theme = "light";
});
addEventListener("afterprint", () => {
  dataset.theme = dataset.onScreen;
});

// Code or a formula that is wider than its box is scrolled by keyboard, too, wherever it unfolds. It
// fades out at the right edge while there is more.
const fade = (code) =>
  code.classList.toggle("more", code.scrollWidth - code.scrollLeft > code.clientWidth + 2);
const measure = (code) => {
  code.tabIndex = code.scrollWidth > code.clientWidth ? 0 : -1;
  fade(code);
};
const widths = new ResizeObserver((boxes) => boxes.forEach(({ target }) => measure(target)));
addEventListener("DOMContentLoaded", () => {
  const all = document.querySelectorAll(".cell_input pre, div.math");
  for (const code of all) {
    widths.observe(code);
    code.addEventListener("scroll", () => fade(code), { passive: true });
  }
  // letters that come change what is in a box, but not the box
  document.fonts.addEventListener("loadingdone", () => all.forEach(measure));
});

// Results behind their predictions. A veil hides what answers a prediction until one predicts, asks
// to see it, comes there by a link or by searching the page, or prints. Where it hides a picture, a
// blurred one stands in its place. One switch shows all results on all pages. It is remembered,
// where the browser lets a page remember.
const ALWAYS = "attnbook-results";

function remembered() {
  try {
    return localStorage.getItem(ALWAYS) === "shown";
  } catch {
    return false; // some frames and settings allow no storage
  }
}

function remember(shown) {
  try {
    if (shown) localStorage.setItem(ALWAYS, "shown");
    else localStorage.removeItem(ALWAYS);
  } catch {
    // then it holds for this page alone
  }
}

class Veil extends HTMLElement {
  static always = remembered();

  // The parser has just read the start of the veil, nothing of it has been painted.
  connectedCallback() {
    if (this.box) return;
    this.seen = false; // by choice, not by the switch
    this.box = document.createElement("div");
    this.box.className = "veil-box";
    this.box.innerHTML = `
      <div class="glimpse" aria-hidden="true"></div>
      <button type="button">Show the result</button>
      <label><input type="checkbox"> Always show results</label>`;
    this.box.querySelector("button").addEventListener("click", () => {
      see(this.dataset.question);
      this.focus({ preventScroll: true }); // the button is gone
    });
    this.box.querySelector("input").addEventListener("change", ({ target }) => {
      remember((Veil.always = target.checked));
      keepInPlace(target, () => document.querySelectorAll("book-veil").forEach((v) => v.draw()));
    });
    this.before(this.box);
    this.addEventListener("beforematch", () => this.see());
    this.draw();
  }

  // once all of it has been read; the icon in a button to copy text is no picture
  glimpse() {
    const picture = this.querySelector(".cell_output :is(svg, img):not(button *)")?.cloneNode(true);
    if (!picture) return;
    picture.removeAttribute("aria-label");
    picture.setAttribute("role", "presentation");
    if (picture.tagName === "IMG") picture.alt = "";
    this.box.querySelector(".glimpse").append(picture);
  }

  see() {
    this.seen = true;
    this.draw();
  }

  draw() {
    const shown = this.seen || Veil.always;
    if (shown) this.removeAttribute("hidden");
    else this.setAttribute("hidden", "onbeforematch" in this ? "until-found" : "");
    this.box.classList.toggle("shown", shown);
    this.box.hidden = shown && !Veil.always; // the switch can be undone where it was found
    this.box.querySelector("input").checked = Veil.always;
  }
}

// All that answers one question.
function see(question) {
  for (const veil of document.querySelectorAll(`book-veil[data-question="${question}"]`))
    veil.see();
}

// What is shown or hidden above an element must not move it under the reader's finger.
function keepInPlace(element, change) {
  const top = () => element.getBoundingClientRect().top;
  const before = top();
  change();
  scrollBy({ top: top() - before, behavior: "instant" });
}

customElements.define("book-veil", Veil);
addEventListener("DOMContentLoaded", () => {
  for (const veil of document.querySelectorAll("book-veil")) veil.glimpse();
});

document.addEventListener("attnbook-predicted", ({ target }) => {
  const card = target.closest(".prediction");
  if (card) see(card.dataset.question);
});

// A link to a place behind a veil leads there.
function seeTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const veils = [];
  for (let veil = target?.closest("book-veil"); veil; veil = veil.parentNode.closest("book-veil"))
    veils.push(veil);
  veils.forEach((veil) => veil.see());
  if (veils.length) target.scrollIntoView();
}
addEventListener("hashchange", seeTarget);
addEventListener("DOMContentLoaded", seeTarget);
