// The screen of voices: the kept ones as cards, those that come with models, and what is broken.
// Adding and designing are places of their own below it: #/voices/add and #/voices/design.

import { silence } from "./clip_player.js";
import { dropping } from "./clip_source.js";
import { button, el, fill, icon } from "./dom.js";
import { errorPlace, toast } from "./notices.js";
import { stylesheets } from "./stylesheet.js";
import { allVoices, importVoices, isSpeakable, modelToFetch, speakWith } from "./voice_api.js";
import { voiceCard } from "./voice_card.js";
import { languageName, t } from "./words.js";

const INNER = {
  add: () => import("./add_voice.js"),
  design: () => import("./design_voice.js"),
};

/** The screen, or one of the places below it. */
export async function screen(container, context) {
  await stylesheets("voices", "clip");
  const inner = INNER[context.route.parts[0]];
  if (inner && context.can("voices")) {
    const module = await inner();
    return module.screen(container, context);
  }
  return overview(container, context);
}

async function overview(container, context) {
  const place = el("div", { class: "voices-body" });
  const problem = errorPlace();
  const mayManage = context.can("voices");

  async function draw() {
    const voices = await allVoices({ signal: context.signal, mayManage });
    const lacks = voices.library.some((voice) => !isSpeakable(voice));
    const wanted = lacks ? await modelToFetch(context.signal) : null;
    fill(place, ...sections(voices, { ...context, mayManage, changed: draw, problem, wanted }));
  }
  async function take(files) {
    problem.clear();
    try {
      await taken(files, context);
      await draw();
    } catch (error) {
      problem.show(error);
    }
  }
  fill(container, head(context, mayManage, take), problem.element, place);
  if (mayManage) dropping(container, take);
  await draw();
  return { leave: silence };
}

function head({ go }, mayManage, take) {
  const file = el("input", {
    type: "file", accept: ".zip,.safetensors", multiple: true, class: "unseen", tabindex: "-1",
    "aria-hidden": "true", data: { role: "import" },
    on: { change: async () => { await take(file.files); file.value = ""; } },
  });
  return el("header", { class: "screen-head" },
    el("div", {},
      el("h1", { class: "title", tabindex: "-1" }, t("nav.voices")),
      el("p", { class: "lede" }, t("voices.lead"))),
    mayManage && el("div", { class: "buttons" },
      button(t("voices.import"), () => file.click(), { kind: "quiet", icon: "upload" }), file,
      button(t("voices.design"), () => go("voices/design"), { kind: "plain", icon: "edit" }),
      button(t("voices.add"), () => go("voices/add"), { kind: "primary", icon: "plus" })));
}

function sections({ library, presets, broken }, context) {
  const cards = library.map((voice) => el("li", {}, voiceCard(voice, context)));
  return [
    cards.length
      ? el("ul", { class: "voice-cards", "aria-label": t("voices.kept") }, cards)
      : emptyState(context),
    presets.length > 0 && presetList(presets, context),
    broken.length > 0 && brokenList(broken),
  ];
}

function emptyState({ go, mayManage }) {
  return el("div", { class: "empty" },
    icon("microphone", 32),
    el("h2", {}, t("voices.none")),
    el("p", {}, t(mayManage ? "voices.none_help" : "error.ask_keeper")),
    mayManage && button(t("voices.add_first"), () => go("voices/add"), { kind: "plain" }));
}

function presetList(presets, { go }) {
  const models = Map.groupBy(presets, (preset) => preset.model);
  return el("section", { class: "presets", "aria-labelledby": "presets-title" },
    el("h2", { id: "presets-title" }, t("voices.presets")),
    [...models].map(([model, voices]) => el("div", { class: "preset-model" },
      el("h3", {}, model),
      el("ul", { class: "chips" }, voices.map((voice) => el("li", {}, presetChip(voice, go)))))));
}

function presetChip(voice, go) {
  const name = voice.name.replace(` (${voice.model})`, "");  // it stands beside its model here
  const speak = () => go(speakWith(voice.id, voice.model));
  return el("button", {
    type: "button", class: "chip", title: voice.description || null, on: { click: speak },
    "aria-label": t("voices.speak_with", { name }),
  },
    el("span", { class: "name" }, name),
    voice.language && el("span", { class: "of" }, languageName(voice.language)));
}

function brokenList(broken) {
  return el("section", { class: "broken", "aria-labelledby": "broken-title" },
    el("h2", { id: "broken-title" }, icon("warning"), t("voices.broken")),
    el("p", { class: "help" }, t("voices.broken_help")),
    el("dl", {}, broken.map(({ name, reason }) => el("div", {},
      el("dt", {}, name), el("dd", {}, reason)))));
}

async function taken(files, { go }) {
  for (const file of files) {
    if (/\.(zip|safetensors)$/i.test(file.name)) {
      const voices = await importVoices(file);
      toast(t("voices.imported", { names: voices.map(({ label }) => label).join(", ") }));
    } else {
      handOver.file = file;
      go("voices/add");
      return;
    }
  }
}

/** The file that was dropped on the overview, for the screen that checks it. */
export const handOver = { file: null };
