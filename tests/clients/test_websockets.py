"""PyPI's `websockets`, its plain blocking client, on /v1/stream of a real server."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

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

_LIMIT_S = 60


@contextmanager
def stream_of(server: Told, path: str = "/v1/stream", **headers: str) -> Iterator[ClientConnection]:
    """A connection with the server's key, unless headers say otherwise."""
    address = server.address.replace("http://", "ws://") + path
    given = {"Authorization": f"Bearer {server.key}", **headers}
    with connect(address, additional_headers=given, proxy=None) as client:
        yield client


def tell(client: ClientConnection, kind: str, **fields: object) -> None:
    client.send(json.dumps({"type": kind, **fields}))


def heard_until(client: ClientConnection, kind: str) -> tuple[list[dict[str, object]], bytes]:
    """The events up to the first of this kind, and the audio that came with them."""
    events: list[dict[str, object]] = []
    audio = b""
    while not events or events[-1]["type"] != kind:
        message = client.recv(timeout=_LIMIT_S)
        if isinstance(message, bytes):
            audio += message
        else:
            events.append(json.loads(message))
    return events, audio


@pytest.mark.parametrize("name", FORMATS)
def test_words_in_pieces_come_back_as_one_file(name: str, tones: Told) -> None:
    with stream_of(tones) as client:
        tell(client, "start", voice="alloy", model="tts-1", response_format=name)
        for piece in (TEXT[:7], TEXT[7:30], TEXT[30:]):
            tell(client, "text", text=piece)
        tell(client, "end")
        events, audio = heard_until(client, "done")
    assert_words(decoded(audio, name), *WORDS, slack_s=0 if name in EXACT else DELAY_S)
    assert [event["type"] for event in events] == ["started", "segment", "done"]
    assert (events[1]["start"], events[1]["end"]) == (0, len(TEXT))
    assert events[-1]["finish"] == "stop"


def test_each_flush_is_heard_before_more_words_are_said(tones: Told) -> None:
    audio = b""
    with stream_of(tones) as client:
        tell(client, "start")
        for word in WORDS:
            tell(client, "text", text=f"{text_of(word)} ")
            tell(client, "flush")
            audio += heard_until(client, "flushed")[1]
        tell(client, "end")
        audio += heard_until(client, "done")[1]
    assert_words(decoded(audio, "pcm"), *WORDS)


def test_the_same_seed_gives_the_samples_of_a_request(tones: Told) -> None:
    with stream_of(tones) as client:
        tell(client, "start", seed=7, voice="low")
        tell(client, "text", text=TEXT)
        tell(client, "end")
        _, audio = heard_until(client, "done")
    body = {"input": TEXT, "seed": 7, "voice": "low", "response_format": "pcm"}
    with tones.client() as http:
        assert http.post("/v1/audio/speech", json=body).content == audio


def test_what_is_dropped_makes_room(tmp_path: Path) -> None:
    tone = tone_model(tmp_path / "tone")
    with serving(tmp_path / "own", "--model", tone, "--rows", "1", "--queue", "1") as server:
        for way in ("cancel", "hang up"):
            with stream_of(server) as client:
                tell(client, "start")
                tell(client, "text", text="ENDLESS ENDLESS ")
                client.recv(timeout=_LIMIT_S)
                if way == "cancel":
                    tell(client, "cancel")
                    assert heard_until(client, "done")[0][-1]["finish"] == "cancelled"
            with stream_of(server) as client:
                tell(client, "start")
                tell(client, "text", text=text_of("one"))
                tell(client, "end")
                assert_words(decoded(heard_until(client, "done")[1], "pcm"), "one")


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/v1/stream", {"Authorization": "Bearer menura_wrong"}, 401),
        ("/v1/stream?key=menura_wrong", {}, 400),
        ("/v1/stream", {"Origin": "https://example.com"}, 403),
        ("/v1/streams", {}, 404),
    ],
)
def test_who_may_not_come_in_gets_an_answer(
    path: str, headers: dict[str, str], status: int, tones: Told
) -> None:
    with pytest.raises(InvalidStatus) as caught, stream_of(tones, path, **headers):
        pass
    assert caught.value.response.status_code == status
    body = caught.value.response.body
    assert body is not None
    assert set(json.loads(body)["error"]) == {"message", "type", "param", "code"}


@pytest.mark.parametrize(
    ("first", "param", "code"),
    [
        ({"type": "start", "voice": "nobody"}, "voice", 1008),
        ({"type": "start", "model": "tts-2"}, "model", 1008),
        ({"type": "start", "response_format": "ogg"}, "response_format", 1008),
        ({"type": "begin"}, "type", 1008),
    ],
)
def test_what_is_wrong_is_told_before_the_connection_ends(
    first: dict[str, str], param: str, code: int, tones: Told
) -> None:
    with stream_of(tones) as client:
        client.send(json.dumps(first))
        events, _ = heard_until(client, "error")
        error = events[-1]["error"]
        assert isinstance(error, dict)
        assert error["param"] == param
        with pytest.raises(ConnectionClosed) as caught:
            client.recv(timeout=_LIMIT_S)
    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == code


def test_the_built_in_voice_is_heard(voice: Told) -> None:
    with stream_of(voice) as client:
        tell(client, "start")
        for piece in ("Hello from ", "the server. And ", "good night."):
            tell(client, "text", text=piece)
        tell(client, "end")
        events, audio = heard_until(client, "done")
    samples = decoded(audio, "pcm").samples
    assert 1.2 < len(samples) / 24_000 < 6
    assert level_of(samples) > 0.01
    spans = [(event["start"], event["end"]) for event in events if event["type"] == "segment"]
    assert spans[-1][1] == len("Hello from the server. And good night.")
