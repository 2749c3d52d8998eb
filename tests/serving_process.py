"""A real `menura serve` for tests: a process with the tone engine, on a free port."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

import menura

_ROOT = Path(menura.__file__).parents[1]
_LIMIT_S = 60  # of what should take one or two


# A process that a shell started in the background inherits that Ctrl-C is ignored.
_MAIN = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from menura.__main__ import main; sys.exit(main())"
)


@dataclass(frozen=True)
class Told:
    """A running server: its process, what it said when it was ready, and where its log goes."""

    process: "subprocess.Popen[str]"
    facts: Mapping[str, object]
    log: Path

    @property
    def address(self) -> str:
        return str(self.facts["address"])

    @property
    def key(self) -> str:
        """The key that this start made."""
        assert isinstance(self.facts["new_key"], str)
        return self.facts["new_key"]

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx.Client(base_url=self.address, headers=headers, timeout=_LIMIT_S)

    def ended(self) -> int:
        """The exit code, once it has ended by itself."""
        return self.process.wait(timeout=_LIMIT_S)


def environment(home: Path) -> dict[str, str]:
    """The variables of a process that finds Menura and the tone engine."""
    path = os.pathsep.join([str(_ROOT), str(_ROOT / "tests" / "tone")])
    own = {"MENURA_HOME": str(home), "HF_HUB_CACHE": str(hub(home))}
    return {**os.environ, "PYTHONPATH": path, **own}


def hub(home: Path) -> Path:
    """The models' cache that goes with a home."""
    return home.with_name("hub")


def tone_model(folder: Path) -> Path:
    """A folder that the tone engine loads."""
    folder.mkdir(parents=True)
    (folder / "tone.json").write_text("{}")
    return folder


@contextmanager
def serving(home: Path, *arguments: str | Path) -> Iterator[Told]:
    """`menura serve` with these arguments, killed at the end if it still runs."""
    log = home.with_name(f"{home.name}.log")
    command = [sys.executable, "-c", _MAIN, "serve", "--port", "0", "--json", *arguments]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment(home)
        ) as process,
    ):
        try:
            assert process.stdout is not None
            told = ""
            for line in process.stdout:
                told += line
                if line == "}\n":
                    break
            assert told, log.read_text()
            yield Told(process, json.loads(told), log)
        finally:
            process.kill()
