"""Turns for work that takes much of the machine: few at a time, and few more wait for theirs."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from menura.errors import OverloadedError


class Turns:
    """The places: `at_once` are worked in, and `waiting` more may wait, `limit_s` at most."""

    def __init__(self, at_once: int, waiting: int, limit_s: float) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._n_free = at_once + waiting
        self._limit_s = limit_s

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Nothing; the block has a place. Raises: OverloadedError: too many have one, or wait."""
        if self._n_free <= 0:
            raise self._too_much()
        self._n_free -= 1
        try:
            await self._wait()
            try:
                yield
            finally:
                self._places.release()
        finally:
            self._n_free += 1

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._limit_s):
                await self._places.acquire()
        except TimeoutError:
            raise self._too_much() from None

    def _too_much(self) -> OverloadedError:
        return OverloadedError(
            "this server is doing as much of this as it can: ask again later.",
            retry_after_s=self._limit_s / 10,
        )
