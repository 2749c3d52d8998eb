// Short messages: a toast that people see, an announcement that a screen reader says, and an error
// that stays where it belongs.

import { button, el, fill, icon } from "./dom.js";
import { isAbort, inWords } from "./api.js";
import { t } from "./words.js";

const SHOWN_MS = 5000;
const SHOWN_WITH_ACTION_MS = 9000;

/** A message at the edge of the page for a few seconds; `action` is { text, run }. Call what it gives to end it. */
export function toast(text, { action = null, kind = "" } = {}) {
  const note = el("div", { class: `toast ${kind}` }, el("span", {}, text));
  const leave = () => note.remove();
  if (action) {
    note.append(
      button(
        action.text,
        () => {
          leave();
          action.run();
        },
        { kind: "link" },
      ),
    );
  }
  document.getElementById("toasts").append(note);
  setTimeout(leave, action ? SHOWN_WITH_ACTION_MS : SHOWN_MS);
  return leave;
}

/** Nothing; a screen reader says the text when it has a moment. */
export function announce(text) {
  const place = document.getElementById("announcer");
  place.textContent = "";
  requestAnimationFrame(() => {
    place.textContent = text;
  });
}

/** A place for errors: `show(error or text)`, `clear()`; `element` has role=alert. */
export function errorPlace(id = null) {
  const element = el("div", { class: "error", role: "alert", hidden: true, id });
  return {
    element,
    show(error, ...more) {
      if (isAbort(error)) return;
      const text = typeof error === "string" ? error : inWords(error);
      element.hidden = false;
      fill(element, icon("warning", 18), el("div", {}, el("p", {}, text), more));
    },
    clear() {
      element.hidden = true;
      element.replaceChildren();
    },
  };
}

/** Nothing; the text is in the clipboard, or the person is told that it is not. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Outside a secure context there is no clipboard; the old way still works there.
    const area = el("textarea", { class: "unseen", value: text });
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) return toast(t("copy.failed"));
  }
  toast(t("copy.done"));
}
