// What is wrong with a file that a person chose: sentences about the file, by the name it has.

import { ApiError } from "./api.js";
import { inSentence } from "./error_words.js";
import { has, t } from "./words.js";

const FIELDS = ["audio_sample", "file", "clip", "recording"]; // what the API calls the file

/** What `send` gives for the file. Throws: ApiError whose sentence is about the file; AbortError. */
export async function about(file, send) {
  if (!file.size) throw new ApiError(t("file.empty", { name: file.name }));
  try {
    return await send(file);
  } catch (error) {
    throw error instanceof ApiError ? worded(error, file) : error;
  }
}

function worded(error, { name }) {
  const key = `file.${error.code}`;
  const isOfFile = !error.param || FIELDS.includes(error.param);
  if (isOfFile && has(key)) return new ApiError(t(key, { name }), error);
  if (!isOfFile || !error.said) return error;
  const subject = t("file.named", { name });
  return new ApiError(inSentence(error.said, error.param, subject), error);
}
