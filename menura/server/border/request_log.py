"""The request log: one line for each request, without its text, its audio, its query or its key."""

import json
import logging
import time
import traceback
from dataclasses import asdict, dataclass, field

LOGGER = logging.getLogger("menura.server.requests")
_WRITERS = {"menura": logging.INFO, "uvicorn": logging.WARNING, "asyncio": logging.WARNING}


@dataclass
class RequestNotes:
    """What is known of a request when it ends; handlers fill in what they know.

    `route` is the template, never the path that was asked for. Of a speech: `characters` of the
    input, seconds of audio and to the first of it, seconds from its turn to its end (`speaking_s`),
    and why it ended.
    """

    request_id: str
    method: str
    route: str = "none"
    key: str = ""
    status: int = 0
    bytes_out: int = 0
    seconds: float = 0.0
    model: str = ""
    characters: int | None = None
    audio_s: float | None = None
    first_audio_s: float | None = None
    speaking_s: float | None = None
    finish: str = ""
    error: str = ""
    started: float = field(default_factory=time.perf_counter)

    def line(self) -> dict[str, object]:
        """What the log says, without what is not known."""
        values = {name: value for name, value in asdict(self).items() if name != "started"}
        return {
            name: round(value, 4) if isinstance(value, float) else value
            for name, value in values.items()
            if value not in ("", None)
        }


def write(notes: RequestNotes) -> None:
    """One line of the log."""
    notes.seconds = time.perf_counter() - notes.started
    LOGGER.info("request", extra={"request": notes.line()})


class LogLines(logging.Formatter):
    """Lines for people, or one JSON object a line; both say the same."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line; line breaks inside it are escaped."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        values: dict[str, object] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "request", {}),
        }
        if record.exc_info and record.exc_info[0]:
            values["failure"] = record.exc_info[0].__name__
            # Without the error's words: they may repeat a request's text.
            values["trace"] = "".join(traceback.format_tb(record.exc_info[2]))
        if self._as_json:
            return json.dumps(values)
        head = f"{values.pop('time')} {values.pop('level')} {values.pop('message')!s}"
        words = [head.encode("unicode_escape").decode("ascii")]
        words += [f"{name}={json.dumps(value)}" for name, value in values.items()]
        return " ".join(words)


def _is_news(record: logging.LogRecord) -> bool:
    """Whether the request's own line does not say it already: an answer that we cut or refused."""
    return not record.getMessage().startswith("ASGI callable returned without completing")


def set_up(log_format: str) -> None:
    """Nothing, after the process writes its log to standard error in this format."""
    lines = logging.StreamHandler()
    lines.setFormatter(LogLines(as_json=log_format == "json"))
    lines.addFilter(_is_news)
    for name, level in _WRITERS.items():
        writer = logging.getLogger(name)
        writer.handlers = [lines]
        writer.setLevel(level)
        writer.propagate = False
