"""What is in the library now, cheap enough to be asked for at every request.

What has been read is kept, and read again only where a folder changed. So a listing costs little
more than asking the disk for the times of its folders.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from menura.errors import MenuraError
from menura.voice_library import folders
from menura.voice_library.folders import BrokenVoice, LibraryVoice, Stamp
from menura.voice_library.labels import folded

_Entry = LibraryVoice | BrokenVoice | None


@dataclass(frozen=True)
class Found:
    """The sound voices by label, and by name what lies beside them and is none.

    `by_label`: the voices of each label as labels are compared; most have one.
    """

    voices: tuple[LibraryVoice, ...] = ()
    broken: tuple[BrokenVoice, ...] = ()
    by_id: Mapping[str, LibraryVoice] = field(default_factory=dict)
    by_label: Mapping[str, tuple[LibraryVoice, ...]] = field(default_factory=dict)


class Listing:
    """The entries of a library's folder as they were read last; threads may share it."""

    def __init__(self, library: Path) -> None:
        self._library = library
        self._lock = Lock()
        self._stamps: dict[str, Stamp] = {}
        self._entries: dict[str, _Entry] = {}
        self._found = Found()

    def now(self) -> Found:
        """What the library holds now. Raises: MenuraError: its folder cannot be read."""
        with self._lock:
            stamps = dict(self._stamped())
            if stamps != self._stamps:
                before, self._stamps = self._stamps, stamps
                self._entries = {
                    name: self._entries[name]
                    if before.get(name) == stamp
                    else folders.read_entry(self._library / name)
                    for name, stamp in stamps.items()
                }
                self._found = _sorted(self._entries.values())
            return self._found

    def forget(self) -> None:
        """Have everything read again at the next time."""
        with self._lock:
            self._stamps, self._entries, self._found = {}, {}, Found()

    def _stamped(self) -> Iterator[tuple[str, Stamp]]:
        """The names in the library that are not hidden, each with what changes when it does."""
        try:
            with os.scandir(self._library) as entries:
                names = sorted(entry.name for entry in entries if entry.name[:1] != ".")
        except FileNotFoundError:
            return
        except OSError as error:
            raise MenuraError(
                f"the voice library {self._library} cannot be read: {error.strerror or error}."
            ) from error
        for name in names:
            if (stamp := folders.stamp_of(f"{self._library}{os.sep}{name}")) is not None:
                yield name, stamp


def _sorted(entries: Iterable[_Entry]) -> Found:
    found = list(entries)
    sound = [entry for entry in found if isinstance(entry, LibraryVoice)]
    broken = [entry for entry in found if isinstance(entry, BrokenVoice)]
    voices, copies = folders.one_for_each_id(sound)
    labelled = sorted((folded(voice.label), voice.id, voice) for voice in voices)
    by_label: dict[str, tuple[LibraryVoice, ...]] = {}
    for label, _, voice in labelled:
        by_label[label] = (*by_label.get(label, ()), voice)
    return Found(
        voices=tuple(voice for _, _, voice in labelled),
        broken=tuple(sorted(broken + copies, key=lambda entry: entry.name)),
        by_id={voice.id: voice for voice in voices},
        by_label=by_label,
    )
