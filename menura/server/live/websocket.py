"""GET /v1/stream, a WebSocket: words in as they come, audio out as it is made.

The client is known by its key in a header, or in a browser by its cookie, as everywhere; a key in
the address is refused. What is wrong before the connection stands is an HTTP answer. Then all
messages are JSON texts with a `type`, but the audio, which comes as binary messages.

To the server:

    start    a speech begins: model, voice, response_format ("pcm" where none is given: 24 kHz
             s16le), language, instructions, speed, seed, options ...: as POST /v1/audio/speech
    text     text: more words, as many messages as there are
    flush    speak the words so far to their end now, however they go on
    end      the text is complete
    cancel   drop the speech: nothing more of it comes but `done`

From the server, for each speech:

    started  request_id, model, voice, seed, response_format, media_type, sample_rate, ignored
    (binary) the next bytes of one continuous file or stream in the asked format
    segment  what was spoken: start, end (code points of all text since `start`), start_s, end_s
             (seconds of this speech's audio), seed, finish. It follows the segment's samples; a
             codec may hold the last milliseconds back until more audio comes
    flushed  end: all words up to there are spoken
    done     finish ("stop", "length", "cancelled"), usage, and `menura` with what was really used;
             without audio before it, where the words had nothing to speak
    error    error: {message, type, param, code} as in HTTP answers; then the connection is closed
             with 1008 (the client's mistake), 1011 (ours) or 1013 (try again later)

After `done` another `start` may follow on the same connection. It speaks one speech at a time.

Limits: a message of 64 KiB, the characters of a speech, the sessions at a time, of one key and of
all. While words are open, a client that sends nothing and gets nothing for a minute is cut; an
empty text shows that it is there. One that takes nothing is cut too, and so is a flood of pings
(`websocket_wire`). Closing the connection cancels the speech within one step.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.websockets import WebSocket

from menura.server.border.problems import Problem
from menura.server.live.websocket_session import Session
from menura.server.live.websocket_wire import MAX_MESSAGE_BYTES
from menura.server.routes import BodyRule, Route, Scope, caller_of, parts_of
from menura.server.server_settings import ServerSettings


class Places:
    """How many sessions there are, of every owner."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()

    @contextmanager
    def taken(self, owner: str, limits: ServerSettings) -> Iterator[None]:
        """A block in which the owner has one session more.

        Raises: Problem: there are too many, of this owner (429) or at all (503).
        """
        if self._taken[owner] >= limits.stream_sessions_per_key:
            raise Problem(
                429,
                "busy",
                f"This key has {limits.stream_sessions_per_key} sessions open, the most it may.",
                retry_after_s=1,
            )
        if self._taken.total() >= limits.stream_sessions:
            raise Problem(
                503, "overloaded", "There are too many sessions: try again later.", retry_after_s=1
            )
        self._taken[owner] += 1
        try:
            yield
        finally:
            self._taken[owner] -= 1
            if not self._taken[owner]:
                del self._taken[owner]


async def stream(websocket: WebSocket) -> None:
    """Speak words as they come; see the description of the messages."""
    caller = caller_of(websocket)
    try:
        with _places_of(websocket).taken(caller.owner, parts_of(websocket).limits):
            await websocket.accept()
            await Session(websocket).run()
    except Problem as problem:
        await websocket.send_denial_response(problem.answer())


def _places_of(websocket: WebSocket) -> Places:
    """The application's own places; there is no other state of a server that only this uses."""
    state = websocket.app.state
    if not hasattr(state, "stream_places"):
        state.stream_places = Places()
    places: Places = state.stream_places
    return places


ROUTES = (
    Route(
        "/v1/stream",
        ("WS",),
        Scope.SPEAK,
        BodyRule(MAX_MESSAGE_BYTES),
        stream,
        "Words in, audio out, while both go on",
    ),
)
