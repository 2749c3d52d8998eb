"""Whether a model's files are whole: present, sound, of the right size and with the right digest.

A file's digest is compared with the strongest thing known of it, in this order: the catalogue's
SHA-256; what was recorded when Menura pulled it; the digest by which the hub's cache names its
content; the first digits of a SHA-256. Where nothing is known the report says so. A size in
the catalogue is that of one publication: in a user's own folder, which may hold a variant, or
beside a digest that is right, another size is a remark and no fault.

Of weights without any digest, this alone is sure: each header and index is sound and agrees with
the size of its file. Which tensors a model needs, and of which shapes, its engine must say:
`menura.models` asks it.
"""

import os
import re
from collections.abc import Generator, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from menura.catalogue import PACKAGED_FILE, ExpectedFile
from menura.errors import ModelFilesError
from menura.store.cache import Copy
from menura.store.records import FileHash, FileRecord, read_record
from menura.store.resolve import PACKAGED_VOICE, Located, Source, builtin_voice_file, locate
from menura.store.tensors import (
    INDEX_ENDING,
    Shapes,
    compare_tensors,
    header_problem,
    index_problem,
    shard_names,
)

_MISSING = "the file is missing"
_NOT_PACKAGED = f"{_MISSING}: install the package hibari-tts again"
_DIGEST = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True)
class FileReport:
    """One file: what is wrong with it, and what is worth knowing. `sha256` is empty if unhashed.

    `is_checked` is False for what could not be compared at all: that is neither good nor wrong.
    """

    folder: Path
    name: str
    n_bytes: int
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sha256: str = ""
    is_checked: bool = True


@dataclass(frozen=True)
class VerifyReport:
    """The verdict on a model, file by file."""

    name: str
    files: tuple[FileReport, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not any(file.problems for file in self.files)


@dataclass(frozen=True)
class VerifyProgress:
    """How many bytes of the current file have been hashed."""

    file: str
    done_bytes: int
    file_bytes: int


@dataclass(frozen=True)
class _Digest:
    """A digest to compare with, and who said so; `is_whole` is False for first digits only."""

    digest: str
    whence: str
    is_whole: bool = True

    @property
    def is_git_blob(self) -> bool:
        return len(self.digest) == 40


def verify(
    name_or_folder: str | os.PathLike[str],
    *,
    full: bool = False,
    expected_tensors: Sequence[Mapping[str, Shapes]] | None = None,
) -> VerifyReport:
    """The verdict on a model: files, sizes, headers, digests. Arguments, errors: `verify_steps`."""
    report: VerifyReport | None = None
    for step in verify_steps(name_or_folder, full=full, expected_tensors=expected_tensors):
        report = step if isinstance(step, VerifyReport) else report
    assert report is not None
    return report


def verify_steps(
    name_or_folder: str | os.PathLike[str],
    *,
    full: bool = False,
    expected_tensors: Sequence[Mapping[str, Shapes]] | None = None,
) -> Iterator[VerifyProgress | VerifyReport]:
    """How far the check is, again and again, and at last the verdict.

    Headers and sizes are always checked, digests where one is known. `full` hashes the other files
    too, to show their SHA-256. The names and shapes of tensors are compared only with
    `expected_tensors`: for each of the model's folders, weights file -> tensor name -> shape, as
    its engine states them.

    Raises: ModelNotFoundError: nothing of the model is on this machine.
    """
    found = locate(name_or_folder)
    reports: list[FileReport] = []
    for file in _subjects(found):
        report = yield from _check_file(file, full=full)
        reports.append(report)
    if found.source is Source.BUILTIN and not reports:
        reports.append(FileReport(Path(), PACKAGED_FILE.name, 0, (_NOT_PACKAGED,)))
    for copy, expected in zip(found.copies, expected_tensors or (), strict=False):
        for tensors in [] if copy is None else _tensor_reports(copy.folder, expected, reports):
            reports = with_report(reports, tensors)
    absent = set(found.missing) - {report.name for report in reports}
    reports += [FileReport(Path(), name, 0, ("all of it is missing",)) for name in sorted(absent)]
    yield VerifyReport(found.name, tuple(reports))


def with_report(reports: Sequence[FileReport], new: FileReport) -> list[FileReport]:
    """The reports and one more; of a file that has one already, or its index has, they are one."""
    path = new.folder / new.name
    places = (path, path.with_name(f"{path.name}.index.json"))
    same = [file for file in reports if file.folder / file.name in places][:1]
    if not same:
        return [*reports, new]
    problems, notes = same[0].problems + new.problems, same[0].notes + new.notes
    joined = replace(same[0], problems=problems, notes=notes)
    return [joined if file is same[0] else file for file in reports]


@dataclass(frozen=True)
class _Subject:
    """One file to check, with all that is known of it."""

    folder: Path
    expected: ExpectedFile
    recorded: FileRecord | None = None
    is_users_own: bool = False
    is_stray: bool = False

    @property
    def path(self) -> Path:
        return self.folder / self.expected.name


def _subjects(found: Located) -> Iterator[_Subject]:
    """The files to check: those that the catalogue names, that were recorded, and all weights."""
    if found.source is Source.BUILTIN:
        repos = found.known.repos if found.known is not None else ()
        path = builtin_voice_file(found.name if repos else PACKAGED_VOICE)
        if path is not None:
            expected = repos[0].files[0] if repos else PACKAGED_FILE
            yield _Subject(path.parent, replace(expected, name=path.name))
    copies = [copy for copy in found.copies if copy is not None]
    for copy in copies:
        within = [
            c.folder for c in copies if c is not copy and c.folder.is_relative_to(copy.folder)
        ]
        record = copy.hub and read_record(copy.hub, copy.repo.hub_id, copy.revision)
        recorded = record.files if record else {}
        expected_files = {file.name: file for file in copy.repo.files}
        weights = {
            path.relative_to(copy.folder).as_posix()
            for ending in (".safetensors", INDEX_ENDING)
            for path in copy.folder.rglob(f"*{ending}")
            if not any(path.is_relative_to(folder) for folder in within)
        }
        strays = _strays(copy, weights) - recorded.keys()
        sharded = {name.removesuffix(".index.json") for name in weights} - weights
        for name in sorted((expected_files.keys() - sharded) | recorded.keys() | weights):
            expected = expected_files.get(name) or ExpectedFile(name)
            is_stray = name in strays
            yield _Subject(copy.folder, expected, recorded.get(name), copy.hub is None, is_stray)


def _strays(copy: Copy, weights: Set[str]) -> Set[str]:
    """The weights that no file of the model is, and that no index of one names."""
    known = {file.name for file in copy.repo.files}
    if not known:
        return set()
    own = {name for name in weights if name.removesuffix(".index.json") in known}
    indexes = [PurePosixPath(name) for name in own - known]
    shards = {
        (index.parent / shard).as_posix()
        for index in indexes
        for shard in shard_names(copy.folder / index)
    }
    return weights - own - shards


def _check_file(subject: _Subject, *, full: bool) -> Generator[VerifyProgress, None, FileReport]:
    folder, name = subject.folder, subject.expected.name
    known = _known_digest(subject)
    found = ""
    try:
        n_bytes = subject.path.stat().st_size
        if known is not None or full:
            hashing = FileHash(subject.path, git=known is not None and known.is_git_blob)
            for done in hashing.steps():
                yield VerifyProgress(name, done, n_bytes)
            found = hashing.digest
    except FileNotFoundError:
        if subject.is_users_own and subject.expected.is_optional:
            return FileReport(
                folder, name, 0, notes=("it is not there; the model runs without it",)
            )
        return FileReport(folder, name, 0, (_MISSING,))
    except OSError as error:
        return FileReport(folder, name, 0, (f"the file cannot be read: {error.strerror}",))
    problems, notes = _digest_verdict(known, found)
    size_verdict = _size_verdict(subject, n_bytes)
    if size_verdict:
        is_remark = subject.is_users_own or (known and known.is_whole and not problems)
        (notes if is_remark else problems).append(size_verdict)
    if subject.is_stray:
        notes.insert(0, "it is no part of the model, and nothing reads it")
    else:
        problems += _weights_problems(subject.path)
    sha256 = found if len(found) == 64 else ""
    return FileReport(folder, name, n_bytes, tuple(problems), tuple(notes), sha256)


def _digest_verdict(known: _Digest | None, found: str) -> tuple[list[str], list[str]]:
    """Problems and notes."""
    if known is None:
        return [], ["no SHA-256 of it is known"]
    if not found.startswith(known.digest):
        return [f"its digest is {found}, and {known.whence} says {known.digest}"], []
    if not known.is_whole:
        return [], [f"no more than the first {len(known.digest)} digits of its SHA-256 are known"]
    return [], []


def _size_verdict(subject: _Subject, n_bytes: int) -> str:
    expected = subject.expected.n_bytes
    if expected is None or expected == n_bytes:
        return ""
    return f"it has {n_bytes:,} bytes; the publication that Menura knows has {expected:,}"


def _weights_problems(path: Path) -> list[str]:
    problem = ""
    if path.name.endswith(".safetensors"):
        problem = header_problem(path)
    if path.name.endswith(INDEX_ENDING):
        problem = index_problem(path)
    return [problem] if problem else []


def _known_digest(subject: _Subject) -> _Digest | None:
    """The strongest thing known of a file's content. A user's own file may be any variant."""
    expected = subject.expected
    if expected.sha256 is not None and not subject.is_users_own:
        return _Digest(expected.sha256, "the catalogue")
    if subject.recorded is not None:
        return _Digest(subject.recorded.sha256, "the record of its pull")
    blob = _blob_name(subject.path)
    if blob:
        return _Digest(blob, "the hub")
    if expected.sha256_prefix and not subject.is_users_own:
        return _Digest(expected.sha256_prefix, "the catalogue", is_whole=False)
    return None


def _blob_name(path: Path) -> str:
    """The digest by which the hub's cache names a file's content; empty outside such a cache."""
    if not path.is_symlink():
        return ""
    target = path.readlink()
    named = target.parent.name == "blobs" and _DIGEST.fullmatch(target.name)
    return target.name if named else ""


def _tensor_reports(
    folder: Path, expected: Mapping[str, Shapes], reports: Sequence[FileReport]
) -> list[FileReport]:
    """What is wrong with the tensors, without what was said of their files already."""
    told = {problem for report in reports for problem in report.problems}
    absent = {report.name for report in reports if _MISSING in report.problems}
    found: list[FileReport] = []
    for file in expected.keys() - absent:
        try:
            problems = compare_tensors(folder, file, expected[file]).problems
        except ModelFilesError as error:
            problems = () if error.message in told else (error.message,)
        if problems:
            found.append(FileReport(folder, file, 0, problems))
    return sorted(found, key=lambda report: report.name)
