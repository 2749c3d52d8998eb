// Hands every block of the microphone's samples to the page.

class Recorder extends AudioWorkletProcessor {
  process(inputs) {
    const samples = inputs[0][0];
    if (samples) this.port.postMessage(samples.slice());
    return true;
  }
}

registerProcessor("recorder", Recorder);
