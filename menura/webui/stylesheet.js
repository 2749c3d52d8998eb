// A screen's own stylesheet, fetched with the screen.

import { el } from "./dom.js";

/** Nothing, when the sheets `/static/NAME.css` hold for the page; each is fetched once. */
export function stylesheets(...names) {
  return Promise.all(names.map((name) => {
    const href = `/static/${name}.css`;
    if (document.head.querySelector(`link[href="${href}"]`)) return null;
    const sheet = el("link", { rel: "stylesheet", href });
    const there = new Promise((resolve) => {
      sheet.addEventListener("load", resolve);
      sheet.addEventListener("error", resolve);
    });
    document.head.append(sheet);
    return there;
  }));
}
