"""A model is brought to this machine: planned, weighed against the disk, fetched, written down.

`pull` is the only function of Menura that downloads a model, and only a person's explicit wish
calls it. It is a generator: nothing happens before its first `next`, closing it stops the transfer,
and a later call goes on where it stopped.
"""

import re
import shutil
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from menura.catalogue import ExpectedFile, KnownModel, Repo, lookup, suggest
from menura.errors import (
    DiskFullError,
    DownloadError,
    InvalidValueError,
    ModelNotFoundError,
    UnsupportedError,
    did_you_mean,
)
from menura.store import modelscope
from menura.store.cache import Hub, hub_cache
from menura.store.fetch import Phase, bytes_here, content_path, fetch, name_files
from menura.store.hub import RemoteRepo, hub_client, list_repo, refuse_when_offline
from menura.store.placing import disk_errors
from menura.store.records import FileRecord, PullRecord, read_record, sha256_of, write_record
from menura.store.resolve import is_hub_id

if TYPE_CHECKING:
    import httpx

_REVISION = re.compile(r"\w[\w-]*([./]\w[\w-]*)*", re.ASCII)  # it becomes a file name below `refs`
# What an unknown repository is searched for: weights that cannot run code, and their settings.
_WANTED_ENDINGS = {".safetensors", ".json", ".txt", ".model"}
_DEFAULT_REVISION = "main"


@dataclass(frozen=True)
class PlannedFile:
    """One file that a pull would bring, with its size in bytes."""

    hub_id: str
    name: str
    n_bytes: int


@dataclass(frozen=True)
class PullPlan:
    """What a pull would do: shown to the user before anything is brought."""

    name: str
    known: KnownModel | None
    hub: Hub
    files: tuple[PlannedFile, ...]
    is_approximate: bool
    licence: str
    target: Path
    free_bytes: int

    @property
    def total_bytes(self) -> int:
        """The size of all files together."""
        return sum(file.n_bytes for file in self.files)


@dataclass(frozen=True)
class PullProgress:
    """How far a pull is: the current file in its phase, and the bytes of the whole pull so far."""

    phase: Phase
    file: str
    file_done_bytes: int
    file_bytes: int
    done_bytes: int
    total_bytes: int


def describe_pull(
    name: str, *, source: str = Hub.HUGGINGFACE, revision: str | None = None
) -> PullPlan:
    """What `pull` with these arguments would bring. Asks the hub only about unknown repositories.

    Raises: as `pull`, of which it brings nothing.
    """
    wish = _wish(name, source, revision)
    if wish.known is None:
        refuse_when_offline(name)
        with hub_client() as client:
            remote = _remote(client, wish.repos[0], wish.revision)
        licence = remote.licence or "not stated"
        files = [PlannedFile(remote.hub_id, file.name, file.n_bytes) for file in remote.files]
    else:
        licence = wish.known.licence
        files = [
            PlannedFile(repo.hub_id, file.name, file.likely_bytes)
            for repo in wish.repos
            for file in repo.files
        ]
    target = hub_cache() if wish.hub is Hub.HUGGINGFACE else modelscope.cache_root()
    return PullPlan(
        name=wish.name,
        known=wish.known,
        hub=wish.hub,
        files=tuple(files),
        is_approximate=wish.known is not None and wish.known.is_approximate,
        licence=licence,
        target=target,
        free_bytes=_free_bytes(target),
    )


def pull(
    name: str, *, source: str = Hub.HUGGINGFACE, revision: str | None = None
) -> Generator[PullProgress, None, None]:
    """How far the pull is, again and again; after the last one the model is there and recorded.

    Raises: ModelNotFoundError: no such name. InvalidValueError: source, revision, or a model that
        needs no pull. DownloadError: offline, the network, the hub, or not what was announced.
        DiskFullError. EngineNotInstalledError: the package `modelscope` is missing.
    """
    wish = _wish(name, source, revision)
    if wish.hub is Hub.MODELSCOPE:
        yield from _from_modelscope(wish, revision)
    else:
        yield from _from_huggingface(wish)


@dataclass(frozen=True)
class _Wish:
    """A pull's checked arguments."""

    name: str
    known: KnownModel | None
    repos: tuple[Repo, ...]
    hub: Hub
    revision: str


def _wish(name: str, source: str, revision: str | None) -> _Wish:
    hubs = [hub.value for hub in Hub]
    if source not in hubs:
        raise InvalidValueError(
            f"source {source!r} is not one of {', '.join(hubs)}.{did_you_mean(source, hubs)}",
            param="source",
        )
    if revision is not None and not _REVISION.fullmatch(revision):
        raise InvalidValueError(
            f"revision {revision!r} is not the name of a branch, a tag or a commit.",
            param="revision",
        )
    hub, known = Hub(source), lookup(name)
    if known is not None and not known.repos:
        raise InvalidValueError(
            f"model {known.name!r} is part of Menura and needs no pull.", param="name"
        )
    if known is None and not is_hub_id(name):
        raise ModelNotFoundError(
            f"model {name!r} is neither a known name (`menura models list` shows them) nor a hub "
            f"id like ORG/NAME.{suggest(name)}",
            param="name",
        )
    repos = known.repos if known else (Repo(name, ()),)
    if hub is Hub.MODELSCOPE and not all(repo.modelscope_id for repo in repos):
        raise UnsupportedError(
            f"model {name!r} is not known to be on ModelScope. Pull it without --source.",
            param="source",
        )
    return _Wish(known.name if known else name, known, repos, hub, revision or _DEFAULT_REVISION)


def _remote(client: "httpx.Client", repo: Repo, revision: str) -> RemoteRepo:
    """What the hub has of the files needed; all of them, or an error."""
    remote = list_repo(client, repo.hub_id, revision)
    if not repo.files:
        wanted = [f for f in remote.files if PurePosixPath(f.name).suffix in _WANTED_ENDINGS]
        if not any(file.name.endswith(".safetensors") for file in wanted):
            raise UnsupportedError(
                f"{repo.hub_id} has no safetensors file, and Menura reads no other weights.",
                param="name",
            )
        return replace(remote, files=tuple(wanted))
    offered = {file.name: file for file in remote.files}
    for file in repo.files:
        if file.name not in offered:
            raise DownloadError(
                f"{repo.hub_id} at {revision} has no {file.name}. Its publisher changed it: "
                "use a newer Menura, or name an older commit as --revision."
            )
        if file.sha256 is not None and offered[file.name].digest != file.sha256:
            raise DownloadError(
                f"{file.name} of {repo.hub_id} at {revision} is not the file that this Menura was "
                f"made for (SHA-256 {offered[file.name].digest}, expected {file.sha256})."
            )
    return replace(remote, files=tuple(offered[file.name] for file in repo.files))


def _from_huggingface(wish: _Wish) -> Iterator[PullProgress]:
    refuse_when_offline(wish.name)
    with hub_client() as client, disk_errors(hub_cache(), "HF_HUB_CACHE"):
        remotes = [_remote(client, repo, wish.revision) for repo in wish.repos]
        everything = [(remote, file) for remote in remotes for file in remote.files]
        total_bytes = sum(file.n_bytes for _, file in everything)
        here = sum(bytes_here(remote, file) for remote, file in everything)
        _check_room(wish.name, total_bytes - here, hub_cache())
        done_bytes = 0
        for remote in remotes:
            for progress in _bring_repo(client, remote):
                so_far = done_bytes + progress.done_bytes
                yield replace(progress, done_bytes=so_far, total_bytes=total_bytes)
            name_files(remote, wish.revision)
            done_bytes += sum(file.n_bytes for file in remote.files)
    yield PullProgress(Phase.DONE, "", 0, 0, total_bytes, total_bytes)


def _check_room(name: str, needed: int, folder: Path) -> None:
    free = _free_bytes(folder)
    if needed > free:
        raise DiskFullError(
            f"model {name!r} needs {needed:,} more bytes, and {folder} has {free:,} free. Make "
            "room, or put the cache on a larger disk (HF_HUB_CACHE, or MODELSCOPE_CACHE)."
        )


def _free_bytes(folder: Path) -> int:
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _bring_repo(client: "httpx.Client", remote: RemoteRepo) -> Iterator[PullProgress]:
    """One repository's progress in its own bytes; what is here is checked anew, all is recorded."""
    brought: dict[str, FileRecord] = {}
    done_bytes = 0
    for file in remote.files:
        so_far = 0
        for step in fetch(client, remote, file):
            is_check = step.phase is Phase.CHECK  # of what arrived, or of what was here
            so_far = max(so_far, step.done_bytes) if is_check else step.done_bytes
            yield PullProgress(
                phase=step.phase,
                file=file.name,
                file_done_bytes=step.done_bytes,
                file_bytes=file.n_bytes,
                done_bytes=done_bytes + so_far,
                total_bytes=0,
            )
        sha256 = sha256_of(content_path(remote, file)) if file.is_git_blob else file.digest
        brought[file.name] = FileRecord(file.n_bytes, sha256)
        done_bytes += file.n_bytes
    # One repository can hold several models, and each pull brings only its own files.
    record = read_record(Hub.HUGGINGFACE, remote.hub_id, remote.commit)
    recorded = {**(record.files if record else {}), **brought}
    write_record(PullRecord(Hub.HUGGINGFACE, remote.hub_id, remote.commit, recorded))


def _from_modelscope(wish: _Wish, revision: str | None) -> Iterator[PullProgress]:
    """The package `modelscope` resumes by itself; progress is shown, and checked, file by file."""
    total_bytes = sum(file.likely_bytes for repo in wish.repos for file in repo.files)
    folders = [f for repo in wish.repos for f in modelscope.cached_folders(_modelscope_id(repo))]
    if not folders:  # else some of it is here, and how much only the package knows
        _check_room(wish.name, total_bytes, modelscope.cache_root())
    done_bytes = 0
    with disk_errors(modelscope.cache_root(), "MODELSCOPE_CACHE"):
        for repo in wish.repos:
            recorded: dict[str, FileRecord] = {}
            for file in repo.files:
                size = file.likely_bytes
                yield PullProgress(Phase.DOWNLOAD, file.name, 0, size, done_bytes, total_bytes)
                recorded[file.name] = _bring_checked(repo, file, revision)
                done_bytes += size
                yield PullProgress(Phase.CHECK, file.name, size, size, done_bytes, total_bytes)
            write_record(PullRecord(Hub.MODELSCOPE, repo.hub_id, "", recorded))
    yield PullProgress(Phase.DONE, "", 0, 0, total_bytes, total_bytes)


def _bring_checked(repo: Repo, file: ExpectedFile, revision: str | None) -> FileRecord:
    """The file as it is now in ModelScope's cache, if it is the one that the catalogue knows.

    A revision asked for by name may have other sizes. Nothing is removed: the cache is not ours.
    """
    path = modelscope.bring(_modelscope_id(repo), file.name, revision)
    found = FileRecord(path.stat().st_size, sha256_of(path))
    expected = file if revision is None else ExpectedFile(file.name, sha256=file.sha256)
    if difference := expected.difference(found.n_bytes, found.sha256):
        raise DownloadError(
            f"{file.name} of {repo.hub_id} from ModelScope is not the file that this Menura was "
            f"made for: {difference}. It was left at {path}: delete it and run the same command "
            "again; if it fails again, pull without --source."
        )
    return found


def _modelscope_id(repo: Repo) -> str:
    assert repo.modelscope_id is not None  # `_wish` refuses the others
    return repo.modelscope_id
