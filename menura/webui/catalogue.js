// What the server can speak with: models, voices, and the models that it could fetch. Read once,
// and anew after `forget`.

import * as api from "./api.js";

let reading = null;

/** { models, voices, absent, longest }: see GET /v1/models, /v1/voices and /v1/store/models. */
export function catalogue() {
  reading ??= readAll().catch((error) => {
    reading = null;
    throw error;
  });
  return reading;
}

/** Nothing; voices or models changed, and Speak reads them when it is next shown. */
export function forget() {
  reading = null;
  window.dispatchEvent(new CustomEvent("menura:catalogue"));
}

async function readAll() {
  const [models, voices, stored] = await Promise.all([
    api.get("/v1/models"),
    api.get("/v1/voices"),
    storedModels(),
  ]);
  const served = models.data.filter(({ menura }) => menura);
  const names = new Set(models.data.map(({ id }) => id));
  return {
    models: served,
    voices: voices.data,
    longest: models.max_characters ?? Infinity, // of a text in one request
    absent: stored.filter((model) => model.state === "absent" && !names.has(model.name)),
  };
}

/** The models of the store; none where this server does not tell. */
async function storedModels() {
  try {
    return (await api.get("/v1/store/models")).data;
  } catch (error) {
    if (error instanceof api.ApiError) return [];
    throw error;
  }
}

/** The voices of a model: { own: from the library or a file, presets: its own }. */
export function voicesOf({ voices }, model) {
  const here = voices.filter((voice) => voice.model === model);
  return {
    own: here.filter(({ category }) => category === "cloned"),
    presets: here.filter(({ category }) => category !== "cloned"),
  };
}

/** Whether a model follows a style, and whether the words make the voice itself. */
export const takesStyle = ({ menura }) => menura.capabilities.includes("instruct");
export const designs = ({ menura }) => menura.capabilities.includes("design");
