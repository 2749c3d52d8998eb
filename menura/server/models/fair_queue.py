"""A line in which every owner has the same right: who waits is taken owner by owner, in turn."""

from collections import OrderedDict, deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """Items of several owners: first come, first served for one owner, round and round for all."""

    def __init__(self) -> None:
        # The owner whose turn is next stands first. An owner without items is not kept.
        self._lines: OrderedDict[str, deque[Item]] = OrderedDict()
        self._n_items = 0

    def __len__(self) -> int:
        return self._n_items

    def put(self, owner: str, item: Item) -> None:
        """Add an item at the end of its owner's line; a new owner is the last of the round."""
        self._lines.setdefault(owner, deque()).append(item)
        self._n_items += 1

    def take(self) -> Item:
        """The next item: the oldest of the owner whose turn it is.

        Raises: IndexError: nothing waits.
        """
        if not self._lines:
            raise IndexError("the queue is empty")
        owner, line = self._lines.popitem(last=False)
        item = line.popleft()
        self._n_items -= 1
        if line:
            self._lines[owner] = line
        return item

    def remove(self, owner: str, item: Item) -> bool:
        """Whether the item waited; it does no more."""
        line = self._lines.get(owner)
        if line is None or item not in line:
            return False
        line.remove(item)
        self._n_items -= 1
        if not line:
            del self._lines[owner]
        return True

    def clear(self) -> list[Item]:
        """All items that waited, in the order in which they would have been taken."""
        return [self.take() for _ in range(self._n_items)]
