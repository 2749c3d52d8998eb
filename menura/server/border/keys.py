"""The server's keys: made here, shown once, kept as SHA-256 in a file that only its owner reads.

A key is `menura_` and 32 random bytes, so its hash cannot be turned back by guessing. A running
server sees keys that are added or removed in the file at its next request.
"""

import base64
import hashlib
import hmac
import json
import logging
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from menura.errors import InvalidValueError, OutputError, SettingsError, did_you_mean
from menura.runtime.whole_file import whole_file
from menura.server.routes import ALL_SCOPES, Scope
from menura.settings import folders
from menura.text.unwanted import REMOVED

if sys.platform != "win32":
    import fcntl

PREFIX = "menura_"
_SCHEMA = 1
_OWN = 0o600
_LONGEST_KEY = 256
_LONGEST_LABEL = 80
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class KeyRecord:
    """One key as it is kept: never the key itself, only its SHA-256 in hex."""

    id: str
    label: str
    scopes: frozenset[Scope]
    made_on: str
    sha256: str = field(repr=False)


@dataclass(frozen=True)
class NewKey:
    """A key that was just made; `key` is shown this once."""

    record: KeyRecord
    key: str = field(repr=False)


@dataclass(frozen=True)
class _Content:
    """What the file holds: its keys, and the secret that signs the page's cookies."""

    secret: str = field(default_factory=lambda: secrets.token_hex(32), repr=False)
    records: tuple[KeyRecord, ...] = ()


def key_file() -> Path:
    """Where the keys of this user are kept."""
    return folders().config / "keys.json"


class KeyStore:
    """The keys of a file, and those that live only as long as this process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._of_this_run: tuple[KeyRecord, ...] = ()
        self._content = _Content()
        self._version: tuple[int, ...] | None = None
        self._read_again()

    def records(self) -> tuple[KeyRecord, ...]:
        """The keys in the file, in the order in which they were made."""
        self._follow_file()
        return self._content.records

    def find(self, key: str) -> KeyRecord | None:
        """The record of a key, or None; it takes as long for a wrong key as for a right one."""
        self._follow_file()
        digest = _sha256(key) if len(key) <= _LONGEST_KEY else ""
        found = None
        for record in (*self._content.records, *self._of_this_run):
            if hmac.compare_digest(record.sha256, digest):
                found = record
        return found

    def by_id(self, key_id: str) -> KeyRecord | None:
        """The record with this id, or None where the key was removed."""
        self._follow_file()
        everything = (*self._content.records, *self._of_this_run)
        return next((record for record in everything if record.id == key_id), None)

    def signature(self, words: str) -> str:
        """The hex signature of some words, which only this server can make."""
        secret = self._content.secret.encode("ascii")
        return hmac.new(secret, words.encode("utf-8"), hashlib.sha256).hexdigest()

    def first_key(self) -> NewKey | None:
        """A new key with all scopes where the file has none yet, else None.

        Raises: OutputError: the file cannot be written.
        """
        with self._changing():
            return None if self._content.records else self._add("first key", ALL_SCOPES)

    def add(self, label: str, scopes: frozenset[Scope]) -> NewKey:
        """A new key.

        Raises: InvalidValueError: the label is empty or too long, or no scope is given;
            OutputError: the file cannot be written.
        """
        plain = REMOVED.sub("", label).strip()
        if not plain or len(plain) > _LONGEST_LABEL:
            raise InvalidValueError(
                f"label={label!r} is not allowed: it must have 1 to {_LONGEST_LABEL} characters.",
                param="label",
            )
        if not scopes:
            raise InvalidValueError(
                f"a key needs a scope: one or more of {', '.join(Scope)}.", param="scopes"
            )
        with self._changing():
            return self._add(plain, scopes)

    def remove(self, key_id: str) -> KeyRecord:
        """The record of a key, after it was removed; its signed-in pages are signed out too.

        Raises: InvalidValueError: there is no such key; OutputError.
        """
        with self._changing():
            records = self._content.records
            ids = [record.id for record in records]
            if key_id not in ids:
                known = f"the keys are: {', '.join(ids)}" if ids else "there are none"
                raise InvalidValueError(
                    f"there is no key {key_id!r}; {known}.{did_you_mean(key_id, ids)}", param="id"
                )
            self._write(tuple(record for record in records if record.id != key_id))
            return records[ids.index(key_id)]

    def add_for_this_run(self, label: str) -> str:
        """A key with all scopes that no file holds and that ends with this process."""
        made = _new(label, ALL_SCOPES)
        self._of_this_run = (*self._of_this_run, made.record)
        return made.key

    def _add(self, label: str, scopes: frozenset[Scope]) -> NewKey:
        made = _new(label, scopes)
        self._write((*self._content.records, made.record))
        return made

    def _write(self, records: tuple[KeyRecord, ...]) -> None:
        content = _Content(self._content.secret, records)
        with whole_file(self._path) as file:
            Path(file.name).chmod(_OWN)
            file.write(_encoded(content))
        self._read_again()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """The file as it is now, while no other process changes it."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _locked(self._path.with_name(".keys.lock")):
                self._read_again()
                yield
        except OSError as error:
            reason = error.strerror or str(error)
            raise OutputError(f"{str(self._path)!r} cannot be written: {reason}.") from error

    def _follow_file(self) -> None:
        """Nothing, after a file that changed was read; one that cannot be read changes nothing."""
        if _version_of(self._path) == self._version:
            return
        try:
            self._read_again()
        except SettingsError as error:
            self._version = _version_of(self._path)
            _log.warning("the keys stay as they were: %s", error.message)

    def _read_again(self) -> None:
        version = _version_of(self._path)
        try:
            content = _decoded(self._path.read_bytes())
            _tighten(self._path)
        except FileNotFoundError:
            content = _Content(self._content.secret)
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise SettingsError(
                f"{str(self._path)!r} cannot be read as a list of keys ({type(error).__name__}). "
                "Mend it, or remove it and make new keys with `menura keys add`."
            ) from error
        self._content, self._version = content, version


def _new(label: str, scopes: frozenset[Scope]) -> NewKey:
    key = PREFIX + base64.urlsafe_b64encode(secrets.token_bytes(32)).decode("ascii").rstrip("=")
    day = datetime.now(UTC).date().isoformat()
    record = KeyRecord(f"key_{secrets.token_hex(4)}", label, scopes, day, _sha256(key))
    return NewKey(record, key)


def _sha256(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _version_of(path: Path) -> tuple[int, ...] | None:
    """What changes whenever the file does; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_ino, found.st_size)


def _tighten(path: Path) -> None:
    """Nothing, after others may not read the file any more."""
    if os.name == "posix" and path.stat().st_mode & 0o077:
        _log.warning("keys.json could be read by others; it is its owner's alone again")
        path.chmod(_OWN)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """The lock, which ends with the process at the latest."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, _OWN)
    try:
        if sys.platform != "win32":
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _encoded(content: _Content) -> bytes:
    keys = [
        {
            "id": record.id,
            "label": record.label,
            "scopes": sorted(record.scopes),
            "made_on": record.made_on,
            "sha256": record.sha256,
        }
        for record in content.records
    ]
    return json.dumps(
        {"schema": _SCHEMA, "cookie_secret": content.secret, "keys": keys}, indent=2
    ).encode("utf-8")


def _decoded(content: bytes) -> _Content:
    """The content; anything else than what `_encoded` writes is a ValueError and the like."""
    found = json.loads(content)
    if found["schema"] != _SCHEMA or len(bytes.fromhex(found["cookie_secret"])) != 32:
        raise ValueError("another schema")
    records = tuple(
        KeyRecord(
            str(entry["id"]),
            str(entry["label"]),
            frozenset(Scope(word) for word in entry["scopes"]),
            str(entry["made_on"]),
            bytes.fromhex(entry["sha256"]).hex(),
        )
        for entry in found["keys"]
    )
    return _Content(found["cookie_secret"], records)
