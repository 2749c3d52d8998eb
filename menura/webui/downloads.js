// Saves a take as a file. The server converts it, for there the file gets its mark as synthetic
// speech; the sound itself is the one that was heard.

import * as api from "./api.js";
import { el, icon } from "./dom.js";
import { toast } from "./notices.js";
import { wavFile } from "./wav_file.js";
import { t } from "./words.js";

const FORMATS = ["mp3", "wav", "flac", "opus", "aac", "pcm"];
const LONGEST_NAME = 48;

/** A menu with the six formats; `take()` gives the take to save. */
export function downloadMenu(take) {
  const list = el(
    "div",
    { class: "menu-list", role: "menu", "aria-label": t("download.label"), hidden: true },
    FORMATS.map((format) =>
      el(
        "button",
        {
          type: "button",
          role: "menuitem",
          data: { format },
          on: {
            click: () => {
              close();
              download(take(), format);
            },
          },
        },
        format.toUpperCase(),
        el("small", {}, t(`format.${format}`)),
      ),
    ),
  );
  const opener = el(
    "button",
    {
      type: "button",
      id: "download",
      class: "button quiet icon-only",
      "aria-haspopup": "menu",
      "aria-expanded": "false",
      "aria-label": t("download.label"),
      title: t("download.label"),
      on: { click: () => (list.hidden ? open() : close()) },
    },
    icon("download"),
  );
  const element = el("div", { class: "menu", on: { keydown: byKeys } }, opener, list);

  function open() {
    list.hidden = false;
    opener.setAttribute("aria-expanded", "true");
    list.firstChild.focus();
    document.addEventListener("pointerdown", outside);
  }
  function close() {
    if (list.contains(document.activeElement)) opener.focus();
    list.hidden = true;
    opener.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside);
  }
  function outside(event) {
    if (!element.contains(event.target)) close();
  }
  function byKeys(event) {
    if (list.hidden) return;
    const items = [...list.children];
    const at = items.indexOf(document.activeElement);
    const moves = {
      ArrowDown: at + 1,
      ArrowUp: at - 1 + items.length,
      Home: 0,
      End: items.length - 1,
    };
    if (event.key === "Escape" || event.key === "Tab") {
      if (event.key === "Escape") event.stopPropagation(); // it closes the menu, and stops no speech
      close();
    } else if (event.key in moves) {
      event.preventDefault();
      items[moves[event.key] % items.length].focus();
    }
  }
  return { element, opener };
}

/** Nothing; the browser saves the take, or the person reads why not. */
export async function download(take, format) {
  // What is named here goes into the file's tags; a seed that a number cannot hold goes as it is.
  const tags = new URLSearchParams({ model: take.model, voice: take.voice, seed: take.seed });
  try {
    save(await converted(wavFile(take.samples, take.rate), format, tags), nameOf(take, format));
  } catch (error) {
    const words = error.isMissingRoute ? t("download.missing") : api.inWords(error);
    toast(words, { kind: "bad" });
  }
}

async function converted(body, format, tags) {
  const path = `/v1/audio/convert/${format}?${tags}`;
  try {
    return await api.blob(path, { method: "POST", body, type: "audio/wav" });
  } catch (error) {
    if (error.code !== "model_not_found" || !tags.has("model")) throw error;
    tags.delete("model"); // an old take of a model that is gone by now
    return converted(body, format, tags);
  }
}

/** Nothing; the browser saves the bytes under this name. */
export function save(bytes, name) {
  const href = URL.createObjectURL(bytes);
  const link = el("a", { href, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

/** A file's name that says what is in it, of letters that every disk takes. */
export function nameOf(take, format) {
  const words = `${take.voice} ${take.text}`
    .normalize("NFC")
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-+|-+$/g, "");
  return `${words.slice(0, LONGEST_NAME).replace(/-+$/, "").toLowerCase() || "speech"}.${format}`;
}
