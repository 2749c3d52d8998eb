import asyncio

import pytest

from menura.errors import OverloadedError
from menura.server.turns import Turns


def test_so_many_work_so_many_wait_and_one_more_is_sent_away() -> None:
    async def run() -> None:
        turns = Turns(at_once=1, waiting=1, limit_s=60)
        order: list[str] = []
        end = asyncio.Event()

        async def work(name: str) -> None:
            async with turns.turn():
                order.append(name)
                await end.wait()

        first = asyncio.create_task(work("first"))
        second = asyncio.create_task(work("second"))
        await asyncio.sleep(0)
        assert order == ["first"]
        with pytest.raises(OverloadedError) as caught:
            await work("third")
        assert caught.value.retry_after_s == 6
        end.set()
        await asyncio.gather(first, second)
        await work("fourth")
        assert order == ["first", "second", "fourth"]

    asyncio.run(run())


def test_who_waits_too_long_or_leaves_gives_the_place_back() -> None:
    async def run() -> None:
        turns = Turns(at_once=1, waiting=1, limit_s=0.01)
        async with turns.turn():
            for _ in range(3):
                with pytest.raises(OverloadedError):
                    async with turns.turn():
                        pass
        async with turns.turn():
            pass

    asyncio.run(run())
