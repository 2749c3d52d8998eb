"""Names are looked up in tables, and what is in none is the same miss whatever it looks like."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from menura import voices
from menura.engines.contract import PresetVoice, VoicePrompt
from menura.errors import InvalidValueError, ModelNotFoundError
from menura.server.models.model_facts import ModelFacts, facts_of
from menura.server.models.names import OPENAI_MODELS, Names
from menura.server.models.voice_names import OPENAI_VOICES, ChosenVoice
from menura.speech import Voice
from tests.tone.engine import ToneEngine
from tests.unit.server.hand_clock import HandClock
from tests.unit.store.fake_hub import QWEN, cache_repo, files_of, use_clean_home

FACTS = facts_of(ToneEngine().spec)
RECORDING_ONLY = replace(FACTS, voices=(), default_voice=None)
FREE = replace(RECORDING_ONLY, speaks_without_voice=True)
TRAVERSALS = (
    "../../etc/passwd", "..\\..\\x", "%2e%2e/", "C:\\x", "/abs", "~", "a\0b", "x" * 10_000, "CON",
    "tone.", "\u202etone", "https://example.com/x", "someone/some-model", "", " tone", "tone\n",
)  # fmt: skip


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_clean_home(monkeypatch, tmp_path / "home")


def tone_folder(tmp_path: Path, name: str = "tone") -> Path:
    folder = tmp_path / name
    folder.mkdir(parents=True)
    (folder / "tone.json").write_text("{}")
    return folder


def saved_voice(tmp_path: Path, engine: str = "tone") -> Path:
    prompt = VoicePrompt(engine, "1", "x_vector", {"embedding": np.ones(1, np.float32)})
    file = tmp_path / f"{engine}-voice.safetensors"
    voices.save(Voice("me", prompt), file)
    return file


def names_of(
    tmp_path: Path,
    saved: Mapping[str, Path] | None = None,
    aliases: Mapping[str, str] | None = None,
    clock: HandClock | None = None,
) -> Names:
    folder = str(tone_folder(tmp_path))
    return Names.at_start([folder], saved or {}, folder, {}, aliases or {}, clock or HandClock())


# Models.


def test_a_folder_without_a_model_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("no model")
    with pytest.raises(ModelNotFoundError, match="holds no model") as no:
        Names.at_start([], {}, str(tmp_path / "notes"))
    assert no.value.exit_code == 3


def test_the_default_model_comes_first_then_what_is_installed(tmp_path: Path) -> None:
    cache_repo(QWEN, files_of(QWEN))
    names = names_of(tmp_path)
    assert names.default == "tone"
    assert names.models() == ("tone", "builtin", "qwen3-tts-0.6b-base")
    assert names.folders() == {"tone": tmp_path / "tone"}
    assert names.source("tone") == str(tmp_path / "tone")
    assert names.source("qwen3-tts-0.6b-base") == "qwen3-tts-0.6b-base"


def test_a_model_is_found_in_any_case(tmp_path: Path) -> None:
    names = names_of(tmp_path)
    assert names.model("TONE") == "tone"
    assert names.model("Builtin") == "builtin"
    assert names.model(None) == "tone"


@pytest.mark.parametrize("alias", [*OPENAI_MODELS, "TTS-1", "gpt-4o-mini-tts-2031-01-01"])
def test_openais_models_are_the_default_one(tmp_path: Path, alias: str) -> None:
    assert names_of(tmp_path).model(alias) == "tone"


def test_a_setting_moves_an_alias(tmp_path: Path) -> None:
    folder = str(tone_folder(tmp_path))
    names = Names.at_start([], {}, folder, {"TTS-1": "builtin", "calm": "tone"})
    assert names.model("tts-1") == "builtin"
    assert names.model("tts-1-hd") == "tone"
    assert names.model("calm") == "tone"
    assert names.aliases()["tts-1"] == "builtin"
    with pytest.raises(InvalidValueError, match=r"'builtn'.*Did you mean 'builtin'"):
        Names.at_start([], {}, folder, {"calm": "builtn"})


@pytest.mark.parametrize("given", TRAVERSALS)
def test_every_other_word_is_the_same_miss(tmp_path: Path, given: str) -> None:
    names = names_of(tmp_path)
    with pytest.raises(ModelNotFoundError) as caught:
        names.model(given)
    assert caught.value.message == (
        f"model {given[:60]!r} is not served here; these are: tone, builtin."
    )
    assert caught.value.message.isprintable()
    assert caught.value.param == "model"


def test_a_folder_that_is_here_is_no_name(tmp_path: Path) -> None:
    names = names_of(tmp_path)
    for word in (str(tmp_path / "tone"), "./tone", "Qwen/Qwen3-TTS-12Hz-0.6B-Base"):
        with pytest.raises(ModelNotFoundError):
            names.model(word)


def test_what_is_not_here_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="menura models pull"):
        Names.at_start(["echo-tts-base"], {}, "builtin")
    with pytest.raises(ModelNotFoundError):
        Names.at_start([], {}, str(tmp_path / "absent"))


def test_two_folders_of_one_name_stop_the_start(tmp_path: Path) -> None:
    first, second = tone_folder(tmp_path / "a"), tone_folder(tmp_path / "b")
    with pytest.raises(InvalidValueError, match="two models would be served as 'tone'"):
        Names.at_start([str(first), str(second)], {}, str(first))
    assert Names.at_start([str(first)], {}, str(first)).models()[0] == "tone"


def test_the_disk_is_looked_at_again_after_a_while(tmp_path: Path) -> None:
    clock = HandClock()
    names = names_of(tmp_path, clock=clock)

    async def run() -> None:
        await names.refresh()
        assert names.generation == 0
        cache_repo(QWEN, files_of(QWEN))
        clock.move(9)
        await names.refresh()
        assert "qwen3-tts-0.6b-base" not in names.models()
        clock.move(1)
        await names.refresh()
        assert names.model("qwen3-tts-0.6b-base") == "qwen3-tts-0.6b-base"
        assert names.generation == 1
        clock.move(60)
        await names.refresh()
        assert names.generation == 1

    asyncio.run(run())


# Voices.


def test_a_preset_is_found_in_any_case(tmp_path: Path) -> None:
    names = names_of(tmp_path)
    assert names.voice("HIGH", FACTS) == ChosenVoice("high", None, "high")
    assert names.voice(None, FACTS) == ChosenVoice(None, None, "low")


def test_openais_voices_are_the_models_own_in_turn(tmp_path: Path) -> None:
    names = names_of(tmp_path)
    chosen = [names.voice(voice, FACTS).name for voice in OPENAI_VOICES]
    assert chosen == ["low", "high"] * 6 + ["low"]
    assert names.voice("ALLOY", FACTS).name == "low"


def test_a_voice_of_the_models_own_wins_over_openais(tmp_path: Path) -> None:
    own = (PresetVoice("low", ()), PresetVoice("Fable", ()))
    assert names_of(tmp_path).voice("fable", replace(FACTS, voices=own)).name == "Fable"


def test_settings_say_which_voice_a_name_means(tmp_path: Path) -> None:
    names = names_of(tmp_path, aliases={"Alloy": "HIGH", "grandma": "low", "nobody": "x"})
    assert names.voice("alloy", FACTS).name == "high"
    assert names.voice("Grandma", FACTS).name == "low"
    with pytest.raises(InvalidValueError):
        names.voice("nobody", FACTS)


@pytest.mark.parametrize("bare", [False, True])
def test_a_name_that_was_given_a_meaning_never_means_another_voice(
    bare: bool, tmp_path: Path
) -> None:
    names = names_of(tmp_path, aliases={"alloy": "zzz"})
    facts = replace(FACTS, voices=(), speaks_without_voice=True) if bare else FACTS
    with pytest.raises(InvalidValueError, match="there is no voice 'zzz'"):
        names.voice("alloy", facts)
    assert names.voice("ash", facts).name == (None if bare else "high")


def test_a_saved_voice_belongs_to_its_engine(tmp_path: Path) -> None:
    file = saved_voice(tmp_path)
    names = names_of(tmp_path, saved={"Me": file, "You": saved_voice(tmp_path, "echo-tts")})
    assert names.voice("me", FACTS) == ChosenVoice(None, file, "Me")
    assert [(voice.name, voice.is_file) for voice in names.voices(FACTS)] == [
        ("low", False), ("high", False), ("Me", True),
    ]  # fmt: skip
    with pytest.raises(InvalidValueError, match="there is no voice 'You'; 'tone' has: low, high"):
        names.voice("You", FACTS)
    cannot_clone = replace(FACTS, capabilities=frozenset())
    with pytest.raises(InvalidValueError):
        names.voice("Me", cannot_clone)


def test_a_model_that_needs_a_recording_takes_the_saved_one(tmp_path: Path) -> None:
    file = saved_voice(tmp_path)
    names = names_of(tmp_path, saved={"Me": file})
    for given in (None, "alloy", "cedar", "me"):
        assert names.voice(given, RECORDING_ONLY) == ChosenVoice(None, file, "Me")


@pytest.mark.parametrize("given", [None, "alloy", "x"])
def test_a_model_that_needs_a_recording_and_has_none_says_how(
    tmp_path: Path, given: str | None
) -> None:
    with pytest.raises(InvalidValueError, match=r"--voice NAME=FILE\.safetensors") as caught:
        names_of(tmp_path).voice(given, RECORDING_ONLY)
    assert caught.value.param == "voice"


def test_a_model_without_voices_speaks_without_one(tmp_path: Path) -> None:
    names = names_of(tmp_path)
    for given in (None, "alloy", ""):
        assert names.voice(given, FREE) == ChosenVoice(None, None, None)
    with pytest.raises(InvalidValueError, match="leave voice out"):
        names.voice("x", FREE)


@pytest.mark.parametrize("given", TRAVERSALS)
def test_an_unknown_voice_is_never_another_one(tmp_path: Path, given: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        names_of(tmp_path).voice(given, FACTS)
    assert caught.value.message.startswith(
        f"there is no voice {given[:60]!r}; 'tone' has: low, high;"
    )
    assert caught.value.message.isprintable()


def test_a_close_name_is_proposed(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="Did you mean 'high'"):
        names_of(tmp_path).voice("hihg", FACTS)


def test_a_voice_that_is_not_here_says_what_brings_it(tmp_path: Path) -> None:
    absent = PresetVoice("emma", ("english",), missing="bring it with: menura models pull e")
    facts: ModelFacts = replace(FACTS, voices=(*FACTS.voices, absent))
    names = names_of(tmp_path)
    with pytest.raises(InvalidValueError, match="'emma' is not on this machine; bring it with"):
        names.voice("Emma", facts)
    assert [voice.name for voice in names.voices(facts)] == ["low", "high"]


def test_a_file_that_is_no_voice_stops_the_start(tmp_path: Path) -> None:
    file = tmp_path / "me.safetensors"
    file.write_bytes(b"no voice at all")
    with pytest.raises(InvalidValueError, match="no voice can be read"):
        Names.at_start([], {"me": file}, "builtin")


def test_a_voices_word_may_say_its_model(tmp_path: Path) -> None:
    names = names_of(tmp_path)
    assert names.split_voice("Builtin:heart") == ("builtin", "heart")
    assert names.split_voice("tts-1:low") == ("tone", "low")
    assert names.split_voice("low") == (None, "low")
    assert names.split_voice("a:b:c") == (None, "a:b:c")
    assert names.voice_id("tone", "low") == "low"
    assert names.voice_id("builtin", "heart") == "builtin:heart"
