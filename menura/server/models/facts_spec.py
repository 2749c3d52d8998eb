"""A model's spec once more, from its facts: what planning needs of it, and no engine.

The server plans with the very function that a model's process plans with. Only what an engine's
options mean together is not checked here: that is code of the engine's.
"""

from dataclasses import make_dataclass
from functools import lru_cache
from types import UnionType

from menura.engines.contract import Capability, EngineSpec
from menura.options import Options, option
from menura.server.models.model_facts import ModelFacts, OptionWords

_KINDS: dict[str, type | UnionType] = {
    "boolean": bool, "integer": int, "number": float, "string": str, "integers": tuple[int, ...],
}  # fmt: skip


@lru_cache(maxsize=64)
def spec_of(facts: ModelFacts) -> EngineSpec:
    """The spec that the facts were made from, as far as checks and plans read it."""
    known = {str(capability): capability for capability in Capability}
    return EngineSpec(
        engine=facts.engine,
        model=facts.model,
        variant=facts.variant,
        sample_rate_hz=facts.sample_rate_hz,
        frame_rate_hz=None,
        languages=facts.languages,
        voices=facts.voices,
        default_voice=facts.default_voice,
        options=_options(facts.options),
        capabilities=frozenset(known[name] for name in facts.capabilities if name in known),
        speaks_without_voice=facts.speaks_without_voice,
        alphabet=facts.alphabet,
        native_speed=facts.native_speed,
        max_segment_s=facts.max_segment_s,
        max_segment_bytes=facts.max_segment_bytes,
        max_continued_s=facts.max_continued_s,
        turn_tag=facts.turn_tag,
        max_rows=facts.max_rows,
        fingerprint=facts.fingerprint,
        reference=facts.reference,
        licence=facts.licence,
        output_licence=facts.output_licence,
    )


def _options(words: tuple[OptionWords, ...]) -> type[Options]:
    """A set of options with the same declarations."""
    fields = [(each.name, _hint(each), _declared(each)) for each in words]
    return make_dataclass("FactsOptions", fields, bases=(Options,), frozen=True)


def _hint(words: OptionWords) -> type | UnionType:
    kind = _KINDS[words.kind]
    return kind | None if words.optional else kind


def _declared(words: OptionWords) -> object:
    return option(
        words.default,
        help=words.help,
        minimum=words.minimum,
        maximum=words.maximum,
        choices=words.choices,
        pattern=words.pattern,
        unit=words.unit,
    )
