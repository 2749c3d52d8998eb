import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

import pytest

from menura.cli.load_run import Answer, Arrival, Call, Place, calls, run

CALL = Call(0.0, "Hello.", "pcm")
SECOND = b"\x00" * 48_000  # of pcm


def planned(rate: float, seed: int = 1, duration_s: float = 100) -> list[Call]:
    return list(calls(rate, duration_s, ["a", "b"], ["mp3", "pcm"], seed))


def test_calls_come_at_random_moments_at_the_asked_rate() -> None:
    found = planned(5)
    moments = [call.at_s for call in found]
    assert moments == sorted(moments)
    assert moments[0] > 0
    assert moments[-1] < 100
    assert 430 < len(found) < 570  # three standard deviations of a Poisson count of 500
    gaps = [after - before for before, after in pairwise(moments)]
    mean = sum(gaps) / len(gaps)
    spread = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert 0.8 < spread / mean < 1.2  # as of an exponential; 0 for a clock
    assert {call.text for call in found} == {"a", "b"}
    assert {call.audio_format for call in found} == {"mp3", "pcm"}


def test_a_seed_gives_the_same_calls_and_another_rate_gives_others() -> None:
    assert planned(5) == planned(5)
    assert planned(5) != planned(5, seed=2)
    assert planned(5)[0].at_s != planned(10)[0].at_s / 2


def answer(*arrivals: tuple[float, int], audio_s: float = 4.0) -> Answer:
    found = Answer(CALL, 200, audio_s=audio_s)
    found.arrivals = [Arrival(at_s, n_bytes) for at_s, n_bytes in arrivals]
    found.content = bytearray(found.arrivals[-1].n_bytes)
    return found


@pytest.mark.parametrize(
    ("found", "is_dry"),
    [
        (answer((0.5, 100)), False),
        (answer((0.5, 25), (1.4, 50), (2.4, 75), (3.4, 100)), False),
        (answer((0.5, 25), (1.6, 50), (2.4, 75), (3.4, 100)), True),
        (answer((0.5, 25), (1.4, 50), (2.4, 75), (3.6, 100)), True),
        (answer((0.5, 75), (3.4, 100)), False),
        (answer((9.0, 50), (10.0, 100)), False),
    ],
)
def test_an_answer_is_dry_where_playback_would_wait(found: Answer, is_dry: bool) -> None:
    assert found.is_dry is is_dry


class Answering(BaseHTTPRequestHandler):
    """Answers by the text that it is asked to speak."""

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["content-length"]))
        if b"busy" in text:
            self._answer(429, b'{"error": {"code": "busy"}}')
        elif b"odd" in text:
            self._answer(502, b"<html>")
        elif b"cut" in text:
            self._answer(200, SECOND, more=1)
        elif b"noise" in text:
            self._answer(200, b"no audio at all")
        else:
            self._answer(200, SECOND * 2)

    def _answer(self, status: int, content: bytes, more: int = 0) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(content) + more))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Place(f"http://127.0.0.1:{server.server_address[1]}", "menura_k", None, None, 30)
        server.shutdown()
        thread.join()


def test_answers_come_in_the_order_of_their_calls(place: Place) -> None:
    texts = ["good", "busy", "odd", "cut", "good"]
    answers = run(place, [Call(0.0, text, "pcm") for text in texts])
    assert [found.status for found in answers] == [200, 429, 502, 200, 200]
    assert [found.reason for found in answers] == [
        "", "busy", "no OpenAI error", "RemoteProtocolError", "",
    ]  # fmt: skip
    assert [found.is_good for found in answers] == [True, False, False, False, True]
    assert answers[0].audio_s == 2.0
    assert 0 < answers[0].first_audio_s <= answers[0].ended_s


def test_bytes_that_are_no_audio_are_no_good_answer(place: Place) -> None:
    [found] = run(place, [Call(0.0, "noise", "mp3")])
    assert (found.status, found.is_good, found.reason) == (200, False, "unreadable_audio")


def test_a_server_that_is_not_there_is_no_answer(place: Place) -> None:
    nowhere = Place("http://127.0.0.1:9", None, None, None, 30)
    [found] = run(nowhere, [CALL])
    assert (found.status, found.reason, found.is_good) == (0, "ConnectError", False)
