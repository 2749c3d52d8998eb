// The server's voices as the page asks for them.

import { blob, form, get, patch, remove } from "./api.js";
import { forget } from "./catalogue.js";
import { about } from "./file_errors.js";

const at = (voice, rest = "") => `/v1/voices/${encodeURIComponent(voice.id)}${rest}`;

/**
 * The voices: { library: kept ones, presets: those of models, broken: what could not be read }.
 * A kept one has `calls` too: what the Speak screen calls it, by model.
 */
export async function allVoices({ signal, mayManage }) {
  const [list, broken] = await Promise.all([
    get("/v1/voices", { signal }),
    mayManage ? get("/v1/voices/broken", { signal }) : { data: [] },
  ]);
  const presets = list.data.filter((one) => one.category === "premade");
  const library = (list.library ?? []).map((voice) => ({ ...voice, calls: callsOf(voice, list) }));
  return { library, presets, broken: broken.data };
}

const callsOf = (voice, { data }) => Object.fromEntries(
  data.filter((one) => one.voice?.id === voice.id).map((one) => [one.model, one.id]));

/** The smallest model that could be fetched to speak with any voice, null where there is none. */
export async function modelToFetch(signal) {
  const { data } = await get("/v1/store/models", { signal });
  const able = data.filter((model) => !model.is_complete && model.capabilities.includes("clone"));
  return able.sort((a, b) => a.download_bytes - b.download_bytes)[0] ?? null;
}

/** Whether any model here can speak with a voice. */
export const isSpeakable = ({ fits }) => fits.some((fit) => fit.usable);

/** Whether the server can write down what a recording says. */
export const canTranscribe = async (signal) => (
  Boolean((await get("/v1/voices", { signal })).can_transcribe));

/** Where the Speak screen starts with a voice of a model, by what the server calls it. */
export const speakWith = (call, model) => (
  `speak?voice=${encodeURIComponent(call)}&model=${encodeURIComponent(model)}`);

/** The same for a kept voice: with the best model that can use it, or "speak" where none can. */
export function speakWithKept({ calls, fits }) {
  const best = fits.find((fit) => fit.usable && calls[fit.model]);
  return best ? speakWith(calls[best.model], best.model) : "speak";
}

/** The same for a voice that was just made. */
export async function speakWithNew(voice) {
  return speakWithKept({ ...voice, calls: callsOf(voice, await get("/v1/voices")) });
}

/** What the checks say of a clip, before anything is kept. */
export function checkClip({ file, transcript, language, transcribe }, options) {
  const given = { transcript, language, transcribe: transcribe && "true" };
  return about(file, () => (
    form("/v1/voices/check", filled({ audio_sample: file, ...given }), options)));
}

/** The new voice; fields as in `POST /v1/audio/voices`, empty ones are left out. */
export const makeVoice = (fields) => (
  changing(about(fields.audio_sample, () => form("/v1/audio/voices", filled(fields)))));

/** The voices in a `.voice.zip` or a saved voice. */
export const importVoices = async (file) => (
  (await changing(about(file, () => form("/v1/voices/import", filled({ file }))))).data);

export const editVoice = (voice, changes) => changing(patch(at(voice), changes));
export const removeVoice = (voice) => changing(remove(at(voice)));
export const exportVoice = (voice) => blob(at(voice, "/export"));
export const previewOf = (voice, options) => blob(at(voice, "/preview"), options);

// Other screens have read the voices: they read them anew.
async function changing(request) {
  const answer = await request;
  forget();
  return answer;
}

function filled(fields) {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined && value !== null && value !== "" && value !== false) {
      if (value instanceof File) data.append(name, value, value.name);
      else data.append(name, String(value));
    }
  }
  return data;
}
