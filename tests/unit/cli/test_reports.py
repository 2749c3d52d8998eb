import pytest

from menura.cli.reports import limits_of, warn_of, warnings_of
from menura.speech import FinishReason, SegmentReport


@pytest.mark.parametrize(
    ("applied", "lines"),
    [
        ({"ignored": {}, "dropped_characters": {}, "voice": "low"}, []),
        ({"ignored": {"language": "not spoken"}}, ["ignored language: not spoken"]),
        (
            {"dropped_characters": {"U+0000 NULL": 2}},
            ["left out of the text, as nothing to be spoken: U+0000 NULL (2x)"],
        ),
        ({"read_without_accent": ["ő", "ế"]}, ["read without their accents: ő ế"]),
        ({"settings_not_heeded": {"device": "no"}}, ["the setting device is not heeded: no"]),
        (
            {"voice_defaults": {"speed": 0.9, "left_out": {"instruct": "it takes none"}}},
            ["the voice's own instruct is not used: it takes none"],
        ),
        (
            {"without_effect": ["cfg_scale_speaker: no voice"], "not_continued": ["'A.': long"]},
            [
                "without effect: cfg_scale_speaker: no voice",
                "not gone on from the segment before: 'A.': long",
            ],
        ),
    ],
)
def test_what_is_not_done_as_asked_is_told(applied: dict[str, object], lines: list[str]) -> None:
    assert warnings_of(applied) == lines


@pytest.mark.parametrize(
    ("segments", "words"),
    [
        ([3], "segment 4"),
        ([0, 1], "segments 1, 2"),
        ([0, 1, 2, 3, 9], "segments 1, 2, 3, 4, 10"),
        (list(range(4096)), "4096 segments (1 to 4096)"),
        ([2, 3, 4, 5, 6, 9], "6 segments (between 3 and 10)"),
    ],
)
def test_many_segments_are_counted_and_not_listed(segments: list[int], words: str) -> None:
    assert warnings_of({"cut_inside_word": segments}) == [
        f"a run without spaces was too long and was cut, in {words}"
    ]


@pytest.mark.parametrize(
    ("ends", "lines"),
    [
        ([("stop", ""), ("stop", "")], []),
        (
            [("stop", ""), ("length", "too long")],
            ["segment 2 ended at a limit (too long); another --seed may end by itself"],
        ),
        (
            [("length", "a"), ("length", "b"), ("length", "a")],
            ["segments 1, 2, 3 ended at a limit (a; b); another --seed may end by itself"],
        ),
        ([("length", "")], ["segment 1 ended at a limit; another --seed may end by itself"]),
    ],
)
def test_an_end_at_a_limit_is_told(ends: list[tuple[str, str]], lines: list[str]) -> None:
    segments = [
        SegmentReport("", 0, 0, 0, 0, 1, FinishReason(finish), reason) for finish, reason in ends
    ]
    assert limits_of(segments) == lines


def test_what_was_told_before_is_not_told_again(capsys: pytest.CaptureFixture[str]) -> None:
    early = {"ignored": {"language": "not spoken"}}
    told = warn_of(early)
    assert capsys.readouterr().err == "note: ignored language: not spoken\n"
    warn_of(early | {"read_without_accent": ["ő"]}, told)
    assert capsys.readouterr().err == "note: read without their accents: ő\n"
