"""Recordings in a plain folder, each with what is said in it: anna.wav and anna.txt beside it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from menura.errors import InvalidValueError
from menura.voice_library import plain_files
from menura.voice_library.record import LONGEST_TRANSCRIPT

ENDINGS = frozenset({
    ".aac", ".aif", ".aiff", ".au", ".caf", ".flac", ".m4a", ".mka", ".mkv", ".mov", ".mp3",
    ".mp4", ".oga", ".ogg", ".opus", ".w64", ".wav", ".webm", ".wma",
})  # fmt: skip
MAX_RECORDINGS = 64
MAX_BYTES = 100 * 2**20
_MAX_SEEN = 10_000
_TEXT_ENDING = ".txt"


@dataclass(frozen=True)
class FoundRecording:
    """A recording of a folder: its file, and what is said in it where a text stands beside it."""

    path: Path
    transcript: str | None


def recordings_in(folder: Path) -> tuple[FoundRecording, ...]:
    """The recordings of a folder, by name; links and what is in its folders are left out.

    Raises: InvalidValueError: there is none, there are too many, or a text is not UTF-8 or too
        long; OSError.
    """
    names = sorted(_names(folder))
    found = [name for name in names if Path(name).suffix.casefold() in ENDINGS]
    if not found:
        raise InvalidValueError(
            f"the folder {folder.name!r} holds no recording (such as anna.wav, with what is said "
            f"in it in anna.txt); it holds: {', '.join(names[:8]) or 'nothing'}.",
            param="file",
        )
    if len(found) > MAX_RECORDINGS:
        raise InvalidValueError(
            f"the folder {folder.name!r} holds {len(found)} recordings, and at most "
            f"{MAX_RECORDINGS} are imported at once.",
            param="file",
        )
    stems = [Path(name).stem for name in found]
    if twice := [stem for stem in stems if stems.count(stem) > 1]:
        raise InvalidValueError(
            f"the folder {folder.name!r} holds several recordings {twice[0]!r}: keep one of them.",
            param="file",
        )
    return tuple(recording_at(folder / name) for name in found)


def recording_at(path: Path) -> FoundRecording:
    """The recording of a file, with the text beside it that has its name and ends in .txt.

    Raises: InvalidValueError: the text is not UTF-8, or too long; OSError.
    """
    beside = path.with_suffix(_TEXT_ENDING)
    if not beside.is_file():
        return FoundRecording(path, None)
    try:
        data = plain_files.read_plain(beside, 4 * LONGEST_TRANSCRIPT)
        text = " ".join(data.decode("utf-8-sig").split())
    except UnicodeDecodeError as error:
        raise InvalidValueError(f"{beside.name} is not UTF-8.", param="file") from error
    if len(text) > LONGEST_TRANSCRIPT:
        raise InvalidValueError(
            f"{beside.name} has {len(text):,} characters, over {LONGEST_TRANSCRIPT:,}.",
            param="file",
        )
    return FoundRecording(path, text or None)


def _names(folder: Path) -> Iterator[str]:
    """The names of the plain files in a folder."""
    for n_seen, path in enumerate(folder.iterdir()):
        if n_seen >= _MAX_SEEN:
            raise InvalidValueError(
                f"the folder {folder.name!r} holds over {_MAX_SEEN:,} files: put the recordings "
                "into a folder of their own.",
                param="file",
            )
        if path.is_file() and not path.is_symlink() and not path.name.startswith("."):
            yield path.name
