// What the page is working on, shared by Speak, the dock and History: the take that is shown, how
// it was before its last changes, and what is being spoken now.
//
// Events: "take" (another one, or a changed one), "live" (speaking began or ended), "audio"
// (detail: samples that just came).

import { Player } from "./player.js";

const UNDO_DEPTH = 20;

class Studio extends EventTarget {
  constructor() {
    super();
    this.player = new Player();
    this.take = null;
    this.earlier = [];
    this.live = null; // { text, voice, rate } while a text is spoken
  }

  /** Nothing; another take is shown, with nothing to undo. */
  show(take) {
    this.take = take;
    this.earlier = [];
    this.player.load(take.samples, take.rate);
    this.dispatchEvent(new Event("take"));
  }

  /** Nothing; the take that was just heard while it was made is complete. The sound goes on. */
  complete(take) {
    this.take = take;
    this.earlier = [];
    this.player.finish();
    this.dispatchEvent(new Event("take"));
  }

  /** Nothing; the take was changed; `at` is where to listen, in seconds. */
  change(take, at = 0) {
    this.earlier = [...this.earlier.slice(1 - UNDO_DEPTH), this.take];
    this.take = take;
    this.player.load(take.samples, take.rate, at);
    this.dispatchEvent(new Event("take"));
  }

  /** Nothing; the take is as it was before its last change. */
  undo() {
    if (!this.earlier.length) return;
    this.take = this.earlier.pop();
    this.player.load(this.take.samples, this.take.rate);
    this.dispatchEvent(new Event("take"));
  }

  /** Nothing; whoever comes next sees and hears nothing of this one. */
  clear() {
    this.player.stop();
    this.take = this.live = null;
    this.earlier = [];
    this.dispatchEvent(new Event("take"));
  }

  get canUndo() {
    return this.earlier.length > 0;
  }

  /** Nothing; speaking begins (facts of what comes) or has ended (null). */
  setLive(facts) {
    this.live = facts;
    this.dispatchEvent(new Event("live"));
  }

  /** Nothing; samples of what is being spoken came. */
  hear(samples) {
    this.player.add(samples);
    this.dispatchEvent(new CustomEvent("audio", { detail: samples }));
  }
}

export const studio = new Studio();

/** What tests look at: counters and state, nothing that anybody could break with. */
window.menura = { studio, take: () => studio.take, player: studio.player };
window.menuraPlayer = {
  get state() {
    return studio.player.state;
  },
  get samplesPlayed() {
    return studio.player.heard;
  },
  get samplesBuffered() {
    return studio.player.n;
  },
  get underruns() {
    return studio.player.underruns;
  },
  get position_s() {
    return studio.player.position;
  },
  get duration_s() {
    return studio.player.seconds;
  },
  get sampleRate() {
    return studio.player.rate;
  },
  get firstAudioMs() {
    return studio.take ? studio.take.first_audio_s * 1000 : null;
  },
};
