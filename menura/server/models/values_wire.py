"""Requests, reports and errors as they cross the pipe: each as a JSON object, both ways."""

from collections.abc import Mapping

import numpy as np

from menura import errors
from menura.errors import MenuraError, UnsupportedError
from menura.server.models.frames import Frame, FrameError
from menura.speech import FinishReason, SegmentReport, SpeechRequest

# The errors that are made of a message and a param alone. No others come from a model's process.
_PLAIN_ERRORS: Mapping[str, type[MenuraError]] = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type)
    and issubclass(kind, MenuraError)
    and kind.__init__ is MenuraError.__init__
}


def request_head(request: SpeechRequest) -> dict[str, object]:
    """The request as an object. Raises: FrameError: its voice is no name."""
    if request.voice is not None and not isinstance(request.voice, str):
        raise FrameError("a voice crosses by its name, or as a saved file")
    return {
        "text": request.text,
        "voice": request.voice,
        "language": request.language,
        "instruct": request.instruct,
        "seed": request.seed,
        "speed": request.speed,
        "split": request.split,
        "strict": request.strict,
        "options": dict(request.options),
    }


def request_of(frame: Frame) -> SpeechRequest:
    """The request of an object. Raises: FrameError, as all of these."""
    return SpeechRequest(
        text=frame.text("text"),
        voice=frame.text("voice") if frame.has("voice") else None,
        language=frame.text("language") if frame.has("language") else None,
        instruct=frame.text("instruct") if frame.has("instruct") else None,
        seed=frame.whole("seed") if frame.has("seed") else None,
        speed=frame.number("speed"),
        split=frame.flag("split"),
        strict=frame.flag("strict"),
        options=frame.named("options"),
    )


def report_of(frame: Frame) -> SegmentReport:
    """The report of an object that has its fields."""
    return SegmentReport(
        text=frame.text("text"),
        start=frame.whole("start"),
        end=frame.whole("end"),
        sample_start=frame.whole("sample_start"),
        sample_end=frame.whole("sample_end"),
        seed=frame.whole("seed"),
        finish=finish_of(frame),
        reason=frame.text("reason"),
        trimmed_s=frame.number("trimmed_s"),
    )


def finish_of(frame: Frame) -> FinishReason:
    """The way to end that the object names."""
    name = frame.text("finish")
    if name not in list(FinishReason):
        raise FrameError(f"{name!r} is no way to end")
    return FinishReason(name)


def error_head(error: MenuraError) -> dict[str, object]:
    """The error as an object."""
    needs = error.needs if isinstance(error, UnsupportedError) else ""
    return {"code": error.code, "message": error.message, "param": error.param, "needs": needs}


def error_of(frame: Frame) -> MenuraError:
    """The error of an object, of the class that has its code."""
    code, message = frame.text("code"), frame.text("message")
    param = frame.text("param") if frame.has("param") else None
    if code == UnsupportedError.code:
        return UnsupportedError(message, param=param, needs=frame.text("needs"))
    return _PLAIN_ERRORS.get(code, MenuraError)(message, param=param)


def plain(value: object) -> object:
    """The value as JSON has it: what is no JSON by itself, such as a path, is its text."""
    if isinstance(value, Mapping):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return value.item()
    is_json = value is None or isinstance(value, bool | int | float | str)
    return value if is_json else str(value)
