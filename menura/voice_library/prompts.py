"""What engines made of a voice, kept in its folder so that each makes it once.

    prompts/<engine>.<fingerprint>.<mode>.<of>.safetensors

`mode` is how it was asked for (`auto`, or a mode of the engine's own), and `of` names the clip and
its transcript. So what is found was made by these very weights of this very recording, whoever has
edited or copied the folder meanwhile. All of it can be made again: a file that is not sound is
passed over, and a disk that takes none costs time alone.
"""

import hashlib
import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from menura.engines.contract import EngineSpec
from menura.errors import InvalidValueError, OutputError
from menura.speech import Voice
from menura.voice_files import ENDING, load_voice, save
from menura.voice_library import plain_files
from menura.voice_library.folders import LibraryVoice
from menura.voice_library.record import PROMPTS_FOLDER, VoiceRecord

_LOG = logging.getLogger(__name__)
_PLAIN = re.compile(r"[0-9A-Za-z_-]{1,100}")
_FORM = re.compile(r"([^.]+)\.([^.]+)\.([^.]+)\.([0-9a-f]{16})" + re.escape(ENDING))


def cached(voice: LibraryVoice, spec: EngineSpec, mode: str = "auto") -> Voice | None:
    """What a model's engine made of the voice before, or None."""
    if not spec.fingerprint:
        return None  # nobody could tell whether it was made with these weights
    found = _read(_path(voice, spec.engine, spec.fingerprint, mode), voice)
    if found is None or found.prompt.engine != spec.engine:
        return None
    return found if found.prompt.fingerprint == spec.fingerprint else None


def keep(voice: LibraryVoice, made: Voice, mode: str = "auto") -> None:
    """Nothing; what was made stands in the voice's folder, if the disk takes it."""
    if not made.prompt.fingerprint:
        return
    path = _path(voice, made.prompt.engine, made.prompt.fingerprint, mode)
    try:
        path.parent.mkdir(plain_files.OWN_FOLDER, exist_ok=True)
        if fault := plain_files.fault_of(path.parent, folder=True):
            raise OutputError(fault)
        save(replace(made, label=voice.id), path)  # a label may hold what a file's record may not
        plain_files.tighten(voice.folder)
    except (OSError, OutputError, InvalidValueError) as error:
        _LOG.warning("what was made of the voice %s is not kept: %s", voice.id, error)


def all_of(voice: LibraryVoice) -> Iterator[tuple[str, Voice]]:
    """Each sound prompt that was made of the voice as it is now, with its mode."""
    folder = voice.folder / PROMPTS_FOLDER
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    for name in names:
        form = _FORM.fullmatch(name)
        if form is not None and form[4] == made_of(voice.record):
            found = _read(folder / name, voice)
            if found is not None:
                yield form[3], found


def _read(path: Path, voice: LibraryVoice) -> Voice | None:
    """The prompt of a file, as a voice with this one's label; None where there is no sound one."""
    try:
        if plain_files.fault_of(path.parent, folder=True) or plain_files.fault_of(path):
            return None
        found = load_voice(path)
    except (OSError, InvalidValueError):
        return None
    return replace(found, label=voice.label)


def _path(voice: LibraryVoice, engine: str, fingerprint: str, mode: str) -> Path:
    return voice.folder / name_of(voice.record, engine, fingerprint, mode)


def name_of(record: VoiceRecord, engine: str, fingerprint: str, mode: str) -> str:
    """The file, inside the voice's folder, of what these weights make of it in this mode."""
    words = ".".join(map(_plain, (engine, fingerprint, mode)))
    return f"{PROMPTS_FOLDER}/{words}.{made_of(record)}{ENDING}"


def _plain(word: str) -> str:
    """The word as a part of a file's name; its digest where it has other characters."""
    return word if _PLAIN.fullmatch(word) else hashlib.sha256(word.encode()).hexdigest()[:16]


def made_of(record: VoiceRecord) -> str:
    """A name for the voice's first clip with its transcript, such as engines are given it."""
    clips = record.clips
    parts = (clips[0].sha256, repr(clips[0].transcript)) if clips else ("", "")
    return hashlib.sha256("/".join(parts).encode()).hexdigest()[:16]
