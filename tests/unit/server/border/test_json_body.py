import json
from contextlib import suppress
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from menura.server.border.json_body import MAX_DEPTH, OpenBody, parse
from menura.server.border.problems import Problem

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


class Inner(OpenBody):
    """A body inside another."""

    speed: float = 1.0


class Outer(OpenBody):
    """A body with one field that is needed."""

    text: str
    name: str | None = None
    number: Annotated[int, Field(le=5)] = 3
    inner: Inner = Inner()


def test_a_null_is_as_good_as_not_given() -> None:
    nulls = {"text": "a", "name": None, "number": None, "inner": {"speed": None}, "other": None}
    assert Outer.model_validate(nulls) == Outer(text="a")
    with pytest.raises(ValidationError, match="Field required"):
        Outer.model_validate({"text": None})
    assert Outer.model_validate({"text": "a", "other": 1}).model_extra == {"other": 1}


def test_the_schema_says_what_may_be_null() -> None:
    fields = Outer.model_json_schema()["properties"]
    may_be_null = {
        name for name, field in fields.items() if {"type": "null"} in field.get("anyOf", ())
    }
    assert may_be_null == {"name", "number", "inner"}
    assert fields["number"]["anyOf"][0] == {"maximum": 5, "title": "Number", "type": "integer"}
    assert fields["number"]["default"] == 3


def refusal(body: bytes) -> str:
    with pytest.raises(Problem) as caught:
        parse(body)
    assert (caught.value.status_code, caught.value.code) == (400, "invalid_json")
    return caught.value.message


def test_a_plain_body_is_read() -> None:
    body = b'{"input": "Hello \\ud83d\\ude00", "speed": 1.5, "n": [1, true, null]}'
    assert parse(body) == {"input": "Hello \U0001f600", "speed": 1.5, "n": [1, True, None]}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "is not JSON: Expecting value at line 1, column 1"),
        (b"{", "is not JSON"),
        (b"\xff", "is not UTF-8"),
        (b"\xef\xbb\xbf{}", "is not JSON"),
        (b'{"a": 1, "b": 2, "a": 3}', "has the key 'a' twice in one object"),
        (b'{"a": {"b": 1, "b": 1}}', "has the key 'b' twice in one object"),
        (b"NaN", "has NaN, which is no JSON number"),
        (b"[-Infinity]", "has -Infinity"),
        (b"1e400", "has a number that is too large"),
        (b"[" + b"9" * 5000 + b"]", "has a number with too many digits"),
        (b'"\\ud800"', "has half of a surrogate pair"),
        (b'{"\\udc00": 1}', "has half of a surrogate pair"),
        (b"[" * 10_000, "is nested deeper than 32 levels"),
        (b"[" * 100_000 + b"]" * 100_000, "is nested deeper than 32 levels"),
        (b'{"a":' * 40 + b"1" + b"}" * 40, "is nested deeper than 32 levels"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(body: bytes, words: str) -> None:
    assert refusal(body).startswith(f"The body {words}")


def test_the_greatest_depth_is_allowed_and_one_more_is_not() -> None:
    parse(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    refusal(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1))


def test_a_text_in_the_body_is_not_repeated() -> None:
    assert "secret" not in refusal(b'{"input": "secret" "voice": 1}')


@given(JSON_VALUES)
def test_what_json_writes_is_read_back(value: object) -> None:

    assert parse(json.dumps(value).encode()) == value


@given(st.binary(max_size=60))
def test_bytes_are_read_or_refused_and_nothing_else(body: bytes) -> None:
    with suppress(Problem):
        parse(body)
