"""What is no text: controls, terminal sequences, controls of text direction, lone surrogates."""

import re

_CONTROLS = r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
_DIRECTIONS = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_SURROGATES = r"\ud800-\udfff"
REMOVED_CLASS = _CONTROLS + _DIRECTIONS + _SURROGATES
"""What cleaning removes, as the inside of a regular expression's character class."""

REMOVED = re.compile(f"[{REMOVED_CLASS}]")

TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
"""A whole terminal sequence, as the colours in a log."""


def without_sequences(text: str) -> str:
    """The text with only control characters where terminal sequences stand, in as many places.

    So that nobody takes their letters for something to speak.
    """
    return TERMINAL.sub(lambda found: "\x1b" * len(found[0]), text)
