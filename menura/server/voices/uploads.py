"""Forms with one file: the body goes piece by piece to a folder of ours, never whole into memory.

When the block ends, the file is gone. What a server that was killed left behind goes at the start
of a later one.
"""

import asyncio
import re
import secrets
import shutil
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from fastapi import Request
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, WithJsonSchema

from menura.errors import NO_ROOM, DiskFullError
from menura.server.border.problems import problem_of_fields
from menura.server.routes import parts_of
from menura.server.voices.form_parts import FormParts, wrong_form
from menura.settings import folders
from menura.text.unwanted import REMOVED
from menura.voice_library.plain_files import own_folder

_PIECE_BYTES = 256 * 1024
_OLD_S = 3600.0
_NAME = re.compile(r"[0-9a-f]{32}")

File = Annotated[Path, WithJsonSchema({"type": "string", "format": "binary"})]
"""The file of a form: where it lies while the form is looked at."""

Words = Annotated[str, AfterValidator(lambda text: REMOVED.sub("", text))]
"""A text of a client's, without its control characters."""


def _without_null(schema: dict[str, Any]) -> None:
    """Nothing; the schema says of no field that it may be null, which a form cannot say."""
    for name, field in schema["properties"].items():
        if "anyOf" in field:
            [kind] = (kind for kind in field.pop("anyOf") if kind != {"type": "null"})
            schema["properties"][name] = {
                **kind, **{key: value for key, value in field.items() if key != "default"},
            }  # fmt: skip


class UploadForm(BaseModel):
    """A form with one file; `file_field` is the name of its part."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=_without_null)

    file_field: ClassVar[str]


_Form = TypeVar("_Form", bound=UploadForm)


@asynccontextmanager
async def received(request: Request, kind: type[_Form]) -> AsyncGenerator[_Form]:
    """The form that the request brings; its file is there while the block runs.

    Raises: Problem: it is no such form, too large, or too slow; OverloadedError: many others are
        being read; DiskFullError.
    """
    async with parts_of(request).workshop.forms.turn(), scratch_folder() as folder:
        yield await _form(request, kind, folder / "upload")


@asynccontextmanager
async def scratch_folder() -> AsyncGenerator[Path]:
    """A folder that only this user reads, and that is gone after the block."""
    folder = _root() / secrets.token_hex(16)
    await asyncio.to_thread(_make, folder)
    try:
        yield folder
    finally:
        await asyncio.shield(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))


def sweep(now: float | None = None) -> None:
    """Nothing, after folders older than an hour, which a killed server left, were removed."""
    oldest = (time.time() if now is None else now) - _OLD_S
    with suppress(OSError):
        for folder in _root().iterdir():
            if _NAME.fullmatch(folder.name) and folder.lstat().st_mtime < oldest:
                shutil.rmtree(folder, ignore_errors=True)


def _root() -> Path:
    return folders().cache / "uploads"


def _make(folder: Path) -> None:
    own_folder(folder.parent)
    folder.mkdir(mode=0o700)


async def _form(request: Request, kind: type[_Form], path: Path) -> _Form:
    most = parts_of(request).limits.max_upload_bytes
    content_type = request.headers.get("content-type", "")
    try:
        with path.open("xb") as file:
            parts = FormParts(content_type, kind.file_field, file, most)
            await _read(request, parts)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise DiskFullError("the disk became full while a file arrived.") from error
        raise
    given: dict[str, object] = dict(parts.texts)
    if parts.has_file:
        given[kind.file_field] = path
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise problem_of_fields(error.errors()) from None


async def _read(request: Request, parts: FormParts) -> None:
    """Nothing, after the parts took the whole body, beside the loop that serves the others."""
    waiting = bytearray()
    async for piece in request.stream():
        waiting += piece
        if len(waiting) >= _PIECE_BYTES:
            await asyncio.to_thread(parts.take, bytes(waiting))
            waiting.clear()
    await asyncio.to_thread(parts.take, bytes(waiting))
    if not parts.is_whole:
        raise wrong_form("ends before it is whole")
