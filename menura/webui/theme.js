// Runs before the first paint, so that a chosen theme does not flash in the other one's colours.
// Not a module: modules run later.
try {
  const theme = localStorage.getItem("menura.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // A browser that keeps nothing shows its own theme.
}
