import asyncio
from collections.abc import Mapping

from menura.server.models.clock import LoopClock
from menura.server.models.performance import Begun, Order, Performance
from menura.server.models.pool_limits import ReaderLimits
from menura.server.outcome import in_a_header, usage, without_effect
from menura.speech import SpeechRequest
from tests.unit.server.test_audio_body import NoReins


def begun_with(applied: Mapping[str, object]) -> Performance:
    async def run() -> Performance:
        order = Order("tone", SpeechRequest("Hello."), "me")
        performance = Performance(order, NoReins(), ReaderLimits(), LoopClock())
        performance.begin(Begun("tone", None, applied, 8_000, 7))
        performance.close()
        return performance

    return asyncio.run(run())


def test_usage_counts_characters_and_hundredths_of_a_second() -> None:
    assert usage(3, 1.239) == {"input_tokens": 3, "output_tokens": 124, "total_tokens": 127}


def test_fields_without_effect_are_named_once_as_the_client_knows_them() -> None:
    performance = begun_with({"ignored": {"instruct": "it cannot", "top_k": "unknown"}})
    assert without_effect(performance, ("user", "top_k")) == [
        "user", "top_k", "instructions", "options.top_k",
    ]  # fmt: skip
    assert without_effect(begun_with({}), ()) == []


def test_names_in_a_header_can_forge_nothing_and_are_not_endless() -> None:
    assert in_a_header(["a b", "ü", "x\ny", ","]) == "a%20b, %C3%BC, x%0Ay, %2C"
    assert in_a_header(["", "a", ""]) == "'', a, ''"  # no header ends with a space
    cut = in_a_header(["x" * 5_000])
    assert len(cut) == 1_024
    assert cut.endswith("...")
