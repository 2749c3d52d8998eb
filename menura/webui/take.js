// A take: one text that was spoken, as it is kept, shown and mended. Plain data and pure functions.
//
//     { id, made_on, text, asked, model, voice, seed, rate, samples: Float32Array,
//       segments: [{ text, start, end, from, to, seed, finish }], applied, ignored,
//       first_audio_s, speed }
//
// `asked` is the request's body without its text; `from` and `to` are places in the samples;
// `speed` is seconds of audio made in one second.

/** How a segment ended that was not spoken to its end. */
export const STOPPED = "stopped";

/** An id that no other take has. */
function freshTakeId() {
  const random = crypto.getRandomValues(new Uint32Array(2)); // randomUUID wants a secure context
  return `take_${Date.now().toString(36)}_${[...random].map((n) => n.toString(36)).join("")}`;
}

/** A seed that was drawn here: exact as a number of this language. */
export function drawnSeed() {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high % 2 ** 20) * 2 ** 32 + low;
}

/** The length in seconds. */
export const secondsOf = (take) => take.samples.length / take.rate;

/**
 * The take of what came: `came.parts` are requests one after another, each with its text, its
 * chunks of samples, and its outcome, or null where it did not come to its end.
 */
export function takeOf(text, asked, came) {
  const samples = joined(came.parts.flatMap(({ chunks }) => chunks));
  const done = came.parts.find((part) => part.done)?.done;
  const isWhole = came.parts.every((part) => part.done);
  const work = (came.lastAt - came.since) / 1000;
  return {
    id: freshTakeId(),
    made_on: new Date().toISOString(),
    text,
    asked,
    n_parts: came.parts.length,
    first_part: came.parts[0]?.text ?? text,
    model: done?.model ?? asked.model,
    voice: done ? (done.voice ?? "") : came.name,
    voice_id: done?.applied?.voice_id ?? "",
    seed: done?.seed ?? null,
    rate: came.rate,
    samples,
    segments: segmentsOfParts(came.parts),
    ignored: done?.ignored ?? [],
    finish: isWhole ? done.finish : STOPPED,
    first_audio_s: ((came.firstAt ?? came.lastAt) - came.since) / 1000,
    speed: samples.length / came.rate / Math.max(0.001, work),
  };
}

function segmentsOfParts(parts) {
  let at = 0;
  return parts.flatMap((part) => {
    const n = part.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    const own = part.done ? segmentsOf(part.done, n) : unfinished(part, n);
    const from = at;
    at += n;
    return own.map((segment) => ({
      ...segment,
      start: segment.start + part.start,
      end: segment.end + part.start,
      from: segment.from + from,
      to: segment.to + from,
    }));
  });
}

function unfinished({ text }, n) {
  const whole = { text, start: 0, end: [...text].length };
  return n ? [{ ...whole, from: 0, to: n, seed: null, finish: STOPPED }] : [];
}

/** The segments of an outcome (`menura.segments`), with places in the samples. */
function segmentsOf(outcome, nSamples) {
  return outcome.segments.map((segment) => ({
    text: segment.text,
    start: segment.start,
    end: segment.end,
    from: Math.min(segment.sample_start, nSamples),
    to: Math.min(segment.sample_end, nSamples),
    seed: segment.seed,
    finish: segment.finish,
  }));
}

/** The segments' places in seconds. */
export const marksOf = (take) =>
  take.segments.map(({ from, to }) => ({ start: from / take.rate, end: to / take.rate }));

/** The number of the segment that is heard at a moment; the one before it in a pause. */
export function segmentAt(take, seconds) {
  const place = seconds * take.rate;
  return Math.max(
    0,
    take.segments.findLastIndex(({ from }) => from <= place),
  );
}

/**
 * The take with one segment spoken anew. What comes before and after stays sample for sample, the
 * pause behind the segment too; later segments only move.
 */
export function spliced(take, index, samples, seed) {
  const old = take.segments[index];
  const shift = samples.length - (old.to - old.from);
  const joined = new Float32Array(take.samples.length + shift);
  joined.set(take.samples.subarray(0, old.from), 0);
  joined.set(samples, old.from);
  joined.set(take.samples.subarray(old.to), old.from + samples.length);
  const segments = take.segments.map((segment, at) => {
    if (at < index) return segment;
    if (at === index) return { ...segment, to: old.from + samples.length, seed, remade: true };
    return { ...segment, from: segment.from + shift, to: segment.to + shift };
  });
  return { ...take, samples: joined, segments };
}

/** Many chunks as one run of samples. */
export function joined(chunks) {
  const whole = new Float32Array(chunks.reduce((n, chunk) => n + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** The samples of base64 that carries float32, little-endian. */
export function floatsOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  return new Float32Array(bytes.buffer, 0, Math.floor(bytes.length / 4));
}

/** The samples as 16-bit whole numbers: half the room in the browser's store. */
export function shortsOf(samples) {
  const shorts = new Int16Array(samples.length);
  for (let i = 0; i < samples.length; i += 1) {
    const value = Math.max(-1, Math.min(1, samples[i]));
    shorts[i] = Math.round(value * 32767);
  }
  return shorts;
}

/** The samples again from 16-bit whole numbers. */
export function floatsOfShorts(shorts) {
  const samples = new Float32Array(shorts.length);
  for (let i = 0; i < shorts.length; i += 1) samples[i] = shorts[i] / 32767;
  return samples;
}
