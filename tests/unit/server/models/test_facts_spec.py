"""A plan from a model's facts is the plan from its spec, for every engine and through the wire."""

import json
from pathlib import Path

import pytest

from menura import api, planning
from menura.engines import registry
from menura.engines.builtin.engine import BuiltinEngine
from menura.engines.contract import EngineSpec
from menura.errors import InvalidValueError, MenuraError
from menura.server.models import facts_wire
from menura.server.models.facts_spec import spec_of
from menura.server.models.frames import Frame
from menura.server.models.model_facts import facts_of
from menura.settings import Settings
from menura.speech import SpeechRequest
from tests.tone.engine import ToneEngine

TEXT = "Hello there. " * 40 + "\n\n[S2] Yes. " + "Wait, and wait, and wait. " * 30
REQUESTS = [
    SpeechRequest(TEXT, seed=7),
    SpeechRequest(TEXT, seed=7, split=False, speed=1.5),
    SpeechRequest(TEXT, seed=7, language="english", strict=False, instruct="softly",
                  options={"continue_segments": True, "nothing": 1}),
    SpeechRequest(TEXT, seed=7, options={"retries": -1}),
    SpeechRequest("Добрый день", seed=7),
    SpeechRequest("...", seed=7),
    SpeechRequest(TEXT, voice="none of these", seed=7),
]  # fmt: skip


def specs(folder: Path) -> list[EngineSpec]:
    """The specs of all engines that can be described here, and of the tones."""
    found = [ToneEngine().spec, BuiltinEngine.describe(None, {})]
    for name in ("qwen3-tts", "echo-tts"):
        place = folder / name
        place.mkdir()
        registry.engine_class(name).tiny(place)
        found.append(registry.engine_class(name).describe(place, {}))
    return found


def planned(request: SpeechRequest, spec: EngineSpec) -> object:
    """The segments, the length and what is ignored, or the error in words."""
    try:
        plan = planning.plan(request, spec, api.pauses_of(Settings()))
    except MenuraError as error:
        return type(error), error.message, error.param
    manner = plan.manner
    return plan.segments, plan.expected_s, manner.voice_label, manner.language, manner.ignored


def test_a_plan_from_the_facts_is_the_plan_from_the_spec(tmp_path: Path) -> None:
    n_plans = 0
    for spec in specs(tmp_path):
        wire = json.loads(json.dumps(facts_wire.to_json(facts_of(spec))))
        again = spec_of(facts_wire.from_json(Frame(wire)))
        for request in REQUESTS:
            expected = planned(request, spec)
            assert planned(request, again) == expected, (spec.model, request)
            n_plans += isinstance(expected, tuple) and len(expected) == 5
    assert n_plans >= 10


def test_the_options_are_declared_as_the_engine_declares_them(tmp_path: Path) -> None:
    for spec in specs(tmp_path):
        assert spec_of(facts_of(spec)).options.facts() == spec.options.facts()


def test_an_option_out_of_range_is_told_as_ever() -> None:
    spec = spec_of(facts_of(ToneEngine().spec))
    with pytest.raises(InvalidValueError, match="from 1 to 50"):
        spec.options.parse({"frames_per_word": 51})
