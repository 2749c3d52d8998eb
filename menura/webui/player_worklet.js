// Plays what it was sent, sample after sample, and says how far it is. Runs in the audio thread:
// no waiting, and nothing is made anew in `process` but its messages.
//
// It gets  { push: Float32Array }, { clear: turn }, { end: true }  and sends
// { turn, played, waiting, starved, ended }: samples since the last clear, samples it still has.

const REPORT_EVERY = 1024;

class Playing extends AudioWorkletProcessor {
  constructor() {
    super();
    this.clear(0);
    this.port.onmessage = ({ data }) => {
      if (data.push) this.push(data.push);
      else if (data.end) this.isWhole = true;
      else if ("clear" in data) this.clear(data.clear);
    };
  }

  clear(turn) {
    this.turn = turn;
    this.queue = [];
    this.at = 0;
    this.waiting = 0;
    this.played = 0;
    this.isWhole = false;
    this.hasEnded = false;
    this.isStarved = false;
    this.unreported = 0;
  }

  push(samples) {
    this.queue.push(samples);
    this.waiting += samples.length;
  }

  process(_inputs, [output]) {
    const out = output[0];
    const given = this.give(out);
    out.fill(0, given);
    for (let other = 1; other < output.length; other += 1) output[other].set(out);
    this.played += given;
    this.unreported += out.length;
    this.tell(given < out.length);
    return true;
  }

  give(out) {
    let given = 0;
    while (given < out.length && this.queue.length) {
      const head = this.queue[0];
      const n = Math.min(out.length - given, head.length - this.at);
      out.set(head.subarray(this.at, this.at + n), given);
      given += n;
      this.at += n;
      if (this.at === head.length) {
        this.queue.shift();
        this.at = 0;
      }
    }
    this.waiting -= given;
    return given;
  }

  tell(isShort) {
    const ended = isShort && this.isWhole && !this.hasEnded;
    const starved = isShort && !this.isWhole && !this.isStarved && this.played > 0;
    if (!ended && !starved && this.unreported < REPORT_EVERY) return;
    this.hasEnded ||= ended;
    this.isStarved = isShort && !this.isWhole;
    this.unreported = 0;
    this.port.postMessage({
      turn: this.turn,
      played: this.played,
      waiting: this.waiting,
      starved,
      ended,
    });
  }
}

registerProcessor("menura-playing", Playing);
