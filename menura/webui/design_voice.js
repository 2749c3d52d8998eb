// Designs a voice from a description: three takes are drawn, one is kept. The kept take is a clip
// as any other, so the voice stays the same for a whole book. #/voices/design

import { blob, get } from "./api.js";
import { playButton, silence } from "./clip_player.js";
import { button, el, field, fill, freshId } from "./dom.js";
import { verdictOf } from "./findings.js";
import { errorPlace } from "./notices.js";
import { sentenceIn } from "./sentences.js";
import { checkClip, makeVoice } from "./voice_api.js";
import { tellKept } from "./voice_fields.js";
import { peaksOf, wavePicture } from "./wave_picture.js";
import { clock, language as pageLanguage, languageName, t } from "./words.js";

const TAKES = 3;
const BARS = 96;

/** The place where a voice is designed. */
export async function screen(container, context) {
  const { data } = await get("/v1/models", { signal: context.signal });
  const models = data.filter((model) => model.menura.capabilities.includes("design"));
  fill(container,
    el("header", { class: "screen-head" },
      el("div", {},
        el("a", { class: "back", href: "#/voices" }, t("word.back_to_voices")),
        el("h1", { class: "title", tabindex: "-1" }, t("design.title")),
        el("p", { class: "lede" }, t("design.lead")))),
    models.length ? designer(models, context) : withoutModel());
  return { leave: silence };
}

function withoutModel() {
  return el("div", { class: "empty" },
    el("h2", {}, t("design.no_model")),
    el("p", {}, t("design.no_model_help")),
    el("a", { class: "button primary", href: "#/models" }, el("span", {}, t("design.to_models"))));
}

function designer(models, context) {
  const takes = el("ol", { class: "drawn-takes" });
  const empty = el("p", { class: "takes-empty" }, t("design.empty"));
  const problem = errorPlace();
  const keeping = keepForm(context);
  let abort = null;  // while takes are drawn
  const wishes = wishForm(models, { draw, cancel: () => abort?.abort() });

  async function draw(wish) {
    silence();
    problem.clear();
    keeping.choose(null);
    fill(takes);
    empty.hidden = false;
    abort = new AbortController();
    const signal = AbortSignal.any([context.signal, abort.signal]);
    const first = Math.floor(Math.random() * 1e9);
    try {
      for (let i = 0; i < TAKES; i += 1) {
        const words = t("design.drawing", { i: i + 1, of: TAKES });
        wishes.busy(words);
        context.announce(words);
        const take = await drawn({ ...wish, seed: first + i }, signal);
        takes.append(await takeRow(take, i + 1, keeping));
        empty.hidden = true;
      }
      context.announce(t("design.drawn"));
    } catch (error) {
      problem.show(error);
    } finally {
      wishes.busy("");
      wishes.rank(takes.firstChild ? "plain" : "primary");  // the next step is to keep one of them
    }
  }
  return el("div", { class: "desk" },
    wishes.node,
    el("section", { class: "desk-clip", "aria-label": t("design.takes") },
      el("fieldset", { class: "take-choice" }, el("legend", { class: "unseen" }, t("design.choose")), takes, empty),
      problem.element, keeping.node));
}

function wishForm(models, { draw, cancel }) {
  const model = el("select", {}, models.map(({ id }) => el("option", { value: id }, id)));
  const language = el("select", {});
  const description = el("textarea", { rows: "4", required: true, placeholder: t("design.example") });
  const text = el("textarea", { rows: "3", required: true });
  const go = button(t("design.draw"), null, { kind: "primary", type: "submit" });
  const stop = button(t("word.cancel"), cancel, { kind: "quiet", hidden: true });

  const languages = () => {
    const names = models.find(({ id }) => id === model.value).menura.languages;
    const own = names.find((name) => languageName(name) === languageName(pageLanguage())) ?? "english";
    fill(language, names.map((name) => el("option", { value: name, selected: name === own }, languageName(name))));
    say();
  };
  const say = () => { text.value = sentenceIn(language.value); };
  model.addEventListener("change", languages);
  language.addEventListener("change", say);
  languages();

  const node = el("form", { class: "voice-form", on: { submit: (event) => {
    event.preventDefault();
    draw({ model: model.value, language: language.value, description: description.value.trim(), text: text.value.trim() });
  } } },
    field(t("design.description"), description, t("design.description_help")),
    field(t("design.text"), text),
    el("div", { class: "pair" }, field(t("field.language"), language), models.length > 1 && field(t("field.model"), model)),
    el("div", { class: "buttons" }, go, stop));
  let timer = 0;
  const busy = (words) => {
    clearInterval(timer);
    go.disabled = Boolean(words);
    stop.hidden = !words;
    const since = Date.now();
    const say = (waited = "") => fill(go.querySelector("span"), words ? `${words}${waited}` : t("design.draw"));
    say();
    if (words) timer = setInterval(() => say(` · ${clock((Date.now() - since) / 1000)}`), 1000);
  };
  const rank = (kind) => { go.className = `button ${kind}`; };
  return { node, busy, rank };
}

async function drawn(wish, signal) {
  const body = JSON.stringify({
    model: wish.model, input: wish.text, instructions: wish.description, language: wish.language,
    seed: wish.seed, response_format: "flac",
  });
  const spoken = await blob("/v1/audio/speech", { method: "POST", body, type: "application/json", signal });
  const file = new File([spoken], "take.flac", { type: "audio/flac" });
  const checked = await checkClip({ file, transcript: wish.text, language: wish.language }, { signal });
  return { ...wish, file, fit: verdictOf(checked) === "keep" };
}

async function takeRow(take, number, keeping) {
  const name = t("design.take", { n: number });
  const sound = await new OfflineAudioContext(1, 1, 24000).decodeAudioData(await take.file.arrayBuffer());
  const wave = wavePicture(peaksOf(sound.getChannelData(0), BARS), { label: name });
  const address = URL.createObjectURL(take.file);
  const id = freshId("take");
  const helpId = `${id}-help`;
  return el("li", { class: "drawn-take" },
    playButton(name, () => address, { progress: wave.progress }),
    wave.node,
    el("label", { class: "choice", for: id },
      el("input", {
        type: "radio", name: "take", id, disabled: !take.fit,
        "aria-describedby": !take.fit && helpId, on: { change: () => keeping.choose(take) },
      }),
      el("span", {}, name)),
    !take.fit && el("p", { class: "help", id: helpId }, t("design.unfit")));
}

function keepForm({ go }) {
  let chosen = null;
  const label = el("input", { type: "text", required: true, maxlength: "80", autocomplete: "off" });
  const problem = errorPlace();
  const keep = button(t("design.keep"), null, { kind: "primary", type: "submit" });
  const node = el("form", { class: "keep-form", hidden: true, on: { submit } },
    field(t("field.label"), label), keep, problem.element);

  async function submit(event) {
    event.preventDefault();
    problem.clear();
    keep.disabled = true;
    try {
      const voice = await makeVoice({
        name: label.value, audio_sample: chosen.file, transcript: chosen.text, language: chosen.language,
        source_kind: "design", description: chosen.description, model: chosen.model, seed: chosen.seed,
      });
      tellKept(voice, go);
      go("voices");
    } catch (error) {
      problem.show(error);
      keep.disabled = false;
    }
  }
  const choose = (take) => {
    chosen = take;
    node.hidden = !take;
  };
  return { node, choose };
}
