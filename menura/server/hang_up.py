"""A client that hangs up ends the work that is done for it, wherever that work stands."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from starlette.types import Receive


class HungUpError(Exception):
    """The client closed its connection before the answer was complete."""


@asynccontextmanager
async def while_connected(receive: Receive) -> AsyncGenerator[None]:
    """Nothing; the client is watched while the block runs. The request's body must have been read.

    Raises: HungUpError: the client closed its connection; the block was cancelled where it stood.
    """
    # A time-out that is never due is the standard library's scope to cancel a block with.
    scope = asyncio.timeout(None)
    try:
        async with scope:
            watcher = asyncio.create_task(_cancel_when_gone(receive, scope))
            try:
                yield
            finally:
                watcher.cancel()
    except TimeoutError as error:
        if not scope.expired():
            raise
        raise HungUpError from error


async def _cancel_when_gone(receive: Receive, scope: asyncio.Timeout) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.reschedule(asyncio.get_running_loop().time())
