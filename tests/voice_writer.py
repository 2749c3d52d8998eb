"""A program that changes the voice library without rest: `python -m tests.voice_writer`.

It is given a folder, a name of its own, and for how many seconds to go on. At its end it prints
what it left there as JSON: id -> [label, notes, transcript]. Another one of its kind works in the
same folder, and both want the label `shared`.
"""

import json
import random
import sys
import time
from pathlib import Path

from menura.errors import InvalidValueError, VoiceNotFoundError
from menura.voice_library.importing import import_file
from menura.voice_library.library import LibraryVoice, VoiceLibrary
from menura.voice_library.portable import export
from tests.kept_voices import new_voice

MOST = 8


class Writer:
    """What one program does to the library, and what it must find there of its own."""

    def __init__(self, folder: Path, name: str) -> None:
        self.n_done = 0
        self.own: dict[str, LibraryVoice] = {}
        self._library = VoiceLibrary(folder)
        self._name = name
        self._draws = random.Random(name)
        self._file = folder.parent / f"{name}.voice.zip"
        self._new = new_voice()

    def act(self) -> None:
        """Do one thing, then check that all that is its own is as it left it."""
        verbs = [self._add, self._edit, self._remove, self._move, self._want_the_shared_one]
        verb = self._draws.choice(verbs if self.own else verbs[:1])
        verb()
        self.n_done += 1
        found = {voice.id: voice for voice in self._library.voices()}
        for voice in self.own.values():
            assert found[voice.id] == voice, f"{verb.__name__}: {voice} became {found[voice.id]}"
        assert self._library.broken() == (), self._library.broken()

    def _some(self) -> LibraryVoice:
        return self._draws.choice(list(self.own.values()))

    def _add(self) -> None:
        if len(self.own) < MOST:
            label = f"{self._name} {self.n_done}"
            voice = self._library.add(new_voice(label, clips=self._new.clips))
            self.own[voice.id] = voice

    def _edit(self) -> None:
        voice = self._some()
        notes, said = f"notes {self.n_done}", f"said {self.n_done}"
        self.own[voice.id] = self._library.edit(voice.id, notes=notes, transcript=said)

    def _remove(self) -> None:
        voice = self._some()
        del self.own[voice.id]
        self._library.remove(voice.label)

    def _move(self) -> None:
        """Export, remove and import a voice: it comes back under its id."""
        voice = self._some()
        with self._file.open("wb") as file:
            export(self._library, voice.id, file)
        self._library.remove(voice.id)
        [back] = import_file(self._library, self._file.read_bytes())
        assert back.id == voice.id
        self.own[voice.id] = back

    def _want_the_shared_one(self) -> None:
        """Have the label that both want, or take it away from whoever has it."""
        try:
            self._library.add(new_voice("shared", clips=self._new.clips))
        except InvalidValueError:
            try:
                self._library.remove("shared")
            except VoiceNotFoundError:
                return  # the other one was faster


def main() -> None:
    """Change the library for a while, then tell what was left in it."""
    folder, name, seconds = sys.argv[1:]
    writer = Writer(Path(folder), name)
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        writer.act()
    left = {
        voice.id: [voice.label, voice.record.notes, voice.record.clips[0].transcript]
        for voice in writer.own.values()
    }
    sys.stdout.write(json.dumps({"left": left, "n_done": writer.n_done}))


if __name__ == "__main__":
    main()
