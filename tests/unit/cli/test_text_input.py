import codecs
from pathlib import Path

import pytest

from menura.cli.text_input import decoded, read_text
from menura.errors import InvalidValueError
from tests.command_line import Stream


def test_the_argument_is_the_text() -> None:
    assert read_text(["Hello.\n"], None) == "Hello.\n"


def test_an_empty_argument_is_an_empty_text() -> None:
    assert read_text([""], None) == ""


def test_a_closed_standard_input_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(InvalidValueError, match="standard input is closed"):
        read_text(["-"], None)


def test_a_file_keeps_its_line_ends(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes("one\r\ntwo\rthree\n\x00é".encode())
    assert read_text([], file) == "one\r\ntwo\rthree\n\x00é"


@pytest.mark.parametrize("arguments", [(["-"], None), ([], Path("-"))])
def test_a_dash_reads_standard_input(
    arguments: tuple[list[str], Path | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Stream("één".encode()))
    assert read_text(*arguments) == "één"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (codecs.BOM_UTF8 + "é".encode(), "é"),
        (codecs.BOM_UTF16_LE + "é".encode("utf-16-le"), "é"),
        (codecs.BOM_UTF16_BE + "é".encode("utf-16-be"), "é"),
        (b"", ""),
    ],
)
def test_a_byte_order_mark_is_no_text(content: bytes, text: str) -> None:
    assert decoded(content, "it") == text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("café".encode("latin-1"), r"it is not UTF-8 text \(byte 3 is 0xe9\)"),
        (codecs.BOM_UTF16_LE + b"\x00", "it is not UTF-16 text"),
        (b"\xed\xa0\x80", "byte 0 is 0xed"),
    ],
)
def test_other_bytes_are_refused_with_their_place(content: bytes, words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        decoded(content, "it")


@pytest.mark.parametrize(
    ("words", "file", "message"),
    [
        ([], None, "there is no text"),
        (None, None, "there is no text"),
        ([""], Path("a.txt"), "not both"),
        (["a"], Path("a.txt"), "not both"),
        (["hi", "there"], None, "put it in quotes"),
        (["caf\udce9"], None, "bytes that are not UTF-8"),
        ([], Path("missing.txt"), "'missing.txt' cannot be read: No such file"),
    ],
)
def test_no_text_or_too_many_are_errors(
    words: list[str] | None, file: Path | None, message: str
) -> None:
    with pytest.raises(InvalidValueError, match=message):
        read_text(words, file)


def test_a_folder_is_no_text_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="cannot be read: Is a directory"):
        read_text([], tmp_path)
