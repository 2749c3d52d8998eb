// The frame around the screens: the mark, the ways to them, language, theme, signing out.

import { button, el, icon } from "./dom.js";
import { recall, remember } from "./memory.js";
import { choose, language, t } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";
const THEMES = { auto: "contrast", light: "sun", dark: "moon" };

/** The screens in the order of the navigation: name, module, the scope that one needs. */
export const SCREENS = [
  { name: "speak", scope: "speak" },
  { name: "voices", scope: "speak" },
  { name: "models", scope: "speak" },
  { name: "history", scope: null },
  { name: "status", scope: "admin" },
];

/** The lyrebird's mark: two tail feathers that bend outward, as a lyre does, and a sound between. */
export function mark(size = 28) {
  const svg = document.createElementNS(SVG, "svg");
  const facts = {
    viewBox: "0 0 32 32",
    width: size,
    height: size,
    class: "mark",
    "aria-hidden": "true",
  };
  for (const [key, value] of Object.entries(facts)) svg.setAttribute(key, value);
  for (const line of [
    "M7.5 4.500c-5 6 4 9.5 4.5 17",
    "M24.5 4.500c5 6-4 9.5-4.5 17",
    "M16 8v16",
    "M12 24.500c2.5 3.3 5.5 3.3 8 0",
  ]) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", line);
    svg.append(path);
  }
  return svg;
}

/**
 * The shell's nodes: { root, screen, dock, show(name) }. `rebuild` builds the page anew after a
 * change of language, `signOut` is null where nobody signs in.
 */
export function buildShell({ can, rebuild, signOut }) {
  const links = new Map();
  const nav = el(
    "nav",
    { class: "nav", "aria-label": t("nav.label") },
    el(
      "ul",
      {},
      SCREENS.filter(({ scope }) => !scope || can(scope)).map(({ name }) => {
        const link = el(
          "a",
          { href: `#/${name}`, id: `nav-${name}` },
          icon(name, 22),
          el("span", {}, t(`nav.${name}`)),
        );
        links.set(name, link);
        return el("li", {}, link);
      }),
    ),
  );
  const screen = el("main", { class: "screen", id: "screen", tabindex: "-1" });
  const dock = el("div", { class: "dock-place", id: "dock-place" });
  const skip = el(
    "a",
    {
      class: "skip",
      href: "#screen",
      id: "skip",
      on: {
        click: (event) => {
          event.preventDefault();
          screen.focus();
        },
      }, // the hash is the router's
    },
    t("skip"),
  );
  const root = [
    skip,
    el(
      "header",
      { class: "rail" },
      el("a", { class: "brand", href: "#/speak" }, mark(), el("span", {}, "Menura")),
      nav,
      el(
        "div",
        { class: "rail-foot" },
        languageSwitch(rebuild),
        themeSwitch(),
        signOut &&
          button("", signOut, {
            kind: "quiet",
            icon: "leave",
            label: t("sign_out"),
            id: "sign-out",
          }),
      ),
    ),
    screen,
    dock,
  ];
  function show(name) {
    for (const [of, link] of links) {
      if (of === name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }
  return { root, screen, dock, show };
}

/** A button that changes the page's language; `rebuild` builds it anew. */
export function languageSwitch(rebuild) {
  const other = language() === "en" ? "zh" : "en";
  return el(
    "button",
    {
      type: "button",
      class: "button quiet language",
      id: "language-switch",
      lang: other === "zh" ? "zh-Hans" : "en",
      on: {
        click: () => {
          choose(other);
          rebuild(other);
        },
      },
    },
    el("span", {}, other === "zh" ? "中文" : "English"),
  );
}

/** A button that changes the page's theme. */
export function themeSwitch() {
  const names = Object.keys(THEMES);
  const control = button("", next, {
    kind: "quiet",
    icon: "sun",
    label: "theme",
    id: "theme-switch",
  });
  function draw() {
    const now = recall("menura.theme") ?? "auto";
    const label = t("theme.label", { name: t(`theme.${now}`) });
    control.replaceChildren(icon(THEMES[now] ?? "contrast"));
    control.setAttribute("aria-label", label);
    control.title = label;
  }
  function next() {
    const now = recall("menura.theme") ?? "auto";
    const then = names[(names.indexOf(now) + 1) % names.length];
    if (then === "auto") {
      remember("menura.theme", null);
      delete document.documentElement.dataset.theme;
    } else {
      remember("menura.theme", then);
      document.documentElement.dataset.theme = then;
    }
    draw();
    window.dispatchEvent(new CustomEvent("menura:theme"));
  }
  draw();
  return control;
}
