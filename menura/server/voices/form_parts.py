"""The parts of a multipart form as they come: one file, which goes to the disk, and small texts.

The file is the part that has the name which it must have. What a client calls its file is never
looked at.
"""

from typing import BinaryIO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from menura.server.border.problems import Problem

MAX_TEXT_BYTES = 64 * 1024
"""The most bytes of all texts of a form."""

_MAX_PARTS = 32
_SHOWN = 60  # characters of a given name in an error


class FormParts:
    """What a form has brought so far: `texts` by their names, and bytes that went to the file."""

    def __init__(self, content_type: str, file_field: str, file: BinaryIO, most: int) -> None:
        """Ready for the first piece. `most`: bytes of the file. Raises: Problem: no boundary."""
        self.texts: dict[str, str] = {}
        self.has_file = False
        self.is_whole = False
        self._file_field = file_field
        self._file = file
        self._most = most
        self._n_file_bytes = 0
        self._n_text_bytes = 0
        self._n_parts = 0
        self._name = ""
        self._text = bytearray()
        self._header = bytearray()
        self._value = bytearray()
        self._disposition = b""
        self._parser = self._parser_of(content_type)

    def take(self, piece: bytes) -> None:
        """Nothing, after the piece was read. Raises: Problem: it is wrong, or too much."""
        try:
            self._parser.write(piece)
        except FormParserError:
            raise wrong_form("is no multipart/form-data") from None

    def _parser_of(self, content_type: str) -> MultipartParser:
        _, options = parse_options_header(content_type)
        if not options.get(b"boundary"):
            raise wrong_form("has no boundary in its content type")
        try:
            return MultipartParser(
                options[b"boundary"],
                {
                    "on_part_begin": self._begin,
                    "on_header_field": self._on_header_name,
                    "on_header_value": self._on_header_value,
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._name_part,
                    "on_part_data": self._on_data,
                    "on_part_end": self._end_part,
                    "on_end": self._end,
                },
            )
        except FormParserError:
            raise wrong_form("has a boundary that is too long") from None

    # What the parser calls, in this order for each part.

    def _begin(self) -> None:
        self._n_parts += 1
        if self._n_parts > _MAX_PARTS:
            raise wrong_form(f"has more than {_MAX_PARTS} parts")
        self._disposition = b""
        self._text.clear()

    def _on_header_name(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = bytes(self._value)
        self._header.clear()
        self._value.clear()

    def _name_part(self) -> None:
        _, options = parse_options_header(self._disposition)
        name = _text_of(options.get(b"name", b""), "the name of a part")
        if not name:
            raise wrong_form("has a part without a name")
        is_file = name == self._file_field
        if name in self.texts or (is_file and self.has_file):
            raise wrong_form(f"has the part {name[:_SHOWN]!r} twice")
        self._name = name
        self.has_file = self.has_file or is_file

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        if self._name == self._file_field:
            self._n_file_bytes += end - start
            if self._n_file_bytes > self._most:
                raise Problem(
                    413,
                    "file_too_large",
                    f"{self._name} is too large: at most {self._most / 1e6:g} MB are taken.",
                    param=self._name,
                )
            self._file.write(memoryview(data)[start:end])
            return
        self._n_text_bytes += end - start
        if self._n_text_bytes > MAX_TEXT_BYTES:
            raise wrong_form(f"has texts of more than {MAX_TEXT_BYTES // 1024} KiB")
        self._text += data[start:end]

    def _end_part(self) -> None:
        if self._name != self._file_field:
            self.texts[self._name] = _text_of(bytes(self._text), repr(self._name[:_SHOWN]))

    def _end(self) -> None:
        self.is_whole = True


def _text_of(data: bytes, what: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise wrong_form(f"is not UTF-8 in {what}") from None


def wrong_form(words: str) -> Problem:
    """The problem of a form, from what it has or is."""
    return Problem(400, "invalid_form", f"The form {words}.")
