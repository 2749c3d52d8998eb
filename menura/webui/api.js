// Speaks with the server: JSON, forms, files and server-sent events. What goes wrong becomes an
// ApiError whose message is a sentence for people.

import { sentenceOf } from "./error_words.js";
import { t } from "./words.js";

/**
 * What the server, or the way to it, refused. `status` is 0 where no answer came; `said` is the
 * server's own message.
 */
export class ApiError extends Error {
  constructor(message, { status = 0, code = "", param = null, said = "", retryAfter = null } = {}) {
    super(message);
    this.name = "ApiError";
    Object.assign(this, { status, code, param, said, retryAfter });
  }

  /** Whether this server does not have what was asked for at all (an older one). */
  get isMissingRoute() {
    return this.status === 405 || (this.status === 404 && this.code === "no_such_path");
  }
}

/** Whether an error only says that the caller gave up. */
export const isAbort = (error) => error?.name === "AbortError";

/** The error as a sentence; the page never shows a stack or a bare "undefined". */
export const inWords = (error) =>
  error instanceof ApiError ? error.message : t("error.unexpected", { what: error?.message ?? "" });

export const get = (path, options) => json("GET", path, undefined, options);
export const post = (path, body, options) => json("POST", path, body, options);
export const patch = (path, body, options) => json("PATCH", path, body, options);
export const remove = (path, options) => json("DELETE", path, undefined, options);

/** The JSON of an answer (null where it has none). Throws: ApiError, AbortError. */
export async function json(method, path, body, options = {}) {
  const answer = await send(method, path, { ...asJson(body), ...options });
  const text = await answer.text();
  return text ? parsed(text) : null;
}

/** The JSON of the answer to a multipart form. Throws: ApiError, AbortError. */
export async function form(path, data, options = {}) {
  const answer = await send("POST", path, { body: data, ...options });
  return parsed(await answer.text());
}

/** The bytes of an answer, as a Blob. Throws: ApiError, AbortError. */
export async function blob(path, { method = "GET", body, type, signal } = {}) {
  const headers = type ? { "content-type": type } : {};
  return (await send(method, path, { body, headers, signal })).blob();
}

/**
 * The events of an answer to JSON, one after another, each as its JSON. Throws: ApiError: the
 * answer was an error, carried one as an event, or was cut; AbortError.
 */
export async function* events(path, body, { signal } = {}) {
  const answer = await send("POST", path, { ...asJson(body), signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const event = eventOf(block);
        if (event) yield event;
      }
    }
  } catch (error) {
    if (error instanceof ApiError || isAbort(error)) throw error;
    throw new ApiError(t("error.cut"));
  } finally {
    reader.cancel().catch(() => {});
  }
}

function eventOf(block) {
  const data = block
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).trim())
    .join("\n");
  if (!data || data === "[DONE]") return null;
  const event = parsed(data);
  if (event.type === "error") throw errorOf(event.error, 200);
  return event;
}

async function send(method, path, { signal, ...rest }) {
  let answer;
  try {
    answer = await fetch(path, { method, signal, credentials: "same-origin", ...rest });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError(t("error.offline"));
  }
  if (answer.ok) return answer;
  if (answer.status === 401) window.dispatchEvent(new CustomEvent("menura:signed-out"));
  const given = await answer.json().catch(() => null);
  throw errorOf(given?.error, answer.status, answer.headers.get("retry-after"));
}

function errorOf(error, status, retryAfter = null) {
  const { code = "", param = null, message: said = "" } = error ?? {};
  return new ApiError(sentenceOf(error, status), { status, code, param, said, retryAfter });
}

function asJson(body) {
  if (body === undefined) return {};
  return { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
}

/** The value of a JSON text. Seeds beyond 2^53 stay exact: they are read as texts. */
export function parsed(text) {
  const exact = (whole, name, digits) =>
    Number.isSafeInteger(Number(digits)) ? whole : `${name}"${digits}"`;
  return JSON.parse(text.replace(/("seed":\s*)(\d{16,})/g, exact));
}
