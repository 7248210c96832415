// Paper is white: a dark page is printed as a light one.
const { dataset } = document.documentElement;
addEventListener("beforeprint", () => {
  dataset.onScreen = dataset.theme;
  dataset.theme = "light";
});
addEventListener("afterprint", () => {
  dataset.theme = dataset.onScreen;
});

// What unfolds, unfolds with Enter: also long code, which a checkbox folds.
addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.matches?.("input.fold")) event.target.click();
});
