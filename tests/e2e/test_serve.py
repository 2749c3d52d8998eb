"""`menura serve` as a process: its start and end, its key, its state file, and `say` through it."""

import json
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import perf_counter

import httpx
import numpy as np
import pytest
import soundfile
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from menura.cli import speaking, through_server
from menura.cli.remote_stream import RemoteStream
from menura.cli.say import SayFlags
from menura.server import state_file
from menura.server.border.keys import KeyStore
from menura.server.state_file import ServerState, Unusable
from menura.speech import SpeechRequest
from tests.command_line import Ran, run
from tests.serving_process import Told, environment, hub, serving, tone_model
from tests.tone.engine import FRAME, RATE_HZ

TEXT = "one two three. four five six."
LONG = " ".join(f"This is the sentence number {n}." for n in range(60))
SPEECH = "/v1/audio/speech"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served") / "home"


@pytest.fixture(scope="module")
def running(home: Path) -> Iterator[Told]:
    """One server for the tests that only speak through it."""
    began = perf_counter()
    with serving(home, "--model", tone_model(home.parent / "tone")) as told:
        print(f"ready after {perf_counter() - began:.2f} s")  # noqa: T201 - shown with -rP
        yield told
        told.process.terminate()
        assert told.ended() == 0


@pytest.fixture
def model(running: Told, home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The model's folder as a user of the running server names it; `say` may use the server."""
    monkeypatch.setenv("MENURA_HOME", str(home))
    monkeypatch.setenv("MENURA_SERVER", "on")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(hub(home)))
    return str(home.parent / "tone")


def facts(ran: Ran) -> dict[str, object]:
    """The answer without what differs between two runs."""
    kept = set(ran.answer) - {"timings", "spoken_by"}
    return {name: ran.answer[name] for name in kept}


SAME: dict[str, list[str]] = {
    "a seed": [TEXT, "--seed", "7"],
    "a voice": [TEXT, "--seed", "7", "-v", "HIGH"],
    "a language": [TEXT, "--seed", "7", "-l", "zh"],
    "an option": [TEXT, "--seed", "7", "-p", "frames_per_word=3", "-p", "colour=square"],
    "faster": [TEXT, "--seed", "7", "--speed", "1.5"],
    "slower": [TEXT, "--seed", "7", "--speed", "0.5"],
    "segments": [LONG, "--seed", "7"],
    "not split": [TEXT, "--seed", "7", "--no-split"],
    "left out": [TEXT, "--seed", "7", "--lenient", "--instruct", "softly", "-l", "french"],
    "removed characters": ["one\x07 two\u202e\u00a0three", "--seed", "7"],
    "a limit": ["one LIMIT two", "--seed", "7"],
    "again": ["one UNLUCKY", "--seed", "7", "-p", "retries=3"],
}


@pytest.mark.parametrize("arguments", SAME.values(), ids=SAME)
def test_the_server_speaks_as_this_process_does(arguments: list[str], model: str) -> None:
    there = run("say", "-m", model, *arguments, "-o", "there.wav", "--json")
    local = run("say", "-m", model, *arguments, "-o", "local.wav", "--json", "--local")
    assert "server_not_used" not in there.answer
    assert str(there.answer["spoken_by"]).startswith("the server at http://127.0.0.1:")
    assert local.answer["spoken_by"] == "this process"
    assert facts(there) | {"path": ""} == facts(local) | {"path": ""}
    assert sorted(there.stderr.splitlines()) == sorted(local.stderr.splitlines())
    assert Path("there.wav").read_bytes() == Path("local.wav").read_bytes()


def test_a_servers_time_counts_from_the_question(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    ask = through_server.opened

    def ask_for_long(
        flags: SayFlags, request: SpeechRequest
    ) -> tuple[RemoteStream, str] | Unusable:
        clock[0] += 5
        return ask(flags, request)

    monkeypatch.setattr(speaking, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(through_server, "opened", ask_for_long)
    ran = run("say", "-m", model, TEXT, "-o", "told.wav", "--json")
    assert str(ran.answer["spoken_by"]).startswith("the server at ")
    seconds = ran.answer["seconds"]
    assert isinstance(seconds, float)
    assert ran.answer["timings"] == {
        "load_s": 0.0, "first_audio_s": 5.0, "total_s": 5.0, "rtf": round(5 / seconds, 4),
    }  # fmt: skip


@pytest.mark.parametrize("flags", [["--stream"], ["--format", "pcm"]])
def test_a_pipe_gets_the_same_bytes(flags: list[str], model: str) -> None:
    asked = ("say", "-m", model, TEXT, "--seed", "1", "-o", "-", "-q", *flags)
    assert run(*asked).stdout == run(*asked, "--local").stdout


WRONG: dict[str, tuple[list[str], int]] = {
    "nothing to speak": (["..."], 6),
    "unknown option": ([TEXT, "-p", "loud=1"], 2),
    "bad option": ([TEXT, "-p", "loudness=7"], 2),
    "bad seed": ([TEXT, "--seed", "-1"], 2),
    "bad speed": ([TEXT, "--speed", "9"], 2),
    "unknown voice": ([TEXT, "-v", "loww"], 3),
    "a voice of OpenAI's": ([TEXT, "-v", "alloy"], 3),
    "no voice": ([TEXT, "-v", ""], 2),
    "unknown language": ([TEXT, "-l", "chinees"], 2),
    "not its language": ([TEXT, "-l", "french"], 4),
    "instructions": ([TEXT, "--instruct", "softly"], 4),
    "a failure at the start": (["FAIL"], 1),
    "a failure in the middle": (["one two three FAIL"], 1),
    "no numbers": (["one two three NAN"], 1),
    "silence": (["SILENT"], 1),
}


@pytest.mark.parametrize(("arguments", "code"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_has_the_same_exit_code(
    arguments: list[str], code: int, model: str, here: Path
) -> None:
    ran = run("say", "-m", model, *arguments, "-o", "a.wav", "--json")
    local = run("say", "-m", model, *arguments, "-o", "a.wav", "--json", "--local")
    assert (ran.code, local.code) == (code, code)
    assert list(ran.answer) == ["error"]
    assert list(here.iterdir()) == []


def not_used(ran: Ran) -> str:
    """Why this process spoke, as --json tells it."""
    assert (ran.code, ran.answer["spoken_by"]) == (0, "this process")
    return str(ran.answer["server_not_used"])


def test_a_recording_is_spoken_like_in_this_process(model: str) -> None:
    soundfile.write("me.wav", np.full(8_000, 0.25, np.float32), 8_000)
    ran = run("say", "-m", model, TEXT, "--ref", "me.wav", "--json")
    assert not_used(ran) == "a recording is spoken like only in this process"


def test_a_text_that_is_too_long_for_the_server_is_spoken_in_this_process(model: str) -> None:
    ran = run("say", "-m", model, "word " * 1_000, "--json")
    assert not_used(ran) == "the server takes 4,096 characters at a time"


def test_a_model_that_the_server_does_not_have_is_loaded_in_this_process(
    model: str, here: Path
) -> None:
    other = tone_model(here / "tone")
    ran = run("say", "-m", other, TEXT, "--json")
    assert not_used(ran) == f"the server does not serve the model {str(other)!r}"


def test_another_setting_is_heeded_in_this_process(model: str) -> None:
    ran = run("say", "-m", model, TEXT, "--json", "--threads", "3")
    assert not_used(ran) == "the server runs with threads=None, and 3 is asked for"


def test_switched_off_nothing_is_said_of_the_server(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for flags, word in (["--local"], "on"), ([], "off"):
        monkeypatch.setenv("MENURA_SERVER", word)
        answer = run("say", "-m", model, TEXT, "--json", *flags).answer
        assert answer["spoken_by"] == "this process"
        assert "server_not_used" not in answer


def test_the_reason_is_shown_under_debug_alone(model: str) -> None:
    asked = ("say", "-m", model, TEXT, "--threads", "3")
    assert "no server is used: the server runs with threads" in run(*asked, "--debug").stderr
    assert "server" not in run(*asked).stderr


def test_the_state_file_is_the_users_own(model: str, home: Path, running: Told) -> None:
    path = home / "state" / "server.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = state_file.find()
    assert isinstance(found, ServerState)
    assert (found.address, found.pid) == (running.address, running.process.pid)
    assert found.key not in running.log.read_text()


def test_a_file_that_others_can_read_is_not_used(model: str, home: Path) -> None:
    path = home / "state" / "server.json"
    path.chmod(0o644)
    try:
        ran = run("say", "-m", model, TEXT, "--json")
    finally:
        path.chmod(0o600)
    assert "can be read by others (mode 644, and 600 is needed)" in not_used(ran)


def test_the_log_holds_neither_text_nor_key(model: str, running: Told) -> None:
    run("say", "-m", model, "secretword")
    assert "/v1/audio/speech" in running.log.read_text()
    assert "secretword" not in running.log.read_text()
    assert running.key not in running.log.read_text()


def test_a_second_server_leaves_the_first_ones_file_alone(
    running: Told, home: Path, model: str
) -> None:
    with serving(home, "--model", model) as second:
        assert second.facts["new_key"] is None  # the first start made one
        assert second.address != running.address
        second.process.terminate()
        assert second.ended() == 0
    found = state_file.find()
    assert isinstance(found, ServerState)
    assert found.address == running.address


def test_a_port_in_use_is_told(running: Told) -> None:
    port = running.address.rpartition(":")[2]
    ran = run("serve", "--port", port)
    assert ran.code == 1
    assert ran.stderr.startswith(f"error: port {port} of 127.0.0.1 is in use: another program")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--host", "0.0.0.0", "--no-key"], "--no-auth-i-understand"),
        (["--wyoming", "0", "--wyoming-host", "0.0.0.0"], "--wyoming-open-i-understand"),
        (["--port", "70000"], "port=70000 (--port) is not allowed"),
        (["--host", "203.0.113.7"], "203.0.113.7 port 8000 cannot be listened on"),
        (["--voice", "me"], "each entry must be NAME=VALUE"),
        (["--cors", "*"], "must be an origin"),
    ],
)
def test_what_is_not_safe_or_not_possible_is_refused(flags: list[str], words: str) -> None:
    ran = run("serve", *flags)
    assert ran.code == 2
    assert words in ran.stderr


def test_a_model_that_is_not_here_is_told_at_the_start() -> None:
    ran = run("serve", "--port", "0", "-m", "qwen3-tts-0.6b-base", "--json")
    assert ran.code == 3
    assert "menura models pull qwen3-tts-0.6b-base" in ran.stderr


def test_the_key_is_told_once(tmp_path: Path) -> None:
    home = tmp_path / "own"
    with serving(home) as first, first.client() as client:
        assert first.key.startswith("menura_")
        assert client.get("/v1/models").status_code == 200
        assert httpx.get(f"{first.address}/v1/models").status_code == 401
        first.process.terminate()
        assert first.ended() == 0
    assert not (home / "state" / "server.json").exists()
    with serving(home) as second:
        assert second.facts["new_key"] is None
        headers = {"Authorization": f"Bearer {first.key}"}
        assert httpx.get(f"{second.address}/v1/models", headers=headers).status_code == 200


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_key_that_could_not_be_told_is_none(tmp_path: Path) -> None:
    home = tmp_path / "own"
    command = [sys.executable, "-m", "menura", "serve", "--port", "0"]
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, check=False, env=environment(home)
        )
    assert (ran.returncode, b"No space left" in ran.stderr) == (1, True)
    assert KeyStore(home / "config" / "keys.json").records() == ()
    assert list((home / "state").iterdir()) == []


def body(text: str) -> dict[str, object]:
    return {"input": text, "response_format": "pcm", "seed": 1}


def wait_for_the_end_of_admission(told: Told) -> None:
    """Return once the server has taken the signal."""
    for _ in range(10_000):
        if httpx.get(f"{told.address}/ready").status_code != 200:
            return
    pytest.fail("the server took no notice of the signal")


def test_a_signal_lets_a_stream_end_and_takes_no_more(tmp_path: Path) -> None:
    tone = tone_model(tmp_path / "tone")
    with serving(tmp_path / "own", "--model", tone) as told, told.client() as client:
        long = {**body(LONG), "options": {"frames_per_word": 20}}
        with client.stream("POST", SPEECH, json=long) as answer:
            pieces = answer.iter_raw()
            n_bytes = len(next(pieces))
            told.process.terminate()
            wait_for_the_end_of_admission(told)
            assert client.post(SPEECH, json=body(TEXT)).status_code == 503
            assert not (tmp_path / "own" / "state" / "server.json").exists()
            n_bytes += sum(map(len, pieces))
        assert n_bytes >= 60 * 6 * 20 * FRAME / RATE_HZ * 24_000 * 2
        assert told.ended() == 0


def test_what_does_not_end_in_time_is_cut(tmp_path: Path) -> None:
    tone = tone_model(tmp_path / "tone")
    with (
        serving(tmp_path / "own", "--model", tone, "--drain-s", "0.2") as told,
        told.client() as client,
        client.stream("POST", SPEECH, json=body("ENDLESS")) as answer,
    ):
        pieces = answer.iter_raw()
        next(pieces)
        told.process.terminate()
        with pytest.raises(httpx.RemoteProtocolError):
            list(pieces)
        assert told.ended() == 0


def test_what_does_not_end_in_time_is_told_so_where_it_can_be(tmp_path: Path) -> None:
    tone = tone_model(tmp_path / "tone")
    with serving(tmp_path / "own", "--model", tone, "--drain-s", "0.2") as told:
        address = told.address.replace("http", "ws") + "/v1/stream"
        key = {"Authorization": f"Bearer {told.key}"}
        with connect(address, additional_headers=key) as client:
            client.send('{"type": "start"}')
            client.send('{"type": "text", "text": "ENDLESS "}')
            while isinstance(message := client.recv(), str):
                pass
            told.process.terminate()
            with suppress(ConnectionClosed):
                while True:
                    message = client.recv()
            assert json.loads(message)["error"]["code"] == "overloaded"
            assert client.close_code == 1013
        assert told.ended() == 0
        assert "Traceback" not in told.log.read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_does_not_wait(number: signal.Signals, tmp_path: Path) -> None:
    tone = tone_model(tmp_path / "tone")
    with (
        serving(tmp_path / "own", "--model", tone, "--drain-s", "600") as told,
        told.client() as client,
        client.stream("POST", SPEECH, json=body("ENDLESS")) as answer,
    ):
        pieces = answer.iter_raw()  # kept: an iterator that is dropped closes the answer
        next(pieces)
        told.process.send_signal(signal.SIGTERM)
        wait_for_the_end_of_admission(told)
        told.process.send_signal(number)
        assert told.ended() == 128 + number


def test_a_file_that_outlived_its_server_is_known_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "own"
    with serving(home) as told:
        told.process.kill()
        told.process.wait()
    monkeypatch.setenv("MENURA_HOME", str(home))
    found = state_file.find()
    assert isinstance(found, Unusable)
    assert found.reason.endswith("server.json was left by a server that has ended")
    with serving(home):
        assert isinstance(state_file.find(), ServerState)


def test_a_bench_starts_its_own_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "own"
    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)
    tone = tone_model(tmp_path / "tone")
    asked = ("bench", "serve", "--start", "-m", tone, "--rate", "20", "--duration", "0.5")
    answer = run(*asked, "--format", "pcm", "--format", "mp3", "--json").answer
    runs = answer["runs"]
    assert isinstance(runs, list)
    [result] = runs
    assert result["requests"] == result["good"] > 0
    assert result["errors"] == {}
    assert result["throughput"] > 0
    assert 0 < result["first_audio_p50_s"] <= result["first_audio_p99_s"]
    assert list((home / "state").iterdir()) == []
