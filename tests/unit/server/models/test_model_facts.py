"""The facts are those of the engine's spec, in words that JSON has."""

from menura.server.models.model_facts import OptionWords, facts_of
from tests.tone.engine import RULES, ToneEngine


def test_the_facts_are_the_specs() -> None:
    spec = ToneEngine(max_rows=3).spec
    facts = facts_of(spec)
    assert (facts.engine, facts.model, facts.variant) == ("tone", "tone", "tone")
    assert (facts.sample_rate_hz, facts.max_rows, facts.fingerprint) == (8_000, 3, "1")
    assert (facts.voices, facts.default_voice) == (spec.voices, "low")
    assert facts.capabilities == {"clone", "stream_text"}
    assert facts.clones
    assert facts.reference == RULES
    assert facts.streams_text
    assert not facts.takes_instructions


def test_each_option_is_told_with_its_bounds() -> None:
    options = {option.name: option for option in facts_of(ToneEngine().spec).options}
    assert list(options) == [
        "frames_per_word", "loudness", "colour", "chunk_frames", "retries", "continue_segments",
    ]  # fmt: skip
    assert options["frames_per_word"] == OptionWords(
        "frames_per_word", "integer", 2, False, 1, 50, (), "", "", "How long a word sounds."
    )
    assert options["colour"].choices == ("sine", "square")
    assert options["continue_segments"].kind == "boolean"
