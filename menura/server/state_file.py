"""Where the user's own server is: a file in `state/` that nobody else can read.

`menura serve` writes it when it listens and holds a lock on it for as long as it lives, so that a
file that outlived its server is known as such: text goes to no stranger on the same port. `menura
say` finds the server through it. The key in it is made for this run and dies with it.
"""

import json
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from menura import __version__
from menura.errors import OutputError
from menura.models import hub_cache
from menura.settings import Settings, folders

if sys.platform != "win32":
    import fcntl

NAME = "server.json"
# Settings that change neither what a model says nor how it runs: the mark is made by who writes
# the file, and the model is named in each request.
_NOT_OF_SPEECH = ("default_model", "mark")
_WISHES = ("device", "precision")
_KINDS = {
    "address": str, "key": str, "models": dict, "settings": dict, "max_characters": int,
    "version": str, "pid": int,
}  # fmt: skip
_MAX_BYTES = 256 * 1024
# A link, or a pipe that would block, is no file of ours.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_OWN = 0o600
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class ServerState:
    """What another process of the same user must know to speak through the server.

    `models`: the names that it gives to the models of its start, each with its folder.
    `settings`: those that its speech depends on. `max_characters`: the longest text that it takes.
    """

    address: str
    key: str = field(repr=False)
    models: Mapping[str, str]
    settings: Mapping[str, object]
    max_characters: int
    version: str = __version__
    pid: int = field(default_factory=os.getpid)


@dataclass(frozen=True)
class Unusable:
    """Why no server is used; an empty reason means that there is none."""

    reason: str = ""


def speech_settings(chosen: Settings) -> dict[str, object]:
    """The settings that make speech what it is; two processes with equal ones speak alike."""
    given = chosen.as_given()
    kept = {name: value for name, value in given.items() if name not in _NOT_OF_SPEECH}
    # A wish from the settings may be passed over by a model that cannot heed it; a flag may not.
    insisted = [n for n in _WISHES if chosen.sources.get(n) == "flag" and given[n] != "auto"]
    return kept | {"insisted_on": insisted, "hub_cache": str(hub_cache())}


@contextmanager
def published(state: ServerState) -> Iterator[Path | None]:
    """The file's path while the server lives; afterwards it is gone.

    None where another server of the user's runs already: it stays the one that is found.

    Raises: OutputError: it cannot be written.
    """
    path = folders().state / NAME
    if _is_taken(path):
        yield None
        return
    try:
        descriptor = _write(path, json.dumps(asdict(state)).encode())
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"{str(path)!r} cannot be written: {reason}.") from error
    try:
        yield path
    finally:
        with suppress(OSError):
            if path.stat().st_ino == os.fstat(descriptor).st_ino:
                path.unlink()
        os.close(descriptor)


def find() -> ServerState | Unusable:
    """The user's running server of this version, or why there is none to use."""
    path = folders().state / NAME
    try:
        descriptor = os.open(path, os.O_RDONLY | _NO_LINK)
    except FileNotFoundError:
        return Unusable()
    except OSError as error:
        return Unusable(f"{path} cannot be read: {error.strerror}")
    with open(descriptor, "rb") as file:  # noqa: PTH123 - of a descriptor
        fault = _ownership_fault(os.fstat(descriptor))
        if not fault and not _is_held(descriptor):
            fault = "was left by a server that has ended"
        return Unusable(f"{path} {fault}") if fault else _read(file.read(_MAX_BYTES), path)


def _is_taken(path: Path) -> bool:
    """Whether a server that lives has its file there."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _NO_LINK)
    except OSError:
        return False
    try:
        return sys.platform != "win32" and _is_held(descriptor)
    finally:
        os.close(descriptor)


def _write(path: Path, content: bytes) -> int:
    """The open descriptor of the new file, which holds the lock."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".menura-{os.urandom(8).hex()}.part")
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, _OWN)
    try:
        os.write(descriptor, content)
        _hold(descriptor)
        temporary.replace(path)
    except BaseException:
        os.close(descriptor)
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    return descriptor


def _ownership_fault(found: os.stat_result) -> str:
    """What is wrong with who may write or read the file, in words; empty if nothing is."""
    if not stat.S_ISREG(found.st_mode):
        return "is not a file"
    if sys.platform == "win32":  # its files have no such modes; the folder is the user's own
        return ""
    if found.st_uid != os.geteuid():
        return "belongs to another user"
    if found.st_mode & _OTHERS:
        return f"can be read by others (mode {stat.S_IMODE(found.st_mode):o}, and 600 is needed)"
    return ""


def _hold(descriptor: int) -> None:
    if sys.platform != "win32":
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_held(descriptor: int) -> bool:
    """Whether the process that wrote the file still lives."""
    if sys.platform == "win32":
        return True  # whoever connects will see
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _read(content: bytes, path: Path) -> ServerState | Unusable:
    """The state that the bytes hold, where they hold one of this version."""
    try:
        record = json.loads(content)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        return Unusable(f"{path} does not say where a server is")
    version = record.get("version")
    if version != __version__:
        return Unusable(f"the server is Menura {version}, and this is {__version__}")
    kinds = {name: type(value) for name, value in record.items()}
    if kinds != _KINDS:
        return Unusable(f"{path} does not say where a server is")
    return ServerState(**record)
