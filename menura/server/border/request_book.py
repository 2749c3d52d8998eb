"""The last requests and how many there were, for those who watch the server.

What a page asks again and again (to read something, which went well) is counted and not kept, so
that it does not push out what somebody may look for.
"""

import time
from collections import deque
from collections.abc import Callable

from menura.server.border.request_log import RequestNotes

KEPT = 200
_ERROR = 400  # statuses from here on are errors


class RequestBook:
    """What is known of requests: `n_live` are under way, `n_total` have begun."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self.n_live = 0
        self.n_total = 0
        self._now = now
        self._lines: deque[dict[str, object]] = deque(maxlen=KEPT)

    def begin(self) -> None:
        """Nothing, after one more request was counted."""
        self.n_live += 1
        self.n_total += 1

    def end(self, notes: RequestNotes) -> None:
        """Nothing, after a request that has ended was written down."""
        self.n_live -= 1
        if notes.method != "GET" or notes.status >= _ERROR:
            self._lines.append({"at": round(self._now(), 3), **notes.line()})

    def last(self) -> list[dict[str, object]]:
        """The last requests as the log has them, the newest first, with their end's unix time."""
        return [dict(line) for line in reversed(self._lines)]
