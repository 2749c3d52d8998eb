from dataclasses import replace

import pytest

from menura.cli.voice_facts import as_json, filled_in, recording, source_word
from menura.voice_library.record import SourceKind, VoiceDefaults, VoiceSource
from tests.command_line import run
from tests.kept_voices import CONSENT, SAID, kept, new_voice


def test_show_says_all_that_is_known() -> None:
    voice = kept(defaults=VoiceDefaults(model="x", speed=0.9, options={"top_k": 5}), notes="Calm.")
    page = run("voices", "show", "anna").out
    for words in (
        "Anna", voice.id, "english", "a recording", "3.0 s at 24000 Hz, with its text", SAID,
        f"{CONSENT} (2026-11-30)", "--model x --speed 0.9 -p top_k=5", "Calm.",
        str(voice.folder),
    ):  # fmt: skip
        assert words in page


def test_show_answers_with_the_servers_fields_and_the_folder() -> None:
    voice = kept()
    answer = run("voices", "show", voice.id, "--json").answer
    assert answer == as_json(voice) | {"folder": str(voice.folder)}
    assert answer["consent"] == {"text": CONSENT, "given_on": "2026-11-30"}
    assert answer["clips"] == [{"seconds": 3.0, "sample_rate_hz": 24_000, "transcript": SAID}]
    assert answer["defaults"] == {
        "model": None, "language": None, "instruct": None, "speed": 1.0, "options": {},
    }  # fmt: skip


def test_what_is_not_known_is_said() -> None:
    [clip] = new_voice().clips
    kept("Ben", clips=(replace(clip, transcript=None),), consent=None, language=None)
    page = run("voices", "show", "ben").out
    assert "not known; some models speak closer with it: --ref-text" in page
    assert "not said" in page
    assert "none" in page


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (VoiceSource(SourceKind.RECORDING), "a recording"),
        (VoiceSource(SourceKind.IMPORT), "a file"),
        (VoiceSource(SourceKind.PRESET, model="m", preset="ryan"), "ryan of m"),
        (VoiceSource(SourceKind.DESIGN, description="An old man."), "a description"),
    ],
)
def test_where_a_voice_comes_from(source: VoiceSource, words: str) -> None:
    assert source_word(kept(source=source)) == words


def test_a_description_is_shown_with_model_and_seed() -> None:
    kept(source=VoiceSource(SourceKind.DESIGN, "m", "An old man.", seed=7))
    assert "the description 'An old man.' (m, seed 7)" in run("voices", "show", "Anna").out


def test_no_recording_and_no_defaults_say_nothing() -> None:
    assert filled_in(VoiceDefaults()) == ""
    assert recording(kept()) == "3.0 s at 24000 Hz, with its text"


def test_an_unknown_voice_is_told_with_the_closest() -> None:
    kept()
    ran = run("voices", "show", "Ana", "--json")
    assert ran.code == 3
    assert "Did you mean 'Anna'?" in ran.stderr
    assert ran.answer["error"] == {
        "message": ran.stderr.removeprefix("error: ").strip(), "code": "voice_not_found",
        "param": "voice",
    }  # fmt: skip


def test_no_word_of_a_record_steers_the_terminal() -> None:
    kept(notes="a\x1b[31mb\nc\u202ed", consent=None)
    page = run("voices", "show", "Anna").out
    assert "ab cd" in page
    assert "\x1b" not in page
