"""The messages of /v1/stream: JSON texts to the server, each with a `type`, read strictly."""

from collections.abc import Mapping
from dataclasses import dataclass

from menura.errors import InvalidValueError, did_you_mean
from menura.server.border.json_body import parse


@dataclass(frozen=True)
class Start:
    """A speech begins: its fields, as those of POST /v1/audio/speech but `input`."""

    fields: Mapping[str, object]


@dataclass(frozen=True)
class Text:
    """More words of the speech; an empty text only shows that the client is still there."""

    text: str


@dataclass(frozen=True)
class Flush:
    """The words so far are to be spoken to their end now."""


@dataclass(frozen=True)
class Cancel:
    """The speech is to be dropped."""


@dataclass(frozen=True)
class End:
    """The text of the speech is complete."""


Message = Start | Text | Flush | Cancel | End

_BARE: Mapping[str, Message] = {"flush": Flush(), "cancel": Cancel(), "end": End()}
_KINDS = ("start", "text", *_BARE)


def read(raw: str) -> Message:
    """The message in a text.

    Raises: Problem, InvalidValueError: it is no JSON, or no message of a client's.
    """
    given = parse(raw.encode("utf-8"))
    if not isinstance(given, dict):
        raise InvalidValueError("a message must be a JSON object with a type.")
    kind = given.pop("type", None)
    if kind == "start":
        return Start(given)
    if kind == "text":
        text = given.get("text")
        if not isinstance(text, str):
            raise InvalidValueError('a message of type "text" needs a text.', param="text")
        return Text(text)
    if isinstance(kind, str) and kind in _BARE:
        return _BARE[kind]
    named = f"type {kind[:100]!r}" if isinstance(kind, str) else "the type of a message"
    raise InvalidValueError(
        f"{named} is not one of: {', '.join(_KINDS)}." + did_you_mean(str(kind)[:100], _KINDS),
        param="type",
    )
