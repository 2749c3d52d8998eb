import logging
import shutil
from pathlib import Path
from urllib.parse import unquote

import pytest

from menura.server.voices.resources import file_name_words
from tests.kept_voices import CONSENT, SAID, new_voice
from tests.unit.server.voices.voice_site import VoiceSite, voice_site

UNKNOWN = "voice_" + "0" * 32
NOT_IDS = [
    UNKNOWN, "Anna", "lib:Anna", "..%2F..%2Fetc%2Fpasswd", "..\\..\\x", "%2e%2e%2f", "C:%5Cx",
    "%2Fabs", "~", "%00", "x" * 3000, "CON", "voice_.", "%E2%80%AEanna",
    "voice_" + "0" * 31 + "%0A",
]  # fmt: skip


def made(voices: VoiceSite, label: str = "Anna", **changes: object) -> str:
    return voices.library.add(new_voice(label, **changes)).id


def test_a_voice_is_shown_with_what_is_known_of_it(voices: VoiceSite) -> None:
    voice_id = made(voices)
    answer = voices.speaker.get(f"/v1/voices/{voice_id}")
    assert answer.status_code == 200
    shown = answer.json()
    assert (shown["id"], shown["object"], shown["name"]) == (voice_id, "audio.voice", "Anna")
    assert shown["label"] == "Anna"
    assert shown["consent"] == {"text": CONSENT, "given_on": "2026-11-30"}
    assert shown["source"] == {
        "kind": "recording", "model": "", "description": "", "preset": "", "seed": None,
    }  # fmt: skip
    assert shown["clips"] == [{"seconds": 3.0, "sample_rate_hz": 24_000, "transcript": SAID}]
    assert shown["defaults"] == {
        "model": None, "language": None, "instruct": None, "speed": 1.0, "options": {},
    }  # fmt: skip
    assert shown["has_preview"] is False
    fits = {fit["model"]: fit for fit in shown["fits"]}
    assert fits["tone"]["usable"] is True
    assert set(fits["tone"]) == {"model", "usable", "way", "says", "missing", "better"}
    assert shown["created_at"] > 1.7e9


@pytest.mark.parametrize("given", NOT_IDS)
def test_a1_every_miss_is_the_same(voices: VoiceSite, given: str) -> None:
    made(voices)
    answers = [
        voices.client.get(f"/v1/voices/{given}"),
        voices.client.get(f"/v1/voices/{given}/preview"),
        voices.client.get(f"/v1/voices/{given}/export"),
        voices.client.get(f"/v1/voices/{given}/clips/1"),
        voices.client.delete(f"/v1/voices/{given}"),
        voices.client.patch(f"/v1/voices/{given}", json={"notes": "x"}),
    ]
    for answer in answers:
        assert answer.status_code in (404, 405)
        assert answer.json()["error"]["code"] in ("voice_not_found", "no_such_path", "wrong_method")
    assert len(voices.library.voices()) == 1
    if given.startswith("voice_") or given in ("Anna", "CON", "~"):
        assert {answer.json()["error"]["message"] for answer in answers} == {
            "There is no voice with this id."
        }


def test_what_is_written_of_a_voice_can_be_changed(voices: VoiceSite) -> None:
    voice_id = made(voices)
    body = {
        "name": " Änne\u202e ", "language": None, "notes": "calm\u0007",
        "transcript": "Other words.", "consent": "She agreed.",
        "defaults": {"speed": 0.9, "options": {"frames_per_word": 3}},
    }  # fmt: skip
    answer = voices.client.patch(f"/v1/voices/{voice_id}", json=body)
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    assert (shown["name"], shown["language"], shown["notes"]) == ("Änne", None, "calm")
    assert shown["clips"][0]["transcript"] == "Other words."
    assert shown["consent"]["text"] == "She agreed."
    assert shown["defaults"]["speed"] == 0.9
    again = voices.client.patch(f"/v1/voices/{voice_id}", json={"defaults": {"instruct": "softly"}})
    assert again.json()["defaults"]["speed"] == 0.9
    assert again.json()["defaults"]["instruct"] == "softly"
    assert again.json()["name"] == "Änne"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"nmae": "x"}, "nmae"),
        ({"name": ""}, "name"),
        ({"name": "alloy"}, "name"),
        ({"name": "Alloy"}, "name"),
        ({"name": "LOW"}, "name"),
        ({"name": "tone:x"}, "name"),
        ({"name": "Berta"}, "name"),
        ({"name": 7}, "name"),
        ({"name": None}, "name"),
        ({"name": "x" * 81}, "name"),
        ({"consent": " "}, "consent"),
        ({"consent": None}, "consent"),
        ({"defaults": {"speed": 9}}, "defaults.speed"),
        ({"defaults": {"speed": "1"}}, "defaults.speed"),
        ({"defaults": {"more": 1}}, "defaults.more"),
        ({"notes": "x" * 4001}, "notes"),
    ],
)
def test_what_may_not_be_written_is_named(
    voices: VoiceSite, body: dict[str, object], param: str
) -> None:
    voice_id = made(voices)
    made(voices, "Berta")
    answer = voices.client.patch(f"/v1/voices/{voice_id}", json=body)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param), answer.text
    assert voices.library.find(voice_id).label == "Anna"


def test_nested_options_are_no_settings_of_a_voice(voices: VoiceSite, home: Path) -> None:
    voice_id = made(voices)
    body = {"defaults": {"options": {"a": {"b": 1}}}}
    answer = voices.client.patch(f"/v1/voices/{voice_id}", json=body)
    assert answer.status_code == 400
    assert str(home) not in answer.text


def test_a_removed_voice_is_gone_with_everything(voices: VoiceSite) -> None:
    voice_id = made(voices)
    answer = voices.client.delete(f"/v1/voices/{voice_id}")
    assert answer.json() == {"id": voice_id, "object": "audio.voice", "deleted": True}
    assert voices.client.delete(f"/v1/voices/{voice_id}").status_code == 404
    assert [p.name for p in voices.library.folder.iterdir() if p.name != ".lock"] == []


def test_recordings_and_previews_can_be_heard(voices: VoiceSite) -> None:
    voice_id = made(voices)
    clip = voices.client.get(f"/v1/voices/{voice_id}/clips/1")
    assert clip.headers["content-type"] == "audio/flac"
    assert clip.content.startswith(b"fLaC")
    assert voices.speaker.get(f"/v1/voices/{voice_id}/preview").content == clip.content
    voices.library.set_preview(voice_id, b"fLaC preview")
    assert voices.speaker.get(f"/v1/voices/{voice_id}/preview").content == b"fLaC preview"
    for number in ("0", "2", "-1", "99999999999999999999"):
        assert voices.client.get(f"/v1/voices/{voice_id}/clips/{number}").status_code == 404
    assert voices.client.get(f"/v1/voices/{voice_id}/clips/x").status_code == 400


@pytest.mark.parametrize("ranges", ["bytes=0-3", "bytes=-1", "bytes=9-1", "bytes=0-0,0-0,0-0"])
def test_a37_a_range_gets_the_whole_file(voices: VoiceSite, ranges: str) -> None:
    path = f"/v1/voices/{made(voices)}/clips/1"
    whole = voices.client.get(path)
    part = voices.client.get(path, headers={"range": ranges})
    assert (part.status_code, part.content) == (200, whole.content)


def test_a_voice_is_taken_along(voices: VoiceSite, home: Path) -> None:
    voice_id = made(voices, 'A "B"\u00e4/..')
    answer = voices.client.get(f"/v1/voices/{voice_id}/export")
    assert answer.headers["content-type"] == "application/zip"
    assert answer.content == b"PK a voice"
    assert answer.headers["content-length"] == "10"
    assert voices.workshop.jobs == [{"job": "export", "voice": voice_id}]
    words = answer.headers["content-disposition"]
    assert words.startswith("attachment; filename=\"voice.voice.zip\"; filename*=UTF-8''")
    assert unquote(words.partition("''")[2]) == "A -B-ä-...voice.zip"
    assert list((home / "cache" / "uploads").iterdir()) == []


@pytest.mark.parametrize("label", ["a\r\nb: c", "\x00", "日本語", "a;b=c", "..", "a'b%41"])
def test_a38_no_label_breaks_a_header(label: str) -> None:
    words = file_name_words(f"{label}.voice.zip")
    assert words.isascii()
    assert words.isprintable()
    assert words.count(";") == 1
    assert "/" not in unquote(words.partition("''")[2])


def test_what_is_no_voice_is_listed_with_its_reason(voices: VoiceSite) -> None:
    (voices.library.folder / "Hers").mkdir(parents=True)
    (voices.library.folder / "lost.wav").write_bytes(b"RIFF")
    answer = voices.client.get("/v1/voices/broken")
    assert answer.status_code == 200
    assert [each["name"] for each in answer.json()["data"]] == ["Hers", "lost.wav"]
    assert all(each["reason"] for each in answer.json()["data"])


def test_a20_a35_each_thing_needs_its_scope(voices: VoiceSite) -> None:
    voice_id = made(voices)
    path = f"/v1/voices/{voice_id}"
    asked = {
        ("GET", path): 200, ("GET", f"{path}/preview"): 200, ("GET", f"{path}/clips/1"): 403,
        ("GET", f"{path}/export"): 403, ("DELETE", path): 403, ("PATCH", path): 403,
        ("GET", "/v1/voices/broken"): 403,
    }  # fmt: skip
    for (method, at), status in asked.items():
        body = {"notes": "x"} if method == "PATCH" else None
        assert voices.speaker.request(method, at, json=body).status_code == status, at
        assert voices.stranger.request(method, at, json=body).status_code == 401, at
    assert voices.library.find(voice_id).record.notes == ""


def test_the_list_has_the_voices_of_the_library(voices: VoiceSite) -> None:
    voice_id = made(voices)
    listed = voices.speaker.get("/v1/voices").json()
    entry = next(entry for entry in listed["data"] if entry["id"] == "Anna")
    assert (entry["category"], entry["language"]) == ("cloned", "en")
    assert entry["voice"]["id"] == voice_id
    assert [voice["id"] for voice in listed["library"]] == [voice_id]
    assert listed["data"][0]["voice"] is None
    made(voices, "Berta")
    assert len(voices.speaker.get("/v1/voices").json()["library"]) == 2


def test_an_open_list_tells_strangers_no_more_than_names(home: Path, tmp_path: Path) -> None:
    voices = voice_site(tmp_path, open_voice_list=True)
    voice_id = made(voices)
    answer = voices.stranger.get("/v1/voices")
    assert "Anna" in {entry["id"] for entry in answer.json()["data"]}
    assert CONSENT not in answer.text
    assert SAID not in answer.text
    assert answer.json()["library"] == []
    assert voices.speaker.get("/v1/voices").json()["library"][0]["id"] == voice_id
    assert voices.stranger.get(f"/v1/voices/{voice_id}").status_code == 401


def test_a43_changes_leave_a_line_without_a_name(
    voices: VoiceSite, caplog: pytest.LogCaptureFixture
) -> None:
    voice_id = made(voices)
    with caplog.at_level(logging.INFO, "menura.server.audit"):
        voices.client.patch(f"/v1/voices/{voice_id}", json={"notes": "secret words"})
        voices.client.get(f"/v1/voices/{voice_id}/export")
        voices.client.delete(f"/v1/voices/{voice_id}")
    lines = [record for record in caplog.records if record.name == "menura.server.audit"]
    said = [record.getMessage() for record in lines]
    assert said == ["voice changed", "voice exported", "voice removed"]
    for record in lines:
        told = record.__dict__["request"]
        assert set(told) == {"key", "id", "request_id"}
        assert told["id"] == voice_id


def test_a26_markup_in_a_name_is_only_text(voices: VoiceSite) -> None:
    voice_id = made(voices, "<script>alert(1)</script>")
    answer = voices.client.get(f"/v1/voices/{voice_id}")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.json()["name"] == "<script>alert(1)</script>"


def test_a_path_of_its_own_is_no_voices_name(voices: VoiceSite) -> None:
    for path, methods in (
        ("check", "POST"), ("import", "POST"), ("broken", "GET, HEAD"),
        (UNKNOWN, "DELETE, GET, HEAD, PATCH"),
    ):  # fmt: skip
        answer = voices.client.options(f"/v1/voices/{path}")
        assert (answer.status_code, answer.headers["allow"]) == (405, methods)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"language": "klingon"}, "language"),
        ({"defaults": {"language": "klingon"}}, "language"),
        ({"defaults": {"model": "/etc"}}, "defaults"),
        ({"defaults": {"model": "../../x"}}, "defaults"),
        ({"defaults": {"model": "org/unknown"}}, "defaults"),
        ({"defaults": {"model": "builtin", "options": {"heat": 1}}}, "heat"),
        ({"defaults": {"options": {"heat": {"a": 1}}}}, "heat"),
        ({"consent": "\u200b\u2060"}, "consent"),
    ],
)
def test_what_a_voice_cannot_have_is_refused(
    voices: VoiceSite, body: dict[str, object], param: str
) -> None:
    voice_id = made(voices)
    before = voices.library.find(voice_id)
    answer = voices.client.patch(f"/v1/voices/{voice_id}", json=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["param"] == param
    assert voices.library.find(voice_id) == before


def test_a_model_is_kept_by_its_own_name(voices: VoiceSite) -> None:
    body = {"defaults": {"model": "BuiltIn"}}
    answer = voices.client.patch(f"/v1/voices/{made(voices)}", json=body)
    assert answer.json()["defaults"]["model"] == "builtin"


def test_a_voice_that_was_deleted_is_gone_with_its_copies(voices: VoiceSite) -> None:
    voice_id = made(voices)
    shutil.copytree(voices.library.folder / voice_id, voices.library.folder / "copy")
    assert voices.client.delete(f"/v1/voices/{voice_id}").json()["deleted"] is True
    assert voices.client.get(f"/v1/voices/{voice_id}").status_code == 404
