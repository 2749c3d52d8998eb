import logging
from pathlib import Path

import pytest

from menura.errors import AudioTooLargeError, OverloadedError, UnreadableAudioError
from menura.server.border.problems import Problem
from menura.server.voices.consents import ConsentStore
from tests.kept_voices import SAID, beeps, flac_of, new_voice
from tests.unit.server.voices.voice_site import CHECKED, VoiceSite, voice_site

MAKE = "/v1/audio/voices"
SAMPLE = {"audio_sample": ("../x.wav", b"fLaC the bytes", "audio/wav")}


def left(home: Path) -> list[Path]:
    return list((home / "cache" / "uploads").iterdir())


def test_a_voice_is_made_of_a_recording(voices: VoiceSite, home: Path) -> None:
    data = {
        "name": " Anna\u202e ", "consent_text": "My own voice. ", "language": "de", "notes": "calm",
        "transcript": f" {SAID} ",
    }  # fmt: skip
    answer = voices.client.post(MAKE, files=SAMPLE, data=data)
    assert answer.status_code == 200, answer.text
    made = answer.json()
    assert (made["object"], made["name"], made["language"]) == ("audio.voice", "Anna", "german")
    assert (made["notes"], made["consent"]["text"]) == ("calm", "My own voice.")
    assert made["clips"][0]["transcript"] == SAID
    assert made["source"]["kind"] == "recording"
    assert voices.workshop.given == [b"fLaC the bytes"]
    [job] = voices.workshop.jobs
    assert job == {
        "job": "make", "transcript": SAID, "language": "de", "transcribe": False, "anyway": False,
    }  # fmt: skip
    [kept] = voices.library.voices()
    assert kept.id == made["id"]
    assert left(home) == []


def test_the_servers_own_words_are_used_where_it_transcribes(voices: VoiceSite) -> None:
    data = {"name": "Anna", "consent_text": "Mine.", "transcribe": "true", "anyway": "1"}
    made = voices.client.post(MAKE, files=SAMPLE, data=data).json()
    assert made["clips"][0]["transcript"] == SAID
    [job] = voices.workshop.jobs
    assert (job["transcribe"], job["anyway"], job["transcript"]) == (True, True, None)


def test_a_design_is_kept_with_its_words(voices: VoiceSite) -> None:
    data = {
        "name": "Old man", "source_kind": "design", "description": "An old man.", "seed": "7",
        "model": "qwen3-tts-1.7b-design", "transcript": SAID,
    }  # fmt: skip
    made = voices.client.post(MAKE, files=SAMPLE, data=data).json()
    assert made["source"] == {
        "kind": "design", "model": "qwen3-tts-1.7b-design", "description": "An old man.",
        "preset": "", "seed": 7,
    }  # fmt: skip
    assert made["consent"] is None
    del data["description"]
    answer = voices.client.post(MAKE, files=SAMPLE, data={**data, "name": "Another"})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "description")


def test_a43_a_recording_needs_consent_unless_the_owner_says_otherwise(
    voices: VoiceSite, home: Path
) -> None:
    for consent in ({}, {"consent_text": "  "}, {"consent_text": "\u200e"}):
        answer = voices.client.post(MAKE, files=SAMPLE, data={"name": "Anna", **consent})
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (400, "consent_required")
        assert error["param"] == "consent_text"
    assert voices.workshop.jobs == []
    assert voices.library.voices() == ()
    assert left(home) == []


def test_without_that_setting_none_is_asked_for(home: Path, tmp_path: Path) -> None:
    voices = voice_site(tmp_path, require_consent=False)
    made = voices.client.post(MAKE, files=SAMPLE, data={"name": "Anna"}).json()
    assert made["consent"] is None


def test_a_voice_keeps_a_copy_of_a_spoken_consent(voices: VoiceSite) -> None:
    kept = ConsentStore().add("Anna Smith", "en-US", flac_of(beeps(2.0)))
    made = voices.client.post(MAKE, files=SAMPLE, data={"name": "Anna", "consent": kept.id}).json()
    assert made["consent"]["text"] == "Anna Smith (en-US) agrees in the recording."
    assert made["consent"]["given_on"] == kept.made_on[:10]
    [voice] = voices.library.voices()
    assert voice.record.consent is not None
    assert voice.record.consent.recording == "consent.flac"
    assert (voice.folder / "consent.flac").read_bytes() == ConsentStore().recording(kept)
    answer = voices.client.post(MAKE, files=SAMPLE, data={"name": "B", "consent": "cons_../x"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "consent_not_found")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "nothing that can be seen"), ("\u200b\u202e", "nothing that can be seen"),
        ("x" * 81, "at most 80"), ("alloy", "OpenAI"), ("CEDAR", "OpenAI"), ("Low", "of the model"),
        ("ｌｏｗ", "of the model"), ("tone:Anna", "a colon"), ("TTS-1:Anna", "a colon"),
        ("lib:Anna", "has the form"), ("voice_" + "a" * 32, "has the form"), ("BERTA", "already"),
    ],
)  # fmt: skip
def test_a43_a_name_that_means_something_else_is_refused(
    voices: VoiceSite, name: str, words: str
) -> None:
    voices.library.add(new_voice("Berta"))
    answer = voices.client.post(MAKE, files=SAMPLE, data={"name": name, "consent_text": "Mine."})
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (400, "name"), answer.text
    assert words in error["message"]
    assert len(voices.library.voices()) == 1


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "..\\..\\x", "%2e%2e%2f", "C:\\x", "/abs", "~", "CON", "a.", "a/b"]
)
def test_a1_a_name_is_never_a_path(voices: VoiceSite, name: str) -> None:
    made = voices.client.post(MAKE, files=SAMPLE, data={"name": name, "consent_text": "Mine."})
    assert made.json()["name"] == name
    [voice] = voices.library.voices()
    assert voice.folder == voices.library.folder / made.json()["id"]


@pytest.mark.parametrize(
    ("fails", "status", "code"),
    [
        (UnreadableAudioError("no."), 400, "unreadable_audio"),
        (AudioTooLargeError("long."), 413, "audio_too_large"),
        (OverloadedError("busy."), 503, "overloaded"),
        (Problem(400, "recording_unfit", "It is silent.", param="clip"), 400, "recording_unfit"),
    ],
)
@pytest.mark.parametrize("path", [MAKE, "/v1/voices/check"])
def test_what_the_workshop_refuses_is_refused(
    voices: VoiceSite, home: Path, fails: Problem, status: int, code: str, path: str
) -> None:
    voices.workshop.fails = fails
    data = {} if path.endswith("check") else {"name": "Anna", "consent_text": "Mine."}
    answer = voices.client.post(path, files=SAMPLE, data=data)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.json()["error"]["param"] in (None, "audio_sample")
    assert str(home) not in answer.text
    assert voices.library.voices() == ()
    assert left(home) == []


def test_a_recording_is_looked_at(voices: VoiceSite) -> None:
    data = {"transcript": SAID, "language": "en", "transcribe": "true"}
    answer = voices.client.post("/v1/voices/check", files=SAMPLE, data=data)
    assert answer.json() == CHECKED
    [job] = voices.workshop.jobs
    assert job == {"job": "check", "transcript": SAID, "language": "en", "transcribe": False}


def test_a_voice_is_brought_in(voices: VoiceSite, home: Path) -> None:
    file = {"file": ("anna.voice.zip", b"PK\x03\x04")}
    answer = voices.client.post("/v1/voices/import", files=file, data={"consent_text": " Mine. "})
    [brought] = answer.json()["data"]
    assert brought["name"] == "Brought"
    [job] = voices.workshop.jobs
    assert job == {"job": "import", "label": None, "consent": "Mine.", "require_consent": True}
    answer = voices.client.post("/v1/voices/import", files=file, data={"name": "alloy"})
    assert answer.status_code == 400
    assert left(home) == []


def test_a35_only_who_may_change_voices_makes_them(voices: VoiceSite) -> None:
    for path, field in ((MAKE, "audio_sample"), ("/v1/voices/check", "audio_sample"),
                        ("/v1/voices/import", "file")):  # fmt: skip
        files = {field: ("x", b"fLaC")}
        assert voices.speaker.post(path, files=files).status_code == 403
        assert voices.stranger.post(path, files=files).status_code == 401
    assert voices.workshop.jobs == []


def test_a43_a_new_voice_leaves_a_line_without_its_name(
    voices: VoiceSite, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "menura.server"):
        data = {"name": "Secret Name", "consent_text": "Secret words."}
        made = voices.client.post(MAKE, files=SAMPLE, data=data).json()
        voices.client.post("/v1/voices/import", files={"file": ("secret.zip", b"PK\x03\x04")})
    told = [record for record in caplog.records if record.name == "menura.server.audit"]
    assert [record.getMessage() for record in told] == [
        "voice made from a recording",
        "voice brought in",
    ]
    assert told[0].__dict__["request"]["id"] == made["id"]
    assert told[0].__dict__["request"]["key"]
    assert "ecret" not in str([record.__dict__ for record in caplog.records])
