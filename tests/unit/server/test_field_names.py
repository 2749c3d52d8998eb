import pytest

from menura.errors import InvalidValueError, ModelFilesError
from menura.server.field_names import (
    OF_SPEECH,
    OF_STREAM,
    OF_TEXT_TO_SPEECH,
    FieldNames,
    field_of,
    named_as,
)


@pytest.mark.parametrize(
    ("param", "names", "field"),
    [
        ("text", OF_SPEECH, "input"),
        ("instruct", OF_SPEECH, "instructions"),
        ("voice", OF_SPEECH, "voice"),
        ("top_k", OF_SPEECH, "options.top_k"),
        ("clip", OF_SPEECH, "voice"),
        ("transcript", OF_TEXT_TO_SPEECH, "voice_id"),
        ("text", OF_STREAM, "text"),
        ("instruct", OF_STREAM, "instructions"),
        ("text", OF_TEXT_TO_SPEECH, "text"),
        ("voice", OF_TEXT_TO_SPEECH, "voice_id"),
        ("model", OF_TEXT_TO_SPEECH, "model_id"),
        ("speed", OF_TEXT_TO_SPEECH, "voice_settings.speed"),
    ],
)
def test_a_field_has_the_name_that_the_client_gave_it(
    param: str, names: FieldNames, field: str
) -> None:
    assert field_of(param, names) == field


def test_what_leaves_a_block_is_named_as_the_client_does() -> None:
    with pytest.raises(InvalidValueError) as wrong, named_as(OF_SPEECH):
        raise InvalidValueError("no.", param="text")
    assert wrong.value.param == "input"


@pytest.mark.parametrize(
    "error", [InvalidValueError("no."), ModelFilesError("no.", param="device")]
)
def test_what_is_no_field_stays_as_it_is(error: InvalidValueError | ModelFilesError) -> None:
    param = error.param
    with pytest.raises(type(error)), named_as(OF_SPEECH):
        raise error
    assert error.param == param
