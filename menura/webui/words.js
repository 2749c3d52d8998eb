// The page's words in the language of the person who reads it. A table is one module of plain
// texts by key; `{name}` takes a value, and a text may have forms by number ({ one, other }).

import { recall, remember } from "./memory.js";

const LANGUAGES = ["en", "zh"];
const KEPT = "menura.language";
const tables = [];
let current = "en";
let numbers = new Intl.PluralRules("en");

/** The language that the page speaks: "en" or "zh". */
export const language = () => current;

/** The chosen language, else the browser's first that the page has. */
export function preferred() {
  const kept = recall(KEPT);
  if (LANGUAGES.includes(kept)) return kept;
  const wished = (navigator.languages ?? [navigator.language]).map((tag) => tag.slice(0, 2));
  return wished.find((tag) => LANGUAGES.includes(tag)) ?? "en";
}

/** Nothing, when the words of the shell, Speak and History are there. */
export async function load(wished) {
  current = wished;
  numbers = new Intl.PluralRules(wished);
  tables.length = 0;
  await more("words");
  document.documentElement.lang = wished === "zh" ? "zh-Hans" : "en";
}

/** Nothing, when the words of another module are there, such as `words_more` of the other screens. */
export async function more(stem) {
  const { default: table } = await import(`./${stem}_${current}.js`);
  if (!tables.includes(table)) tables.push(table);
}

/** Nothing; the choice is kept, and the page is built anew by the caller. */
export function choose(wished) {
  remember(KEPT, wished);
}

/** Whether there are words for a key. */
export const has = (key) => found(key) !== undefined;

/** The words of a key, with values in their places; the key itself where there are none. */
export function t(key, values = {}) {
  const entry = found(key);
  if (entry === undefined) return key;
  const text =
    typeof entry === "string" ? entry : (entry[numbers.select(values.n ?? 0)] ?? entry.other);
  return text.replace(/\{(\w+)\}/g, (whole, name) =>
    name in values ? shown(values[name]) : whole,
  );
}

const found = (key) => tables.find((table) => key in table)?.[key];
const shown = (value) =>
  typeof value === "number" ? value.toLocaleString(current) : String(value);

/** Seconds as a clock shows them: 0:07, 12:30, 1:02:03. */
export function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds + 1e-6));
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (n) => String(n).padStart(2, "0");
  return h ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** Seconds in words: 0.4 s, 12 s, 3 min 5 s. */
export function span(seconds, digits = 1) {
  if (seconds < 10) return t("unit.s", { n: seconds.toFixed(digits) });
  if (seconds < 59.5) return t("unit.s", { n: Math.round(seconds) });
  const whole = Math.round(seconds);
  return t("unit.min_s", { m: Math.floor(whole / 60), s: whole % 60 });
}

/** Bytes as people read them: 12 kB, 3.4 MB, 1.7 GB. */
export function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const step = Math.min(units.length - 1, n < 1 ? 0 : Math.floor(Math.log10(n) / 3));
  const value = n / 1000 ** step;
  return `${value.toLocaleString(current, { maximumFractionDigits: value < 10 && step ? 1 : 0 })} ${units[step]}`;
}

/** The name of a language ("english", "en", "zh") in the page's own. */
export function languageName(given) {
  const code = CODES[given.toLowerCase()] ?? given;
  try {
    const name = new Intl.DisplayNames([current], { type: "language", fallback: "none" }).of(code);
    return name ? name[0].toLocaleUpperCase(current) + name.slice(1) : given;
  } catch {
    return given[0].toUpperCase() + given.slice(1); // a dialect by its own name
  }
}

/** A moment as a date or a time of day in the page's language. */
export const dateOf = (iso, options = { dateStyle: "medium" }) =>
  new Intl.DateTimeFormat(current, options).format(new Date(iso));

const CODES = {
  arabic: "ar",
  bengali: "bn",
  cantonese: "yue",
  chinese: "zh",
  czech: "cs",
  danish: "da",
  dutch: "nl",
  english: "en",
  finnish: "fi",
  french: "fr",
  german: "de",
  greek: "el",
  hebrew: "he",
  hindi: "hi",
  hungarian: "hu",
  indonesian: "id",
  italian: "it",
  japanese: "ja",
  korean: "ko",
  norwegian: "no",
  persian: "fa",
  polish: "pl",
  portuguese: "pt",
  romanian: "ro",
  russian: "ru",
  spanish: "es",
  swedish: "sv",
  thai: "th",
  turkish: "tr",
  ukrainian: "uk",
  vietnamese: "vi",
};
