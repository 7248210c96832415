// Paper is white: a dark page is printed as a light one.
const { dataset } = document.documentElement;
addEventListener("beforeprint", () => {
  dataset.onScreen = dataset.theme;
  dataset.theme = "light";
});
addEventListener("afterprint", () => {
  dataset.theme = dataset.onScreen;
});
