// The fields that every way of making a voice has: its name, its language, and the consent.

import { get } from "./api.js";
import { el, field, fill, freshId } from "./dom.js";
import { toast } from "./notices.js";
import { isSpeakable, speakWithNew } from "./voice_api.js";
import { dateOf, languageName, t } from "./words.js";

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
  const words = el("textarea", { rows: "3", on: { input: judge } });
  const place = el("div", { class: "consent-words", hidden: true });
  const written = { own: t("consent.own_words"), other: "" };
  let now = "";
  const choice = (whose) => el("label", { class: "choice" },
    el("input", { type: "radio", name: group, value: whose, required: true, on: { change: () => chosen(whose) } }),
    el("span", {}, t(`consent.${whose}`)));
  function chosen(whose) {
    if (now) written[now] = words.value;
    now = whose;
    place.hidden = false;
    words.required = true;  // not while it is hidden: nobody could be led to it
    words.value = written[whose];
    words.placeholder = t(`consent.${whose}_example`, { date: dateOf(new Date(), { dateStyle: "long" }) });
    fill(place, field(t(`consent.${whose}_asks`), words, t("consent.help")));
    judge();
    if (whose === "other") words.focus();
  }
  function judge() {
    words.setCustomValidity(words.value.trim() ? "" : t(`consent.${now}_asks`));
  }
  const node = el("fieldset", { class: "consent" },
    el("legend", {}, t("consent.title")),
    choice("own"), choice("other"), place);
  return { node, text: () => (place.hidden ? "" : words.value.trim()) };
}

/** Nothing; the person is told that a voice is kept, and led to Speak where it can speak already. */
export function tellKept(voice, go) {
  const speak = { text: t("card.speak"), run: async () => go(await speakWithNew(voice)) };
  if (isSpeakable(voice)) toast(t("add.saved", { name: voice.label }), { action: speak });
  else toast(t("add.saved_only", { name: voice.label }));
}
