"""Who waits is taken owner by owner, and nothing is lost or given twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from menura.server.models.fair_queue import FairQueue


def filled(words: str) -> FairQueue[str]:
    """A queue in which each word waits; its first letter is its owner."""
    queue: FairQueue[str] = FairQueue()
    for word in words.split():
        queue.put(word[0], word)
    return queue


def test_owners_take_turns_whoever_asks_more() -> None:
    queue = filled("a1 a2 a3 a4 b1 b2 c1")
    assert queue.clear() == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]
    assert len(queue) == 0


def test_who_comes_late_waits_for_one_order_of_each_owner_at_most() -> None:
    queue = filled("a1 a2 a3 b1 b2")
    assert [queue.take(), queue.take()] == ["a1", "b1"]
    queue.put("c", "c1")
    assert queue.clear() == ["a2", "b2", "c1", "a3"]


def test_an_owner_who_comes_back_is_the_last_of_the_round() -> None:
    queue = filled("a1 b1 b2")
    assert queue.take() == "a1"
    queue.put("a", "a2")
    assert queue.clear() == ["b1", "a2", "b2"]


def test_what_was_removed_is_never_taken() -> None:
    queue = filled("a1 a2 b1")
    assert queue.remove("a", "a1")
    assert not queue.remove("a", "a1")
    assert not queue.remove("c", "c1")
    assert queue.remove("b", "b1")
    assert len(queue) == 1
    assert queue.clear() == ["a2"]


def test_an_empty_queue_says_so() -> None:
    with pytest.raises(IndexError):
        FairQueue[str]().take()


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=40))
def test_each_owner_keeps_its_order_and_gets_its_share(steps: list[tuple[str, bool]]) -> None:
    queue: FairQueue[tuple[str, int]] = FairQueue()
    put: list[tuple[str, int]] = []
    taken: list[tuple[str, int]] = []
    for owner, is_put in steps:
        if is_put:
            put.append((owner, len(put)))
            queue.put(owner, put[-1])
        elif len(queue):
            taken.append(queue.take())
        assert len(queue) == len(put) - len(taken)
    waiting = {owner for owner, _ in put if (owner, _) not in taken}
    rest = queue.clear()
    assert {owner for owner, _ in rest[: len(waiting)]} == waiting  # one of each comes first
    for owner in "abc":
        assert [e for e in taken + rest if e[0] == owner] == [e for e in put if e[0] == owner]
