import io
import json
import resource
import struct
import subprocess
import sys
import wave
import zipfile
from pathlib import Path

import numpy as np
import pytest

from menura.server.models import frames
from menura.server.models.frames import Frame
from menura.server.voices import workshop, workshop_process
from menura.server.voices.workshop import answer_to
from menura.voice_library import making
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.portable import export
from menura.voice_library.record import Consent, VoiceDefaults
from tests.kept_voices import CONSENT, RATE_HZ, SAID, beeps, flac_of, new_voice


def ask(file: Path, job: str = "make", **given: object) -> Frame:
    head = {"job": job, "file": str(file), "transcript": None, "language": None,
            "transcribe": False, "anyway": False, "require_consent": True, **given}  # fmt: skip
    return Frame(json.loads(json.dumps(answer_to(Frame(head)))))


def written(folder: Path, data: bytes) -> Path:
    file = folder / "upload"
    file.write_bytes(data)
    return file


def refused(answer: Frame) -> tuple[int, str]:
    error = answer.inside("error")
    return error.whole("status"), error.text("code")


def test_a_recording_becomes_a_clip_beside_it(tmp_path: Path) -> None:
    file = written(tmp_path, flac_of(beeps()))
    answer = ask(file, transcript=SAID, language="en")
    assert not answer.has("error"), answer.head
    assert (answer.text("transcript"), answer.text("language")) == (SAID, "english")
    assert answer.whole("sample_rate_hz") == RATE_HZ
    assert 4.0 < answer.number("seconds") < 7.0
    assert (tmp_path / "made.flac").read_bytes().startswith(b"fLaC")


def test_a_recording_is_looked_at_and_nothing_is_kept(tmp_path: Path) -> None:
    answer = ask(written(tmp_path, flac_of(beeps())), "check")
    report = answer.inside("report")
    assert {"seconds", "peak_db", "loudness_lufs", "findings"} <= set(report.head)
    assert "envelope" not in report.head
    for finding in report.all_inside("findings"):
        assert set(finding.head) == {"code", "severity", "says", "do", "spans"}
    assert len(answer.listed("peaks")) == 400
    assert answer.inside("trim").number("end_s") > answer.inside("trim").number("start_s")
    assert [path.name for path in tmp_path.iterdir()] == ["upload"]


def test_what_refuses_a_recording_is_said(tmp_path: Path) -> None:
    silence = np.zeros(3 * RATE_HZ, np.float32)
    answer = ask(written(tmp_path, flac_of(silence)))
    assert refused(answer) == (400, "recording_unfit")
    assert not (tmp_path / "made.flac").exists()


def test_a_consent_in_which_nothing_is_heard_is_none(tmp_path: Path) -> None:
    answer = ask(written(tmp_path, flac_of(np.zeros(6 * RATE_HZ, np.float32))), "keep")
    assert refused(answer) == (400, "recording_unfit")
    assert not (tmp_path / "made.flac").exists()


@pytest.mark.parametrize("given", [None, "", " ", "\u200b"])
def test_a43_a_consent_that_nobody_sees_is_none(tmp_path: Path, given: str | None) -> None:
    voice = VoiceLibrary().add(new_voice(consent=Consent("\u2060", "2026-11-30")))
    file = tmp_path / "upload"
    export(VoiceLibrary(), voice.id, file)
    VoiceLibrary().remove(voice.id)
    assert refused(ask(file, "import", consent=given, label=None)) == (400, "consent_required")
    assert VoiceLibrary().voices() == ()


def test_a_clients_words_are_not_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    voice = VoiceLibrary().add(new_voice(defaults=VoiceDefaults(model="/secret/place")))
    file = tmp_path / "upload"
    export(VoiceLibrary(), voice.id, file)
    VoiceLibrary().remove(voice.id)
    assert not ask(file, "import", consent=None, label=None).has("error")
    [back] = VoiceLibrary().voices()
    assert back.record.defaults.model is None
    assert "secret" not in "".join(capfd.readouterr())


def test_a_consent_is_kept_as_it_was_spoken(tmp_path: Path) -> None:
    assert ask(written(tmp_path, flac_of(beeps())), "keep").head == {}
    assert (tmp_path / "made.flac").read_bytes().startswith(b"fLaC")


def wav(channels: int = 1, rate: int = 16_000, n_bytes: int = 3200, claimed: int = 0) -> bytes:
    head = struct.pack("<4sI4s4sIHHIIHH", b"RIFF", (claimed or n_bytes) + 36 & 0xFFFFFFFF, b"WAVE",
                       b"fmt ", 16, 1, channels, rate, rate * 2 & 0xFFFFFFFF, 2, 16)  # fmt: skip
    return head + struct.pack("<4sI", b"data", (claimed or n_bytes) & 0xFFFFFFFF) + bytes(n_bytes)


PICKLE = (
    b"\x80\x04\x95\x1d\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x8c\x06system\x93\x8c\x02id\x85R."
)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"x", b"not audio at all" * 100, PICKLE, b"PK\x03\x04" + bytes(100),
        b"<?xml version='1.0'?><playlist>", b"#EXTM3U\n/etc/passwd\n", b"ffconcat version 1.0\n",
        wav(channels=0), wav(channels=65_535), wav(rate=0), wav(rate=2**31), wav(n_bytes=2),
        wav(claimed=0xFFFFFFFF), wav(n_bytes=0), b"fLaC" + bytes(10_000), b"OggS" + bytes(10_000),
        b"ID3\x04\x00\x00\x7f\x7f\x7f\x7f" + bytes(1000), b"\x00\x00\x00\x20ftypM4A " + bytes(500),
        b"\x1a\x45\xdf\xa3" + b"\xff" * 1000, b"RIFF\xff\xff\xff\xffWAVE",
    ],
)  # fmt: skip
@pytest.mark.parametrize("job", ["make", "check", "keep", "import"])
def test_a5_a9_a10_what_is_no_recording_is_refused(tmp_path: Path, data: bytes, job: str) -> None:
    file = written(tmp_path, data)
    answer = ask(file, job, consent=None, label=None)
    if job == "check" and not answer.has("error"):  # it can be heard, and the report says how
        assert answer.inside("report").listed("findings")
        return
    if job == "keep" and not answer.has("error"):
        return
    status, _ = refused(answer)
    assert status in (400, 413)
    words = answer.inside("error").text("message")
    assert str(tmp_path) not in words
    assert "Traceback" not in words


def test_a8_hours_of_audio_in_a_small_file_stop_at_the_cap(tmp_path: Path) -> None:
    sink = io.BytesIO()
    with wave.open(sink, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(4_000)
        file.writeframes(b"\x80" * (4_000 * 3600))
    answer = ask(written(tmp_path, sink.getvalue()))
    assert refused(answer)[1] in ("audio_too_large", "recording_unfit")


def test_a_voice_is_taken_along_and_brought_in(tmp_path: Path) -> None:
    voice = VoiceLibrary().add(new_voice())
    file = tmp_path / "upload"
    assert ask(file, "export", voice=voice.id).head == {}
    assert zipfile.is_zipfile(file)
    VoiceLibrary().remove(voice.id)
    answer = ask(file, "import", consent=None, label=None)
    assert answer.texts("ids") == (voice.id,)
    [back] = VoiceLibrary().voices()
    assert (back.label, back.record.consent) == ("Anna", voice.record.consent)
    assert refused(ask(file, "import", consent=None, label=None)) == (400, "invalid_value")


def test_a43_a_voice_that_says_nothing_of_consent_needs_some(tmp_path: Path) -> None:
    voice = VoiceLibrary().add(new_voice(consent=None))
    file = tmp_path / "upload"
    export(VoiceLibrary(), voice.id, file)
    VoiceLibrary().remove(voice.id)
    assert refused(ask(file, "import", consent=None, label=None)) == (400, "consent_required")
    assert VoiceLibrary().voices() == ()
    answer = ask(file, "import", consent=CONSENT, label="Berta")
    assert len(answer.texts("ids")) == 1
    [back] = VoiceLibrary().voices()
    assert back.label == "Berta"
    assert back.record.consent is not None
    assert back.record.consent.text == CONSENT
    VoiceLibrary().remove(back.id)
    assert not ask(file, "import", consent=None, label=None, require_consent=False).has("error")


def test_a4_a_zip_that_climbs_out_leaves_nothing(tmp_path: Path) -> None:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("../../evil.txt", "x")
        archive.writestr("voice.json", "{}")
    answer = ask(written(tmp_path, sink.getvalue()), "import", consent=None, label=None)
    assert refused(answer) == (400, "invalid_value")
    assert VoiceLibrary().voices() == ()
    assert not list(tmp_path.parent.glob("evil.txt"))


def test_a_defect_of_ours_is_told_without_a_clients_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("secret words")

    monkeypatch.setattr(making, "prepare", fail)
    answer = ask(written(tmp_path, b"x"))
    assert refused(answer) == (500, "failure")
    assert "secret" not in str(answer.head)
    told = capsys.readouterr().err
    assert "ValueError" in told
    assert "secret" not in told


def test_memory_without_end_is_the_files_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(making, "prepare", fail)
    assert refused(ask(written(tmp_path, b"x"))) == (413, "audio_too_large")


def run(job: dict[str, object]) -> Frame | None:
    """The answer of the real process, whose input stays open until it has ended by itself."""
    program = workshop_process.PROGRAM
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(frames.pack(job))
        child.stdin.flush()
        return frames.read(io.BytesIO(child.stdout.read()))


def test_the_real_process_answers_and_ends(tmp_path: Path) -> None:
    file = written(tmp_path, flac_of(beeps()))
    job: dict[str, object] = {"job": "make", "file": str(file), "transcript": SAID,
                              "language": None, "transcribe": False, "anyway": False}  # fmt: skip
    answer = run(job)
    assert answer is not None
    assert not answer.has("error"), answer.head
    assert (tmp_path / "made.flac").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only there is memory limited")
def test_the_process_may_take_only_so_much_memory() -> None:
    code = (
        "from menura.server.voices import workshop\n"
        "workshop.limit_resources()\n"
        "try:\n    bytearray(workshop.MAX_MEMORY_BYTES)\n"
        "except MemoryError:\n    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"
    assert resource.getrlimit(resource.RLIMIT_AS)[0] != workshop.MAX_MEMORY_BYTES
