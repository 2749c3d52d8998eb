"""`menura say` in the test's own process: what is written, answered, refused and left out."""

import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

import menura
from tests.command_line import Ran, run
from tests.tone.engine import RATE_HZ, heard_hz, tone_hz

TEXT = "one two three. four five six."


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    (folder / "tone").mkdir(parents=True)
    (folder / "tone" / "tone.json").write_text("{}")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("NO_COLOR", raising=False)
    return folder


def say(*arguments: str | Path, stdin: bytes = b"") -> Ran:
    """`menura say` with the tone engine."""
    return run("say", "-m", "tone", *arguments, stdin=stdin)


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"tone"}


def test_the_built_in_voice_speaks_with_nothing_but_a_text(here: Path) -> None:
    ran = run("say", "Hello from Menura.")
    assert (ran.code, ran.stdout, files(here)) == (0, b"", {"speech.wav"})
    samples, rate_hz = soundfile.read("speech.wav", dtype="float32")
    assert rate_hz == 24_000
    assert 1 < len(samples) / rate_hz < 3
    pattern = (
        r"speech\.wav  \d\.\d s of audio, made in \d+\.\d+ s, \d+\.\d x real time"
        r"  voice heart · builtin · seed \d+\n"
    )
    assert re.fullmatch(pattern, ran.stderr)


def test_the_answer_describes_the_file() -> None:
    ran = say(TEXT, "-o", "a.wav", "--json", "--seed", "7", "-p", "frames_per_word=1")
    samples, rate_hz = soundfile.read("a.wav", dtype="float32")
    assert ran.answer["path"] == "a.wav"
    assert ran.answer["seconds"] == len(samples) / rate_hz
    assert ran.answer["sample_rate_hz"] == rate_hz == RATE_HZ
    assert ran.answer["finish"] == "stop"
    assert ran.answer["spoken_by"] == "this process"
    [segment] = ran.segments
    assert segment == {
        "text": TEXT,
        "start": 0,
        "end": len(TEXT),
        "sample_start": 0,
        "sample_end": len(samples),
        "seed": 7,
        "finish": "stop",
    }
    applied, timings = ran.answer["applied"], ran.answer["timings"]
    assert isinstance(applied, dict)
    assert isinstance(timings, dict)
    assert (applied["seed"], applied["options"]["frames_per_word"]) == (7, 1)
    assert list(timings) == ["load_s", "first_audio_s", "total_s", "rtf"]
    assert 0 <= timings["load_s"] <= timings["first_audio_s"] <= timings["total_s"]
    assert ran.stderr == ""


def test_the_file_holds_what_speak_gives() -> None:
    say(TEXT, "-o", "a.wav", "--seed", "7")
    samples, _ = soundfile.read("a.wav", dtype="float32")
    spoken = menura.load("tone").speak(TEXT, seed=7).samples
    np.testing.assert_allclose(samples, spoken, atol=1 / 32_768)
    assert heard_hz(samples)[::2] == [tone_hz(word) for word in TEXT.split()]


@pytest.mark.parametrize("source", ["argument", "file", "dash", "file dash"])
def test_a_text_comes_the_same_from_everywhere(source: str, here: Path) -> None:
    (here / "text.txt").write_bytes(TEXT.encode("utf-8-sig"))
    arguments = {
        "argument": [TEXT], "file": ["-f", "text.txt"], "dash": ["-"], "file dash": ["-f", "-"],
    }[source]  # fmt: skip
    ran = say(*arguments, "--plan", "--json", stdin=TEXT.encode())
    assert [segment["text"] for segment in ran.segments] == [TEXT]


def test_a_pipe_gets_audio_and_nothing_else() -> None:
    ran = say(TEXT, "-o", "-", "-q", "--seed", "1")
    samples, rate_hz = soundfile.read(io.BytesIO(ran.stdout), dtype="float32")
    assert (ran.stderr, rate_hz, len(samples)) == ("", RATE_HZ, 6 * 2 * 800)


def test_a_streamed_pipe_has_the_same_samples() -> None:
    whole = say(TEXT, "-o", "-", "-q", "--seed", "1", "--format", "pcm").stdout
    streamed = say(TEXT, "-o", "-", "-q", "--seed", "1", "--stream").stdout
    place = streamed.index(b"data")
    assert streamed[place + 4 : place + 8] == b"\xff" * 4
    assert streamed[place + 8 :] == whole


def test_the_mark_of_synthetic_speech_can_be_left_out(here: Path) -> None:
    say(TEXT, "-o", "marked.wav")
    say(TEXT, "-o", "plain.wav", "--no-mark")
    assert b"synthetic=1" in (here / "marked.wav").read_bytes()
    assert b"synthetic=1" not in (here / "plain.wav").read_bytes()


def test_a_file_has_its_first_words_as_its_title() -> None:
    say("\n \x1b[31m\nOne two\x07 three.\nFour.", "-o", "a.wav")
    with soundfile.SoundFile("a.wav") as file:
        assert file.title == "One two three."
    say("word " * 40, "-o", "b.flac")
    with soundfile.SoundFile("b.flac") as file:
        assert file.title == ("word " * 16)[:79].rstrip() + "…"


def test_a_name_that_says_another_format_is_told(here: Path) -> None:
    for plan in (["--plan"], []):
        ran = say(TEXT, "-o", "a.mp3", "--format", "wav", "-q", *plan)
        told = "note: the name 'a.mp3' says mp3, and it holds wav, as --format says.\n"
        assert (ran.code, ran.stderr) == (0, told)
    assert (here / "a.mp3").read_bytes()[:4] == b"RIFF"


def test_a_bug_is_one_line_and_an_object(monkeypatch: pytest.MonkeyPatch, here: Path) -> None:
    def broken(*_: object, **__: object) -> None:
        raise AssertionError("rows 3 and 4 differ")

    monkeypatch.setattr("menura.api.load", broken)
    ran = say(TEXT, "--json")
    told = "unexpected AssertionError: rows 3 and 4 differ. --debug shows where."
    assert (ran.code, ran.stderr) == (1, f"error: {told}\n")
    assert ran.answer["error"] == {"message": told, "code": "failure", "param": None}
    assert files(here) == set()


def test_an_existing_file_is_kept_unless_forced(here: Path) -> None:
    (here / "a.wav").write_text("mine")
    ran = say(TEXT, "-o", "a.wav")
    assert (ran.code, (here / "a.wav").read_text()) == (2, "mine")
    assert "'a.wav' exists already" in ran.stderr
    assert say(TEXT, "-o", "a.wav", "--force").code == 0
    assert (here / "a.wav").read_bytes()[:4] == b"RIFF"


@pytest.mark.parametrize(
    ("text", "code"), [("one two FAIL", 1), ("one two NAN", 1), ("SILENT", 1), ("REFUSED", 4)]
)
def test_a_failure_on_the_way_leaves_no_file(text: str, code: int, here: Path) -> None:
    ran = say(text, "-o", "a.wav", "--json")
    assert ran.code == code
    assert files(here) == set()
    assert list(ran.answer) == ["error"]
    assert ran.stderr.startswith("error: ")


def test_a_limit_that_was_reached_is_told() -> None:
    ran = say("one LIMIT two", "--json")
    assert ran.answer["finish"] == "length"


def test_a_recording_is_spoken_like(here: Path) -> None:
    soundfile.write("me.wav", np.full(8_000, 0.25, np.float32), 8_000)
    ran = say(TEXT, "--ref", "me.wav", "--ref-text", "Hello.", "--json")
    applied = ran.answer["applied"]
    assert isinstance(applied, dict)
    assert applied["voice"] == "me"
    plan = say(TEXT, "--ref", "me.wav", "--plan", "--json").answer["applied"]
    assert isinstance(plan, dict)
    assert plan["voice"] == "me"


REFUSED: dict[str, tuple[list[str], int, str]] = {
    "no text": ([], 2, "there is no text: give it in quotes"),
    "two words": (["hi", "there"], 2, "put it in quotes"),
    "nothing to speak": (["..."], 6, "nothing to speak"),
    "unknown flag": ([TEXT, "--sped", "2"], 2, "Did you mean '--speed' or '--seed'?"),
    "unknown option": ([TEXT, "-p", "loud=1"], 2, "there is no option 'loud'"),
    "bad option": ([TEXT, "-p", "loudness=7"], 2, "loudness='7' is not allowed"),
    "no number": ([TEXT, "--seed", "x"], 2, "'--seed'"),
    "bad seed": ([TEXT, "--seed", "-1"], 2, "seed=-1 is not allowed"),
    "bad speed": ([TEXT, "--speed", "9"], 2, "speed=9.0 is not allowed"),
    "unknown voice": ([TEXT, "-v", "loww"], 3, "Did you mean 'low'?"),
    "unknown voice of the library": ([TEXT, "-v", "lib:low"], 3, "in the voice library"),
    "unknown language": ([TEXT, "-l", "chinees"], 2, "Did you mean 'chinese'?"),
    "not its language": ([TEXT, "-l", "french"], 4, "not one of this model's"),
    "instructions": ([TEXT, "--instruct", "softly"], 4, "takes no instructions"),
    "unknown format": ([TEXT, "--format", "waw"], 2, "Did you mean 'wav'?"),
    "json and stdout": ([TEXT, "--json", "-o", "-"], 2, "both need stdout"),
    "no recording": ([TEXT, "--ref", "missing.wav"], 2, "missing.wav"),
    "voice and recording": ([TEXT, "--ref", "a.wav", "-v", "low"], 2, "--voice or --ref"),
    "unknown model": ([TEXT, "-m", "qwen3-tts-0.6b-bas"], 3, "Did you mean 'qwen3-tts-0.6b-base'?"),
    "threads": ([TEXT, "--threads", "0"], 2, "threads=0 (--threads) is not allowed"),
    "nothing": ([""], 6, "the text has nothing to speak: it is empty"),
    "blanks": (["  "], 6, "the text has nothing to speak"),
    "a stream into a file": ([TEXT, "--stream", "-o", "a.wav"], 2, "give -o - (into a pipe)"),
    "a stream into no file": ([TEXT, "--stream"], 2, "or --play"),
    "no model": ([TEXT, "-m", ""], 2, "the model must be a name or a folder"),
    "no voice": ([TEXT, "-m", "builtin", "-v", ""], 2, "voice '' is not one of"),
    "a folder": ([TEXT, "-o", "tone"], 2, "it is a folder"),
}


@pytest.mark.parametrize(("arguments", "code", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_one_line_with_its_code(
    arguments: list[str], code: int, words: str, here: Path
) -> None:
    ran = say(*arguments)
    assert ran.code == code
    assert words in ran.stderr
    assert ran.stderr.startswith("error: ")
    assert ran.stderr.count("\n") == 1
    assert files(here) == set()
    assert (ran.stdout == b"") == ("--json" not in arguments)


@pytest.mark.parametrize("name", ["unknown flag", "nothing to speak", "json and stdout"])
def test_with_json_an_error_is_an_object_too(name: str) -> None:
    arguments, code, words = REFUSED[name]
    ran = say(*arguments, *(["--json"] if "--json" not in arguments else []))
    error = ran.answer["error"]
    assert isinstance(error, dict)
    assert list(error) == ["message", "code", "param"]
    assert words in error["message"]
    assert ran.code == code


def test_lenient_leaves_out_what_cannot_be_done_and_says_so() -> None:
    ran = say(TEXT, "--lenient", "--instruct", "softly", "-l", "french", "-p", "loud=1", "--json")
    applied = ran.answer["applied"]
    assert isinstance(applied, dict)
    assert set(applied["ignored"]) == {"instruct", "language", "loud"}
    for name in applied["ignored"]:
        assert f"note: ignored {name}: " in ran.stderr


def test_what_is_dropped_from_a_text_is_told() -> None:
    ran = say("one\x07 two\u202e", "-q")
    assert ran.stderr.startswith("note: left out of the text, as nothing to be spoken: ")
    assert "U+202E" in ran.stderr
    assert "\x07" not in ran.stderr


def test_a_plan_has_the_answers_shape_and_loads_nothing(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoken = say(TEXT, "-q", "--json", "--seed", "7").answer
    monkeypatch.setattr("menura.api.load", None)
    ran = say(TEXT, "--plan", "--json", "--seed", "7")
    plan = ran.answer
    assert set(spoken) - set(plan) == {"path", "timings", "spoken_by"}
    assert (plan["seconds"], plan["finish"]) == (None, None)
    expected_s = plan["expected_s"]
    assert isinstance(expected_s, float)
    assert expected_s > 0
    applied, planned = spoken["applied"], plan["applied"]
    assert isinstance(applied, dict)
    assert isinstance(planned, dict)
    assert {name: applied[name] for name in planned} == planned
    [segment] = ran.segments
    assert (segment["text"], segment["start"], segment["end"]) == (TEXT, 0, len(TEXT))
    assert segment["pause_s"] == 0
    assert files(here) == {"speech.wav"}


def test_a_plan_for_people_shows_what_would_happen(here: Path) -> None:
    ran = say("one two.\n\nthree \x1b[31mfour " + "five " * 60, "--plan", "--lenient", "-l", "fr")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].split() == ["model", "tone"]
    assert any(line.split()[:2] == ["voice", "low"] for line in lines)
    assert "\x1b" not in ran.out
    assert "note: ignored language" in ran.stderr
    assert files(here) == set()


def test_a_plan_refuses_what_speaking_would(here: Path) -> None:
    (here / "a.wav").touch()
    assert say(TEXT, "--plan", "-o", "a.wav").code == 2
    assert say(TEXT, "--plan", "-l", "french").code == 4
    assert run("say", TEXT, "--plan", "--ref", "a.wav").code == 4
    assert run("say", "...", "--plan").code == 6


def test_a_person_without_a_text_gets_the_help() -> None:
    ran = run("say", terminals=["stdin", "stdout", "stderr"])
    assert (ran.code, ran.stdout) == (2, b"")
    assert "Usage: menura say" in ran.stderr


def test_a_terminal_gets_no_audio() -> None:
    ran = run("say", TEXT, "-o", "-", terminals=["stdout"])
    assert (ran.code, ran.stdout) == (2, b"")
    assert "not written to a terminal" in ran.stderr


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run("say", "...", terminals=["stderr"])
    assert "\x1b[" in ran.stderr
    monkeypatch.setenv("NO_COLOR", "1")
    ran = run("say", "...", terminals=["stderr"])
    assert "\x1b[" not in ran.stderr


def test_playing_needs_its_extra(monkeypatch: pytest.MonkeyPatch, here: Path) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    ran = say(TEXT, "--play", "--json")
    assert ran.code == 7
    assert json.loads(ran.out)["error"]["param"] == "--play"
    assert files(here) == set()
