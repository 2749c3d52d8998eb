"""Errors as OpenAI's clients read them: `{"error": {"message", "type", "param", "code"}}`.

What is wrong with a request is said as it is. What is wrong with the server is said in general
words with the request's id; the log has the rest. Messages carry no path and no version.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from menura.errors import MenuraError, WaitError
from menura.text.unwanted import REMOVED

_LONGEST_MESSAGE = 2000
_KINDS: Mapping[int, str] = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    503: "overloaded_error",
}


class ErrorWords(BaseModel):
    """What went wrong: all four keys are always there."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorBody(BaseModel):
    """The body of every answer that is no success."""

    error: ErrorWords


class Problem(HTTPException):
    """An answer with an error. `retry_after_s` says when to ask again, None that it is no use."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        param: str | None = None,
        retry_after_s: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, message, dict(headers or {}))
        self.code = code
        self.message = _plain(message)
        self.param = None if param is None else _plain(param)
        self.retry_after_s = retry_after_s

    @property
    def body(self) -> ErrorBody:
        """The error in OpenAI's shape, as it stands in answers and events."""
        return ErrorBody(
            error=ErrorWords(
                message=self.message, type=kind_of(self.status_code), param=self.param,
                code=self.code,
            )
        )  # fmt: skip

    def answer(self) -> JSONResponse:
        """The whole answer. OpenAI's clients ask again after 5xx and 429 unless told not to."""
        headers = dict(self.headers or {})
        headers["x-should-retry"] = "false" if self.retry_after_s is None else "true"
        if self.retry_after_s is not None:
            headers["retry-after"] = str(max(1, math.ceil(self.retry_after_s)))
        return JSONResponse(self.body.model_dump(), self.status_code, headers)


def kind_of(status: int) -> str:
    """OpenAI's word for the kind of an error."""
    return _KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")


def problem_of(error: MenuraError, request_id: str) -> Problem:
    """The problem that an error of Menura's is to a client."""
    if isinstance(error, WaitError):
        return Problem(
            error.http_status,
            error.code,
            error.message,
            param=error.param,
            retry_after_s=error.retry_after_s,
        )
    if error.http_status >= 500:
        return failure(request_id, error.http_status, error.code)
    return Problem(error.http_status, error.code, error.message, param=error.param)


def problem_of_fields(errors: Sequence[Any]) -> Problem:
    """The problem (400) of a body that pydantic found wrong; it names the first wrong field.

    What was given is not repeated: it may be a text to speak.
    """
    first: Mapping[str, Any] = errors[0]
    places = [str(part) for part in first["loc"]]
    field = ".".join(places[1:] if places[:1] == ["body"] else places)
    words = str(first["msg"]).removeprefix("Value error, ").rstrip(".")
    if not field:
        missing = first["type"] == "missing"
        words = "A JSON body is needed" if missing else f"The body is wrong: {words}"
        return Problem(400, "invalid_body", f"{words}.")
    more = f" ({len(errors) - 1} more fields are wrong.)" if len(errors) > 1 else ""
    return Problem(400, "invalid_value", f"{field}: {words}.{more}", param=field)


def failure(request_id: str, status: int = 500, code: str = "failure") -> Problem:
    """The problem of a server that failed, in words that give nothing of its inside away."""
    return Problem(
        status,
        code,
        f"The server could not do this. Its log says why, under the request id {request_id}.",
    )


def _plain(words: str) -> str:
    """The words without control characters, which could write into a terminal or a log."""
    plain = REMOVED.sub("", words)
    if len(plain) > _LONGEST_MESSAGE:
        return plain[: _LONGEST_MESSAGE - 1] + "…"
    return plain
