"""A name, a hub id or a folder becomes the folders of a model on this machine. Never a download.

A word of the catalogue means the catalogue. Any other text that is an existing folder means that
folder. The rest is looked up in the caches, where only folders are read: nothing here can reach the
network. What is not there, or only partly, is an error that names the command that brings it.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from menura.catalogue import (
    BUILTIN,
    ECHO,
    PACKAGED_FILE,
    KnownModel,
    Repo,
    known_models,
    lookup,
    suggest,
)
from menura.errors import ModelNotFoundError
from menura.store.cache import (
    Copy,
    builtin_assets,
    find_copy,
    hibari_cache,
    hub_repo_folder,
    identify,
    snapshot_folders,
)
from menura.store.records import sha256_of

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
PACKAGED_VOICE = "heart"


class Source(StrEnum):
    """Where a model was found: a folder of the user's, a hub's cache, or inside the package."""

    FOLDER = "folder"
    CACHE = "cache"
    BUILTIN = "builtin"


@dataclass(frozen=True)
class ResolvedModel:
    """A model that is on this machine: one folder for each of its repositories, none if built in.

    `known` is the catalogue's entry, or the one that a folder looks like a variant of.
    `arguments` are what its engine must be told beside the first folder. A user's own folder may
    lack a further one: then the engine asks for it.
    """

    name: str
    source: Source
    folders: tuple[Path, ...]
    known: KnownModel | None
    arguments: Mapping[str, object]

    @property
    def folder(self) -> Path | None:
        """The folder that holds the model itself, None for the built-in voice."""
        return self.folders[0] if self.folders else None


def is_hub_id(name: str) -> bool:
    """Whether the text has the form ORG/NAME."""
    return _HUB_ID.fullmatch(name) is not None


@dataclass(frozen=True)
class Located:
    """Where a model is, whole or not: a copy for each of its repositories, or None."""

    name: str
    source: Source
    known: KnownModel | None
    copies: tuple[Copy | None, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """The needed files that are not there, and the ids of repositories of which nothing is."""
        repos = self.known.repos if self.known else ()
        absent = [r.hub_id for r, c in zip(repos, self.copies, strict=False) if c is None]
        return (*(name for copy in self.copies if copy for name in copy.missing), *absent)


def resolve(name_or_folder: str | os.PathLike[str]) -> ResolvedModel:
    """Where the model is. It only looks at folders and downloads nothing.

    Raises: ModelNotFoundError: it is not on this machine, or not whole; the message names the
        command that brings it, or the closest known name.
    """
    found = locate(name_or_folder)
    if found.source is Source.CACHE and found.missing:
        raise _not_here(found)
    folders = tuple(copy.folder for copy in found.copies if copy is not None)
    arguments: dict[str, object] = {}
    if found.source is Source.BUILTIN:
        arguments["voice_files"] = builtin_voice_files()
        if found.name != BUILTIN:
            arguments["default_voice"] = found.name.removeprefix(f"{BUILTIN}-")
    if found.known == ECHO and found.copies[1:] and (codec := found.copies[1]) is not None:
        arguments["autoencoder"] = codec.folder
    return ResolvedModel(found.name, found.source, folders, found.known, arguments)


def locate(name_or_folder: str | os.PathLike[str]) -> Located:
    """As `resolve`, but a model that is only partly in a cache is no error."""
    name = os.fspath(name_or_folder)
    known = lookup(name) if isinstance(name_or_folder, str) else None
    if known is None or "/" in name:
        folder = _existing_folder(name)
        if folder is not None:
            return _in_folder(folder)
    if known is None:
        copy = find_copy(Repo(name, ())) if is_hub_id(name) else None
        if copy is None:
            raise _unknown(name)
        return Located(name, Source.CACHE, identify(copy.folder), (copy,))
    if known.engine == BUILTIN:
        found = Located(known.name, Source.BUILTIN, known, ())
        is_here = not known.repos or builtin_voice_file(known.name) is not None
    else:
        copies = tuple(find_copy(repo) for repo in known.repos)
        found = Located(known.name, Source.CACHE, known, copies)
        is_here = any(copies)
    if not is_here:
        raise _not_here(found)
    return found


def _existing_folder(name: str) -> Path | None:
    if not name:  # a Path of nothing would be the current folder
        return None
    try:
        folder = Path(name).expanduser()
        return folder.resolve() if folder.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # too long, a NUL, or an unknown ~user
        return None


def _folder_of_file(name: str) -> Path | None:
    try:
        file = Path(name).expanduser()
        return file.resolve().parent if file.is_file() else None
    except (OSError, RuntimeError, ValueError):  # as above
        return None


def _in_folder(folder: Path) -> Located:
    """A user's folder; a repository folder of the hub's cache stands for its newest snapshot."""
    if folder.name.startswith("models--"):
        snapshots = snapshot_folders(folder)
        folder = snapshots[0] if snapshots else folder
    model, codec = ECHO.repos
    if (folder / model.short_id).is_dir():
        folder = folder / model.short_id
    known = identify(folder)
    copies: list[Copy | None] = [Copy(known.repos[0] if known else Repo("", ()), folder)]
    if known == ECHO:
        copies.append(_echo_codec(folder, codec))
    return Located(str(folder), Source.FOLDER, known, tuple(copies))


def _echo_codec(folder: Path, codec: Repo) -> Copy | None:
    """The copy of Echo's codec: inside or beside the model's folder, else in a cache.

    A whole copy comes first. None where there is nothing: its user may still say where it is.
    """
    beside = [Copy(codec, parent / codec.short_id) for parent in (folder, folder.parent)]
    copies = [copy for copy in (*beside, find_copy(codec)) if copy and copy.folder.is_dir()]
    return min(copies, key=lambda copy: len(copy.missing), default=None)


def _not_here(found: Located) -> ModelNotFoundError:
    known = found.known
    assert known is not None
    where = "not on this machine"
    if any(found.copies):
        where = f"only partly on this machine (missing: {', '.join(found.missing)})"
    return ModelNotFoundError(
        f"model {known.name!r} is {where}. Bring it with: menura models pull {known.name} "
        f"({known.download_bytes / 1e9:.2g} GB, licence {known.licence})",
        param="model",
    )


def _unknown(name: str) -> ModelNotFoundError:
    if (folder := _folder_of_file(name)) is not None:
        return ModelNotFoundError(
            f"model {name!r} is a file, and a model is a folder: give {str(folder)!r}.",
            param="model",
        )
    if is_hub_id(name):
        return ModelNotFoundError(
            f"model {name!r} is not on this machine. If the hub has it, bring it with: "
            f"menura models pull {name}{suggest(name)}",
            param="model",
        )
    if "://" in name:
        advice = "is an address; give the hub id ORG/NAME instead"
    elif any(mark in name for mark in ("/", "\\")) or name.startswith(("~", ".")):
        advice = "looks like a folder, but there is no such folder"
    else:
        advice = "is not a known model; `menura models list` shows them"
    return ModelNotFoundError(f"model {name[:200]!r} {advice}.{suggest(name[:200])}", param="model")


def builtin_voice_file(name: str) -> Path | None:
    """The file of a built-in voice (`emma` or `builtin-emma`) if it is here and whole, or None."""
    voice = name.removeprefix(f"{BUILTIN}-")
    if voice == PACKAGED_VOICE:
        assets = builtin_assets()
        packaged = assets and assets / PACKAGED_FILE.name
        return packaged if packaged and packaged.is_file() else None
    known = lookup(f"{BUILTIN}-{voice}")
    if known is None:
        return None
    file = known.repos[0].files[0]
    for snapshot in snapshot_folders(hub_repo_folder(known.repos[0].hub_id)):
        # It stands under this name only if its digest was right when it arrived.
        pulled = snapshot / file.name
        if pulled.is_file() and pulled.stat().st_size == file.n_bytes:
            return pulled
    own = hibari_cache() / Path(file.name).name
    return own if own.is_file() and sha256_of(own) == file.sha256 else None


def builtin_voice_files() -> dict[str, Path]:
    """The files of the further built-in voices that are on this machine, by the voice's name."""
    further = (model for model in known_models() if model.engine == BUILTIN and model.repos)
    names = [model.name.removeprefix(f"{BUILTIN}-") for model in further]
    found = {name: builtin_voice_file(name) for name in names}
    return {name: file for name, file in found.items() if file is not None}
