// Speaks a text: asks the server, hands the audio to the player as it comes, and makes a take of
// what came. A text that is too long for one request goes in parts. One segment can be spoken anew
// and put in its place.

import * as api from "./api.js";
import { partsOf } from "./long_text.js";
import { toast } from "./notices.js";
import { studio } from "./studio.js";
import { drawnSeed, floatsOf, joined, spliced, STOPPED, takeOf } from "./take.js";
import { keep } from "./takes_store.js";
import { t } from "./words.js";

const PATH = "/v1/audio/speech";
const AS_FLOATS = { response_format: "f32", stream_format: "sse" };
const BETWEEN_PARTS_S = 0.4; // the pause where a text was cut
const WORTH_KEEPING_S = 0.2;

/**
 * The take of a text. `asked` is the request without its text; `name` is the voice's; `rate`,
 * `expected` (seconds) and `longest` (characters of a request) are what is known before. Throws:
 * ApiError; AbortError: `signal` ended it. What had come by then is shown and kept all the same.
 */
export async function speak(text, asked, known) {
  const { name = "", rate, expected = 0, longest = Infinity, signal } = known;
  const since = performance.now();
  const { player } = studio;
  player.stop();
  player.prepare(rate);
  studio.setLive({ text, voice: name, model: asked.model, rate, since, expected });
  const { live } = studio;
  const came = { since, lastAt: since, firstAt: null, rate, parts: [], name };
  try {
    for (const part of partsOf(text, longest)) {
      if (came.parts.length) hear(new Float32Array(Math.round(BETWEEN_PARTS_S * came.rate)), came);
      await speakPart(part, asked, came, { expected, signal });
    }
    return await finished(takeOf(text, asked, came));
  } catch (error) {
    if (studio.live === live) await rescued(text, asked, came, error); // nobody signed out meanwhile
    throw error;
  } finally {
    studio.setLive(null);
  }
}

/** Nothing; one part is spoken, and what comes is in `came`. */
async function speakPart({ text, start }, asked, came, { expected, signal }) {
  const part = { text, start, chunks: [], done: null };
  came.parts.push(part);
  const body = { input: text, ...asked, ...AS_FLOATS };
  for await (const event of api.events(PATH, body, { signal })) {
    came.lastAt = performance.now();
    if (event.type === "menura.begun" && came.parts.length === 1) {
      came.rate = studio.live.rate = event.sample_rate_hz;
      studio.player.open(came.rate, { expected, asked: came.since });
    } else if (event.type === "speech.audio.delta") {
      came.firstAt ??= came.lastAt;
      hear(floatsOf(event.audio), came);
    } else if (event.type === "speech.audio.done") {
      part.done = event.menura;
    }
  }
  if (!part.done) throw new api.ApiError(t("error.cut"));
}

function hear(samples, { parts }) {
  parts.at(-1).chunks.push(samples);
  studio.hear(samples);
}

async function finished(take) {
  studio.complete(take);
  await keep(take);
  return take;
}

// What came before an end that nobody wanted, or that somebody did, is a take too.
async function rescued(text, asked, came, error) {
  const { player } = studio;
  const take = takeOf(text, asked, came);
  if (take.samples.length >= WORTH_KEEPING_S * take.rate) {
    if (api.isAbort(error)) player.pause();
    await finished(take);
  } else {
    player.stop();
    if (studio.take) player.load(studio.take.samples, studio.take.rate); // the one before is still there
  }
}

/**
 * The take with one segment spoken anew, from a new seed, and shown; null where another take is
 * shown by now, or where the model speaks the same again. Throws: ApiError, AbortError.
 */
export async function remake(made, index, { signal }) {
  const seed = drawnSeed();
  const { text, finish } = made.segments[index];
  const asOne = finish !== STOPPED && { split: false }; // what was stopped may be a whole text
  const body = { ...made.asked, input: text, seed, ...asOne, ...AS_FLOATS };
  const chunks = [];
  let done = null;
  for await (const event of api.events(PATH, body, { signal })) {
    if (event.type === "speech.audio.delta") chunks.push(floatsOf(event.audio));
    else if (event.type === "speech.audio.done") done = event.menura;
  }
  if (!done) throw new api.ApiError(t("error.cut"));
  if (studio.take?.id !== made.id) return null;
  const samples = joined(chunks);
  const { from, to } = studio.take.segments[index];
  if (isSame(samples, studio.take.samples.subarray(from, to))) {
    toast(t("take.same"));
    return null;
  }
  const changed = spliced(studio.take, index, samples, seed);
  studio.change(changed, changed.segments[index].from / changed.rate);
  studio.player.play();
  await keep(changed);
  return changed;
}

const isSame = (one, other) =>
  one.length === other.length && one.every((sample, i) => sample === other[i]);
