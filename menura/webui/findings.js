// What the checks of a recording found: on its waveform, in figures, and in sentences.

import { el, icon } from "./dom.js";
import { has, language, span as inSeconds, t } from "./words.js";
import { CUT, wavePicture } from "./wave_picture.js";

const ICONS = { refuse: "warning", warn: "warning", note: "info" };
const SILENCE_LUFS = -70;  // what the measure says where nothing is heard
const ORDER = ["refuse", "warn", "note"];

/**
 * What the checks let a person do with the clip: "keep" it, keep it "anyway" (the transcript alone
 * seems wrong, and may be right), or "nothing".
 */
export function verdictOf({ report }) {
  const refused = report.findings.filter((one) => one.severity === "refuse");
  if (!refused.length) return "keep";
  return refused.every((one) => one.code.startsWith("transcript")) ? "anyway" : "nothing";
}

/**
 * The picture of a checked clip as `wavePicture` gives it: what will be cut off at its ends is
 * dimmed, and each finding's stretches are shaded.
 */
export function checkedWave({ peaks, seconds, trim, report }) {
  const whole = report.seconds ?? seconds;
  const spans = report.findings.flatMap((finding) => finding.spans.map(([from, to]) => (
    { from: from / whole, to: to / whole, kind: finding.severity })));
  if (trim?.start_s > 0) spans.push({ from: 0, to: trim.start_s / whole, kind: CUT });
  if (trim && trim.end_s < whole) spans.push({ from: trim.end_s / whole, to: 1, kind: CUT });
  const loudest = Math.max(...peaks, 1e-6);
  return wavePicture(peaks.map((peak) => peak / loudest), { label: t("check.wave", { length: inSeconds(whole) }), spans });
}

/** The figures of a report that people can judge: length, loudness, noise, treble. */
export function figures({ report }) {
  const rows = [
    [t("figure.length"), inSeconds(report.seconds)],
    [t("figure.loudness"), report.loudness_lufs > SILENCE_LUFS ? level(report.loudness_lufs, "LUFS") : "–"],
    [t("figure.noise"), level(report.snr_db, "dB")],
    [t("figure.bandwidth"), report.bandwidth_hz ? `${(report.bandwidth_hz / 1000).toFixed(1)} kHz` : "–"],
  ];
  return el("dl", { class: "figures" },
    rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

/** The findings, the gravest first: what each means, and what to do. */
export function findingsList({ report }) {
  const sorted = [...report.findings].sort(
    (a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
  if (!sorted.length) {
    return el("p", { class: "verdict good" }, icon("check"), t("check.good"));
  }
  return el("ul", { class: "findings", "aria-label": t("check.findings") }, sorted.map(item));
}

function item(finding) {
  return el("li", { class: `finding ${finding.severity}` },
    icon(ICONS[finding.severity] ?? "info"),
    el("div", {},
      el("p", { class: "says" },
        el("span", { class: "unseen" }, t(`severity.${finding.severity}`), ": "),
        worded(finding, "says")),
      el("p", { class: "do" }, worded(finding, "do"))));
}

// The server's sentences are English and hold the figures; the page has its own in other languages.
function worded(finding, part) {
  const key = `finding.${finding.code}.${part}`;
  return language() !== "en" && has(key) ? t(key) : finding[part];
}

const level = (value, unit) => (Number.isFinite(value) ? `${Math.round(value)} ${unit}` : "–");
