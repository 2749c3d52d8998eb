// When may playing begin, so that it need not stop again? Pure arithmetic over what has come.

const JITTER_S = 0.25; // what a connection's hiccups may cost
const CARE = 1.15; // estimates are estimates
const SETTLED_S = 0.4; // a pace that was measured for less says little
const BURST_MS = 60; // what comes so close together was made together

/** How fast audio is made, in seconds of audio a second, from when how much of it came. */
export class Pace {
  constructor(askedMs) {
    this.asked = askedMs;
    this.first = null;
    this.last = askedMs;
    this.made = 0;
    this.burst = 0;
  }

  /** Nothing; so many seconds of audio came. */
  add(seconds, nowMs) {
    this.first ??= nowMs;
    if (nowMs - this.first < BURST_MS) this.burst += seconds;
    this.made += seconds;
    this.last = nowMs;
  }

  /** The pace so far: that since the first audio once it has settled, before that since the question. */
  get rate() {
    const since = (this.last - (this.first ?? this.last)) / 1000;
    if (since >= SETTLED_S) return (this.made - this.burst) / since;
    return this.made / Math.max(0.001, (this.last - this.asked) / 1000);
  }
}

/**
 * The seconds of audio that must be there before playing begins. Made more slowly than it is heard,
 * audio runs out unless the lead covers what is lost until the end; each time it ran out before
 * (`underruns`) doubles the margin.
 */
export function neededLead({ rate, left, underruns = 0 }) {
  const jitter = JITTER_S * 2 ** Math.min(underruns, 4);
  const lost = Math.max(0, 1 - rate) * Math.max(0, left);
  return jitter + lost * CARE;
}
