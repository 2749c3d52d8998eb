// The fields that every way of making a voice has: its name, its language, and the consent.

import { get } from "./api.js";
import { el, freshId } from "./dom.js";
import { languageName, t } from "./words.js";

/** A select with the languages of the served models; `chosen` may be one that none of them has. */
export async function languageSelect(chosen, signal) {
  const { data } = await get("/v1/models", { signal });
  const names = new Set(data.flatMap((model) => model.menura.languages));
  if (chosen && ![...names].some((name) => languageName(name) === languageName(chosen))) names.add(chosen);
  const sorted = [...names].sort((a, b) => languageName(a).localeCompare(languageName(b)));
  const same = (name) => chosen && languageName(name) === languageName(chosen);
  return el("select", {},
    el("option", { value: "" }, t("field.language_unknown")),
    sorted.map((name) => el("option", { value: same(name) ? chosen : name, selected: same(name) }, languageName(name))));
}

/**
 * Whose voice it is, and the words of the consent, which are the person's own to change. `node`,
 * and `text()`: the consent, "" where none was given.
 */
export function consentFields() {
  const group = freshId("consent");
  const words = el("textarea", { rows: "2", "aria-label": t("consent.words") });
  const place = el("div", { class: "consent-words", hidden: true }, words);
  const choice = (whose) => el("label", { class: "choice" },
    el("input", { type: "radio", name: group, value: whose, required: true, on: { change: () => chosen(whose) } }),
    el("span", {}, t(`consent.${whose}`)));
  function chosen(whose) {
    place.hidden = false;
    words.required = true;  // not while it is hidden: nobody could be led to it
    words.value = t(`consent.${whose}_words`);
    if (whose === "other") words.focus();
  }
  const node = el("fieldset", { class: "consent" },
    el("legend", {}, t("consent.title")),
    choice("own"), choice("other"), place,
    el("p", { class: "help" }, t("consent.help")));
  return { node, text: () => (place.hidden ? "" : words.value.trim()) };
}
