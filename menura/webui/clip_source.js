// Where a recording comes from: dropped on the page, chosen as a file, or spoken into the microphone.

import { button, el, fill, icon } from "./dom.js";
import { canRecord, startRecording } from "./recorder.js";
import { clock, t } from "./words.js";

const ACCEPTED = "audio/*,video/*,.wav,.flac,.mp3,.m4a,.ogg,.opus,.webm,.mp4";

/**
 * `node`: the place to drop a file on, with its buttons; `stop()`: frees the microphone. `given`
 * gets the file, and the text that was read aloud, "" where that is not known. `failed` gets words.
 */
export function clipSource({ sentence, given, failed }) {
  const node = el("div", { class: "clip-source" });
  let recording = null;

  const file = el("input", {
    type: "file", accept: ACCEPTED, class: "unseen", tabindex: "-1", "aria-hidden": "true",
    data: { role: "clip" }, on: { change: () => take(file.files) },
  });
  const take = (files) => {
    if (files.length) given(files[0], "");
    file.value = "";
  };

  function waiting() {
    recording = null;
    fill(node,
      el("div", { class: "drop-words" },
        icon("upload", 28),
        el("p", { class: "lead" }, t("add.drop")),
        el("p", { class: "help" }, t("add.drop_help"))),
      el("div", { class: "buttons" },
        button(t("add.choose"), () => file.click(), { kind: "plain", icon: "upload" }),
        canRecord() && button(t("add.record"), record, { kind: "plain", icon: "microphone" })),
      !canRecord() && el("p", { class: "help" }, t("record.unsafe")),
      file);
  }

  async function record() {
    const time = el("output", { class: "time", "aria-live": "off" }, clock(0));
    const meter = el("meter", { min: "0", max: "1", low: "0.05", high: "0.98", optimum: "0.5", "aria-label": t("record.level") });
    const heard = (seconds, peak) => {
      time.value = clock(seconds);
      meter.value = Math.max(peak, meter.value * 0.94);
    };
    try {
      recording = await startRecording(heard);
    } catch (error) {
      failed(t(error.name === "NotAllowedError" ? "record.refused" : "record.none"));
      return;
    }
    const done = button(t("record.done"), finish, { kind: "primary", icon: "stop" });
    fill(node,
      el("div", { class: "reading" },
        el("p", { class: "help" }, t("record.read")),
        el("blockquote", {}, sentence())),
      el("div", { class: "recording", role: "status", "aria-label": t("record.running") },
        el("span", { class: "dot" }), time, meter),
      el("div", { class: "buttons" }, done, button(t("word.cancel"), stop, { kind: "quiet" })));
    done.focus();
  }

  async function finish() {
    const read = sentence();
    const made = await recording.stop();
    waiting();
    given(new File([made], "microphone.wav", { type: made.type }), read);
  }

  function stop() {
    recording?.cancel();
    waiting();
  }

  dropping(node, take);
  waiting();
  return { node, stop: () => recording?.cancel() };
}

/** Lets files be dropped on a node: `take` gets their list. */
export function dropping(node, take) {
  const over = (isOver) => (event) => {
    event.preventDefault();
    node.classList.toggle("over", isOver);
  };
  node.addEventListener("dragover", over(true));
  node.addEventListener("dragleave", over(false));
  node.addEventListener("drop", (event) => {
    over(false)(event);
    take(event.dataTransfer.files);
  });
}
