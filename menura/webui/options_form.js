// A model's own options, and only those: each control comes from what the model declares. Only what
// differs from the model's default is sent.

import { el, field, freshId, icon } from "./dom.js";
import { has, t } from "./words.js";

const FIRST = 3; // so many are seen at once; the others wait under "More"
// What people reach for first, where a model has it.
const COMMON = ["temperature", "top_k", "top_p", "preset", "num_steps", "cfg_scale_text"];

/**
 * { element, values() }: a form for the options; `given` are values by name, `changed()` is called
 * after each change. `element` is empty where the model has none.
 */
export function optionsForm(options, given, changed) {
  const controls = inOrder(options).map((option) => controlOf(option, given[option.name], changed));
  const [first, more] = [controls.slice(0, FIRST), controls.slice(FIRST)];
  const element = el(
    "div",
    { class: "options" },
    first.map(({ element }) => element),
    more.length > 0 &&
      el(
        "details",
        { class: "more", open: more.some(({ value }) => value() !== undefined) },
        el("summary", {}, t("options.more", { n: more.length }), icon("chevron", 16)),
        more.map(({ element }) => element),
      ),
  );
  return {
    element,
    values: () =>
      Object.fromEntries(
        controls
          .map(({ name, value }) => [name, value()])
          .filter(([, value]) => value !== undefined),
      ),
  };
}

function inOrder(options) {
  const rank = ({ name }) => (COMMON.includes(name) ? COMMON.indexOf(name) : COMMON.length);
  return [...options].sort((a, b) => rank(a) - rank(b));
}

function controlOf(option, given, changed) {
  const isOpen = option.default === null; // the model decides, unless it is told
  const make =
    option.kind === "boolean"
      ? isOpen
        ? yesOrNoOf
        : checkOf
      : option.choices.length
        ? choiceOf
        : entryOf;
  return { name: option.name, ...make(option, given, changed) };
}

/** An option's name as people read it: top_k becomes "Top k". */
function nameOf({ name }) {
  if (has(`option.${name}`)) return t(`option.${name}`);
  const words = name.replaceAll("_", " ");
  return words[0].toUpperCase() + words.slice(1);
}

const helpOf = (option) =>
  has(`option_help.${option.name}`) ? t(`option_help.${option.name}`) : option.help;

function checkOf(option, given, changed) {
  const id = freshId("option");
  const box = el("input", {
    type: "checkbox",
    id,
    checked: given ?? option.default ?? false,
    on: { change: changed },
  });
  const help = el("p", { class: "help", id: `${id}-help` }, helpOf(option));
  box.setAttribute("aria-describedby", help.id);
  return {
    element: el(
      "div",
      { class: "field" },
      el("div", { class: "check" }, box, el("label", { for: id }, nameOf(option))),
      help,
    ),
    value: () => (box.checked === (option.default ?? false) ? undefined : box.checked),
  };
}

function yesOrNoOf(option, given, changed) {
  const entry = (value, label, isChosen) => el("option", { value, selected: isChosen }, label);
  const select = el(
    "select",
    { on: { change: changed } },
    entry("", t("options.by_model"), given === undefined),
    entry("yes", t("options.yes"), given === true),
    entry("no", t("options.no"), given === false),
  );
  return {
    element: field(nameOf(option), select, helpOf(option)),
    value: () => (select.value ? select.value === "yes" : undefined),
  };
}

function choiceOf(option, given, changed) {
  const chosen = given ?? option.default ?? "";
  const isOpen = option.default === null;
  const select = el(
    "select",
    { on: { change: changed } },
    isOpen && el("option", { value: "", selected: chosen === "" }, t("options.by_model")),
    option.choices.map((name) => el("option", { value: name, selected: name === chosen }, name)),
  );
  return {
    element: field(nameOf(option), select, helpOf(option)),
    value: () => (select.value === (option.default ?? "") ? undefined : select.value),
  };
}

function entryOf(option, given, changed) {
  const isNumber = option.kind === "integer" || option.kind === "number";
  const preset = option.default === null ? t("options.unset") : String(option.default);
  const entry = el("input", {
    type: isNumber ? "number" : "text",
    inputmode: isNumber ? "decimal" : null,
    step: option.kind === "integer" ? 1 : isNumber ? "any" : null,
    min: option.minimum,
    max: option.maximum,
    placeholder: preset,
    value: given === undefined ? "" : String(given),
    spellcheck: "false",
    on: { input: changed },
  });
  const isInName = has(`option.${option.name}`); // the page's own names say what is counted
  const unit = option.unit && !isInName ? ` (${option.unit})` : "";
  const element = field(
    nameOf(option) + unit,
    entry,
    [helpOf(option), boundsOf(option)].filter(Boolean).join(" "),
  );
  if (isNumber) element.classList.add("entry");
  return {
    element,
    value: () => read(option, entry.value.trim()),
  };
}

function boundsOf({ minimum, maximum }) {
  if (minimum !== null && maximum !== null)
    return t("options.between", { from: minimum, to: maximum });
  if (minimum !== null) return t("options.at_least", { from: minimum });
  return maximum === null ? "" : t("options.at_most", { to: maximum });
}

/** What was written, in the option's own kind; what is no number goes as it is and is refused in words. */
function read({ kind }, text) {
  if (!text) return undefined;
  if (kind === "integers") return text.split(",").map(Number);
  if (kind === "string") return text;
  return Number.isNaN(Number(text)) ? text : Number(text);
}
