from pathlib import Path

import pytest

from menura.errors import InvalidValueError, UnreadableAudioError
from menura.server.voices.first_bytes import check_recording, check_voice

SAVED = (100).to_bytes(8, "little") + b'{"__metadata__"'


def written(folder: Path, data: bytes) -> Path:
    (folder / "upload").write_bytes(data)
    return folder / "upload"


@pytest.mark.parametrize(
    "data", [b"fLaC", b"RIFF\0\0\0\0WAVE", b"OggS", b"ID3\x04" + bytes(10_000), b"\xff\xfb\x90"]
)
def test_what_may_be_a_recording_goes_on(tmp_path: Path, data: bytes) -> None:
    check_recording(written(tmp_path, data), "audio_sample")


@pytest.mark.parametrize(
    "data", [b"", b"PK\x03\x04", b"\x80\x04\x95", SAVED, b"#EXTM3U\n", b"text", b"<svg/>"]
)
def test_a5_what_cannot_be_one_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(UnreadableAudioError) as caught:
        check_recording(written(tmp_path, data), "audio_sample")
    assert caught.value.param == "audio_sample"
    assert str(tmp_path) not in caught.value.message


@pytest.mark.parametrize("data", [b"PK\x03\x04", SAVED])
def test_what_may_be_a_voice_goes_on(tmp_path: Path, data: bytes) -> None:
    check_voice(written(tmp_path, data), "file")


@pytest.mark.parametrize("data", [b"", b"fLaC", b"\x80\x04\x95", b"{", b"text of some length"])
def test_a5_what_cannot_be_a_voice_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(InvalidValueError) as caught:
        check_voice(written(tmp_path, data), "file")
    assert caught.value.param == "file"
