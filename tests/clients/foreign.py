"""Other people's programs, each in an environment of its own that `make clients` builds."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.house.source import ROOT
from tests.serving_process import Told

# Where `make clients` puts the environments; tests may be pointed at others.
FOLDER = Path(os.environ.get("CLIENTS_FOLDER", ROOT / ".venv-clients"))
_LIMIT_S = 240  # of what takes some ten: importing a framework is most of it


def program(environment: str, name: str) -> Path:
    """A program of an environment."""
    path = FOLDER / environment / "bin" / name
    assert path.is_file(), f"{path} is missing: make clients builds the environments."
    return path


def ask(environment: str, server: Told, asks: Sequence[Mapping[str, object]]) -> list[Any]:
    """What the framework's side (`ENVIRONMENT_side.py`) made of each of these.

    It gets the server as OpenAI's clients do, in the environment's variables.
    """
    side = Path(__file__).with_name(f"{environment}_side.py")
    variables = {"OPENAI_BASE_URL": f"{server.address}/v1", "OPENAI_API_KEY": server.key}
    done = subprocess.run(
        [program(environment, "python"), side],
        input=json.dumps(asks),
        capture_output=True,
        text=True,
        check=False,
        timeout=_LIMIT_S,
        env=os.environ | variables,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    answers: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return answers
