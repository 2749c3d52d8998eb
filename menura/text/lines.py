"""Paragraphs, and the line breaks inside them that mean something.

A blank line ends a paragraph; so does U+2029. A single line break is a space (hard-wrapped prose),
unless one of these is true, and then it ends a sentence:

- the next line begins like a list item, a heading, a quotation, a table row or dialogue
  ("- ", "1. ", "# ", "> ", "|", "— "), or the line itself is a "# " heading;
- the break came early: the first word of the next line would have fitted into the width of the
  paragraph's longest line. That finds headings without a mark, addresses and verse. Where the
  longest line is under 40 columns (verse) or over 120 (one line a paragraph), nobody wrapped by
  hand and every break is taken for early.

A line that ends with a comma, or is followed by a lower-case letter, goes on and is never early.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from unicodedata import east_asian_width

_WRAP_COLUMNS = range(40, 121)
_LOOK_CHARACTERS = 400  # enough to see a line's beginning or measure one that was wrapped by hand
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_MARKER = re.compile(r"\s*(?:[-*+•‣◦·–—]\s|\d{1,3}[.)]\s|#{1,6}\s|[>|])")
_GOES_ON = (",", "，", "、", "،")
_PARAGRAPH_SEPARATOR = "\u2029"


@dataclass(frozen=True)
class Block:
    """The code points `start` to `end`: lines that run on; a border of sense ends them."""

    start: int
    end: int
    ends_paragraph: bool


def blocks(text: str) -> Iterator[Block]:
    """The blocks of the text in order; their spans joined are the whole text.

    Blank lines belong to the block before them, those at the top to the first block.
    """
    for paragraph in _paragraphs(text):
        lines = [text[start:end] for start, end in paragraph]
        width = max(_columns(line) for line in lines)
        start = paragraph[0][0]
        for number, (line, following) in enumerate(pairwise(lines)):
            if _is_border(line, following, width):
                yield Block(start, paragraph[number][1], ends_paragraph=False)
                start = paragraph[number][1]
        yield Block(start, paragraph[-1][1], ends_paragraph=True)


def _paragraphs(text: str) -> list[list[tuple[int, int]]]:
    """The spans of the lines of each paragraph; blank lines are inside the line before them."""
    paragraphs: list[list[tuple[int, int]]] = []
    is_open, end = False, 0
    for line in text.splitlines(keepends=True):
        start, end = end, end + len(line)
        if is_open and line.strip():
            paragraphs[-1].append((start, end))
        elif not paragraphs or line.strip():
            paragraphs.append([(start, end)])
        else:
            paragraphs[-1][-1] = (paragraphs[-1][-1][0], end)
        is_open = bool(line.strip()) and not line.endswith(_PARAGRAPH_SEPARATOR)
    if len(paragraphs) > 1 and not text[: paragraphs[0][0][1]].strip():
        blank = paragraphs.pop(0)
        paragraphs[0][0] = (blank[0][0], paragraphs[0][0][1])
    return paragraphs


def _is_border(line: str, following: str, width: int) -> bool:
    """True if the break between the two lines ends a sentence, in a paragraph of that width."""
    if _MARKER.match(following) or _HEADING.match(line):
        return True
    word = following[:_LOOK_CHARACTERS].split(maxsplit=1)[0]
    if word[0].islower() or line.rstrip().endswith(_GOES_ON):
        return False
    return width not in _WRAP_COLUMNS or _columns(line) + 1 + _columns(word) <= width


def _columns(line: str) -> int:
    """The width of a line on a screen: East Asian characters take two columns."""
    seen = line[:_LOOK_CHARACTERS].rstrip()
    if seen.isascii():
        return len(seen)
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in seen)
