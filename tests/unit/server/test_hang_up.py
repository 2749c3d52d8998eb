import asyncio

import pytest

from menura.server.hang_up import HungUpError, while_connected
from tests.unit.server.asgi_wire import Wire


async def connected() -> Wire:
    wire = Wire()
    await wire.receive()  # the request's body is read before
    return wire


def test_a_block_that_ends_is_left_alone_and_nothing_goes_on_watching() -> None:
    async def run() -> int:
        wire = await connected()
        async with while_connected(wire.receive):
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        return len(asyncio.all_tasks())

    assert asyncio.run(run()) == 1


def test_a_hang_up_cancels_the_block_where_it_stands() -> None:
    reached: list[str] = []

    async def run() -> None:
        wire = await connected()
        async with while_connected(wire.receive):
            wire.hang_up()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                reached.append("cancelled")
                await asyncio.sleep(0)  # what is released may wait: it is cancelled only once
                reached.append("released")
                raise

    with pytest.raises(HungUpError):
        asyncio.run(run())
    assert reached == ["cancelled", "released"]


def test_an_error_of_the_block_passes_through_even_a_time_out() -> None:
    async def run(error: Exception) -> None:
        wire = await connected()
        async with while_connected(wire.receive):
            raise error

    for error in (LookupError("theirs"), TimeoutError("theirs")):
        with pytest.raises(type(error), match="theirs"):
            asyncio.run(run(error))


def test_a_cancelled_request_is_no_hang_up() -> None:
    async def wait_for_ever() -> None:
        wire = await connected()
        async with while_connected(wire.receive):
            await asyncio.Event().wait()

    async def run() -> None:
        request = asyncio.create_task(wait_for_ever())
        for _ in range(3):
            await asyncio.sleep(0)
        request.cancel()
        await request

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())
