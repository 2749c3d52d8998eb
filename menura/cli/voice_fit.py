"""`menura voices fit`: which models can use a voice, and what is missing. Nothing is loaded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from menura import api, settings
from menura.catalogue import CLONE, known_models
from menura.cli.terminal import dim, emit, emit_json, emit_table, visible
from menura.cli.voice_choice import models_here
from menura.cli.voice_flags import FitFlags
from menura.cli.voice_words import named
from menura.errors import MenuraError, UnsupportedError
from menura.voice_library.fit import Fit, Need, fit
from menura.voice_library.library import LibraryVoice, VoiceLibrary


@dataclass(frozen=True)
class _NotHere:
    """A model that cannot be asked, and why."""

    model: str
    says: str
    missing: str


def show(flags: FitFlags) -> None:
    """Nothing; what each model can do with the voice stands on stdout.

    Raises: UnsupportedError: the one model that was named cannot use it; VoiceNotFoundError; as
        `api.describe` for the model that was named.
    """
    voice = VoiceLibrary().find(flags.name)
    if flags.model is not None:
        found: list[Fit | _NotHere] = [fit(voice, api.describe(flags.model))]
    else:
        found = sorted(_fits(voice, with_all=flags.all), key=_rank)
    if flags.json:
        answers = [fit_as_json(each) for each in found]
        emit_json({"voice": {"id": voice.id, "label": voice.label}, "fits": answers})
    else:
        emit_table(("model", "usable", "what it means"), [_row(each) for each in found])
        for hint in _hints(flags, voice, found):
            emit(dim(visible(hint), "stdout"))
    if flags.model is not None and not _is_usable(found[0]):
        raise UnsupportedError(
            f"{found[0].model!r} cannot use the voice {voice.label!r}: {found[0].says}",
            param="--model",
        )


def fit_as_json(found: Fit | _NotHere) -> dict[str, object]:
    """What --json tells of one model and one voice."""
    if isinstance(found, _NotHere):
        return {
            "model": found.model,
            "usable": False,
            "way": "",
            "says": visible(found.says),
            "missing": [found.missing],
            "better": "",
        }
    return {
        "model": found.model,
        "usable": found.usable,
        "way": found.way,
        "says": found.says,
        "missing": [str(each) for each in found.missing],
        "better": found.better,
    }


def in_short(found: Fit) -> str:
    """One model and one voice in a few words, for a table with one row a voice."""
    lacks = ", ".join(str(each).replace("_", " ") for each in found.missing)
    if not found.usable:
        return f"no: {lacks}" if lacks else "no"
    return f"yes, better with: {lacks}" if lacks else "yes"


def _fits(voice: LibraryVoice, *, with_all: bool) -> Iterator[Fit | _NotHere]:
    here = {known.name for known in models_here()}
    names = [known.name for known in known_models() if with_all or known.name in here]
    default = settings.load().default_model
    if default not in {known.name for known in known_models()}:
        names.append(default)
    for name in names:
        if name in here or name == default:
            yield _fit_or_reason(voice, name)
        else:
            yield _not_brought(name)


def _fit_or_reason(voice: LibraryVoice, name: str) -> Fit | _NotHere:
    try:
        return fit(voice, api.describe(name))
    except MenuraError as error:
        return _NotHere(name, error.message, "engine" if error.exit_code == 7 else "model")


def _not_brought(name: str) -> _NotHere:
    [known] = [each for each in known_models() if each.name == name]
    if CLONE not in known.capabilities:
        return _NotHere(name, "cannot speak like a recording", Need.MODEL_CANNOT_CLONE)
    return _NotHere(name, f"not on this machine: menura models pull {name}", "model")


def _is_usable(found: Fit | _NotHere) -> bool:
    return isinstance(found, Fit) and found.usable


def _rank(found: Fit | _NotHere) -> int:
    """What can be used comes first, and last what could never be."""
    if _is_usable(found):
        return 0
    lacks = found.missing if isinstance(found, Fit) else (found.missing,)
    return 2 if Need.MODEL_CANNOT_CLONE in lacks else 1


def _row(found: Fit | _NotHere) -> tuple[str, str, str]:
    better = found.better if isinstance(found, Fit) else ""
    says = found.says.removeprefix(f"{found.model} ").removeprefix(f"{found.model}: ")
    return found.model, "yes" if _is_usable(found) else "no", f"{says} {better}".rstrip()


def _hints(flags: FitFlags, voice: LibraryVoice, found: Sequence[Fit | _NotHere]) -> Iterator[str]:
    """What to type next, where something would make the voice better, or more could be shown."""
    if any(isinstance(each, Fit) and Need.TRANSCRIPT in each.missing for each in found):
        yield f"What is said in it: menura voices edit {named(voice)} --ref-text TEXT"
    if flags.model is None and not flags.all:
        yield "Models that could be brought: --all"
