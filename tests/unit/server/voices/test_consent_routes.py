from pathlib import Path

import pytest

from menura.server.voices.consents import ConsentStore
from tests.unit.server.voices.voice_site import VoiceSite

ALL = "/v1/audio/voice_consents"


def kept(voices: VoiceSite, name: str = "Anna Smith") -> dict[str, object]:
    answer = voices.client.post(
        ALL, files={"recording": ("x.wav", b"fLaC words")}, data={"name": name, "language": "en-US"}
    )
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


def test_a_consent_is_kept_shown_renamed_and_removed_in_openais_shapes(
    voices: VoiceSite, home: Path
) -> None:
    made = kept(voices)
    assert set(made) == {"id", "object", "name", "language", "created_at"}
    assert (made["object"], made["name"], made["language"]) == (
        "audio.voice_consent", "Anna Smith", "en-US",
    )  # fmt: skip
    assert voices.workshop.jobs == [{"job": "keep"}]
    assert voices.workshop.given == [b"fLaC words"]
    path = f"{ALL}/{made['id']}"
    assert voices.client.get(path).json() == made
    assert voices.client.post(path, json={"name": "Anne"}).json() == {**made, "name": "Anne"}
    assert voices.client.patch(path, json={"name": "Ann"}).json() == {**made, "name": "Ann"}
    deleted = voices.client.delete(path).json()
    assert deleted == {"id": made["id"], "object": "audio.voice_consent", "deleted": True}
    assert voices.client.get(path).status_code == 404
    assert list((home / "cache" / "uploads").iterdir()) == []


def test_consents_are_listed_in_parts(voices: VoiceSite) -> None:
    assert voices.client.get(ALL).json() == {
        "object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False,
    }  # fmt: skip
    made = {str(kept(voices, name)["id"]) for name in ("A", "B", "C")}
    first = voices.client.get(ALL, params={"limit": 2}).json()
    assert (len(first["data"]), first["has_more"]) == (2, True)
    assert first["last_id"] == first["data"][1]["id"]
    rest = voices.client.get(ALL, params={"limit": 2, "after": first["last_id"]}).json()
    assert (len(rest["data"]), rest["has_more"]) == (1, False)
    assert {entry["id"] for entry in first["data"] + rest["data"]} == made
    for wrong in ({"limit": 0}, {"limit": 101}, {"limit": "x"}, {"after": "x" * 101}):
        assert voices.client.get(ALL, params=wrong).status_code == 400


@pytest.mark.parametrize(
    ("data", "param"),
    [
        ({"language": "en"}, "name"), ({"name": "Anna"}, "language"),
        ({"name": "Anna", "language": "../x"}, "language"),
        ({"name": " ", "language": "en"}, "name"),
        ({"name": "Anna", "language": "en", "more": "1"}, "more"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(voices: VoiceSite, data: dict[str, str], param: str) -> None:
    answer = voices.client.post(ALL, files={"recording": ("x", b"fLaC words")}, data=data)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)
    assert ConsentStore().all() == ()


@pytest.mark.parametrize("body", [{}, {"name": None}, {"name": 1}, {"name": "a", "id": "x"}])
def test_only_a_name_can_be_changed(voices: VoiceSite, body: dict[str, object]) -> None:
    path = f"{ALL}/{kept(voices)['id']}"
    assert voices.client.patch(path, json=body).status_code == 400


def test_a36_every_miss_is_the_same(voices: VoiceSite) -> None:
    kept(voices)
    for given in ("cons_" + "0" * 32, "..%2f..", "x", "cons_", "%00"):
        path = f"{ALL}/{given}"
        for answer in (
            voices.client.get(path),
            voices.client.delete(path),
            voices.client.patch(path, json={"name": "a"}),
        ):
            assert answer.status_code == 404
    assert len(ConsentStore().all()) == 1


def test_a20_all_of_it_needs_the_scope_of_voices(voices: VoiceSite) -> None:
    path = f"{ALL}/{kept(voices)['id']}"
    for method, at in (("GET", ALL), ("POST", ALL), ("GET", path), ("DELETE", path),
                       ("PATCH", path), ("POST", path)):  # fmt: skip
        assert voices.speaker.request(method, at).status_code == 403
        assert voices.stranger.request(method, at).status_code == 401
