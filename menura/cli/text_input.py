"""Where the text to speak comes from: the command line, a file, or standard input."""

import codecs
import sys
from collections.abc import Sequence
from pathlib import Path

from menura.cli.terminal import check_open
from menura.errors import InvalidValueError, shell_word

STANDARD_INPUT = "-"
_TWO_BYTE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_text(words: Sequence[str] | None, file: Path | None) -> str:
    """The text as it stands there, line ends and all; a byte order mark is not part of it.

    `words` are the arguments; no argument and an empty one are told apart. Raises:
    InvalidValueError: two sources or none, what cannot be read, or bytes that are not UTF-8.
    """
    words = list(words or ())
    if file is not None and words:
        raise InvalidValueError("give the text or --file, not both.", param="text")
    if file is not None and str(file) != STANDARD_INPUT:
        return decoded(_bytes_of(file), f"the file {str(file)!r}")
    if file is not None or words == [STANDARD_INPUT]:
        check_open("stdin")
        return decoded(sys.stdin.buffer.read(), "standard input")
    if not words:
        raise InvalidValueError(
            "there is no text: give it in quotes, as --file FILE, or - to read standard input.",
            param="text",
        )
    if len(words) > 1:
        raise InvalidValueError(
            f"the text is {len(words)} arguments: put it in quotes, as in "
            f"menura say {shell_word(f'{words[0]} {words[1]} ...')}.",
            param="text",
        )
    if any("\ud800" <= character <= "\udfff" for character in words[0]):
        raise InvalidValueError(
            "the text holds bytes that are not UTF-8: put it into a UTF-8 file and give --file.",
            param="text",
        )
    return words[0]


def decoded(content: bytes, source: str) -> str:
    """The text of UTF-8 bytes, or of UTF-16 where a byte order mark says so.

    Raises: InvalidValueError: the bytes are neither; it names the first wrong one.
    """
    encoding = "utf-16" if content.startswith(_TWO_BYTE_MARKS) else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        wrong = f"byte {error.start} is 0x{content[error.start]:02x}"
        raise InvalidValueError(
            f"{source} is not {encoding.removesuffix('-sig').upper()} text ({wrong}). "
            "Save it as UTF-8, or convert it with: iconv -f LATIN1 -t UTF-8",
            param="text",
        ) from error


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidValueError(
            f"the text file {str(file)!r} cannot be read: {reason}.", param="--file"
        ) from error
