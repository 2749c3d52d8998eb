from typing import cast

import pytest

from menura.audio.findings import Severity
from menura.errors import InvalidValueError
from menura.text.duration import expected_seconds
from menura.voice_library.record import LONGEST_TRANSCRIPT
from menura.voice_library.transcripts import DIFFERS, TOO_LONG, TOO_SHORT, check, differs, plain

TEXT = "Once upon a time, in a village by the sea, there lived an old man with a dog."
LONG_S = expected_seconds(TEXT)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, None),
        ("", None),
        (" \n\t ", None),
        ("\x00\u202e\x1b[31m", None),
        ("  Two\n lines. ", "Two lines."),
        ("Cafe\u0301 \u202eolé\x07", "Café olé"),
        ("a" * LONGEST_TRANSCRIPT, "a" * LONGEST_TRANSCRIPT),
    ],
)
def test_a_transcript_is_kept_on_one_line_without_what_is_no_text(
    given: str | None, kept: str | None
) -> None:
    assert plain(given) == kept


@pytest.mark.parametrize("given", ["a" * (LONGEST_TRANSCRIPT + 1), b"bytes", 7])
def test_what_is_no_transcript_is_an_error(given: object) -> None:
    with pytest.raises(InvalidValueError, match="at most 20,000 characters") as caught:
        plain(cast("str", given))
    assert caught.value.param == "transcript"


@pytest.mark.parametrize(
    ("heard_s", "expected"),
    [
        (LONG_S, []),
        (LONG_S / 0.61, []),
        (LONG_S / 2.19, []),
        (LONG_S / 0.59, [(TOO_SHORT, Severity.WARN)]),
        (LONG_S / 0.39, [(TOO_SHORT, Severity.REFUSE)]),
        (LONG_S / 2.21, [(TOO_LONG, Severity.WARN)]),
        (LONG_S / 2.51, [(TOO_LONG, Severity.REFUSE)]),
        (0.0, [(TOO_LONG, Severity.REFUSE)]),
    ],
)
def test_a_transcript_must_take_as_long_as_the_speech(
    heard_s: float, expected: list[tuple[str, Severity]]
) -> None:
    assert [(finding.code, finding.severity) for finding in check(TEXT, heard_s)] == expected


def test_words_that_nobody_speaks_are_too_short() -> None:
    [finding] = check("...", 5.0)
    assert (finding.code, finding.severity) == (TOO_SHORT, Severity.REFUSE)


def test_a_missing_transcript_is_only_good_to_know() -> None:
    [finding] = check(None, 5.0)
    assert (finding.code, finding.severity) == ("no_transcript", Severity.NOTE)


def test_what_was_heard_is_told_but_not_at_any_length() -> None:
    assert "“So it was.”" in differs("So it was.").says
    assert differs("a" * 5_000).says.endswith("aaa…”")
    assert differs("x").code == DIFFERS
    assert differs("x").severity is Severity.WARN
