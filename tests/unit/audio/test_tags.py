from menura.audio.tags import MARK_FIELD, Tags, read_mark, synthetic_mark

MARK = synthetic_mark("menura/0.1.0", model="builtin", voice="heart")


def test_a_mark_is_one_readable_line() -> None:
    assert MARK == (
        "synthetic=1; generator=menura/0.1.0; digital_source_type=trainedAlgorithmicMedia; "
        "model=builtin; voice=heart"
    )


def test_a_mark_is_found_below_a_comment() -> None:
    found = read_mark(Tags(comment="chapter 1\nof 3", synthetic=MARK).fields()["comment"])
    assert found is not None
    assert (found["generator"], found["voice"]) == ("menura/0.1.0", "heart")


def test_a_detail_cannot_forge_or_end_a_mark() -> None:
    found = read_mark(synthetic_mark("menura", voice="a; synthetic=0\nx=y"))
    assert found is not None
    assert found["synthetic"] == "1"
    assert found["voice"] == "a  synthetic 0 x y"


def test_text_without_a_mark_has_none() -> None:
    assert read_mark("synthetic music; 1") is None
    assert read_mark("") is None


def test_empty_fields_are_left_out() -> None:
    assert Tags(title="T").fields() == {"title": "T"}
    assert Tags().fields() == {}


def test_the_mark_stands_in_the_comment_and_alone() -> None:
    assert Tags(synthetic=MARK).fields() == {"comment": MARK, MARK_FIELD: MARK}


def test_nul_is_dropped() -> None:
    assert Tags(title="a\0b").fields() == {"title": "ab"}
