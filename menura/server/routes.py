"""One row for every path of the server: who may use it, how large its body may be, who answers.

Nothing is served that is no row: `app.py` joins the rows of all resource modules, and a test walks
the finished application. Below stand the typed ways to what a handler finds beside its request.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from starlette.requests import HTTPConnection

from menura.server.border.request_book import RequestBook
from menura.server.store.jobs import StoreJobs
from menura.server.store.shelf import Shelf
from menura.server.turns import Turns
from menura.server.voices.workshop_process import Workshop
from menura.settings import Settings

if TYPE_CHECKING:
    from pydantic import BaseModel

    from menura.server.border.keys import KeyStore
    from menura.server.border.metrics import Metrics
    from menura.server.border.request_log import RequestNotes
    from menura.server.models.model_pool import ModelPool
    from menura.server.models.names import Names
    from menura.server.server_settings import ServerSettings
    from menura.voices import VoiceLibrary

Handler = Callable[..., Awaitable[object]]
Method = Literal["GET", "POST", "PATCH", "DELETE", "WS"]


class Scope(StrEnum):
    """What a key may be used for."""

    SPEAK = "speak"
    VOICES = "voices"
    ADMIN = "admin"


ALL_SCOPES = frozenset(Scope)


@dataclass(frozen=True)
class BodyRule:
    """The largest body in bytes (0: none is taken) and its content types.

    `bytes_per_character` comes on top for every character that a text may have by the settings, and
    the largest upload where `is_upload`. A streamed body comes to the handler in pieces. Where it
    `is_optional`, a request without a body needs no content type.
    """

    max_bytes: int = 0
    media_types: tuple[str, ...] = ()
    bytes_per_character: int = 0
    is_upload: bool = False
    is_streamed: bool = False
    is_optional: bool = False

    def largest(self, max_characters: int, max_upload_bytes: int = 0) -> int:
        """The largest body in bytes where a text and an upload may be so large."""
        own = self.max_bytes + self.bytes_per_character * max_characters
        return own + max_upload_bytes * self.is_upload


JSON = "application/json"
FORM = "multipart/form-data"
NO_BODY = BodyRule()
SMALL_JSON = BodyRule(16 * 1024, (JSON,))
OPTIONAL_JSON = BodyRule(16 * 1024, (JSON,), is_optional=True)
# A character is at most twelve bytes of JSON: two escapes such as \\ud83d.
TEXT_JSON = BodyRule(64 * 1024, (JSON,), bytes_per_character=12)
UPLOAD = BodyRule(128 * 1024, (FORM,), is_upload=True, is_streamed=True)


@dataclass(frozen=True)
class Route:
    """One path: its methods, the scope that it needs (None: open to everybody), and its handler.

    A handler is a FastAPI endpoint; its arguments are its documentation, and `form` that of a form
    that it reads itself. `media_types` are those of a good answer. `is_voice_list` rows are open
    where `--open-voice-list` was given.
    """

    path: str
    methods: tuple[Method, ...]
    scope: Scope | None
    body: BodyRule
    handler: Handler
    summary: str
    media_types: tuple[str, ...] = (JSON,)
    is_voice_list: bool = False
    is_documented: bool = True
    form: "type[BaseModel] | None" = None


@dataclass(frozen=True)
class Caller:
    """Who asks: the key's id, what it may do, and `owner`, for whom work is counted."""

    key_id: str
    scopes: frozenset[Scope]
    owner: str


@dataclass(frozen=True)
class ServerParts:
    """What the handlers work with. `mark`: whether files say that their speech is synthetic.

    `chosen`: the user's settings. `workshop`: where processes of their own read what clients send.
    `jobs`: those of the model store. `started`: the monotonic clock's time when the server began.
    """

    pool: "ModelPool"
    names: "Names"
    keys: "KeyStore"
    limits: "ServerSettings"
    metrics: "Metrics"
    mark: bool = True
    chosen: Settings = field(default_factory=Settings)
    workshop: Workshop = field(default_factory=Workshop)
    conversions: Turns = field(default_factory=lambda: Turns(at_once=2, waiting=16, limit_s=60))
    jobs: StoreJobs = field(default_factory=StoreJobs)
    book: RequestBook = field(default_factory=RequestBook)
    started: float = field(default_factory=time.monotonic)

    @cached_property
    def shelf(self) -> Shelf:
        """What there is of every model."""
        return Shelf(self.pool, self.names, self.jobs)

    @property
    def library(self) -> "VoiceLibrary":
        """The voices that people keep."""
        return self.names.library


def parts_of(connection: HTTPConnection) -> ServerParts:
    """The server's parts, from a request or a WebSocket."""
    parts: ServerParts = connection.app.state.parts
    return parts


def caller_of(connection: HTTPConnection) -> Caller:
    """Who asks; only rows without a scope are ever reached by nobody."""
    caller: Caller = connection.scope["state"]["caller"]
    return caller


def notes_of(connection: HTTPConnection) -> "RequestNotes":
    """What the request log will say of this request; a handler adds what it knows."""
    notes: RequestNotes = connection.scope["state"]["notes"]
    return notes


def request_id_of(connection: HTTPConnection) -> str:
    """The request's id, which the answer and the log carry."""
    return notes_of(connection).request_id
