// Plays one clip at a time: a button that starts and stops it, and says how far it is.

import { button, icon, fill } from "./dom.js";
import { t } from "./words.js";

let sounding = null;

/**
 * A button that plays what `source()` gives (a URL, perhaps later) and stops it again. `name` is
 * what the clip is called; `progress(0..1)` is told how far it is, 0 when it ends.
 */
export function playButton(name, source, { progress = () => {}, failed = () => {}, kind = "plain" } = {}) {
  const node = button("", toggle, { kind: `${kind} round`, icon: "play", label: t("clip.play", { name }) });
  const audio = new Audio();
  audio.preload = "none";
  let frame = 0;

  const show = (isPlaying) => {
    fill(node, icon(isPlaying ? "stop" : "play"));
    const label = t(isPlaying ? "clip.stop" : "clip.play", { name });
    node.setAttribute("aria-label", label);
    node.title = label;
  };
  const follow = () => {
    progress(audio.duration ? audio.currentTime / audio.duration : 0);
    frame = requestAnimationFrame(follow);
  };
  const end = () => {
    cancelAnimationFrame(frame);
    audio.pause();
    progress(0);
    show(false);
    if (sounding === end) sounding = null;
  };
  audio.addEventListener("ended", end);

  async function toggle() {
    if (sounding === end) return end();
    sounding?.();
    sounding = end;
    show(true);
    try {
      audio.src ||= await source();
      audio.currentTime = 0;
      if (sounding !== end) return undefined;  // another clip was started meanwhile
      await audio.play();
      if (sounding === end) follow();
    } catch (error) {
      if (error.name !== "AbortError") failed(error);
      end();
    }
    return undefined;
  }
  return node;
}

/** Nothing; whatever clip sounds falls silent, as when the screen is left. */
export const silence = () => sounding?.();
