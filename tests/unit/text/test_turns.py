import re

import pytest

from menura.text.plan import segments
from menura.text.turns import last_tag, longest_tag_bytes, with_turns

TAG = r"\[S[12]\]"
LONG = "I have been thinking about this for a long time, and I wanted to tell you something. " * 6


def spoken(text: str) -> list[str]:
    return [segment.text for segment in with_turns(segments(text), TAG)]


def test_a_turn_that_is_cut_goes_on_as_its_speakers() -> None:
    found = spoken(f"[S1] Hi there. [S2] {LONG}[S1] I see.")
    assert len(found) > 2
    assert found[0].startswith("[S1] Hi there. [S2] I have")
    for text, before in zip(found[1:], found, strict=False):
        tag = re.match(TAG, text)
        assert tag is not None
        assert tag.group() in (last_tag(before, TAG), "[S1]")
    assert all(text.startswith("[S2] ") for text in found[1:-1])
    assert found[-1].endswith("[S1] I see.")


def test_a_second_paragraph_of_a_turn_is_the_same_speakers() -> None:
    first, second = spoken("[S2] Alone in a paragraph.\n\nThe second paragraph of the turn.")
    assert first.startswith("[S2] Alone")
    assert second == "[S2] The second paragraph of the turn."


def test_spans_and_durations_stay() -> None:
    text = f"[S2] {LONG}"
    for plain, tagged in zip(segments(text), with_turns(segments(text), TAG), strict=True):
        assert (plain.start, plain.end) == (tagged.start, tagged.end)
        assert plain.expected_s == tagged.expected_s


@pytest.mark.parametrize("text", [LONG, "We met the S2 team. " * 20])
def test_a_text_without_tags_stays_as_it_is(text: str) -> None:
    assert spoken(text) == [segment.text for segment in segments(text)]
    assert longest_tag_bytes(text, TAG) == 0


def test_what_stands_before_the_first_tag_is_nobodys_turn() -> None:
    found = spoken(f"{LONG}\n\n[S2] And now me. {LONG}")
    first_tag = next(i for i, text in enumerate(found) if "[S2]" in text)
    assert first_tag > 0
    assert all(text.startswith("[S2]") for text in found[first_tag:])


def test_a_tag_takes_bytes_of_its_own() -> None:
    assert longest_tag_bytes("[S1] One. [S2] Two.", TAG) == len("[S1] ")
    assert last_tag("[S1] One. [S2] Two.", TAG) == "[S2]"
