import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile

from menura.cli import voice_making
from menura.speech import FloatArray
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.record import SourceKind, VoiceRecord
from menura.voice_library.samples import sample_text
from tests.command_line import Ran, run
from tests.kept_voices import CONSENT, RATE_HZ, beeps, kept, write_recording

SAID = "One, two, three, four, five, six, seven, eight, nine, ten, eleven."
TERMINALS = ("stdin", "stderr")


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return write_recording(tmp_path / "clip.wav", 8.0)


def record() -> VoiceRecord:
    [voice] = VoiceLibrary().voices()
    return voice.record


def add(*arguments: str | Path, typed: str | None = None) -> Ran:
    if typed is None:
        return run("voices", "add", *arguments)
    return run("voices", "add", *arguments, stdin=typed.encode(), terminals=TERMINALS)


def test_a_recording_becomes_a_voice(clip: Path) -> None:
    ran = add("Anna", clip, "--ref-text", SAID, "--consent", CONSENT, "-l", "en",
              "--notes", "Calm.", "--default-model", "builtin")  # fmt: skip
    assert ran.code == 0, ran.stderr
    found = record()
    assert (found.label, found.language, found.notes) == ("Anna", "english", "Calm.")
    assert found.source.kind is SourceKind.RECORDING
    assert found.consent is not None
    assert found.consent.text == CONSENT
    assert found.defaults.model == "builtin"
    [kept_clip] = found.clips
    assert (kept_clip.transcript, kept_clip.sample_rate_hz) == (SAID, RATE_HZ)
    assert ran.stdout == b""
    assert " of speech · loudness -" in ran.stderr
    assert "Anna  kept, " in ran.stderr
    assert "menura say 'Hello there.' -v Anna\n" in ran.stderr  # with the model that was given


def test_where_no_model_can_use_it_the_next_step_is_to_find_one(clip: Path) -> None:
    ran = add("Anna", clip, "--consent", CONSENT)
    assert "menura voices fit Anna --all\n" in ran.stderr


def test_the_answer_has_the_voice_and_what_was_found(clip: Path) -> None:
    answer = add("Anna", clip, "--consent", CONSENT, "--json").answer
    assert answer["label"] == "Anna"
    report = answer["report"]
    assert isinstance(report, dict)
    assert report["seconds"] == pytest.approx(8.0)
    assert "no_transcript" in [each["code"] for each in report["findings"]]


def test_the_text_may_stand_in_a_file(clip: Path, tmp_path: Path) -> None:
    (tmp_path / "clip.txt").write_text(f"\ufeff{SAID}\n", "utf-8")
    add("Anna", clip, "--consent", CONSENT, "--ref-text-file", tmp_path / "clip.txt")
    assert record().clips[0].transcript == SAID


def test_a_person_is_asked_for_text_and_consent(clip: Path) -> None:
    ran = add("Anna", clip, typed=f"{SAID}\n{CONSENT}\n")
    assert ran.code == 0, ran.stderr
    assert ran.stderr.index("What is said in the recording?") < ran.stderr.index("Who speaks in it")
    found = record()
    assert found.clips[0].transcript == SAID
    assert found.consent is not None
    assert found.consent.text == CONSENT


def test_a_person_who_does_not_answer_gives_no_consent(clip: Path) -> None:
    ran = add("Anna", clip, typed="\n\n")
    assert ran.code == 2
    assert "--consent TEXT" in ran.stderr
    assert VoiceLibrary().voices() == ()


def test_a_program_is_told_what_to_give(clip: Path) -> None:
    ran = add("Anna", clip, "--json")
    assert ran.code == 2
    error = ran.answer["error"]
    assert isinstance(error, dict)
    assert (error["code"], error["param"]) == ("consent_required", "--consent")
    assert VoiceLibrary().voices() == ()


def test_a_recording_that_is_refused_is_told_once_and_nobody_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "silent.wav"
    soundfile.write(path, np.zeros(5 * RATE_HZ, np.float32), RATE_HZ)
    ran = add("Anna", path, typed="")
    assert ran.code == 2
    assert ran.stderr.count("is silent") == 1
    assert "?" not in ran.stderr
    answer = add("Anna", path, "--consent", CONSENT, "--json").answer["error"]
    assert isinstance(answer, dict)
    assert answer["code"] == "recording_unfit"


def test_a_text_that_cannot_fit_is_refused_unless_it_is_meant(clip: Path) -> None:
    long = SAID * 12
    ran = add("Anna", clip, "--ref-text", long, "--consent", CONSENT)
    assert ran.code == 2
    assert "To keep it all the same: --anyway" in ran.stderr
    assert add("Anna", clip, "--ref-text", long, "--consent", CONSENT, "--anyway").code == 0


def test_silence_is_cut_unless_it_is_to_stay(tmp_path: Path) -> None:
    silence = np.zeros(2 * RATE_HZ, np.float32)
    path = tmp_path / "a.wav"
    soundfile.write(path, np.concatenate([silence, beeps(6.0), silence]), RATE_HZ)
    add("Cut", path, "--consent", CONSENT)
    add("Whole", path, "--consent", CONSENT, "--no-trim")
    cut, whole = VoiceLibrary().voices()
    assert cut.record.clips[0].seconds < 7.0
    assert whole.record.clips[0].seconds == 10.0


def test_a_models_own_voice_is_kept_under_a_name() -> None:
    ran = add("Reader", "--preset", "Heart", "-m", "builtin")
    assert ran.code == 0, ran.stderr
    found = record()
    assert (found.source.kind, found.source.model, found.source.preset) == (
        SourceKind.PRESET, "builtin", "heart",
    )  # fmt: skip
    assert found.clips[0].transcript == sample_text("english")
    assert found.consent is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["Anna"], "give one of the two"),
        (["Anna", "a.wav", "--preset", "heart"], "give one of the two"),
        (["Anna", "a.wav", "-m", "builtin"], "--model goes with --preset"),
        (["Anna", "a.wav", "--ref-text", "x", "--transcribe"], "give one of --ref-text"),
        (["Anna", "https://example.org/a.wav"], "'https://example.org/a.wav' is an address"),
        (["Anna", "gone.wav"], "gone.wav"),
        (["Ben", "a.wav"], "there is a voice 'Ben' already"),
        (["BEN", "a.wav"], "there is a voice 'Ben' already"),
        (["Anna", "a.wav", "-l", "klingon"], "'klingon' is not known"),
        ([" ", "a.wav"], "nothing that can be seen"),
        (["Anna", "--preset", "nobody"], "is not one of 'builtin'"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments: list[str], words: str) -> None:
    kept("Ben")
    ran = add(*arguments)
    assert ran.code == 2
    assert words in ran.stderr
    assert len(VoiceLibrary().voices()) == 1


def test_a_model_that_is_not_there_is_told_before_anybody_is_asked(clip: Path) -> None:
    ran = add("Anna", clip, "--default-model", "a/b/c", typed="")
    assert ran.code == 3
    assert "a/b/c" in ran.stderr
    assert "?" not in ran.stderr


def heard(monkeypatch: pytest.MonkeyPatch, samples: FloatArray) -> list[float | None]:
    asked: list[float | None] = []

    def hear(seconds: float | None) -> tuple[FloatArray, int]:
        asked.append(seconds)
        return samples, RATE_HZ

    monkeypatch.setattr(voice_making, "hear", hear)
    monkeypatch.setattr(voice_making, "check_installed", lambda: None)
    return asked


def test_what_the_microphone_hears_becomes_a_voice(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = heard(monkeypatch, beeps(14.0))
    ran = run("voices", "record", "Me", "-s", "14", "--consent", CONSENT)
    assert ran.code == 0, ran.stderr
    assert asked == [14.0]
    assert f"Read aloud:  {sample_text(None)}" in ran.stderr
    assert record().clips[0].transcript == sample_text(None)


def test_a_person_starts_and_ends_the_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = heard(monkeypatch, beeps(8.0))
    ran = run("voices", "record", "Me", "--ref-text", SAID, stdin=f"{CONSENT}\n\n".encode(),
              terminals=TERMINALS)  # fmt: skip
    assert ran.code == 0, ran.stderr
    assert asked == [None]
    assert f"Read aloud:  {SAID}" in ran.stderr
    assert record().clips[0].transcript == SAID


def test_without_a_person_the_length_must_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", SimpleNamespace())
    ran = run("voices", "record", "Me")
    assert ran.code == 2
    assert "--seconds N" in ran.stderr


@pytest.mark.parametrize("text", ["", " ", "\u200b", "\u2060 \ufe0f"])
def test_a_consent_that_nobody_sees_is_none(clip: Path, text: str) -> None:
    ran = add("Anna", clip, "--consent", text)
    assert ran.code == 2
    assert "--consent TEXT" in ran.stderr
    assert VoiceLibrary().voices() == ()


@pytest.mark.parametrize(
    ("label", "typed"),
    [
        ("$(touch pwn)", "'$(touch pwn)'"),
        ("`id`", "'`id`'"),
        ('q"; touch pwn #', "'q\"; touch pwn #'"),
        ("Anna's", "'Anna'\"'\"'s'"),
        ("Anna", "Anna"),
    ],
)
def test_a_name_in_a_command_is_one_word_of_a_shell(clip: Path, label: str, typed: str) -> None:
    ran = add(label, clip, "--consent", CONSENT)
    assert f"menura voices fit {typed} --all\n" in ran.stderr
    assert shlex.split(typed) == [label]


def test_a_name_like_a_flag_is_told_by_its_id(clip: Path) -> None:
    ran = run("voices", "add", "--consent", CONSENT, "--", "--all", clip)
    assert f"menura voices fit {record().id} --all\n" in ran.stderr


@pytest.mark.parametrize(
    ("label", "why"),
    [
        ("Heart", "is a voice of builtin"),
        ("alloy", "is one of OpenAI's names"),
        ("tts-1", "is the name of a model"),
        ("builtin", "is the name of a model"),
        ("builtin:heart", "means a model and a voice of it"),
        ("a.safetensors", "means a file"),
    ],
)
def test_a_name_that_means_something_else_is_noted(clip: Path, label: str, why: str) -> None:
    ran = add(label, clip, "--consent", CONSENT)
    assert ran.code == 0
    assert f"'{label}' alone {why}" in ran.stderr
    assert f"speak with it as -v lib:{label}\n" in ran.stderr
    assert "alone" not in add("Anna", clip, "--consent", CONSENT).stderr


def test_a_preset_of_a_model_in_a_folder_speaks_with_that_folder(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "tone.json").write_text("{}")
    ran = add("Deep", "--preset", "low", "-m", folder)
    assert ran.code == 0, ran.stderr
    assert record().defaults.model == str(folder)
    spoken = run("say", "alpha", "-v", "Deep", "-o", tmp_path / "a.wav", "--json")
    assert spoken.code == 0, spoken.stderr


def test_channels_that_cancel_each_other_out_are_told(tmp_path: Path) -> None:
    left = beeps(6.0)
    path = tmp_path / "a.wav"
    soundfile.write(path, np.stack([left, -left], axis=1), RATE_HZ)
    ran = add("Anna", path, "--consent", CONSENT)
    assert ran.code == 2
    assert "The channels cancel each other out" in ran.stderr


def test_what_is_missing_to_record_is_told_before_anything_is_read_aloud(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    ran = run("voices", "record", "Me", "-s", "5", "--consent", CONSENT)
    assert ran.code == 7
    assert "Read aloud" not in ran.stderr
