// How far a download or a check of a model's files is, and a button that ends it.

import { button, el } from "./dom.js";
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

function phase(job) {
  if (has(`phase.${job.phase}`)) return t(`phase.${job.phase}`);
  return job.phase || t(`job.${job.kind}`, { model: job.model });
}
