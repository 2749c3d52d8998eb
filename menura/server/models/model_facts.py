"""What a model is and can do, as plain data: it crosses a pipe as JSON and needs no engine."""

from collections.abc import Mapping
from dataclasses import dataclass

from menura.engines.contract import Capability, EngineSpec, PresetVoice, ReferenceRules
from menura.options import OptionFacts

Value = bool | int | float | str | tuple[int, ...] | None
_KINDS: Mapping[type, str] = {
    bool: "boolean", int: "integer", float: "number", str: "string", tuple: "integers",
}  # fmt: skip


@dataclass(frozen=True)
class OptionWords:
    """One option of a model in words that JSON has: its bounds are inclusive.

    `kind`: boolean, integer, number, string or integers (a list).
    """

    name: str
    kind: str
    default: Value
    optional: bool
    minimum: float | None
    maximum: float | None
    choices: tuple[str, ...]
    pattern: str
    unit: str
    help: str


@dataclass(frozen=True)
class ModelFacts:
    """The parts of an `EngineSpec` that the server needs. See there for the words."""

    engine: str
    model: str
    variant: str
    sample_rate_hz: int
    languages: tuple[str, ...]
    voices: tuple[PresetVoice, ...]
    default_voice: str | None
    options: tuple[OptionWords, ...]
    capabilities: frozenset[str]
    speaks_without_voice: bool
    alphabet: frozenset[str] | None
    native_speed: tuple[float, float]
    max_segment_s: float
    max_segment_bytes: int | None
    max_continued_s: float | None
    turn_tag: str
    max_rows: int
    fingerprint: str
    reference: ReferenceRules | None
    licence: str
    output_licence: str

    @property
    def streams_text(self) -> bool:
        """Whether a text may come in pieces while it is spoken."""
        return Capability.STREAM_TEXT in self.capabilities

    @property
    def clones(self) -> bool:
        """Whether it can speak like a recording."""
        return Capability.CLONE in self.capabilities

    @property
    def takes_instructions(self) -> bool:
        """Whether a style instruction or a voice description has an effect."""
        return bool(self.capabilities & {Capability.INSTRUCT, Capability.DESIGN})


def facts_of(spec: EngineSpec) -> ModelFacts:
    """The facts of a loaded or described model."""
    return ModelFacts(
        engine=spec.engine,
        model=spec.model,
        variant=spec.variant,
        sample_rate_hz=spec.sample_rate_hz,
        languages=spec.languages,
        voices=spec.voices,
        default_voice=spec.default_voice,
        options=tuple(_words_of(facts) for facts in spec.options.facts()),
        capabilities=frozenset(map(str, spec.capabilities)),
        speaks_without_voice=spec.speaks_without_voice,
        alphabet=spec.alphabet,
        native_speed=spec.native_speed,
        max_segment_s=spec.max_segment_s,
        max_segment_bytes=spec.max_segment_bytes,
        max_continued_s=spec.max_continued_s,
        turn_tag=spec.turn_tag,
        max_rows=spec.max_rows,
        fingerprint=spec.fingerprint,
        reference=spec.reference,
        licence=spec.licence,
        output_licence=spec.output_licence,
    )


def _words_of(facts: OptionFacts) -> OptionWords:
    return OptionWords(
        name=facts.name,
        kind=_KINDS[facts.kind],
        default=_value(facts.default),
        optional=facts.optional,
        minimum=facts.minimum,
        maximum=facts.maximum,
        choices=facts.choices,
        pattern=facts.pattern,
        unit=facts.unit,
        help=facts.help,
    )


def _value(value: object) -> Value:
    """The value of an option, which is one that options can have."""
    if isinstance(value, tuple):
        return tuple(int(number) for number in value)
    assert value is None or isinstance(value, (bool, int, float, str))
    return value
