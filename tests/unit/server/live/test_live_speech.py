import asyncio
from typing import TYPE_CHECKING, cast

import pytest

from menura.errors import InvalidValueError
from menura.server.live.live_speech import LiveSpeech

if TYPE_CHECKING:
    from menura.server.models.performance import Performance


class Heard:
    """A performance that notes what it is told, and takes a turn of the loop for each."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def say(self, text: str) -> None:
        await asyncio.sleep(0)
        self.told.append(text)

    async def flush(self) -> None:
        await asyncio.sleep(0)
        self.told.append("<flush>")

    async def end_words(self) -> None:
        await asyncio.sleep(0)
        self.told.append("<end>")


def a_speech(max_characters: int = 100) -> LiveSpeech:
    return LiveSpeech(max_characters)


def told_of(speech: LiveSpeech) -> list[str]:
    """What a performance is told that begins now."""
    heard = Heard()
    asyncio.run(speech.begin(cast("Performance", heard)))
    return heard.told


def test_words_from_before_the_performance_come_first_and_in_order() -> None:
    speech = a_speech()

    async def give() -> list[str]:
        heard = Heard()
        await speech.say("a ")
        await speech.flush()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(speech.begin(cast("Performance", heard)))
            await asyncio.sleep(0)
            await speech.say("b")
            await speech.end()
        return heard.told

    assert asyncio.run(give()) == ["a ", "<flush>", "b", "<end>"]
    assert speech.text == "a b"


def test_an_empty_text_and_a_second_flush_of_the_same_words_tell_the_model_nothing() -> None:
    speech = a_speech()

    async def give() -> None:
        await speech.flush()
        for _ in range(3):
            await speech.say("")
        await speech.say("a")
        await speech.flush()
        await speech.flush()

    asyncio.run(give())
    assert told_of(speech) == ["a", "<flush>"]


def test_too_many_characters_are_refused_and_not_given() -> None:
    speech = a_speech(max_characters=5)
    asyncio.run(speech.say("12345"))
    with pytest.raises(InvalidValueError, match="over 5 characters") as caught:
        asyncio.run(speech.say("6"))
    assert caught.value.param == "text"
    assert told_of(speech) == ["12345"]


@pytest.mark.parametrize("verb", ["say", "flush", "end"])
def test_nothing_comes_after_the_end(verb: str) -> None:
    speech = a_speech()
    asyncio.run(speech.end())
    with pytest.raises(InvalidValueError, match="has ended"):
        asyncio.run(speech.say("x") if verb == "say" else getattr(speech, verb)())


def test_a_flush_is_done_when_no_speakable_text_is_left_before_it() -> None:
    speech = a_speech()

    async def give() -> None:
        await speech.say("One. ")
        await speech.flush()
        await speech.say("Two (!) ")
        await speech.flush()

    asyncio.run(give())
    assert speech.flushed() == []
    speech.cover(4)
    assert speech.flushed() == [5]
    speech.cover(8)
    assert speech.flushed() == [13]
    assert speech.flushed() == []


def test_a_flush_of_nothing_is_done_at_once() -> None:
    speech = a_speech()
    asyncio.run(speech.flush())
    assert speech.flushed() == [0]
