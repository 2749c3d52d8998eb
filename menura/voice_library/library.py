"""The voice library: the folders of `data/voices`, each one a voice that explains itself.

Readers need no lock: a folder is there whole or not at all, and a record is replaced whole.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TypeVar

from menura import settings
from menura.audio.decode import AudioCaps, decode
from menura.engines.contract import EngineSpec
from menura.errors import (
    InvalidValueError,
    MenuraError,
    VoiceNotFoundError,
    did_you_mean,
)
from menura.runtime.whole_file import whole_file
from menura.speech import Reference, Voice
from menura.voice_library import plain_files, prompts
from menura.voice_library.agreement import check_change
from menura.voice_library.folders import BrokenVoice, LibraryVoice
from menura.voice_library.known_values import check_defaults, check_language
from menura.voice_library.labels import (
    LIBRARY_PREFIX,
    checked_label,
    enumerated,
    folded,
    new_id,
)
from menura.voice_library.listing import Listing
from menura.voice_library.locking import new_folder, take_away, writing
from menura.voice_library.new_voice import NewClip, NewPrompt, NewVoice, files_of, record_of
from menura.voice_library.record import (
    PREVIEW_FILE,
    PROMPTS_FOLDER,
    RECORD_FILE,
    Consent,
    VoiceDefaults,
    VoiceRecord,
    checked,
    now,
)

__all__ = ["UNSET", "BrokenVoice", "LibraryVoice", "NewClip", "NewPrompt", "NewVoice", "Unset",
           "VoiceLibrary"]  # fmt: skip

MAX_CLIP_BYTES = 64 * 2**20
_Value = TypeVar("_Value")
_SHOWN = 60  # characters of a given word in an error


class Unset(Enum):
    """What an edit leaves as it is."""

    UNSET = "unset"


UNSET = Unset.UNSET


class VoiceLibrary:
    """The voices of a folder; several threads and programs may use it at once."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = settings.folders().data / "voices" if folder is None else folder
        self._listing = Listing(self.folder)

    # What is there.

    def voices(self) -> tuple[LibraryVoice, ...]:
        """All sound voices, by label."""
        return self._listing.now().voices

    def by_label(self) -> Mapping[str, tuple[LibraryVoice, ...]]:
        """All sound voices by their labels as these are compared (`labels.folded`)."""
        return self._listing.now().by_label

    def broken(self) -> tuple[BrokenVoice, ...]:
        """What lies in the library and is no voice, with the reasons, by name."""
        return self._listing.now().broken

    def find(self, name: str) -> LibraryVoice:
        """The voice of an id or a label, with or without `lib:` before it.

        Raises: VoiceNotFoundError: there is none; InvalidValueError: there are several.
        """
        word = _without_prefix(name) if isinstance(name, str) else ""
        listed = self._listing.now()
        with_id = listed.by_id.get(word)
        if with_id is not None:
            return with_id
        found = listed.by_label.get(folded(word[: 4 * _SHOWN]), ())
        if not found:
            raise self._not_found(str(name), listed.voices)
        if len(found) > 1:
            ids = ", ".join(f"{voice.id} (folder {voice.folder.name!r})" for voice in found)
            raise InvalidValueError(
                f"{len(found)} voices have the label {found[0].label!r}; give the id of one: "
                f"{ids}.",
                param="voice",
            )
        return found[0]

    def has(self, name: str) -> bool:
        """Whether a word means a voice here, or several."""
        try:
            self.find(name)
        except VoiceNotFoundError:
            return False
        except InvalidValueError:
            return True
        return True

    # What changes it. All of it is for one writer at a time.

    def add(self, new: NewVoice, *, id: str | None = None) -> LibraryVoice:  # noqa: A002 - its name
        """The new voice, now in the library; `id` is given for one that had it elsewhere.

        Raises: InvalidValueError: its label or id is taken, or something in it is not allowed;
            DiskFullError, OutputError, WaitError: it cannot be written now.
        """
        record = record_of(new, id or new_id())
        with self.writing():
            if (self.folder / record.id).exists() or self.has(record.id):
                raise InvalidValueError(f"the voice {record.id} is here already.", param="id")
            self._check_label_is_free(record.label)
            with new_folder(self.folder, record.id) as making:
                for name, data in files_of(new, record):
                    (making / name).parent.mkdir(plain_files.OWN_FOLDER, exist_ok=True)
                    plain_files.write_lasting(making / name, data)
        return LibraryVoice(record, self.folder / record.id)

    def edit(
        self,
        name: str,
        *,
        label: str | Unset = UNSET,
        language: str | Unset | None = UNSET,
        notes: str | Unset = UNSET,
        consent: Consent | Unset | None = UNSET,
        transcript: str | Unset | None = UNSET,
        defaults: VoiceDefaults | Unset = UNSET,
    ) -> LibraryVoice:
        """The voice with the changes. `transcript` is the first clip's.

        Raises: VoiceNotFoundError; InvalidValueError: a change is not allowed; ConsentError: it
            would take the consent from a recording; DiskFullError, OutputError, WaitError: it
            cannot be written now.
        """
        if not isinstance(defaults, Unset):
            check_defaults(defaults)
        with self.writing():
            voice = self.find(name)
            old = voice.record
            if not isinstance(language, Unset) and language != old.language:
                check_language(language)
            if not isinstance(consent, Unset):
                check_change(old, consent)
            record = replace(
                old,
                language=_given(language, old.language),
                notes=_given(notes, old.notes),
                consent=_given(consent, old.consent),
                defaults=_given(defaults, old.defaults),
            )
            if not isinstance(label, Unset):
                record = replace(record, label=checked_label(label))
                self._check_label_is_free(record.label, of=voice)
            if not isinstance(transcript, Unset):
                record = _with_transcript(record, transcript)
            if record.clips[:1] != old.clips[:1]:
                take_away(voice.folder / PROMPTS_FOLDER)
            return self._written(voice, record)

    def remove(self, name: str) -> LibraryVoice:
        """The voice that was there: its clips, prompts and previews are gone, and copies of them.

        Raises: VoiceNotFoundError; InvalidValueError: several have the label; OutputError.
        """
        with self.writing():
            voice = self.find(name)
            while (found := self._listing.now().by_id.get(voice.id)) is not None:
                take_away(found.folder)
                self._listing.forget()  # a copy of the folder is the voice now, and goes too
        return voice

    def set_preview(self, name: str, flac: bytes) -> LibraryVoice:
        """The voice with this preview, the bytes of a FLAC file. Raises: as `edit`."""
        with self.writing():
            voice = self.find(name)
            with whole_file(voice.folder / PREVIEW_FILE, plain_files.OWN_FILE) as file:
                file.write(flac)
            return self._written(voice, replace(voice.record, preview=PREVIEW_FILE))

    # What is in a voice.

    def clip(self, voice: LibraryVoice, number: int = 1) -> bytes:
        """The bytes of a clip's FLAC file, counted from 1; they are the ones of the record.

        Raises: VoiceNotFoundError: the voice, or such a clip, is gone; InvalidValueError: the file
            is another one than the record says.
        """
        if not 1 <= number <= len(voice.record.clips):
            raise VoiceNotFoundError(
                f"the voice {voice.label!r} has no clip {number}; it has "
                f"{len(voice.record.clips)}.",
                param="voice",
            )
        clip = voice.record.clips[number - 1]
        data = self._bytes(voice, clip.file)
        if hashlib.sha256(data).hexdigest() != clip.sha256:
            raise InvalidValueError(
                f"the voice {voice.label!r} is damaged: {clip.file} is not the file that "
                f"{RECORD_FILE} speaks of. Import it again, or add the voice anew.",
                param="voice",
            )
        return data

    def preview(self, voice: LibraryVoice) -> bytes | None:
        """The bytes of the preview's FLAC file, or None where the voice has none."""
        return self._bytes(voice, voice.record.preview) if voice.record.preview else None

    def reference(self, voice: LibraryVoice) -> Reference:
        """The first clip's samples [n] with its transcript: what engines speak like.

        Raises: as `clip`; UnreadableAudioError, AudioTooLargeError.
        """
        decoded = decode(self.clip(voice), AudioCaps(max_bytes=MAX_CLIP_BYTES))
        transcript = voice.record.clips[0].transcript
        return Reference(decoded.samples, decoded.sample_rate_hz, transcript)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Runs the block as the only writer; what it finds is what the disk holds now."""
        with writing(self.folder):
            self._listing.forget()  # the disk's clock may be too coarse for two quick changes
            yield

    def cached_prompt(
        self, voice: LibraryVoice, spec: EngineSpec, mode: str = "auto"
    ) -> Voice | None:
        """What the model's engine made of the voice before, or None where it is to be made."""
        return prompts.cached(voice, spec, mode)

    def keep_prompt(self, voice: LibraryVoice, made: Voice, mode: str = "auto") -> None:
        """Nothing; what was made is kept, if the disk takes it. `mode` is how it was asked for."""
        prompts.keep(voice, made, mode)

    def _bytes(self, voice: LibraryVoice, name: str) -> bytes:
        try:
            return plain_files.read_plain(voice.folder / name, MAX_CLIP_BYTES)
        except FileNotFoundError as error:
            raise VoiceNotFoundError(
                f"the voice {voice.label!r} is not in the library any more.", param="voice"
            ) from error
        except OSError as error:
            raise MenuraError(
                f"the voice {voice.label!r} cannot be read: {error.strerror or error}."
            ) from error

    def _written(self, voice: LibraryVoice, record: VoiceRecord) -> LibraryVoice:
        """The voice with a new record, which is on the disk."""
        record = checked(replace(record, edited_on=max(now(), record.made_on)))
        with whole_file(voice.folder / RECORD_FILE, plain_files.OWN_FILE) as file:
            file.write(record.to_json().encode())
        plain_files.tighten(voice.folder)
        plain_files.settle(voice.folder)
        return LibraryVoice(record, voice.folder)

    def _check_label_is_free(self, label: str, *, of: LibraryVoice | None = None) -> None:
        for voice in self.by_label().get(folded(label), ()):
            if of is None or voice.id != of.id:
                raise InvalidValueError(
                    f"there is a voice {voice.label!r} already: give another label, or remove "
                    "that one first.",
                    param="label",
                )

    def _not_found(self, name: str, listed: tuple[LibraryVoice, ...]) -> VoiceNotFoundError:
        labels = [voice.label for voice in listed]
        has = f"it has: {enumerated(labels)}" if labels else "it is empty"
        return VoiceNotFoundError(
            f"there is no voice {name[:_SHOWN]!r} in the voice library; {has}."
            + did_you_mean(_without_prefix(name)[:_SHOWN], labels)
            + " `menura voices list` shows them.",
            param="voice",
        )


def _given(value: _Value | Unset, old: _Value) -> _Value:
    """The value, or the old one where none was given."""
    return old if isinstance(value, Unset) else value


def _without_prefix(name: str) -> str:
    has_prefix = name[: len(LIBRARY_PREFIX)].casefold() == LIBRARY_PREFIX
    return name[len(LIBRARY_PREFIX) :] if has_prefix else name


def _with_transcript(record: VoiceRecord, transcript: str | None) -> VoiceRecord:
    """The record with what is said in its first clip. Raises: InvalidValueError: it has none."""
    if not record.clips:
        raise InvalidValueError(
            f"the voice {record.label!r} has no recording that a transcript could be of.",
            param="transcript",
        )
    first = replace(record.clips[0], transcript=transcript)
    return replace(record, clips=(first, *record.clips[1:]))
