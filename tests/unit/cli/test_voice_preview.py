from pathlib import Path

import numpy as np
import pytest
import soundfile

from menura.voice_library.library import VoiceLibrary
from menura.voice_library.record import SourceKind, VoiceSource
from tests.command_line import run
from tests.kept_voices import RATE_HZ, beeps, flac_of, kept


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_without_a_preview_it_is_the_recording() -> None:
    kept()
    ran = run("voices", "preview", "anna")
    assert ran.code == 0, ran.stderr
    assert ran.stderr == "Anna  its recording, 3.0 s, preview.flac\n"
    samples, rate_hz = soundfile.read("preview.flac", dtype="float32")
    assert rate_hz == RATE_HZ
    np.testing.assert_allclose(samples, beeps(3.0), atol=2**-15)
    assert run("voices", "preview", "anna").stderr.endswith("preview-2.flac\n")


def test_a_preview_is_preferred() -> None:
    kept(preview=flac_of(beeps(1.0)))
    answer = run("voices", "preview", "Anna", "-o", "a.wav", "--json").answer
    assert (answer["path"], answer["seconds"]) == ("a.wav", 1.0)
    assert soundfile.info("a.wav").frames == RATE_HZ


def test_a_persons_recording_is_not_marked_as_synthetic() -> None:
    kept()
    kept("Drawn", source=VoiceSource(SourceKind.DESIGN, "m", "An old man."))
    for label, is_marked in (("Anna", False), ("Drawn", True)):
        run("voices", "preview", label, "-o", f"{label}.flac")
        assert (b"generator=menura/" in Path(f"{label}.flac").read_bytes()) is is_marked


def test_a_file_that_is_there_stays() -> None:
    kept()
    Path("a.flac").write_text("mine")
    assert run("voices", "preview", "Anna", "-o", "a.flac").code == 2
    assert run("voices", "preview", "Anna", "-o", "a.flac", "--force").code == 0


def test_a_model_speaks_a_new_one_and_it_is_kept() -> None:
    kept("Mine", source=VoiceSource(SourceKind.PRESET, "builtin", preset="heart"))
    ran = run("voices", "preview", "mine", "-m", "builtin")
    assert ran.code == 0, ran.stderr
    library = VoiceLibrary()
    spoken = library.preview(library.find("Mine"))
    assert spoken is not None
    assert Path("preview.flac").exists()
    assert "a new preview, kept with it" in ran.stderr


def test_a_model_that_cannot_changes_nothing() -> None:
    kept()
    assert run("voices", "preview", "Anna", "-m", "builtin").code == 4
    assert VoiceLibrary().find("Anna").record.preview is None
    assert not Path("preview.flac").exists()
