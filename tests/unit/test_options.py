from dataclasses import dataclass

import numpy as np
import pytest

from menura.errors import InvalidValueError
from menura.options import Options, option


@dataclass(frozen=True)
class Example(Options):
    count: int = option(3, minimum=1, maximum=9, help="How many.", unit="pieces")
    level: float = option(0.5, minimum=0, help="How loud.")
    exact: bool = option(False, help="Whether to be exact.")
    colour: str = option("red", choices=("red", "blue"), help="Which colour.")
    place: str = option("here", choices=("here", "there"), pattern=r"at\d+", help="Which place.")
    limit: int | None = option(None, minimum=1, help="At most so many.")
    sizes: tuple[int, ...] | None = option(None, minimum=1, maximum=640, help="Which sizes.")
    steps: tuple[int, ...] = option((1, 2), help="Which steps.")


def test_nothing_given_gives_the_defaults() -> None:
    assert Example.parse({}) == Example(3, 0.5, False, "red", "here", None, None, (1, 2))


def test_options_can_be_given_again_as_they_are() -> None:
    options = Example.parse({"sizes": "8,16", "limit": 4})
    given = options.filled().as_given()
    assert given["sizes"] == [8, 16]
    assert given["steps"] == [1, 2]
    assert Example.parse(given) == options


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("count", 9, 9),
        ("count", "4", 4),
        ("count", 4.0, 4),
        ("level", "1e-3", 0.001),
        ("level", 2, 2.0),
        ("exact", "yes", True),
        ("exact", "OFF", False),
        ("exact", True, True),
        ("colour", "blue", "blue"),
        ("place", "there", "there"),
        ("place", "at12", "at12"),
        ("limit", None, None),
        ("limit", "7", 7),
        ("sizes", "32, 128,480", (32, 128, 480)),
        ("sizes", [16, 8], (16, 8)),
        ("sizes", (16.0,), (16,)),
        ("sizes", np.array([16, 8]), (16, 8)),
        ("count", np.int64(4), 4),
        ("level", np.float32(0.5), 0.5),
        ("sizes", None, None),
        ("steps", "-5", (-5,)),
    ],
)
def test_a_value_is_read_in_the_options_own_type(name: str, given: object, value: object) -> None:
    found = getattr(Example.parse({name: given}), name)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("count", 0),
        ("count", 10),
        ("count", 1.5),
        ("count", "many"),
        ("count", True),
        ("count", None),
        ("count", "1e400"),
        ("level", float("nan")),
        ("level", float("inf")),
        ("level", -0.1),
        ("level", [1]),
        ("sizes", 16),
        ("sizes", ""),
        ("sizes", []),
        ("sizes", b"16"),
        ("count", np.bool_(True)),
        ("sizes", "16,"),
        ("sizes", [16, True]),
        ("sizes", [16, 0]),
        ("sizes", [16, 641]),
        ("sizes", [1.5]),
        ("steps", None),
        ("exact", "maybe"),
        ("exact", 2),
        ("colour", "green"),
        ("colour", 1),
        ("place", "at"),
        ("place", "xat12"),
        ("limit", 0),
    ],
)
def test_a_value_that_is_not_allowed_is_refused_by_name(name: str, given: object) -> None:
    with pytest.raises(InvalidValueError, match=name) as caught:
        Example.parse({name: given})
    assert caught.value.param == name


def test_the_error_says_what_is_allowed() -> None:
    with pytest.raises(InvalidValueError) as caught:
        Example.parse({"count": 12})
    assert caught.value.message == (
        "count=12 is not allowed: it must be a whole number from 1 to 9 (pieces)."
    )


def test_an_unknown_name_is_refused_with_the_closest_one() -> None:
    with pytest.raises(InvalidValueError, match="Did you mean 'colour'") as caught:
        Example.parse({"color": "red"})
    assert "count, level, exact, colour, place, limit" in caught.value.message


def test_the_facts_are_what_was_declared() -> None:
    facts = {entry.name: entry for entry in Example.facts()}
    assert facts["count"].unit == "pieces"
    assert facts["count"].kind is int
    assert facts["limit"].optional
    assert facts["colour"].allowed() == "one of: red, blue"
    assert facts["place"].allowed() == "one of: here, there and the like"
    assert facts["level"].allowed() == "a number of at least 0"
