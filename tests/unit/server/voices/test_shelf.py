import asyncio

import pytest

from menura.errors import (
    InvalidValueError,
    MenuraError,
    OverloadedError,
    VoiceNotFoundError,
    WaitError,
)
from menura.server.border.problems import Problem
from menura.server.voices.shelf import changed, checked_day_text


def fail(error: MenuraError) -> None:
    def call() -> None:
        raise error

    asyncio.run(changed(call))


def test_what_the_call_gives_comes_back() -> None:
    assert asyncio.run(changed(lambda: 3)) == 3


def test_a_busy_library_is_told_without_its_place() -> None:
    with pytest.raises(OverloadedError) as caught:
        fail(WaitError("another program is writing to /somewhere."))
    assert "/somewhere" not in caught.value.message
    assert caught.value.retry_after_s == 5


@pytest.mark.parametrize(
    ("param", "told"), [("label", "name"), ("voice", "voice_id"), ("id", "id"), (None, None)]
)
def test_parameters_are_named_as_clients_do(param: str | None, told: str | None) -> None:
    with pytest.raises(InvalidValueError) as caught:
        fail(InvalidValueError("no.", param=param))
    assert caught.value.param == told


def test_a_voice_that_went_away_is_the_same_miss_as_any() -> None:
    with pytest.raises(Problem, match="There is no voice with this id") as caught:
        fail(VoiceNotFoundError("Anna is gone."))
    assert caught.value.status_code == 404


def test_an_empty_text_is_none() -> None:
    assert checked_day_text(" a ", "consent") == "a"
    with pytest.raises(InvalidValueError, match="consent is empty"):
        checked_day_text(" ", "consent")
