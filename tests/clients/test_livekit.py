"""LiveKit's OpenAI plugin speaks through a real server, as a voice agent uses it."""

import base64
from typing import Any

import numpy as np
import pytest

from tests.clients import foreign
from tests.clients.spoken import (
    DELAY_S,
    FORMATS,
    TEXT,
    WORDS,
    assert_words,
    from_pcm,
    level_of,
    text_of,
)
from tests.serving_process import Told
from tests.unit.audio.reference_decoders import Decoded

pytestmark = pytest.mark.clients

SENTENCES = " ".join(f"{text_of(word)}." for word in WORDS)
# The plugin asks for events, but for the bytes themselves of these models.
MODELS = {"events": "gpt-4o-mini-tts", "bytes": "tts-1"}
# Its decoder drops the first block of any FLAC, and it ends with 10 ms of silence.
SLACK_S = dict.fromkeys(FORMATS, DELAY_S) | {"wav": 0.011, "pcm": 0.011}

GOOD: dict[str, dict[str, object]] = {
    "the defaults": {"text": TEXT},  # ash, mp3, events
    **{
        f"{name} by {way}": {"text": TEXT, "model": model, "response_format": name}
        for way, model in MODELS.items()
        for name in FORMATS
    },
}
WRONG: dict[str, tuple[dict[str, object], int]] = {
    "voice": ({"text": TEXT, "voice": "nobody"}, 400),
    "model": ({"text": TEXT, "model": "tts-2"}, 404),
    "format": ({"text": TEXT, "response_format": "ogg"}, 400),
    "too long": ({"text": "word " * 1_000}, 400),
    "key": ({"text": TEXT, "api_key": "menura_wrong"}, 401),
}
MORE: dict[str, dict[str, object]] = {
    "seed": {"text": TEXT, "response_format": "pcm", "voice": "low", "note_seed": True},
    "sentences": {"text": SENTENCES, "in_sentences": True, "response_format": "pcm"},
    "failure": {"text": "FAIL"},
}
ASKED = GOOD | MORE | {f"wrong {name}": asked for name, (asked, _) in WRONG.items()}


@pytest.fixture(scope="module")
def answers(tones: Told) -> dict[str, Any]:
    """What the plugin made of everything that is asked of the tone engine."""
    return dict(zip(ASKED, foreign.ask("livekit", tones, list(ASKED.values())), strict=True))


def played(answer: dict[str, Any]) -> Decoded:
    """What the agent would play."""
    assert "error" not in answer, answer
    assert answer["rates"] == [24_000]
    return from_pcm(base64.b64decode(answer["pcm"]), 24_000)


@pytest.mark.parametrize("name", GOOD)
def test_what_was_said_is_played(name: str, answers: dict[str, Any]) -> None:
    answer = answers[name]
    assert_words(played(answer), *WORDS, slack_s=SLACK_S.get(name.partition(" ")[0], DELAY_S))
    assert (answer["final"], answer["errors"]) == (True, [])
    assert [given[:4] for given in answer["request_ids"]] == ["req_"]


def test_the_samples_are_those_of_the_same_seed(tones: Told, answers: dict[str, Any]) -> None:
    heard = played(answers["seed"]).samples
    [seed] = answers["seed"]["seeds"]
    body = {"input": TEXT, "response_format": "pcm", "voice": "low", "seed": int(seed)}
    with tones.client() as client:
        ours = from_pcm(client.post("/v1/audio/speech", json=body).content, 24_000).samples
    assert np.array_equal(heard[: len(ours)], ours)
    assert not heard[len(ours) :].any()


def test_a_models_words_are_spoken_sentence_by_sentence(answers: dict[str, Any]) -> None:
    audio = played(answers["sentences"])
    assert len(audio.samples) / audio.rate_hz == pytest.approx(len(WORDS), abs=0.1)
    assert level_of(audio.samples) > 0.2


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_asked_once(name: str, answers: dict[str, Any]) -> None:
    answer = answers[f"wrong {name}"]
    assert (answer["error"], answer["status"]) == ("APIStatusError", WRONG[name][1])
    assert answer["errors"] == [False]  # no hope for another try


def test_a_failure_is_told_when_the_plugin_has_given_up(answers: dict[str, Any]) -> None:
    answer = answers["failure"]
    assert (answer["error"], answer["status"]) == ("APIStatusError", 500)
    assert answer["errors"] == [True, True, True, False]  # it does not know x-should-retry


def test_the_built_in_voice_is_heard(voice: Told) -> None:
    [answer] = foreign.ask("livekit", voice, [{"text": "Hello from the server."}])
    audio = played(answer)
    assert 0.8 < len(audio.samples) / audio.rate_hz < 4
    assert level_of(audio.samples) > 0.01
