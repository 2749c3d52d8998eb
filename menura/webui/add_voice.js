// Adds a voice from a recording: a clip comes in, is checked at once and drawn with what was found,
// and is kept with its name, its transcript and the consent. #/voices/add

import { playButton, silence } from "./clip_player.js";
import { clipSource } from "./clip_source.js";
import { button, el, field, fill } from "./dom.js";
import { checkedWave, figures, findingsList, verdictOf } from "./findings.js";
import { errorPlace } from "./notices.js";
import { sentenceIn } from "./sentences.js";
import { canTranscribe, checkClip, makeVoice } from "./voice_api.js";
import { consentFields, languageSelect, tellKept } from "./voice_fields.js";
import { handOver } from "./voices.js";
import { language, languageName, t } from "./words.js";

const LEAST_CUT_S = 0.05;

/** The place where a voice is added. */
export async function screen(container, context) {
  const state = { file: null, checked: null, abort: null };
  const problem = errorPlace();
  const clip = el("div", { class: "clip-place", "aria-live": "polite" });
  const form = await voiceForm(context, {
    save: (fields) => save(state, fields, context),
    transcribe: () => check(true),
    checkAgain: () => check(false),
  });
  const source = clipSource({
    sentence: () => sentenceIn(form.language.value || language()), given, failed: (words) => problem.show(words),
  });

  function given(file, read) {
    state.file = file;
    if (read) {
      form.transcript.value = read;
      form.language.value ||= languageLike(form.language, language());
    }
    if (!form.label.value && file.name !== "microphone.wav") form.label.value = nameOf(file);
    return check(false);
  }

  async function check(transcribe) {
    if (!state.file) return;
    state.abort?.abort();
    state.abort = new AbortController();
    problem.clear();
    form.busy(true);
    try {
      state.checked = await checkClip(
        { file: state.file, transcript: form.transcript.value.trim(), language: form.language.value, transcribe },
        { signal: state.abort.signal });
      if (state.checked.transcript) form.transcript.value = state.checked.transcript;
      fill(clip, checkedClip(state, another));
      context.announce(t("check.done", { n: state.checked.report.findings.length }));
      form.ready(state.checked);
    } catch (error) {
      problem.show(error);
    } finally {
      form.busy(false);
    }
  }

  function another() {
    silence();
    Object.assign(state, { file: null, checked: null });
    fill(clip, source.node);
    form.ready(null);
    clip.querySelector("button").focus();
  }

  fill(clip, source.node);
  fill(container,
    el("header", { class: "screen-head" },
      el("div", {},
        el("a", { class: "back", href: "#/voices" }, t("word.back_to_voices")),
        el("h1", { class: "title", tabindex: "-1" }, t("add.title")),
        el("p", { class: "lede" }, t("add.lead")))),
    el("div", { class: "desk" },
      el("section", { class: "desk-clip", "aria-label": t("add.clip") }, clip, problem.element),
      form.node));
  if (handOver.file) given(handOver.file, "");
  handOver.file = null;
  return { leave: () => { source.stop(); silence(); state.abort?.abort(); } };
}

function checkedClip({ file, checked }, another) {
  const wave = checkedWave(checked);
  const address = URL.createObjectURL(file);
  const play = playButton(t("add.clip"), () => address, { progress: wave.progress });
  return el("div", { class: "checked" },
    el("div", { class: "clip-sound" }, play, wave.node),
    trimNote(checked),
    figures(checked),
    findingsList(checked),
    button(t("add.another"), another, { kind: "quiet", icon: "redo", class: "button quiet flush" }));
}

// Nothing is said of ends that stay, nor of what is not kept at all.
function trimNote(checked) {
  const { trim, seconds, report } = checked;
  const whole = report.seconds ?? seconds;
  const isCut = trim && (trim.start_s >= LEAST_CUT_S || whole - trim.end_s >= LEAST_CUT_S);
  if (!isCut || verdictOf(checked) === "nothing") return null;
  return el("p", { class: "help trim" }, t("check.trim", {
    from: trim.start_s.toFixed(1), to: trim.end_s.toFixed(1) }));
}

async function voiceForm({ signal }, { save, transcribe, checkAgain }) {
  const label = el("input", { type: "text", required: true, maxlength: "80", autocomplete: "off" });
  const [language, isHeard] = await Promise.all([languageSelect("", signal), canTranscribe(signal)]);
  const transcript = el("textarea", { rows: "4", on: { change: checkAgain } });
  const consent = consentFields();
  const problem = errorPlace();
  const anyway = el("input", { type: "checkbox" });
  const despite = el("label", { class: "choice", hidden: true }, anyway, el("span", {}, t("add.anyway")));
  const refused = el("p", { class: "help", hidden: true }, t("add.refused"));
  const listen = button(t("add.transcribe"), transcribe, { kind: "quiet", icon: "edit", disabled: true, hidden: !isHeard });
  const keep = button(t("add.save"), null, { kind: "primary", type: "submit", disabled: true });
  const node = el("form", { class: "voice-form", "aria-label": t("add.about"), on: { submit } },
    el("div", { class: "pair" }, field(t("field.label"), label), field(t("field.language"), language)),
    field(t("field.transcript"), transcript, t("field.transcript_help")), listen,
    consent.node, despite, refused, problem.element,
    el("div", { class: "buttons" }, keep));

  async function submit(event) {
    event.preventDefault();
    problem.clear();
    keep.disabled = true;
    try {
      await save({
        name: label.value, language: language.value, transcript: transcript.value.trim(),
        consent_text: consent.text(), anyway: anyway.checked && !despite.hidden,
      });
    } catch (error) {
      problem.show(error);
      keep.disabled = false;
    }
  }
  const busy = (isBusy) => node.toggleAttribute("aria-busy", isBusy);
  const ready = (checked) => {
    const verdict = checked ? verdictOf(checked) : "nothing";
    keep.disabled = verdict === "nothing";
    listen.disabled = !checked;
    despite.hidden = verdict !== "anyway";
    refused.hidden = !checked || verdict !== "nothing";
  };
  return { node, label, language, transcript, busy, ready };
}

async function save({ file }, fields, { go }) {
  const voice = await makeVoice({ audio_sample: file, ...fields });
  tellKept(voice, go);
  go("voices");
}

const nameOf = (file) => file.name.replace(/\.[^.]*$/, "").replace(/[_-]+/g, " ").slice(0, 80);

// The choice of a select that means the same language, "" where there is none.
const languageLike = (select, wanted) => (
  [...select.options].find(({ text }) => text === languageName(wanted))?.value ?? "");
