import asyncio

import pytest

from menura.server.live.idle_limit import IdleLimit


def test_a_wait_without_anything_ends() -> None:
    async def wait() -> None:
        async with IdleLimit(0).watching():
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        asyncio.run(wait())


def test_without_a_limit_a_wait_goes_on_until_there_is_one() -> None:
    async def wait() -> str:
        idle, lasts = IdleLimit(None), asyncio.Event()

        async def watch() -> None:
            async with idle.watching():
                lasts.set()
                await asyncio.Event().wait()

        watching = asyncio.create_task(watch())
        await lasts.wait()
        await asyncio.sleep(0)
        before = "waits" if not watching.done() else "ended"
        idle.allow(0)
        with pytest.raises(TimeoutError):
            await watching
        return before

    assert asyncio.run(wait()) == "waits"


def test_what_happens_outside_of_a_wait_is_no_error() -> None:
    idle = IdleLimit(1)
    idle.touch()
    idle.allow(None)
