"""One JSON object, read with a kind and a limit for every key; a key that nobody knows is an error.

What is read may come from a stranger: no number is infinite, no key stands twice, no text is longer
than it may be, and every text can be written again.
"""

import json
import math
import re
from collections.abc import Mapping

from menura.errors import InvalidValueError

_SHOWN = 60
_MISSING = object()


class StrictObject:
    """One object; each method reads one key, and its error names the key and what is allowed."""

    def __init__(self, values: Mapping[str, object], where: str = "") -> None:
        self._values = values
        self._where = where

    @classmethod
    def parse(cls, text: str) -> "StrictObject":
        """The object that a JSON text holds. Raises: InvalidValueError: it holds none."""
        try:
            found: object = json.loads(
                text, object_pairs_hook=_without_twins, parse_constant=_no_number
            )
        except (ValueError, RecursionError) as error:
            raise InvalidValueError(f"it is not valid JSON ({error!s:.100}).") from error
        if not isinstance(found, dict):
            raise InvalidValueError("it holds no JSON object.")
        return cls(found)

    def expect_only(self, *names: str) -> None:
        """Nothing. Raises: InvalidValueError: a key is none of these."""
        for name in self._values:
            if name not in names:
                raise InvalidValueError(
                    f"{self._where + name!r:.100} is not a key that this version knows; it knows: "
                    f"{', '.join(names)}."
                )

    def has(self, key: str) -> bool:
        """Whether the key is there, and not null."""
        return self._values.get(key) is not None

    def text(self, key: str, longest: int, *, pattern: str = "") -> str:
        """A text of at most so many characters that matches the pattern, where there is one."""
        found = self._values.get(key)
        is_text = isinstance(found, str) and len(found) <= longest and can_be_written(found)
        if is_text and isinstance(found, str) and re.fullmatch(pattern or "(?s).*", found):
            return found
        shape = f" of the form {pattern}" if pattern else ""
        raise self.wrong(key, f"a text of at most {longest:,} characters{shape}")

    def text_or_none(self, key: str, longest: int, *, pattern: str = "") -> str | None:
        """A text as `text` reads it, or None where the key is missing or null."""
        return None if self._values.get(key) is None else self.text(key, longest, pattern=pattern)

    def text_or_empty(self, key: str, longest: int) -> str:
        """A text as `text` reads it, or the empty one where the key is missing."""
        return self.text(key, longest) if key in self._values else ""

    def whole(self, key: str, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        found = self._values.get(key)
        if type(found) is int and low <= found <= high:
            return found
        raise self.wrong(key, f"a whole number from {low} to {high}")

    def number(self, key: str, low: float, high: float, *, default: float | None = None) -> float:
        """A number from `low` to `high`; the default, where there is one, for a missing key."""
        found = self._values.get(key, default)
        if type(found) in (int, float) and isinstance(found, int | float) and low <= found <= high:
            return float(found)
        raise self.wrong(key, f"a number from {low:g} to {high:g}")

    def section(self, key: str) -> "StrictObject | None":
        """The object below a key, or None where the key is missing or null."""
        found = self._values.get(key)
        if found is None:
            return None
        if not isinstance(found, dict):
            raise self.wrong(key, "an object or null")
        return StrictObject(found, f"{self._where}{key}.")

    def sections(self, key: str, most: int) -> "tuple[StrictObject, ...]":
        """The objects of a list with at most so many."""
        found = self._values.get(key)
        listed = found if isinstance(found, list) else [None]
        objects = [item for item in listed if isinstance(item, dict)]
        if len(objects) != len(listed) or len(objects) > most:
            raise self.wrong(key, f"a list of at most {most} objects")
        return tuple(
            StrictObject(item, f"{self._where}{key}[{index}].")
            for index, item in enumerate(objects)
        )

    def plain_values(self, key: str, most: int, longest: int) -> dict[str, object]:
        """Names with plain values: texts, numbers, true, false, null, or lists of these."""
        found = self._values.get(key, {})
        if not isinstance(found, dict) or len(found) > most:
            raise self.wrong(key, f"an object with at most {most} entries")
        for name, value in found.items():
            if len(name) > longest or not is_plain(value, longest):
                raise self.wrong(key, "names with plain values: texts, numbers, true, false, null")
        return dict(found)

    def wrong(self, key: str, allowed: str) -> InvalidValueError:
        """The error for a key: what stands there, and what is allowed."""
        name = self._where + key
        found = self._values.get(key, _MISSING)
        if found is _MISSING:
            return InvalidValueError(f"{name!r} is missing; it must be {allowed}.")
        shown = json.dumps(found, ensure_ascii=True)
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
        return InvalidValueError(f"{name!r} is {shown}; it must be {allowed}.")


def is_plain(value: object, longest: int) -> bool:
    """Whether a value is a text, a number, true, false, null, or a short list of these."""
    if isinstance(value, list | tuple):
        is_flat = not any(isinstance(item, list | tuple) for item in value)
        return is_flat and len(value) <= longest and all(is_plain(item, longest) for item in value)
    if isinstance(value, str):
        return len(value) <= longest and can_be_written(value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, bool | int)


def can_be_written(text: str) -> bool:
    """Whether UTF-8 can hold it: JSON's escapes can name halves of characters."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _without_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is no number")
