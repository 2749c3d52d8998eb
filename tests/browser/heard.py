"""What a page really plays: every sample that reaches the loudspeaker is counted on its way.

An AudioWorklet of the test stands beside the loudspeaker. It gets what the page's own nodes send
there, block after block, so a gap is heard as zeros and a sample that was dropped is missing.
"""

from base64 import b64decode
from typing import TYPE_CHECKING

import numpy as np

from menura.speech import FloatArray

if TYPE_CHECKING:
    from playwright.sync_api import Page

_QUIET = 1e-4
_TAP = """
registerProcessor("tap", class extends AudioWorkletProcessor {
  process(inputs) {
    if (inputs[0][0]) this.port.postMessage(inputs[0][0].slice());
    return true;
  }
});
"""
# The tap's module is loaded right after the page's own, so it is there when nodes are connected.
_LISTEN = """
window.heard = { blocks: [] };
const tap = "data:text/javascript;base64," + btoa(`TAP`);
const addModule = AudioWorklet.prototype.addModule;
AudioWorklet.prototype.addModule = async function (...path) {
  await addModule.apply(this, path);
  await addModule.call(this, tap);
};
const connect = AudioNode.prototype.connect;
AudioNode.prototype.connect = function (...target) {
  if (target[0] instanceof AudioDestinationNode) {
    const node = new AudioWorkletNode(this.context, "tap", { numberOfOutputs: 0 });
    node.port.onmessage = ({ data }) => window.heard.blocks.push(data);
    connect.call(this, node);
  }
  return connect.apply(this, target);
};
""".replace("TAP", _TAP)


def listen(page: "Page") -> None:
    """From the next load on, what the page plays is kept; its policy must let scripts in."""
    page.add_init_script(_LISTEN)


def samples(page: "Page") -> FloatArray:
    """All samples [n] that went to the loudspeaker until now."""
    blocks = page.evaluate(
        """() => {
          let text = "";
          for (const block of window.heard.blocks) {
            text += String.fromCharCode(...new Uint8Array(block.buffer));
          }
          return btoa(text);
        }"""
    )
    return np.frombuffer(b64decode(blocks), np.float32)


def start_of(take: FloatArray, played: FloatArray) -> int | None:
    """Where the whole take stands in what was played, without a gap; None where it does not."""
    sounding = np.flatnonzero(np.abs(take) > _QUIET)
    heard = np.flatnonzero(np.abs(played) > _QUIET)
    if not len(heard):
        return None
    start = int(heard[0] - sounding[0])
    stretch = played[max(start, 0) : start + len(take)]
    is_whole = start >= 0 and len(stretch) == len(take) and np.allclose(stretch, take, atol=_QUIET)
    return start if is_whole else None
