"""uvicorn's WebSocket protocol with the caps that it lacks.

uvicorn caps a message's bytes and reads no further than the application. What is left:

- Every ping is answered at once, whether or not the peer takes the answers; a flood of pings so
  fills the memory. Here a peer may send `PINGS_A_SECOND`, and no more.
- A message may come in any number of empty fragments. Here it may have `MAX_FRAGMENTS`.
- A peer that takes nothing keeps its connection for as long as it likes, since what was written
  waits to be sent. Here the connection is cut some time after the application has ended.
"""

import asyncio
from typing import Final, TypedDict

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame

MAX_MESSAGE_BYTES: Final = 65_536
MAX_FRAGMENTS: Final = 256
PINGS_A_SECOND: Final = 20
CUT_AFTER_S: Final = 5.0


class StreamWire(WebSocketsSansIOProtocol):
    """One WebSocket connection of the server."""

    _pings_from_s = 0.0
    _n_pings = 0

    def handle_ping(self) -> None:
        """Answer a ping, or end the connection where there were too many."""
        now_s = self.loop.time()
        if now_s - self._pings_from_s >= 1:
            self._pings_from_s, self._n_pings = now_s, 0
        self._n_pings += 1
        if self._n_pings > PINGS_A_SECOND:
            self._refuse("too many pings")
        else:
            super().handle_ping()

    def handle_cont(self, event: Frame) -> None:
        """Take a further fragment, or end the connection where there were too many."""
        if len(self.frames) >= MAX_FRAGMENTS:
            self._refuse("too many fragments")
        else:
            super().handle_cont(event)

    def keepalive_timeout(self) -> None:
        """End the connection of a peer that does not answer our pings."""
        super().keepalive_timeout()
        self._cut_soon()

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        """Let what is written go out for a while, then cut the connection."""
        super().on_task_complete(task)
        self._cut_soon()

    def _refuse(self, reason: str) -> None:
        """End the connection without waiting for the peer, which may take nothing."""
        if self.close_sent:
            return
        self.stop_keepalive()
        self.conn.fail(CloseCode.POLICY_VIOLATION, reason)
        if self.conn.close_sent is None:  # it never was open
            self.transport.abort()
            return
        self.handle_parser_exception()
        self._cut_soon()

    def _cut_soon(self) -> None:
        if not self.disconnected:
            self.loop.call_later(CUT_AFTER_S, self.transport.abort)


class _UvicornOptions(TypedDict):
    ws: type[asyncio.Protocol]
    ws_max_size: int
    ws_per_message_deflate: bool
    ws_ping_interval: float
    ws_ping_timeout: float


UVICORN_OPTIONS: Final[_UvicornOptions] = {
    "ws": StreamWire,
    "ws_max_size": MAX_MESSAGE_BYTES,
    # Nothing that is sent is worth compressing, and a bomb would have to be told from a text.
    "ws_per_message_deflate": False,
    "ws_ping_interval": 20.0,
    "ws_ping_timeout": 20.0,
}
"""What uvicorn is started with, for `uvicorn.Config(app, **UVICORN_OPTIONS)`."""
