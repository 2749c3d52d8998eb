"""Wrong keys counted for each address, so that guessing is slow and nobody else is locked out."""

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

ALLOWED = 20
WINDOW_S = 60.0
_MOST_ADDRESSES = 4096


class WrongKeys:
    """How many wrong keys each address gave in the current minute; old addresses are forgotten."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def count(self, address: str) -> float | None:
        """None while the address may go on, else in how many seconds it may."""
        now = self._clock()
        started, count = self._counts.pop(address, (now, 0))
        if now - started >= WINDOW_S:
            started, count = now, 0
        self._counts[address] = (started, count + 1)
        if len(self._counts) > _MOST_ADDRESSES:
            self._counts.popitem(last=False)
        return started + WINDOW_S - now if count >= ALLOWED else None


def network_of(client: str | None) -> str:
    """The address that counts: an IPv6 site has as many addresses as it likes, but one prefix."""
    try:
        address = ipaddress.ip_address((client or "").partition("%")[0])
    except ValueError:
        return "local"
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)
