// The panel beside the text: who speaks, with which model, in which language and manner. It shows
// only what the chosen model follows, and remembers what was chosen.

import { designs, takesStyle, voicesOf } from "./catalogue.js";
import { el, field, fill } from "./dom.js";
import { recall, remember } from "./memory.js";
import { optionsForm } from "./options_form.js";
import { mine } from "./owner.js";
import { bytes, languageName, t } from "./words.js";

const KEPT = "menura.settings";
const [SLOWEST, FASTEST] = [0.5, 2];

export class VoicePanel {
  /** `changed()` is called after each change; `mayAdd`: whether the person may add voices. */
  constructor(changed, { mayAdd }) {
    this.changed = changed;
    this.mayAdd = mayAdd;
    this.kept = readKept(); // { model, voice, language, instructions, speed, options by model }
    this.all = { models: [], voices: [], absent: [], longest: Infinity };
    this.form = null;
    this.element = el("section", { class: "panel", "aria-label": t("panel.label") });
  }

  /** The chosen model, or null where it is not on this machine. */
  get model() {
    return this.all.models.find(({ id }) => id === this.kept.model) ?? null;
  }

  /** The chosen model where it could be fetched, else null. */
  get absent() {
    return this.all.absent.find(({ name }) => name === this.kept.model) ?? null;
  }

  /** Who speaks, in short. */
  get summary() {
    if (!this.model) return this.absent?.name ?? "";
    return [this.voiceName, this.model.id].filter(Boolean).join(" · ");
  }

  /** The chosen voice as people call it, "" for none. */
  get voiceName() {
    const voice = this.all.voices.find(({ id }) => id === this.kept.voice);
    return voice ? plainName(voice) : "";
  }

  /** Nothing; what there is, and what is wished of it: `{ model, voice, language ... }`. */
  set(all, wished = {}) {
    this.all = all;
    Object.assign(this.kept, wished, this.placeOf(wished));
    if (!this.model && !this.absent) {
      const first = all.models.find(({ menura }) => menura.is_default) ?? all.models[0];
      this.kept.model = first?.id;
    }
    this.draw();
  }

  /** The request without its text: what was chosen, as far as the model follows it. */
  asked() {
    const { kept, model } = this;
    const style = kept.instructions?.trim();
    const options = this.form.values();
    return {
      model: model.id,
      ...(kept.voice && { voice: kept.voice }),
      ...(kept.language && model.menura.languages.length > 1 && { language: kept.language }),
      ...(style && hasWords(model) && { instructions: style }),
      ...(kept.speed && kept.speed !== 1 && { speed: kept.speed }),
      ...(Object.keys(options).length && { options }),
    };
  }

  // What follows is the panel's own.

  /** The model and the id for a voice that was asked for by either of its names. */
  placeOf({ voice, model = this.kept.model }) {
    const isIt = (entry) => entry.id === voice || entry.voice?.id === voice;
    const fits = voice ? this.all.voices.filter(isIt) : [];
    const chosen = fits.find((entry) => entry.model === model) ?? fits[0];
    return chosen ? { voice: chosen.id, model: chosen.model } : {};
  }

  draw() {
    const { model } = this;
    this.form =
      model &&
      optionsForm(model.menura.options, this.kept.options[model.id] ?? {}, () => this.note());
    fill(
      this.element,
      model && this.voiceField(model),
      this.modelField(),
      model && [this.languageField(model), this.styleField(model), this.speedField()],
      this.form?.element,
    );
    this.note();
  }

  /** Nothing; a control has this value now. */
  choose(name, value) {
    this.kept[name] = value;
    this.note();
  }

  note() {
    if (this.model) this.kept.options[this.model.id] = this.form.values();
    remember(mine(KEPT), JSON.stringify(this.kept));
    this.changed();
  }

  modelField() {
    const { models, absent } = this.all;
    const entry = (id) => el("option", { value: id, selected: id === this.kept.model }, id);
    const select = el("select", { id: "model" }, [
      models.map(({ id }) => entry(id)),
      absent.length > 0 &&
        el(
          "optgroup",
          { label: t("panel.absent") },
          absent.map(({ name }) => entry(name)),
        ),
    ]);
    select.addEventListener("change", () => {
      this.kept.model = select.value;
      this.draw();
      document.getElementById("model").focus(); // the panel is another one now
    });
    const gone = this.absent;
    const help = gone && [gone.title, bytes(gone.download_bytes)].filter(Boolean).join(" · ");
    return field(t("panel.model"), select, help);
  }

  voiceField(model) {
    const { own, presets } = voicesOf(this.all, model.id);
    const voices = [...own, ...presets];
    const canDoWithout = model.menura.speaks_without_voice || designs(model);
    this.settleVoice(model, voices, canDoWithout);
    if (!voices.length) return canDoWithout ? null : noVoices(this.mayAdd);
    const entry = (voice) =>
      el("option", { value: voice.id, selected: voice.id === this.kept.voice }, plainName(voice));
    const group = (label, some) => some.length > 0 && el("optgroup", { label }, some.map(entry));
    const about = el("p", { class: "help", id: "voice-about" });
    const select = el("select", { id: "voice", "aria-describedby": "voice-about" }, [
      canDoWithout && el("option", { value: "", selected: !this.kept.voice }, t("panel.any_voice")),
      group(t("panel.own_voices"), own),
      group(t("panel.presets"), presets),
    ]);
    const tell = () =>
      (about.textContent = aboutVoice(voices.find(({ id }) => id === select.value)));
    select.addEventListener("change", () => {
      tell();
      this.choose("voice", select.value);
    });
    tell();
    const whole = field(t("panel.voice"), select);
    whole.append(about);
    return whole;
  }

  /** Nothing; where the chosen voice is not this model's, its default one is chosen, or any. */
  settleVoice(model, voices, canDoWithout) {
    if (voices.some(({ id }) => id === this.kept.voice)) return;
    const preset = voices.find((voice) => plainName(voice) === model.menura.default_voice);
    this.kept.voice = (preset ?? (canDoWithout ? null : voices[0]))?.id ?? "";
  }

  languageField({ menura: { languages } }) {
    if (languages.length < 2) return null;
    if (!languages.includes(this.kept.language)) this.kept.language = "";
    const entry = (name, label) =>
      el("option", { value: name, selected: name === this.kept.language }, label);
    const select = el("select", { id: "language" }, [
      entry("", t("panel.language_auto")),
      languages.map((name) => entry(name, languageName(name))),
    ]);
    select.addEventListener("change", () => this.choose("language", select.value));
    return field(t("panel.language"), select);
  }

  styleField(model) {
    if (!hasWords(model)) return null;
    const what = designs(model) ? "description" : "style";
    const area = el("textarea", {
      id: "instructions",
      rows: designs(model) ? 3 : 2,
      placeholder: t(`panel.${what}_example`),
      value: this.kept.instructions ?? "",
      on: { input: () => this.choose("instructions", area.value) },
    });
    return field(t(`panel.${what}`), area);
  }

  speedField() {
    const shown = el("output", { class: "numbers", for: "speed" });
    const range = el("input", {
      type: "range",
      id: "speed",
      min: SLOWEST,
      max: FASTEST,
      step: 0.05,
      value: this.kept.speed ?? 1,
    });
    const tell = () => (shown.textContent = `${Number(range.value).toFixed(2)}×`);
    range.addEventListener("input", () => {
      tell();
      this.choose("speed", Number(range.value));
    });
    tell();
    const label = el("label", { for: "speed" }, t("panel.speed"));
    return el("div", { class: "field speed" }, label, shown, range);
  }
}

/** What the body of a request says, as settings of the panel. */
export function settingsOf(asked) {
  const { model, voice = "", language = "", instructions = "", speed = 1, options = {} } = asked;
  const others = readKept().options;
  return { model, voice, language, instructions, speed, options: { ...others, [model]: options } };
}

function readKept() {
  try {
    return { options: {}, ...JSON.parse(recall(mine(KEPT)) ?? "{}") };
  } catch {
    return { options: {} };
  }
}

/** Whether a model follows words about the manner, or makes a voice from them. */
const hasWords = (model) => takesStyle(model) || designs(model);

/** A voice's name, without the model that the server adds for clients that show no model. */
function plainName({ name, model }) {
  const added = ` (${model})`;
  return name.endsWith(added) ? name.slice(0, -added.length) : name;
}

function aboutVoice(voice) {
  if (!voice) return "";
  const language = voice.language && languageName(voice.language);
  const isOwn = voice.category === "cloned"; // what the server says of those is in its name here
  return [!isOwn && voice.description, language].filter(Boolean).join(" · ");
}

const noVoices = (mayAdd) =>
  el(
    "div",
    { class: "field" },
    el("p", { class: "legend" }, t("panel.voice")),
    el(
      "p",
      { class: "help needs-voice" },
      t("panel.no_voices"),
      " ",
      mayAdd ? el("a", { href: "#/voices/add" }, t("panel.add_voice")) : t("error.ask_keeper"),
    ),
  );
