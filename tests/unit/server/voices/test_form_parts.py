import io

import pytest

from menura.server.border.problems import Problem
from menura.server.voices.form_parts import MAX_TEXT_BYTES, FormParts

BOUNDARY = "edge"
TYPE = f"multipart/form-data; boundary={BOUNDARY}"


def part(name: str, content: bytes, more: str = "") -> bytes:
    head = f'--{BOUNDARY}\r\ncontent-disposition: form-data; name="{name}"{more}\r\n\r\n'
    return head.encode() + content + b"\r\n"


def form(*parts: bytes) -> bytes:
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def taken(body: bytes, *, piece: int = 0, most: int = 1000) -> tuple[FormParts, bytes]:
    file = io.BytesIO()
    parts = FormParts(TYPE, "audio", file, most)
    size = piece or len(body) or 1
    for start in range(0, len(body), size):
        parts.take(body[start : start + size])
    return parts, file.getvalue()


def refused(body: bytes, *, most: int = 1000) -> Problem:
    with pytest.raises(Problem) as caught:
        taken(body, most=most)
    return caught.value


@pytest.mark.parametrize("piece", [0, 1, 3, 7, 64])
def test_texts_and_the_file_are_the_same_in_pieces_of_any_size(piece: int) -> None:
    audio = bytes(range(256)) + b"\r\n--edg"
    body = form(part("name", "Änna".encode()), part("audio", audio), part("empty", b""))
    parts, file = taken(body, piece=piece)
    assert parts.texts == {"name": "Änna", "empty": ""}
    assert (file, parts.has_file, parts.is_whole) == (audio, True, True)


@pytest.mark.parametrize(
    "file_name",
    ["../../etc/passwd", "a\nb", "😀" * 70, "x" * 2000, "C:\\\\x.wav", "", "con"],
)
def test_a2_what_the_client_calls_its_file_is_not_looked_at(file_name: str) -> None:
    plain = file_name.replace("\n", "%0A")
    parts, file = taken(form(part("audio", b"abc", f'; filename="{plain}"')))
    assert (parts.texts, file) == ({}, b"abc")


def test_a_text_with_a_file_name_is_a_text_still() -> None:
    parts, file = taken(form(part("name", b"Anna", '; filename="a.txt"')))
    assert (parts.texts, parts.has_file, file) == ({"name": "Anna"}, False, b"")


def test_a_file_over_the_cap_is_refused_where_it_passes_it() -> None:
    problem = refused(form(part("audio", b"x" * 1001)))
    assert (problem.status_code, problem.code, problem.param) == (413, "file_too_large", "audio")
    assert taken(form(part("audio", b"x" * 1000)))[1] == b"x" * 1000


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (form(part("name", b"a"), part("name", b"b")), "the part 'name' twice"),
        (form(part("audio", b"a"), part("audio", b"b")), "the part 'audio' twice"),
        (form(part("", b"a")), "a part without a name"),
        (b"--edge\r\n\r\nx\r\n--edge--\r\n", "a part without a name"),
        (form(part("name", b"\xff")), "not UTF-8 in 'name'"),
        (form(part("\x80", b"a")).replace(b"\xc2\x80", b"\x80"), "not UTF-8 in the name"),
        (form(*(part(f"n{number}", b"") for number in range(33))), "more than 32 parts"),
        (form(part("a", b"x" * MAX_TEXT_BYTES), part("b", b"x")), "texts of more than 64 KiB"),
        (b"not a form", "no multipart/form-data"),
        (b"--edge\r\nbad header\r\n\r\n", "no multipart/form-data"),
        (b"--edge\r\n" + b"x-h: 1\r\n" * 100 + b"\r\n", "no multipart/form-data"),
        (b"--edge\r\nx-h: " + b"1" * 100_000, "no multipart/form-data"),
    ],
)
def test_what_is_no_form_is_refused(body: bytes, words: str) -> None:
    problem = refused(body)
    assert (problem.status_code, problem.code) == (400, "invalid_form")
    assert words in problem.message


@pytest.mark.parametrize("kept", [0, 10, 60])
def test_a_form_that_was_cut_is_not_whole(kept: int) -> None:
    parts, _ = taken(form(part("name", b"Anna"))[:kept])
    assert not parts.is_whole


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary=", ""])
def test_a_form_needs_a_boundary(kind: str) -> None:
    with pytest.raises(Problem, match="boundary"):
        FormParts(kind, "audio", io.BytesIO(), 10)


def test_a_boundary_has_a_longest_length() -> None:
    with pytest.raises(Problem, match="too long"):
        FormParts(f"multipart/form-data; boundary={'x' * 5000}", "audio", io.BytesIO(), 10)
