"""The voice library as requests reach it: by id, beside the loop, and without telling places."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from fastapi import Request

from menura.errors import InvalidValueError, MenuraError, OverloadedError, WaitError
from menura.server.border.problems import Problem
from menura.server.hang_up import HungUpError, while_connected
from menura.server.models.frames import Frame
from menura.server.routes import ServerParts, parts_of
from menura.voice_library.agreement import words_in
from menura.voice_library.folders import LibraryVoice
from menura.voice_library.labels import is_id

_Result = TypeVar("_Result")
_PARAMS = {
    "label": "name",
    "voice": "voice_id",
    "clip": "audio_sample",
}  # what clients call the library's parameters


async def voice_of(parts: ServerParts, voice_id: str) -> LibraryVoice:
    """The voice of an id. Raises: Problem (404): there is none, whatever was given."""
    if not is_id(voice_id):
        raise no_such_voice()
    return await changed(lambda: parts.library.find(voice_id))


async def changed(change: Callable[[], _Result]) -> _Result:
    """What the call gives, which runs beside the loop and may wait for the library.

    Raises: OverloadedError: the library is being written to; Problem (404): there is no such
        voice; MenuraError: as the call, with parameters as clients name them.
    """
    try:
        return await asyncio.to_thread(change)
    except WaitError:
        raise OverloadedError(
            "another program is writing to the voice library: try again.", retry_after_s=5
        ) from None
    except MenuraError as error:
        if error.code == "voice_not_found":
            raise no_such_voice() from None
        error.param = _PARAMS.get(error.param or "", error.param)
        raise


def no_such_voice() -> Problem:
    """The problem of every id that is none."""
    return Problem(404, "voice_not_found", "There is no voice with this id.", param="voice_id")


async def worked_on(request: Request, job: dict[str, object]) -> Frame:
    """What the workshop made of a job, unless the client leaves. Raises: as `Workshop.done`."""
    try:
        async with while_connected(request.receive):
            return await parts_of(request).workshop.done(job)
    except HungUpError:
        raise Problem(400, "hung_up", "The client left before its file was read.") from None
    except Problem as problem:
        problem.param = _PARAMS.get(problem.param or "", problem.param)
        raise


def checked_day_text(text: str, param: str) -> str:
    """The text without space around it. Raises: InvalidValueError: nothing of it can be seen."""
    if not (words := words_in(text)):
        raise InvalidValueError(f"{param} is empty: write what the speaker agreed to.", param=param)
    return words
