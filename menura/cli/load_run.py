"""Open-loop load on a server: requests at the moments of a Poisson process, and what came back.

The moments are drawn before the run and kept whatever the server does: a slow server meets more
requests at a time, as it would from people. A loop that waits for answers would spare it.
"""

import asyncio
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

from menura.audio.decode import decode
from menura.errors import MenuraError

if TYPE_CHECKING:
    import httpx

PCM_RATE_HZ, _PCM_BYTES = 24_000, 2
_SPEECH = "/v1/audio/speech"
_CONNECT_S = 5.0
NO_ANSWER = 0  # in place of a status
_OK = 200


@dataclass(frozen=True)
class Call:
    """One request: when it is sent, in seconds from the start, and for what."""

    at_s: float
    text: str
    audio_format: str


@dataclass(frozen=True)
class Arrival:
    """Some bytes of an answer: when they came, and how many had come with them."""

    at_s: float
    n_bytes: int


@dataclass
class Answer:
    """What came back for one call; times are seconds since it was sent.

    `status` is 0 where there was no answer, or it broke off; `reason` says why in a word.
    """

    call: Call
    status: int = NO_ANSWER
    reason: str = ""
    arrivals: list[Arrival] = field(default_factory=list)
    content: bytearray = field(default_factory=bytearray)
    ended_s: float = 0.0
    audio_s: float = 0.0

    @property
    def is_good(self) -> bool:
        """Whether it is speech from its beginning to its end."""
        return self.status == _OK and not self.reason and self.audio_s > 0

    @property
    def first_audio_s(self) -> float:
        """How long the first audio took."""
        return self.arrivals[0].at_s

    @property
    def is_dry(self) -> bool:
        """Whether playback from the first audio on would have had to wait for more.

        Audio is taken to be spread evenly over the bytes, as it is in pcm and nearly in the others.
        """
        had_s = 0.0
        for arrival in self.arrivals:
            if arrival.at_s - self.first_audio_s > had_s:
                return True
            had_s = self.audio_s * arrival.n_bytes / len(self.content)
        return False


@dataclass(frozen=True)
class Place:
    """The server, and what is said in every request."""

    address: str
    key: str | None
    model: str | None
    voice: str | None
    limit_s: float


def calls(
    rate: float, duration_s: float, texts: Sequence[str], formats: Sequence[str], seed: int
) -> Iterator[Call]:
    """The calls of one run: `rate` a second on average, their texts and formats drawn evenly."""
    draw = random.Random(f"{seed}/{rate}")
    moment = draw.expovariate(rate)
    while moment < duration_s:
        yield Call(moment, draw.choice(texts), draw.choice(formats))
        moment += draw.expovariate(rate)


def run(place: Place, planned: Sequence[Call]) -> list[Answer]:
    """The answers to all calls, in their order, with the duration of their audio."""
    answers = asyncio.run(_run(place, planned))
    for answer in answers:  # afterwards: decoding beside the server would take its time
        _measure(answer)
    return answers


async def _run(place: Place, planned: Sequence[Call]) -> list[Answer]:
    import httpx  # noqa: PLC0415

    headers = {"Authorization": f"Bearer {place.key}"} if place.key else {}
    async with httpx.AsyncClient(
        base_url=place.address,
        headers=headers,
        timeout=httpx.Timeout(place.limit_s, connect=_CONNECT_S),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
        trust_env=False,
    ) as client:
        start = perf_counter()
        tasks = []
        for call in planned:
            await asyncio.sleep(start + call.at_s - perf_counter())
            tasks.append(asyncio.create_task(_ask(client, place, call)))
        return list(await asyncio.gather(*tasks))


async def _ask(client: "httpx.AsyncClient", place: Place, call: Call) -> Answer:
    import httpx  # noqa: PLC0415

    answer = Answer(call)
    body = {"input": call.text, "response_format": call.audio_format, "model": place.model}
    body |= {"voice": place.voice, "stream_format": "audio"}
    given = {name: value for name, value in body.items() if value is not None}
    sent = perf_counter()
    try:
        async with (
            asyncio.timeout(place.limit_s),
            client.stream("POST", _SPEECH, json=given) as got,
        ):
            answer.status = got.status_code
            async for piece in got.aiter_raw():
                answer.content += piece
                answer.arrivals.append(Arrival(perf_counter() - sent, len(answer.content)))
    except TimeoutError:
        answer.reason = "too late"
    except httpx.HTTPError as error:
        answer.reason = type(error).__name__
    answer.ended_s = perf_counter() - sent
    return answer


def _measure(answer: Answer) -> None:
    """Fill in how long the answer's audio is; an error's code, or what is wrong, is the reason."""
    if answer.status != _OK:
        answer.reason = answer.reason or _code_in(bytes(answer.content))
        return
    if answer.call.audio_format == "pcm":
        answer.audio_s = len(answer.content) / (_PCM_BYTES * PCM_RATE_HZ)
        return
    try:
        heard = decode(bytes(answer.content))
        answer.audio_s = len(heard.samples) / heard.sample_rate_hz
    except MenuraError as error:
        answer.reason = answer.reason or error.code


def _code_in(content: bytes) -> str:
    try:
        return str(json.loads(content)["error"]["code"])
    except (ValueError, KeyError, TypeError):
        return "no OpenAI error"
