"""What every side of `side_by_side` does alike; it imports nothing of any of them.

A side loads, tells what that took, and then speaks once for each line of its standard input. Its
figures cover the whole request, prompt and codec included, over the frames that came out: the one
measure that every side has, whatever it lets us see inside.
"""

from collections.abc import Callable, Mapping

from bench.stopwatch import Stopwatch, take_turns, tell

SAMPLES_PER_FRAME = 1920


def serve(importing: Stopwatch, loading: Stopwatch, speak: Callable[[], dict[str, float]]) -> None:
    """Tell what importing and loading took, then speak whenever a line comes."""
    tell({"import_s": importing.wall_s, "load_s": loading.wall_s})
    take_turns(speak)


def per_frame(spoken: Mapping[str, float], n_frames: float) -> dict[str, float]:
    """Seconds a frame, by the clock and of the CPU, of a request's `whole_s` and `whole_cpu_s`."""
    return {
        "frames": n_frames,
        "wall_frame_s": spoken["whole_s"] / n_frames,
        "cpu_frame_s": spoken["whole_cpu_s"] / n_frames,
    }
