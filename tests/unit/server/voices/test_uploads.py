import asyncio
import errno
import os
from pathlib import Path
from typing import ClassVar

import pytest
from fastapi import Request
from pydantic import BaseModel, Field

from menura.server.routes import UPLOAD, Route, Scope
from menura.server.voices import uploads
from menura.server.voices.form_parts import FormParts
from menura.server.voices.uploads import File, UploadForm, Words, received, sweep
from tests.unit.server.http_parts import Site, site_at


class TheForm(UploadForm):
    """A form of the tests' own."""

    file_field: ClassVar[str] = "audio"

    audio: File
    name: Words | None = Field(default=None, max_length=5)
    often: bool = False
    seed: int | None = Field(default=None, ge=0)


class Seen(BaseModel):
    """What a handler saw."""

    n_bytes: int
    name: str | None
    often: bool
    seed: int | None
    files: list[str]


async def look(request: Request) -> Seen:
    """Look at the form."""
    async with received(request, TheForm) as form:
        found = sorted(str(path.relative_to(form.audio.parents[1]).name)
                       for path in form.audio.parents[1].rglob("*"))  # fmt: skip
        return Seen(
            n_bytes=form.audio.stat().st_size, name=form.name, often=form.often, seed=form.seed,
            files=found,
        )  # fmt: skip


ROW = Route("/look", ("POST",), Scope.VOICES, UPLOAD, look, "Look", form=TheForm)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MENURA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def site(home: Path, tmp_path: Path) -> Site:
    return site_at(tmp_path, (ROW,), max_upload_mb=1)


def left(home: Path) -> list[Path]:
    return list((home / "cache" / "uploads").rglob("*"))


def test_a_form_is_there_while_it_is_looked_at_and_then_gone(site: Site, home: Path) -> None:
    answer = site.client(site.voices_key).post(
        "/look",
        files={"audio": ("../../x.wav", b"x" * 300_000, "audio/wav")},
        data={"name": "An\u202ena", "often": "true", "seed": "7"},
    )
    assert answer.status_code == 200, answer.text
    seen = answer.json()
    assert (seen["n_bytes"], seen["name"], seen["often"], seen["seed"]) == (
        300_000, "Anna", True, 7,
    )  # fmt: skip
    assert len(seen["files"]) == 2
    assert "upload" in seen["files"]
    assert left(home) == []


@pytest.mark.parametrize(
    ("files", "data", "status", "param"),
    [
        ({}, {"name": "Anna"}, 400, None),
        ({"name": ("n", b"Anna")}, {}, 400, "audio"),
        ({"audio": ("a", b"x")}, {"name": "too long"}, 400, "name"),
        ({"audio": ("a", b"x")}, {"seed": "-1"}, 400, "seed"),
        ({"audio": ("a", b"x")}, {"seed": "1e400"}, 400, "seed"),
        ({"audio": ("a", b"x")}, {"often": "maybe"}, 400, "often"),
        ({"audio": ("a", b"x")}, {"nmae": "Anna"}, 400, "nmae"),
        ({"audio": ("a", b"x" * 1_000_001)}, {}, 413, "audio"),
        ({"audio": ("a", b"x" * 1_200_000)}, {}, 413, None),
    ],
)
def test_what_is_wrong_is_said_and_nothing_stays(
    site: Site,
    home: Path,
    files: dict[str, tuple[str, bytes]],
    data: dict[str, str],
    status: int,
    param: str | None,
) -> None:
    client = site.client(site.voices_key)
    if files:
        answer = client.post("/look", files=files, data=data)
    else:
        body = b'--e\r\ncontent-disposition: form-data; name="n'
        kind = {"content-type": "multipart/form-data; boundary=e"}
        answer = client.post("/look", content=body, headers=kind)
    assert (answer.status_code, answer.json()["error"]["param"]) == (status, param)
    assert left(home) == []
    assert str(home) not in answer.text


def test_only_a_form_with_the_scope_is_taken(site: Site) -> None:
    client = site.client(site.voices_key)
    assert client.post("/look", json={}).status_code == 415
    assert client.post("/look", data={"name": "a"}).status_code == 415
    files = {"audio": ("a", b"x")}
    assert site.client(site.speak_key).post("/look", files=files).status_code == 403
    assert site.client().post("/look", files=files).status_code == 401


def test_a_full_disk_is_told_and_nothing_stays(
    site: Site, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: FormParts, piece: bytes) -> None:
        raise OSError(errno.ENOSPC, "no room", str(home))

    monkeypatch.setattr(FormParts, "take", refuse)
    answer = site.client(site.voices_key).post("/look", files={"audio": ("a", b"x")})
    assert (answer.status_code, answer.json()["error"]["code"]) == (507, "disk_full")
    assert str(home) not in answer.text
    assert left(home) == []


def test_the_document_says_what_the_form_has(home: Path) -> None:
    schema = TheForm.model_json_schema()
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["audio"]
    properties = schema["properties"]
    assert properties["audio"] == {"type": "string", "format": "binary", "title": "Audio"}
    assert properties["name"] == {"type": "string", "maxLength": 5, "title": "Name"}
    assert properties["seed"] == {"type": "integer", "minimum": 0, "title": "Seed"}


def test_what_a_killed_server_left_goes_when_it_is_old(home: Path) -> None:
    root = home / "cache" / "uploads"
    for name, age in (("0" * 32, 4000), ("1" * 32, 10), ("not-ours", 4000)):
        (root / name).mkdir(parents=True)
        (root / name / "upload").write_bytes(b"x")
        os.utime(root / name, (10_000 - age, 10_000 - age))
    sweep(now=10_000)
    assert sorted(path.name for path in root.iterdir()) == ["1" * 32, "not-ours"]
    sweep(now=10_000)


def test_sweeping_where_nothing_is_does_nothing(home: Path) -> None:
    sweep()
    assert not home.exists()


def test_a_folder_goes_though_its_block_is_cancelled(home: Path) -> None:
    async def run() -> None:
        entered = asyncio.Event()

        async def work() -> None:
            async with uploads.scratch_folder() as folder:
                (folder / "upload").write_bytes(b"x")
                entered.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert left(home) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps a user's files from others by itself")
def test_the_place_of_uploads_is_for_its_user_alone(home: Path) -> None:
    async def inside() -> None:
        async with uploads.scratch_folder() as folder:
            assert [path.stat().st_mode & 0o777 for path in (folder, folder.parent)] == [0o700] * 2

    place = home / "cache" / "uploads"
    place.mkdir(parents=True, mode=0o755)
    asyncio.run(inside())
