"""The wyoming library's own client, as Home Assistant uses it, against a real server."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import pytest
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncClient
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeStopped,
    SynthesizeVoice,
)

from tests.clients.spoken import TEXT, WORDS, assert_words, from_pcm, level_of, text_of
from tests.serving_process import Told
from tests.unit.audio.reference_decoders import Decoded

pytestmark = pytest.mark.clients

T = TypeVar("T")


def at(server: Told, talk: Callable[[AsyncClient], Awaitable[T]]) -> T:
    """What a talk with the server gives."""

    async def whole() -> T:
        async with asyncio.timeout(60), AsyncClient.from_uri(str(server.facts["wyoming"])) as peer:
            return await talk(peer)

    return asyncio.run(whole())


async def events_until(peer: AsyncClient, kind: str) -> list[Event]:
    """The events up to the first of this kind."""
    events: list[Event] = []
    while not events or events[-1].type != kind:
        event = await peer.read_event()
        assert event is not None, [event.type for event in events]
        events.append(event)
    return events


def audio_of(events: Sequence[Event]) -> Decoded:
    """The samples of all chunks, which are all of one kind."""
    chunks = [AudioChunk.from_event(event) for event in events if AudioChunk.is_type(event.type)]
    [(rate_hz, width, channels)] = {(chunk.rate, chunk.width, chunk.channels) for chunk in chunks}
    assert (width, channels) == (2, 1)
    return from_pcm(b"".join(chunk.audio for chunk in chunks), rate_hz)


def test_it_says_what_it_can_speak(tones: Told, voice: Told) -> None:
    async def talk(peer: AsyncClient) -> Info:
        await peer.write_event(Describe().event())
        return Info.from_event((await events_until(peer, "info"))[-1])

    for server in (tones, voice):
        info = at(server, talk)
        for program in info.tts:
            assert program.installed
            assert program.supports_synthesize_streaming
            assert program.attribution.name
            assert all(each.languages and each.installed for each in program.voices)
        assert sum(len(program.voices) for program in info.tts) >= 1
        assert info.asr == []


@pytest.mark.parametrize("name", [None, "low", "high"])
def test_a_text_is_spoken(name: str | None, tones: Told) -> None:
    async def talk(peer: AsyncClient) -> list[Event]:
        chosen = None if name is None else SynthesizeVoice(name=name)
        await peer.write_event(Synthesize(TEXT, voice=chosen).event())
        return await events_until(peer, "audio-stop")

    events = at(tones, talk)
    assert AudioStart.is_type(events[0].type)
    assert AudioStop.is_type(events[-1].type)
    assert_words(audio_of(events), *WORDS)


def test_words_are_spoken_before_the_last_one_has_come(tones: Told) -> None:
    async def talk(peer: AsyncClient) -> list[Event]:
        await peer.write_event(SynthesizeStart(voice=SynthesizeVoice(name="low")).event())
        await peer.write_event(SynthesizeChunk(text=f"{text_of('one')} ").event())
        events = await events_until(peer, "audio-chunk")
        for word in ("two", "three"):
            await peer.write_event(SynthesizeChunk(text=f"{text_of(word)} ").event())
        await peer.write_event(Synthesize(TEXT).event())  # for peers that cannot stream
        await peer.write_event(SynthesizeStop().event())
        return events + await events_until(peer, "synthesize-stopped")

    events = at(tones, talk)
    assert SynthesizeStopped.is_type(events[-1].type)
    assert_words(audio_of(events), *WORDS)


def test_one_connection_speaks_many_texts(tones: Told) -> None:
    async def talk(peer: AsyncClient) -> list[Decoded]:
        heard = []
        for word in WORDS:
            await peer.write_event(Synthesize(text_of(word)).event())
            heard.append(audio_of(await events_until(peer, "audio-stop")))
        return heard

    for word, audio in zip(WORDS, at(tones, talk), strict=True):
        assert_words(audio, word)


@pytest.mark.parametrize(
    "wrong", [Synthesize("..."), Synthesize(TEXT, voice=SynthesizeVoice(name="nobody"))]
)
def test_what_is_wrong_is_an_error_and_no_silence(wrong: Synthesize, tones: Told) -> None:
    async def talk(peer: AsyncClient) -> list[Event]:
        await peer.write_event(wrong.event())
        return await events_until(peer, "error")

    events = at(tones, talk)
    assert Error.from_event(events[-1]).text
    assert not any(AudioChunk.is_type(event.type) for event in events)


def test_the_built_in_voice_is_heard(voice: Told) -> None:
    async def talk(peer: AsyncClient) -> list[Event]:
        await peer.write_event(Synthesize("Hello from the server.").event())
        return await events_until(peer, "audio-stop")

    audio = audio_of(at(voice, talk))
    assert 0.8 < len(audio.samples) / audio.rate_hz < 4
    assert level_of(audio.samples) > 0.01
