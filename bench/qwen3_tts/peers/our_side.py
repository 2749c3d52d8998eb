"""Our side: `python -m bench.qwen3_tts.peers.our_side FOLDER --threads N --frames F --precision P`.

The first audio is that of the same request, streamed.
"""

from bench.qwen3_tts.ours import IMPORTING, Ours
from bench.qwen3_tts.peers.seat import per_frame, serve
from bench.qwen3_tts.stopwatch import task


def main() -> None:
    """Load, and speak by turns."""
    asked = task()
    ours = Ours(asked)

    def speak() -> dict[str, float]:
        first_s = ours.first_audio_s()
        spoken = ours.speak()
        return per_frame(spoken, asked.n_frames) | spoken | {"first_audio_s": first_s}

    serve(IMPORTING, ours.loading, speak)


if __name__ == "__main__":
    main()
