"""Who asks: a key in a header, or the cookie of a page that signed in with one.

A cookie counts only from this server's own pages: browsers send it along with requests that other
pages on this machine cause, since a cookie knows no port.
"""

import hmac
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.requests import HTTPConnection

from menura.server.border.keys import KeyRecord, KeyStore
from menura.server.border.metrics import Metrics
from menura.server.border.problems import Problem
from menura.server.border.wrong_keys import WrongKeys, network_of
from menura.server.routes import ALL_SCOPES, Caller, Scope
from menura.server.server_settings import ServerSettings

if TYPE_CHECKING:
    from menura.server.border.guards import Origin

SESSION_S = 30 * 24 * 3600
_SAFE_METHODS = frozenset({"GET", "HEAD"})
_STRANGERS = frozenset({Scope.SPEAK, Scope.VOICES})


class Credentials:
    """Finds out who asks."""

    def __init__(
        self,
        keys: KeyStore,
        limits: ServerSettings,
        metrics: Metrics,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._keys = keys
        self._asks_for_keys = limits.asks_for_keys
        # Without keys, whoever reaches a loopback address owns this machine; others may speak.
        self._free_scopes = ALL_SCOPES if limits.is_loopback else _STRANGERS
        self._metrics = metrics
        self.cookie = f"menura_session_{limits.port}"  # servers beside this one have their own
        self._clock = clock
        self._wrong_keys = WrongKeys()

    def caller(self, connection: HTTPConnection) -> Caller:
        """Who asks.

        Raises: Problem: 401, no key or a wrong one; 429, too many wrong ones from that address.
        """
        key = key_of(connection)
        record = self._keys.find(key) if key else self._signed_in(connection)
        if record is not None:
            return Caller(record.id, record.scopes, record.id)
        address = network_of(connection.client.host if connection.client else None)
        if not self._asks_for_keys:
            return Caller("", self._free_scopes, f"address {address}")
        if key:
            raise self._wrong_key(address)
        raise Problem(
            401,
            "missing_key",
            "This server needs a key: send `Authorization: Bearer KEY`. `menura keys add` makes "
            "one.",
            headers={"www-authenticate": "Bearer"},
        )

    def sign_in(self, connection: HTTPConnection, key: str) -> tuple[KeyRecord, str]:
        """The record of a right key, and the cookie that stands for it.

        Raises: Problem: 401 or 429, as for a wrong key in a header.
        """
        record = self._keys.find(key)
        if record is None:
            raise self._wrong_key(network_of(connection.client.host if connection.client else None))
        words = f"{record.id}.{int(self._clock()) + SESSION_S}"
        return record, f"{words}.{self._keys.signature(words)}"

    def _signed_in(self, connection: HTTPConnection) -> KeyRecord | None:
        """The record behind a cookie that this server made, and that one of its own pages sent."""
        words, _, signature = connection.cookies.get(self.cookie, "").rpartition(".")
        key_id, _, until = words.partition(".")
        origin: Origin = connection.scope["state"]["origin"]
        is_reading = connection.scope.get("method") in _SAFE_METHODS and not origin.allowed_site
        if not words or not (origin.is_own_page or is_reading):
            return None
        expected = self._keys.signature(words)
        if not hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace")):
            return None
        return self._keys.by_id(key_id) if self._clock() < int(until) else None

    def _wrong_key(self, address: str) -> Problem:
        self._metrics.count_wrong_key()
        wait_s = self._wrong_keys.count(address)
        if wait_s is None:
            return Problem(
                401,
                "wrong_key",
                "The key is not one of this server's: `menura keys list` shows them.",
                headers={"www-authenticate": "Bearer"},
            )
        return Problem(
            429,
            "too_many_wrong_keys",
            "Too many wrong keys came from this address; right ones are still taken.",
            headers={"retry-after": str(int(wait_s) + 1)},
        )


def key_of(connection: HTTPConnection) -> str:
    """The key in the headers, or an empty text."""
    scheme, _, key = connection.headers.get("authorization", "").partition(" ")
    if scheme.casefold() == "bearer" and key.strip():
        return key.strip()
    return connection.headers.get("xi-api-key", "").strip()


def check_scope(caller: Caller, scope: Scope) -> None:
    """Nothing, or a Problem (403) where the caller may not do what needs this scope."""
    if scope not in caller.scopes:
        raise Problem(
            403,
            "missing_scope",
            f"This needs a key with the scope {scope.value!r}: `menura keys add` makes one.",
        )
