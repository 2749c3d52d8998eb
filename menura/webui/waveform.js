// The waveform of a take on a canvas, for it grows while samples come: peaks, marks between
// segments and a position. It is a slider, by pointer and by keys.

import { el } from "./dom.js";
import { clock, t } from "./words.js";

const STEP_S = 2;
const PAGE_S = 10;
const BAR = 2; // CSS pixels; and so wide is the gap
const BINS_PER_S = 100;
const SLIDER = {
  role: "slider",
  tabindex: "0",
  "aria-valuemin": "0",
  "aria-valuemax": "0",
  "aria-valuenow": "0",
};

/**
 * { element, setSamples, addSamples, reset, setMarks, setPosition, destroy }; marks are
 * { start, end } in seconds, and `onSeek(seconds)` is called when a person goes somewhere.
 */
export function createWaveform({ label, onSeek, id = null }) {
  const canvas = el("canvas", { "aria-hidden": "true" });
  const element = el("div", { class: "waveform", id, "aria-label": label, ...SLIDER }, canvas);
  const shown = { peaks: [], seconds: 0, marks: [], position: 0 };
  const live = newLive();
  let due = 0;

  function draw() {
    due ||= requestAnimationFrame(() => {
      due = 0;
      paint(canvas, element, shown);
    });
  }
  function setPeaks(peaks, seconds) {
    Object.assign(shown, { peaks, seconds });
    element.setAttribute("aria-valuemax", seconds.toFixed(1));
    draw();
  }
  function addSamples(samples, rate) {
    gather(live, samples, rate);
    setPeaks(live.peaks, live.n / rate);
  }
  function reset() {
    Object.assign(live, newLive());
    Object.assign(shown, { marks: [], position: 0 });
    setPeaks([], 0);
    setPosition(0);
  }
  function setSamples(samples, rate) {
    Object.assign(live, newLive());
    addSamples(samples, rate);
  }
  function setPosition(seconds) {
    shown.position = seconds;
    element.setAttribute("aria-valuenow", seconds.toFixed(1));
    element.setAttribute(
      "aria-valuetext",
      t("player.position", { at: clock(seconds), of: clock(shown.seconds) }),
    );
    draw();
  }
  steer(element, shown, onSeek);
  const watch = new ResizeObserver(draw);
  watch.observe(element);
  const looks = matchMedia("(prefers-color-scheme: dark)");
  looks.addEventListener("change", draw);
  window.addEventListener("menura:theme", draw);
  setPosition(0);

  return {
    element,
    setSamples,
    addSamples,
    reset,
    setPosition,
    setMarks(marks) {
      shown.marks = marks;
      draw();
    },
    destroy() {
      watch.disconnect();
      cancelAnimationFrame(due);
      looks.removeEventListener("change", draw);
      window.removeEventListener("menura:theme", draw);
    },
  };
}

const newLive = () => ({ peaks: [], n: 0, open: 0, filled: 0 });

/** Nothing; the loudest sample of each hundredth of a second is kept as samples come. */
function gather(live, samples, rate) {
  const bin = Math.max(1, Math.round(rate / BINS_PER_S));
  for (let i = 0; i < samples.length; i += 1) {
    live.open = Math.max(live.open, Math.abs(samples[i]));
    live.filled += 1;
    if (live.filled === bin) {
      live.peaks.push(Math.min(1, live.open));
      live.open = live.filled = 0;
    }
  }
  live.n += samples.length;
}

function steer(element, shown, onSeek) {
  const go = (seconds) => onSeek(Math.max(0, Math.min(shown.seconds, seconds)));
  const at = (event) => {
    const box = element.getBoundingClientRect();
    return ((event.clientX - box.left) / box.width) * shown.seconds;
  };
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !shown.seconds) return;
    element.setPointerCapture(event.pointerId);
    go(at(event));
  });
  element.addEventListener("pointermove", (event) => {
    if (element.hasPointerCapture(event.pointerId)) go(at(event));
  });
  const keys = {
    ArrowRight: STEP_S,
    ArrowUp: STEP_S,
    ArrowLeft: -STEP_S,
    ArrowDown: -STEP_S,
    PageUp: PAGE_S,
    PageDown: -PAGE_S,
    Home: -Infinity,
    End: Infinity,
  };
  element.addEventListener("keydown", (event) => {
    if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    go(shown.position + keys[event.key]);
  });
}

function paint(canvas, element, shown) {
  const { width, height } = element.getBoundingClientRect();
  if (!width || !height) return;
  const dense = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * dense);
  canvas.height = Math.round(height * dense);
  const pen = canvas.getContext("2d");
  pen.scale(dense, dense);
  const look = getComputedStyle(element);
  const colour = (name) => look.getPropertyValue(name).trim();
  const x = (seconds) => (shown.seconds ? (seconds / shown.seconds) * width : 0);
  paintBars(pen, shown, { width, height, colour });
  paintMarks(pen, shown.marks, x, height, colour("--line-strong"));
  if (shown.position > 0 && shown.seconds) {
    pen.fillStyle = colour("--accent");
    pen.fillRect(Math.min(width - 2, x(shown.position)), 0, 2, height);
  }
}

function paintBars(pen, shown, { width, height, colour }) {
  const nBars = Math.floor(width / (2 * BAR));
  const perBar = shown.peaks.length / nBars;
  const scale = 0.92 / Math.max(0.15, loudest(shown.peaks));
  const played = shown.seconds ? (shown.position / shown.seconds) * width : 0;
  for (let bar = 0; bar < nBars; bar += 1) {
    const from = Math.floor(bar * perBar);
    const to = Math.max(from + 1, Math.floor((bar + 1) * perBar));
    let peak = 0;
    for (let i = from; i < to && i < shown.peaks.length; i += 1)
      peak = Math.max(peak, shown.peaks[i]);
    const left = bar * 2 * BAR;
    const tall = Math.max(2, peak * scale * height);
    pen.fillStyle = colour(left < played ? "--accent" : "--wave");
    pen.fillRect(left, (height - tall) / 2, BAR, tall);
  }
}

function loudest(peaks) {
  let most = 0;
  for (const peak of peaks) most = Math.max(most, peak);
  return most;
}

/** Small ticks at the foot, where a segment begins. */
function paintMarks(pen, marks, x, height, ink) {
  pen.fillStyle = ink;
  for (const { start } of marks.slice(1))
    pen.fillRect(Math.round(x(start)) - 2, height - 10, 1, 10);
}
