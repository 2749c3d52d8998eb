import math

import pytest

from menura.errors import InvalidValueError
from menura.voice_library.known_values import check_defaults, check_language, check_options
from menura.voice_library.record import VoiceDefaults
from tests.tone.engine import ToneEngine


@pytest.mark.parametrize("given", [None, "", "english", "German", "de", "de-AT", "ZH", "zh_CN"])
def test_known_languages_are_taken_by_name_or_tag(given: str | None) -> None:
    check_language(given)


@pytest.mark.parametrize("given", ["klingon", "xx", "engl", "deutsch-de"])
def test_others_are_told_with_those_that_are_known(given: str) -> None:
    with pytest.raises(InvalidValueError, match=r"not known.*arabic.*vietnamese") as caught:
        check_language(given)
    assert caught.value.param == "language"
    with pytest.raises(InvalidValueError):
        check_defaults(VoiceDefaults(language=given))


@pytest.mark.parametrize("speed", [math.nan, math.inf, -1.0, 0.0, 100.0, True])
def test_a_speed_is_a_number_within_bounds(speed: float) -> None:
    with pytest.raises(InvalidValueError, match=r"speed=.* must be a number from") as caught:
        check_defaults(VoiceDefaults(speed=speed))
    assert caught.value.param == "speed"


def test_options_are_plain_values() -> None:
    check_defaults(VoiceDefaults(options={"a": 1, "b": "x", "c": True, "d": [1, 2], "e": None}))
    for value in (math.nan, {"a": 1}, object(), [[1]]):
        with pytest.raises(InvalidValueError) as caught:
            check_defaults(VoiceDefaults(options={"heat": value}))
        assert caught.value.param == "heat"


@pytest.mark.parametrize(("name", "value"), [("heat", 1), ("loudness", "hot"), ("loudness", 7)])
def test_options_are_the_models(name: str, value: object) -> None:
    spec = ToneEngine().spec
    check_options({"loudness": 0.5}, spec)
    with pytest.raises(InvalidValueError, match=r"model is 'tone'") as caught:
        check_options({name: value}, spec)
    assert caught.value.param == name
