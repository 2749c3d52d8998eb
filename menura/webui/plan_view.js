// What would happen, before it does: how many segments, how long, what would have no effect. The
// server is asked when the person stops typing for a moment.

import * as api from "./api.js";
import { el, fill, icon } from "./dom.js";
import { partsOf } from "./long_text.js";
import { span, t } from "./words.js";

const PAUSE_MS = 400;
let isServed = true; // until a server says that it makes no plans

/**
 * { element, ask(text, body, longest), plan }: `ask` with a null body only counts; of a text that is
 * longer than `longest` the first part is planned, and the rest is like it. `refused(error)` is told.
 */
export function planView({ refused }) {
  const element = el("p", { class: "plan", id: "plan", role: "status" });
  const view = { element, plan: null, ask };
  let timer = 0;
  let abort = null;

  function ask(text, body, longest) {
    clearTimeout(timer);
    abort?.abort();
    refused(null);
    if (!text.trim()) {
      view.plan = null;
      return fill(element);
    }
    if (!body || !isServed) return show(text, null);
    timer = setTimeout(() => fetchPlan(text, body, longest), PAUSE_MS);
  }

  async function fetchPlan(text, body, longest) {
    abort = new AbortController();
    const parts = partsOf(text, longest);
    const input = parts[0].text;
    try {
      const plan = await api.post("/v1/audio/plan", { input, ...body }, { signal: abort.signal });
      show(text, { ...plan, n_parts: parts.length, expected_s: (plan.expected_s * text.length) / input.length });
    } catch (error) {
      if (api.isAbort(error)) return;
      if (error.isMissingRoute) isServed = false;
      else if (error.status >= 400 && error.status < 500) refused(error);
      show(text, null);
    }
  }

  function show(text, plan) {
    view.plan = plan;
    const count = [...text].length;
    const facts = plan
      ? [
          t("plan.length", { span: span(plan.expected_s) }),
          plan.n_parts > 1
            ? t("plan.parts", { n: plan.n_parts })
            : plan.segments.length > 1 && t("plan.segments", { n: plan.segments.length }),
        ]
      : [];
    const words = [...facts, t("plan.characters", { n: count })].filter(Boolean).join(" · ");
    const ignored = plan?.ignored ?? [];
    fill(
      element,
      el("span", {}, words),
      ignored.length > 0 &&
        el(
          "span",
          { class: "ignored" },
          icon("info", 16),
          t("plan.ignored", { names: ignored.join(", ") }),
        ),
    );
  }

  return view;
}
