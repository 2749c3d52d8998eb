"""Consents: recordings of people who agree to a voice, kept until somebody makes that voice.

A consent is a folder of `data/consents` whose name is its id. It is there whole or not at all, and
goes by a rename, so that neither readers nor writers need a lock. A voice keeps its own copy.
"""

import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from json import dumps
from pathlib import Path

from menura.errors import NO_ROOM, DiskFullError, InvalidValueError, MenuraError, OutputError
from menura.runtime.whole_file import whole_file
from menura.server.border.problems import Problem
from menura.settings import folders
from menura.voice_library.labels import checked_label
from menura.voice_library.locking import new_folder, sweep, take_away
from menura.voice_library.plain_files import (
    OWN_FILE,
    own_folder,
    read_plain,
    settle,
    tighten,
    write_lasting,
)
from menura.voice_library.record import now
from menura.voice_library.strict_json import StrictObject

_SCHEMA = 1
_ID = re.compile(r"cons_[0-9a-f]{32}")
_RECORD, _RECORDING = "consent.json", "recording.flac"
_MAX_RECORD_BYTES = 16 * 1024
_MAX_RECORDING_BYTES = 64 * 2**20
_TIME = r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z"
_LANGUAGE = r"[A-Za-z0-9][A-Za-z0-9-]{0,39}"


@dataclass(frozen=True)
class ConsentRecord:
    """What is known of a consent; `language` is a tag such as en-US."""

    id: str
    name: str
    language: str
    made_on: str

    @property
    def created_at(self) -> int:
        """When it was made, in seconds since 1970."""
        return int(datetime.fromisoformat(self.made_on).timestamp())


class ConsentStore:
    """The consents of a folder; several threads and servers may use it at once."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folders().data / "consents" if folder is None else folder

    def all(self) -> tuple[ConsentRecord, ...]:
        """All consents, the newest first. What is none, or damaged, is left out."""
        found = []
        with suppress(FileNotFoundError):
            for path in self._folder.iterdir():
                if _ID.fullmatch(path.name):
                    with suppress(Problem):
                        found.append(self.find(path.name))
        return tuple(sorted(found, key=lambda each: (each.made_on, each.id), reverse=True))

    def find(self, given: str) -> ConsentRecord:
        """The consent of an id. Raises: Problem (404): there is none, whatever was given."""
        if not _ID.fullmatch(given) or (self._folder / given).is_symlink():
            raise _not_found()
        try:
            text = read_plain(self._folder / given / _RECORD, _MAX_RECORD_BYTES).decode()
            return _record(text, given)
        except (OSError, UnicodeDecodeError, InvalidValueError):
            raise _not_found() from None

    def recording(self, consent: ConsentRecord) -> bytes:
        """The bytes of the consent's FLAC file. Raises: Problem (404): it is gone."""
        try:
            return read_plain(self._folder / consent.id / _RECORDING, _MAX_RECORDING_BYTES)
        except (OSError, InvalidValueError):
            raise _not_found() from None

    def add(self, name: str, language: str, flac: bytes) -> ConsentRecord:
        """The new consent. Raises: InvalidValueError: its name; DiskFullError, OutputError."""
        record = ConsentRecord(f"cons_{secrets.token_hex(16)}", _name(name), language, now())
        try:
            own_folder(self._folder)
            sweep(self._folder)
            with new_folder(self._folder, record.id) as making:
                write_lasting(making / _RECORDING, flac)
                write_lasting(making / _RECORD, _json(record))
            settle(self._folder)
        except OSError as error:
            raise _not_written(error) from error
        return record

    def rename(self, given: str, name: str) -> ConsentRecord:
        """The consent with another name. Raises: Problem (404); as `add`."""
        record = replace(self.find(given), name=_name(name))
        try:
            with whole_file(self._folder / record.id / _RECORD, OWN_FILE) as file:
                file.write(_json(record))
            own_folder(self._folder)
            tighten(self._folder / record.id)
        except FileNotFoundError:
            raise _not_found() from None  # it was removed meanwhile
        except OSError as error:
            raise _not_written(error) from error
        return record

    def remove(self, given: str) -> None:
        """Nothing; the consent and its recording are gone. Raises: Problem (404)."""
        record = self.find(given)
        try:
            was_there = take_away(self._folder / record.id)
        except OSError as error:
            raise _not_written(error) from error
        if not was_there:
            raise _not_found()


def _name(given: str) -> str:
    try:
        return checked_label(given)
    except InvalidValueError as error:
        error.param = "name"
        raise


def _json(record: ConsentRecord) -> bytes:
    content = {"schema": _SCHEMA, "id": record.id, "name": record.name,
               "language": record.language, "made_on": record.made_on}  # fmt: skip
    return (dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def _record(text: str, expected_id: str) -> ConsentRecord:
    read = StrictObject.parse(text)
    read.expect_only("schema", "id", "name", "language", "made_on")
    read.whole("schema", _SCHEMA, _SCHEMA)
    return ConsentRecord(
        id=read.text("id", 64, pattern=re.escape(expected_id)),
        name=checked_label(read.text("name", 1000)),
        language=read.text("language", 40, pattern=_LANGUAGE),
        made_on=read.text("made_on", 40, pattern=_TIME),
    )


def _not_found() -> Problem:
    return Problem(404, "consent_not_found", "There is no consent with this id.", param="consent")


def _not_written(error: OSError) -> MenuraError:
    words = f"the consents cannot be written to: {error.strerror or os.strerror(error.errno or 0)}."
    return DiskFullError(words) if error.errno in NO_ROOM else OutputError(words)
