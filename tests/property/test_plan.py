"""Any text: the plan loses nothing, keeps its bound, and cuts no word without saying so."""

import unicodedata
from itertools import pairwise

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from menura.errors import NothingToSpeakError
from menura.text.cleaning import clean
from menura.text.graphemes import cluster_starts
from menura.text.plan import Segment, segments, speakable
from menura.text.scripts import WITHOUT_SPACES, script_of

ENGLISH = [
    "Mr. Smith ",
    "3.14",
    "1,984 ",
    "12:30",
    "e.g. ",
    "https://a.b/c?d=e ",
    "word ",
    "a" * 90,
]
MARKS = [", ", ". ", "! ", "... ", "—", "=====", "=", "\n", "\n\n", "\r\n", "- ", "# ", "* * *\n"]
SCRIPTS = [
    "今天天气",
    "，",
    "。",
    "「",
    "」",
    "きゃー",
    "เที่ยว",
    "नमस्ते ",
    "।",
    "مرحبا، ",
    "한국어 ",
    "Привет ",
]
CLUSTERS = ["😄", "\U0001f1eb\U0001f1f7", "👨\u200d👩", "e\u0301", "\u1112\u1161\u11ab", "\u0344"]
ODD = ["\x00", "\u202e", "\ud83d", "\u0338", "\u200b", "\u00a0", "\u2029"]
FRAGMENTS = st.sampled_from([*ENGLISH, *MARKS, *SCRIPTS, *CLUSTERS, *ODD])
ANY_CHARACTER = st.characters(exclude_categories=())
TEXTS = st.lists(FRAGMENTS | ANY_CHARACTER, max_size=60).map("".join)
SIZES = st.tuples(st.integers(5, 200), st.integers(20, 300))


def plan(text: str, target_tenths: int, max_tenths: int) -> list[Segment]:
    try:
        return segments(text, target_s=target_tenths / 10, max_s=max_tenths / 10)
    except NothingToSpeakError:
        assert not speakable(text)
        assume(False)
        raise


def is_spaced_word_character(character: str) -> bool:
    if unicodedata.category(character)[0] == "N":
        return True
    script = script_of(character)
    return script is not None and script not in WITHOUT_SPACES


@settings(max_examples=400, deadline=None)
@given(text=TEXTS, sizes=SIZES)
def test_the_spans_join_to_the_text_and_the_bound_holds(text: str, sizes: tuple[int, int]) -> None:
    planned = plan(text, *sizes)

    assert planned[0].start == 0
    assert planned[-1].end == len(text)
    assert all(a.end == b.start for a, b in pairwise(planned))
    assert all(part.expected_s <= sizes[1] / 10 for part in planned)


@settings(max_examples=400, deadline=None)
@given(text=TEXTS, sizes=SIZES)
@example(text="\x1b@", sizes=(5, 20))
def test_every_segment_is_clean_and_can_be_spoken(text: str, sizes: tuple[int, int]) -> None:
    for part in plan(text, *sizes):
        assert speakable(part.text)
        assert part.text == clean(text[part.start : part.end])[0].strip()
        assert unicodedata.is_normalized("NFC", part.text)
        assert clean(part.text) == (part.text, ())


@settings(max_examples=400, deadline=None)
@given(text=TEXTS, sizes=SIZES)
def test_no_word_or_number_is_cut_unless_it_is_said(text: str, sizes: tuple[int, int]) -> None:
    for part in plan(text, *sizes)[:-1]:
        before, after = text[part.end - 1], text[part.end]
        inside = is_spaced_word_character(before) and is_spaced_word_character(after)
        inside = inside or (
            before in ".,:" and text[part.end - 2 : part.end - 1].isdecimal() and after.isdecimal()
        )
        assert not inside or part.cut_inside_word


@settings(max_examples=200, deadline=None)
@given(text=TEXTS, sizes=SIZES)
def test_a_text_has_one_plan_and_a_pause_after_each_segment_but_the_last(
    text: str, sizes: tuple[int, int]
) -> None:
    planned = plan(text, *sizes)

    assert plan(text, *sizes) == planned
    assert planned[-1].pause_s == 0.0


DENSE = st.lists(FRAGMENTS | ANY_CHARACTER, min_size=20, max_size=60).map(lambda x: "".join(x * 6))


@settings(max_examples=300, deadline=None)
@given(text=DENSE, max_bytes=st.integers(360, 900))
def test_a_limit_of_bytes_holds_and_loses_nothing(text: str, max_bytes: int) -> None:
    assume(speakable(text))
    planned = segments(text, max_s=60, max_bytes=max_bytes)

    assert planned[0].start == 0
    assert planned[-1].end == len(text)
    assert all(a.end == b.start for a, b in pairwise(planned))
    for part in planned:
        assert len(part.text.encode()) <= max_bytes
        assert part.expected_s <= 60
        assert speakable(part.text)
        assert part.text == clean(text[part.start : part.end])[0].strip()


@settings(max_examples=200, deadline=None)
@given(text=TEXTS, sizes=SIZES)
def test_a_limit_of_bytes_that_no_segment_reaches_changes_nothing(
    text: str, sizes: tuple[int, int]
) -> None:
    planned = plan(text, *sizes)
    longest = max(len(part.text.encode()) for part in planned)
    limited = segments(
        text, target_s=sizes[0] / 10, max_s=sizes[1] / 10, max_bytes=max(longest, 360)
    )

    assert limited == planned


@settings(max_examples=300, deadline=None)
@given(text=TEXTS)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    cleaned, _ = clean(text)

    assert clean(cleaned) == (cleaned, ())


@settings(max_examples=300, deadline=None)
@given(text=TEXTS)
def test_graphemes_begin_at_the_start_and_ascend(text: str) -> None:
    starts = cluster_starts(text)

    assert starts[:1] == [0][: len(text)]
    assert starts == sorted(set(starts))
    assert all(
        unicodedata.category(text[start])[0] != "M"
        for start in starts
        if start and text[start - 1] not in "\r\n\x85"
    )
