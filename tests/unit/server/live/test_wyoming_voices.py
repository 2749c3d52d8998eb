import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from wyoming.event import Event
from wyoming.info import Info
from wyoming.tts import SynthesizeVoice

from menura.engines.contract import PresetVoice
from menura.errors import InvalidValueError
from menura.server.live.wyoming_voices import Chosen, WyomingVoices
from menura.server.models.model_facts import ModelFacts
from tests.live_server import parts_with
from tests.spoken_orders import FACTS, SpokenOrders


def info_of(folder: Path, facts: ModelFacts = FACTS) -> Info:
    """The info as a client reads it from the wire."""

    async def asked() -> Event:
        parts = parts_with(SpokenOrders({"tone": facts}), folder)
        return (await WyomingVoices(parts.names, parts.pool).info()).event()

    return Info.from_event(asyncio.run(asked()))


def test_all_voices_stand_in_one_program_with_language_codes(tmp_path: Path) -> None:
    info = info_of(tmp_path)
    [program] = info.tts
    assert (program.name, program.installed) == ("menura", True)
    assert program.supports_synthesize_streaming
    assert [(v.name, v.languages, v.installed, v.description) for v in program.voices] == [
        ("low", ["en"], True, "low (tone)"),
        ("high", ["zh"], True, "A high one (tone)"),
    ]
    assert all(voice.attribution.name == "Menura" for voice in program.voices)


def test_a_voice_has_a_language_even_where_none_is_known(tmp_path: Path) -> None:
    facts = replace(FACTS, languages=("elvish",), voices=(PresetVoice("low", ("sindarin",)),))
    [voice] = info_of(tmp_path, facts).tts[0].voices
    assert voice.languages == ["en"]


def test_a_dialect_without_a_code_is_shown_under_the_models_languages(tmp_path: Path) -> None:
    facts = replace(FACTS, voices=(PresetVoice("low", ("sichuan dialect",)),))
    [voice] = info_of(tmp_path, facts).tts[0].voices
    assert voice.languages == ["en", "zh"]


def test_a_model_that_speaks_without_a_voice_is_a_voice(tmp_path: Path) -> None:
    facts = replace(FACTS, voices=(), default_voice=None, speaks_without_voice=True)
    [voice] = info_of(tmp_path, facts).tts[0].voices
    assert (voice.name, voice.languages) == ("tone", ["en", "zh"])


def test_a_model_that_cannot_be_looked_at_is_left_out(tmp_path: Path) -> None:
    parts = parts_with(SpokenOrders({}), tmp_path)
    info = asyncio.run(WyomingVoices(parts.names, parts.pool).info())
    assert info.tts[0].voices == []


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        (None, Chosen(None, None, None)),
        (SynthesizeVoice(), Chosen(None, None, None)),
        (SynthesizeVoice(name="low"), Chosen(None, "low", None)),
        (SynthesizeVoice(name="low", speaker="low"), Chosen(None, "low", None)),
        (SynthesizeVoice(name="tone"), Chosen("tone", None, None)),
        (SynthesizeVoice(name="tone", speaker="high"), Chosen("tone", "high", None)),
        (SynthesizeVoice(language="zh"), Chosen(None, None, "zh")),
    ],
)
def test_what_a_clients_voice_means(
    given: SynthesizeVoice | None, chosen: Chosen, tmp_path: Path
) -> None:
    parts = parts_with(SpokenOrders(), tmp_path)
    assert WyomingVoices(parts.names, parts.pool).chosen(given) == chosen


def test_a_speaker_of_a_voice_is_refused(tmp_path: Path) -> None:
    parts = parts_with(SpokenOrders(), tmp_path)
    with pytest.raises(InvalidValueError, match="no speakers"):
        WyomingVoices(parts.names, parts.pool).chosen(SynthesizeVoice(name="low", speaker="two"))
