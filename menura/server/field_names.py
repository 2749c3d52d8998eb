"""What clients call the fields of a request: each way in has names of its own, and errors use them.

A model's own options are named as they stand in `options`.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from menura.errors import MenuraError
from menura.speech import SpeechRequest

FieldNames = Mapping[str, str]
"""The client's names of what Menura calls otherwise."""

OF_SPEECH: FieldNames = {"text": "input", "instruct": "instructions"}
OF_STREAM: FieldNames = {"instruct": "instructions"}
OF_TEXT_TO_SPEECH: FieldNames = {
    "model": "model_id",
    "voice": "voice_id",
    "language": "language_code",
    "speed": "voice_settings.speed",
}
_OURS = frozenset(field.name for field in dataclasses.fields(SpeechRequest)) | {"model"}
# What an engine finds about a recording; whoever asks for speech names a voice.
_OF_THE_VOICE = ("clip", "transcript")


def field_of(param: str, names: FieldNames) -> str:
    """What a client calls a parameter of a request, or of the model that speaks it."""
    param = "voice" if param in _OF_THE_VOICE else param
    return names.get(param, param if param in _OURS else f"options.{param}")


@contextmanager
def named_as(names: FieldNames) -> Iterator[None]:
    """A block; an error that leaves it names its parameter as the client does."""
    try:
        yield
    except MenuraError as error:
        if error.param is not None and error.http_status < 500:
            error.param = field_of(error.param, names)
        raise
