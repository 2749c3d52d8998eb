"""What a file is, by its first bytes: what cannot be what it should be needs no process to tell."""

from pathlib import Path

from menura.audio.containers import READABLE, sniff
from menura.errors import InvalidValueError, UnreadableAudioError
from menura.voice_library.zip_entries import is_zip

_HEAD_BYTES = 4096
_ID3 = b"ID3"  # a tag before the audio, which may be long
_SAVED_VOICE = slice(8, 9)  # behind the length of a safetensors file's header, which is an object


def check_recording(path: Path, param: str) -> None:
    """Nothing, for a file that may be a recording. Raises: UnreadableAudioError."""
    head = _head(path)
    if not head.startswith(_ID3) and sniff(head) is None:
        raise UnreadableAudioError(
            f"{param} is not in an audio format that can be read: give one of {READABLE}.",
            param=param,
        )


def check_voice(path: Path, param: str) -> None:
    """Nothing, for a file that may be a voice. Raises: InvalidValueError."""
    head = _head(path)
    if not is_zip(head) and head[_SAVED_VOICE] != b"{":
        raise InvalidValueError(
            f"{param} is no voice: give a .voice.zip that Menura exported, or what Voice.save "
            "wrote. A recording becomes one by POST /v1/audio/voices.",
            param=param,
        )


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES)
