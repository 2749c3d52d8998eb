from pathlib import Path

import pytest

from menura.audio.encoders import FORMATS, format_for
from menura.errors import InvalidValueError


def test_the_seven_formats_and_their_media_types() -> None:
    assert {name: each.media_type for name, each in FORMATS.items()} == {
        "wav": "audio/wav",
        "flac": "audio/flac",
        "mp3": "audio/mpeg",
        "opus": "audio/ogg",
        "aac": "audio/aac",
        "m4a": "audio/mp4",
        "pcm": "audio/pcm",
    }


@pytest.mark.parametrize(
    ("given", "explicit", "expected"),
    [
        ("hello.mp3", None, "mp3"),
        ("HELLO.WAV", None, "wav"),
        ("a.b/x.opus", None, "opus"),
        ("x.ogg", None, "opus"),
        (Path("x.m4a"), None, "m4a"),
        ("mp3", None, "mp3"),
        ("x.mp3", "flac", "flac"),
        ("-", "PCM", "pcm"),
    ],
)
def test_a_format_is_found(given: str | Path, explicit: str | None, expected: str) -> None:
    assert format_for(given, explicit) is FORMATS[expected]


@pytest.mark.parametrize(
    ("given", "explicit", "message"),
    [
        ("x.mp4a", None, r"extension '.mp4a' of 'x.mp4a'.*Did you mean '.mp4'\?"),
        ("speech", None, r"^'speech' does not name an audio format"),
        ("-", None, r"^'-' does not name"),
        ("x.wav", "flak", r"format 'flak' is not one.*wav, flac, mp3.*Did you mean 'flac'\?"),
        ("x.wav", "", r"format '' is not one"),
    ],
)
def test_what_is_no_format_is_refused(given: str, explicit: str | None, message: str) -> None:
    with pytest.raises(InvalidValueError, match=message) as caught:
        format_for(given, explicit)
    assert caught.value.param == "format"
