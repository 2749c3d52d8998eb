"""The rules of recordings are the engines' own numbers."""

from pathlib import Path

import pytest

from menura.engines.builtin.engine import BuiltinEngine
from menura.engines.contract import EngineClass, ReferenceRules, TranscriptUse
from menura.engines.echo_tts.config import PUBLISHED
from menura.engines.echo_tts.description import reference_rules
from menura.engines.echo_tts.engine import EchoTTSEngine
from menura.engines.qwen3_tts import clip
from menura.errors import UnsupportedError
from tests.tone.engine import RULES


def test_the_way_depends_on_the_transcript() -> None:
    rules = clip.rules(0.1)
    assert rules.way(has_transcript=True) == "in_context"
    assert rules.way(has_transcript=False) == "x_vector"
    assert rules.best == "5 to 15 seconds of clear speech"


def test_one_that_needs_a_transcript_has_no_way_without() -> None:
    rules = ReferenceRules(TranscriptUse.NEEDED, 1.0, (1.0, 2.0), (1.0, 1.5), 3.0, "in_context")
    assert rules.way(has_transcript=False) == ""


def test_echo_reads_no_transcript_and_needs_one_patch() -> None:
    rules = reference_rules(PUBLISHED.autoencoder)
    assert rules.transcript is TranscriptUse.UNUSED
    assert rules.shortest_s == pytest.approx(4 * 2048 / 44_100)
    assert (rules.good_s, rules.best_s, rules.longest_s) == ((5.0, 300.0), (10.0, 30.0), 300.0)


@pytest.mark.parametrize("rules", [RULES, clip.rules(0.1), reference_rules(PUBLISHED.autoencoder)])
def test_the_lengths_are_in_order(rules: ReferenceRules) -> None:
    lengths = (rules.shortest_s, rules.good_s[0], *rules.best_s, rules.good_s[1], rules.longest_s)
    assert list(lengths) == sorted(lengths)


@pytest.mark.parametrize("engine", [BuiltinEngine, EchoTTSEngine])
def test_an_engine_without_saved_prompts_says_so(engine: EngineClass, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="saved prompts"):
        engine.saved_voices(tmp_path, tmp_path / "prompts.pt")
