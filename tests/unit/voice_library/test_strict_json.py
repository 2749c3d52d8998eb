"""A key of a record is what it should be, or an error names it with what is allowed."""

import math
from collections.abc import Callable

import pytest

from menura.errors import InvalidValueError
from menura.voice_library.strict_json import StrictObject, is_plain

TEXT = """{"a": "x", "n": 3, "r": 1.5, "none": null, "in": {"b": "y"}, "list": [{"c": "z"}],
           "plain": {"k": [1, "two"]}}"""


def read() -> StrictObject:
    return StrictObject.parse(TEXT)


def test_each_kind_of_value_is_read() -> None:
    assert read().text("a", 1, pattern="[xy]") == "x"
    assert read().text_or_none("none", 1) is None
    assert read().text_or_none("missing", 1) is None
    assert read().text_or_empty("missing", 1) == ""
    assert read().whole("n", 3, 3) == 3
    assert read().number("r", 1, 2) == 1.5
    assert read().number("missing", 1, 2, default=2.0) == 2.0
    inside = read().section("in")
    assert inside is not None
    assert inside.text("b", 1) == "y"
    assert read().section("none") is None
    assert [entry.text("c", 1) for entry in read().sections("list", 1)] == ["z"]
    assert read().plain_values("plain", 1, 10) == {"k": [1, "two"]}
    assert read().has("a")
    assert not read().has("none")


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        (lambda r: r.text("a", 0), "'a' is \"x\"; it must be a text of at most 0"),
        (lambda r: r.text("a", 9, pattern="y"), "of the form y"),
        (lambda r: r.text("missing", 9), "'missing' is missing"),
        (lambda r: r.text_or_empty("none", 9), "'none' is null"),
        (lambda r: r.whole("r", 0, 9), "a whole number from 0 to 9"),
        (lambda r: r.number("n", 4, 9), "a number from 4 to 9"),
        (lambda r: r.section("a"), "an object or null"),
        (lambda r: r.sections("list", 0), "a list of at most 0 objects"),
        (lambda r: r.sections("plain", 9), "a list of at most 9"),
        (lambda r: r.plain_values("a", 9, 9), "at most 9 entries"),
        (lambda r: r.plain_values("in", 0, 9), "at most 0 entries"),
        (lambda r: r.plain_values("list", 9, 9), "an object"),
        (lambda r: r.expect_only("a"), "'n' is not a key"),
        (lambda r: r.section("in").expect_only("c"), "'in.b' is not a key"),
    ],
)
def test_another_value_is_an_error_that_names_the_key(
    reading: Callable[[StrictObject], object], said: str
) -> None:
    with pytest.raises(InvalidValueError, match=said):
        reading(read())


@pytest.mark.parametrize(
    "text",
    ["", "[]", "3", "{", '{"a": NaN}', '{"a": 1, "a": 2}', '{"a": Infinity}', '{"a": ' * 100_000,
     '{"a": ' + "9" * 5000 + "}"],
)  # fmt: skip
def test_what_is_no_sound_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidValueError, match="JSON") as no:
        StrictObject.parse(text)
    assert len(no.value.message) < 200


def test_half_a_character_is_no_text() -> None:
    with pytest.raises(InvalidValueError, match="must be a text"):
        StrictObject.parse(r'{"a": "\ud800"}').text("a", 9)


def test_a_large_number_is_a_number() -> None:
    with pytest.raises(InvalidValueError, match="must be a number from 0 to 1"):
        StrictObject.parse('{"a": 1e999}').number("a", 0, 1)


@pytest.mark.parametrize(("value", "plain"), [
    (None, True), (True, True), (1, True), (0.5, True), ("x", True), (["x", 1], True),
    ((1, 2), True), (math.inf, False), (math.nan, False), ([["x"]], False), ({"a": 1}, False),
    ("x" * 11, False), ([0] * 11, False), ("\ud800", False), (b"x", False),
])  # fmt: skip
def test_plain_values(value: object, plain: bool) -> None:
    assert is_plain(value, 10) is plain
