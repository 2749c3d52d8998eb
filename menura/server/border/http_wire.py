"""HTTP on the socket: uvicorn's own protocol, with time limits and errors in OpenAI's shape.

uvicorn waits for ever for a head that never ends and for a client that reads nothing; here such a
connection is closed. What h11 cannot read is answered before any application sees it.
"""

import asyncio
import sys
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from menura.server.border.guards import MAX_HEADER_BYTES
from menura.server.border.problems import Problem
from menura.server.server_settings import ServerSettings

_LINGER_S = 2.0
_LINGER_BYTES = 16 * 1024 * 1024


class HttpWire(H11Protocol):
    """One connection. `head_s`: for a head to arrive; `stall_s`: for a client to take something."""

    head_s = 20.0
    stall_s = 60.0
    connections_at_most = 512
    _head_timer: asyncio.TimerHandle | None = None
    _stall_timer: asyncio.TimerHandle | None = None
    _goodbye_timer: asyncio.TimerHandle | None = None
    _bytes_after = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Nothing; the first head has to come within its time."""
        super().connection_made(transport)
        if len(self.connections) > self.connections_at_most:
            busy = Problem(503, "too_many_connections", "Too many connections.", retry_after_s=5)
            self._refuse(busy)
        else:
            self._watch_head()

    def data_received(self, data: bytes) -> None:
        """Nothing; a head that is whole stops its clock, the beginning of another starts it."""
        if self._goodbye_timer is not None:
            self._read_on(data)
            return
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._forget_head()
        elif self._head_timer is None and not self._is_ending:
            self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing; no clock runs on."""
        self._forget_head()
        self.resume_writing()
        if self._goodbye_timer is not None:
            self._goodbye_timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Nothing; a client that takes nothing from now on is cut after a while."""
        super().pause_writing()
        self._stall_timer = self.loop.call_later(self.stall_s, self.transport.abort)

    def resume_writing(self) -> None:
        """Nothing; the client takes what it is sent."""
        super().resume_writing()
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn calls it so
        """Nothing, after what cannot be read as HTTP was refused. `msg` is not shown."""
        error = sys.exception()
        status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        if status == 431:
            words = f"The headers are too large: at most {MAX_HEADER_BYTES} bytes are allowed."
            self._refuse(Problem(431, "headers_too_large", words))
        else:
            self._refuse(Problem(400, "not_http", "This is not a request that HTTP knows."))

    def _watch_head(self) -> None:
        self._head_timer = self.loop.call_later(self.head_s, self._head_too_slow)

    def _forget_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_too_slow(self) -> None:
        self._head_timer = None
        words = f"The request did not arrive within {self.head_s:g} s."
        self._refuse(Problem(408, "head_too_slow", words))

    @property
    def _is_ending(self) -> bool:
        return self._goodbye_timer is not None or self.transport.is_closing()

    def _refuse(self, problem: Problem) -> None:
        """Nothing, after the problem was sent, where nothing else was yet, and the end began."""
        self._forget_head()
        can_answer = self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE)
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # for the application the client is gone
            self.cycle.message_event.set()
        if not can_answer or self._is_ending:
            self.transport.close()
            return
        body = bytes(problem.answer().body)
        head = [
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("connection", "close"),
            ("server", "menura"),
        ]
        response = h11.Response(status_code=problem.status_code, headers=head)
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        # Closing at once would take the answer from a client that is still sending.
        self.transport.write_eof()
        self._goodbye_timer = self.loop.call_later(_LINGER_S, self.transport.close)

    def _read_on(self, data: bytes) -> None:
        """Nothing; what a refused client still sends is not looked at, and not without end."""
        self._bytes_after += len(data)
        if self._bytes_after > _LINGER_BYTES:
            self.transport.close()


def uvicorn_options(limits: ServerSettings) -> dict[str, Any]:
    """What `uvicorn.Config` needs so that the rules of this file hold."""
    kind = type(
        "LimitedHttpWire",
        (HttpWire,),
        {
            "head_s": limits.body_s,
            "stall_s": limits.stall_s,
            "connections_at_most": limits.connections,
        },
    )
    return {
        "http": kind,
        "h11_max_incomplete_event_size": MAX_HEADER_BYTES,
        "access_log": False,
        "log_config": None,
        "server_header": False,
        "proxy_headers": False,  # a client could choose its own address
        "timeout_keep_alive": 30,
    }
