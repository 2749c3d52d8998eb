"""Voices over HTTP, from a file to the speech that sounds like it: a real server and its processes.

The model is a tiny Qwen3-TTS Base checkpoint, which speaks only like a recording.
"""

import json
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest

from menura.engines.qwen3_tts.tiny import Tiny, write
from tests.kept_voices import SAID, beeps, flac_of
from tests.serving_process import Told, serving
from tests.unit.audio.reference_decoders import by_soundfile

MAKE = "/v1/audio/voices"
FLAC = flac_of(beeps())
_LIMIT_S = 300  # of what should take a few seconds


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """One server for all tests of this file."""
    folder = tmp_path_factory.mktemp("voices")
    write(folder / "base", Tiny("base"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MENURA_SERVER_QUEUE_S", str(_LIMIT_S))  # where the machine has much to do
        with serving(folder / "home", "--model", folder / "base", "--per-key", "64") as server:
            yield server


@pytest.fixture
def client(told: Told) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {told.key}"}
    with httpx.Client(base_url=told.address, headers=headers, timeout=_LIMIT_S) as found:
        yield found


@pytest.fixture
def home(told: Told) -> Path:
    """The folder of the server's own files."""
    return told.log.with_suffix("")


def made(client: httpx.Client, name: str, **more: str) -> dict[str, object]:
    """A voice of the recording."""
    data = {"name": name, "consent_text": "My own voice.", "transcript": SAID, **more}
    answer = client.post(MAKE, files={"audio_sample": ("me.flac", FLAC)}, data=data)
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


def spoken(client: httpx.Client, voice: object, seed: int = 1) -> bytes:
    """What the model says in a voice."""
    body = {"input": "Hello there.", "voice": voice, "response_format": "wav", "seed": seed,
            "options": {"max_new_tokens": 4}}  # fmt: skip
    answer = client.post("/v1/audio/speech", json=body)
    assert answer.status_code == 200, answer.text
    assert len(by_soundfile(answer.content).samples) > 0
    return answer.content


def test_a_voice_speaks_travels_and_speaks_the_same(client: httpx.Client, home: Path) -> None:
    checked = client.post("/v1/voices/check", files={"audio_sample": ("me.flac", FLAC)})
    assert checked.status_code == 200, checked.text
    assert len(checked.json()["peaks"]) == 400
    voice = made(client, "Anna")
    at = f"/v1/voices/{voice['id']}"
    [fit] = [fit for fit in client.get(at).json()["fits"] if fit["model"] == "base"]
    assert fit["usable"], fit
    first = spoken(client, "Anna")
    assert spoken(client, {"id": voice["id"]}) == first == spoken(client, "lib:anna")
    entry = next(e for e in client.get("/v1/voices").json()["data"] if e["id"] == "Anna")
    assert entry["voice"]["id"] == voice["id"]
    exported = client.get(f"{at}/export")
    assert exported.status_code == 200, exported.text
    assert client.delete(at).status_code == 200
    unknown = client.post("/v1/audio/speech", json={"input": "Hello.", "voice": "Anna"})
    assert unknown.status_code == 400
    back = client.post("/v1/voices/import", files={"file": ("x", exported.content)})
    assert back.status_code == 200, back.text
    assert [each["id"] for each in back.json()["data"]] == [voice["id"]]
    assert spoken(client, "Anna") == first
    again = client.post("/v1/voices/import", files={"file": ("x", exported.content)})
    assert (again.status_code, again.json()["error"]["param"]) == (400, "file")
    assert client.delete(at).status_code == 200
    assert list((home / "cache" / "uploads").iterdir()) == []


def test_a_consent_that_was_spoken_lets_a_voice_be_made(client: httpx.Client) -> None:
    kept = client.post(
        "/v1/audio/voice_consents",
        files={"recording": ("consent.wav", FLAC)},
        data={"name": "Anna Smith", "language": "en-US"},
    )
    assert kept.status_code == 200, kept.text
    data = {"name": "By consent", "consent": kept.json()["id"], "transcript": SAID}
    answer = client.post(MAKE, files={"audio_sample": ("me.flac", FLAC)}, data=data)
    assert answer.status_code == 200, answer.text
    assert client.delete(f"/v1/voices/{answer.json()['id']}").status_code == 200


def test_a_change_is_heard_at_once(client: httpx.Client) -> None:
    voice = made(client, "Changing")
    first = spoken(client, "Changing")
    at = f"/v1/voices/{voice['id']}"
    renamed = client.patch(at, json={"name": "Changed", "transcript": None})
    assert renamed.status_code == 200, renamed.text
    assert spoken(client, "Changed") != first
    body = {"input": "Hello.", "voice": "Changing"}
    assert client.post("/v1/audio/speech", json=body).status_code == 400
    assert client.delete(at).status_code == 200


def test_a_folder_that_is_copied_in_is_a_voice_and_a_broken_one_is_told(
    client: httpx.Client, home: Path
) -> None:
    voice = made(client, "Original")
    library = home / "data" / "voices"
    copy = library / "copied by hand"
    shutil.copytree(library / str(voice["id"]), copy)
    record = json.loads((copy / "voice.json").read_text())
    record |= {"id": "voice_" + "c" * 32, "label": "Copied"}
    (copy / "voice.json").write_text(json.dumps(record))
    (library / "lost").mkdir()
    (library / "linked").symlink_to("/etc")
    try:
        assert spoken(client, "Copied")
        broken = client.get("/v1/voices/broken").json()["data"]
        assert {each["name"] for each in broken} == {"lost", "linked"}
    finally:
        (library / "linked").unlink()
        (library / "lost").rmdir()
    assert client.delete(f"/v1/voices/{record['id']}").status_code == 200
    assert not copy.exists()
    assert client.delete(f"/v1/voices/{voice['id']}").status_code == 200


def test_a44_many_at_once_lose_nothing(client: httpx.Client) -> None:
    before = {voice["id"] for voice in client.get("/v1/voices").json()["library"]}
    with ThreadPoolExecutor(4) as threads:
        same = list(threads.map(lambda _: _status(client, "The same"), range(4)))
        others = list(threads.map(lambda n: _status(client, f"Voice {n}"), range(4)))
    assert sorted(same) == [200, 400, 400, 400]
    assert others == [200] * 4
    listed = client.get("/v1/voices").json()["library"]
    new = [voice for voice in listed if voice["id"] not in before]
    assert len(new) == 5
    with ThreadPoolExecutor(4) as threads:
        gone = list(threads.map(lambda v: client.delete(f"/v1/voices/{v['id']}"), new))
    assert [answer.status_code for answer in gone] == [200] * 5


def _status(client: httpx.Client, name: str) -> int:
    data = {"name": name, "consent_text": "Mine.", "transcript": SAID}
    return client.post(MAKE, files={"audio_sample": ("x", FLAC)}, data=data).status_code


def test_a11_a_body_without_end_or_over_the_cap_is_refused(
    client: httpx.Client, home: Path
) -> None:
    def endless() -> Iterator[bytes]:
        yield b'--e\r\ncontent-disposition: form-data; name="audio_sample"\r\n\r\n'
        for _ in range(400):
            yield b"x" * 100_000

    headers = {"content-type": "multipart/form-data; boundary=e"}
    answer = client.post(MAKE, content=endless(), headers=headers)
    assert answer.status_code == 413
    assert list((home / "cache" / "uploads").iterdir()) == []


def test_a12_a_packed_body_is_not_read(client: httpx.Client) -> None:
    headers = {"content-type": "multipart/form-data; boundary=e", "content-encoding": "gzip"}
    assert client.post(MAKE, content=b"\x1f\x8b", headers=headers).status_code == 415


@pytest.mark.parametrize("text", ["data:audio/wav;base64,UklGRg==", "UklGR/+/", "/etc/shadow"])
def test_a14_a16_a_text_is_no_recording_and_no_path(client: httpx.Client, text: str) -> None:
    data = {"name": "Text", "consent_text": "Mine."}
    for sample in ({"audio_sample": (None, text)}, {"audio_sample": ("x", text.encode())}):
        answer = client.post(MAKE, files=sample, data=data)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "unreadable_audio")


def test_a8_a_small_file_of_an_hour_is_refused_while_it_is_decoded(client: httpx.Client) -> None:
    hour = flac_of(np.zeros(3600 * 8_000, np.float32), 8_000)
    assert len(hour) < 1_000_000
    for path, data in (("/v1/voices/check", {}), (MAKE, {"name": "Hour", "consent_text": "Mine."})):
        answer = client.post(path, files={"audio_sample": ("x", hour)}, data=data)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "audio_too_large")


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_an_upload_is_never_whole_in_the_servers_memory(client: httpx.Client, told: Told) -> None:
    noise = b"fLaC" + np.random.default_rng(0).bytes(24_000_000)
    before = most_bytes(told.process.pid)
    for _ in range(4):
        answer = client.post("/v1/voices/check", files={"audio_sample": ("x", noise)})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "unreadable_audio")
    assert most_bytes(told.process.pid) - before < len(noise) / 2


def most_bytes(pid: int) -> int:
    """The most memory that a process ever held."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [peak] = [line for line in lines if line.startswith("VmHWM:")]
    return int(peak.split()[1]) * 1024


def test_a26_no_line_of_the_log_holds_a_name_or_a_path(client: httpx.Client, told: Told) -> None:
    voice = made(client, "Sssecret <b>name</b>", notes="sssecret notes")
    client.delete(f"/v1/voices/{voice['id']}")
    log = told.log.read_text()
    assert "voice made from a recording" in log
    assert str(voice["id"]) in log
    assert "ssecret" not in log.lower()
    assert "consent_text" not in log


def test_openais_own_client_makes_a_voice(told: Told) -> None:
    openai = pytest.importorskip("openai")
    url = f"{told.address}/v1"
    with openai.OpenAI(base_url=url, api_key=told.key, max_retries=0, timeout=_LIMIT_S) as client:
        if not hasattr(client.audio, "voices"):
            pytest.skip("this client knows no voices")
        consent = client.audio.voice_consents.create(
            name="Anna", language="en-US", recording=("consent.wav", FLAC, "audio/flac")
        )
        voice = client.audio.voices.create(
            name="OpenAI's", audio_sample=("me.flac", FLAC, "audio/flac"), consent=consent.id
        )
        assert (voice.object, voice.name) == ("audio.voice", "OpenAI's")
        listed = client.audio.voice_consents.list()
        assert consent.id in {each.id for each in listed.data}
        speech = client.audio.speech.create(
            model="tts-1", voice={"id": voice.id}, input="Hello.", response_format="wav"
        )
        assert speech.read().startswith(b"RIFF")
        client.audio.voice_consents.delete(consent.id)
    with told.client() as plain:
        assert plain.delete(f"/v1/voices/{voice.id}").status_code == 200
