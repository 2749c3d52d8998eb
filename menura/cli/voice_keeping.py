"""The work of `menura voices edit` and `remove`: what is kept with a voice, and that it goes."""

import json
from dataclasses import replace
from pathlib import Path

from menura import languages, models
from menura.cli.asking import confirm_removal
from menura.cli.reports import warn
from menura.cli.request import options_of
from menura.cli.terminal import emit_json, visible
from menura.cli.voice_facts import as_json, done, filled_in
from menura.cli.voice_flags import EditFlags, RemoveFlags
from menura.cli.voice_questions import no_consent
from menura.cli.voice_words import shadow_note
from menura.errors import InvalidValueError
from menura.voice_library import own_models
from menura.voice_library.agreement import given_today, needs_consent, words_in
from menura.voice_library.known_values import check_defaults, check_language, check_options
from menura.voice_library.library import UNSET, LibraryVoice, VoiceLibrary
from menura.voice_library.record import VoiceDefaults

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
    takes_consent = flags.consent is not None and not words_in(flags.consent)
    if takes_consent and needs_consent(voice.record.source):
        raise no_consent()
    if defaults is not None:
        _check_defaults(library, voice, defaults)
    changed = library.edit(
        voice.id,
        label=UNSET if flags.label is None else flags.label,
        language=UNSET if flags.language is None else language_of(flags.language),
        notes=UNSET if flags.notes is None else flags.notes,
        consent=UNSET if flags.consent is None else given_today(flags.consent),
        transcript=UNSET if flags.ref_text is None else flags.ref_text.strip() or None,
        defaults=UNSET if defaults is None else defaults,
    )
    if flags.default_model is not None:
        own_models.choose(library, changed)
    if flags.label is not None and (told := shadow_note(changed)):
        warn(told)
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
    copies = [visible(found.name) for found in library.broken() if found.copy_of == voice.id]
    too = f" and the copies of its folder: {', '.join(copies)}" if copies else ""
    confirm_removal(flags, f"the voice {visible(voice.label)}{too}", yes=flags.yes)
    removed = library.remove(voice.id)
    if flags.json:
        emit_json({"removed": as_json(removed), "copies": copies})
    else:
        done(removed, f"removed, with its recording and all that was made of it{too}")


def language_of(given: str | None) -> str | None:
    """The language's name in small letters; None where none was given, or an empty text.

    Raises: InvalidValueError: it is not known.
    """
    word = (given or "").strip()
    try:
        check_language(word)
    except InvalidValueError as error:
        raise InvalidValueError(error.message, param="--language") from error
    return languages.name_of(word) or None


def model_of(given: str) -> str | None:
    """The model as a voice keeps it: its name, or a folder's whole path; None for an empty text.

    Raises: ModelNotFoundError, InvalidValueError: no such model is known, or its folder is another
        user's.
    """
    if not given:
        return None
    found = models.show(given)
    if found.source is models.Source.FOLDER:
        folder = Path(given).expanduser().resolve()
        own_models.check_owner(folder)
        return str(folder)
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


def _check_defaults(library: VoiceLibrary, voice: LibraryVoice, given: VoiceDefaults) -> None:
    """Nothing, for what the voice can have, and what its model knows where that is here.

    Raises: InvalidValueError.
    """
    try:
        check_defaults(given)
    except InvalidValueError as error:
        flag = f"--{error.param}" if error.param in ("speed", "language") else error.param
        raise InvalidValueError(error.message, param=flag) from error
    now = voice.record.defaults
    if not given.options or (given.options, given.model) == (now.options, now.model):
        return
    is_new = given.model != now.model
    model = given.model if is_new else own_models.model_of(library, voice)
    spec = None if model is None else own_models.spec_of(model)
    if spec is not None:
        check_options(given.options, spec)


def _value(word: str) -> object:
    """A number or a truth value where the word is one, else the word: as JSON has them."""
    try:
        read = json.loads(word)
    except ValueError:
        return word
    return read if isinstance(read, (bool, int, float)) else word
