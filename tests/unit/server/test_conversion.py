"""A wav comes back in every format, marked as synthetic, and nothing of it stays here."""

import asyncio
import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from starlette.types import Message

from menura.audio.encoders import Encoder
from menura.audio.tags import MARK_FIELD, read_mark
from menura.errors import ModelNotFoundError
from menura.server import conversion
from menura.server.routes import ServerParts
from menura.settings import folders
from tests.spoken_orders import FACTS
from tests.unit.audio.reference_decoders import by_av, by_soundfile, tags_by_av, tone
from tests.unit.server.asgi_wire import Wire, post, sent
from tests.unit.server.http_parts import Site, site_at

if TYPE_CHECKING:
    from menura.server.models.model_facts import ModelFacts

RATE_HZ = 16_000
TONE = tone(RATE_HZ * 2, RATE_HZ)
WAV = {"content-type": "audio/wav"}


class LicensedPool:
    """A pool whose one model's audio has a licence."""

    async def describe(self, model: str) -> "ModelFacts":
        return replace(FACTS, model=model, output_licence="CC-BY-NC-SA-4.0")


class Served:
    """The names of a server with one model."""

    default = "tone"

    def model(self, given: str) -> str:
        if given != "tone":
            raise ModelNotFoundError(f"model {given!r} is not served here.", param="model")
        return given


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setenv("MENURA_HOME", str(tmp_path / "home"))
    found = site_at(tmp_path, conversion.ROUTES)
    parts = ServerParts(
        pool=cast("object", LicensedPool()),  # type: ignore[arg-type]
        names=cast("object", Served()),  # type: ignore[arg-type]
        keys=found.parts.keys,
        limits=found.parts.limits,
        metrics=found.parts.metrics,
    )
    found.app.state.parts = parts
    return found


class Leaving(Wire):
    """A client that goes when the answer begins, and takes nothing of it."""

    n_folders = 0

    async def send(self, message: Message) -> None:
        self.n_folders = len(left_behind())
        self.hang_up()
        await asyncio.Event().wait()


def wav() -> bytes:
    sink = io.BytesIO()
    with Encoder(sink, "wav", RATE_HZ) as encoder:
        encoder.write(TONE)
    return sink.getvalue()


def left_behind() -> list[Path]:
    return list((folders().cache / "uploads").iterdir())


@pytest.mark.parametrize("name", ["wav", "flac"])
def test_formats_without_loss_hold_the_very_samples(name: str, site: Site) -> None:
    answer = site.client(site.key).post(f"/v1/audio/convert/{name}", content=wav(), headers=WAV)
    assert answer.status_code == 200, answer.text
    found = by_soundfile(answer.content)
    assert (found.rate_hz, answer.headers["x-sample-rate"]) == (RATE_HZ, str(RATE_HZ))
    assert np.array_equal(found.samples, by_soundfile(wav()).samples)
    assert answer.headers["content-disposition"] == f'attachment; filename="speech.{name}"'
    assert answer.headers["content-length"] == str(len(answer.content))
    assert left_behind() == []


@pytest.mark.parametrize(
    ("name", "kind"), [("mp3", "audio/mpeg"), ("opus", "audio/ogg"), ("aac", "audio/aac")]
)
def test_formats_with_loss_sound_as_long(name: str, kind: str, site: Site) -> None:
    path = f"/v1/audio/convert/{name.upper()}"
    answer = site.client(site.key).post(path, content=wav(), headers=WAV)
    assert (answer.status_code, answer.headers["content-type"]) == (200, kind)
    found = by_av(answer.content)
    assert found.samples.size / found.rate_hz == pytest.approx(2, abs=0.2)


def test_pcm_is_at_24_khz_as_ever(site: Site) -> None:
    answer = site.client(site.key).post("/v1/audio/convert/pcm", content=wav(), headers=WAV)
    assert answer.headers["x-sample-rate"] == "24000"
    assert len(answer.content) == 2 * 24_000 * 2


def test_a_file_says_that_its_speech_is_synthetic_and_what_it_may_be_used_for(site: Site) -> None:
    path = "/v1/audio/convert/mp3?model=tone&voice=Zo%C3%AB;%20x&seed=7"
    tags = tags_by_av(site.client(site.key).post(path, content=wav(), headers=WAV).content)
    mark = read_mark(tags[MARK_FIELD.lower()])
    assert mark is not None
    assert (mark["model"], mark["voice"], mark["seed"]) == ("tone", "Zoë  x", "7")
    assert "Licence of this audio: CC-BY-NC-SA-4.0" in tags["comment"]
    plain = site.client(site.key).post("/v1/audio/convert/mp3", content=wav(), headers=WAV)
    mark = read_mark(tags_by_av(plain.content)[MARK_FIELD.lower()])
    assert mark is not None
    assert set(mark) == {"synthetic", "generator", "digital_source_type"}


@pytest.mark.parametrize(
    ("path", "content", "kind", "status", "code"),
    [
        ("ogg3", None, "audio/wav", 400, "invalid_value"),
        ("f32", None, "audio/wav", 400, "invalid_value"),
        ("mp3", b"", "audio/wav", 400, "unreadable_audio"),
        ("mp3", b"no wav at all" * 9, "audio/wav", 400, "unreadable_audio"),
        ("mp3", None, "text/plain", 415, "wrong_content_type"),
        ("mp3?model=other", None, "audio/wav", 404, "model_not_found"),
        ("mp3?seed=-1", None, "audio/wav", 400, "invalid_value"),
        ("mp3?seed=x", None, "audio/wav", 400, "invalid_value"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(
    path: str, content: bytes | None, kind: str, status: int, code: str, site: Site
) -> None:
    answer = site.client(site.key).post(
        f"/v1/audio/convert/{path}",
        content=wav() if content is None else content,
        headers={"content-type": kind},
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    uploads = folders().cache / "uploads"
    assert not uploads.exists() or left_behind() == []


def test_a_body_over_the_cap_is_refused(site: Site) -> None:
    headers = {**WAV, "content-length": str(conversion.MAX_BYTES + 1)}
    answer = site.client(site.key).post("/v1/audio/convert/mp3", content=b"x", headers=headers)
    assert answer.status_code == 413


def test_a_client_that_hangs_up_ends_the_work_and_leaves_nothing(site: Site) -> None:
    async def run() -> None:
        wire = Leaving(wav())
        scope = post("/v1/audio/convert/wav", {"authorization": f"Bearer {site.key}", **WAV})
        await sent(site.app, wire, scope)
        assert wire.n_folders == 1
        assert left_behind() == []

    asyncio.run(run())


def test_a_key_for_voices_alone_may_not(site: Site) -> None:
    answer = site.client(site.voices_key).post("/v1/audio/convert/mp3", content=wav(), headers=WAV)
    assert answer.status_code == 403
