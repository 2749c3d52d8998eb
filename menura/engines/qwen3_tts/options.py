"""What may be asked of Qwen3-TTS beside text and voice, by upstream's own names.

An option that is left out takes the checkpoint's value (`generation_config.json`), and where that
says nothing, a fixed one. `subtalker_*` are the code predictor's.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Self, TypeVar

from menura.engines.qwen3_tts.config import GenerationDefaults
from menura.engines.qwen3_tts.utterance_row import Settings
from menura.errors import InvalidValueError
from menura.options import Options, option
from menura.runtime.sampling import Sampling

T = TypeVar("T")


@dataclass(frozen=True)
class GenerationOptions(Options):
    """The options of a request; None stands for the model's own value."""

    do_sample: bool | None = option(None, help="Draw each frame's first code, or take the best.")
    top_k: int | None = option(
        None, minimum=0, help="Draw first codes from the k likeliest; 0 means from all."
    )
    top_p: float | None = option(
        None, minimum=0, maximum=1, help="Draw first codes from the likeliest that reach this sum."
    )
    temperature: float | None = option(
        None, minimum=0, maximum=10, help="How evenly first codes are drawn; below 1 is steadier."
    )
    repetition_penalty: float | None = option(
        None, minimum=0.01, maximum=10, help="Above 1, first codes that were drawn lose odds."
    )
    subtalker_dosample: bool | None = option(
        None, help="Draw each frame's other codes, or take the best."
    )
    subtalker_top_k: int | None = option(
        None, minimum=0, help="Draw other codes from the k likeliest; 0 means from all."
    )
    subtalker_top_p: float | None = option(
        None, minimum=0, maximum=1, help="Draw other codes from the likeliest that reach this sum."
    )
    subtalker_temperature: float | None = option(
        None, minimum=0, maximum=10, help="How evenly other codes are drawn; below 1 is steadier."
    )
    max_new_tokens: int | None = option(
        None, minimum=2, help="The most first codes to draw: one more than the most frames."
    )
    non_streaming_mode: bool | None = option(
        None, help="Show the model the whole text first, not one token a frame."
    )
    parse_special_tokens: bool = option(
        False, help="Read strings such as <|im_end|> in the text as control tokens, not as text."
    )
    first_chunk_frames: int = option(
        1, minimum=1, unit="frames", help="Frames in the first chunk of a stream."
    )
    chunk_frames: int = option(
        4, minimum=1, unit="frames", help="Frames in each later chunk of a stream."
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

        Raises: InvalidValueError: a name is unknown, a value is not allowed, or a temperature is 0.
        """
        options = super().parse(given)
        _check_temperature("do_sample", options.do_sample, "temperature", options.temperature)
        _check_temperature(
            "subtalker_dosample",
            options.subtalker_dosample,
            "subtalker_temperature",
            options.subtalker_temperature,
        )
        return options


@dataclass(frozen=True)
class Generation:
    """How one utterance is made, with nothing left to decide."""

    settings: Settings
    non_streaming_mode: bool
    parse_special_tokens: bool
    limit_is_given: bool
    first_chunk_frames: int
    chunk_frames: int
    applied: Mapping[str, object]


def resolve(
    options: GenerationOptions, defaults: GenerationDefaults, *, non_streaming_mode: bool
) -> Generation:
    """What the request says, else the checkpoint; `non_streaming_mode` is the model's default.

    Raises: InvalidValueError: together they draw at temperature 0.
    """
    talker = Sampling(
        do_sample=_or(options.do_sample, defaults.do_sample),
        temperature=_or(options.temperature, defaults.temperature),
        top_k=_or(options.top_k, defaults.top_k),
        top_p=_or(options.top_p, defaults.top_p),
        repetition_penalty=_or(options.repetition_penalty, defaults.repetition_penalty),
    )
    code_predictor = Sampling(
        do_sample=_or(options.subtalker_dosample, defaults.subtalker_dosample),
        temperature=_or(options.subtalker_temperature, defaults.subtalker_temperature),
        top_k=_or(options.subtalker_top_k, defaults.subtalker_top_k),
        top_p=_or(options.subtalker_top_p, defaults.subtalker_top_p),
    )
    _check_temperature("do_sample", talker.do_sample, "temperature", talker.temperature)
    _check_temperature("subtalker_dosample", code_predictor.do_sample,
                       "subtalker_temperature", code_predictor.temperature)  # fmt: skip
    own = asdict(defaults) | {"non_streaming_mode": non_streaming_mode}
    return Generation(
        settings=Settings(
            talker, code_predictor, _or(options.max_new_tokens, defaults.max_new_tokens)
        ),
        non_streaming_mode=_or(options.non_streaming_mode, non_streaming_mode),
        parse_special_tokens=options.parse_special_tokens,
        limit_is_given=options.max_new_tokens is not None,
        first_chunk_frames=options.first_chunk_frames,
        chunk_frames=options.chunk_frames,
        applied={n: own[n] if value is None else value for n, value in asdict(options).items()},
    )


def _or(given: T | None, default: T) -> T:
    return default if given is None else given


def _check_temperature(
    sample_name: str, do_sample: bool | None, name: str, temperature: float | None
) -> None:
    if temperature == 0 and do_sample is not False:
        raise InvalidValueError(
            f"{name}=0 is not allowed while codes are drawn: it must be above 0. To take the best "
            f"code every time, use {sample_name}=false.",
            param=name,
        )
