"""A model's JSON configuration, read with a type and a range for every key.

A configuration comes from a stranger: each number is bounded before anything is allocated for it,
and every complaint names the file, the key, what stands there and what is allowed.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeGuard

from menura.errors import ModelFilesError

MAX_FILE_BYTES = 1_000_000
MAX_ENTRIES = 10_000
_MISSING = object()


class Fields:
    """One object of a configuration file; every method reads one key of it."""

    def __init__(self, path: Path, values: Mapping[str, object], where: str = "") -> None:
        self._path = path
        self._values = values
        self._where = where

    @property
    def names(self) -> frozenset[str]:
        """The keys that are there."""
        return frozenset(self._values)

    def section(self, key: str) -> "Fields":
        """The object below a key."""
        found = self._values.get(key)
        if not isinstance(found, dict):
            raise self.wrong(key, "an object")
        return Fields(self._path, found, f"{self._where}{key}.")

    def whole(self, key: str, low: int, high: int, *, default: int | None = None) -> int:
        """A whole number from `low` to `high`; `default` where the key is missing or null."""
        found = self._found(key, default)
        if not _is_whole(found) or not low <= found <= high:
            raise self.wrong(key, f"a whole number from {low} to {high}")
        return found

    def number(self, key: str, low: float, high: float, *, default: float | None = None) -> float:
        """A number from `low` to `high`; `default` where the key is missing or null."""
        found = self._found(key, default)
        if _is_number(found) and low <= found <= high:  # false for NaN too
            return float(found)
        raise self.wrong(key, f"a number from {low} to {high}")

    def flag(self, key: str, *, default: bool | None = None) -> bool:
        """True or false; `default` where the key is missing or null."""
        found = self._found(key, default)
        if not isinstance(found, bool):
            raise self.wrong(key, "true or false")
        return found

    def word(self, key: str, *allowed: str) -> str:
        """One of the allowed words."""
        found = self._values.get(key)
        if not isinstance(found, str) or found not in allowed:
            raise self.wrong(key, " or ".join(map(repr, allowed)))
        return found

    def text(self, key: str) -> str | None:
        """A text of at most 200 characters, or None where the key is missing or null."""
        found = self._values.get(key)
        if found is not None and not (isinstance(found, str) and len(found) <= 200):
            raise self.wrong(key, "a text of at most 200 characters")
        return found

    def wholes(
        self, key: str, low: int, high: int, *, default: tuple[int, ...] | None = None
    ) -> tuple[int, ...]:
        """A list of 1 to 64 whole numbers from `low` to `high`."""
        found = self._found(key, None if default is None else list(default))
        if isinstance(found, list) and 1 <= len(found) <= 64:
            inside = [item for item in found if _is_whole(item) and low <= item <= high]
            if len(inside) == len(found):
                return tuple(inside)
        raise self.wrong(key, f"a list of 1 to 64 whole numbers from {low} to {high}")

    def ids(self, key: str, n: int) -> Mapping[str, int]:
        """Names with their ids, all below `n`; empty where the key is null."""
        named = self.named(key)
        inside = {name: item for name, item in named.items() if _is_whole(item) and 0 <= item < n}
        if len(inside) != len(named):
            raise self.wrong(key, f"names with ids from 0 to {n - 1}")
        return MappingProxyType(inside)

    def named(self, key: str) -> Mapping[str, object]:
        """An object as it stands, with at most 10,000 entries; empty where the key is null."""
        found = self._found(key, {})
        if not isinstance(found, dict) or len(found) > MAX_ENTRIES:
            raise self.wrong(key, f"an object with at most {MAX_ENTRIES} entries")
        return found

    def expect(self, **wanted: object) -> None:
        """Nothing. Raises: ModelFilesError: a key is there with another value than this one.

        For what the code does in one way only.
        """
        for key, value in wanted.items():
            if self._values.get(key, value) != value:
                raise self.wrong(key, f"{json.dumps(value)}, the only value that Menura can run")

    def wrong(self, key: str, allowed: str) -> ModelFilesError:
        """The error for a key: what stands there, and what is allowed."""
        name = f"{self._where}{key}"
        found = self._values.get(key, _MISSING)
        if found is _MISSING:
            return ModelFilesError(f"{self._path}: {name!r} is missing; it must be {allowed}.")
        return ModelFilesError(f"{self._path}: {name!r} is {_shown(found)}; it must be {allowed}.")

    def _found(self, key: str, default: object) -> object:
        found = self._values.get(key)
        return default if found is None else found


def read_fields(path: Path) -> Fields:
    """The object that a JSON file holds.

    Raises: ModelFilesError: the file cannot be read, is too large, or holds no JSON object.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ModelFilesError(f"{path} is larger than {MAX_FILE_BYTES:,} bytes.")
        text = path.read_bytes()
    except OSError as error:
        raise ModelFilesError(f"{path} cannot be read: {error.strerror or error}.") from error
    try:
        found = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or nested without end
        raise ModelFilesError(f"{path} is not valid JSON ({type(error).__name__}).") from error
    if not isinstance(found, dict):
        raise ModelFilesError(f"{path} holds no JSON object.")
    return Fields(path, found)


def _is_whole(found: object) -> TypeGuard[int]:
    return isinstance(found, int) and not isinstance(found, bool)  # True is an int too


def _is_number(found: object) -> TypeGuard[float]:
    return isinstance(found, int | float) and not isinstance(found, bool)


def _shown(found: object) -> str:
    text = json.dumps(found, ensure_ascii=True)
    return text if len(text) <= 60 else f"{text[:57]}..."
