// One kept voice: who it is, how it sounds, which models can speak with it, and what can be done.

import { button, el, fill, icon } from "./dom.js";
import { playButton } from "./clip_player.js";
import { fitBadges } from "./fit_badges.js";
import { isSpeakable, previewOf, speakWithKept } from "./voice_api.js";
import { confirmRemoval, download, editDialog } from "./voice_dialogs.js";
import { peaksOf, wavePicture } from "./wave_picture.js";
import { bytes, dateOf, languageName, span, t } from "./words.js";

const BARS = 72;

/** The card; `context` is the screen's, with `changed` to draw the voices anew. */
export function voiceCard(voice, context) {
  const wave = el("div", { class: "card-wave" });
  const clip = clipOf(voice, context.signal);
  let progress = () => {};
  const play = playButton(voice.label, clip.url, {
    kind: "plain", progress: (part) => progress(part), failed: (error) => context.problem.show(error),
  });
  whenSeen(wave, async () => {
    const picture = wavePicture(await clip.peaks(), { label: t("card.wave", { name: voice.label }) });
    progress = picture.progress;
    fill(wave, picture.node);
  }, context.signal);
  return el("article", { class: "voice-card", "aria-label": voice.label },
    el("header", {},
      el("h2", {}, voice.label),
      el("p", { class: "facts" }, facts(voice).join(" · "))),
    el("div", { class: "card-sound" }, play, wave),
    voice.notes && el("p", { class: "notes" }, voice.notes),
    !isSpeakable(voice) && el("p", { class: "help" }, needsModel(context)),
    fitBadges(voice),
    el("footer", {},
      isSpeakable(voice)
        ? button(t("card.speak"), () => context.go(speakWithKept(voice)), { kind: "plain" })
        : toModel(context),
      context.mayManage && el("div", { class: "deeds" }, deeds(voice, context))));
}

// Where no model here can speak with a voice: which one could, and the way to it.
const needsModel = ({ wanted }) => (wanted
  ? t("card.needs_model", { model: wanted.name, size: bytes(wanted.download_bytes) })
  : t("card.no_model"));

const toModel = ({ wanted, can }) => (wanted && can("admin")
  ? el("a", { class: "button plain", href: `#/models/${encodeURIComponent(wanted.name)}` }, t("card.to_model"))
  : button(t("card.speak"), null, { kind: "plain", disabled: true }));

function facts(voice) {
  const first = voice.clips[0];
  return [
    voice.language ? languageName(voice.language) : null,
    t(`source.${voice.source.kind}`),
    first ? span(first.seconds) : null,
    dateOf(voice.made_on),
  ].filter(Boolean);
}

function deeds(voice, context) {
  const name = voice.label;
  const attempt = (deed) => async () => {
    context.problem.clear();
    try {
      await deed();
    } catch (error) {
      context.problem.show(error);
    }
  };
  return [
    button("", attempt(() => editDialog(voice, context)), { kind: "quiet", icon: "edit", label: t("card.edit", { name }) }),
    button("", attempt(() => download(voice)), { kind: "quiet", icon: "download", label: t("card.export", { name }) }),
    button("", attempt(() => confirmRemoval(voice, context)), { kind: "quiet", icon: "trash", label: t("card.remove", { name }) }),
  ];
}

// The clip is fetched once, when it is first seen or played, and let go with the screen.
function clipOf(voice, signal) {
  let fetched = null;
  const bytes = () => (fetched ??= previewOf(voice, { signal }));
  let address = null;
  signal.addEventListener("abort", () => address && URL.revokeObjectURL(address));
  return {
    url: async () => (address ??= URL.createObjectURL(await bytes())),
    peaks: async () => {
      const decoder = new OfflineAudioContext(1, 1, 24000);
      const sound = await decoder.decodeAudioData(await (await bytes()).arrayBuffer());
      return peaksOf(sound.getChannelData(0), BARS);
    },
  };
}

function whenSeen(node, show, signal) {
  const watch = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watch.disconnect();
    show().catch(() => fill(node, icon("info")));  // the card is of use without its picture
  });
  watch.observe(node);
  signal.addEventListener("abort", () => watch.disconnect());
}
