"""One file brought from a hub into the Hugging Face cache, resumably and checked.

Why not huggingface_hub's own download: since its 2025 releases it throws a partial file away when a
download fails, so gigabytes begin anew, and over plain HTTP it compares only sizes although the hub
announces a digest. Here a partial file is kept and gone on with, and nothing gets its final name
before its digest is right. What results is the cache's documented layout, so that huggingface_hub
and every program built on it find the file as if they had brought it.
"""

import os
import re
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from menura.errors import DownloadError
from menura.store.cache import hub_cache, hub_repo_folder, snapshot_folders
from menura.store.hub import RemoteFile, RemoteRepo, file_url, network_errors
from menura.store.placing import placed
from menura.store.records import FileHash

if TYPE_CHECKING:
    import httpx

_STEP_BYTES = 1 << 20
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")
_LOCK_WAIT_S = 1.0


class Phase(StrEnum):
    """What a pull is doing: bringing bytes, hashing what arrived, or done with everything."""

    DOWNLOAD = "download"
    CHECK = "check"
    DONE = "done"


@dataclass(frozen=True)
class Step:
    """How far one file is in one phase, in bytes."""

    phase: Phase
    done_bytes: int


def pointer_path(repo: RemoteRepo, file: RemoteFile) -> Path:
    """Where the file has its own name in the cache."""
    return hub_repo_folder(repo.hub_id) / "snapshots" / repo.commit / file.name


def _blob_path(repo: RemoteRepo, file: RemoteFile) -> Path:
    return hub_repo_folder(repo.hub_id) / "blobs" / file.digest


def partial_path(repo: RemoteRepo, file: RemoteFile) -> Path:
    """Where the bytes of the file lie until they are all there and right."""
    return _blob_path(repo, file).with_name(f"{file.digest}.menura.incomplete")


def content_path(repo: RemoteRepo, file: RemoteFile) -> Path:
    """Where the file's content is, or will be before it gets its name."""
    pointer = pointer_path(repo, file)
    return pointer if pointer.is_file() else _blob_path(repo, file)


def bytes_here(repo: RemoteRepo, file: RemoteFile) -> int:
    """How many of the file's bytes need not be brought any more."""
    if content_path(repo, file).is_file():
        return file.n_bytes
    return min(_size(partial_path(repo, file)), file.n_bytes)


def fetch(client: "httpx.Client", repo: RemoteRepo, file: RemoteFile) -> Iterator[Step]:
    """How far the file is, again and again; after the last step its content is here and checked.

    It has no name in the snapshot yet: see `name_files`. A file that is there already is checked,
    and brought anew only if it is damaged.

    Raises: DownloadError: the connection brings nothing more, or what came is not what the hub
        announced. A partial file is kept, to be gone on with.
    """
    if (yield from _is_sound_here(repo, file)):
        return
    blob = _blob_path(repo, file)
    blob.parent.mkdir(parents=True, exist_ok=True)
    with _sole_writer(repo, file):
        if (yield from _is_sound_here(repo, file)):  # another program brought it meanwhile
            return
        pointer_path(repo, file).unlink(missing_ok=True)
        blob.unlink(missing_ok=True)
        yield from _bring(client, repo, file)
        yield from _check(repo, file)
        partial_path(repo, file).replace(blob)


def _is_sound_here(repo: RemoteRepo, file: RemoteFile) -> Generator[Step, None, bool]:
    """Whether the file's content is here and right: its size and, if that is right, its digest."""
    here = content_path(repo, file)
    if not here.is_file() or _size(here) != file.n_bytes:
        return False
    try:
        hashing = FileHash(here, git=file.is_git_blob)
        yield from (Step(Phase.CHECK, done) for done in hashing.steps())
    except FileNotFoundError:  # another program found it damaged, and brings it anew
        return False
    return hashing.digest == file.digest


def name_files(repo: RemoteRepo, revision: str) -> None:
    """All files, whose contents are here, stand in the snapshot, which the revision now means.

    Only a whole model gets here, so none that is half brought can be found under its name.
    """
    for file in repo.files:
        pointer = pointer_path(repo, file)
        if not pointer.is_file():
            blob = _blob_path(repo, file)
            with placed(pointer) as temporary:
                if not _link(blob, temporary):
                    shutil.copyfile(blob, temporary)
    if len(snapshot_folders(hub_repo_folder(repo.hub_id))) == 1:
        _drop_copied_blobs(repo)
    if revision != repo.commit:
        _write_reference(repo, revision)


def _link(blob: Path, name: Path) -> bool:
    """Whether a link could be made; Windows and some network disks refuse it."""
    from huggingface_hub import constants  # noqa: PLC0415

    if getattr(constants, "HF_HUB_DISABLE_SYMLINKS", False):
        return False
    try:
        name.symlink_to(os.path.relpath(blob, name.parent))
    except OSError:
        return False
    return True


def _drop_copied_blobs(repo: RemoteRepo) -> None:
    """No blob lies beside a file that could not link to it, as huggingface_hub has it too."""
    for file in repo.files:
        if not pointer_path(repo, file).is_symlink():
            _blob_path(repo, file).unlink(missing_ok=True)


def _write_reference(repo: RemoteRepo, revision: str) -> None:
    path = hub_repo_folder(repo.hub_id) / "refs" / revision
    with placed(path) as temporary:
        temporary.write_text(repo.commit, "utf-8")


@contextmanager
def _sole_writer(repo: RemoteRepo, file: RemoteFile) -> Iterator[None]:
    """Holds the lock that huggingface_hub takes for the same file."""
    # Documented, but not marked as exported.
    from huggingface_hub.utils import WeakFileLock  # type: ignore[attr-defined]  # noqa: PLC0415

    lock = hub_cache() / ".locks" / hub_repo_folder(repo.hub_id).name / f"{file.digest}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    try:
        with WeakFileLock(lock, timeout=_LOCK_WAIT_S):
            yield
    except TimeoutError as error:
        raise DownloadError(
            f"another program is bringing {file.name} of {repo.hub_id} right now. Wait until it "
            "is done, then run the same command again."
        ) from error


def _bring(client: "httpx.Client", repo: RemoteRepo, file: RemoteFile) -> Iterator[Step]:
    """Steps until the partial file has all its bytes.

    A cut connection is followed by another that asks for the rest, as long as each brings some.
    """
    import httpx  # noqa: PLC0415

    partial = partial_path(repo, file)
    if _size(partial) > file.n_bytes:
        partial.unlink()
    partial.touch()
    while (before := _size(partial)) < file.n_bytes:
        with network_errors(repo.hub_id):
            try:
                for done in _append(client, file_url(repo, file), partial, file):
                    yield Step(Phase.DOWNLOAD, done)
            except httpx.TransportError:
                if _size(partial) <= before:
                    raise
        if _size(partial) <= before:
            raise DownloadError(
                f"the hub closed the connection before {file.name} of {repo.hub_id} was whole. "
                "What had arrived is kept: run the same command again."
            )


def _append(client: "httpx.Client", url: str, partial: Path, file: RemoteFile) -> Iterator[int]:
    """The partial file's size, every megabyte or so that one request adds to it."""
    have = _size(partial)
    headers = {"Range": f"bytes={have}-"} if have else {}
    with client.stream("GET", url, headers=headers) as answer:
        answer.raise_for_status()
        if answer.status_code != 206:
            have = 0  # the server sends the file from its beginning
        elif not _continues(answer.headers.get("Content-Range", ""), have, file.n_bytes):
            raise _not_as_announced(file, "its size changed")
        with partial.open("r+b") as out:
            out.truncate(have)
            out.seek(have)
            told = have
            for piece in answer.iter_raw():  # as they arrive, so that a cut loses none of them
                have += len(piece)
                if have > file.n_bytes:
                    raise _not_as_announced(file, f"more than {file.n_bytes:,} bytes came")
                out.write(piece)
                if have - told >= _STEP_BYTES:
                    told = have
                    yield have
            yield have
            out.flush()
            os.fsync(out.fileno())


def _continues(content_range: str, have: int, n_bytes: int) -> bool:
    found = _CONTENT_RANGE.fullmatch(content_range)
    return found is not None and (int(found[1]), int(found[2])) == (have, n_bytes)


def _check(repo: RemoteRepo, file: RemoteFile) -> Iterator[Step]:
    partial = partial_path(repo, file)
    hashing = FileHash(partial, git=file.is_git_blob)
    yield from (Step(Phase.CHECK, done) for done in hashing.steps())
    if hashing.digest != file.digest:
        partial.unlink()
        raise _not_as_announced(file, "its digest differs")


def _not_as_announced(file: RemoteFile, why: str) -> DownloadError:
    return DownloadError(
        f"{file.name} is not what the hub announced: {why}. Nothing of it is used. Run the same "
        "command again; if it fails again, the hub or mirror (HF_ENDPOINT) serves a wrong file."
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
