"""What a checkpoint is and can do, from its configuration alone."""

from menura.engines.contract import Capability, EngineSpec, PresetVoice, ReferenceRules
from menura.engines.qwen3_tts import clip
from menura.engines.qwen3_tts.config import Qwen3TTSConfig
from menura.engines.qwen3_tts.options import GenerationOptions
from menura.engines.qwen3_tts.speaker_encoder import least_samples

ENGINE = "qwen3-tts"
LICENCE = "Apache-2.0"
_SIZE_NAMES = {"0b6": "0.6b", "1b7": "1.7b"}
_DIALECT = "dialect"


def spec_of(config: Qwen3TTSConfig, fingerprint: str, max_rows: int) -> EngineSpec:
    """The spec of a checkpoint with this configuration, whose weights have this fingerprint.

    `max_rows`: how many rows pay together in the way that it runs.
    """
    voices = tuple(_preset(name, config) for name in config.talker.speaker_ids)
    return EngineSpec(
        engine=ENGINE,
        model=f"{ENGINE}-{_SIZE_NAMES[config.size]}-{config.variant.replace('_', '')}",
        variant=config.variant,
        sample_rate_hz=config.codec.sample_rate_hz,
        frame_rate_hz=config.codec.frame_rate_hz,
        languages=languages_of(config),
        voices=voices,
        default_voice=voices[0].name if voices else None,
        options=GenerationOptions,
        capabilities=_capabilities(config),
        speaks_without_voice=config.variant != "base",
        max_rows=max_rows,
        fingerprint=fingerprint if config.variant == "base" else "",
        reference=_reference(config),
        licence=LICENCE,
    )


def languages_of(config: Qwen3TTSConfig) -> tuple[str, ...]:
    """The languages that can be asked for; a dialect cannot, it comes with its speaker."""
    return tuple(name for name in config.talker.language_ids if _DIALECT not in name)


def follows_instructions(config: Qwen3TTSConfig) -> bool:
    """Whether a style instruction or a description has an effect."""
    is_small = config.size == "0b6"
    return config.variant == "voice_design" or (config.variant == "custom_voice" and not is_small)


def _capabilities(config: Qwen3TTSConfig) -> frozenset[Capability]:
    found = {Capability.STREAM_TEXT}
    if config.variant == "base":
        found.add(Capability.CLONE)
    elif config.variant == "voice_design":
        found.add(Capability.DESIGN)
    elif follows_instructions(config):
        found.add(Capability.INSTRUCT)
    return frozenset(found)


def _reference(config: Qwen3TTSConfig) -> ReferenceRules | None:
    """What a recording must be; None for a model that has no speaker encoder."""
    encoder = config.speaker_encoder
    if encoder is None:
        return None
    return clip.rules(least_samples(encoder) / encoder.sample_rate_hz)


def _preset(name: str, config: Qwen3TTSConfig) -> PresetVoice:
    dialect = config.talker.speaker_dialects.get(name)
    languages = languages_of(config)
    if dialect is None:
        return PresetVoice(name, languages)
    spoken = dialect.replace("_", " ")
    return PresetVoice(name, (*languages, dialect), f"speaks Chinese in the {spoken}")
