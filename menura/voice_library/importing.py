"""Voices from elsewhere, whatever they come as: told apart by what they are, not by their names.

    a portable file (.voice.zip)         ->  the voice as it was exported, with its id
    a folder of the library              ->  the same, from its files
    a plain folder of recordings         ->  one voice for each, checked as a new recording is
    one recording                        ->  the same
    a file of `Voice.save`               ->  a voice for the weights that made it
    prompts that a model's tools saved   ->  the same; the model must be named

All that is imported at once is checked before the first voice is written. What a stranger wrote for
this machine to do is left out, with a warning: a model that is a place, a language that is none.
"""

import warnings
from dataclasses import dataclass, replace
from pathlib import Path

from menura import languages, voice_files
from menura.audio.clip_checks import VoiceWarning
from menura.audio.containers import READABLE, sniff
from menura.errors import ConsentError, InvalidValueError, MenuraError, RecordingError
from menura.voice_library import making, own_models, plain_files, portable
from menura.voice_library.agreement import with_consent
from menura.voice_library.folders import BrokenVoice, LibraryVoice, read_entry
from menura.voice_library.labels import LONGEST_LABEL, folded
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.new_voice import NewVoice
from menura.voice_library.portable import Portable, read_portable
from menura.voice_library.record import RECORD_FILE
from menura.voice_library.recordings import (
    ENDINGS,
    MAX_BYTES,
    FoundRecording,
    recording_at,
    recordings_in,
)
from menura.voice_library.saved_prompts import (
    PICKLE_ENDINGS,
    from_saved,
    from_upstream,
    label_from,
)
from menura.voice_library.zip_entries import MAX_FILE_BYTES, is_zip

_HEAD_BYTES = 4_096
_TRIES = 5
_MOST_FAULTS = 5


@dataclass(frozen=True)
class _Wishes:
    """How voices are to be made of what has no record; see `import_file`."""

    label: str | None
    model: str | None
    consent: str | None
    consent_needed: bool
    anyway: bool


def import_file(
    library: VoiceLibrary,
    source: Path | bytes,
    *,
    label: str | None = None,
    model: str | None = None,
    consent: str | None = None,
    consent_needed: bool = True,
    anyway: bool = False,
) -> tuple[LibraryVoice, ...]:
    """The voices that came of a path, or of the bytes of a portable file or of a saved voice.

    `label` is for a single voice; without one, a label that is taken gets a number. `consent` is
    what the speakers agreed to, for voices that bring no words about it; they need it, unless
    `consent_needed` is off or a model made them up. `anyway` takes transcripts that are likely to
    be wrong. `model` names the model whose tools saved the prompts.

    Raises: InvalidValueError: it is nothing of the kind, not sound, or here already; as
        `making.prepare`, `saved_prompts.from_upstream` and `VoiceLibrary.add` do; ConsentError.
    """
    if isinstance(source, Path) and "\0" in str(source):
        raise InvalidValueError("a file's name holds no NUL character.", param="file")
    wishes = _Wishes(label, model, consent, consent_needed, anyway)
    if isinstance(source, bytes):
        return (_from_bytes(library, source, wishes),)
    try:
        if source.is_dir():
            return _from_folder(library, source, wishes)
        return _from_file(library, source, wishes)
    except OSError as error:
        raise InvalidValueError(
            f"{str(source)!r:.200} cannot be read: {error.strerror or error}.", param="file"
        ) from error


def add_portable(
    library: VoiceLibrary,
    found: Portable,
    label: str | None = None,
    *,
    consent: str | None = None,
    consent_needed: bool = True,
) -> LibraryVoice:
    """The voice of a portable file, in the library: with its own id, unless another one has it.

    Raises: InvalidValueError: this voice is here already; ConsentError: it brings no words of its
        speaker, and none are given; as `VoiceLibrary.add` does.
    """
    new = with_consent(_of_here(found.new), consent, needed=consent_needed)
    for _ in range(2):  # another program may be importing the same file
        owner = next((voice for voice in library.voices() if voice.id == found.record.id), None)
        if owner is not None and _sounds_of(owner) == _sounds_of(found):
            raise InvalidValueError(
                f"the voice {owner.label!r} ({owner.id}) is here already; to have it as the file "
                "says, remove it first.",
                param="file",
            )
        try:
            return _added(library, new, label, None if owner else found.record.id)
        except InvalidValueError as error:
            if error.param != "id":
                raise
    return _added(library, new, label)  # a folder that is no voice has the id


def _from_bytes(library: VoiceLibrary, data: bytes, wishes: _Wishes) -> LibraryVoice:
    if is_zip(data):
        return _add_portable(library, read_portable(data), wishes)
    if sniff(data[:_HEAD_BYTES]) is not None:
        raise InvalidValueError(
            "this is a recording, not a saved voice: add it as a new voice.", param="file"
        )
    return _added(library, _agreed(from_saved(data, "the file"), wishes), wishes.label)


def _from_folder(library: VoiceLibrary, path: Path, wishes: _Wishes) -> tuple[LibraryVoice, ...]:
    if (path / RECORD_FILE).exists():
        return (_add_portable(library, _of_folder(path), wishes),)
    return _all_added(library, _of_recordings(recordings_in(path), wishes), wishes.label)


def _from_file(library: VoiceLibrary, path: Path, wishes: _Wishes) -> tuple[LibraryVoice, ...]:
    with path.open("rb") as file:
        if not file.seekable():  # a pipe: it has no name, and can be read once
            return (_from_bytes(library, plain_files.read_pipe(file, MAX_FILE_BYTES), wishes),)
        head = file.read(_HEAD_BYTES)
    ending = path.suffix.casefold()
    if ending in PICKLE_ENDINGS:
        if not wishes.model:
            raise InvalidValueError(
                f"{path.name} is of the kind that a model's own tools save: say which model it was "
                "made with (--model), for no other one can use it.",
                param="model",
            )
        made = from_upstream(path, wishes.model, wishes.consent)
        return _all_added(library, tuple(_agreed(new, wishes) for new in made), wishes.label)
    if is_zip(head):
        return (_add_portable(library, read_portable(path), wishes),)
    if ending == voice_files.ENDING:
        data = plain_files.read_plain(path.resolve(), voice_files.MAX_BYTES)
        return (_added(library, _agreed(from_saved(data, path.name), wishes), wishes.label),)
    if ending in ENDINGS or sniff(head) is not None:
        recording = replace(recording_at(path), path=path.resolve())
        return _all_added(library, _of_recordings((recording,), wishes), wishes.label)
    raise InvalidValueError(
        f"{path.name} is nothing that becomes a voice. Give a .voice.zip, a folder or a file of "
        f"recordings ({READABLE}), a saved voice (.safetensors), or prompts that a model's own "
        "tools saved (.pt, with the model).",
        param="file",
    )


def _add_portable(library: VoiceLibrary, found: Portable, wishes: _Wishes) -> LibraryVoice:
    return add_portable(
        library,
        found,
        wishes.label,
        consent=wishes.consent,
        consent_needed=wishes.consent_needed,
    )


def _agreed(new: NewVoice, wishes: _Wishes) -> NewVoice:
    """The voice with what its speaker agreed to. Raises: ConsentError."""
    return with_consent(new, wishes.consent, needed=wishes.consent_needed)


def _of_here(new: NewVoice) -> NewVoice:
    """The voice without what means nothing on this machine, or should not decide anything here."""
    defaults, language = new.defaults, new.language
    model = own_models.named(defaults.model)
    if defaults.model is not None and model is None:
        _left_out(
            new,
            f"its model {defaults.model!r:.80}, for it is none of this machine by its name: choose "
            "one with menura voices edit NAME --default-model MODEL",
        )
    if defaults.language and not languages.is_known(defaults.language):
        _left_out(new, f"the language {defaults.language!r} that it fills in, for it is not known")
        defaults = replace(defaults, language=None)
    if language and not languages.is_known(language):
        _left_out(new, f"its language {language!r}, for it is not known")
        language = None
    return replace(new, language=language, defaults=replace(defaults, model=model))


def _left_out(new: NewVoice, what: str) -> None:
    warnings.warn(f"the voice {new.label!r} came without {what}.", VoiceWarning, stacklevel=2)


def _of_folder(path: Path) -> Portable:
    """The voice in a folder such as the library has, checked as a portable file is."""
    found = read_entry(path.resolve())
    if not isinstance(found, LibraryVoice):
        reason = found.reason if isinstance(found, BrokenVoice) else "it went away."
        raise InvalidValueError(f"the folder {path.name!r} is no voice: {reason}", param="file")
    return portable.of_folder(found)


def _of_recordings(found: tuple[FoundRecording, ...], wishes: _Wishes) -> tuple[NewVoice, ...]:
    """One voice for each recording. Raises: one of them cannot become a voice; says which."""
    made: list[NewVoice] = []
    faults: list[tuple[FoundRecording, MenuraError]] = []
    for recording in found:
        try:
            made.append(_made(recording, wishes))
        except ConsentError:
            raise
        except MenuraError as error:
            faults.append((recording, error))
    if len(faults) == len(found) == 1:
        raise faults[0][1]
    if faults:
        told = " ".join(f"{of.path.name}: {error.message}" for of, error in faults[:_MOST_FAULTS])
        are_texts = all(error.param == "transcript" for _, error in faults)
        kind = RecordingError if are_texts else InvalidValueError  # which `anyway` overrules
        raise kind(
            f"{len(faults)} of {len(found)} recordings cannot become voices, so none was "
            f"imported. {told}",
            param="transcript" if are_texts else "file",
        )
    return tuple(made)


def _made(recording: FoundRecording, wishes: _Wishes) -> NewVoice:
    data = plain_files.read_plain(recording.path, MAX_BYTES)
    return making.new_voice(
        making.prepare(data, transcript=recording.transcript),
        label_from(recording.path.stem),
        consent=wishes.consent,
        consent_needed=wishes.consent_needed,
        anyway=wishes.anyway,
    )


def _all_added(
    library: VoiceLibrary, made: tuple[NewVoice, ...], label: str | None
) -> tuple[LibraryVoice, ...]:
    if label is not None and len(made) > 1:
        raise InvalidValueError(
            f"one label is not enough for {len(made)} voices: leave it out, and change their "
            "labels later.",
            param="label",
        )
    return tuple(_added(library, new, label) for new in made)


def _added(
    library: VoiceLibrary, new: NewVoice, label: str | None, new_id: str | None = None
) -> LibraryVoice:
    """The voice, added under the label given, or under its own with a number if that is taken."""
    if label is not None:
        return library.add(replace(new, label=label), id=new_id)
    for _ in range(_TRIES - 1):
        try:
            return library.add(_with_free_label(library, new), id=new_id)
        except InvalidValueError as error:
            if error.param != "label":  # another program took the label meanwhile
                raise
    return library.add(_with_free_label(library, new), id=new_id)


def _with_free_label(library: VoiceLibrary, new: NewVoice) -> NewVoice:
    taken = {folded(voice.label) for voice in library.voices()}
    label, number = new.label, 1
    while folded(label) in taken:
        number += 1
        ending = f" ({number})"
        label = new.label[: LONGEST_LABEL - len(ending)].rstrip() + ending
    return replace(new, label=label)


def _sounds_of(voice: LibraryVoice | Portable) -> list[tuple[str, str | None]]:
    """What makes a voice sound as it does: its clips, and what is said in them."""
    return [(clip.sha256, clip.transcript) for clip in voice.record.clips]
