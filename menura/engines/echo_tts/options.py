"""What may be asked of Echo-TTS beside text and voice, by upstream's own names.

An option that is left out takes the preset's value, and without a preset that of upstream's README
example. `EchoOptions.parse` refuses values that contradict each other; what depends on the
checkpoint or on the text is checked in `window.py` and `prompt.py`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Self

from menura.engines.echo_tts.blockwise import check_canvas
from menura.engines.echo_tts.latents import PATCH_FRAMES
from menura.engines.echo_tts.presets import DEFAULTS, PRESETS
from menura.errors import InvalidValueError
from menura.options import Options, option

LONGEST_WINDOW_FRAMES = 640
"""The most latents that the model was trained to make at once: 29.7 s."""
FULL, AUTO = "full", "auto"
INDEPENDENT, JOINT = "independent", "joint"
_FRAMES = "frames"


@dataclass(frozen=True)
class EchoOptions(Options):
    """The options of a request; None stands for the preset's value, or for the default."""

    preset: str | None = option(
        None, choices=tuple(PRESETS), help="Upstream's numbers under one name; others given win."
    )
    num_steps: int | None = option(
        None, minimum=1, maximum=1000, help="Euler steps from noise to speech."
    )
    cfg_scale_text: float | None = option(
        None, minimum=0, maximum=100, help="How strongly the text guides; 0 is not at all."
    )
    cfg_scale_speaker: float | None = option(
        None, minimum=0, maximum=100, help="How strongly the voice guides; 0 is not at all."
    )
    cfg_min_t: float | None = option(
        None, minimum=0, maximum=1, help="Guide while the time t (from 1 to 0) is at least this."
    )
    cfg_max_t: float | None = option(
        None, minimum=0, maximum=1, help="Guide while the time t (from 1 to 0) is at most this."
    )
    truncation_factor: float | None = option(
        None, minimum=0.01, maximum=10, help="Scale the noise to begin with; below 1 is flatter."
    )
    rescale_k: float | None = option(
        None, minimum=0.01, maximum=100, help="Rescale the score: above 1 is steadier."
    )
    rescale_sigma: float | None = option(
        None, minimum=0.01, maximum=100, help="The spread of the data that rescale_k reckons with."
    )
    speaker_kv_scale: float | None = option(
        None, minimum=0.01, maximum=100, help="Above 1, force the voice: 1.1 to 1.5 for odd texts."
    )
    speaker_kv_max_layers: int | None = option(
        None, minimum=1, help="Force the voice in this many first layers only."
    )
    speaker_kv_min_t: float | None = option(
        None, minimum=0, maximum=1, help="Force the voice while the time t is at least this."
    )
    sequence_length: int | None = option(
        None,
        minimum=1,
        maximum=LONGEST_WINDOW_FRAMES,
        unit=_FRAMES,
        help="The window: speech and what follows it fill these frames; any number will do.",
    )
    length: str | None = option(
        None,
        choices=(FULL, AUTO),
        help="The longest window, or one by the text. Default: auto on a CPU that is not exact.",
    )
    normalize_text: bool = option(True, help="Replace what the model did not learn to read.")
    guidance: str = option(
        INDEPENDENT,
        choices=(INDEPENDENT, JOINT),
        help="Guide by text and voice apart, or (faster, another result) by both at once.",
    )
    block_sizes: tuple[int, ...] | None = option(
        None,
        minimum=1,
        maximum=LONGEST_WINDOW_FRAMES,
        unit=_FRAMES,
        help="Make speech in blocks, for early audio: 32,128,480 (with block_steps 8,15,20).",
    )
    block_steps: tuple[int, ...] | None = option(
        None, minimum=1, maximum=1000, help="Euler steps of each block. Default: num_steps."
    )
    continue_segments: bool = option(
        False, help="Let each segment of a long text go on from the one before it."
    )
    first_chunk_frames: int = option(
        8, minimum=1, unit=_FRAMES, help="Frames in the first chunk of a stream."
    )
    chunk_frames: int = option(
        32, minimum=1, unit=_FRAMES, help="Frames in each later chunk of a stream."
    )
    retries: int = option(
        0,
        minimum=0,
        maximum=10,
        help="How often to draw a segment again that went wrong before any of it was heard.",
    )

    @classmethod
    def parse(cls, given: Mapping[str, object]) -> Self:
        """The options with the given values checked and the others at their defaults.

        Raises: InvalidValueError: a name is unknown, a value is not allowed, or two of them
            contradict each other.
        """
        options = super().parse(given)
        filled = options.filled()
        _check_guidance(filled)
        _check_forcing(filled)
        _check_length(filled)
        _check_blocks(filled)
        return options

    def filled(self) -> Self:
        """The same options with the preset's values, or the defaults, where nothing was said."""
        own = asdict(DEFAULTS if self.preset is None else PRESETS[self.preset])
        missing = {name: value for name, value in own.items() if getattr(self, name) is None}
        return replace(self, **missing)


def _check_guidance(options: EchoOptions) -> None:
    lowest, highest = options.cfg_min_t, options.cfg_max_t
    assert lowest is not None
    assert highest is not None
    if lowest > highest:
        raise InvalidValueError(
            f"cfg_min_t={lowest:g} is above cfg_max_t={highest:g}: nothing would be guided. Give "
            "cfg_min_t at most cfg_max_t; to switch guidance off, give the scales 0.",
            param="cfg_min_t",
        )


def _check_forcing(options: EchoOptions) -> None:
    both = "forcing the voice needs its scale and the time at which it ends"
    _check_pair(options, "speaker_kv_scale", "speaker_kv_min_t", both)
    _check_pair(options, "speaker_kv_min_t", "speaker_kv_scale", both)
    _check_pair(options, "speaker_kv_max_layers", "speaker_kv_scale", both)


def _check_pair(options: EchoOptions, given: str, needed: str, why: str) -> None:
    value = getattr(options, given)
    if value is not None and getattr(options, needed) is None:
        raise InvalidValueError(
            f"{given}={value:g} needs {needed}, which is not given: {why}. Give {needed} too, or "
            f"leave {given} out.",
            param=given,
        )


def _check_length(options: EchoOptions) -> None:
    if options.length == AUTO and options.sequence_length is not None:
        raise InvalidValueError(
            f"length='auto' and sequence_length={options.sequence_length} both say how long the "
            "window is: leave one of them out.",
            param="length",
        )


def _check_blocks(options: EchoOptions) -> None:
    sizes, steps = options.block_sizes, options.block_steps
    if sizes is None:
        if steps is not None:
            raise InvalidValueError(
                f"block_steps={_shown(steps)} needs block_sizes, which is not given: give both, "
                "or num_steps for one window.",
                param="block_steps",
            )
        return
    for name in ("sequence_length", "length"):
        if getattr(options, name) is not None:
            raise InvalidValueError(
                f"{name}={getattr(options, name)!r} and block_sizes={_shown(sizes)} both say how "
                f"long the window is: leave one of them out.",
                param=name,
            )
    check_canvas(sizes, 0, PATCH_FRAMES)
    longest = LONGEST_WINDOW_FRAMES // (2 if options.continue_segments else 1)
    if sum(sizes) > longest:
        beside = " with continue_segments, which keeps room for the segment before"
        raise InvalidValueError(
            f"block_sizes={_shown(sizes)} makes {sum(sizes)} frames; at most {longest} are allowed"
            f"{beside if options.continue_segments else ''}: make fewer or shorter blocks.",
            param="block_sizes",
        )
    if steps is not None and len(steps) != len(sizes):
        raise InvalidValueError(
            f"block_steps={_shown(steps)} has {_entries(steps)} and block_sizes="
            f"{_shown(sizes)} has {_entries(sizes)}: give one number of steps for each block.",
            param="block_steps",
        )


def _entries(numbers: tuple[int, ...]) -> str:
    return "1 entry" if len(numbers) == 1 else f"{len(numbers)} entries"


def _shown(numbers: tuple[int, ...]) -> str:
    """The numbers as they are typed on a command line."""
    return ",".join(map(str, numbers))
