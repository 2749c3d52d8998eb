import base64
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest

from menura import settings
from menura.cli.remote_stream import RemoteStream
from menura.cli.say import SayFlags
from menura.cli.through_server import body_of, is_switched_on, name_there, opened
from menura.errors import MenuraError, NumericsError, SettingsError, UnsupportedError
from menura.server.state_file import ServerState, Unusable, published, speech_settings
from menura.speech import FinishReason, SegmentReport, SpeechRequest
from tests.kept_voices import kept

REQUEST = SpeechRequest("Hello there.", voice="Heart", seed=7, options={"top_k": "5"})
SAMPLES = np.array([0.0, 0.25, -1.0], np.float32)
SEGMENT = {
    "text": "Hello there.", "start": 0, "end": 12, "sample_start": 0, "sample_end": 3, "seed": 7,
    "finish": "stop", "reason": "", "trimmed_s": 0.5,
}  # fmt: skip
BEGUN: Mapping[str, object] = {
    "type": "menura.begun",
    "applied": {"voice": "heart", "model": "builtin"},
    "sample_rate_hz": 24_000,
}
DELTA = {
    "type": "speech.audio.delta",
    "audio": base64.b64encode(SAMPLES.astype("<f4").tobytes()).decode(),
}
DONE = {
    "type": "speech.audio.done",
    "usage": {},
    "menura": {"finish": "stop", "applied": {"voice": "heart", "seed": 7}, "segments": [SEGMENT]},
}


class Server(HTTPServer):
    """Answers every request with the same status and content, and keeps what it was asked."""

    status = 200
    content = b""
    asked: Mapping[str, object]
    key: str | None = None

    def tell(self, *events: Mapping[str, object]) -> None:
        self.content = b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events)

    def refuse(self, status: int, code: str, param: str | None = None) -> None:
        error = {"message": "no.", "type": "x", "param": param, "code": code}
        self.status, self.content = status, json.dumps({"error": error}).encode()


class Answering(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.key = self.headers["authorization"]
        self.server.asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that the state file names."""
    monkeypatch.setenv("MENURA_SERVER", "on")
    with Server(("127.0.0.1", 0), Answering) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        with published(state(f"http://127.0.0.1:{found.server_address[1]}")):
            yield found
        found.shutdown()
        thread.join()


def state(address: str = "http://127.0.0.1:9") -> ServerState:
    return ServerState(address, "menura_k", {}, speech_settings(settings.load()), 100)


def remote(request: SpeechRequest = REQUEST, flags: SayFlags | None = None) -> RemoteStream:
    found = opened(flags or SayFlags(), request)
    assert not isinstance(found, Unusable), found.reason
    return found[0]


def reason(request: SpeechRequest = REQUEST, flags: SayFlags | None = None) -> str:
    found = opened(flags or SayFlags(), request)
    assert isinstance(found, Unusable)
    return found.reason


def test_a_speech_comes_with_its_reports(server: Server) -> None:
    server.tell(BEGUN, DELTA, DELTA, DONE)
    with remote() as stream:
        assert stream.applied == {"voice": "heart", "model": "builtin"}
        assert (stream.sample_rate_hz, stream.finish, stream.done) == (24_000, "cancelled", 0.0)
        chunks = list(stream.moves())
    np.testing.assert_array_equal(np.concatenate([c.samples for c in chunks]), [*SAMPLES] * 2)
    assert stream.applied == {"voice": "heart", "seed": 7}
    assert stream.segments == (
        SegmentReport("Hello there.", 0, 12, 0, 3, 7, FinishReason.STOP, "", 0.5),
    )
    assert (stream.finish, stream.done) == (FinishReason.STOP, 1.0)


def test_the_request_says_all_that_was_asked_for(server: Server) -> None:
    server.tell(BEGUN, DONE)
    remote().moves()
    assert server.key == "Bearer menura_k"
    assert server.asked == {
        "model": "builtin",
        "input": "Hello there.",
        "voice": "Heart",
        "seed": 7,
        "speed": 1.0,
        "split": True,
        "strict": True,
        "options": {"top_k": "5"},
        "response_format": "f32",
        "stream_format": "sse",
    }
    full = SpeechRequest("x", None, "english", "softly", None, 2.0, False, False)
    assert body_of("m", full).items() >= {
        "language": "english", "instructions": "softly", "speed": 2.0, "split": False,
        "strict": False,
    }.items()  # fmt: skip


@pytest.mark.parametrize("events", [[BEGUN, DELTA], [BEGUN], [BEGUN, DELTA, {"type": "other"}]])
def test_a_speech_without_an_end_is_an_error(
    events: list[Mapping[str, object]], server: Server
) -> None:
    server.tell(*events)
    with remote() as stream, pytest.raises(MenuraError, match="broke off in the middle"):
        list(stream.moves())


def test_a_failure_on_the_way_has_the_class_of_its_code(server: Server) -> None:
    error = {"message": "it is NaN.", "type": "server_error", "param": None, "code": "numerics"}
    server.tell(BEGUN, DELTA, {"type": "error", "error": error})
    with remote() as stream, pytest.raises(NumericsError, match=r"^it is NaN\.$"):
        list(stream.moves())


def test_an_answer_that_is_no_speech_is_an_error(server: Server) -> None:
    server.tell({"type": "hello"})
    with pytest.raises(MenuraError, match="something else than speech"):
        remote()


def test_a_wrong_request_is_an_error_in_our_words(server: Server) -> None:
    server.refuse(400, "unsupported", "instructions")
    with pytest.raises(UnsupportedError) as caught:
        remote()
    assert (caught.value.message, caught.value.param) == ("no.", "instruct")


@pytest.mark.parametrize(
    ("status", "code", "param"),
    [
        (400, "invalid_value", "voice"),
        (400, "something_new", None),
        (401, "invalid_api_key", None),
        (404, "model_not_found", "model"),
        (429, "busy", None),
        (500, "failure", None),
        (503, "draining", None),
    ],
)
def test_what_only_the_server_refuses_is_spoken_here(
    status: int, code: str, param: str | None, server: Server
) -> None:
    server.refuse(status, code, param)
    assert reason() == f"the server answered {status}: no."


def test_an_answer_that_nobody_understands_is_spoken_here(server: Server) -> None:
    server.status, server.content = 502, b"<html>"
    assert reason() == "the server answered 502: the server gave no reason."


def test_another_voice_than_the_one_asked_for_is_not_taken(server: Server) -> None:
    server.tell(BEGUN, DONE)
    told = reason(replace(REQUEST, voice="alloy"))
    assert told == "the server means 'heart' by the voice 'alloy'"


def test_a_server_that_does_not_answer_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENURA_SERVER", "on")
    with published(state()):
        assert reason().startswith("the server at http://127.0.0.1:9 cannot be asked")


@pytest.mark.parametrize(
    ("flags", "request_", "words"),
    [
        (SayFlags(ref=Path("a.wav")), REQUEST, "a recording"),
        (SayFlags(), replace(REQUEST, voice=""), "no voice at all"),
        (SayFlags(), replace(REQUEST, text="x" * 101), "takes 100 characters"),
        (SayFlags(model="nowhere"), REQUEST, "does not serve the model 'nowhere'"),
        (SayFlags(device="cuda"), REQUEST, "device='auto', and 'cuda' is asked for"),
        (SayFlags(precision="int8"), REQUEST, "precision='auto', and 'int8' is asked for"),
    ],
)
def test_what_the_server_cannot_take_over_never_reaches_it(
    flags: SayFlags, request_: SpeechRequest, words: str, server: Server
) -> None:
    assert words in reason(request_, flags)
    assert server.key is None


def test_switched_off_there_is_no_reason(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reason(flags=SayFlags(local=True)) == ""
    monkeypatch.setenv("MENURA_SERVER", "off")
    assert reason() == ""
    assert server.key is None


def test_without_a_server_there_is_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENURA_SERVER", "on")
    assert reason() == ""


@pytest.mark.parametrize(("word", "on"), [("", True), ("ON", True), ("off", False), ("0", False)])
def test_the_switch_is_a_word(word: str, on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENURA_SERVER", word)
    assert is_switched_on() is on


def test_another_word_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENURA_SERVER", "http://x")
    with pytest.raises(SettingsError, match="MENURA_SERVER='http://x' is not allowed"):
        is_switched_on()


def test_a_folder_has_the_name_that_the_server_gave_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tone").mkdir()
    (tmp_path / "tone" / "tone.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    given = {"other": "/other", "mine": str(tmp_path / "tone")}
    assert name_there("tone", given) == name_there(str(tmp_path / "tone"), given) == "mine"
    assert name_there("tone", {"tone": "/elsewhere/tone"}) is None


def test_a_name_of_the_catalogue_is_known_everywhere_unless_a_folder_took_it() -> None:
    assert name_there("builtin", {}) == "builtin"
    assert name_there("builtin", {"builtin": "/mine"}) is None
    assert name_there("tts-1", {}) is None


@pytest.mark.parametrize(
    ("asked", "told", "is_meant"),
    [
        ("lib:anna", {"voice": "Anna", "voice_id": "ID"}, True),
        ("anna", {"voice": "Anna", "voice_id": "ID"}, True),
        ("Anna", {"voice": "Anna", "voice_id": "voice_" + "0" * 32}, False),
        ("Anna", {"voice": "Anna"}, False),  # a file that the server was given at its start
        ("Ben", {"voice": "Ben", "voice_id": "ID"}, False),  # is not in the library here
        ("ben", {"voice": "Ben"}, True),
    ],
)
def test_the_server_must_mean_the_same_voice(
    server: Server, asked: str, told: dict[str, str], is_meant: bool
) -> None:
    voice = kept("Anna")
    applied = {name: word.replace("ID", voice.id) for name, word in told.items()}
    server.tell({**BEGUN, "applied": applied}, DONE)
    found = opened(SayFlags(), replace(REQUEST, voice=asked))
    assert isinstance(found, Unusable) is not is_meant
