"""What the model sees for one segment, and how it is to be sampled: ids, latents and numbers.

Needs no weights; tests and training use it alone. Of a segment that goes on from the one before,
the prompt holds that one's latents up to the end of its speech, and both texts.

Legend: S text ids, T latents, C latent channels.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from menura.engines.contract import Prompt, VoicePrompt
from menura.engines.echo_tts.config import DiTConfig, EchoConfig
from menura.engines.echo_tts.generate import SamplerSettings
from menura.engines.echo_tts.guidance import Guidance, Rescale
from menura.engines.echo_tts.latents import flattening_point
from menura.engines.echo_tts.options import JOINT, LONGEST_WINDOW_FRAMES, EchoOptions
from menura.engines.echo_tts.speaker_scale import SpeakerScale
from menura.engines.echo_tts.tokenizer import LONGEST_BYTES, EchoTokenizer
from menura.engines.echo_tts.window import Rate, Window, least_frames, window_of
from menura.errors import InvalidValueError
from menura.speech import FloatArray, Manner, Spoken
from menura.text.duration import expected_seconds

LATENTS = "latents"  # the array of a VoicePrompt


@dataclass(frozen=True)
class Running:
    """How the loaded model runs, as far as a prompt depends on it.

    `usual_length`: the window where the request says none. `is_exact`: as upstream, oddities too.
    """

    config: EchoConfig
    tokenizer: EchoTokenizer
    usual_length: str
    is_exact: bool

    @property
    def rate(self) -> Rate:
        """The model's frames in a second, and in a patch."""
        return Rate(self.config.autoencoder.frame_rate_hz, self.config.dit.patch_size)


@dataclass(frozen=True, kw_only=True)
class EchoPrompt(Prompt):
    """One utterance to be made: its ids [S], the voice's latents [T, C], those to go on from."""

    ids: tuple[int, ...]
    speaker: FloatArray | None = field(compare=False)
    continuation: FloatArray | None = field(compare=False)
    settings: SamplerSettings
    first_chunk_frames: int
    chunk_frames: int
    retries: int


def build(text: str, manner: Manner, running: Running) -> EchoPrompt:
    """The prompt of a segment, with nothing left to decide.

    Raises: InvalidValueError: the text is too long, or the options do not go with it or the voice.
    """
    given = manner.options
    assert isinstance(given, EchoOptions)
    options = given.filled()
    speaker = _latents(manner.voice)
    _check_forcing(options, has_voice=speaker is not None)
    read, continuation, note = _before(text, manner.before, options, running)
    window = window_of(
        options, text, running.rate, usual=running.usual_length, n_before=_length(continuation)
    )
    return EchoPrompt(
        text=text,
        applied={
            **_applied(given, window, _without_effect(options, speaker, running.config.dit)),
            **_rushed(text, window, running.rate),
            **note,
        },
        sampled_s=window.n_frames / running.rate.frame_rate_hz,
        ids=_ids(read, options, running.tokenizer),
        speaker=speaker,
        continuation=continuation,
        settings=_settings(options, window, is_exact=running.is_exact),
        first_chunk_frames=options.first_chunk_frames,
        chunk_frames=options.chunk_frames,
        retries=options.retries,
    )


def _ids(text: str, options: EchoOptions, tokenizer: EchoTokenizer) -> tuple[int, ...]:
    """The ids [S] of a text, which is never cut. Raises: InvalidValueError: it is too long."""
    ids = tokenizer.encode(text, normalize=options.normalize_text)
    if len(ids) > LONGEST_BYTES:
        raise InvalidValueError(
            f"the text is {len(ids)} bytes long as the model reads it, which reads at most "
            f"{LONGEST_BYTES} at once: leave split on, or give less text.",
            param="text",
        )
    return tuple(ids)


def _latents(voice: str | VoicePrompt | None) -> FloatArray | None:
    """The latents [T, C] of a voice, if there is one."""
    if not isinstance(voice, VoicePrompt):
        return None
    return voice.arrays[LATENTS].astype(np.float32, copy=False)


def _length(latents: FloatArray | None) -> int:
    return 0 if latents is None else len(latents)


def _before(
    text: str, before: Spoken | None, options: EchoOptions, running: Running
) -> tuple[str, FloatArray | None, Mapping[str, object]]:
    """The text to read, the latents [T, C] to go on from, and what `applied` says of them.

    The segment before is left out where it leaves no room for this text's speech or bytes.
    """
    if before is None:
        return text, None, {}
    frames = before.frames.astype(np.float32, copy=False)
    n_before = flattening_point(frames)
    n_before -= n_before % running.rate.patch_frames
    room = LONGEST_WINDOW_FRAMES - n_before
    joined = f"{before.text} {text}"
    n_ids = len(running.tokenizer.encode(joined, normalize=options.normalize_text))
    if not n_before or room < least_frames(text, running.rate):
        reason = f"the segment before it left room for {running.rate.shown(room)}"
    elif n_ids > LONGEST_BYTES:
        reason = f"with the text before it, it has more than {LONGEST_BYTES} bytes"
    else:
        return joined, frames[:n_before], {}
    return text, None, {"not_continued": [f"{text[:40]!r}: {reason}"]}


def _check_forcing(options: EchoOptions, *, has_voice: bool) -> None:
    if options.speaker_kv_scale is not None and not has_voice:
        raise InvalidValueError(
            f"speaker_kv_scale={options.speaker_kv_scale:g} forces a voice, and none is given: "
            "give a voice, or leave it out.",
            param="speaker_kv_scale",
        )


def _settings(options: EchoOptions, window: Window, *, is_exact: bool) -> SamplerSettings:
    """The sampler's settings from filled options."""
    assert options.num_steps is not None
    assert options.cfg_scale_text is not None
    assert options.cfg_scale_speaker is not None
    assert options.cfg_min_t is not None
    assert options.cfg_max_t is not None
    guidance = Guidance(
        text=options.cfg_scale_text,
        speaker=options.cfg_scale_speaker,
        min_t=options.cfg_min_t,
        max_t=options.cfg_max_t,
        joint=options.guidance == JOINT,
    )
    return SamplerSettings(
        n_steps=options.num_steps,
        guidance=guidance,
        truncation_factor=options.truncation_factor,
        rescale=_rescale(options),
        speaker_scale=_speaker_scale(options, is_exact=is_exact),
        n_frames=window.n_frames,
        block_sizes=window.block_sizes,
        block_steps=window.block_steps,
    )


def _rescale(options: EchoOptions) -> Rescale | None:
    if options.rescale_k is None or options.rescale_sigma is None:
        return None
    return Rescale(options.rescale_k, options.rescale_sigma)


def _speaker_scale(options: EchoOptions, *, is_exact: bool) -> SpeakerScale | None:
    if options.speaker_kv_scale is None or options.speaker_kv_min_t is None:
        return None
    return SpeakerScale(
        scale=options.speaker_kv_scale,
        min_t=options.speaker_kv_min_t,
        max_layers=options.speaker_kv_max_layers,
        compounds=is_exact,
    )


def _rushed(text: str, window: Window, rate: Rate) -> Mapping[str, object]:
    """A remark where the window is shorter than the text's speech, which then has to hurry."""
    expected_s, window_s = expected_seconds(text), window.n_frames / rate.frame_rate_hz
    if expected_s <= window_s:
        return {}
    remark = f"{text[:40]!r}: about {expected_s:.0f} s of speech in {window_s:.1f} s"
    return {"rushed": [remark]}


def _applied(given: EchoOptions, window: Window, idle: Mapping[str, str]) -> Mapping[str, object]:
    """What is really used; what was asked for in vain is named.

    `options` are filled, and None where they have no effect, so that they may be given again for
    the same speech. What was chosen for this text, such as the window, stands beside them.
    """
    says_length = given.sequence_length is not None or given.block_sizes is not None
    length = given.length if says_length else given.length or window.length
    applied: dict[str, object] = {
        "options": given.filled().as_given() | {"length": length} | dict.fromkeys(idle),
        "guidance": given.guidance,
        "length": window.length or "blocks",
        "sequence_length": window.n_frames,
    }
    told = [f"{name}: {why}" for name, why in idle.items() if getattr(given, name) is not None]
    if told:
        applied["without_effect"] = told
    return applied


def _without_effect(
    options: EchoOptions, speaker: FloatArray | None, config: DiTConfig
) -> dict[str, str]:
    """The filled options that do nothing, each with the reason; `speaker` is latents [T, C]."""
    idle = {}
    if speaker is None and options.guidance != JOINT:
        idle["cfg_scale_speaker"] = "no voice is given"
    if options.block_steps is not None:
        idle["num_steps"] = "block_steps gives each block its own"
    # parity: one of the two rescaling numbers alone does nothing
    for name, other in (("rescale_k", "rescale_sigma"), ("rescale_sigma", "rescale_k")):
        if getattr(options, name) is not None and getattr(options, other) is None:
            idle[name] = f"{other} is not given"
    if (
        options.speaker_kv_max_layers is not None
        and options.speaker_kv_max_layers > config.n_layers
    ):
        idle["speaker_kv_max_layers"] = f"the model has only {config.n_layers} layers"
    return idle
