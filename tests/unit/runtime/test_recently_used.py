from menura.runtime.recently_used import RecentlyUsed


def test_the_one_that_was_not_used_for_longest_leaves() -> None:
    kept: RecentlyUsed[str, int] = RecentlyUsed(2)
    kept.keep("a", 1)
    kept.keep("b", 2)
    assert kept.get("a") == 1
    kept.keep("c", 3)
    assert [kept.get(key) for key in "abc"] == [1, None, 3]
    assert kept.size == 2


def test_sizes_count_and_a_replaced_value_gives_its_own_back() -> None:
    kept: RecentlyUsed[str, str] = RecentlyUsed(5, len)
    kept.keep("a", "xxx")
    kept.keep("a", "xx")
    kept.keep("b", "xxx")
    assert (kept.get("a"), kept.get("b"), kept.size) == ("xx", "xxx", 5)
    kept.keep("c", "x")
    assert (kept.get("a"), kept.get("b"), kept.get("c"), kept.size) == (None, "xxx", "x", 4)


def test_what_alone_is_over_the_limit_is_not_kept_and_moves_nothing_out() -> None:
    kept: RecentlyUsed[str, str] = RecentlyUsed(3, len)
    kept.keep("a", "xxx")
    kept.keep("b", "xxxx")
    assert (kept.get("a"), kept.get("b")) == ("xxx", None)
