"""A client that hangs up ends the work that is done for it, wherever that work stands."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from starlette.types import Receive


class HungUpError(Exception):
    """The client closed its connection before the answer was complete."""


@asynccontextmanager
async def while_connected(receive: Receive) -> AsyncGenerator["Connection"]:
    """A connection that is watched while the block runs. The request's body must have been read.

    Raises: HungUpError: the client closed it; the block was cancelled where it stood.
    """
    connection = Connection(receive)
    try:
        async with connection.scope:
            watcher = asyncio.create_task(connection.watch())
            try:
                yield connection
            finally:
                watcher.cancel()
    except TimeoutError as error:
        if not connection.scope.expired():
            raise
        raise HungUpError from error


class Connection:
    """One client's connection, for as long as an answer is made."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._answered = False
        # A time-out that is never due is the standard library's scope to cancel a block with.
        self.scope = asyncio.timeout(None)

    def answered(self) -> None:
        """Nothing; the answer is complete, so what the client does from now on is its own."""
        self._answered = True

    async def watch(self) -> None:
        """Nothing, once the client has hung up; the block is being cancelled then."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if not self._answered:
            self.scope.reschedule(asyncio.get_running_loop().time())
