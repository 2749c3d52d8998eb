"""JSON read strictly: what two readers could understand in two ways is refused.

Refused: a key given twice, NaN and infinities (also as 1e400), lone surrogates, nesting deeper
than 32, bytes that are not UTF-8.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

from pydantic import BaseModel, ConfigDict, model_validator
from starlette.requests import Request

from menura.server.border.problems import Problem

MAX_DEPTH = 32


def _with_null(schema: dict[str, Any]) -> None:
    """Nothing; the schema says of each field that need not be given that it may be null."""
    for name, field in schema["properties"].items():
        if name not in schema.get("required", ()) and {"type": "null"} not in field.get(
            "anyOf", ()
        ):
            outer = {key: field.pop(key) for key in ("description", "default") if key in field}
            schema["properties"][name] = {"anyOf": [field, {"type": "null"}], **outer}


class OpenBody(BaseModel):
    """A body as clients send them: unknown fields are kept, and null is as good as not given."""

    model_config = ConfigDict(extra="allow", frozen=True, json_schema_extra=_with_null)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: object) -> object:
        if not isinstance(given, Mapping):
            return given
        return {name: value for name, value in given.items() if value is not None}


class StrictRequest(Request):
    """A request whose JSON body is read strictly, by FastAPI too."""

    async def json(self) -> Any:
        """The value of the body.

        Raises: Problem: it is not JSON, or not strictly.
        """
        if not hasattr(self, "_strict"):
            self._strict = parse(await self.body())
        return self._strict


def parse(body: bytes) -> object:
    """The JSON value in the bytes.

    Raises: Problem (400): they are not JSON, or say something in two ways.
    """
    try:
        value: object = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except RecursionError:
        raise _wrong(f"is nested deeper than {MAX_DEPTH} levels") from None
    except UnicodeDecodeError:
        raise _wrong("is not UTF-8") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise _wrong(f"is not JSON: {error.msg} at {place}") from None
    except ValueError:  # a whole number with more digits than Python reads
        raise _wrong("has a number with too many digits") from None
    _check(value)
    return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _wrong(f"has the key {twice[:100]!r} twice in one object")
    return members


def _no_constant(name: str) -> NoReturn:
    raise _wrong(f"has {name}, which is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _wrong("has a number that is too large")
    return number


def _check(value: object) -> None:
    """Nothing, or the Problem of what stands somewhere in the value."""
    waiting = [(value, 1)]
    while waiting:
        found, depth = waiting.pop()
        if isinstance(found, str):
            _check_text(found)
        elif isinstance(found, (dict, list)):
            if depth > MAX_DEPTH:
                raise _wrong(f"is nested deeper than {MAX_DEPTH} levels")
            inner = found if isinstance(found, list) else [*found.keys(), *found.values()]
            waiting += [(entry, depth + 1) for entry in inner]


def _check_text(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _wrong("has half of a surrogate pair, which is no character") from None


def _wrong(words: str) -> Problem:
    return Problem(400, "invalid_json", f"The body {words}.")
