"""From a folder to a voice: what stands in it is checked before a word of it is believed.

A folder that is not sound is no voice; it is left where it is, with the reason and what to do.
"""

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from menura.errors import InvalidValueError, shell_word
from menura.voice_library import plain_files
from menura.voice_library.record import (
    CLIPS_FOLDER,
    PROMPTS_FOLDER,
    RECORD_FILE,
    VoiceRecord,
)

MAX_RECORD_BYTES = 1_000_000
# What could become a voice, though it is none where it lies.
_COULD_BE_IMPORTED = frozenset({
    ".aac", ".aif", ".aiff", ".flac", ".m4a", ".mp3", ".mp4", ".oga", ".ogg", ".opus", ".pt",
    ".safetensors", ".wav", ".webm", ".zip",
})  # fmt: skip

Stamp = tuple[int, ...]


@dataclass(frozen=True)
class LibraryVoice:
    """A sound voice of the library: what is known of it, and the folder that holds it."""

    record: VoiceRecord
    folder: Path

    @property
    def id(self) -> str:
        """The voice's own name, which never changes."""
        return self.record.id

    @property
    def label(self) -> str:
        """The voice's name for people."""
        return self.record.label


@dataclass(frozen=True)
class BrokenVoice:
    """What lies in the library and is no voice: its name there, and why, with what to do.

    `copy_of`: the id of the voice that it is a copy of, or empty.
    """

    name: str
    reason: str
    copy_of: str = ""


def stamp_of(path: str) -> Stamp | None:
    """What changes when a voice's folder does; None where it went away meanwhile."""
    stamp: list[int] = []
    for part in (path, f"{path}{os.sep}{RECORD_FILE}", f"{path}{os.sep}{CLIPS_FOLDER}"):
        try:
            found = os.lstat(part)  # a text, since this runs often: a Path takes five times longer
        except OSError as error:
            stamp.append(-(error.errno or 1))
        else:
            stamp += (found.st_ino, found.st_mtime_ns, found.st_size)
    return None if stamp[0] == -errno.ENOENT else tuple(stamp)


def read_entry(path: Path) -> LibraryVoice | BrokenVoice | None:
    """What an entry of the library is; None where it is nothing that concerns voices, or gone."""
    try:
        if path.is_file() and not path.is_symlink():
            return _stray_file(path)
        if fault := plain_files.fault_of(path, folder=True):
            return BrokenVoice(path.name, f"{fault}: copy the folder itself here.")
        return LibraryVoice(_record(path), path)
    except FileNotFoundError as error:
        return _incomplete(path, error)
    except (InvalidValueError, UnicodeDecodeError) as error:
        return BrokenVoice(path.name, f"{error} Mend it, or remove the folder.")
    except OSError as error:
        reason = f"it cannot be read: {error.strerror or error}. Give yourself the right to."
        return BrokenVoice(path.name, reason)


def _record(folder: Path) -> VoiceRecord:
    """The record of a folder in which all that it names is there."""
    try:
        text = plain_files.read_plain(folder / RECORD_FILE, MAX_RECORD_BYTES).decode("utf-8")
        record = VoiceRecord.from_json(text)
    except InvalidValueError as error:
        raise InvalidValueError(f"{RECORD_FILE}: {error.message}") from error
    folders = [CLIPS_FOLDER] if record.clips else []
    folders += [PROMPTS_FOLDER] if (folder / PROMPTS_FOLDER).exists() else []
    files = [clip.file for clip in record.clips]
    files += [record.preview] if record.preview else []
    if record.consent is not None and record.consent.recording:
        files.append(record.consent.recording)
    for name in folders + files:
        if fault := plain_files.fault_of(folder / name, folder=name in folders):
            raise InvalidValueError(f"{fault}.")
    return record


def _stray_file(path: Path) -> BrokenVoice | None:
    if path.suffix.casefold() not in _COULD_BE_IMPORTED:
        return None
    return BrokenVoice(path.name, f"a file alone is no voice: {_import_it(path)}, then delete it.")


def _incomplete(path: Path, error: FileNotFoundError) -> BrokenVoice | None:
    """The reason for a folder in which something is missing; None where the folder itself is."""
    if not path.is_dir():
        return None
    missing = Path(str(error.filename or RECORD_FILE)).name
    if missing == RECORD_FILE:
        return BrokenVoice(path.name, f"it has no {RECORD_FILE}: {_of_the_folder(path)}.")
    return BrokenVoice(
        path.name,
        f"{missing} is missing, which {RECORD_FILE} names: copy the voice's folder here again, or "
        "remove it.",
    )


def _of_the_folder(path: Path) -> str:
    """What to do with a folder that is no voice: an import copies what is in it."""
    could_be = any(found.suffix.casefold() in _COULD_BE_IMPORTED for found in path.iterdir())
    if not could_be:
        return "nothing in it could become a voice; move the folder elsewhere, or delete it"
    return f"{_import_it(path)}, then delete the folder"


def _import_it(path: Path) -> str:
    return f"make a voice of it with `menura voices import {shell_word(str(path))}`"


def one_for_each_id(
    voices: list[LibraryVoice],
) -> tuple[list[LibraryVoice], list[BrokenVoice]]:
    """The voices with an id of their own, and the copies that have another one's.

    The folder that is named like the id is the voice; among others the one whose record is older.
    """
    owners: dict[str, LibraryVoice] = {}
    copies: list[BrokenVoice] = []
    for voice in sorted(voices, key=_claim):
        owner = owners.setdefault(voice.id, voice)
        if owner is not voice:
            reason = (
                f"it has the same id as the folder {owner.folder.name!r}: delete one of the "
                f"folders, or keep both and {_import_it(voice.folder)}, then delete that one."
            )
            copies.append(BrokenVoice(voice.folder.name, reason, voice.id))
    return list(owners.values()), copies


def _claim(voice: LibraryVoice) -> tuple[bool, int, str]:
    """How good a folder's claim on its id is; the smallest is the best."""
    try:
        written = (voice.folder / RECORD_FILE).lstat().st_mtime_ns
    except OSError:
        written = 0
    return voice.folder.name != voice.id, written, voice.folder.name
