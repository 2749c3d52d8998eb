"""What a voice may be called: free text for people, which never becomes a part of a path.

A label is found however its letters are written: upper or lower case, composed or not, full width
or not. The id is made by us and never changes.
"""

import re
import secrets
import unicodedata
from collections.abc import Sequence

from menura.errors import InvalidValueError
from menura.text.unwanted import REMOVED, TERMINAL

LONGEST_LABEL = 80
LIBRARY_PREFIX = "lib:"
_LISTED = 20
ID_FORM = r"voice_[0-9a-f]{32}"
# Marks, letters of no width and the like: a label of nothing else could not be seen.
_UNSEEN = ("Cc", "Cf", "Cn", "Co", "Cs", "Mn", "Me", "Zl", "Zp", "Zs")
_UNSEEN_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\U0001d159")


def new_id() -> str:
    """A new voice's id."""
    return f"voice_{secrets.token_hex(16)}"


def is_id(word: str) -> bool:
    """Whether a word has the form of an id."""
    return re.fullmatch(ID_FORM, word) is not None


def folded(label: str) -> str:
    """The form in which labels are compared."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", label).casefold()).strip()


def checked_label(given: object) -> str:
    """The label as it is kept: composed, without what no screen shows well, on one line.

    Raises: InvalidValueError: it is no text, empty, too long, or has the form of something else.
    """
    if not isinstance(given, str):
        raise _bad(f"a voice's label must be a text, not {type(given).__name__}")
    plain = REMOVED.sub("", TERMINAL.sub("", given[: 100 * LONGEST_LABEL]))
    label = unicodedata.normalize("NFC", " ".join(plain.split()))
    if not is_visible(label):
        raise _bad(f"the label {given[:LONGEST_LABEL]!r} has nothing that can be seen: name the "
                   "voice")  # fmt: skip
    if len(label) > LONGEST_LABEL:
        raise _bad(
            f"the label has {len(label)} characters, and at most {LONGEST_LABEL} are allowed: "
            "give a shorter one"
        )
    if is_id(folded(label)) or folded(label).startswith(LIBRARY_PREFIX):
        raise _bad(
            f"the label {label!r} has the form of a voice's id, or begins with "
            f"{LIBRARY_PREFIX!r}, so it could not be found: give another one"
        )
    return label


def enumerated(labels: Sequence[str]) -> str:
    """The labels in words for an error: the first ones, and how many more there are."""
    more = f" and {len(labels) - _LISTED} more" if len(labels) > _LISTED else ""
    return ", ".join(labels[:_LISTED]) + more if labels else "none"


def is_visible(text: str) -> bool:
    """Whether a text holds anything that can be seen."""
    return any(map(_is_seen, text))


def _is_seen(character: str) -> bool:
    is_letter = unicodedata.category(character) not in _UNSEEN
    return is_letter and character not in _UNSEEN_LETTERS


def _bad(message: str) -> InvalidValueError:
    return InvalidValueError(f"{message}.", param="label")
