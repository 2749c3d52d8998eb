"""How many latents are made at once: the whole window, one by the text's length, or blocks.

All frames of a window see each other, so its length changes the result. A model that was trained on
windows of 640 frames puts short speech at the beginning and flat latents after it; `length="auto"`
leaves most of the flat part out.
"""

import math
from dataclasses import dataclass

from menura.engines.echo_tts.blockwise import check_canvas
from menura.engines.echo_tts.options import AUTO, FULL, LONGEST_WINDOW_FRAMES, EchoOptions
from menura.text.duration import expected_seconds

# An auto window: more than the text should take, for slow voices and the silence at the end.
_MARGIN = 1.35
_EXTRA_S = 1.0
# A single word in a shorter one would have no room for the breath before it.
_LEAST_S = 2.0


@dataclass(frozen=True)
class Rate:
    """Frames in a second, and the frames that the model's encoders read as one position."""

    frame_rate_hz: float
    patch_frames: int

    def frames(self, seconds: float) -> int:
        """The frames that hold so many seconds, rounded up to whole patches."""
        return self.whole_patches(math.ceil(seconds * self.frame_rate_hz))

    def shown(self, n_frames: int) -> str:
        """The frames as people read them: `2.0 s (44 frames)`."""
        return f"{n_frames / self.frame_rate_hz:.1f} s ({n_frames} frames)"

    def whole_patches(self, n_frames: int) -> int:
        """The number of frames, rounded up to whole patches."""
        return -(-n_frames // self.patch_frames) * self.patch_frames


@dataclass(frozen=True)
class Window:
    """The latents to be made. `length` is `full`, `auto`, or None where blocks say how many."""

    n_frames: int
    length: str | None
    block_sizes: tuple[int, ...] | None = None
    block_steps: tuple[int, ...] | None = None


def window_of(options: EchoOptions, text: str, rate: Rate, *, usual: str, n_before: int) -> Window:
    """The window for a text, after `n_before` latents of the segment before it.

    `options` are filled; `usual` is the length (`full`, `auto`) where they say none.

    Raises: InvalidValueError: the blocks fill no whole patches.
    """
    if options.block_sizes is not None:
        return _blocks(options, rate, n_before)
    length = FULL if options.sequence_length is not None else options.length or usual
    if length == AUTO:
        n_frames = rate.frames(max(_LEAST_S, _MARGIN * expected_seconds(text) + _EXTRA_S))
    else:
        n_frames = options.sequence_length or LONGEST_WINDOW_FRAMES
    n_frames = min(n_frames, LONGEST_WINDOW_FRAMES - n_before)
    if not n_before:
        return Window(n_frames, length)
    # Only the blockwise sampler goes on from other latents, so the window is its one block.
    n_frames = rate.whole_patches(n_frames)
    assert options.num_steps is not None
    return Window(n_frames, length, (n_frames,), (options.num_steps,))


def least_frames(text: str, rate: Rate) -> int:
    """The frames that the text needs at an ordinary pace, without any margin."""
    return rate.frames(max(_LEAST_S, expected_seconds(text)))


def _blocks(options: EchoOptions, rate: Rate, n_before: int) -> Window:
    """The blocks as they were asked for, if they fill whole patches."""
    sizes = options.block_sizes
    assert sizes is not None
    assert options.num_steps is not None
    check_canvas(sizes, n_before, rate.patch_frames)
    steps = options.block_steps or (options.num_steps,) * len(sizes)
    return Window(sum(sizes), None, sizes, steps)
