// A still picture of a clip: its peaks, the stretches that were found fault with, and how far it
// has been played. It is drawn as SVG, so the theme's colours hold without drawing it anew.

import { freshId } from "./dom.js";

const HEIGHT = 100;
const STEP = 4;  // the width of a bar and its gap

/** The kind of a stretch that will be left out. */
export const CUT = "cut";

/**
 * `node`: the picture; `progress(0..1)`: shows what was played. `spans`: `{from, to, kind}`
 * with places from 0 to 1; `kind` is a finding's severity or CUT.
 */
export function wavePicture(peaks, { label, spans = [] }) {
  const width = peaks.length * STEP;
  const clip = freshId("played");
  const bars = peaks.map((peak, i) => bar(i * STEP + STEP / 2, Math.max(1.5, peak * 46))).join("");
  const played = shape("rect", { x: 0, y: 0, width: 0, height: HEIGHT });
  const node = shape("svg", {
    class: "wave", viewBox: `0 0 ${width} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": label,
  },
    shape("clipPath", { id: clip }, played),
    ...spans.filter(({ kind }) => kind !== CUT).map((span) => marked(span, width)),
    shape("path", { class: "bars", d: bars }),
    shape("path", { class: "bars played", d: bars, "clip-path": `url(#${clip})` }),
    ...spans.filter(({ kind }) => kind === CUT).map((span) => marked(span, width)));
  return { node, progress: (part) => played.setAttribute("width", width * part) };
}

/** The highest level of each of `count` equal stretches of samples, the loudest being 1. */
export function peaksOf(samples, count) {
  const size = samples.length / count;
  const peaks = Array.from({ length: count }, (_, i) => {
    let peak = 0;
    for (let at = Math.floor(i * size); at < Math.floor((i + 1) * size); at += 1) {
      peak = Math.max(peak, Math.abs(samples[at]));
    }
    return peak;
  });
  const loudest = Math.max(...peaks, 1e-6);
  return peaks.map((peak) => peak / loudest);
}

/** Fewer peaks, for a narrow picture: the highest of each run. */
export function thinned(peaks, count) {
  return peaks.length <= count ? peaks : peaksOf(peaks, count);
}

const bar = (x, half) => `M${x} ${(HEIGHT / 2 - half).toFixed(1)}v${(half * 2).toFixed(1)}`;

function marked({ from, to, kind }, width) {
  const wide = Math.max(2, (to - from) * width);
  return shape("rect", { class: `span ${kind}`, x: from * width, y: 0, width: wide, height: HEIGHT });
}

function shape(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
