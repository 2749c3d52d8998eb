import json
from collections.abc import Callable
from pathlib import Path

import pytest

from menura.errors import ModelFilesError
from menura.runtime.json_fields import MAX_FILE_BYTES, Fields, read_fields


def _fields(tmp_path: Path, **values: object) -> Fields:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(values), "utf-8")
    return read_fields(path)


def test_values_are_read_in_their_types(tmp_path: Path) -> None:
    found = _fields(
        tmp_path, n=3, x=0.5, one=1, on=True, kind="a", sizes=[1, 2], ids={"a": 1}, inner={"n": 4}
    )
    assert found.whole("n", 0, 10) == 3
    assert found.number("x", 0, 1) == 0.5
    assert isinstance(found.number("one", 0, 1), float)
    assert found.flag("on") is True
    assert found.word("kind", "a", "b") == "a"
    assert found.wholes("sizes", 1, 2) == (1, 2)
    assert dict(found.ids("ids", 2)) == {"a": 1}
    assert found.section("inner").whole("n", 0, 10) == 4
    assert found.text("kind") == "a"
    assert found.text("none") is None


def test_a_missing_or_null_key_takes_its_default(tmp_path: Path) -> None:
    found = _fields(tmp_path, n=None)
    assert found.whole("n", 0, 10, default=7) == 7
    assert found.number("x", 0, 1, default=0.5) == 0.5
    assert found.flag("on", default=False) is False
    assert found.wholes("sizes", 1, 9, default=(5,)) == (5,)
    assert dict(found.ids("n", 2)) == {}


@pytest.mark.parametrize(
    ("values", "read", "message"),
    [
        ({}, lambda f: f.whole("n", 0, 9), "'n' is missing; it must be a whole number from 0 to 9"),
        ({"n": 10}, lambda f: f.whole("n", 0, 9), "'n' is 10; it must be a whole number from 0"),
        ({"n": True}, lambda f: f.whole("n", 0, 9), "'n' is true"),
        ({"n": 2.0}, lambda f: f.whole("n", 0, 9), r"'n' is 2\.0"),
        ({"n": "3"}, lambda f: f.whole("n", 0, 9), "'n' is \"3\""),
        ({"x": float("nan")}, lambda f: f.number("x", 0, 1), "'x' is NaN"),
        ({"x": True}, lambda f: f.number("x", 0, 1), "'x' is true"),
        ({"x": 1.1}, lambda f: f.number("x", 0, 1), "a number from 0 to 1"),
        ({"on": 1}, lambda f: f.flag("on"), "true or false"),
        ({"kind": ["a"]}, lambda f: f.word("kind", "a", "b"), "it must be 'a' or 'b'"),
        ({"kind": "c"}, lambda f: f.word("kind", "a", "b"), "'kind' is \"c\""),
        ({"sizes": []}, lambda f: f.wholes("sizes", 1, 2), "a list of 1 to 64 whole numbers"),
        ({"sizes": [1, 3]}, lambda f: f.wholes("sizes", 1, 2), "'sizes' is"),
        ({"sizes": [1] * 65}, lambda f: f.wholes("sizes", 1, 2), "'sizes' is"),
        ({"ids": {"a": 2}}, lambda f: f.ids("ids", 2), "names with ids from 0 to 1"),
        ({"ids": [1]}, lambda f: f.ids("ids", 2), "an object with at most"),
        ({"inner": 1}, lambda f: f.section("inner"), "an object"),
        ({"inner": {}}, lambda f: f.section("inner").flag("on"), "'inner.on' is missing"),
        ({"kind": "x" * 201}, lambda f: f.text("kind"), "a text of at most 200 characters"),
        ({"act": "relu"}, lambda f: f.expect(act="silu"), 'must be "silu", the only value'),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(
    values: dict[str, object], read: Callable[[Fields], object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelFilesError, match=message) as raised:
        read(_fields(tmp_path, **values))
    assert str(tmp_path / "config.json") in raised.value.message


def test_what_is_expected_may_be_missing(tmp_path: Path) -> None:
    _fields(tmp_path, act="silu").expect(act="silu", window=None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "not valid JSON"),
        (b"[1]", "holds no JSON object"),
        (b"\xff\xfe", "not valid JSON"),
        (b'{"a":' * 100_000, "not valid JSON"),
        (b" " * (MAX_FILE_BYTES + 1), "larger than 1,000,000 bytes"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(
    text: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_bytes(text)
    with pytest.raises(ModelFilesError, match=message):
        read_fields(tmp_path / "config.json")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFilesError, match=r"config\.json cannot be read"):
        read_fields(tmp_path / "config.json")
