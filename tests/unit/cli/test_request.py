from pathlib import Path

import pytest

from menura.cli.request import check_reference, options_of, request_of
from menura.cli.say import SayFlags
from menura.errors import InvalidValueError
from menura.speech import SpeechRequest


def test_every_flag_reaches_the_request() -> None:
    flags = SayFlags(
        voice="low", language="en", instruct="softly", seed=7, speed=1.5, split=False, lenient=True,
        option=["top_k=5"],
    )  # fmt: skip
    assert request_of(flags, "Hello.") == SpeechRequest(
        "Hello.", "low", "en", "softly", 7, 1.5, False, False, {"top_k": "5"}
    )


def test_options_keep_all_after_the_first_equals_sign() -> None:
    assert options_of(["top-k=5", " a = b=c"]) == {"top_k": "5", "a": " b=c"}


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (["top_k"], "give -p name=value"),
        (["=5"], "give -p name=value"),
        (["a=1", "a=2"], "'a' is given twice"),
        (["voice=x"], "give --voice"),
        (["strict=no"], "give --lenient"),
    ],
)
def test_options_that_are_none_are_refused(pairs: list[str], words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        options_of(pairs)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (SayFlags(ref=Path("a.wav"), voice="low"), "--voice or --ref, not both"),
        (SayFlags(ref_text="Hello."), "give the recording with --ref"),
        (SayFlags(ref=Path("https://a.org/me.wav")), "'https://a.org/me.wav' is an address"),
        (SayFlags(ref=Path("file:///me.wav")), "addresses are not fetched: download"),
    ],
)
def test_a_reference_goes_with_its_own_flags(flags: SayFlags, words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        check_reference(flags)
