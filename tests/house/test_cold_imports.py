"""What a fresh process imports: nothing heavy, never torch, and for `import menura` no numpy."""

import subprocess
import sys
from collections.abc import Collection

import pytest

from tests.house.source import ROOT

WEB = frozenset({
    "fastapi", "prometheus_client", "pydantic", "starlette", "uvicorn", "websockets", "wyoming",
})  # fmt: skip
HEAVY = WEB | {
    "av", "hibari", "httpx", "huggingface_hub", "onnxruntime", "sentencex", "sounddevice",
    "soundfile", "soxr", "torch",
}  # fmt: skip
_WITHOUT_TORCH = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, NoTorch())
"""


def imported_by(program: str, names: Collection[str]) -> set[str]:
    """Which of the packages a fresh interpreter has imported at the end of a program."""
    show = f"import sys; print(*sorted(sys.modules.keys() & {set(names)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{show}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module",
    [
        "menura", "menura.api", "menura.cli.main", "menura.cli.voice_list",
        "menura.engines.builtin.engine",
        "menura.engines.contract", "menura.runtime.scheduler", "menura.speech",
    ],
)  # fmt: skip
def test_importing_a_module_imports_nothing_heavy(module: str) -> None:
    assert imported_by(f"import {module}", HEAVY) == set()


def test_the_server_imports_no_model() -> None:
    models = {"torch", "hibari", "onnxruntime", "sentencex", "tokenizers", "safetensors"}
    assert imported_by("import menura.server.serving", models | {"fastapi"}) == {"fastapi"}


def test_import_menura_imports_no_numpy_and_no_other_module_of_ours() -> None:
    assert imported_by("import menura", {"numpy", "menura.errors", "menura.api"}) == set()


def test_the_api_imports_where_torch_is_not_installed() -> None:
    program = f"{_WITHOUT_TORCH}\nimport menura.api, menura.cli.main\nmenura.load"
    assert imported_by(program, {"torch", "menura.api"}) == {"menura.api"}


def test_an_import_is_seen() -> None:
    assert imported_by("import numpy", {"numpy", "torch"}) == {"numpy"}


def test_torch_cannot_be_imported_once_it_is_blocked() -> None:
    program = f"{_WITHOUT_TORCH}\ntry:\n    import torch\nexcept ModuleNotFoundError:\n    pass"
    assert imported_by(program, {"torch"}) == set()
