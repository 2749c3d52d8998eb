import json
from collections.abc import Iterator, Mapping

import httpx
import pytest

from menura.cli.remote_stream import RemoteStream, error_in, events_of
from menura.errors import InvalidValueError, MenuraError, ModelNotFoundError, NoAudioError
from menura.speech import SpeechRequest

BEGUN = {"type": "menura.begun", "applied": {}, "sample_rate_hz": 10}


class Breaking(httpx.SyncByteStream):
    """An answer whose connection breaks after its lines."""

    def __init__(self, *lines: str) -> None:
        self._lines = lines

    def __iter__(self) -> Iterator[bytes]:
        yield from (f"{line}\n\n".encode() for line in self._lines)
        raise httpx.ReadError("gone")


def told(code: object, param: object = None) -> MenuraError:
    return error_in({"error": {"message": "words.", "type": "x", "param": param, "code": code}})


@pytest.mark.parametrize(
    ("code", "kind", "exit_code"),
    [
        ("invalid_value", InvalidValueError, 2),
        ("model_not_found", ModelNotFoundError, 3),
        ("no_audio", NoAudioError, 1),
        ("unheard_of", MenuraError, 1),
        (None, MenuraError, 1),
    ],
)
def test_a_code_becomes_the_class_that_has_it(
    code: str | None, kind: type[MenuraError], exit_code: int
) -> None:
    error = told(code)
    assert (type(error), error.message, error.exit_code) == (kind, "words.", exit_code)


@pytest.mark.parametrize(
    ("there", "here"), [("input", "text"), ("instructions", "instruct"), ("seed", "seed")]
)
def test_a_parameter_has_the_name_that_the_user_typed(there: str, here: str) -> None:
    assert told("invalid_value", there).param == here


@pytest.mark.parametrize("body", [{}, {"error": "x"}, {"error": None}])
def test_an_error_without_words_is_still_one(body: Mapping[str, object]) -> None:
    assert error_in(body).message == "the server gave no reason."


def test_a_connection_that_breaks_is_an_error() -> None:
    answer = httpx.Response(200, stream=Breaking(f"data: {json.dumps(BEGUN)}", ": a comment"))
    stream = RemoteStream(answer, SpeechRequest("Hello."))
    stream.begin()
    with pytest.raises(MenuraError, match=r"broke off in the middle of the speech \(gone\)"):
        list(stream.moves())


def test_other_lines_are_no_events() -> None:
    answer = httpx.Response(200, text='event: x\ndata: {"type": "a"}\n\n: ping\n')
    assert list(events_of(answer)) == [{"type": "a"}]


def test_progress_is_about_how_much_is_expected() -> None:
    stream = RemoteStream(httpx.Response(200), SpeechRequest("Hello there, you.", speed=2.0))
    slower = RemoteStream(httpx.Response(200), SpeechRequest("Hello there, you."))
    assert 0 < stream.sampled_s == slower.sampled_s / 2
    assert stream.done == 0
