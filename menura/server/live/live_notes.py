"""One line of the log, and one entry in the numbers, for each speech of a live connection."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.websockets import WebSocketDisconnect

from menura.errors import MenuraError
from menura.server.border import request_log
from menura.server.border.metrics import Metrics
from menura.server.border.request_log import RequestNotes
from menura.speech import FinishReason

_METHOD = "SPEECH"


@contextmanager
def noted(metrics: Metrics, request_id: str, route: str, key: str = "") -> Iterator[RequestNotes]:
    """The notes of a speech that the block fills in; they are written when it ends."""
    notes = RequestNotes(request_id, _METHOD, route, key, status=200)
    try:
        yield notes
    except MenuraError as error:
        notes.status, notes.error, notes.finish = error.http_status, error.code, FinishReason.ERROR
        raise
    except (asyncio.CancelledError, WebSocketDisconnect, OSError):  # by the client, or it has gone
        notes.finish = FinishReason.CANCELLED
        raise
    finally:
        request_log.write(notes)
        metrics.observe(notes)
