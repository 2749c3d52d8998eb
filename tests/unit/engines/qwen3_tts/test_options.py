from dataclasses import replace

import pytest

from menura.engines.qwen3_tts.config import GenerationDefaults
from menura.engines.qwen3_tts.options import GenerationOptions, resolve
from menura.errors import InvalidValueError
from menura.runtime.sampling import Sampling

OWN = GenerationDefaults(top_k=40, temperature=0.8, subtalker_top_k=30, max_new_tokens=99)


def test_what_the_request_says_wins_over_the_checkpoint() -> None:
    options = GenerationOptions.parse({"top_k": 7, "subtalker_temperature": 0.5})
    found = resolve(options, OWN, non_streaming_mode=True)
    assert found.settings.talker == Sampling(True, 0.8, 7, 1.0, 1.05)
    assert found.settings.code_predictor == Sampling(True, 0.5, 30, 1.0)
    assert found.settings.max_new_tokens == 99
    assert found.non_streaming_mode is True
    assert found.limit_is_given is False
    assert found.applied["top_k"] == 7
    assert found.applied["temperature"] == 0.8


def test_false_and_zero_are_values_and_not_left_out() -> None:
    given = {"do_sample": False, "top_k": 0, "non_streaming_mode": False, "temperature": 0}
    found = resolve(GenerationOptions.parse(given), OWN, non_streaming_mode=True)
    assert found.settings.talker.do_sample is False
    assert found.settings.talker.top_k == 0
    assert found.non_streaming_mode is False


def test_nothing_is_left_open_in_what_is_applied() -> None:
    found = resolve(GenerationOptions(), GenerationDefaults(), non_streaming_mode=False)
    assert None not in found.applied.values()
    assert set(found.applied) == {facts.name for facts in GenerationOptions.facts()}
    assert found.applied["max_new_tokens"] == 2048


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ({"temperature": 0}, "do_sample=false"),
        ({"temperature": 0, "do_sample": True}, "do_sample=false"),
        ({"subtalker_temperature": 0}, "subtalker_dosample=false"),
        ({"max_new_tokens": 1}, "at least 2"),
        ({"repetition_penalty": 0}, "from 0.01 to 10"),
        ({"top_p": 1.5}, "from 0 to 1"),
        ({"top_k": -1}, "at least 0"),
        ({"num_beams": 4}, "num_beams"),
        ({"subtalker_do_sample": True}, "subtalker_dosample"),
        ({"chunk_frames": 0}, "at least 1"),
    ],
)
def test_a_value_that_is_not_allowed_says_what_is(given: dict[str, object], advice: str) -> None:
    with pytest.raises(InvalidValueError, match=advice):
        GenerationOptions.parse(given)


def test_a_checkpoint_that_asks_for_temperature_0_is_refused_too() -> None:
    with pytest.raises(InvalidValueError, match="temperature=0"):
        resolve(GenerationOptions(), replace(OWN, temperature=0.0), non_streaming_mode=False)
