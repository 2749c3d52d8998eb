"""F1, F2, F4, F13 to F15 of a real `menura serve`: a fault is its own request's, or its model's.

Faults are the tone engine's misbehaving words, signals to the models' processes, and clients that
read nothing. Everyone else is served meanwhile, and the server afterwards.
"""

import asyncio
import json
import os
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from time import perf_counter

import httpx
import numpy as np
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosedError
from wyoming.audio import AudioChunk
from wyoming.client import AsyncTcpClient
from wyoming.tts import Synthesize

import menura
from menura.audio.pcm import FloatArray
from menura.engines.qwen3_tts.tiny import Tiny, write
from tests.process_facts import children, is_alive, needs_proc, until
from tests.serving_process import Told, serving, tone_model
from tests.tagged_speech import SPEECH
from tests.tone.engine import heard_hz, tone_hz

pytestmark = [pytest.mark.slow, needs_proc]

RESTART_S = 10.0  # the most that a model may be away after its process has died, but see `away_s`
MANY_POLLS = 20_000
_LIMIT_S = 600  # of what takes half a minute: kernels are compiled before a model is found broken
# More than a reader that reads nothing is kept ready for: the model holds, and the order stays.
HELD = " ".join(f"a{n} b{n}." for n in range(300))
HELD_OPTIONS = {"frames_per_word": 50}
LONG = " ".join(f"long{n}" for n in range(40))
FLOATS = {"response_format": "f32", "seed": 5}


@contextmanager
def served(folder: Path, *more_models: Path, **limits: object) -> Iterator[Told]:
    """A server of the models `tone`, which is the default one, and these, with these settings."""
    models = [tone_model(folder / "tone"), *more_models]
    flags = [word for model in models for word in ("--model", str(model))]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"per_key": 100, **limits}.items():
            patch.setenv(f"MENURA_SERVER_{name.upper()}", str(value))
        with serving(folder / "home", *flags) as told:
            yield told


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    with served(tmp_path_factory.mktemp("faults")) as running:
        yield running


def ask(client: httpx.Client, text: str, **body: object) -> httpx.Response:
    return client.post(SPEECH, json={"input": text, **FLOATS, **body})


def of(answer: httpx.Response) -> FloatArray:
    assert answer.status_code == 200, answer.text
    return np.frombuffer(answer.content, "<f4")


def tones_of(text: str) -> list[int]:
    """The tones of words that sound for two frames each."""
    return [tone_hz(word) for word in text.split() for _ in range(2)]


@contextmanager
def speaking(client: httpx.Client, text: str, **body: object) -> Iterator[Iterator[bytes]]:
    """An answer that has begun: what is left of it."""
    given = {"input": text, **FLOATS, **body}
    with client.stream("POST", SPEECH, json=given) as answer:
        pieces = answer.iter_raw()
        assert next(pieces)
        yield pieces


def held(client: httpx.Client, **body: object) -> AbstractContextManager[Iterator[bytes]]:
    """An answer of which nothing more is read: its order stays in the model's process."""
    return speaking(client, HELD, options=HELD_OPTIONS, **body)


def away_s(client: httpx.Client) -> float:
    """The most that a model may be away here, where nothing was spoken yet: a slow machine needs
    longer to load it, the first time and every time.
    """
    began = perf_counter()
    assert ask(client, "one").status_code == 200
    return max(RESTART_S, 2 * (perf_counter() - began))


def model_process(told: Told) -> int:
    [pid] = children(told.process.pid)
    return pid


def polled(client: httpx.Client, path: str) -> Iterator[httpx.Response]:
    """Answers to the same question, one after another."""
    for _ in range(MANY_POLLS):
        yield client.get(path)
    pytest.fail(f"{path} stays as it is")


def number_of(metrics: httpx.Response, name: str) -> float:
    """The sum of a number over all models."""
    lines = metrics.text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name + "{"))


def until_nobody_speaks(client: httpx.Client) -> None:
    for answer in polled(client, "/metrics"):
        if not number_of(answer, "menura_rows") and not number_of(answer, "menura_queue_depth"):
            return


def test_f1_what_reaches_its_limit_says_so_and_the_next_is_spoken(told: Told) -> None:
    with told.client() as client:
        for _ in range(10):  # more than there are rows
            limited = ask(client, "one LIMIT two", stream=False)
            assert (limited.status_code, limited.headers["x-finish"]) == (200, "length")
            assert heard_hz(of(limited)) == tones_of("one")
        assert heard_hz(of(ask(client, "one two"))) == tones_of("one two")


def test_f2_numbers_that_are_none_fail_alone_and_the_model_stays_sound(
    told: Told, tmp_path: Path
) -> None:
    fresh = menura.load(tone_model(tmp_path / "fresh")).speak(LONG, seed=5).samples
    with told.client() as client, ThreadPoolExecutor(3) as others:
        beside = [others.submit(ask, client, LONG) for _ in range(12)]
        for _ in range(10):
            failed = ask(client, "NAN")
            assert failed.status_code == 500
            assert failed.headers["x-request-id"] in failed.json()["error"]["message"]
        pid = model_process(told)
        for answer in (*(each.result() for each in beside), ask(client, LONG)):
            np.testing.assert_array_equal(of(answer), fresh)
        assert model_process(told) == pid


def test_f4_a_kill_in_the_middle_is_no_end_and_who_waits_is_served(tmp_path: Path) -> None:
    texts = [f"waits{n} " * 40 for n in range(8)]
    with (
        served(tmp_path, rows=1) as told,
        told.client() as client,
        ThreadPoolExecutor(len(texts)) as others,
        ExitStack() as stack,
    ):
        limit_s = away_s(client)
        first = stack.enter_context(held(client))
        second = stack.enter_context(held(client, stream_format="sse"))
        slowly = {"stream": False, "options": {"frames_per_word": 50}}
        waiting = [others.submit(ask, client, text, **slowly) for text in texts]
        for answer in polled(client, "/metrics"):
            if number_of(answer, "menura_queue_depth") >= 4:
                break
        os.kill(model_process(told), signal.SIGKILL)
        answers = [each.result(timeout=limit_s) for each in waiting]
        for text, answer in zip(texts, answers, strict=True):
            if answer.status_code == 503:
                assert answer.json()["error"]["code"] == "worker_died"
            else:
                assert heard_hz(of(answer))[::25] == tones_of(text)
        assert sum(answer.status_code == 503 for answer in answers) <= 2, "who waited was kept"
        rest_until_cut(first)
        event = json.loads(rest_until_cut(second).split(b"\n\n")[-2].removeprefix(b"data: "))
        assert (event["type"], event["error"]["code"]) == ("error", "worker_died")
        os.kill(model_process(told), signal.SIGKILL)  # idle
        assert heard_hz(of(ask(client, "one"))) == tones_of("one")
        assert number_of(client.get("/metrics"), "menura_model_restarts") == 2


def rest_until_cut(pieces: Iterator[bytes]) -> bytes:
    """The last bytes of an answer that has no proper end."""
    last = b""
    try:
        for piece in pieces:
            last = (last + piece)[-2000:]
    except httpx.RemoteProtocolError:
        return last
    pytest.fail("the answer looks whole")


def test_f4_no_model_outlives_a_server_that_was_killed(tmp_path: Path) -> None:
    with served(tmp_path) as told, told.client() as client:
        with held(client):
            pid = model_process(told)
            told.process.kill()
            told.process.wait()
        until(lambda: not is_alive(pid), "the model's process lives on")


async def storm(told: Told, n: int, **body: object) -> tuple[list[httpx.Response], set[int], int]:
    """The answers to first requests at once, all processes seen meanwhile, and the refusals to
    be ready.
    """
    seen: set[int] = set()
    n_unready = 0
    headers = {"Authorization": f"Bearer {told.key}"}
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(
        base_url=told.address, headers=headers, timeout=_LIMIT_S, limits=limits
    ) as client:
        texts = [f"first{number} of{number}" for number in range(n)]
        asked = [
            asyncio.create_task(client.post(SPEECH, json={"input": text, **FLOATS, **body}))
            for text in texts
        ]
        while not all(each.done() for each in asked):
            seen |= children(told.process.pid)
            n_unready += (await client.get("/ready")).status_code == 503
        return [each.result() for each in asked], seen, n_unready


def test_f13_fifty_first_requests_load_the_model_once(tmp_path: Path) -> None:
    with served(tmp_path, queue=50) as told, told.client() as client:
        answers, seen, n_unready = asyncio.run(storm(told, 50))
        for number, answer in enumerate(answers):
            assert heard_hz(of(answer)) == tones_of(f"first{number} of{number}")
        assert len(seen) <= 2, "one process looks at the model, one speaks"
        assert n_unready > 0, "it said that it was ready while it loaded the model"
        assert client.get("/ready").status_code == 200


def test_f13_a_model_that_cannot_be_loaded_is_told_to_all_and_harms_no_other(
    tmp_path: Path,
) -> None:
    broken = write(tmp_path / "broken", Tiny("custom_voice"))
    with served(tmp_path, broken) as told, told.client() as client:
        (broken / "model.safetensors").write_bytes(b"\xff" * 1000)
        answers, _, _ = asyncio.run(storm(told, 20, model="broken"))
        for answer in answers:
            assert answer.status_code in (500, 503)
            assert str(tmp_path) not in answer.text
        assert heard_hz(of(ask(client, "one"))) == tones_of("one")


def test_f13_a_model_in_use_is_not_unloaded_for_another(tmp_path: Path) -> None:
    other = tone_model(tmp_path / "other")
    with served(tmp_path, other, max_models=1) as told, told.client() as client:
        with held(client):
            pid = model_process(told)
            refused = ask(client, "two", model="other")
            assert refused.status_code == 503
            assert refused.json()["error"]["code"] == "overloaded"
            assert int(refused.headers["retry-after"]) >= 1
            assert pid in children(told.process.pid)
        until_nobody_speaks(client)
        assert heard_hz(of(ask(client, "two", model="other"))) == tones_of("two")
        assert not is_alive(pid)
        assert heard_hz(of(ask(client, "one"))) == tones_of("one")


def test_f14_whoever_takes_too_long_is_cut_and_the_others_are_served(tmp_path: Path) -> None:
    other = tone_model(tmp_path / "other")
    limits = {"hang_s": 3, "request_s": 6, "stall_s": 2}
    with served(tmp_path, other, **limits) as told, told.client() as client:
        with held(client) as pieces:  # the model hangs
            hung = model_process(told)
            os.kill(hung, signal.SIGSTOP)
            for n in range(20):
                text = f"beside{n}"
                assert heard_hz(of(ask(client, text, model="other"))) == tones_of(text)
            rest_until_cut(pieces)
        assert heard_hz(of(ask(client, "one"))) == tones_of("one")
        assert not is_alive(hung)

        late = ask(client, "ENDLESS", stream=False)  # the engine is too slow
        assert (late.status_code, late.json()["error"]["code"]) == (504, "deadline")
        with speaking(client, "ENDLESS") as pieces:
            rest_until_cut(pieces)

        with hanging(told):  # the client hangs
            for answer in polled(client, "/metrics"):
                if number_of(answer, "menura_rows"):
                    break
            assert heard_hz(of(ask(client, "one"))) == tones_of("one")
            until_nobody_speaks(client)


@contextmanager
def hanging(told: Told) -> Iterator[None]:
    """A client that asks for speech without end and reads nothing."""
    body = json.dumps({"input": "ENDLESS", **FLOATS}).encode()
    host, port = told.address.removeprefix("http://").split(":")
    head = (
        f"POST {SPEECH} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {told.key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect((host, int(port)))
        line.sendall(head.encode() + body)
        yield


async def rest_of_events(lines: AsyncIterator[str]) -> str:
    """The last event's type, and why the speech ended."""
    last: dict[str, object] = {}
    async for line in lines:
        if line:
            last = json.loads(line.removeprefix("data: "))
    came = last["menura"]
    assert isinstance(came, dict)
    return f"{last['type']} {came['finish']}"


async def last_kind(live: ClientConnection) -> str:
    """The type of the last message of a WebSocket, which the server closes."""
    kind = ""
    try:
        while True:
            message = await live.recv()
            kind = json.loads(message)["type"] if isinstance(message, str) else kind
    except ConnectionClosedError:
        return kind


def test_f15_a_signal_lets_five_streams_end_and_takes_nobody_new(tmp_path: Path) -> None:
    text = " ".join(f"sentence number{n} is here." for n in range(30))
    n_samples = len(text.split()) * 20 * 800
    given = {"input": text, **FLOATS, "options": {"frames_per_word": 20}}

    async def run(told: Told) -> None:
        headers = {"Authorization": f"Bearer {told.key}"}
        stream_at = told.address.replace("http", "ws") + "/v1/stream"
        host, port = str(told.facts["wyoming"]).removeprefix("tcp://").split(":")
        async with (
            httpx.AsyncClient(base_url=told.address, headers=headers, timeout=120) as client,
            client.stream("POST", SPEECH, json=given) as audio,
            client.stream("POST", SPEECH, json=given | {"response_format": "mp3"}) as mp3,
            client.stream("POST", SPEECH, json=given | {"stream_format": "sse"}) as events,
            connect(stream_at, additional_headers=headers) as live,
            AsyncTcpClient(host, int(port)) as home,
        ):
            await live.send(json.dumps({"type": "start", "response_format": "f32"}))
            await live.send(json.dumps({"type": "text", "text": text}))
            await live.send(json.dumps({"type": "end"}))
            await home.write_event(Synthesize(text).event())
            lines, raw = events.aiter_lines(), audio.aiter_raw()
            n_bytes = len(await anext(raw)) + 0 * len(await anext(lines))
            while not isinstance(await live.recv(), bytes):
                pass
            while (event := await home.read_event()) and not AudioChunk.is_type(event.type):
                pass
            told.process.terminate()
            while (await client.get("/ready")).status_code == 200:
                pass
            refused = await client.post(SPEECH, json=given)
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "draining")
            n_bytes += sum([len(piece) async for piece in raw])
            assert n_bytes >= 4 * n_samples
            assert len(await mp3.aread()) > 0
            assert await rest_of_events(lines) == "speech.audio.done stop"
            assert await last_kind(live) == "done"
            while (event := await home.read_event()) and event.type != "audio-stop":
                pass
            assert event is not None, "the audio has no end"

    with served(tmp_path, wyoming_port=0, drain_s=60) as told:
        asyncio.run(run(told))
        pids = children(told.process.pid)
        assert told.ended() == 0
        assert not any(map(is_alive, pids))
