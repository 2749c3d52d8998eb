"""A limit on how long a connection may do nothing, for what is read from a live peer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class IdleLimit:
    """How long a wait for the peer may last. What happens meanwhile begins it again."""

    def __init__(self, limit_s: float | None) -> None:
        self._limit_s = limit_s
        self._timer: asyncio.Timeout | None = None

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """A block that may wait for the peer. Raises: TimeoutError: nothing happened for long."""
        async with asyncio.timeout(None) as timer:
            self._timer = timer
            self.touch()
            try:
                yield
            finally:
                self._timer = None

    def touch(self) -> None:
        """Something happened: the wait begins again."""
        if self._timer is not None:
            now = asyncio.get_running_loop().time()
            self._timer.reschedule(None if self._limit_s is None else now + self._limit_s)

    def allow(self, limit_s: float | None) -> None:
        """From now on the peer may do nothing for so long; None where it waits for us."""
        self._limit_s = limit_s
        self.touch()
