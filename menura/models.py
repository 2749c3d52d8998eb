"""The model store's door: what is here, where it is, whether it is whole; bring it, take it away.

The verbs live in `menura.store`, one file each; what is installed is told here. Only `pull`, and
`describe_pull` for a repository that the catalogue does not know, ask a hub.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from menura.catalogue import BUILTIN, KnownModel, known_models, lookup
from menura.errors import ModelNotFoundError
from menura.store.cache import Copy, Hub, hub_cache
from menura.store.fetch import Phase
from menura.store.pull import PlannedFile, PullPlan, PullProgress, describe_pull, pull
from menura.store.remove import remove
from menura.store.resolve import (
    PACKAGED_VOICE,
    ResolvedModel,
    Source,
    builtin_voice_file,
    builtin_voice_files,
    locate,
    resolve,
)
from menura.store.verify import FileReport, VerifyProgress, VerifyReport, verify, verify_steps

__all__ = [
    "FileReport", "Hub", "InstalledModel", "Phase", "PlannedFile", "PullPlan", "PullProgress",
    "ResolvedModel", "Source", "VerifyProgress", "VerifyReport", "builtin_voice_file",
    "builtin_voice_files", "describe_pull", "hub_cache", "list_installed", "path", "pull", "remove",
    "resolve", "show", "verify", "verify_steps",
]  # fmt: skip


@dataclass(frozen=True)
class InstalledModel:
    """What is here of a model: its folders or file, their size in bytes, and what is missing."""

    name: str
    known: KnownModel | None
    source: Source
    paths: tuple[Path, ...]
    n_bytes: int
    missing: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Whether all of it is here."""
        return bool(self.paths) and not self.missing


def list_installed() -> list[InstalledModel]:
    """The known models that are on this machine, whole or partly, in the catalogue's order."""
    return [found for model in known_models() if (found := show(model.name)).paths]


def show(name_or_folder: str | os.PathLike[str]) -> InstalledModel:
    """What is here of one model; of a known model possibly nothing.

    Raises: ModelNotFoundError: the catalogue does not know it, and it is not here.
    """
    known = lookup(os.fspath(name_or_folder))
    if known is not None and known.engine == BUILTIN:
        return _show_voice(known)
    try:
        found = locate(name_or_folder)
    except ModelNotFoundError:
        if known is None:
            raise
        missing = tuple(repo.hub_id for repo in known.repos)
        return InstalledModel(known.name, known, Source.CACHE, (), 0, missing)
    copies = [copy for copy in found.copies if copy is not None]
    return InstalledModel(
        name=found.name,
        known=found.known,
        source=found.source,
        paths=tuple(copy.folder for copy in copies),
        n_bytes=sum(_folder_bytes(copies)),
        missing=found.missing,
    )


def _show_voice(known: KnownModel) -> InstalledModel:
    file = builtin_voice_file(known.name if known.repos else PACKAGED_VOICE)
    if file is None:
        missing = tuple(file.name for repo in known.repos for file in repo.files)
        return InstalledModel(known.name, known, Source.BUILTIN, (), 0, missing)
    return InstalledModel(known.name, known, Source.BUILTIN, (file,), file.stat().st_size, ())


def _folder_bytes(copies: Iterable[Copy]) -> list[int]:
    files = (file for copy in copies for file in copy.folder.rglob("*"))
    return [file.stat().st_size for file in files if file.is_file()]


def path(name_or_folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Where a model is: its folders, or the file of a built-in voice.

    Raises: ModelNotFoundError: it is not here, or not whole.
    """
    found = resolve(name_or_folder)
    return found.folders or show(name_or_folder).paths
