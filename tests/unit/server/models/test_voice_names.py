"""The library's voices are served to the models that can use them, under a word of their own."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from menura import voice_files
from menura.engines.contract import VoicePrompt
from menura.errors import InvalidValueError, UnsupportedError, VoiceNotFoundError
from menura.server.models.model_facts import ModelFacts, facts_of
from menura.server.models.voice_names import (
    OPENAI_VOICES,
    ChosenVoice,
    ServedVoice,
    VoiceNames,
    saved_voice,
)
from menura.speech import Voice
from menura.voice_library.library import LibraryVoice, VoiceLibrary
from menura.voice_library.record import SourceKind, VoiceSource
from tests.kept_voices import kept, new_voice
from tests.tone.engine import ToneEngine

FACTS = facts_of(ToneEngine().spec)
RECORDING_ONLY = replace(FACTS, voices=(), default_voice=None)
CANNOT_CLONE = replace(FACTS, capabilities=frozenset())


def names_of(aliases: Mapping[str, str] | None = None, *files: Path) -> VoiceNames:
    saved = [saved_voice(file.stem, file) for file in files]
    return VoiceNames(saved, aliases or {}, VoiceLibrary())


def words(facts: ModelFacts = FACTS, aliases: Mapping[str, str] | None = None) -> list[str]:
    """The words of the library's voices."""
    served = names_of(aliases).served(facts)
    return [voice.name for voice in served if voice.voice_id is not None]


def of_library(voice: LibraryVoice) -> ChosenVoice:
    return ChosenVoice(None, None, voice.label, voice.id)


def test_a_library_voice_is_found_by_id_and_label() -> None:
    anna, names = kept("Anna"), names_of()
    for given in ("Anna", "ANNA", anna.id, "lib:Anna", f"lib:{anna.id}"):
        assert names.chosen(given, FACTS) == of_library(anna)
    assert names.served(FACTS)[-1] == ServedVoice(
        "Anna", FACTS.languages, "a voice of the library", is_file=False, voice_id=anna.id
    )
    assert [voice.is_added for voice in names.served(FACTS)] == [False, False, True]


def test_voices_come_and_go_while_the_server_runs() -> None:
    names = names_of()
    assert words() == []
    with pytest.raises(InvalidValueError, match="there is no voice 'Anna'"):
        names.chosen("Anna", FACTS)
    anna = kept("Anna")
    assert names.chosen("Anna", FACTS) == of_library(anna)
    VoiceLibrary().edit("Anna", label="Lena")
    assert names.chosen("lena", FACTS).label == "Lena"
    VoiceLibrary().remove("Lena")
    with pytest.raises(InvalidValueError):
        names.chosen("Lena", FACTS)
    with pytest.raises(VoiceNotFoundError) as no:
        names.chosen("lib:Lena", FACTS)
    assert no.value.http_status == 404


def test_what_has_the_name_already_keeps_it() -> None:
    for label in ("LOW", "Alloy", "grandma", "tone:anna", "Ben"):
        kept(label)
    aliases = {"Grandma": "high"}
    assert words(aliases=aliases) == [
        "lib:Alloy", "Ben", "lib:grandma", "lib:LOW", "lib:tone:anna",
    ]  # fmt: skip
    names = names_of(aliases)
    assert names.chosen("low", FACTS).name == "low"
    assert names.chosen("alloy", FACTS).name == "low"
    assert names.chosen("grandma", FACTS).name == "high"
    for voice in names.served(FACTS):
        if voice.voice_id is not None:
            assert names.chosen(voice.name, FACTS).voice_id == voice.voice_id


def test_a_file_of_the_servers_wins_over_the_library(tmp_path: Path) -> None:
    kept("me")
    file = tmp_path / "me.safetensors"
    prompt = VoicePrompt("tone", "1", "x_vector", {"embedding": np.ones(1, np.float32)})
    voice_files.save(Voice("me", prompt), file)
    names = names_of({}, file)
    assert names.chosen("Me", FACTS).file == file
    assert names.chosen("lib:me", FACTS).voice_id is not None
    assert [voice.name for voice in names.served(FACTS)] == ["low", "high", "me", "lib:me"]


def test_two_with_one_label_are_served_by_their_ids(tmp_path: Path) -> None:
    anna = kept("Anna")
    other = VoiceLibrary(tmp_path / "other").add(new_voice("anna"))
    other.folder.rename(VoiceLibrary().folder / "copied in")
    assert sorted(words()) == sorted([anna.id, other.id])
    with pytest.raises(InvalidValueError, match="give the id of one"):
        names_of().chosen("Anna", FACTS)


def test_settings_may_give_a_library_voice_another_name() -> None:
    anna = kept("Anna")
    names = names_of({"alloy": "Anna", "narrator": "lib:anna"})
    assert names.chosen("ALLOY", FACTS) == of_library(anna)
    assert names.chosen("narrator", FACTS) == of_library(anna)


def test_openais_names_do_not_move_when_a_voice_is_added() -> None:
    before = [names_of().chosen(name, FACTS) for name in OPENAI_VOICES]
    kept("Anna")
    assert [names_of().chosen(name, FACTS) for name in OPENAI_VOICES] == before


def test_a_model_that_needs_a_recording_has_the_librarys_first() -> None:
    kept("Ben")
    anna = kept("Anna")
    for given in (None, "alloy"):
        assert names_of().chosen(given, RECORDING_ONLY) == of_library(anna)


def test_a_model_is_served_what_it_can_use() -> None:
    kept("Anna")
    deep = kept("Deep", source=VoiceSource(SourceKind.PRESET, "tone", preset="low"))
    assert words(CANNOT_CLONE) == ["Deep"]
    assert names_of().chosen("Deep", CANNOT_CLONE) == of_library(deep)
    with pytest.raises(UnsupportedError, match="the voice 'Anna' cannot be used") as no:
        names_of().chosen("Anna", CANNOT_CLONE)
    assert no.value.param == "voice"


def test_a_models_own_voice_does_not_ask_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VoiceLibrary, "voices", None)
    assert names_of().chosen("low", FACTS).name == "low"
    assert names_of().chosen(None, FACTS).label == "low"
    assert names_of().chosen("nova", FACTS).name == "high"
