// Which models can speak with a voice: a badge for each model, and the reasons below it.

import { el, icon } from "./dom.js";
import { t } from "./words.js";

/** The badges of a voice, with what each model says of it in a part that opens. */
export function fitBadges({ fits, label }) {
  if (!fits.length) return el("p", { class: "help" }, t("fit.no_models"));
  return el("details", { class: "fits" },
    el("summary", { "aria-label": t("fit.of", { name: label }) },
      fits.filter(couldClone).map(badge), others(fits.filter((fit) => !couldClone(fit)).length)),
    el("dl", {}, fits.map((fit) => el("div", {},
      el("dt", {}, fit.model),
      el("dd", {}, fit.says, fit.better && el("span", { class: "better" }, " ", fit.better))))));
}

/** What a fit is, in one word: it speaks well, it speaks and could do better, it cannot. */
export const gradeOf = (fit) => {
  if (!fit.usable) return "unfit";
  return fit.missing.length ? "could_be_better" : "fit";
};

// A model with voices of its own says nothing about this voice: such models are only counted.
const couldClone = (fit) => !fit.missing.includes("model_cannot_clone");
const others = (n) => n > 0 && el("span", { class: "badge unfit" }, t("fit.others", { n }));

const MARKS = { fit: "check", could_be_better: "check", unfit: "close" };

function badge(fit) {
  const grade = gradeOf(fit);
  return el("span", { class: `badge ${grade}` },
    icon(MARKS[grade], 14), fit.model,
    el("span", { class: "unseen" }, `: ${t(`fit.${grade}`)}`),
    fit.missing.length > 0 && el("span", { class: "missing" }, fit.missing.map((need) => t(`need.${need}`)).join(", ")));
}
