"""`menura` with the tiny Echo-TTS checkpoint: it speaks, and what cannot be done is told."""

from pathlib import Path

import av
import numpy as np
import pytest
import soundfile

import menura
from menura.cli import pace
from menura.cli.progress import Progress
from menura.engines.echo_tts import tiny
from tests.command_line import Ran, run

RATE_HZ = 44_100
FRAME = 2048


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny model and one recording."""
    folder = tmp_path_factory.mktemp("models")
    tiny.write(folder / "echo")
    time = np.arange(6 * 24_000) / 24_000
    soundfile.write(folder / "me.wav", 0.3 * np.sin(2 * np.pi * 180 * time), 24_000)
    return folder


@pytest.fixture(autouse=True)
def here(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkpoint)


def say(text: str, *arguments: str) -> Ran:
    steps = () if any("num_steps" in given for given in arguments) else ("-p", "num_steps=2")
    given = ("--seed", "1", "--force", "-o", "a.flac", *steps, *arguments)
    return run("say", text, "-m", "./echo", *given)


@pytest.mark.parametrize(
    ("arguments", "n_frames"),
    [
        ([], 44),
        (["--ref", "me.wav"], 44),
        (["-p", "block_sizes=8,16", "-p", "block_steps=2,1"], 24),
        (["-p", "preset=Independent-Low-CFG-Flat", "-p", "sequence_length=20"], 20),
        (["-p", "guidance=joint", "-p", "sequence_length=20"], 20),
    ],
)
def test_it_speaks(arguments: list[str], n_frames: int) -> None:
    ran = say("Hello.", "--json", *arguments)
    assert ran.code == 0, ran.stderr
    samples, rate_hz = soundfile.read("a.flac", dtype="float32")
    assert rate_hz == RATE_HZ
    assert len(samples) == n_frames * FRAME
    applied = ran.answer["applied"]
    assert isinstance(applied, dict)
    assert applied["output_licence"] == "CC-BY-NC-SA-4.0"
    assert applied["sequence_length"] == n_frames


def test_the_licence_of_the_audio_stands_in_the_report_and_in_the_file() -> None:
    ran = say("Hello.")
    assert "licence CC-BY-NC-SA-4.0" in ran.stderr
    with av.open("a.flac") as file:
        assert "Licence of this audio: CC-BY-NC-SA-4.0" in file.metadata["comment"]
    shown = run("models", "show", "echo-tts-base").out
    assert "CC-BY-NC-SA-4.0" in shown


def test_the_file_is_what_python_gives() -> None:
    say("Hello there.", "-p", "sequence_length=20")
    speech = menura.load("./echo").speak("Hello there.", seed=1, num_steps=2, sequence_length=20)
    speech.save("b.flac")
    samples = [soundfile.read(name, dtype="int16")[0] for name in ("a.flac", "b.flac")]
    assert np.array_equal(*samples)


def test_a_window_without_an_end_is_told() -> None:
    told = "segment 1 ended at a limit (no end of speech within 2.0 s (44 frames))"
    assert told in say("Hi!").stderr


def test_what_has_no_effect_is_told() -> None:
    ran = say("Hello.", "-p", "cfg_scale_speaker=5")
    assert "without effect: cfg_scale_speaker: no voice is given" in ran.stderr


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("num_steps=0", "from 1 to 1000"),
        ("block_sizes=33", "multiple of 4"),
        ("speaker_kv_scale=1.5", "needs speaker_kv_min_t"),
        ("cfg_scale_text=nan", "cfg_scale_text"),
        ("presets=Independent-High-CFG", "Did you mean 'preset'"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_code_2(option: str, said: str) -> None:
    ran = say("Hello.", "-p", option)
    assert ran.code == 2
    [line] = ran.stderr.splitlines()
    assert said in line


def test_a_run_that_takes_much_longer_than_its_audio_says_so_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(0, 100_000, 100))
    monkeypatch.setattr(pace, "perf_counter", lambda: float(next(clock)))
    ran = say("Hello there, all of you.", "-p", "num_steps=8")
    told = [line for line in ran.stderr.splitlines() if "times as long" in line]
    assert len(told) == 1
    # the window, of which the speech is a part
    assert " to make about 3 s of audio, " in told[0]
    assert "times as long" not in say("Hello there, all of you.", "-q").stderr


def test_nothing_is_said_of_audio_before_there_is_some(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def update(self: Progress, done: float, total: float, what: str) -> None:
        told.append(what)

    monkeypatch.setattr(Progress, "update", update)
    say("Hello.", "-p", "sequence_length=22", "-p", "first_chunk_frames=22")
    assert told == ["", "1.0 s of audio"]


def test_a_transcript_that_is_not_read_is_told() -> None:
    ran = say("Hello.", "--ref", "me.wav", "--ref-text", "A tone.")
    assert ran.code == 0
    assert ran.stderr.count("Echo-TTS does not read it") == 1


def test_a_plan_shows_the_options_as_they_will_be() -> None:
    ran = say("Hello.", "--plan", "--json", "-p", "preset=Independent-Low-CFG")
    applied = ran.answer["applied"]
    assert isinstance(applied, dict)
    assert applied["options"]["cfg_scale_speaker"] == 3.0
    shown = say("Hello.", "--plan", "-p", "block_sizes=8,16").out
    assert "block_sizes=8,16" in shown
    assert "num_steps=2" in shown
    assert "normalize_text=true" in shown
    assert shown.splitlines()[-1].split()[:2] == ["1", "0-6"]
    refused = say("Hello.", "--plan", "-p", "block_sizes=33")
    assert refused.code == 2
    assert "make the last block 36" in refused.stderr


def test_who_may_speak_is_told_in_words() -> None:
    ran = run("voices", "-m", "./echo")
    assert "echo-tts-base has no preset voices: leave voice out, or give a recording (" in ran.out
    assert ".safetensors" in ran.out


def test_speech_without_a_voice_is_by_the_model() -> None:
    say("Hello.")
    with av.open("a.flac") as file:
        assert file.metadata["artist"] == "echo-tts-base"
        assert "voice=" not in file.metadata["comment"]
