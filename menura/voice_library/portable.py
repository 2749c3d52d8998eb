"""A voice as one file, NAME.voice.zip: the folder of the library, to be handed on.

    voice.json  clips/1.flac ...  [consent.flac]  [preview.flac]  [prompts/....safetensors]

The same voice gives the same bytes. What comes in is checked to the last sample and number before
anything is written: see `zip_entries` for the file, this module for what is in it.
"""

import hashlib
import io
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from menura import voice_files
from menura.audio.decode import AudioCaps, DecodedAudio, decode
from menura.audio.recording_refusals import refusal
from menura.errors import (
    NO_ROOM,
    AudioTooLargeError,
    DiskFullError,
    InvalidValueError,
    OutputError,
    RecordingError,
    UnreadableAudioError,
    VoiceNotFoundError,
)
from menura.runtime.whole_file import whole_file
from menura.speech import Voice
from menura.voice_library import plain_files, prompts
from menura.voice_library.folders import MAX_RECORD_BYTES, LibraryVoice
from menura.voice_library.library import MAX_CLIP_BYTES, VoiceLibrary
from menura.voice_library.new_voice import NewClip, NewPrompt, NewVoice
from menura.voice_library.record import (
    CLIPS_FOLDER,
    CONSENT_FILE,
    PREVIEW_FILE,
    PROMPTS_FOLDER,
    RECORD_FILE,
    ClipRecord,
    VoiceRecord,
)
from menura.voice_library.zip_entries import (
    MAX_ENTRIES,
    MAX_UNPACKED_BYTES,
    read_entries,
    refused,
)

ENDING = ".voice.zip"
# By the first part of a file's name.
_LARGEST: Mapping[str, int] = {
    RECORD_FILE: MAX_RECORD_BYTES, CLIPS_FOLDER: MAX_CLIP_BYTES, PREVIEW_FILE: MAX_CLIP_BYTES,
    CONSENT_FILE: MAX_CLIP_BYTES, PROMPTS_FOLDER: voice_files.MAX_BYTES,
}  # fmt: skip
MAX_CLIP_SAMPLES = 30_000_000  # 10 minutes at 48 kHz; 120 MB while they are checked
_CAPS = AudioCaps(max_bytes=MAX_CLIP_BYTES, max_seconds=150.0, max_channels=1)
_LENGTH_ERROR_S = 0.05
_MAX_ARRAYS, _MAX_DIMENSIONS, _MAX_NUMBERS = 16, 4, 2**22
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_PLAIN_FILE = 0o100644 << 16
_UNIX = 3


@dataclass(frozen=True)
class Portable:
    """A checked voice from a file: its record there, and what the library takes of it."""

    record: VoiceRecord
    new: NewVoice


def export(
    library: VoiceLibrary, name: str, target: Path | BinaryIO, *, with_prompts: bool = True
) -> LibraryVoice:
    """The voice, after its portable file was written to a path or to an open binary file.

    A path holds the whole file or what it held before. Without prompts it is smaller, and engines
    make them again.

    Raises: VoiceNotFoundError; InvalidValueError: several voices have the name, a clip is damaged,
        or the voice is too large; DiskFullError, OutputError: it cannot be written.
    """
    voice = library.find(name)
    data = _zipped(_contents(library, voice, with_prompts=with_prompts))
    try:
        read_portable(data)
    except (InvalidValueError, RecordingError) as error:
        raise InvalidValueError(
            f"the voice {voice.label!r} cannot be exported, for it could not be imported again: "
            f"{error.message}",
            param="voice",
        ) from error
    try:
        if isinstance(target, Path):
            with whole_file(target) as file:
                file.write(data)
        else:
            target.write(data)
    except OSError as error:
        kind = DiskFullError if error.errno in NO_ROOM else OutputError
        raise kind(
            f"the file of the voice could not be written: {error.strerror or error}. What stood "
            "under its name is as it was; make room or choose another folder, and try again.",
            param="path",
        ) from error
    return voice


def read_portable(source: Path | bytes) -> Portable:
    """The voice of a portable file, checked whole; nothing is written.

    Raises: InvalidValueError: it is none, or something in it is not sound; RecordingError: no voice
        could be made of a recording in it.
    """
    try:
        if isinstance(source, bytes):
            return _checked(read_entries(io.BytesIO(source), _LARGEST))
        with source.open("rb") as file:
            return _checked(read_entries(file, _LARGEST))
    except OSError as error:
        raise InvalidValueError(
            f"{str(source)!r:.200} cannot be read: {error.strerror or error}.", param="file"
        ) from error


def of_folder(voice: LibraryVoice) -> Portable:
    """The voice of a folder that need not be in a library, checked as a portable file is.

    Raises: InvalidValueError: something in it is not sound; VoiceNotFoundError: a file went away.
    """
    outside = VoiceLibrary(voice.folder.parent)
    return _checked(_contents(outside, voice, with_prompts=True))


def _contents(
    library: VoiceLibrary, voice: LibraryVoice, *, with_prompts: bool
) -> dict[str, bytes]:
    """The files of a voice by name, the record first."""
    record = voice.record
    contents = {RECORD_FILE: record.to_json().encode()}
    for number, clip in enumerate(record.clips, start=1):
        contents[clip.file] = library.clip(voice, number)
    if (preview := library.preview(voice)) is not None:
        contents[PREVIEW_FILE] = preview
    if record.consent is not None and record.consent.recording:
        contents[CONSENT_FILE] = _read(voice, record.consent.recording)
    if sum(map(len, contents.values())) > MAX_UNPACKED_BYTES:
        raise refused(f"the voice has over {MAX_UNPACKED_BYTES:,} bytes")
    if with_prompts or not record.clips:
        contents |= _made(voice, MAX_UNPACKED_BYTES - sum(map(len, contents.values())))
    return contents


def _read(voice: LibraryVoice, name: str) -> bytes:
    try:
        return plain_files.read_plain(voice.folder / name, MAX_CLIP_BYTES)
    except OSError as error:
        raise VoiceNotFoundError(
            f"the voice {voice.label!r} has no {name} any more.", param="voice"
        ) from error


def _made(voice: LibraryVoice, room: int) -> dict[str, bytes]:
    """What engines made of the voice, as much as there is room for in a portable file."""
    found: dict[str, bytes] = {}
    for mode, made in prompts.all_of(voice):
        of = made.prompt
        data = voice_files.to_bytes(replace(made, label=voice.id))  # as it is kept
        if len(data) <= room and len(found) < MAX_ENTRIES // 2:
            found[prompts.name_of(voice.record, of.engine, of.fingerprint, mode)] = data
            room -= len(data)
    return found


def _zipped(contents: Mapping[str, bytes]) -> bytes:
    """The zip file of the contents, in which nothing depends on the day or the machine."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, data in contents.items():
            entry = zipfile.ZipInfo(name, _NO_TIME)
            entry.create_system = _UNIX
            entry.external_attr = _PLAIN_FILE
            archive.writestr(entry, data)
    return made.getvalue()


def _checked(contents: Mapping[str, bytes]) -> Portable:
    """The voice of these files, in which every one is what the record says."""
    record = _record(contents)
    made = {name: data for name, data in contents.items() if name.startswith(PROMPTS_FOLDER)}
    files = [RECORD_FILE, *(clip.file for clip in record.clips)]
    files += [record.preview] if record.preview else []
    files += [CONSENT_FILE] if record.consent is not None and record.consent.recording else []
    if missing := [name for name in files if name not in contents]:
        raise refused(f"{missing[0]} is missing, which {RECORD_FILE} names")
    if strange := contents.keys() - {*files, *made}:
        raise refused(f"{min(strange)!r} in it is no file that {RECORD_FILE} names")
    if not record.clips and not made:
        raise refused("it has neither a recording nor what an engine made of one")
    return Portable(record, _new_voice(record, contents, made))


def _new_voice(
    record: VoiceRecord, contents: Mapping[str, bytes], made: Mapping[str, bytes]
) -> NewVoice:
    other = {name: contents.get(name) for name in (PREVIEW_FILE, CONSENT_FILE)}
    for name, data in other.items():
        if data is not None:
            _check_flac(name, data, _CAPS)
    return NewVoice(
        label=record.label,
        clips=tuple(_clip(clip, contents[clip.file]) for clip in record.clips),
        source=record.source,
        consent=record.consent,
        language=record.language,
        notes=record.notes,
        defaults=record.defaults,
        preview=other[PREVIEW_FILE],
        consent_recording=other[CONSENT_FILE],
        prompts=tuple(_prompts(record, made)),
        made_on=record.made_on,
    )


def _record(contents: Mapping[str, bytes]) -> VoiceRecord:
    if RECORD_FILE not in contents:
        raise refused(f"it has no {RECORD_FILE}")
    try:
        return VoiceRecord.from_json(contents[RECORD_FILE].decode("utf-8"))
    except UnicodeDecodeError as error:
        raise refused(f"its {RECORD_FILE} is not UTF-8") from error
    except InvalidValueError as error:
        raise refused(f"in its {RECORD_FILE}, {error.message.rstrip('.')}") from error


def _clip(clip: ClipRecord, flac: bytes) -> NewClip:
    """The clip of the record, whose bytes are its own, as long as it says, and fit for a voice."""
    if hashlib.sha256(flac).hexdigest() != clip.sha256:
        raise refused(f"{clip.file} is not the recording that {RECORD_FILE} speaks of")
    if clip.seconds * clip.sample_rate_hz > MAX_CLIP_SAMPLES:
        raise refused(f"{clip.file} is longer than a voice's recording can be")
    caps = AudioCaps(
        max_bytes=MAX_CLIP_BYTES,
        max_seconds=clip.seconds + _LENGTH_ERROR_S,
        max_channels=1,
        max_rate_hz=clip.sample_rate_hz,
    )
    found = _check_flac(clip.file, flac, caps)
    is_as_long = abs(found.seconds - clip.seconds) <= _LENGTH_ERROR_S
    if found.sample_rate_hz != clip.sample_rate_hz or not is_as_long:
        raise refused(f"{clip.file} is not as long as {RECORD_FILE} says, or has another rate")
    if fault := refusal(found.samples, found.sample_rate_hz):
        raise RecordingError(
            f"{clip.file} in it cannot be a voice's recording. {fault.says} {fault.do}",
            param="file",
        )
    return NewClip(flac, clip.transcript, clip.seconds, clip.sample_rate_hz)


def _check_flac(name: str, flac: bytes, caps: AudioCaps) -> DecodedAudio:
    """The audio of a FLAC file that was decoded to its end."""
    try:
        found = decode(flac, caps)
    except (UnreadableAudioError, AudioTooLargeError) as error:
        raise refused(f"{name} in it is damaged, longer than it says, or not mono") from error
    if found.container != "flac":
        raise refused(f"{name} in it is {found.container}, not flac")
    return found


def _prompts(record: VoiceRecord, made: Mapping[str, bytes]) -> Iterator[NewPrompt]:
    """What engines made of the voice: of this very recording, and sound as far as can be told."""
    for name, data in made.items():
        try:
            found = voice_files.from_bytes(data, Path(name))
        except InvalidValueError as error:
            raise refused(f"{name} in it is not sound ({error.message.rstrip('.')})") from error
        of = found.prompt
        mode = name.rpartition("/")[2].split(".")[-3:][0]
        if name != prompts.name_of(record, of.engine, of.fingerprint, mode) or not of.fingerprint:
            raise refused(f"{name} in it was made of another recording, or is named wrongly")
        check_arrays(found, name)
        yield NewPrompt(mode, found)


def check_arrays(voice: Voice, name: str) -> None:
    """Nothing, for arrays of a number and shape such as engines make of a recording.

    Raises: InvalidValueError. What an engine really takes it checks when it speaks.
    """
    arrays = voice.prompt.arrays
    if not 1 <= len(arrays) <= _MAX_ARRAYS:
        raise refused(f"{name} has {len(arrays)} arrays, and from 1 to {_MAX_ARRAYS} are allowed")
    for key, array in arrays.items():
        if array.ndim > _MAX_DIMENSIONS or not 1 <= array.size <= _MAX_NUMBERS:
            raise refused(f"in {name}, {key!r:.60} has the shape {list(array.shape)!s:.60}")
