// Plays one sound at a time: a finished one, or one that still comes. A sound that comes begins as
// soon as it surely need not stop again (buffering.js). Everything heard is kept, so going back
// costs nothing.
//
// Events: "state" (idle, buffering, playing, paused, ended), "position", "failure" (detail: error).

import { neededLead, Pace } from "./buffering.js";
import { sinkFor } from "./player_sinks.js";

const AHEAD_S = 15; // what the sink holds beyond what is heard
const PIECE_S = 0.5;

export class Player extends EventTarget {
  constructor() {
    super();
    this.state = "idle";
    this.rate = 0;
    this.underruns = 0;
    this.heard = 0; // samples that sounded, of all sounds
    this.context = null;
    this.sink = null;
    this.turn = 0;
    this.blank();
  }

  /** Nothing; to be called in a click, for browsers let a sound begin only there. */
  async prepare(rate) {
    try {
      await this.contextFor(rate);
    } catch (error) {
      this.dispatchEvent(new CustomEvent("failure", { detail: error }));
    }
  }

  /** A sound that will come by `add` until `finish`; it starts by itself when it is safe. */
  open(rate, { expected = 0, asked = performance.now() } = {}) {
    this.reset(rate);
    this.expected = expected;
    this.pace = new Pace(asked);
    this.wants = true;
    this.become("buffering");
  }

  /** Nothing; the next samples of an open sound. They are kept, so they must not change. */
  add(samples) {
    this.pieces.push({ from: this.n, samples });
    this.n += samples.length;
    this.pace?.add(samples.length / this.rate, performance.now());
    this.advance();
  }

  /** Nothing; an open sound is complete. */
  finish() {
    this.isWhole = true;
    this.advance();
  }

  /** A finished sound, at a place in seconds; it does not play yet. */
  load(samples, rate, at = 0) {
    this.reset(rate);
    this.pieces = [{ from: 0, samples }];
    this.n = samples.length;
    this.isWhole = true;
    this.base = this.fed = Math.min(this.n, Math.round(at * rate));
    this.become(this.n ? "paused" : "idle");
    this.tell();
  }

  /** Nothing; it plays, from the start if it had ended. */
  play() {
    if (!this.n && this.isWhole) return;
    if (this.state === "ended") this.move(0);
    this.wants = true;
    if (this.contextRate === this.rate) this.context.resume(); // still inside the click
    this.become("buffering");
    this.advance();
  }

  pause() {
    this.wants = false;
    this.context?.suspend();
    if (this.state !== "idle") this.become("paused");
  }

  toggle() {
    if (this.state === "playing" || this.state === "buffering") this.pause();
    else this.play();
  }

  /** Nothing; silence, and nothing is loaded any more. */
  stop() {
    this.reset(this.rate);
    this.context?.suspend();
    this.become("idle");
    this.tell();
  }

  /** Nothing; it goes on from a place in seconds. */
  seek(seconds) {
    this.move(Math.round(seconds * this.rate));
    if (this.state === "ended" && this.place < this.n) this.become("paused");
    if (this.wants) this.play();
    this.tell();
  }

  get seconds() {
    return this.rate ? this.n / this.rate : 0;
  }
  get position() {
    return this.rate ? this.place / this.rate : 0;
  }
  get place() {
    return Math.min(this.n, this.base + this.played);
  }

  // What follows is the player's own.

  blank() {
    Object.assign(this, {
      pieces: [],
      n: 0,
      isWhole: false,
      base: 0,
      played: 0,
      fed: 0,
      pace: null,
      expected: 0,
      wants: false,
    });
  }

  reset(rate) {
    this.blank();
    this.rate = rate;
    this.underruns = 0;
    this.flush();
  }

  move(place) {
    this.base = Math.max(0, Math.min(this.n, place));
    this.played = 0;
    this.fed = this.base;
    this.flush();
  }

  flush() {
    this.turn += 1;
    this.sink?.clear(this.turn);
    this.saidEnd = false;
    this.fed = this.base;
  }

  become(state) {
    if (state === this.state) return;
    this.state = state;
    this.dispatchEvent(new Event("state"));
  }

  tell() {
    this.dispatchEvent(new Event("position"));
  }

  /** Nothing; feeds the sink, and starts it when there is enough. */
  async advance() {
    if (!this.wants) return;
    const turn = this.turn;
    try {
      await this.contextFor(this.rate);
    } catch (error) {
      this.wants = false;
      this.become("paused");
      this.dispatchEvent(new CustomEvent("failure", { detail: error }));
      return;
    }
    if (turn !== this.turn || !this.wants) return;
    if (this.state === "buffering" && this.isSafe()) {
      this.context.resume();
      this.become("playing");
    }
    if (this.state === "playing") this.feed(); // not before: what the sink has, it plays
  }

  isSafe() {
    if (this.isWhole) return true;
    if (!this.n || !this.pace) return false;
    const ready = (this.n - this.place) / this.rate;
    const left = Math.max(this.expected, this.seconds) - this.position;
    return ready >= neededLead({ rate: this.pace.rate, left, underruns: this.underruns });
  }

  feed() {
    const until = Math.min(this.n, this.place + AHEAD_S * this.rate);
    while (this.fed < until) {
      const piece = this.pieces.findLast(({ from }) => from <= this.fed);
      const at = this.fed - piece.from;
      const part = piece.samples.slice(at, at + Math.round(PIECE_S * this.rate));
      this.fed += part.length;
      this.sink.push(part); // its memory goes to the audio thread: here it has no length any more
    }
    if (this.isWhole && this.fed >= this.n && !this.saidEnd) {
      this.saidEnd = true;
      this.sink.end();
    }
  }

  report({ turn, played, starved, ended }) {
    if (turn !== this.turn) return;
    this.heard += Math.max(0, played - this.played);
    this.played = played;
    if (ended) {
      this.wants = false;
      this.context.suspend();
      this.become("ended");
    } else if (starved && this.state === "playing") {
      this.underruns += 1;
      this.context.suspend();
      this.become("buffering");
    }
    this.advance();
    this.tell();
  }

  /** The context at this rate; one at a time, for each holds a thread of the system. */
  contextFor(rate) {
    if (this.contextRate === rate) return this.ready;
    this.contextRate = rate;
    this.sink?.close();
    this.context?.close();
    this.sink = null;
    this.context = new AudioContext({ sampleRate: rate, latencyHint: "interactive" });
    this.ready = sinkFor(this.context, (facts) => this.report(facts)).then((sink) => {
      this.sink = sink;
      sink.clear(this.turn);
    });
    return this.ready;
  }
}
