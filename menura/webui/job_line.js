// How far a download or a check of a model's files is, and a button that ends it; or why it failed.

import { button, el, icon } from "./dom.js";
import { bytes, has, t } from "./words.js";

/** The line of a running job. */
export function jobLine(job, cancel) {
  const isKnown = job.total_bytes > 0;
  const facts = isKnown
    ? t("job.of", { done: bytes(job.done_bytes), total: bytes(job.total_bytes) })
    : bytes(job.done_bytes ?? 0);
  const bar = el("progress", {
    max: isKnown ? job.total_bytes : null, value: isKnown ? job.done_bytes : undefined,
    "aria-label": t(`job.${job.kind}`, { model: job.model }),
  });
  if (!isKnown) bar.removeAttribute("value");
  return el("div", { class: "job-line" },
    el("p", { class: "facts" }, phase(job), " ", el("span", { class: "count" }, facts)),
    bar,
    button(t("word.cancel"), cancel, {
      kind: "quiet", icon: "close", data: { deed: "cancel" },
      label: t("job.cancel", { model: job.model }),
    }));
}

// What the programs that fetch say where no connection came to be.
const NO_NETWORK = /ConnectError|ConnectTimeout|NetworkError|Errno -[235]|resolve|unreachable|timed out/i;

/** Why a job failed, in its model's row until it is tried again or put away. */
export function failedLine(job, { again, dismiss }) {
  const { kind, model, message } = job;
  const why = NO_NETWORK.test(message) ? t("job.no_network") : t("job.kept");
  const named = (text, run, deed) => button(text, run, {
    kind: "quiet", data: { deed }, label: `${text}: ${model}`,
  });
  return el("div", { class: "job-failed error" },
    icon("warning", 18),
    el("div", {},
      el("p", {}, t(`job.${kind}_failed`, { model }), " ", kind === "pull" && why),
      message && el("details", {}, el("summary", {}, t("job.details")), el("p", { class: "help" }, message)),
      el("div", { class: "buttons" },
        named(t("error.again"), again, "again"), named(t("word.dismiss"), dismiss, "dismiss"))));
}

function phase(job) {
  if (has(`phase.${job.phase}`)) return t(`phase.${job.phase}`);
  return job.phase || t(`job.${job.kind}`, { model: job.model });
}
