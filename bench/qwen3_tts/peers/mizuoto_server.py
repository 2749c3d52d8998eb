"""Mizuoto (GPL-3.0) as a program of its own, reached by the HTTP interface that its server states.

Nothing of it is imported or read. Its server runs in a session of its own, so that its CPU seconds
are those of all processes of that session (read from /proc, so on Linux only).
"""

import http.client
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.qwen3_tts.stopwatch import SEED, TEXT

ENGINE = "qwen3tts"
MODEL = "bench"
_READ_BYTES = 1920 * 2  # one frame of 16-bit samples
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
_WAIT_S = 600
_OWN_SPEECH = "/api/v1/tts/speak?stream=true&stream_format=pcm"


class MizuotoServer:
    """Its server on this machine, with one model imported, which runs in bfloat16."""

    def __init__(self, program: Path, folder: Path, checkpoint: Path) -> None:
        settings = {
            "MIZUOTO_DATA_DIR": str(folder / "data"),
            "MIZUOTO_COMPUTE__CPU_THREADS": "off",  # OMP_NUM_THREADS says how many
            "MIZUOTO_COMPUTE__DEFAULT_DEVICE": "cpu",
            "MIZUOTO_COMPUTE__UNLOAD_AFTER_MINUTES": "600",
            "MIZUOTO_TTS__AUTO_TRANSCRIBE": "false",
        }
        environment = os.environ | settings
        copied = linked(checkpoint, folder / "model")
        importing = [str(program), "model", "import", str(copied), "--move", "--name", MODEL]
        subprocess.run(importing, env=environment, stdout=subprocess.DEVNULL, check=True)
        self._port = 0
        self._process = subprocess.Popen(
            [str(program), "webui", "--no-open", "--port", "0"],
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def __enter__(self) -> "MizuotoServer":
        return self

    def __exit__(self, *raised: object) -> None:
        """End the server and wait for it, so that its peak memory counts as its parent's."""
        self._process.terminate()
        self._process.communicate(timeout=60)

    def wait(self) -> None:
        """Wait until it answers, and have it compute in bfloat16."""
        self._port = self._ready_port()
        self._send("PATCH", f"/api/v1/engines/{ENGINE}", {"dtype": "bf16"}).read()

    def speech(self, clip: Path, limit: int) -> Iterator[bytes]:
        """The audio of the bench's request as it is made: 16-bit samples of 24 kHz."""
        wanted = {
            "model": f"{ENGINE}/{MODEL}",
            "text": TEXT,
            "language": "en",
            "voice_spec": {"references": [{"path": str(clip)}]},
            "params": {"seed": SEED, "max_new_tokens": limit},
            "output": {"normalize": "none"},
        }
        answer = self._send("POST", _OWN_SPEECH, wanted)
        while piece := answer.read(_READ_BYTES):
            yield piece

    def cpu_s(self) -> float:
        """CPU seconds of the server and of all processes that it started."""
        return sum(_ticks(entry, self._process.pid) for entry in _processes()) / _TICKS_A_SECOND

    def _ready_port(self) -> int:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if found := re.search(r"SERVER_READY url=http://[^:]+:(\d+)", line):
                return int(found[1])
        raise SystemExit(f"the server ended with {self._process.wait()}")

    def _send(self, method: str, path: str, body: Mapping[str, object]) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_WAIT_S)
        connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status >= 400:
            raise SystemExit(f"{path} answered {answer.status}: {answer.read()[:800]!r}")
        return answer


def linked(folder: Path, to: Path) -> Path:
    """A copy of the folder that shares the files' bytes where the disk allows it."""

    def link(source: str, target: str) -> None:
        try:
            os.link(source, target)
        except OSError:
            shutil.copy2(source, target)

    shutil.copytree(folder, to, copy_function=link)
    return to


def _processes() -> Iterator[list[str]]:
    """The fields of /proc/PID/stat behind the name, for every process that still runs."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            yield path.read_text().rpartition(") ")[2].split()
        except OSError:  # it has just ended
            continue


def _ticks(stat: list[str], session: int) -> int:
    """User and system time of a process of the session, its ended children's included."""
    return sum(int(field) for field in stat[11:15]) if int(stat[3]) == session else 0
