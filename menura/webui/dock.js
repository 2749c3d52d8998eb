// The player at the foot of the page: play, a waveform to go by, times, how fast the take was made,
// and what can be done with it. It shows whatever the studio holds, on every screen.

import { button, el, fill, icon } from "./dom.js";
import { downloadMenu } from "./downloads.js";
import { watchMaking } from "./making.js";
import { toast } from "./notices.js";
import { showRequest } from "./request_text.js";
import { studio } from "./studio.js";
import { marksOf } from "./take.js";
import { factsOf } from "./take_facts.js";
import { createWaveform } from "./waveform.js";
import { clock, t } from "./words.js";

/** Builds the dock in its place; { destroy }. `needsKey`: whether requests to the server do. */
export function buildDock(place, { needsKey }) {
  const { player } = studio;
  const wave = createWaveform({
    label: t("player.position_label"),
    id: "position",
    onSeek: (seconds) => player.seek(seconds),
  });
  const play = button("", () => player.toggle(), {
    kind: "primary",
    icon: "play",
    label: t("player.play"),
    id: "play",
  });
  const at = el("span", { class: "numbers at" });
  const of = el("span", { class: "numbers of" });
  const title = el("p", { class: "dock-title" });
  const facts = el("p", { class: "dock-facts numbers" });
  const download = downloadMenu(() => studio.take);
  const request = button("", () => showRequest(studio.take, needsKey), {
    kind: "quiet",
    icon: "code",
    label: t("request.title"),
    id: "copy-request",
  });
  const element = el(
    "section",
    { class: "dock", id: "dock", "aria-label": t("player.label") },
    play,
    el(
      "div",
      { class: "dock-main" },
      el("div", { class: "dock-line" }, title, facts),
      el("div", { class: "dock-wave" }, at, wave.element, of),
    ),
    el("div", { class: "dock-tools" }, download.element, request),
  );
  element.addEventListener("keydown", (event) => {
    if (event.key !== " " || event.target !== wave.element) return;
    event.preventDefault();
    player.toggle();
  });

  function drawTake() {
    const { take } = studio;
    if (studio.live || !take) return drawLive();
    wave.setSamples(take.samples, take.rate);
    wave.setMarks(marksOf(take));
    drawTitle(take.voice, take.text);
    fill(
      facts,
      factsOf(take).map((fact) => el("span", {}, fact)),
    );
    drawState();
  }

  let endWatch = () => {};
  function drawLive() {
    endWatch();
    if (studio.live) {
      wave.reset();
      drawTitle(studio.live.voice, studio.live.text);
      const making = el("span", { class: "making" });
      fill(facts, making);
      endWatch = watchMaking(studio.live, player, (words) => (making.textContent = words));
    } else if (studio.take) {
      return drawTake();
    } else {
      wave.reset();
      fill(title, t("player.empty"));
      fill(facts);
    }
    drawState();
  }

  function drawTitle(voice, text) {
    fill(title, voice && el("strong", {}, voice), el("span", {}, text.trim().slice(0, 160)));
  }

  function drawState() {
    const { state } = player;
    const runs = state === "playing" || state === "buffering";
    fill(play, icon(runs ? "pause" : "play"));
    const label = t(runs ? "player.pause" : "player.play");
    play.setAttribute("aria-label", label);
    play.title = label;
    play.disabled = !player.n && !runs;
    element.dataset.state = state;
    const whole = studio.take && !studio.live;
    download.opener.disabled = request.disabled = !whole;
    element.classList.toggle("is-empty", !studio.take && !studio.live);
    place.classList.toggle("has-sound", Boolean(studio.take || studio.live));
    drawPosition();
  }

  function drawPosition() {
    at.textContent = clock(player.position);
    of.textContent = clock(player.seconds);
    wave.setPosition(player.position);
  }

  function hear({ detail }) {
    wave.addSamples(detail, studio.live.rate);
    of.textContent = clock(player.seconds);
  }

  const failed = () => toast(t("player.failed"), { kind: "bad" });
  const ties = [
    [studio, "take", drawTake],
    [studio, "live", drawLive],
    [studio, "audio", hear],
    [player, "state", drawState],
    [player, "position", drawPosition],
    [player, "failure", failed],
  ];
  for (const [source, name, listener] of ties) source.addEventListener(name, listener);
  place.replaceChildren(element);
  drawTake();
  return {
    destroy() {
      endWatch();
      for (const [source, name, listener] of ties) source.removeEventListener(name, listener);
      wave.destroy();
    },
  };
}
