import pytest

from menura.server.border.wrong_keys import ALLOWED, WINDOW_S, WrongKeys, network_of


class Hand:
    """A clock moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_after_twenty_wrong_keys_an_address_waits_for_the_minutes_end() -> None:
    clock = Hand()
    wrong = WrongKeys(clock)
    assert [wrong.count("a") for _ in range(ALLOWED)] == [None] * 20
    clock.now = 15.0
    assert wrong.count("a") == 45.0
    assert wrong.count("b") is None
    clock.now = WINDOW_S
    assert wrong.count("a") is None


def test_many_addresses_do_not_fill_the_memory() -> None:
    wrong = WrongKeys(Hand())
    for number in range(10_000):
        wrong.count(str(number))
    assert len(wrong._counts) == 4096


@pytest.mark.parametrize(
    ("client", "network"),
    [("10.0.0.1", "10.0.0.1"), ("::1", "::/64"), ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
     ("2001:db8:1:2:ffff::9", "2001:db8:1:2::/64"), ("::ffff:10.0.0.1", "10.0.0.1"),
     ("fe80::1%eth0", "fe80::/64"), ("testclient", "local"), (None, "local")],
)  # fmt: skip
def test_an_address_counts_as_its_network(client: str | None, network: str) -> None:
    assert network_of(client) == network
