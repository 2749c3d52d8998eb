"""F5 and F6: a real server under far more than it can do, and a thousand clients that leave.

Whatever happens, each answer has its own words, and the server holds afterwards what it held
before.
"""

import asyncio
import json
import os
import socket
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest

from menura.audio.pcm import FloatArray
from menura.engines.echo_tts import tiny as echo_tts
from menura.engines.qwen3_tts import tiny as qwen3_tts
from menura.server.border.keys import KeyStore
from menura.server.routes import ALL_SCOPES
from tests.process_facts import Holdings, children, holdings, needs_proc, until
from tests.serving_process import Told, serving, tone_model
from tests.tagged_speech import FORMATS, SPEECH, Asking, asking

pytestmark = [pytest.mark.slow, needs_proc]

ROWS, QUEUE, PER_KEY = 4, 12, 8
CAPACITY = ROWS + 1
AT_ONCE = 20 * CAPACITY
N_REQUESTS = 200
N_LEAVING = 1000
# The allocator keeps some memory for each of the threads that encode, more with each burst until it
# stays at about 160 MB; what is left behind by each of a thousand requests adds up to more.
SLACK_BYTES = 48 * 1024 * 1024
# asyncio's own pool encodes and looks at files; it starts its threads one by one, when needed.
SLACK_THREADS = min(32, (os.cpu_count() or 1) + 4)
MANY_POLLS = 20_000
_LIMIT_S = 600  # of what takes half a minute: a model's kernels are compiled when it is loaded


class Loaded:
    """A server with the keys of four users, and what it held before the load."""

    def __init__(self, told: Told, keys: list[str], temporary: Path) -> None:
        self.told = told
        self.keys = keys
        self.temporary = temporary
        self.pid = told.process.pid

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.keys[0]}"}

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.told.address, headers=self.headers, timeout=_LIMIT_S)

    @contextmanager
    def asked(
        self, body: Mapping[str, object], cut_at: int | None = None
    ) -> Iterator[socket.socket]:
        """A connection with a small window on which a speech was asked for.

        `cut_at`: how many bytes of the body are sent, where it is to stay incomplete.
        """
        sent = json.dumps(body).encode()
        host, port = self.told.address.removeprefix("http://").split(":")
        head = (
            f"POST {SPEECH} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {self.keys[0]}\r\n"
            "Content-Type: application/json\r\nConnection: close\r\n"
            f"Content-Length: {len(sent)}\r\n\r\n"
        )
        with socket.socket() as line:
            line.settimeout(60)
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.connect((host, int(port)))
            line.sendall(head.encode() + sent[:cut_at])
            yield line

    def when_quiet(self) -> list[Holdings]:
        """What the server and its model's process hold, once nobody speaks or is connected."""
        with self.client() as client:
            for _ in range(MANY_POLLS):
                if quiet(client):
                    break
            else:
                pytest.fail(client.get("/metrics").text)
        until(lambda: not n_connections(self.pid, self.told.address), "connections stay open")
        return [holdings(pid) for pid in (self.pid, *sorted(children(self.pid)))]


def quiet(client: httpx.Client) -> bool:
    """Whether no order is in a process or waits."""
    lines = client.get("/metrics").text.splitlines()
    names = ("menura_rows{", "menura_queue_depth{")
    return all(line.endswith(" 0.0") for line in lines if line.startswith(names))


def n_connections(pid: int, address: str) -> int:
    """The server's open connections, by the table of the system."""
    port = int(address.rpartition(":")[2])
    mine = f":{port:04X}"
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(mine) and row[3] in ("01", "08") for row in rows)


@contextmanager
def temporary_files_in(folder: Path) -> Iterator[None]:
    """A block in which the processes that are started have their temporary files there."""
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        yield


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
    folder = tmp_path_factory.mktemp("loaded")
    temporary = folder / "temporary"
    home = folder / "home"
    store = KeyStore(home / "config" / "keys.json")
    keys = [store.add(f"user {n}", ALL_SCOPES).key for n in range(4)]
    limits = ["--queue", str(QUEUE), "--per-key", str(PER_KEY)]
    model = tone_model(folder / "tone")
    with temporary_files_in(temporary), serving(home, "--model", model, *limits) as told:
        server = Loaded(told, keys, temporary)
        # The model is in memory then, as are all codecs and as many threads as there may be.
        asyncio.run(asked_at_once(server, [asking(number) for number in range(N_REQUESTS)]))
        yield server
        told.process.terminate()
        assert told.ended() == 0


def check_base(server: Loaded, before: list[Holdings]) -> None:
    """Nothing, where the server holds what it held before."""
    for was, now in zip(before, server.when_quiet(), strict=True):
        assert now.n_descriptors <= was.n_descriptors
        assert now.n_threads <= was.n_threads + SLACK_THREADS
        assert now.rss_bytes <= was.rss_bytes + SLACK_BYTES
    assert list(server.temporary.iterdir()) == []


def user(number: int) -> int:
    """Whose request this is: half of all are the first user's, which is too many for one."""
    return number // 2 % 3 + 1 if number % 2 else 0


async def asked_at_once(server: Loaded, askings: list[Asking]) -> list[httpx.Response]:
    """The answers, where so many requests are under way at any time."""
    places = asyncio.Semaphore(AT_ONCE)

    async def ask(number: int, one: Asking) -> httpx.Response:
        headers = {"Authorization": f"Bearer {server.keys[user(number)]}"}
        async with places:
            return await client.post(one.path, json=one.body, headers=headers)

    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(
        base_url=server.told.address, limits=limits, timeout=120
    ) as client:
        return list(await asyncio.gather(*(ask(n, one) for n, one in enumerate(askings))))


def test_f6_at_twenty_times_its_capacity_everybody_is_answered_with_what_is_theirs(
    loaded: Loaded,
) -> None:
    before = loaded.when_quiet()
    askings = [asking(number) for number in range(N_REQUESTS)]
    answers = asyncio.run(asked_at_once(loaded, askings))
    came = Counter(answer.status_code for answer in answers)
    print(came)  # noqa: T201 - shown with -rP
    assert set(came) <= {200, 429, 503}
    assert came[200] >= CAPACITY + QUEUE
    assert came[429] > 0 < came[503], "this was no overload"
    served = {user(n) for n, answer in enumerate(answers) if answer.status_code == 200}
    assert served == {0, 1, 2, 3}
    for one, answer in zip(askings, answers, strict=True):
        if answer.status_code == 200:
            one.check(answer)
        else:
            code = answer.json()["error"]["code"]
            assert (answer.status_code, code) in ((429, "busy"), (503, "overloaded"))
            assert 1 <= float(answer.headers["retry-after"]) <= 120
    refused = [one for one, a in zip(askings, answers, strict=True) if a.status_code != 200]
    with loaded.client() as client:
        for one in refused[:10]:  # and who asks again later is served
            one.check(client.post(one.path, json=one.body))
    check_base(loaded, before)


def leave(server: Loaded, number: int) -> None:
    """A client that asks for speech without end and goes: at once, or after some of it."""
    body: dict[str, object] = {"input": "ENDLESS", "response_format": FORMATS[number % 6]}
    if number % 5 == 1:
        body["stream_format"] = "sse"
    with server.asked(body, cut_at=10 if number % 4 == 3 else None) as line:
        if number % 3 == 0:  # as a killed client: the other end gets a reset
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        for _ in range(number % 4 % 3):
            assert line.recv(4096), "the answer ended by itself"


def test_f5_a_thousand_who_leave_leave_nothing_behind(loaded: Loaded) -> None:
    one = asking(6)
    with loaded.client() as client:
        expected = client.post(one.path, json={**one.body, "seed": 1}).content
    for number in range(40):
        leave(loaded, number)
    before = loaded.when_quiet()
    for number in range(N_LEAVING):
        leave(loaded, number)
        if number % 100 == 0:
            with loaded.client() as client:
                assert client.post(one.path, json={**one.body, "seed": 1}).content == expected
    check_base(loaded, before)


def test_f5_a_reader_who_is_slow_hears_all_of_it_and_holds_up_nobody(loaded: Loaded) -> None:
    text = " ".join(f"a{n} b{n}." for n in range(300))
    given = {"input": text, "response_format": "f32", "seed": 1}
    given |= {"options": {"frames_per_word": 50}}
    with loaded.client() as client:
        expected = client.post(SPEECH, json=given).content
    before, _ = loaded.when_quiet()
    with loaded.asked(given) as line, loaded.client() as client:
        answer = b""
        for number in range(60):  # others are served while this one takes 1 kB between them
            answer += line.recv(1024)
            one = asking(number)
            one.check(client.post(one.path, json=one.body))
        assert not quiet(client), "the model was not held: it has spoken all of it"
        assert holdings(loaded.pid).rss_bytes - before.rss_bytes < len(expected) / 2
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        while piece := line.recv(1 << 20):
            answer += piece
    head, _, chunks = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert joined(chunks) == expected


def joined(chunks: bytes) -> bytes:
    """The body that came in chunks, each after its size."""
    body, at = bytearray(), 0
    while True:
        end = chunks.index(b"\r\n", at)
        size = int(chunks[at:end], 16)
        if not size:
            return bytes(body)
        body += chunks[end + 2 : end + 2 + size]
        at = end + 2 + size + 2


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
    """A server of the real engines with the smallest checkpoints that load."""
    folder = tmp_path_factory.mktemp("tiny")
    models = [
        qwen3_tts.write(folder / "qwen", qwen3_tts.Tiny("custom_voice")),
        qwen3_tts.write(folder / "endless", qwen3_tts.Tiny("custom_voice", endless=True)),
        echo_tts.write(folder / "echo"),
    ]
    flags = [word for model in models for word in ("--model", str(model))]
    temporary = folder / "temporary"
    with (
        temporary_files_in(temporary),
        serving(folder / "home", *flags, "--max-models", "3") as told,
    ):
        yield Loaded(told, [told.key], temporary)


OPTIONS: dict[str, dict[str, object]] = {"qwen": {}, "echo": {"num_steps": 2}}


@pytest.mark.parametrize("model", OPTIONS)
def test_f5_clients_of_real_engines_leave_nothing_behind(model: str, tiny: Loaded) -> None:
    given: dict[str, object] = {"input": "Hello there.", "model": model, "seed": 1}
    given |= {"response_format": "f32", "options": OPTIONS[model]}
    with tiny.client() as client:
        streamed = client.post(SPEECH, json=given)
        assert streamed.status_code == 200, streamed.text
        whole = client.post(SPEECH, json={**given, "stream": False})
        np.testing.assert_allclose(floats(whole), floats(streamed), atol=1e-4)
    before = tiny.when_quiet()
    text = " ".join(f"This is the sentence number {n}." for n in range(100))
    for number in range(40):
        with tiny.asked({**given, "input": text}) as line:
            for _ in range(number % 3):
                assert line.recv(4096), "the answer ended by itself"
    with tiny.client() as client:
        assert client.post(SPEECH, json=given).content == streamed.content
    check_base(tiny, before)


def floats(answer: httpx.Response) -> FloatArray:
    return np.frombuffer(answer.content, "<f4")


def test_f1_a_model_that_never_ends_by_itself_is_stopped_and_says_so(tiny: Loaded) -> None:
    given = {"input": "Hello.", "model": "endless", "response_format": "wav", "stream": False}
    with tiny.client() as client:
        for _ in range(3):
            answer = client.post(SPEECH, json=given)
            assert (answer.status_code, answer.headers["x-finish"]) == (200, "length")
    tiny.when_quiet()
