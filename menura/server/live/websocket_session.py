"""One connection of /v1/stream: its client's messages, and the speech that is under way for it."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from pydantic import ValidationError
from starlette.websockets import WebSocket, WebSocketDisconnect

from menura.errors import InvalidValueError, MenuraError
from menura.server.border.credentials import Credentials, check_scope
from menura.server.border.problems import Problem, problem_of, problem_of_fields
from menura.server.first_error import first_error
from menura.server.live.idle_limit import IdleLimit
from menura.server.live.live_notes import noted
from menura.server.live.live_speech import LiveSpeech
from menura.server.live.websocket_messages import Cancel, End, Flush, Message, Start, Text, read
from menura.server.live.websocket_speech import StreamedSpeech
from menura.server.routes import Scope, caller_of, notes_of, parts_of, request_id_of
from menura.server.speech import Asker, SpeakBody, asker_of
from menura.speech import FinishReason

# The codes with which a connection is closed: the client's mistake, ours, or no room now.
POLICY_VIOLATION, INTERNAL_ERROR, TRY_AGAIN_LATER = 1008, 1011, 1013
# What is said to a client before its connection is closed may take this long.
_LAST_WORDS_S = 5.0
# Fields of POST /v1/audio/speech that say nothing here.
_WITHOUT_EFFECT = frozenset({"input", "stream", "stream_format"})


class Session:
    """The messages of one connection in their order; at most one speech is under way."""

    def __init__(self, websocket: WebSocket) -> None:
        self._socket = websocket
        self._parts = parts_of(websocket)
        self._idle = IdleLimit(self._parts.limits.stream_idle_s)
        self._key_id = caller_of(websocket).key_id
        self._n_speeches = 0
        self._speech: StreamedSpeech | None = None
        self._speaking: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Nothing, when the client has gone or was refused."""
        try:
            async with asyncio.TaskGroup() as tasks:
                await self._listen(tasks)
                if self._speaking is not None:
                    self._speaking.cancel()
        except* (Problem, MenuraError) as group:
            await self._refuse(first_error(group))
        except* (WebSocketDisconnect, OSError):
            pass  # the client has gone

    async def _listen(self, tasks: asyncio.TaskGroup) -> None:
        """Nothing, when the client has closed the connection."""
        while (message := await self._received()) is not None:
            if isinstance(message, Start):
                self._start(message.fields, tasks)
            elif isinstance(message, Cancel):
                await self._cancel()
            else:
                await self._give(message)

    async def _received(self) -> Message | None:
        """The next message, None when there will be none."""
        try:
            async with self._idle.watching():
                event = await self._socket.receive()
        except TimeoutError:
            limit_s = self._parts.limits.stream_idle_s
            words = f"Nothing came for {limit_s:g} s: send words, or an empty text to stay."
            raise Problem(408, "idle", words) from None
        if event["type"] == "websocket.disconnect":
            return None
        text = event.get("text")
        if text is None:
            raise InvalidValueError("messages to the server are JSON texts, never binary ones.")
        return read(text)

    def _start(self, fields: Mapping[str, object], tasks: asyncio.TaskGroup) -> None:
        if self._speech is not None:
            raise InvalidValueError("a speech is under way: end or cancel it before a start.")
        given = {name: value for name, value in fields.items() if name not in _WITHOUT_EFFECT}
        if given.get("response_format") is None:
            given["response_format"] = "pcm"
        try:
            body = SpeakBody.model_validate(given)
        except ValidationError as error:
            raise problem_of_fields(error.errors()) from None
        # A key may have been removed since the connection was made.
        credentials: Credentials = self._socket.app.state.credentials
        check_scope(credentials.caller(self._socket), Scope.SPEAK)
        self._n_speeches += 1
        asker = asker_of(self._socket)
        asker = replace(asker, request_id=f"{asker.request_id}-{self._n_speeches}")
        live = LiveSpeech(self._parts.limits.stream_characters)
        ignored = tuple(sorted(fields.keys() & _WITHOUT_EFFECT))
        self._speech = StreamedSpeech(live, body, ignored, self._socket, self._idle)
        self._speaking = tasks.create_task(self._speak(self._speech, asker))
        self._idle.allow(None)  # until it has started, it is our turn

    async def _give(self, message: Text | Flush | End) -> None:
        if self._speech is None:
            raise InvalidValueError("start must come first: no speech is under way.", param="type")
        live = self._speech.live
        if isinstance(message, Text):
            await live.say(message.text)
        elif isinstance(message, Flush):
            await live.flush()
            await self._speech.tell_flushed()
        else:
            await live.end()
            self._idle.allow(None)

    async def _cancel(self) -> None:
        """Drop the speech. A client that cancels what has just ended has had its `done`."""
        speech, speaking = self._speech, self._speaking
        if speech is None or speaking is None:
            return
        speaking.cancel()
        await asyncio.wait([speaking])
        if speaking.cancelled():
            self._forget()  # a task that is cancelled before its first step has not done it
            await speech.tell_done(FinishReason.CANCELLED)

    async def _speak(self, speech: StreamedSpeech, asker: Asker) -> None:
        metrics = self._parts.metrics
        try:
            with noted(metrics, asker.request_id, "/v1/stream", self._key_id) as notes:
                await speech.speak(self._parts, asker, notes)
        finally:
            self._forget()

    def _forget(self) -> None:
        """Be ready for the next speech, and wait for it only so long."""
        self._speech = self._speaking = None
        self._idle.allow(self._parts.limits.stream_idle_s)

    async def _refuse(self, error: BaseException) -> None:
        """Say what is wrong, if the client still listens, and close."""
        if isinstance(error, MenuraError):
            error = problem_of(error, request_id_of(self._socket))
        assert isinstance(error, Problem)
        notes_of(self._socket).error = error.code
        with suppress(WebSocketDisconnect, OSError, RuntimeError):
            async with asyncio.timeout(_LAST_WORDS_S):
                body = error.body.model_dump()
                await self._socket.send_json({"type": "error", **body})
                await self._socket.close(_close_code(error), error.code)


def _close_code(problem: Problem) -> int:
    if problem.retry_after_s is not None:
        return TRY_AGAIN_LATER
    return INTERNAL_ERROR if problem.status_code >= 500 else POLICY_VIOLATION
