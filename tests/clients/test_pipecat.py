"""Pipecat's OpenAI service speaks through a real server, in a pipeline as a bot has it."""

import base64
from typing import Any

import pytest

from tests.clients import foreign
from tests.clients.spoken import TEXT, WORDS, assert_words, from_pcm, level_of, text_of
from tests.serving_process import Told
from tests.unit.audio.reference_decoders import Decoded

pytestmark = pytest.mark.clients

# The service takes these names alone, whatever the server has.
VOICES = (
    "alloy", "ash", "ballad", "cedar", "coral", "echo", "fable", "marin", "nova", "onyx", "sage",
    "shimmer", "verse",
)  # fmt: skip
WRONG: dict[str, tuple[dict[str, object], str]] = {
    "model": ({"texts": [TEXT], "model": "tts-2"}, "Error code: 404 - model 'tts-2' is not served"),
    "nothing": ({"texts": ["..."]}, "Error code: 400"),
    "too long": ({"texts": ["word " * 1_000]}, "Error code: 400"),
    "key": ({"texts": [TEXT], "api_key": "menura_wrong"}, "Error code: 401"),
    "failure": ({"texts": ["FAIL"]}, "Error code: 500"),
    "a cut": ({"texts": [f"{TEXT} FAIL"]}, "peer closed connection without sending complete"),
}
ASKED: dict[str, dict[str, object]] = {
    "defaults": {"texts": [TEXT]},
    "seed": {"texts": [TEXT], "note_seed": True},
    "two": {"texts": [text_of("one"), text_of("two")]},
    "fast": {"texts": [text_of(*WORDS, *WORDS)], "speed": 2.0, "instructions": "softly"},
    **{name: {"texts": ["one"], "voice": name} for name in VOICES},
    **{f"wrong {name}": asked for name, (asked, _) in WRONG.items()},
}


@pytest.fixture(scope="module")
def answers(tones: Told) -> dict[str, Any]:
    """What the service made of everything that is asked of the tone engine."""
    return dict(zip(ASKED, foreign.ask("pipecat", tones, list(ASKED.values())), strict=True))


def played(answer: dict[str, Any]) -> Decoded:
    """What the pipeline would play."""
    assert answer["errors"] == []
    assert answer["rates"] == [24_000]
    return from_pcm(base64.b64decode(answer["pcm"]), 24_000)


def test_what_was_said_is_played(answers: dict[str, Any]) -> None:
    answer = answers["defaults"]
    assert_words(played(answer), *WORDS)
    assert (answer["started"], answer["stopped"]) == (1, 1)


def test_the_samples_are_those_of_the_same_seed(tones: Told, answers: dict[str, Any]) -> None:
    [seed] = answers["seed"]["seeds"]
    body = {"input": TEXT, "response_format": "pcm", "voice": "alloy", "seed": int(seed)}
    with tones.client() as client:
        ours = client.post("/v1/audio/speech", json=body).content
    assert base64.b64decode(answers["seed"]["pcm"]) == ours


def test_texts_follow_one_another(answers: dict[str, Any]) -> None:
    assert_words(played(answers["two"]), "one", "two")
    assert (answers["two"]["started"], answers["two"]["stopped"]) == (2, 2)


def test_the_pace_is_kept_and_instructions_do_no_harm(answers: dict[str, Any]) -> None:
    audio = played(answers["fast"])
    assert len(audio.samples) / audio.rate_hz == pytest.approx(len(WORDS), rel=0.05)


@pytest.mark.parametrize("name", VOICES)
def test_each_voice_that_it_allows_speaks(name: str, answers: dict[str, Any]) -> None:
    assert len(played(answers[name]).samples) == 24_000 * 2 // 10


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_to_the_pipeline(name: str, answers: dict[str, Any]) -> None:
    answer = answers[f"wrong {name}"]
    assert WRONG[name][1] in answer["errors"][0]


def test_the_built_in_voice_is_heard(voice: Told) -> None:
    [answer] = foreign.ask("pipecat", voice, [{"texts": ["Hello from the server."]}])
    audio = played(answer)
    assert 0.8 < len(audio.samples) / audio.rate_hz < 4
    assert level_of(audio.samples) > 0.01
