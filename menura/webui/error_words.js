// What a server refused, as a sentence of this page: by its code where the page has words of its
// own, else the server's words with the names of the API's fields put into words.

import { has, t } from "./words.js";

/** The sentence for an error of an answer: `{ code, message, param }`, each of which may lack. */
export function sentenceOf(error, status) {
  const { code = "", message = "", param = "" } = error ?? {};
  const letters = code === "unsupported" && unread(message);
  if (letters) return t("error.letters", letters).trim();
  const known = [`code.${code}.${param}`, `code.${code}`].find(has);
  if (known) return t(known, { message: inSentence(message, param) });
  return message ? inSentence(message, param) : t("error.status", { status });
}

/** The server's words, with `subject` in place of the field's name that they begin with. */
export function inSentence(message, param, subject = wordOf(param)) {
  const named = param && new RegExp(`^(['"\`]?)${escaped(param)}\\1(?=[\\s:])`);
  const spoken = named && subject ? message.replace(named, () => subject) : message;
  return plainly(spoken);
}

// Ids are for programs.
function plainly(message) {
  const spoken = message.replace(/ \((?:voice|cons)_[0-9a-f]{32}\)/g, "");
  return spoken.charAt(0).toLocaleUpperCase() + spoken.slice(1);
}

const wordOf = (param) => (param && has(`param.${param}`) ? t(`param.${param}`) : "");
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

// The letters that a model does not read, and what the server advises: it has no field for them.
function unread(message) {
  const found = /cannot read these letters of the text \([^)]*\): (.+?)\.(?=$| [A-Z])(.*)$/s.exec(message);
  return found && { letters: found[1], advice: found[2].trim() };
}
