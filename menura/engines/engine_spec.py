"""What a model is and can do, as one value: all that checks, help and pages show of it."""

from dataclasses import dataclass
from enum import StrEnum

from menura.engines.reference_rules import ReferenceRules
from menura.options import Options

_RECORDING = (
    "a recording (a Voice from tts.voice(clip); on the command line --ref FILE, or --voice with a "
    "saved voice's .safetensors file)"
)


class Capability(StrEnum):
    """What a model can do beyond reading a text aloud."""

    CLONE = "clone"
    INSTRUCT = "instruct"
    DESIGN = "design"
    STREAM_TEXT = "stream_text"


@dataclass(frozen=True)
class PresetVoice:
    """A voice inside a model: its name, the languages (or dialects) it speaks, a word about it.

    `missing` is empty, or says how to bring a voice whose file is not on this machine.
    """

    name: str
    languages: tuple[str, ...]
    description: str = ""
    missing: str = ""


@dataclass(frozen=True)
class EngineSpec:
    """What one loaded or described model is and can do. All that checks, help and pages show.

    `alphabet`: the letters that the model reads, None for all. `native_speed`: the slowest and
    fastest pace that the model does itself; the rest is time-stretched. `max_segment_s`: the most
    speech that the planner may put into one segment, `max_segment_bytes` the most text in UTF-8.
    `max_continued_s`: the same where each segment goes on from the one before (the option
    `continue_segments`), which may have to fit into one window with it; None: the same.
    `turn_tag`: the pattern of the tags that say who speaks from there on; empty: there are none.
    `max_rows`: the rows that pay together in the way that the model is loaded; a description tells
    those of `precision="auto"`. `segments_ahead`: how many segments of a request may be under way
    before they are due; 0 where a row takes its time from the others.
    `fingerprint` names the weights that a voice belongs to; empty where there are no voices.
    `reference`: what a recording must be to speak like it; None where it cannot, or does not say.
    """

    engine: str
    model: str
    variant: str
    sample_rate_hz: int
    frame_rate_hz: float | None
    languages: tuple[str, ...]
    voices: tuple[PresetVoice, ...]
    default_voice: str | None
    options: type[Options]
    capabilities: frozenset[Capability] = frozenset()
    speaks_without_voice: bool = False
    alphabet: frozenset[str] | None = None
    native_speed: tuple[float, float] = (1.0, 1.0)
    max_segment_s: float = 25.0
    max_segment_bytes: int | None = None
    max_continued_s: float | None = None
    turn_tag: str = ""
    max_rows: int = 1
    segments_ahead: int = 4
    fingerprint: str = ""
    reference: ReferenceRules | None = None
    licence: str = ""
    output_licence: str = ""

    @property
    def takes_instructions(self) -> bool:
        """Whether a style instruction or a voice description has an effect."""
        return bool(self.capabilities & {Capability.INSTRUCT, Capability.DESIGN})

    @property
    def streams_text(self) -> bool:
        """Whether text may arrive in pieces while audio already leaves."""
        return Capability.STREAM_TEXT in self.capabilities

    @property
    def clones(self) -> bool:
        """Whether it can speak like a recording."""
        return Capability.CLONE in self.capabilities

    def voice_choices(self) -> str:
        """What may be given as `voice`, in words for an error."""
        if Capability.DESIGN in self.capabilities:
            return "none; leave voice out, and say in instruct who speaks"
        names = [preset.name for preset in self.voices] + [_RECORDING] * self.clones
        if self.speaks_without_voice and names == [_RECORDING]:
            return f"leave voice out, or give {_RECORDING}"
        return ", ".join(names) or "none; leave voice out"
