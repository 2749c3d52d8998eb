// Records the microphone as it is: no echo cancelling and no levelling, which change a voice.

import { wavFile } from "./wav_file.js";

const PLAIN = {
  channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false,
};

/**
 * A recording that runs: `stop()` gives a WAV file, `cancel()` nothing; both free the microphone.
 * `heard(seconds, peak)` is called as it goes on, with the peak of the newest samples.
 */
export async function startRecording(heard) {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: PLAIN });
  const context = new AudioContext();
  await context.audioWorklet.addModule("/static/recorder_worklet.js");
  const node = new AudioWorkletNode(context, "recorder", { numberOfOutputs: 0 });
  const blocks = [];
  let length = 0;
  node.port.onmessage = ({ data }) => {
    blocks.push(data);
    length += data.length;
    heard(length / context.sampleRate, peakOf(data));
  };
  context.createMediaStreamSource(stream).connect(node);

  const end = () => {
    node.port.onmessage = null;
    for (const track of stream.getTracks()) track.stop();
    return context.close();
  };
  return {
    cancel: end,
    async stop() {
      const rate = context.sampleRate;
      await end();
      return wavFile(joined(blocks, length), rate);
    },
  };
}

/** Whether this browser lets the page record here: only https and the machine itself may. */
export const canRecord = () => Boolean(navigator.mediaDevices?.getUserMedia);

function peakOf(samples) {
  let peak = 0;
  for (const sample of samples) peak = Math.max(peak, Math.abs(sample));
  return peak;
}

function joined(blocks, length) {
  const samples = new Float32Array(length);
  let at = 0;
  for (const block of blocks) {
    samples.set(block, at);
    at += block.length;
  }
  return samples;
}
