// The same take as a request: for a terminal and for Python, ready to copy. The key is never in it.

import { button, el } from "./dom.js";
import { openDialog } from "./dialogs.js";
import { copy } from "./notices.js";
import { t } from "./words.js";

/** The request as a command for curl; a quote inside the JSON is one for the shell too. */
export function curlOf(body, origin, { needsKey = true } = {}) {
  const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
  return [
    `curl ${origin}/v1/audio/speech \\`,
    ...(needsKey ? ['  -H "Authorization: Bearer $MENURA_KEY" \\'] : []),
    '  -H "Content-Type: application/json" \\',
    `  -d '${json}' \\`,
    "  --output speech.mp3",
  ].join("\n");
}

/** The request with OpenAI's own client: Menura's fields go along in extra_body. */
export function pythonOf(body, origin, { needsKey = true } = {}) {
  const { model, voice, input, instructions, speed, response_format: format, ...extra } = body;
  const known = { model, voice: voice ?? "", input, instructions, speed, response_format: format };
  const lines = Object.entries(known)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `    ${name}=${literal(value)},`);
  if (Object.keys(extra).length) lines.push(`    extra_body=${literal(extra)},`);
  const key = needsKey ? 'os.environ["MENURA_KEY"]' : '"none"';
  return [
    ...(needsKey ? ["import os"] : []),
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url="${origin}/v1", api_key=${key})`,
    "with client.audio.speech.with_streaming_response.create(",
    ...lines,
    ") as speech:",
    '    speech.stream_to_file("speech.mp3")',
  ].join("\n");
}

/** A value as Python writes it. */
function literal(value) {
  if (value === true) return "True";
  if (value === false) return "False";
  if (value === null) return "None";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value)
      .map(([key, entry]) => `${literal(key)}: ${literal(entry)}`)
      .join(", ")}}`;
  }
  return JSON.stringify(value); // texts and numbers are written alike
}

/**
 * The body that makes the same audio again, or the first part of it where the text was too long for
 * one request; each segment that was made anew has its own seed.
 */
export function bodyOf(take) {
  const seed = Number.isSafeInteger(take.seed) ? { seed: take.seed } : {};
  return { ...take.asked, input: take.n_parts > 1 ? take.first_part : take.text, ...seed, response_format: "mp3" };
}

/** Nothing; a dialog shows the request in both ways, with a key where the server wants one. */
export function showRequest(take, needsKey) {
  const body = bodyOf(take);
  const texts = {
    curl: curlOf(body, location.origin, { needsKey }),
    python: pythonOf(body, location.origin, { needsKey }),
  };
  const code = el("code", {});
  const block = el(
    "pre",
    {
      class: "code-block",
      id: "request-text",
      role: "tabpanel",
      tabindex: "0",
      "aria-label": t("request.title"),
    },
    code,
  );
  const tabs = Object.keys(texts).map((name) =>
    el(
      "button",
      {
        type: "button",
        role: "tab",
        id: `request-${name}`,
        "aria-controls": "request-text",
        on: { click: () => show(name), keydown: step },
      },
      t(`request.${name}`),
    ),
  );
  let shown = "curl";
  function show(name) {
    shown = name;
    code.textContent = texts[name];
    for (const tab of tabs) {
      const isIt = tab.id === `request-${name}`;
      tab.setAttribute("aria-selected", String(isIt));
      tab.tabIndex = isIt ? 0 : -1;
    }
  }
  function step(event) {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const other = tabs.find((tab) => tab !== event.currentTarget);
    other.click();
    other.focus();
  }
  show("curl");
  openDialog({
    title: t("request.title"),
    wide: true,
    id: "request",
    content: [
      el("div", { class: "tabs", role: "tablist", "aria-label": t("request.title") }, tabs),
      block,
      el(
        "p",
        { class: "help" },
        t(needsKey ? "request.help" : "request.help_keyless"),
        take.n_parts > 1 && ` ${t("request.parts", { n: take.n_parts })}`,
        take.segments.some(({ remade }) => remade) && ` ${t("request.remade")}`,
      ),
    ],
    actions: [
      button(t("request.copy"), () => copy(texts[shown]), { kind: "primary", id: "request-copy" }),
    ],
  });
}
