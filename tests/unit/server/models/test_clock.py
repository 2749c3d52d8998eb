"""The server's time is the event loop's."""

import asyncio

from menura.server.models.clock import LoopClock


def test_calls_come_from_the_loop_unless_they_were_forgotten() -> None:
    async def run() -> str:
        clock, came = LoopClock(), asyncio.get_running_loop().create_future()
        clock.call_later(0, lambda: came.set_result("the one forgotten")).cancel()
        clock.call_later(0, lambda: came.set_result("the other"))
        assert clock.now() <= asyncio.get_running_loop().time()
        return str(await came)

    assert asyncio.run(run()) == "the other"
