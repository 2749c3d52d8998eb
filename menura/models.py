"""The model store's door: what is here, where it is, whether it is whole; bring it, take it away.

The verbs live in `menura.store`, one file each; what is installed is told here, and which tensors
a model needs is asked of its engine. Only `pull`, and `describe_pull` for a repository that the
catalogue does not know, ask a hub.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from menura.catalogue import BUILTIN, KnownModel, known_models, lookup
from menura.engines import registry
from menura.engines.contract import EngineClass, TensorShapes
from menura.errors import EngineNotInstalledError, ModelFilesError, ModelNotFoundError
from menura.store import verify as checks
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
from menura.store.verify import FileReport, VerifyProgress, VerifyReport

__all__ = [
    "FileReport", "Hub", "InstalledModel", "Phase", "PlannedFile", "PullPlan", "PullProgress",
    "ResolvedModel", "Source", "VerifyProgress", "VerifyReport", "builtin_voice_file",
    "builtin_voice_files", "describe_pull", "hub_cache", "list_installed", "path", "pull", "remove",
    "resolve", "show", "verify", "verify_steps",
]  # fmt: skip

_TENSORS = "tensors"


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
    """The sizes of all files; one folder may lie inside another."""
    files = {file for copy in copies for file in copy.folder.rglob("*")}
    return [file.stat().st_size for file in files if file.is_file()]


def path(name_or_folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Where a model is: its folders, or the file of a built-in voice.

    Raises: ModelNotFoundError: it is not here, or not whole.
    """
    found = resolve(name_or_folder)
    shown = show(name_or_folder)
    if shown.known is not None and shown.missing:
        raise ModelNotFoundError(
            f"model {shown.name!r} is not whole (missing: {', '.join(shown.missing)}). Put what is "
            f"missing there, or bring it with: menura models pull {shown.known.name}",
            param="model",
        )
    return found.folders or shown.paths


def verify(name_or_folder: str | os.PathLike[str], *, full: bool = False) -> VerifyReport:
    """The verdict on a model's files and tensors. Arguments and errors: as `verify_steps`."""
    *_, report = verify_steps(name_or_folder, full=full)
    assert isinstance(report, VerifyReport)
    return report


def verify_steps(
    name_or_folder: str | os.PathLike[str], *, full: bool = False
) -> Iterator[VerifyProgress | VerifyReport]:
    """How far the check is, again and again, and at last the verdict.

    The files are checked as `menura.store.verify` says, and that every tensor is there which the
    engine needs, with its shape. `full` hashes the files without a known digest too.

    Raises: ModelNotFoundError: nothing of the model is on this machine.
    """
    expected, remarks = _expected_tensors(name_or_folder)
    for step in checks.verify_steps(name_or_folder, full=full, expected_tensors=expected):
        if isinstance(step, VerifyReport):
            told = {problem for file in step.files for problem in file.problems}
            files: Sequence[FileReport] = step.files
            for remark in remarks:
                if remark.notes or not told.issuperset(remark.problems):
                    files = checks.with_report(files, remark)
            yield replace(step, files=tuple(files))
        else:
            yield step


def _expected_tensors(
    name_or_folder: str | os.PathLike[str],
) -> tuple[list[Mapping[str, TensorShapes]], list[FileReport]]:
    """What the engine needs in each of the model's folders, and reports that say why not."""
    found = locate(name_or_folder)
    first = found.copies[0] if found.copies else None
    if first is None:
        return [], []
    try:
        name = found.known.engine if found.known else registry.recognise(first.folder)
        engine_class = registry.engine_class(name)
    except (EngineNotInstalledError, ModelFilesError) as error:
        is_no_model = found.source is Source.FOLDER and isinstance(error, ModelFilesError)
        if is_no_model:
            return [], [FileReport(first.folder, _TENSORS, 0, (error.message,))]
        note = f"names and shapes were not compared: {error.message}"
        return [], [FileReport(first.folder, _TENSORS, 0, notes=(note,), is_checked=False)]
    expected: list[Mapping[str, TensorShapes]] = []
    remarks: list[FileReport] = []
    for copy in found.copies:
        needed, remark = _needed_tensors(engine_class, copy)
        expected.append(_without_those_of(found.copies, copy, needed))
        remarks += [remark] if remark else []
    return expected, remarks


def _needed_tensors(
    engine_class: EngineClass, copy: Copy | None
) -> tuple[Mapping[str, TensorShapes], FileReport | None]:
    """What the engine needs in one folder; where that cannot be told, the fault.

    A file that is not there is reported as such, and no fault here.
    """
    if copy is None:
        return {}, None
    try:
        return engine_class.expected_tensors(copy.folder), None
    except ModelFilesError as error:
        fault = FileReport(copy.folder, _culprit(copy.folder, error.message), 0, (error.message,))
        return {}, None if copy.missing else fault


def _culprit(folder: Path, message: str) -> str:
    """The file of the folder that the message begins with, or a name for all of the tensors."""
    names = [file.name for file in folder.iterdir() if message.startswith(f"{file}")]
    return max(names, key=len, default=_TENSORS)


def _without_those_of(
    copies: Sequence[Copy | None], copy: Copy | None, needed: Mapping[str, TensorShapes]
) -> Mapping[str, TensorShapes]:
    """What is needed in the copy, without files of another copy inside it: they are told there."""
    if copy is None:
        return needed
    inside = [c.folder for c in copies if c and c != copy and c.folder.is_relative_to(copy.folder)]
    return {
        file: shapes
        for file, shapes in needed.items()
        if not any((copy.folder / file).is_relative_to(folder) for folder in inside)
    }
