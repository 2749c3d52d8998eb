"""Voices people keep, with a tiny Qwen3-TTS checkpoint as the model that speaks like them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

import menura
from menura.engines.qwen3_tts.tiny import Tiny, write
from menura.voice_library.library import LibraryVoice, VoiceLibrary
from menura.voice_library.record import SourceKind, VoiceDefaults, VoiceSource
from tests.command_line import Ran, run
from tests.kept_voices import CONSENT, kept, new_voice, write_recording
from tests.serving_process import hub, serving

RATE_HZ = 24_000
SAID = "One, two, three, four, five, six, seven, eight, nine."
SHORT = ["-p", "max_new_tokens=9", "--seed", "1", "--force", "-o", "a.wav"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write(folder / "base", Tiny("base"))
    write(folder / "custom", Tiny("custom_voice"))
    write_recording(folder / "anna.wav", 8.0)
    return folder


@pytest.fixture(autouse=True)
def here(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def base(models: Path) -> str:
    return str(models / "base")


@pytest.fixture
def anna(models: Path) -> LibraryVoice:
    """A voice as a user makes it."""
    ran = run("voices", "add", "Anna", models / "anna.wav", "--ref-text", SAID, "--consent",
              CONSENT, "-l", "en")  # fmt: skip
    assert ran.code == 0, ran.stderr
    return VoiceLibrary().find("Anna")


def applied(ran: Ran) -> dict[str, object]:
    assert ran.code == 0, ran.stderr
    found = ran.answer["applied"]
    assert isinstance(found, dict)
    return found


def samples() -> "np.ndarray[tuple[int, ...], np.dtype[np.int16]]":
    read: np.ndarray[tuple[int, ...], np.dtype[np.int16]] = soundfile.read("a.wav", dtype="int16")[
        0
    ]
    return read


@pytest.mark.parametrize("word", ["Anna", "ANNA", "lib:anna"])
def test_a_kept_voice_speaks_by_its_name(word: str, anna: LibraryVoice, base: str) -> None:
    told = applied(run("say", "Hello.", "-m", base, "-v", word, *SHORT, "--json"))
    assert (told["voice"], told["voice_id"]) == ("Anna", anna.id)
    tts = menura.load(base)
    speech = tts.speak("Hello.", voice="Anna", seed=1, max_new_tokens=9)
    speech.save("b.wav")
    assert np.array_equal(samples(), soundfile.read("b.wav", dtype="int16")[0])


def test_what_a_model_made_of_it_is_kept_and_may_be_deleted(anna: LibraryVoice, base: str) -> None:
    run("say", "Hello.", "-m", base, "-v", "Anna", *SHORT)
    first = samples()
    [prompt] = (anna.folder / "prompts").iterdir()
    run("say", "Hello.", "-m", base, "-v", "Anna", *SHORT)
    assert np.array_equal(samples(), first)
    prompt.unlink()
    run("say", "Hello.", "-m", base, "-v", "Anna", *SHORT)
    assert np.array_equal(samples(), first)
    assert [path.name for path in (anna.folder / "prompts").iterdir()] == [prompt.name]


def test_a_plan_shows_it_without_a_model(anna: LibraryVoice, base: str) -> None:
    told = applied(run("say", "Hello.", "-m", base, "-v", "lib:Anna", "--plan", "--json"))
    assert (told["voice"], told["voice_id"]) == ("Anna", anna.id)
    assert "voice         Anna\n" in run("say", "Hello.", "-m", base, "-v", "Anna", "--plan").out
    assert not (anna.folder / "prompts").exists()


def test_its_own_model_and_manner_are_used(anna: LibraryVoice, base: str) -> None:
    run("voices", "edit", "Anna", "--default-model", base, "--speed", "0.5", "--instruct", "Calm.",
        "-p", "max_new_tokens=9")  # fmt: skip
    ran = run("say", "Hello.", "-v", "anna", "--seed", "1", "-o", "a.wav", "--json")
    told = applied(ran)["voice_defaults"]
    assert isinstance(told, dict)
    assert (told["speed"], told["options"]) == (0.5, {"max_new_tokens": 9})
    assert "note: the voice's own instruct is not used: " in ran.stderr
    plan = run("say", "Hello.", "-v", "anna", "--plan").out
    assert "speed         0.5 (time-stretched)" in plan


def test_what_a_model_cannot_do_with_it_is_told(anna: LibraryVoice, models: Path) -> None:
    for arguments in (["-m", str(models / "custom")], ["-m", "builtin"]):
        ran = run("say", "Hello.", "-v", "Anna", *arguments, *SHORT)
        assert ran.code == 4
        assert "cannot speak like a recording" in ran.stderr
    ran = run("say", "Hello.", "-v", "Anna", *SHORT)
    assert ran.code == 4
    assert "menura models pull qwen3-tts-0.6b-base" in ran.stderr
    ran = run("say", "Hello.", "-v", "lib:Ana", *SHORT)
    assert ran.code == 3
    assert "Did you mean 'Anna'?" in ran.stderr


def test_fit_tells_before_anything_is_spoken(anna: LibraryVoice, base: str, models: Path) -> None:
    [found] = _list(run("voices", "fit", "Anna", "-m", base, "--json").answer["fits"])
    assert (found["usable"], found["missing"]) == (True, [])
    run("voices", "edit", "Anna", "--ref-text", "")
    page = run("voices", "fit", "Anna", "-m", base).out
    assert "menura voices edit Anna --ref-text TEXT" in page
    ran = run("voices", "fit", "Anna", "-m", models / "custom", "--json")
    assert ran.code == 4
    listed = run("voices", "-m", base).out
    assert "yes, better with: transcript" in listed


def test_a_voice_goes_to_another_machine_with_all_that_is_known(
    anna: LibraryVoice, base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("say", "Hello.", "-m", base, "-v", "Anna", *SHORT)
    first = samples()
    assert run("voices", "export", "Anna").code == 0
    monkeypatch.setenv("MENURA_HOME", str(tmp_path / "other"))
    assert run("voices", "import", "Anna.voice.zip").code == 0
    there = VoiceLibrary().find("Anna")
    assert there.folder != anna.folder
    assert replace(there.record, edited_on="") == replace(anna.record, edited_on="")
    assert len(list((there.folder / "prompts").iterdir())) == 1
    run("say", "Hello.", "-m", base, "-v", "Anna", *SHORT)
    assert np.array_equal(samples(), first)


def test_a_saved_voice_becomes_a_kept_one(base: str, models: Path) -> None:
    tts = menura.load(base)
    tts.voice(models / "anna.wav", transcript=SAID, consent=CONSENT).save("me.safetensors")
    assert run("voices", "import", "me.safetensors", "--label", "Me").code == 0
    told = applied(run("say", "Hello.", "-m", base, "-v", "me", *SHORT, "--json"))
    assert told["voice"] == "Me"
    assert run("voices", "fit", "Me", "-m", base).code == 0
    shown = run("voices", "show", "Me", "--json").answer
    assert (shown["clips"], shown["consent"]) != ([], None)
    assert run("voices", "preview", "Me").code == 2


def test_a_copied_folder_is_a_voice_and_a_broken_one_is_set_aside(base: str) -> None:
    voice = kept()
    library = voice.folder.parent
    broken = library / "broken"
    broken.mkdir()
    (broken / "voice.json").write_text(json.dumps({"schema": 1}))
    answer = run("voices", "list", "--json").answer
    assert [each["label"] for each in _list(answer["library"])] == ["Anna"]
    assert [each["name"] for each in _list(answer["broken"])] == ["broken"]
    voice.folder.rename(library / "any name")
    assert applied(run("say", "Hello.", "-m", base, "-v", "Anna", *SHORT, "--json"))["voice"] == (
        "Anna"
    )


def test_removal_takes_everything(anna: LibraryVoice, base: str) -> None:
    run("say", "Hello.", "-m", base, "-v", "Anna", *SHORT)
    run("voices", "preview", "Anna", "-m", base)
    assert run("voices", "remove", "Anna", "--yes").code == 0
    library = anna.folder.parent
    assert [path.name for path in library.iterdir() if not path.name.startswith(".lock")] == []
    assert run("say", "Hello.", "-m", base, "-v", "lib:Anna", *SHORT).code == 3


def test_a_default_voice_may_be_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    kept("Mine", source=VoiceSource(SourceKind.PRESET, "builtin", preset="heart"))
    monkeypatch.setenv("MENURA_DEFAULT_VOICE", "mine")
    ran = run("voices")
    assert ran.code == 0, ran.stderr
    assert "the default" not in ran.out
    assert applied(run("say", "Hello.", "--plan", "--json"))["voice"] == "Mine"


def test_several_of_one_label_are_told_apart_by_id(base: str) -> None:
    first = VoiceLibrary().add(new_voice())
    second = VoiceLibrary().add(new_voice("Ben", defaults=VoiceDefaults()))
    text = (second.folder / "voice.json").read_text("utf-8").replace('"Ben"', '"anna"')
    (second.folder / "voice.json").write_text(text, "utf-8")
    ran = run("voices", "show", "Anna")
    assert ran.code == 2
    assert first.id in ran.stderr
    assert second.id in ran.stderr
    assert run("voices", "show", second.id).code == 0


def test_through_a_running_server_it_is_the_same_voice(
    models: Path, base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "served" / "home"
    home.mkdir(parents=True)
    monkeypatch.setenv("MENURA_HOME", str(home))
    monkeypatch.setenv("MENURA_PRECISION", "exact")  # nothing is compiled for it
    with serving(home, "--model", base):
        monkeypatch.setenv("MENURA_SERVER", "on")
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(hub(home)))
        run("voices", "add", "Anna", models / "anna.wav", "--ref-text", SAID, "--consent", CONSENT)
        there = run("say", "Hello.", "-m", base, "-v", "lib:anna", *SHORT, "--json")
        assert "server_not_used" not in there.answer
        heard = samples()
        local = run("say", "Hello.", "-m", base, "-v", "Anna", *SHORT, "--json", "--local")
        assert np.array_equal(samples(), heard)
        assert there.answer["applied"] == local.answer["applied"]
        run("voices", "remove", "Anna", "--yes")
        assert run("say", "Hello.", "-m", base, "-v", "lib:Anna", *SHORT).code == 3


def _list(value: object) -> list[dict[str, object]]:
    assert isinstance(value, list)
    return value
