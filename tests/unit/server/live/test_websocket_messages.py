import pytest

from menura.errors import InvalidValueError
from menura.server.border.problems import Problem
from menura.server.live.websocket_messages import Cancel, End, Flush, Message, Start, Text, read


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ('{"type": "start", "voice": "low"}', Start({"voice": "low"})),
        ('{"type": "text", "text": "é "}', Text("é ")),
        ('{"type": "flush"}', Flush()),
        ('{"type": "end", "more": 1}', End()),
        ('{"type": "cancel"}', Cancel()),
    ],
)
def test_messages_are_read(raw: str, message: Message) -> None:
    assert read(raw) == message


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("[]", "JSON object"),
        ('"text"', "JSON object"),
        ("{}", "the type of a message is not one of: start, text, flush, cancel, end"),
        ('{"type": 7}', "not one of"),
        ('{"type": ["text"]}', "not one of"),
        ('{"type": "flsh"}', "Did you mean 'flush'"),
        ('{"type": "text"}', "needs a text"),
        ('{"type": "text", "text": 1}', "needs a text"),
    ],
)
def test_other_messages_are_refused_in_words(raw: str, words: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        read(raw)
    assert words in caught.value.message


@pytest.mark.parametrize(
    "raw",
    ["", "{", "NaN", '{"type": "flush", "type": "end"}', "[" * 100_000, '{"a": 1e400}',
     '{"type": "text", "text": "\\ud800"}'],
)  # fmt: skip
def test_json_that_is_none_is_refused(raw: str) -> None:
    with pytest.raises(Problem) as caught:
        read(raw)
    assert caught.value.status_code == 400
