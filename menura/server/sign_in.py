"""A browser page signs in once with a key, and then holds a cookie that no script can read.

The cookie is not the key: it names the key's id and a day, signed by this server. It goes along
with WebSockets too, which cannot carry a header from a page.
"""

from fastapi import Request
from pydantic import BaseModel, StrictStr
from starlette.responses import Response

from menura.server.credentials import COOKIE, SESSION_S, Credentials
from menura.server.problems import Problem
from menura.server.routes import NO_BODY, SMALL_JSON, Route


class SignInBody(BaseModel):
    """The key to sign in with."""

    key: StrictStr


class Session(BaseModel):
    """Whether a browser is signed in, with which scopes; `label` is that of a key just given."""

    signed_in: bool
    scopes: tuple[str, ...]
    label: str = ""


async def sign_in(request: Request, body: SignInBody, response: Response) -> Session:
    """Sign in: the answer sets the cookie."""
    record, cookie = _credentials(request).sign_in(request, body.key.strip())
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=SESSION_S,
        httponly=True,
        samesite="strict",
        # Behind a proxy that ends TLS only the page's own origin tells that it is https.
        secure=request.headers.get("origin", "").startswith("https:"),
    )
    return _session(record.scopes, label=record.label)


async def sign_out(_request: Request, response: Response) -> Session:
    """Sign out: the answer takes the cookie away."""
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return _session(frozenset())


async def session(request: Request) -> Session:
    """What this browser may do: whether it is signed in, and the scopes."""
    try:
        caller = _credentials(request).caller(request)
    except Problem as problem:
        if problem.status_code != 401:
            raise
        return _session(frozenset())
    return _session(caller.scopes)


def _session(scopes: frozenset[str], label: str = "") -> Session:
    return Session(signed_in=bool(scopes), scopes=tuple(sorted(scopes)), label=label)


def _credentials(request: Request) -> Credentials:
    credentials: Credentials = request.app.state.credentials
    return credentials


ROUTES = (
    Route("/session", ("GET",), None, NO_BODY, session, "Whether this browser is signed in"),
    Route("/session", ("POST",), None, SMALL_JSON, sign_in, "Sign in with a key"),
    Route("/session", ("DELETE",), None, NO_BODY, sign_out, "Sign out"),
)
