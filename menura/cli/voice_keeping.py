"""The work of `menura voices edit` and `remove`: what is kept with a voice, and that it goes."""

import json
from dataclasses import replace
from pathlib import Path

from menura import languages, models
from menura.cli.asking import confirm_removal
from menura.cli.request import options_of
from menura.cli.terminal import emit_json, visible
from menura.cli.voice_facts import as_json, done, filled_in
from menura.cli.voice_flags import EditFlags, RemoveFlags
from menura.errors import InvalidValueError
from menura.voice_library.library import UNSET, VoiceLibrary
from menura.voice_library.record import Consent, VoiceDefaults, today

_FLAGS = "--label, --language, --notes, --ref-text, --consent, --default-model, --instruct, --speed"


def edit(flags: EditFlags) -> None:
    """Nothing; the voice is changed, all at once or not at all.

    Raises: InvalidValueError: nothing to change, or a value is not allowed; ModelNotFoundError: the
        model for it is not known; as `VoiceLibrary.edit`.
    """
    library = VoiceLibrary()
    voice = library.find(flags.name)
    defaults = _defaults(flags, voice.record.defaults)
    given = (flags.label, flags.language, flags.notes, flags.ref_text, flags.consent, defaults)
    if all(value is None for value in given):
        raise InvalidValueError(
            f"say what to change: {_FLAGS}, or -p NAME=VALUE.", param="menura voices edit"
        )
    changed = library.edit(
        voice.id,
        label=UNSET if flags.label is None else flags.label,
        language=UNSET if flags.language is None else language_of(flags.language),
        notes=UNSET if flags.notes is None else flags.notes,
        consent=UNSET if flags.consent is None else consent_of(flags.consent),
        transcript=UNSET if flags.ref_text is None else flags.ref_text.strip() or None,
        defaults=UNSET if defaults is None else defaults,
    )
    if flags.json:
        emit_json(as_json(changed))
    else:
        fills = filled_in(changed.record.defaults)
        done(changed, "changed", fills and f"a request is filled in with {fills}")


def remove(flags: RemoveFlags) -> None:
    """Nothing; the voice is gone, after a question on a terminal.

    Raises: InvalidValueError: there is nobody to ask and --yes was not given; as `find`.
    """
    library = VoiceLibrary()
    voice = library.find(flags.name)
    confirm_removal(flags, f"the voice {visible(voice.label)}", yes=flags.yes)
    removed = library.remove(voice.id)
    if flags.json:
        emit_json({"removed": as_json(removed)})
    else:
        done(removed, "removed, with its recording and all that was made of it")


def language_of(given: str | None) -> str | None:
    """The language's name in small letters; None where none was given, or an empty text."""
    return languages.name_of(given.strip()) or None if given else None


def consent_of(given: str) -> Consent | None:
    """The consent, given today; None for an empty text."""
    return Consent(given.strip(), today()) if given.strip() else None


def model_of(given: str) -> str | None:
    """The model as a voice keeps it: its name, or a folder's whole path; None for an empty text.

    Raises: ModelNotFoundError, InvalidValueError: no such model is known.
    """
    if not given:
        return None
    found = models.show(given)
    if found.source is models.Source.FOLDER:
        return str(Path(given).expanduser().resolve())
    return found.name


def _defaults(flags: EditFlags, now: VoiceDefaults) -> VoiceDefaults | None:
    """The voice's defaults with what the flags change in them; None where they change nothing."""
    changed = now
    if flags.default_model is not None:
        changed = replace(changed, model=model_of(flags.default_model))
    if flags.instruct is not None:
        changed = replace(changed, instruct=flags.instruct.strip() or None)
    if flags.speed is not None:
        changed = replace(changed, speed=flags.speed)
    if flags.option:
        given = {name: _value(str(word)) for name, word in options_of(flags.option).items()}
        options = {**now.options, **given}
        changed = replace(changed, options={n: v for n, v in options.items() if v != ""})
    if flags.default_model is None and flags.instruct is None and flags.speed is None:
        return changed if flags.option else None
    return changed


def _value(word: str) -> object:
    """A number or a truth value where the word is one, else the word: as JSON has them."""
    try:
        read = json.loads(word)
    except ValueError:
        return word
    return read if isinstance(read, (bool, int, float)) else word
