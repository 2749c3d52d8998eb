import json

import pytest
from pydantic import BaseModel, ValidationError

from menura import errors
from menura.errors import (
    BusyError,
    EngineNotInstalledError,
    InvalidValueError,
    MenuraError,
    ModelFilesError,
    ModelNotFoundError,
    OverloadedError,
)
from menura.server.border.problems import Problem, failure, kind_of, problem_of, problem_of_fields


def error_of(problem: Problem) -> dict[str, object]:
    body: dict[str, dict[str, object]] = json.loads(bytes(problem.answer().body))
    assert list(body) == ["error"]
    return body["error"]


def test_an_answer_has_all_four_keys_and_says_that_asking_again_is_no_use() -> None:
    problem = Problem(400, "invalid_value", "speed=9 is not allowed.", param="speed")
    assert error_of(problem) == {
        "message": "speed=9 is not allowed.",
        "type": "invalid_request_error",
        "param": "speed",
        "code": "invalid_value",
    }
    assert problem.answer().headers["x-should-retry"] == "false"
    assert "retry-after" not in problem.answer().headers


def test_a_busy_server_says_when_to_ask_again() -> None:
    problem = problem_of(BusyError("Eight requests are under way.", retry_after_s=2.2), "req_1")
    answer = problem.answer()
    assert answer.status_code == 429
    assert (answer.headers["retry-after"], answer.headers["x-should-retry"]) == ("3", "true")
    assert error_of(problem)["type"] == "rate_limit_error"


def test_a_wait_of_almost_nothing_is_one_second() -> None:
    problem = problem_of(OverloadedError("The queue is full.", retry_after_s=0.0), "req_1")
    assert problem.answer().headers["retry-after"] == "1"
    assert error_of(problem)["type"] == "overloaded_error"


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "invalid_request_error"), (401, "authentication_error"), (403, "permission_error"),
     (404, "not_found_error"), (405, "invalid_request_error"), (413, "invalid_request_error"),
     (429, "rate_limit_error"), (500, "server_error"), (503, "overloaded_error"),
     (504, "server_error")],
)  # fmt: skip
def test_kinds_are_openais(status: int, kind: str) -> None:
    assert kind_of(status) == kind


def test_what_is_wrong_with_a_request_is_said_as_it_is() -> None:
    problem = problem_of(InvalidValueError("voice 'x' is unknown.", param="voice"), "req_1")
    assert (problem.status_code, problem.message, problem.param) == (
        400, "voice 'x' is unknown.", "voice",
    )  # fmt: skip
    assert problem_of(ModelNotFoundError("no such model", param="model"), "r").status_code == 404


@pytest.mark.parametrize(
    "error",
    [ModelFilesError("/models/a.safetensors is damaged"), MenuraError("secret"),
     EngineNotInstalledError("pip install secret")],
)  # fmt: skip
def test_what_is_wrong_with_the_server_is_said_in_general_words(error: MenuraError) -> None:
    problem = problem_of(error, "req_1")
    assert problem.message == failure("req_1").message
    assert "req_1" in problem.message
    assert (problem.status_code, problem.code) == (error.http_status, error.code)
    assert problem.answer().headers["x-should-retry"] == "false"


def test_every_error_of_menura_has_an_answer() -> None:
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, MenuraError)
    ]
    assert len(kinds) > 15
    for kind in kinds:
        assert problem_of(kind("words"), "req_1").answer().status_code == kind.http_status


def test_control_characters_and_directions_are_left_out() -> None:
    problem = Problem(400, "x", "a\x1b[31m\u202eb\x00", param="v\x07")
    assert (problem.message, problem.param) == ("a[31mb", "v")


def test_a_long_message_is_cut() -> None:
    assert len(Problem(400, "x", "a" * 10_000).message) == 2000


class Body(BaseModel):
    speed: float
    voice: str = ""


def test_a_wrong_field_is_named_without_what_was_given() -> None:
    with pytest.raises(ValidationError) as caught:
        Body.model_validate({"speed": "secret", "voice": 3})
    problem = problem_of_fields(caught.value.errors())
    assert (problem.status_code, problem.param) == (400, "speed")
    assert problem.message.startswith("speed: Input should be a valid number")
    assert problem.message.endswith("(1 more fields are wrong.)")
    assert "secret" not in problem.message


def test_a_body_that_is_missing_or_no_object_is_said_so() -> None:
    missing = {"type": "missing", "loc": ("body",), "msg": "Field required"}
    assert problem_of_fields([missing]).message == "A JSON body is needed."
    wrong = {"type": "dict_type", "loc": ("body",), "msg": "Input should be a valid dictionary"}
    assert problem_of_fields([wrong]).message == (
        "The body is wrong: Input should be a valid dictionary."
    )
