"""POST /v1/audio/convert/{format}: a plain wav in another format, marked as synthetic speech.

What was heard need not be spoken again to be kept. The body and what comes of it lie in a folder of
ours while they are needed; few conversions run at a time, and the body of one that waits is not
read before its turn.
"""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO

from fastapi import Query, Request
from starlette.responses import Response
from starlette.types import Receive, Send
from starlette.types import Scope as Connection

from menura.audio.encoders import Encoder
from menura.audio.pcm import FloatArray
from menura.audio.plain_wav import PlainWav, read_header
from menura.audio.resample import Resampler
from menura.audio.tags import Tags
from menura.errors import NO_ROOM, DiskFullError, InvalidValueError
from menura.saving import tags_of
from menura.server.encoding import SERVED_FORMATS, AudioWish, checked_format
from menura.server.hang_up import HungUpError, while_connected
from menura.server.routes import BodyRule, Route, Scope, ServerParts, parts_of
from menura.server.speech import MEDIA_TYPES
from menura.server.turns import Turns
from menura.server.voices.uploads import scratch_folder
from menura.speech import MAX_SEED

MAX_BYTES = 100_000_000
"""The largest wav: half an hour of 24 kHz in 16 bits."""

# The last is what clients call bytes of a kind that they do not know.
_WAV_TYPES = ("audio/wav", "audio/wave", "audio/x-wav", "application/octet-stream")
_WAV = BodyRule(MAX_BYTES, _WAV_TYPES, is_streamed=True)
_PIECE_BYTES = 256 * 1024


async def convert(
    request: Request,
    format: str,  # noqa: A002 - the word of the address
    model: Annotated[str | None, Query(max_length=200)] = None,
    voice: Annotated[str | None, Query(max_length=200)] = None,
    seed: Annotated[int | None, Query(ge=0, le=MAX_SEED)] = None,
) -> Response:
    """Give a wav in another format. The model, the voice and the seed go into the file's tags."""
    name = checked_format(format, "format")
    if name not in SERVED_FORMATS:
        raise InvalidValueError(
            f"format {name!r} is not one of: {', '.join(SERVED_FORMATS)}.", param="format"
        )
    parts = parts_of(request)
    applied: dict[str, object] = {"voice": voice, "seed": seed, **await _licensed(parts, model)}
    wish = AudioWish(name, whole=True)
    return _Converted(parts.conversions, wish, tags_of(applied, mark=parts.mark))


async def _licensed(parts: ServerParts, model: str | None) -> dict[str, object]:
    """The model's name and the licence of its audio. Raises: ModelNotFoundError."""
    if model is None:
        return {}
    name = parts.names.model(model)
    return {"model": name, "output_licence": (await parts.pool.describe(name)).output_licence}


class _Converted(Response):
    """The answer to a wav; the body is read, converted and sent when it is called."""

    def __init__(self, turns: Turns, wish: AudioWish, tags: Tags) -> None:
        super().__init__(media_type=wish.media_type)
        self._turns = turns
        self._wish = wish
        self._tags = tags

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        """Nothing, when the answer was sent or the client hung up.

        Raises: UnreadableAudioError, AudioTooLargeError, OverloadedError; DiskFullError; Problem:
            the body is too large, or too slow.
        """
        async with self._turns.turn(), scratch_folder() as folder:
            work = _Conversion(folder / "given.wav", folder / "made", self._wish, self._tags)
            try:
                await _save(Request(scope, receive), work.source)
                with suppress(HungUpError):
                    async with while_connected(receive):
                        await _finish(work.steps())
                        await self._send(work, send)
            except OSError as error:
                if error.errno in NO_ROOM:
                    raise DiskFullError("the disk became full on the way.") from error
                raise

    async def _send(self, work: "_Conversion", send: Send) -> None:
        headers = {
            "content-type": self._wish.media_type,
            "content-length": str(work.target.stat().st_size),
            "x-sample-rate": str(work.rate_hz),
            "content-disposition": f'attachment; filename="speech.{self._wish.format}"',
        }
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": raw})
        with work.target.open("rb") as file:
            while piece := await asyncio.to_thread(file.read, _PIECE_BYTES):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _save(request: Request, path: Path) -> None:
    with path.open("xb", buffering=_PIECE_BYTES) as file:
        async for piece in request.stream():
            file.write(piece)


async def _finish(steps: Iterator[None]) -> None:
    """Nothing, when no step is left; where this is cancelled, the step under way ends first."""
    is_over = False
    while not is_over:
        step = asyncio.create_task(asyncio.to_thread(_is_last, steps))
        try:
            is_over = await asyncio.shield(step)
        except asyncio.CancelledError:
            await asyncio.wait([step])
            raise


def _is_last(steps: Iterator[None]) -> bool:
    """Whether there was no step left to do."""
    return next(steps, steps) is steps


@dataclass
class _Conversion:
    """One wav and what is made of it; `rate_hz` is known when the header was read."""

    source: Path
    target: Path
    wish: AudioWish
    tags: Tags
    rate_hz: int = 0

    def steps(self) -> Iterator[None]:
        """Nothing, again and again, until the target stands there."""
        with self.source.open("rb") as given, self.target.open("xb") as made:
            wav = read_header(given)
            self.rate_hz = self.wish.rate_for(wav.sample_rate_hz)
            with Encoder(made, self.wish.format, self.rate_hz, tags=self.tags) as encoder:
                for samples in _resampled(wav, given, self.rate_hz):
                    encoder.write(samples)
                    yield


def _resampled(wav: PlainWav, file: BinaryIO, rate_hz: int) -> Iterator[FloatArray]:
    """The samples [n] of the file, in blocks, at this rate."""
    if rate_hz == wav.sample_rate_hz:
        yield from wav.blocks(file)
        return
    resampler = Resampler(wav.sample_rate_hz, rate_hz)
    for samples in wav.blocks(file):
        yield resampler.write(samples)
    yield resampler.close()


ROUTES = (
    Route(
        "/v1/audio/convert/{format}", ("POST",), Scope.SPEAK, _WAV, convert,
        "Give a wav in another format", media_types=MEDIA_TYPES,
    ),
)  # fmt: skip
