import asyncio
from pathlib import Path

import pytest
from pydantic import ValidationError

from menura.errors import InvalidValueError, ModelNotFoundError
from menura.server.encoding import AudioWish
from menura.server.models.performance import Order
from menura.server.routes import ServerParts
from menura.server.speech import Asker, SpeakBody, SpeechBody, check_length, order_for
from menura.speech import SpeechRequest
from tests.kept_voices import kept
from tests.unit.server.served_models import parts_at, saved_voice


@pytest.fixture
def parts(tmp_path: Path) -> ServerParts:
    return parts_at(tmp_path / "models")


def ordered(parts: ServerParts, given: dict[str, object]) -> tuple[Order, tuple[str, ...]]:
    body = SpeakBody.model_validate(given)
    return asyncio.run(order_for(parts, body, "Hello.", Asker("me", "r-1")))


def test_an_empty_body_is_the_default_model_with_its_default_voice(parts: ServerParts) -> None:
    order, ignored = ordered(parts, {})
    request = SpeechRequest("Hello.", voice=order.request.voice)
    assert order == Order("tone", request, "me", request_id="r-1")
    assert ignored == ()


def test_every_field_reaches_the_order(parts: ServerParts) -> None:
    order, ignored = ordered(
        parts,
        {
            "model": "choir",
            "voice": {"id": "HIGH"},
            "speed": 2,
            "language": "zh",
            "seed": 5,
            "split": False,
            "strict": True,
            "stream": False,
            "options": {"loudness": 0.1},
            "instructions": "slowly",
        },
    )
    assert order == Order(
        "choir",
        SpeechRequest(
            "Hello.",
            voice="high",
            language="zh",
            instruct="slowly",
            seed=5,
            speed=2.0,
            split=False,
            strict=True,
            options={"loudness": 0.1},
        ),
        "me",
        stream=False,
        request_id="r-1",
    )
    assert ignored == ()


def test_instructions_are_left_out_and_named_where_the_model_takes_none(parts: ServerParts) -> None:
    order, ignored = ordered(parts, {"instructions": "slowly", "user": "x"})
    assert order.request.instruct is None
    assert order.request.strict
    assert ignored == ("user", "instructions")


@pytest.mark.parametrize("strict", [True, False])
def test_who_says_strict_has_the_model_decide(parts: ServerParts, strict: bool) -> None:
    order, ignored = ordered(parts, {"instructions": "slowly", "strict": strict})
    assert order.request.instruct == "slowly"
    assert order.request.strict is strict
    assert ignored == ()


@pytest.mark.parametrize("model", [None, "tts-1", "gpt-4o-mini-tts", "choir", "Choir"])
def test_a_voice_may_choose_its_model(parts: ServerParts, model: str | None) -> None:
    order, _ = ordered(parts, {"model": model, "voice": "choir:low"})
    assert (order.model, order.request.voice) == ("choir", "low")


def test_a_voice_of_another_model_than_the_given_one_is_refused(parts: ServerParts) -> None:
    with pytest.raises(InvalidValueError, match="belongs to the model 'choir'") as no:
        ordered(parts, {"model": "tone", "voice": "choir:low"})
    assert no.value.param == "voice"


@pytest.mark.parametrize("name", ["alloy", "cedar", "shimmer"])
def test_openai_s_names_of_voices_speak(parts: ServerParts, name: str) -> None:
    order, _ = ordered(parts, {"voice": name})
    assert order.request.voice in ("low", "high")


def test_a_saved_voice_is_a_file_of_the_server_s_own_table(tmp_path: Path) -> None:
    file = saved_voice(tmp_path)
    parts = parts_at(tmp_path / "models", {"Me": file})
    order, _ = ordered(parts, {"voice": "me"})
    assert (order.request.voice, order.voice_file) == (None, file)
    assert order.voice_label == "Me"  # the file says "me"


def test_a_voice_of_the_library_is_ordered_by_its_id(parts: ServerParts) -> None:
    anna = kept("Anna")
    for given in ("anna", {"id": anna.id}, "lib:Anna", "choir:Anna"):
        order, ignored = ordered(parts, {"voice": given})
        assert (order.request.voice, order.voice_file, order.voice_id) == (None, None, anna.id)
        assert ignored == ()


@pytest.mark.parametrize(
    "voice",
    ["nobody", "../../etc/passwd", "..\\..\\", "%2e%2e/", "C:\\x", "/abs", "~", "\0", "x" * 10_000,
     "CON", "low.", "\u202elow", "nowhere:low"],
)  # fmt: skip
def test_an_unknown_voice_is_refused_with_the_list(parts: ServerParts, voice: str) -> None:
    with pytest.raises(InvalidValueError, match="low, high") as no:
        ordered(parts, {"voice": voice})
    assert no.value.param == "voice"


@pytest.mark.parametrize("model", ["nothing", "/etc", "../tone", "https://x/y", "Qwen/Unknown", ""])
def test_an_unknown_model_is_not_found(parts: ServerParts, model: str) -> None:
    with pytest.raises(ModelNotFoundError):
        ordered(parts, {"model": model})


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"speed": 0.1}, "speed"),
        ({"speed": 100}, "speed"),
        ({"speed": "1"}, "speed"),
        ({"speed": True}, "speed"),
        ({"speed": float("nan")}, "speed"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**70}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"seed": True}, "seed"),
        ({"seed": "7"}, "seed"),
        ({"voice": 5}, "voice"),
        ({"voice": {}}, "voice"),
        ({"voice": {"id": 5}}, "voice"),
        ({"voice": {"id": None}}, "voice"),
        ({"voice": ["low"]}, "voice"),
        ({"model": 5}, "model"),
        ({"instructions": "x" * 4097}, "instructions"),
        ({"stream_format": "json"}, "stream_format"),
        ({"response_format": 5}, "response_format"),
        ({"options": []}, "options"),
        ({"stream": "no"}, "stream"),
        ({"split": 1}, "split"),
    ],
)
def test_a_value_of_another_kind_or_range_is_refused(given: dict[str, object], field: str) -> None:
    with pytest.raises(ValidationError) as no:
        SpeakBody.model_validate(given)
    assert [error["loc"] for error in no.value.errors()] == [(field,)]


@pytest.mark.parametrize("given", [{}, {"input": None}, {"input": 5}, {"input": ["a"]}])
def test_a_text_is_needed(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SpeechBody.model_validate(given)


def test_the_bytes_asked_for() -> None:
    assert SpeakBody.model_validate({}).wish == AudioWish("mp3")
    given = {"response_format": "FLAC", "stream": False}
    assert SpeakBody.model_validate(given).wish == AudioWish("flac", whole=True)
    with pytest.raises(InvalidValueError, match="response_format 'ogg' is not one of"):
        _ = SpeakBody.model_validate({"response_format": "ogg"}).wish


def test_a_text_may_be_as_long_as_the_settings_say() -> None:
    check_length("x" * 10, 10, "input")
    with pytest.raises(InvalidValueError, match=r"input has 11 characters.*at most 10") as no:
        check_length("x" * 11, 10, "input")
    assert no.value.param == "input"
