"""The verdict of `menura models verify`: a line for each file, the error, and what mends it."""

from itertools import groupby

from menura import models
from menura.cli.terminal import accent, dim, emit, visible
from menura.errors import ModelFilesError, shell_word
from menura.models import FileReport, InstalledModel, Source, VerifyReport

_SHOWN_PROBLEMS = 3


def show_verdict(report: VerifyReport) -> None:
    """Nothing; each file stands on stdout with what is wrong with it, or that it is good."""
    for folder, files in groupby(report.files, key=lambda file: file.folder):
        emit(f"{accent(visible(report.name), 'stdout')}  {dim(visible(str(folder)), 'stdout')}")
        for file in files:
            line = f"  {visible(file.name)}  {visible(_verdict(file))}"
            notes = f"({'; '.join(file.notes)})" if file.notes else ""
            emit(f"{line}  {dim(visible(notes), 'stdout')}" if notes else line)


def _verdict(file: FileReport) -> str:
    if file.problems:
        return _in_short(file)
    return "good" if file.is_checked else "not compared"


def _in_short(file: FileReport) -> str:
    """The first problems and how many there are more; one may be a sentence, or name its file."""
    path = str(file.folder / file.name)
    shown = [_without_path(problem, path) for problem in file.problems[:_SHOWN_PROBLEMS]]
    n_more = len(file.problems) - len(shown)
    more = [f"and {n_more:,} more (--json has all)"] if n_more else []
    return "; ".join([*shown, *more])


def _without_path(problem: str, path: str) -> str:
    return problem.removeprefix(path).lstrip(": ").removesuffix(".") or problem


def fault(report: VerifyReport) -> ModelFilesError | None:
    """The error that says what is wrong and what to do, None where nothing is."""
    wrong = [f"{file.name}: {_in_short(file)}" for file in report.files if file.problems]
    if not wrong:
        return None
    advice = _advice(report, models.show(report.name))
    message = f"model {report.name!r} has faults: {'; '.join(wrong)}. {advice}"
    return ModelFilesError(message.rstrip())


def _advice(report: VerifyReport, found: InstalledModel) -> str:
    """What mends it: who put the files there must replace them."""
    known = found.known
    pull = f"menura models pull {shell_word(known.name if known else report.name)}"
    n_faulty = sum(bool(file.problems) for file in report.files)
    is_only_missing = n_faulty == len(found.missing)
    if found.source is Source.BUILTIN and known is not None and not known.repos:
        return "Install it again: pip install --force-reinstall --no-deps hibari-tts"
    if found.source is Source.FOLDER and known is None:
        return ""  # what it is instead was said
    if found.source is Source.FOLDER:
        what = "put there what is missing" if is_only_missing else "replace what is named"
        return f"The folder is your own: {what}, or bring the published model with: {pull}"
    return f"Bring {'what is missing' if is_only_missing else 'it again'}: {pull}"


def file_facts(file: FileReport) -> dict[str, object]:
    """What --json tells of one file."""
    return {
        "name": file.name,
        "n_bytes": file.n_bytes,
        "checked": file.is_checked,
        "problems": list(file.problems),
        "notes": list(file.notes),
        "sha256": file.sha256 or None,
    }
