import pytest

from menura.cli.reports import warnings_of


@pytest.mark.parametrize(
    ("applied", "lines"),
    [
        ({"ignored": {}, "dropped_characters": {}, "voice": "low"}, []),
        ({"ignored": {"language": "not spoken"}}, ["ignored language: not spoken"]),
        (
            {"dropped_characters": {"U+0000 NULL": 2}},
            ["left out of the text, as nothing to be spoken: U+0000 NULL (2x)"],
        ),
        ({"read_without_accent": "ő"}, ["read without their accents: ő"]),
        (
            {"cut_inside_word": [0, 1]},
            ["a run without spaces was too long and was cut, in segments [0, 1]"],
        ),
    ],
)
def test_what_is_not_done_as_asked_is_told(applied: dict[str, object], lines: list[str]) -> None:
    assert warnings_of(applied) == lines
