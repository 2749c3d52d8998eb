"""OpenAI's own client, as its documentation uses it, against a real server."""

import asyncio
import base64
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import openai
import pytest

import menura
from menura.server.border.keys import KeyStore
from menura.server.routes import Scope
from tests.clients.spoken import (
    DELAY_S,
    EXACT,
    FORMATS,
    TEXT,
    WORDS,
    assert_words,
    decoded,
    level_of,
    text_of,
)
from tests.serving_process import Told, serving, tone_model

pytestmark = pytest.mark.clients


@dataclass
class Asking:
    """A client that notes what goes out and what comes back."""

    client: openai.OpenAI
    sent: list[httpx2.Request] = field(default_factory=list)
    got: list[httpx2.Response] = field(default_factory=list)

    @classmethod
    @contextmanager
    def at(
        cls,
        server: Told,
        key: str = "",
        on_answer: Callable[[httpx2.Response], None] = lambda answer: None,
    ) -> "Iterator[Asking]":
        """One with the server's key, or another one."""
        sent: list[httpx2.Request] = []
        got: list[httpx2.Response] = []
        hooks: dict[str, list[Callable[..., Any]]] = {
            "request": [sent.append],
            "response": [got.append, on_answer],
        }
        with openai.OpenAI(
            api_key=key or server.key,
            base_url=f"{server.address}/v1",
            http_client=openai.DefaultHttpxClient(event_hooks=hooks),
        ) as client:
            yield cls(client, sent, got)

    def whole(self, text: str = TEXT, name: str = "wav", **more: Any) -> bytes:
        """The whole answer in the format of this name."""
        answer = self.client.audio.speech.create(
            model="tts-1",
            voice="alloy",
            input=text,
            response_format=name,  # type: ignore[arg-type]
            extra_body=more,
        )
        return answer.read()


@pytest.fixture
def asking(tones: Told) -> Iterator[Asking]:
    with Asking.at(tones) as asking:
        yield asking


@pytest.mark.parametrize("name", FORMATS)
def test_a_whole_answer_is_what_was_said(name: str, asking: Asking) -> None:
    audio = asking.whole(name=name)
    assert_words(decoded(audio, name), *WORDS, slack_s=0 if name in EXACT else DELAY_S)
    assert len(asking.sent) == 1


@pytest.mark.parametrize("name", FORMATS)
def test_a_streamed_answer_is_the_whole_one(name: str, asking: Asking, tmp_path: Path) -> None:
    with asking.client.audio.speech.with_streaming_response.create(
        model="gpt-4o-mini-tts",
        voice="alloy",
        input=TEXT,
        response_format=name,  # type: ignore[arg-type]
        extra_body={"seed": 7},
    ) as answer:
        answer.stream_to_file(tmp_path / name)
        assert answer.headers["x-seed"] == "7"
        assert "content-length" not in answer.headers
    streamed = (tmp_path / name).read_bytes()
    assert streamed == asking.whole(name=name, seed=7)
    assert_words(decoded(streamed, name), *WORDS, slack_s=0 if name in EXACT else DELAY_S)


@pytest.mark.parametrize("name", ["wav", "flac"])
def test_the_samples_are_the_engines_own(name: str, asking: Asking, tone: menura.TTS) -> None:
    own = tone.speak(TEXT, seed=7)
    for stream in (True, False):
        audio = decoded(asking.whole(name=name, seed=7, stream=stream), name)
        assert audio.rate_hz == own.sample_rate_hz
        np.testing.assert_allclose(audio.samples, own.samples, rtol=0, atol=2**-15)


def test_a_whole_file_says_how_long_it_is(asking: Asking) -> None:
    audio = asking.whole(stream=False)
    assert asking.got[-1].headers["content-length"] == str(len(audio))
    assert_words(decoded(audio, "wav"), *WORDS)


def test_a_voice_may_be_an_object(asking: Asking) -> None:
    answer = asking.client.audio.speech.create(
        model="tts-1-hd", voice={"id": "HIGH"}, input=TEXT, response_format="pcm"
    )
    assert answer.response.headers["x-voice"] == "high"
    assert_words(decoded(answer.read(), "pcm"), *WORDS)


def test_what_a_model_does_not_follow_is_told(asking: Asking) -> None:
    answer = asking.client.audio.speech.create(
        model="gpt-4o-mini-tts", voice="cedar", input=TEXT, instructions="softly", speed=2,
        response_format="wav", extra_body={"mood": "blue"},
    )  # fmt: skip
    assert answer.response.headers["x-menura-ignored"] == "mood, instructions"
    audio = decoded(answer.read(), "wav")
    assert len(audio.samples) / audio.rate_hz == pytest.approx(len(WORDS) / 2, rel=0.05)


def events_of(asking: Asking, text: str, **more: object) -> "openai.Stream[Any]":
    """The answer as events, read by the client's own decoder."""
    body = {"model": "gpt-4o-mini-tts", "voice": "alloy", "input": text, "stream_format": "sse"}
    return asking.client.post(
        "/audio/speech",
        body={**body, **more},
        cast_to=object,
        stream=True,
        stream_cls=openai.Stream[Any],
    )


@pytest.mark.parametrize("name", FORMATS)
def test_events_carry_the_same_bytes(name: str, asking: Asking) -> None:
    *deltas, done = list(events_of(asking, TEXT, response_format=name, seed=7))
    assert {event["type"] for event in deltas} == {"speech.audio.delta"}
    audio = b"".join(base64.b64decode(event["audio"]) for event in deltas)
    assert audio == asking.whole(name=name, seed=7)
    assert done["type"] == "speech.audio.done"
    n_in, n_out = len(TEXT), 100 * len(WORDS)
    assert done["usage"] == {
        "input_tokens": n_in, "output_tokens": n_out, "total_tokens": n_in + n_out,
    }  # fmt: skip


def test_events_end_with_an_error_that_the_client_raises(asking: Asking) -> None:
    with pytest.raises(openai.APIError, match="request id") as caught:
        list(events_of(asking, f"{TEXT} FAIL"))
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["code"] == "failure"
    assert len(asking.sent) == 1


WRONG: dict[str, tuple[dict[str, object], type[openai.APIStatusError], str]] = {
    "voice": ({"voice": "nobody"}, openai.BadRequestError, "voice"),
    "voice object": ({"voice": {"id": "nobody"}}, openai.BadRequestError, "voice"),
    "model": ({"model": "tts-2"}, openai.NotFoundError, "model"),
    "format": ({"response_format": "ogg"}, openai.BadRequestError, "response_format"),
    "too long": ({"input": "word " * 1_000}, openai.BadRequestError, "input"),
    "nothing": ({"input": " "}, openai.BadRequestError, "input"),
    "speed": ({"speed": 9}, openai.BadRequestError, "speed"),
    "event format": ({"stream_format": "ws"}, openai.BadRequestError, "stream_format"),
}


@pytest.mark.parametrize(("body", "kind", "param"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_its_own_error_and_asked_once(
    body: dict[str, object], kind: type[openai.APIStatusError], param: str, asking: Asking
) -> None:
    given: dict[str, Any] = {"model": "tts-1", "voice": "alloy", "input": TEXT, **body}
    with pytest.raises(kind) as caught:
        asking.client.audio.speech.create(**given)
    error = caught.value
    assert type(error) is kind
    assert (error.param, error.type) == (param, expected_type(error.status_code))
    assert isinstance(error.code, str)
    assert error.request_id == asking.got[0].headers["x-request-id"]
    assert len(asking.sent) == 1


def expected_type(status: int) -> str:
    return {404: "not_found_error", 500: "server_error"}.get(status, "invalid_request_error")


def test_a_wrong_key_and_one_for_other_things_are_told_apart(tones: Told) -> None:
    with Asking.at(tones, "menura_wrong") as asking, pytest.raises(openai.AuthenticationError):
        asking.whole()
    store = KeyStore(tones.log.with_name("home") / "config" / "keys.json")
    other = store.add("voices alone", frozenset({Scope.VOICES}))
    with Asking.at(tones, other.key) as asking, pytest.raises(openai.PermissionDeniedError):
        asking.whole()
    assert len(asking.sent) == 1


def test_a_failure_that_would_come_again_is_asked_once(asking: Asking) -> None:
    with pytest.raises(openai.InternalServerError) as caught:
        asking.whole("FAIL")
    assert caught.value.code == "failure"
    assert len(asking.sent) == 1


@pytest.mark.parametrize("name", FORMATS)
def test_half_an_answer_is_no_answer(name: str, asking: Asking) -> None:
    with pytest.raises(openai.APIConnectionError):
        asking.whole(f"{text_of(*WORDS * 4)} FAIL", name)
    with (
        asking.client.audio.speech.with_streaming_response.create(
            model="tts-1",
            voice="alloy",
            input=f"{text_of(*WORDS * 4)} FAIL",
            response_format=name,  # type: ignore[arg-type]
        ) as answer,
        pytest.raises(httpx2.RemoteProtocolError),
    ):
        list(answer.iter_bytes())


def test_a_busy_server_is_asked_again_when_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tone = tone_model(tmp_path / "tone")
    slept: list[float] = []
    really_sleep = time.sleep

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        really_sleep(seconds)

    monkeypatch.setattr(time, "sleep", sleep)
    with (
        serving(tmp_path / "own", "--model", tone, "--per-key", "1") as server,
        Asking.at(server) as first,
        first.client.audio.speech.with_streaming_response.create(
            model="tts-1", voice="alloy", input="ENDLESS", response_format="pcm"
        ) as held,
    ):
        pieces = held.iter_bytes()
        next(pieces)

        def give_way(answer: httpx2.Response) -> None:
            if answer.status_code == 429:
                held.close()

        with Asking.at(server, on_answer=give_way) as asking:
            assert_words(decoded(asking.whole(), "wav"), *WORDS)
    *refused, good = asking.got
    assert good.status_code == 200
    assert [answer.status_code for answer in refused] == [429] * len(refused)
    assert len(refused) >= 1
    assert slept == [float(answer.headers["retry-after"]) for answer in refused]
    assert asking.sent[-1].headers["x-stainless-retry-count"] == str(len(refused))


def test_the_models_are_listed_and_found_by_their_aliases(asking: Asking) -> None:
    assert [model.id for model in asking.client.models.list()][:2] == ["tone", "builtin"]
    assert asking.client.models.retrieve("tts-1").id == "tone"
    with pytest.raises(openai.NotFoundError):
        asking.client.models.retrieve("whisper-1")


def test_answers_at_the_same_time_hold_only_their_own_words(tones: Told) -> None:
    async def spoken(client: openai.AsyncOpenAI, word: str) -> bytes:
        answer = await client.audio.speech.create(
            model="tts-1", voice="alloy", input=text_of(word, word), response_format="wav"
        )
        return await answer.aread()

    async def all_spoken(words: list[str]) -> list[bytes]:
        async with openai.AsyncOpenAI(api_key=tones.key, base_url=f"{tones.address}/v1") as client:
            return await asyncio.gather(*(spoken(client, word) for word in words))

    words = [f"word{number}" for number in range(12)]
    for word, audio in zip(words, asyncio.run(all_spoken(words)), strict=True):
        assert_words(decoded(audio, "wav"), word, word)


@pytest.mark.parametrize("name", FORMATS)
def test_the_built_in_voice_is_heard(name: str, voice: Told) -> None:
    with Asking.at(voice) as asking:
        audio = decoded(asking.whole("Hello from the server.", name), name)
    assert 0.8 < len(audio.samples) / audio.rate_hz < 4
    assert level_of(audio.samples) > 0.01
