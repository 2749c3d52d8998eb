"""Things that are dear to make and asked for again: the ones that were used last are kept."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class RecentlyUsed(Generic[Key, Value]):
    """Values by their keys, up to a limit; the one that was not used for longest leaves first.

    `size_of` says how much of the limit a value takes; without it, each counts one.
    """

    def __init__(self, limit: int, size_of: Callable[[Value], int] | None = None) -> None:
        self._limit = limit
        self._size_of = size_of or _one
        self._kept: OrderedDict[Key, Value] = OrderedDict()
        self.size = 0

    def get(self, key: Key) -> Value | None:
        """The value, which counts as used now; None if it is not kept."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def keep(self, key: Key, value: Value) -> None:
        """Keep the value, unless it alone is over the limit."""
        if self._size_of(value) > self._limit:
            return
        replaced = self._kept.pop(key, None)
        self.size -= 0 if replaced is None else self._size_of(replaced)
        self._kept[key] = value
        self.size += self._size_of(value)
        while self.size > self._limit:
            _, oldest = self._kept.popitem(last=False)
            self.size -= self._size_of(oldest)


def _one(value: object) -> int:
    del value
    return 1
