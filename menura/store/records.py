"""What was pulled: the SHA-256 of every file, written down when it arrived, for a later `verify`.

One JSON file for each repository and revision, in Menura's own cache folder, never in a hub's
cache. A record that cannot be read is no record: `verify` then says that no SHA-256 is known.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

from menura.settings import folders
from menura.store.cache import Hub
from menura.store.placing import disk_errors, placed

_CHUNK_BYTES = 1 << 23
_SCHEMA = 1


@dataclass(frozen=True)
class FileRecord:
    """One file as it was when it arrived."""

    n_bytes: int
    sha256: str


@dataclass(frozen=True)
class PullRecord:
    """One repository at one revision as it was pulled."""

    hub: Hub
    hub_id: str
    revision: str
    files: Mapping[str, FileRecord]


class FileHash:
    """The digest of one file, read step by step: its SHA-256, or as `git` names it (SHA-1)."""

    def __init__(self, path: Path, *, git: bool = False) -> None:
        self._path = path
        self._hash = hashlib.sha256()
        if git:
            prefix = b"blob %d\0" % path.stat().st_size
            self._hash = hashlib.sha1(prefix, usedforsecurity=False)

    def steps(self) -> Iterator[int]:
        """The bytes read so far, again and again until all are."""
        done = 0
        with self._path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                self._hash.update(chunk)
                done += len(chunk)
                yield done

    @property
    def digest(self) -> str:
        """The digest in hex, of what was read."""
        return self._hash.hexdigest()


def sha256_of(path: Path) -> str:
    """The file's SHA-256 in hex, at once."""
    hashing = FileHash(path)
    for _ in hashing.steps():
        pass
    return hashing.digest


def read_record(hub: Hub, hub_id: str, revision: str) -> PullRecord | None:
    """What was recorded when this revision was pulled, or None."""
    try:
        found: object = json.loads(_record_path(hub, hub_id, revision).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("schema") != _SCHEMA:
        return None
    files = _files(found.get("files"))
    return None if files is None else PullRecord(hub, hub_id, revision, files)


def _files(found: object) -> Mapping[str, FileRecord] | None:
    if not isinstance(found, dict):
        return None
    files: dict[str, FileRecord] = {}
    for name, entry in found.items():
        if not isinstance(entry, dict):
            return None
        n_bytes, sha256 = entry.get("n_bytes"), entry.get("sha256")
        if not isinstance(n_bytes, int) or not isinstance(sha256, str):
            return None
        files[str(name)] = FileRecord(n_bytes, sha256)
    return files


def write_record(record: PullRecord) -> Path:
    """The path of the record, written whole or not at all.

    Raises: DiskFullError, DownloadError: the disk refuses it; the message names the folder.
    """
    path = _record_path(record.hub, record.hub_id, record.revision)
    content = {
        "schema": _SCHEMA,
        "repository": record.hub_id,
        "revision": record.revision,
        "files": {name: asdict(file) for name, file in sorted(record.files.items())},
    }
    with (
        disk_errors(path.parent, "MENURA_HOME"),
        placed(path) as temporary,
        temporary.open("w", encoding="utf-8") as file,
    ):
        json.dump(content, file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    return path


def forget_records(hub: Hub, hub_id: str) -> None:
    """Nothing is recorded of this repository any more."""
    shutil.rmtree(_repo_records(hub, hub_id), ignore_errors=True)


def _repo_records(hub: Hub, hub_id: str) -> Path:
    return folders().cache / "pulled" / f"{hub}--{hub_id.replace('/', '--')}"


def _record_path(hub: Hub, hub_id: str, revision: str) -> Path:
    # A revision may be a branch such as refs/pr/1: it must stay one plain file name.
    return _repo_records(hub, hub_id) / f"{quote(revision or 'current', safe='')}.json"
