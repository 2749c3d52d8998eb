// Speaks a text: asks the server, hands the audio to the player as it comes, and makes a take of
// what came. One segment can be spoken anew and put in its place.

import * as api from "./api.js";
import { toast } from "./notices.js";
import { studio } from "./studio.js";
import { drawnSeed, floatsOf, freshTakeId, joined, segmentsOf, spliced } from "./take.js";
import { keep } from "./takes_store.js";
import { t } from "./words.js";

const PATH = "/v1/audio/speech";
const AS_FLOATS = { response_format: "f32", stream_format: "sse" };

/**
 * The take of a text. `asked` is the request without its text; `rate` and `expected` (seconds) are
 * what is known before. Throws: ApiError; AbortError: `signal` ended it.
 */
export async function speak(text, asked, { rate, expected = 0, signal }) {
  const since = performance.now();
  const { player } = studio;
  player.stop();
  player.prepare(rate);
  studio.setLive({ text, voice: asked.voice ?? "", rate });
  const came = { chunks: [], begun: null, done: null, firstAt: null };
  try {
    for await (const event of api.events(
      PATH,
      { input: text, ...asked, ...AS_FLOATS },
      { signal },
    )) {
      take(event, came, { expected, since });
    }
    if (!came.done) throw new api.ApiError(t("error.cut"));
    const made = takeOf(text, asked, came, since);
    studio.complete(made);
    await keep(made);
    return made;
  } catch (error) {
    player.stop();
    if (studio.take) player.load(studio.take.samples, studio.take.rate); // the one before is still there
    throw error;
  } finally {
    studio.setLive(null);
  }
}

/** Nothing; one event of the answer is dealt with. */
function take(event, came, { expected, since }) {
  if (event.type === "menura.begun") {
    came.begun = event;
    studio.player.open(event.sample_rate_hz, { expected, asked: since });
    studio.live.rate = event.sample_rate_hz;
  } else if (event.type === "speech.audio.delta") {
    came.firstAt ??= performance.now();
    const samples = floatsOf(event.audio);
    came.chunks.push(samples);
    studio.hear(samples);
  } else if (event.type === "speech.audio.done") {
    came.done = event.menura;
    came.doneAt = performance.now();
  }
}

function takeOf(text, asked, came, since) {
  const samples = joined(came.chunks);
  const { done } = came;
  const seconds = samples.length / done.sample_rate_hz;
  return {
    id: freshTakeId(),
    made_on: new Date().toISOString(),
    text,
    asked,
    model: done.model,
    voice: done.voice ?? "",
    voice_id: done.applied?.voice_id ?? "",
    seed: done.seed,
    rate: done.sample_rate_hz,
    samples,
    segments: segmentsOf(done, samples.length),
    ignored: done.ignored ?? [],
    finish: done.finish,
    first_audio_s: (came.firstAt - since) / 1000,
    speed: seconds / Math.max(0.001, (came.doneAt - since) / 1000),
  };
}

/**
 * The take with one segment spoken anew, from a new seed, and shown; null where another take is
 * shown by now, or where the model speaks the same again. Throws: ApiError, AbortError.
 */
export async function remake(made, index, { signal }) {
  const seed = drawnSeed();
  const { text } = made.segments[index];
  const body = { ...made.asked, input: text, seed, split: false, ...AS_FLOATS };
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
