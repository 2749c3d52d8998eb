"""The work of `menura models`: the model store's answers as tables, lines or JSON."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import groupby

import typer

from menura import models
from menura.catalogue import KnownModel, known_models
from menura.cli.commands import JsonFlags
from menura.cli.models import OneModel, PullFlags, RemoveFlags, SeveralModels, VerifyFlags
from menura.cli.progress import Progress
from menura.cli.quantities import size
from menura.cli.terminal import (
    accent,
    dim,
    emit,
    emit_facts,
    emit_json,
    emit_table,
    error_line,
    is_terminal,
    note,
    visible,
)
from menura.errors import InvalidValueError, MenuraError, ModelFilesError, PartlyDoneError
from menura.models import FileReport, InstalledModel, VerifyReport


@dataclass(frozen=True)
class _Outcome:
    """What became of one of several models."""

    name: str
    facts: Mapping[str, object] = field(default_factory=dict)
    error: MenuraError | None = None

    def as_json(self) -> dict[str, object]:
        """The part of the answer to --json that is about this model."""
        error = self.error
        told = None if error is None else {"message": visible(error.message), "code": error.code}
        return {"name": self.name, "ok": error is None, **self.facts, "error": told}


def list_models(flags: JsonFlags) -> None:
    """Nothing; all known models are listed."""
    found = [models.show(known.name) for known in known_models()]
    if flags.json:
        emit_json({"models": [_facts(model) for model in found]})
        return
    emit_table(
        ("model", "here", "download", "can", "licence"),
        [
            (
                model.name,
                _here(model),
                _download(known),
                ", ".join(sorted(known.capabilities)),
                known.weights_licence,
            )
            for model, known in zip(found, known_models(), strict=True)
        ],
    )
    emit()
    emit(
        dim("Bring one with: menura models pull MODEL    More: menura models show MODEL", "stdout")
    )


def show(flags: OneModel) -> None:
    """Nothing; what is known of a model, and what is here, is shown."""
    model = models.show(flags.name)
    if flags.json:
        emit_json(_facts(model))
        return
    emit_facts(
        [
            ("model", model.name),
            ("here", _here(model)),
            *(_described(model.known) if model.known else []),
            ("missing", ", ".join(model.missing)),
            *(("path", str(place)) for place in model.paths),
        ]
    )


def _described(known: KnownModel) -> list[tuple[str, str]]:
    return [
        ("what it is", known.description),
        ("engine", known.engine),
        ("can", ", ".join(sorted(known.capabilities))),
        ("languages", ", ".join(known.languages)),
        ("sample rate", f"{known.sample_rate_hz} Hz"),
        ("licence", known.licence),
        ("download", _download(known)),
        ("from", ", ".join(repo.hub_id for repo in known.repos)),
    ]


def path(flags: OneModel) -> None:
    """Nothing; the model's folders or file stand on stdout, one a line."""
    places = models.path(flags.name)
    if flags.json:
        emit_json({"name": flags.name, "paths": [str(place) for place in places]})
        return
    for place in places:
        emit(str(place))


def pull(flags: PullFlags) -> None:
    """Nothing; the models are brought, each after its licence and size were shown."""
    _each(flags, lambda name: _pull_one(name, flags))


def _pull_one(name: str, flags: PullFlags) -> _Outcome:
    plan = models.describe_pull(name, source=flags.source, revision=flags.revision)
    amount = size(plan.total_bytes, about=plan.is_approximate)
    if not flags.quiet:
        note(f"{accent(visible(plan.name), 'stderr')}  {amount} from {plan.hub} into {plan.target}")
    note(f"licence  {visible(plan.licence)}{_warning(plan.licence)}")
    with Progress("pulling", shown=not flags.quiet and _watched(), in_bytes=True) as bar:
        for progress in models.pull(name, source=flags.source, revision=flags.revision):
            what = f"{progress.phase} {progress.file}"
            bar.update(progress.done_bytes, progress.total_bytes, what)
    found = models.show(name)
    if not flags.quiet:
        note(f"{accent(visible(plan.name), 'stderr')}  is here: {size(found.n_bytes)}")
    paths = [str(place) for place in found.paths]
    return _Outcome(name, {"paths": paths, "n_bytes": found.n_bytes})


def _watched() -> bool:
    return is_terminal("stderr")


def _warning(licence: str) -> str:
    return "  NOT FOR COMMERCIAL USE" if "-NC" in licence.upper() else ""


def verify(flags: VerifyFlags) -> None:
    """Nothing; the verdict on each model is shown."""
    _each(flags, lambda name: _verify_one(name, flags))


def _verify_one(name: str, flags: VerifyFlags) -> _Outcome:
    report: VerifyReport | None = None
    with Progress("checking", shown=_watched(), in_bytes=True) as bar:
        for step in models.verify_steps(name, full=flags.full):
            if isinstance(step, VerifyReport):
                report = step
            else:
                bar.update(step.done_bytes, step.file_bytes, step.file)
    assert report is not None
    if not flags.json:
        _show_verdict(report)
    wrong = [f"{file.name}: {problem}" for file in report.files for problem in file.problems]
    error = ModelFilesError(
        f"model {report.name!r} is damaged: {'; '.join(wrong)}. Bring it again: menura models "
        f"remove {report.name}, then menura models pull {report.name}."
    )
    facts = {"files": [_file_facts(file) for file in report.files]}
    return _Outcome(name, facts, error if wrong else None)


def _show_verdict(report: VerifyReport) -> None:
    for folder, files in groupby(report.files, key=lambda file: file.folder):
        emit(f"{accent(visible(report.name), 'stdout')}  {dim(visible(str(folder)), 'stdout')}")
        for file in files:
            verdict = "; ".join(file.problems) or "good"
            remarks = f"  ({'; '.join(file.notes)})" if file.notes else ""
            emit(f"  {visible(file.name)}  {visible(verdict)}{dim(visible(remarks), 'stdout')}")


def remove(flags: RemoveFlags) -> None:
    """Nothing; the models are removed from the caches, after a question on a terminal.

    Raises: InvalidValueError: there is nobody to ask and --yes was not given.
    """
    if not flags.yes:
        names = " ".join(flags.names or [])
        if flags.json or not is_terminal("stderr") or not is_terminal("stdin"):
            raise InvalidValueError(
                f"nothing was removed: say --yes to remove {names} without a question.",
                param="--yes",
            )
        typer.confirm(f"Remove {visible(names)} from this machine?", abort=True, err=True)
    _each(flags, lambda name: _remove_one(name, flags))


def _remove_one(name: str, flags: RemoveFlags) -> _Outcome:
    freed = models.remove(name)
    if not flags.json:
        note(f"{accent(visible(name), 'stderr')}  removed, {size(freed)} freed")
    return _Outcome(name, {"freed_bytes": freed})


def _each(flags: SeveralModels, do: Callable[[str], _Outcome]) -> None:
    """Nothing; all that were named are done, and an answer for --json is printed.

    It ends with the code of PartlyDoneError where some failed, and with that of the first error
    where all did. Raises: MenuraError: it came to nothing, and one model was named.
    """
    names = flags.names or []
    if not names:
        raise InvalidValueError("name at least one model.", param="MODEL")
    outcomes = [do(names[0])] if len(names) == 1 else [_attempt(name, do) for name in names]
    if flags.json:
        emit_json({"models": [outcome.as_json() for outcome in outcomes]})
    failed = [(outcome.name, outcome.error) for outcome in outcomes if outcome.error is not None]
    for _, error in failed:
        error_line(error.message)
    if failed and len(failed) < len(names):
        lost = ", ".join(name for name, _ in failed)
        error_line(f"{len(failed)} of {len(names)} failed: {lost}.")
        raise typer.Exit(PartlyDoneError.exit_code)
    if failed:
        raise typer.Exit(failed[0][1].exit_code)


def _attempt(name: str, do: Callable[[str], _Outcome]) -> _Outcome:
    try:
        return do(name)
    except MenuraError as error:
        return _Outcome(name, error=error)


def _file_facts(file: FileReport) -> dict[str, object]:
    return {
        "name": file.name,
        "n_bytes": file.n_bytes,
        "problems": list(file.problems),
        "notes": list(file.notes),
        "sha256": file.sha256 or None,
    }


def _facts(model: InstalledModel) -> dict[str, object]:
    known = model.known
    facts: dict[str, object] = {
        "name": model.name,
        "here": model.is_complete,
        "paths": [str(place) for place in model.paths],
        "n_bytes": model.n_bytes,
        "missing": list(model.missing),
    }
    if known is not None:
        facts |= {
            "description": known.description,
            "engine": known.engine,
            "capabilities": sorted(known.capabilities),
            "languages": list(known.languages),
            "licence": known.licence,
            "download_bytes": known.download_bytes,
            "download_is_approximate": known.is_approximate,
            "hub_ids": [repo.hub_id for repo in known.repos],
        }
    return facts


def _here(model: InstalledModel) -> str:
    if model.is_complete:
        return "yes" if model.source is models.Source.BUILTIN else f"yes, {size(model.n_bytes)}"
    return "partly" if model.paths else "-"


def _download(known: KnownModel) -> str:
    if not known.repos:
        return "none"
    return size(known.download_bytes, about=known.is_approximate)
