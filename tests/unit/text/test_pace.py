import pytest

from menura.text.duration import expected_seconds
from menura.text.pace import DOUBTFUL, IMPOSSIBLE, pace

TEXT = "This is a sentence that takes about as long as it takes."


def test_a_transcript_that_takes_as_long_as_the_speech_has_the_pace_one() -> None:
    assert pace(TEXT, expected_seconds(TEXT)) == 1.0
    assert pace(TEXT, expected_seconds(TEXT) / 2) == 2.0
    assert pace("!", 3.0) == 0.0


def test_no_speech_at_all_is_no_division_by_nothing() -> None:
    assert pace(TEXT, 0.0) == pytest.approx(expected_seconds(TEXT) / 0.02)


def test_what_is_impossible_is_doubtful_too() -> None:
    assert IMPOSSIBLE[0] < DOUBTFUL[0] < 1 < DOUBTFUL[1] < IMPOSSIBLE[1]
