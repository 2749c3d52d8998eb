"""A browser page signs in once with a key, and then holds a cookie that no script can read.

The cookie is not the key: it names the key's id and a day, signed by this server. It goes along
with WebSockets too, which cannot carry a header from a page.
"""

from fastapi import Request
from pydantic import BaseModel, StrictStr
from starlette.responses import Response

from menura.server.border.credentials import SESSION_S, Credentials
from menura.server.border.problems import Problem
from menura.server.routes import NO_BODY, SMALL_JSON, Route, parts_of


class SignInBody(BaseModel):
    """The key to sign in with."""

    key: StrictStr


class Session(BaseModel):
    """Whether a browser is signed in, with which scopes, by the key of which label."""

    signed_in: bool
    scopes: tuple[str, ...]
    label: str = ""


async def sign_in(request: Request, body: SignInBody, response: Response) -> Session:
    """Sign in: the answer sets the cookie."""
    credentials = _credentials(request)
    record, cookie = credentials.sign_in(request, body.key.strip())
    response.set_cookie(
        credentials.cookie,
        cookie,
        max_age=SESSION_S,
        httponly=True,
        samesite="strict",
        # Behind a proxy that ends TLS only the page's own origin tells that it is https.
        secure=request.headers.get("origin", "").startswith("https:"),
    )
    return _session(record.scopes, label=record.label)


async def sign_out(request: Request, response: Response) -> Session:
    """Sign out: the answer takes the cookie away."""
    response.delete_cookie(_credentials(request).cookie, httponly=True, samesite="strict")
    return _session(frozenset())


async def session(request: Request) -> Session:
    """What this browser may do: whether it is signed in, and the scopes."""
    try:
        caller = _credentials(request).caller(request)
    except Problem as problem:
        if problem.status_code != 401:
            raise
        return _session(frozenset())
    record = parts_of(request).keys.by_id(caller.key_id)
    return _session(caller.scopes, label=record.label if record else "")


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
