"""The characters that are no text: controls, the controls of text direction, lone surrogates."""

import re

_CONTROLS = r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
_DIRECTIONS = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_SURROGATES = r"\ud800-\udfff"
REMOVED_CLASS = _CONTROLS + _DIRECTIONS + _SURROGATES
"""What cleaning removes, as the inside of a regular expression's character class."""

REMOVED = re.compile(f"[{REMOVED_CLASS}]")
