// Two ways to give samples to the loudspeaker, behind one shape:
//
//     push(Float32Array), end(), clear(turn), close(); reports({ turn, played, starved, ended })
//
// The worklet plays in the audio thread. Browsers have it on https and localhost alone; a page that
// is read over plain http from another machine gets buffers that follow each other by the clock.

/** The better of the two that this browser allows, for a context. */
export async function sinkFor(context, reports) {
  if (!context.audioWorklet) return new BufferSink(context, reports);
  await context.audioWorklet.addModule(new URL("./player_worklet.js", import.meta.url));
  return new WorkletSink(context, reports);
}

class WorkletSink {
  constructor(context, reports) {
    this.node = new AudioWorkletNode(context, "menura-playing", {
      numberOfInputs: 0,
      outputChannelCount: [1],
    });
    this.node.port.onmessage = ({ data }) => reports(data);
    this.node.connect(context.destination);
  }

  push(samples) {
    this.node.port.postMessage({ push: samples }, [samples.buffer]);
  }

  end() {
    this.node.port.postMessage({ end: true });
  }

  clear(turn) {
    this.node.port.postMessage({ clear: turn });
  }

  close() {
    this.node.disconnect();
  }
}

const REPORT_MS = 40;
const SOON_S = 0.03; // a buffer must be known a little before it sounds

class BufferSink {
  constructor(context, reports) {
    this.context = context;
    this.reports = reports;
    this.clear(0);
    this.timer = setInterval(() => this.report(), REPORT_MS);
  }

  push(samples) {
    const buffer = this.context.createBuffer(1, samples.length, this.context.sampleRate);
    buffer.copyToChannel(samples, 0);
    const source = this.context.createBufferSource();
    source.buffer = buffer;
    source.connect(this.context.destination);
    const at = Math.max(this.until, this.context.currentTime + SOON_S);
    source.start(at);
    this.lag += this.until ? at - this.until : at;
    this.until = at + buffer.duration;
    this.sources.add(source);
    source.onended = () => this.sources.delete(source);
    this.pushed += samples.length;
  }

  end() {
    this.isWhole = true;
  }

  clear(turn) {
    for (const source of this.sources ?? []) {
      source.onended = null;
      source.stop();
    }
    Object.assign(this, {
      turn,
      sources: new Set(),
      until: 0,
      lag: 0,
      pushed: 0,
      isWhole: false,
      hasEnded: false,
    });
  }

  close() {
    clearInterval(this.timer);
    this.clear(-1);
  }

  report() {
    if (!this.pushed) return;
    const { currentTime, sampleRate } = this.context;
    const played = Math.round(
      Math.max(0, Math.min(this.pushed, (currentTime - this.lag) * sampleRate)),
    );
    const isDry = currentTime >= this.until;
    const ended = isDry && this.isWhole && !this.hasEnded;
    this.hasEnded ||= ended;
    this.reports({ turn: this.turn, played, starved: isDry && !this.isWhole, ended });
  }
}
