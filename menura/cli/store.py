"""The work of `menura models pull`, `verify` and `remove`: several models, each with an answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import typer

from menura import models
from menura.catalogue import KnownModel, lookup
from menura.cli.model_facts import NO_ENGINE, has_engine
from menura.cli.models import PullFlags, RemoveFlags, SeveralModels, VerifyFlags
from menura.cli.progress import Progress
from menura.cli.quantities import size
from menura.cli.reports import warn
from menura.cli.terminal import (
    accent,
    emit_json,
    error_line,
    is_terminal,
    note,
    visible,
)
from menura.cli.verdicts import fault, file_facts, show_verdict
from menura.errors import (
    InvalidValueError,
    MenuraError,
    ModelNotFoundError,
    PartlyDoneError,
)
from menura.models import PullPlan, VerifyReport


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


def pull(flags: PullFlags) -> None:
    """Nothing; the models are brought, each after its licence and size were shown."""
    _each(flags, lambda name: _pull_one(name, flags))


def _pull_one(name: str, flags: PullFlags) -> _Outcome:
    plan = models.describe_pull(name, source=flags.source, revision=flags.revision)
    amount = size(plan.total_bytes, about=plan.is_approximate)
    if not flags.quiet:
        note(f"{accent(visible(plan.name), 'stderr')}  {amount} from {plan.hub} into {plan.target}")
    note(f"licence  {visible(_licence(plan))}{_warning(plan.licence)}")
    if plan.known is not None and not has_engine(plan.known):
        warn(f"{plan.name}: {NO_ENGINE}.")
    with Progress("pulling", shown=not flags.quiet and _watched(), in_bytes=True) as bar:
        for progress in models.pull(name, source=flags.source, revision=flags.revision):
            what = f"{progress.phase} {progress.file}"
            bar.update(progress.done_bytes, progress.total_bytes, what)
    found = models.show(name)
    if not flags.quiet:
        note(f"{accent(visible(plan.name), 'stderr')}  is here: {size(found.n_bytes)}")
    paths = [str(place) for place in found.paths]
    return _Outcome(name, {"paths": paths, "n_bytes": found.n_bytes})


def _licence(plan: PullPlan) -> str:
    known = plan.known
    if known is None or not known.output_licence:
        return plan.licence
    return f"{known.weights_licence}, and {known.output_licence} for what it speaks"


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
        show_verdict(report)
    facts = {"files": [file_facts(file) for file in report.files]}
    return _Outcome(name, facts, fault(report))


def remove(flags: RemoveFlags) -> None:
    """Nothing; the models are removed from the caches, after a question on a terminal.

    Raises: InvalidValueError: there is nobody to ask and --yes was not given; before that, as
        `_check_removable`.
    """
    names = " ".join(flags.names or [])
    if names and not flags.yes:
        for name in flags.names or []:
            _check_removable(name)
        if flags.json or not is_terminal("stderr") or not is_terminal("stdin"):
            raise InvalidValueError(
                f"nothing was removed: say --yes to remove {names} without a question.",
                param="--yes",
            )
        typer.confirm(f"Remove {visible(names)} from this machine?", abort=True, err=True)
    _each(flags, lambda name: _remove_one(name, flags))


def _check_removable(name: str) -> None:
    """Nothing, where something of the model is in a cache and may go.

    Raises: InvalidValueError: it is a part of the package, or the user's own folder;
        ModelNotFoundError: nothing of it is here.
    """
    known = lookup(name)
    if known is not None and not known.repos:
        raise InvalidValueError(
            f"model {known.name!r} is part of Menura's installation and cannot be removed alone.",
            param="MODEL",
        )
    try:
        found = models.show(name)
    except ModelNotFoundError as error:
        if _leftovers(name, known):
            return
        raise ModelNotFoundError(f"there is no {name!r} to remove: {error.message}") from error
    if found.source is models.Source.FOLDER:
        raise InvalidValueError(
            f"{name!r} is a folder of yours: delete it yourself. Menura removes only what is in a "
            "hub's cache.",
            param="MODEL",
        )
    if not found.paths and not _leftovers(name, known):
        raise ModelNotFoundError(f"nothing of model {name!r} is on this machine.", param="MODEL")


def _leftovers(name: str, known: KnownModel | None) -> list[Path]:
    """The folders of the hub's cache where a pull that broke off may have left a part."""
    hub_ids = [repo.hub_id for repo in known.repos] if known else [name]
    folders = [models.hub_cache() / f"models--{each.replace('/', '--')}" for each in hub_ids]
    return [folder for folder in folders if folder.is_dir()]


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
