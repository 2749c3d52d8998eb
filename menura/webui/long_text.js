// A text that is longer than one request may be, in parts: each ends where people pause too.

const ENDS = [/\n\s*\n+/g, /\n+/g, /[.!?…]["'”’)\]]*\s+|[。！？]["'”’」』）]*/g, /[,;:，；：、]\s*/g, /\s+/g];
const FULLEST = 0.5; // of the room: a part that is cut there is not too short

/** The parts of a text, `{ text, start }`, whose texts joined are the text; `start` in characters. */
export function partsOf(text, longest) {
  const parts = [];
  let rest = text;
  let start = 0;
  while (rest.length > longest) { // never fewer than the characters that a server counts
    const part = rest.slice(0, cutIn(rest.slice(0, longest)));
    parts.push({ text: part, start });
    start += [...part].length;
    rest = rest.slice(part.length);
  }
  return rest.trim() || !parts.length ? [...parts, { text: rest, start }] : parts;
}

// Where a run of text is cut: behind the last end of the best kind that leaves a part full enough.
function cutIn(room) {
  for (const end of ENDS) {
    const places = [...room.matchAll(end)].map((found) => found.index + found[0].length);
    const last = places.findLast((at) => at >= room.length * FULLEST);
    if (last) return last;
  }
  const isHalf = /[\ud800-\udbff]$/.test(room); // of a character that is written in two
  return isHalf ? room.length - 1 : room.length;
}
