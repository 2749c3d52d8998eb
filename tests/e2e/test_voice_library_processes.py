"""A44: programs that change the voice library at once, and ones that are killed while they do."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from menura.voice_library.library import VoiceLibrary
from tests.kept_voices import new_voice

ROOT = Path(__file__).parents[2]
# Each program is killed right before the last step that makes its change visible, or after it.
KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from menura.voice_library.library import VoiceLibrary
from tests.kept_voices import new_voice

def killed(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

library = VoiceLibrary(Path(sys.argv[1]))
{patch} = killed
{verb}
"""
ADD = 'library.add(new_voice("Ben"))'
EDIT = 'library.edit("Anna", label="Lena", transcript="new")'
PREVIEW = 'library.set_preview("Anna", b"fLaC")'
REMOVE = 'library.remove("Anna")'


def kill_at(patch: str, verb: str, folder: Path) -> None:
    """Run the verb in a program that is killed where it calls what is patched."""
    code = KILLED.format(patch=patch, verb=verb)
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


@pytest.mark.parametrize(
    ("patch", "verb", "labels"),
    [
        ("Path.rename", ADD, ["Anna"]),
        ("os.fsync", ADD, ["Anna"]),
        ("Path.replace", EDIT, ["Anna"]),
        ("os.fsync", EDIT, ["Anna"]),
        ("Path.replace", PREVIEW, ["Anna"]),
        ("Path.rename", REMOVE, ["Anna"]),
        ("shutil.rmtree", REMOVE, []),
    ],
)
def test_a_program_that_is_killed_leaves_the_old_or_the_new(
    patch: str, verb: str, labels: list[str], tmp_path: Path
) -> None:
    library = VoiceLibrary(tmp_path / "voices")
    anna = library.add(new_voice("Anna"))
    kill_at(patch, verb, library.folder)
    assert [voice.label for voice in library.voices()] == labels
    assert library.broken() == ()
    if labels:
        assert library.find(anna.id) == anna
        assert library.reference(anna).sample_rate_hz == 24_000
    library.add(new_voice("Ben"))  # the lock went with the program
    hidden = [path.name for path in library.folder.iterdir() if path.name.startswith(".removing")]
    assert hidden == []


@pytest.mark.slow
def test_two_programs_for_a_minute_lose_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "voices"
    writers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.voice_writer", str(folder), name, "60"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for name in ("first", "second")
    ]
    library, n_listings = VoiceLibrary(folder), 0
    while any(writer.poll() is None for writer in writers):
        assert library.broken() == ()
        library.voices()
        n_listings += 1
    told = []
    for writer in writers:
        out, wrong = writer.communicate(timeout=30)
        assert writer.returncode == 0, wrong.decode()
        told.append(json.loads(out))
    expected = told[0]["left"] | told[1]["left"]
    found = {
        voice.id: [voice.label, voice.record.notes, voice.record.clips[0].transcript]
        for voice in VoiceLibrary(folder).voices()
        if voice.label != "shared"
    }
    assert found == expected
    for voice in library.voices():
        assert library.reference(voice).sample_rate_hz == 24_000
    assert [
        path.name for path in folder.iterdir() if path.name.startswith((".making", ".rem"))
    ] == []
    assert min(told[0]["n_done"], told[1]["n_done"]) > 100
    assert n_listings > 100
