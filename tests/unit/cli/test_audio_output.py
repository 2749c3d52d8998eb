import io
import os
import threading
from pathlib import Path

import numpy as np
import pytest
import soundfile

from menura.audio.tags import Tags
from menura.cli.audio_output import Target, chosen_target, opened
from menura.cli.say import SayFlags
from menura.errors import InvalidValueError, OutputError
from tests.command_line import Stream

RATE_HZ = 8_000
SAMPLES = np.linspace(-0.5, 0.5, 4_000, dtype=np.float32)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def write(target: Target) -> str | None:
    with opened(target, RATE_HZ, Tags()) as sinks:
        sinks.write(SAMPLES[:1_000])
        sinks.write(SAMPLES[1_000:])
    return sinks.path


def fail_while_writing(target: Target, error: type[BaseException]) -> None:
    with opened(target, RATE_HZ, Tags()) as sinks:
        sinks.write(SAMPLES)
        raise error


def test_files_without_a_name_are_numbered(here: Path) -> None:
    (here / "speech-3.wav").write_text("mine")
    paths = [write(chosen_target(SayFlags())) for _ in range(3)]
    assert paths == ["speech.wav", "speech-2.wav", "speech-4.wav"]
    assert (here / "speech-3.wav").read_text() == "mine"
    assert len(soundfile.read("speech-4.wav")[0]) == len(SAMPLES)


def test_force_without_a_name_writes_over_the_first(here: Path) -> None:
    (here / "speech.mp3").write_text("old")
    assert write(chosen_target(SayFlags(force=True, format="mp3"))) == "speech.mp3"
    assert [path.name for path in here.iterdir()] == ["speech.mp3"]
    assert (here / "speech.mp3").read_bytes()[:3] == b"ID3"


def test_two_at_once_never_take_the_same_name(here: Path) -> None:
    target = chosen_target(SayFlags())
    with opened(target, RATE_HZ, Tags()) as first:
        with opened(target, RATE_HZ, Tags()) as second:
            first.write(SAMPLES)
            second.write(SAMPLES[:80])
        assert second.path == "speech.wav"
    assert first.path == "speech-2.wav"
    assert [len(soundfile.read(name)[0]) for name in ("speech.wav", "speech-2.wav")] == [80, 4_000]


@pytest.mark.parametrize("flags", [SayFlags(), SayFlags(output="a.wav"), SayFlags(force=True)])
def test_nothing_has_the_name_before_the_file_is_whole(flags: SayFlags, here: Path) -> None:
    with opened(chosen_target(flags), RATE_HZ, Tags()) as sinks:
        sinks.write(SAMPLES)
        assert [path.suffix for path in here.iterdir()] == [".part"]
    assert [path.suffix for path in here.iterdir()] == [".wav"]


@pytest.mark.parametrize("flags", [SayFlags(), SayFlags(output="mine.flac")])
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, RuntimeError])
def test_what_fails_leaves_nothing_behind(
    flags: SayFlags, error: type[BaseException], here: Path
) -> None:
    with pytest.raises(error):
        fail_while_writing(chosen_target(flags), error)
    assert list(here.iterdir()) == []


def test_what_fails_with_force_leaves_the_old_file(here: Path) -> None:
    (here / "a.wav").write_text("old")
    target = chosen_target(SayFlags(output="a.wav", force=True))
    with pytest.raises(RuntimeError):
        fail_while_writing(target, RuntimeError)
    assert [(path.name, path.read_text()) for path in here.iterdir()] == [("a.wav", "old")]


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("there.wav", "'there.wav' exists already: write over it with --force"),
        ("folder", "cannot write 'folder': it is a folder"),
        ("folder.wav", "cannot write 'folder.wav': it is a folder"),
        ("", "it is a folder"),
        ("missing/a.wav", "missing' does not exist"),
        ("a.mpp", "Did you mean '.mp4'"),
        ("circle.wav", "'circle.wav' is a link that leads nowhere"),
        ("link.wav", "'link.wav' is a link that leads nowhere: write over it with --force"),
    ],
)
def test_a_bad_name_is_refused_before_anything_is_spoken(
    output: str, words: str, here: Path
) -> None:
    (here / "there.wav").touch()
    (here / "folder").mkdir()
    (here / "folder.wav").mkdir()
    (here / "link.wav").symlink_to("nowhere.wav")
    (here / "circle.wav").symlink_to("circle.wav")
    with pytest.raises(InvalidValueError, match=words):
        chosen_target(SayFlags(output=output))


def test_with_force_a_link_that_leads_nowhere_is_followed(here: Path) -> None:
    (here / "link.wav").symlink_to("real.wav")
    assert write(chosen_target(SayFlags(output="link.wav", force=True))) == "link.wav"
    assert (here / "link.wav").is_symlink()
    assert len(soundfile.read("real.wav")[0]) == len(SAMPLES)


def test_a_name_of_ours_is_no_link_that_leads_nowhere(here: Path) -> None:
    (here / "speech.wav").symlink_to("real.wav")
    assert write(chosen_target(SayFlags())) == "speech-2.wav"
    assert not (here / "real.wav").exists()


def test_a_file_that_appears_meanwhile_is_kept_and_so_is_the_audio(here: Path) -> None:
    target = chosen_target(SayFlags(output="a.wav"))
    (here / "a.wav").write_text("mine")
    with pytest.raises(OutputError, match=r"'a\.wav' was made by another .* in 'a-2\.wav'\."):
        write(target)
    assert (here / "a.wav").read_text() == "mine"
    assert len(soundfile.read("a-2.wav")[0]) == len(SAMPLES)


def test_a_folder_that_went_away_is_told(here: Path) -> None:
    target = chosen_target(SayFlags())
    here.rmdir()
    with pytest.raises(OutputError, match=r"'speech\.wav' could not be written: No such file"):
        write(target)


def test_streaming_needs_a_place_that_streams() -> None:
    for flags in (SayFlags(stream=True), SayFlags(stream=True, output="a.wav")):
        with pytest.raises(InvalidValueError, match=r"give -o - \(into a pipe\) or --play"):
            chosen_target(flags)
    assert chosen_target(SayFlags(stream=True, play=True)).play


@pytest.mark.parametrize(
    ("output", "format_name", "told"),
    [
        ("x.mp3", "wav", "the name 'x.mp3' says mp3, and it holds wav, as --format says."),
        ("x.ogg", "opus", ""),
        ("x.MP3", "mp3", ""),
        ("x.book", "wav", ""),
        ("x", "wav", ""),
        (None, "flac", ""),
    ],
)
def test_a_name_that_says_another_format_is_told(
    output: str | None, format_name: str, told: str
) -> None:
    assert chosen_target(SayFlags(output=output, format=format_name)).misnamed == told


def test_a_closed_standard_output_is_refused_before_anything_is_spoken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(InvalidValueError, match="standard output is closed"):
        chosen_target(SayFlags(output="-"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_device_is_named() -> None:
    with pytest.raises(OutputError, match="'/dev/full' cannot be written: No space left"):
        write(chosen_target(SayFlags(output="/dev/full")))


def test_a_terminal_gets_no_audio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Stream(terminal=True))
    with pytest.raises(InvalidValueError, match="not written to a terminal"):
        chosen_target(SayFlags(output="-"))


@pytest.mark.parametrize(("stream", "data_bytes"), [(False, 8_000), (True, 0xFFFFFFFF)])
def test_stdout_has_its_true_length_unless_it_is_streamed(
    stream: bool, data_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = Stream()
    monkeypatch.setattr("sys.stdout", out)
    with opened(chosen_target(SayFlags(output="-", stream=stream)), RATE_HZ, Tags()) as sinks:
        sinks.write(SAMPLES)
        n_bytes_early = len(out.bytes.getvalue())
    assert (n_bytes_early > 8_000) == stream
    wav = out.bytes.getvalue()
    place = wav.index(b"data") + 4
    assert int.from_bytes(wav[place : place + 4], "little") == data_bytes
    assert len(wav) == place + 4 + 8_000


def test_stdout_takes_any_format(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Stream()
    monkeypatch.setattr("sys.stdout", out)
    write(chosen_target(SayFlags(output="-", format="flac")))
    assert len(soundfile.read(io.BytesIO(out.bytes.getvalue()))[0]) == len(SAMPLES)


def test_a_named_pipe_is_written_to_and_stays_a_pipe(here: Path) -> None:
    os.mkfifo("pipe")
    heard: list[bytes] = []
    reader = threading.Thread(target=lambda: heard.append(Path("pipe").read_bytes()))
    reader.start()
    assert write(chosen_target(SayFlags(output="pipe"))) == "pipe"
    reader.join()
    assert heard[0][:4] == b"RIFF"
    assert len(heard[0]) > 8_000
    assert (here / "pipe").is_fifo()
