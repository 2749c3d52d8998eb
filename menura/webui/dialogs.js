// Dialogs are the browser's own <dialog>: the focus stays inside, Escape closes, and the element
// that opened one gets the focus back.

import { button, el, freshId } from "./dom.js";
import { t } from "./words.js";

/**
 * A dialog that is open: { element, close(value), closed }, where `closed` resolves to the value
 * (undefined for Escape). `content` are nodes, `actions` are buttons for its foot.
 */
export function openDialog({ title, content = [], actions = [], wide = false, id = null }) {
  const titleId = freshId("dialog");
  const before = document.activeElement;
  const element = el(
    "dialog",
    { class: wide ? "dialog wide" : "dialog", "aria-labelledby": titleId, id },
    el(
      "header",
      { class: "dialog-head" },
      el("h2", { id: titleId }, title),
      button("", () => close(), { kind: "quiet", icon: "close", label: t("dialog.close") }),
    ),
    el("div", { class: "dialog-body" }, content),
    actions.length > 0 && el("footer", { class: "dialog-foot" }, actions),
  );
  let result;
  const closed = new Promise((resolve) => {
    element.addEventListener("close", () => {
      element.remove();
      if (before?.isConnected) before.focus();
      resolve(result);
    });
  });
  function close(value) {
    result = value;
    element.close();
  }
  element.addEventListener("click", (event) => {
    if (event.target === element) close(); // the ground behind it
  });
  document.body.append(element);
  element.showModal();
  return { element, close, closed };
}

/** Whether a person said yes. `danger` colours the button of a deed that cannot be undone. */
export async function confirmDialog({ title, text, confirm, danger = false }) {
  const dialog = openDialog({
    title,
    content: el("p", {}, text),
    actions: [
      button(t("dialog.cancel"), () => dialog.close(false), { kind: "plain" }),
      button(confirm, () => dialog.close(true), {
        kind: danger ? "danger" : "primary",
        id: "confirm",
      }),
    ],
  });
  return (await dialog.closed) === true;
}
