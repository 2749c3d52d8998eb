"""Voices in files: one safetensors file each, with what the voice is and where it comes from.

The arrays are those of the `VoicePrompt`. The header's notes hold one JSON record, versioned by its
`schema`. Nothing of a file runs when it is read, and reading it needs no engine and no torch.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from menura.engines.contract import VoicePrompt
from menura.errors import InvalidValueError, ModelFilesError
from menura.runtime.array_files import (
    ArrayFile,
    array_bytes,
    arrays_of,
    read_arrays,
    write_arrays,
)
from menura.speech import FloatArray, Origin, Voice
from menura.voice_library.labels import LIBRARY_PREFIX

ENDING = ".safetensors"
SCHEMA = 1
MAX_BYTES = 64 * 2**20
_RECORD = "menura_voice"
# The texts of a record, with their longest lengths in characters.
_TEXTS: Mapping[str, int] = {
    "label": 200, "engine": 100, "fingerprint": 100, "mode": 100, "transcript": 20_000,
    "clip_sha256": 64, "consent": 20_000, "made_on": 40,
}  # fmt: skip


def origin_of(samples: FloatArray, consent: str) -> Origin:
    """The origin of a voice that is made today from a clip's samples [n].

    Raises: InvalidValueError: the consent is no text, or too long to be saved.
    """
    if not isinstance(consent, str) or len(consent) > _TEXTS["consent"]:
        raise InvalidValueError(
            f"consent must be a text of at most {_TEXTS['consent']:,} characters.", param="consent"
        )
    digest = hashlib.sha256(samples.astype("<f4").tobytes()).hexdigest()
    return Origin(digest, consent, datetime.now(UTC).date().isoformat())


def save(voice: Voice, path: Path) -> None:
    """Nothing; the voice stands in the file, which ends in `.safetensors`.

    Raises: InvalidValueError: another ending, or a voice that a file cannot hold; OutputError.
    """
    if path.suffix.casefold() != ENDING:
        raise InvalidValueError(
            f"a voice is saved in a file that ends in {ENDING}, not in {str(path)!r}.", param="path"
        )
    write_arrays(path, voice.prompt.arrays, _notes(voice))


def to_bytes(voice: Voice) -> bytes:
    """What `save` writes. Raises: InvalidValueError: a file cannot hold the voice."""
    return array_bytes(voice.prompt.arrays, _notes(voice))


def _notes(voice: Voice) -> Mapping[str, str]:
    """The notes of a voice's file. Raises: InvalidValueError: it cannot hold the voice."""
    prompt, origin = voice.prompt, voice.origin
    record: dict[str, object] = {
        "schema": SCHEMA,
        "label": voice.label,
        "engine": prompt.engine,
        "fingerprint": prompt.fingerprint,
        "mode": prompt.mode,
        "transcript": prompt.transcript,
        "clip_sha256": origin.clip_sha256,
        "consent": origin.consent,
        "made_on": origin.made_on,
    }
    if fault := _fault(record):
        raise InvalidValueError(f"the voice cannot be saved: {fault}.", param="voice")
    return {_RECORD: json.dumps(record)}


def load_voice(path: str | os.PathLike[str]) -> Voice:
    """The voice that `Voice.save` put into a file.

    Raises: InvalidValueError: there is no such file, or it is not a sound saved voice.
    """
    file = Path(path)
    try:
        return _voice(file, read_arrays(file, max_bytes=MAX_BYTES))
    except ModelFilesError as error:
        raise _unreadable(error) from error


def from_bytes(data: bytes, name: Path) -> Voice:
    """The voice in the bytes of a file that `save` wrote; `name` is for messages.

    Raises: InvalidValueError: they are no sound saved voice.
    """
    try:
        return _voice(name, arrays_of(data, name))
    except ModelFilesError as error:
        raise _unreadable(error) from error


def _unreadable(error: ModelFilesError) -> InvalidValueError:
    return InvalidValueError(f"no voice can be read: {error.message}", param="voice")


def _voice(file: Path, found: ArrayFile) -> Voice:
    record = _record(file, found.metadata)
    texts = {name: str(record[name]) for name in _TEXTS}
    prompt = VoicePrompt(
        engine=texts["engine"],
        fingerprint=texts["fingerprint"],
        mode=texts["mode"],
        arrays=found.arrays,
        transcript=None if record["transcript"] is None else texts["transcript"],
    )
    origin = Origin(texts["clip_sha256"], texts["consent"], texts["made_on"])
    return Voice(texts["label"], prompt, origin, writer=save)


def named(name: str) -> str | Voice:
    """What a user's word stands for: the voice of a file where it ends so, else the name itself.

    For words that come from the user's own terminal. A request from elsewhere must not name files.

    Raises: InvalidValueError: it ends so, and no saved voice is there.
    """
    return load_voice(name) if names_file(name) else name


def names_file(name: str) -> bool:
    """Whether a user's word means a file: it ends so, and does not say that it is the library's."""
    word = name.casefold()
    return word.endswith(ENDING) and not word.startswith(LIBRARY_PREFIX)


def _record(path: Path, metadata: Mapping[str, str]) -> Mapping[str, object]:
    """The checked record of a file. Raises: InvalidValueError."""
    try:
        record = json.loads(metadata.get(_RECORD, "null"))
    except (ValueError, RecursionError):  # not JSON, or nested without end
        record = None
    if not isinstance(record, dict):
        raise InvalidValueError(
            f"{path} holds arrays, but no voice: save one with `Voice.save`.", param="voice"
        )
    schema = record.get("schema")
    if type(schema) is int and schema > SCHEMA:
        raise InvalidValueError(
            f"{path} was saved by a newer Menura (voice schema {schema}; this one reads up to "
            f"{SCHEMA}): update Menura, or make the voice again with tts.voice(clip).",
            param="voice",
        )
    if fault := _fault(record):
        raise InvalidValueError(f"{path} is not a sound saved voice: {fault}.", param="voice")
    return record


def _fault(record: Mapping[str, object]) -> str:
    """What is wrong with a record, in words; empty if nothing is."""
    if record.keys() != _TEXTS.keys() | {"schema"}:
        return f"its record must have exactly: schema, {', '.join(_TEXTS)}"
    if type(record["schema"]) is not int or record["schema"] != SCHEMA:
        return f"its schema must be {SCHEMA}"
    for name, longest in _TEXTS.items():
        value = record[name]
        if value is None and name == "transcript":
            continue
        if not isinstance(value, str) or len(value) > longest:
            return f"its {name} must be a text of at most {longest:,} characters"
        if name not in ("transcript", "consent") and not value.isprintable():
            return f"its {name} holds characters that cannot be printed"
        if any("\ud800" <= character <= "\udfff" for character in value):
            return f"its {name} holds halves of characters"
    return ""
