"""What a request's head may be, before anyone asks who sent it: its size, Host, query and Origin.

The attacker here is a web page in the user's own browser: it can reach a loopback address, point a
name of its own at it (DNS rebinding), and send what needs no preflight. So the Host must be one of
ours, and whatever a page of another site caused is refused, unless that site was allowed by name.
"""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from menura.server.border.problems import Problem
from menura.server.server_settings import ServerSettings

MAX_HEADERS = 100
MAX_HEADER_BYTES = 16 * 1024
MAX_TARGET_BYTES = 4096
KEY_NAMES = frozenset({
    "access_key", "access_token", "api_key", "api_token", "apikey", "auth", "authorization",
    "bearer", "key", "menura_key", "password", "secret", "token", "x_api_key", "xi_api_key",
})  # fmt: skip
"""Names in a query that stand for a key, with `_` for `-`."""

_KEY = "menura_"
# Headers that proxies and servers could read in two ways if they came twice.
_ONCE = ("host", "origin", "authorization", "xi-api-key", "content-type", "content-encoding")
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?", re.IGNORECASE)
_OTHER_SITES = frozenset({"cross-site", "same-site"})
_ALLOWED_METHODS = "GET, POST, PATCH, DELETE, OPTIONS"
_ALLOWED_HEADERS = ("authorization", "content-type", "xi-api-key", "x-request-id")
_HEADER_NAME = re.compile(r"[a-z0-9-]{1,64}")
_SHOWN_HEADERS = (
    "x-request-id, x-sample-rate, x-seed, x-model, x-voice, x-menura-ignored, x-finish, retry-after"
)


@dataclass(frozen=True)
class Origin:
    """Where a request comes from. `is_page`: a browser's page sent it, which may be our own."""

    is_page: bool = False
    allowed_site: str = ""

    @property
    def is_own_page(self) -> bool:
        """Whether a page of this very server sent it."""
        return self.is_page and not self.allowed_site

    def headers(self) -> dict[str, str]:
        """What lets the pages of an allowed site read the answer; never with credentials."""
        if not self.allowed_site:
            return {}
        return {
            "access-control-allow-origin": self.allowed_site,
            "access-control-expose-headers": _SHOWN_HEADERS,
        }


class HeadGuard:
    """The rules for the heads of requests, read once from the settings."""

    def __init__(self, limits: ServerSettings) -> None:
        self._hosts = limits.allowed_hosts
        self._any_address = limits.allows_any_address
        self._origins = limits.origins

    def check(self, scope: Scope) -> Origin:
        """Where the request comes from.

        Raises: Problem: 400, 403, 414, 421 or 431, when its head may not be so.
        """
        headers = Headers(scope=scope)
        _check_size(scope, headers)
        self._check_host(headers.get("host", ""))
        _check_query(scope.get("query_string", b""))
        return self._origin(scope, headers)

    def _check_host(self, host: str) -> None:
        found = _HOST.fullmatch(host)
        name = found["name"].strip("[]").casefold() if found else ""
        if name in self._hosts or (self._any_address and _is_address(name)):
            return
        raise Problem(
            421,
            "wrong_host",
            "This server does not answer to that host name. If it should, start it with "
            "--host-name NAME.",
        )

    def _origin(self, scope: Scope, headers: Headers) -> Origin:
        given = headers.get("origin")
        if given is None:
            if _is_loaded_by_another_site(scope, headers):
                raise _foreign()
            return Origin()
        origin = given.casefold()
        if origin in self._origins:
            return Origin(is_page=True, allowed_site=given)
        # The scheme may differ where a proxy ends TLS. A page on another port is another site.
        if origin != "null" and urlsplit(origin).netloc == headers["host"].casefold():
            return Origin(is_page=True)
        raise _foreign()


def preflight(scope: Scope, origin: Origin) -> dict[str, str] | None:
    """The headers that answer a browser's question before a request, or None if it is none."""
    headers = Headers(scope=scope)
    is_asked = scope.get("method") == "OPTIONS" and "access-control-request-method" in headers
    if not (is_asked and origin.allowed_site):
        return None
    allowed = {
        **origin.headers(),
        "access-control-allow-methods": _ALLOWED_METHODS,
        "access-control-allow-headers": ", ".join(_wanted_headers(headers)),
        "access-control-max-age": "600",
    }
    if headers.get("access-control-request-private-network") == "true":
        allowed["access-control-allow-private-network"] = "true"
    return allowed


def _wanted_headers(headers: Headers) -> list[str]:
    """The headers that a browser asked to send, with ours: OpenAI's client adds many of its own."""
    asked = headers.get("access-control-request-headers", "").casefold().split(",")
    names = [name.strip() for name in asked[:50]]
    plain = [name for name in names if _HEADER_NAME.fullmatch(name)]
    return sorted({*_ALLOWED_HEADERS, *plain})


def _check_size(scope: Scope, headers: Headers) -> None:
    raw = headers.raw
    n_bytes = sum(len(name) + len(value) + 4 for name, value in raw)
    if len(raw) > MAX_HEADERS or n_bytes > MAX_HEADER_BYTES:
        raise Problem(
            431,
            "headers_too_large",
            f"The headers are too large: at most {MAX_HEADERS} headers and {MAX_HEADER_BYTES} "
            "bytes are allowed.",
        )
    target = len(scope.get("raw_path") or b"") + len(scope.get("query_string", b""))
    if target > MAX_TARGET_BYTES:
        raise Problem(
            414, "address_too_long", f"The address is longer than {MAX_TARGET_BYTES} bytes."
        )
    if "content-length" in headers and "transfer-encoding" in headers:
        raise Problem(400, "two_lengths", "The body has two lengths: send one of them.")
    for name in _ONCE:
        if len(headers.getlist(name)) > 1:
            raise Problem(400, "header_twice", f"The header {name} was given twice.", param=name)


def _check_query(query: bytes) -> None:
    """Nothing, or a Problem where a key stands in the address, which logs and histories keep."""
    try:
        given = parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=100)
    except ValueError:
        raise Problem(400, "query_too_long", "The address has too many parameters.") from None
    for name, value in given:
        if name.casefold().replace("-", "_") in KEY_NAMES or _KEY in value or _KEY in name:
            raise Problem(
                400,
                "key_in_address",
                "A key must not be part of the address, where logs and histories keep it: send it "
                "as `Authorization: Bearer KEY`. If this one is real, remove it with "
                "`menura keys remove` and make another.",
            )


def _is_loaded_by_another_site(scope: Scope, headers: Headers) -> bool:
    """Whether a page of another site embeds this (an image, a frame); following a link is none."""
    if headers.get("sec-fetch-site", "") not in _OTHER_SITES:
        return False
    kind = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
    return scope.get("method") != "GET" or kind != ("navigate", "document")


def _foreign() -> Problem:
    return Problem(
        403,
        "origin_not_allowed",
        "Pages of that site may not use this server. If they should, start it with --cors ORIGIN.",
    )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
