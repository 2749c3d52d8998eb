"""Where other people's packages are imported: heavy ones late and in few files, torch in fewest.

A cold `menura say` must begin to speak within a second, and `import menura` must cost nothing.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from tests.house.source import Import, Module, imports_of, modules, no_faults, within


@dataclass(frozen=True)
class Where:
    """The modules, with all below them, that may import a package; `but` takes some out."""

    inside: tuple[str, ...]
    but: tuple[str, ...] = ()

    def holds(self, module: str) -> bool:
        """Whether this module is one of them."""
        return within(module, self.inside) and not within(module, self.but)


_NO_MODEL = ("menura.engines.builtin", "menura.engines.contract", "menura.engines.registry")
_STORE = ("menura.models", "menura.store")
_WEB = ("menura.server",)
# The files of `menura.runtime` that are made of torch, each by its own name.
_OF_TORCH = ("menura.runtime.bfloat16_conv", "menura.runtime.checkpoint_tensors",
             "menura.runtime.kv_cache", "menura.runtime.onednn", "menura.runtime.quantize",
             "menura.runtime.sampling", "menura.runtime.tensor_names",
             "menura.runtime.torch_devices", "menura.runtime.torch_noise")  # fmt: skip
_SAFETENSORS = ("menura.runtime.checkpoint_tensors", "menura.engines.echo_tts.tiny",
                "menura.engines.qwen3_tts.tiny")  # fmt: skip

# At the top of a file.
AT_THE_TOP: Mapping[str, Where] = {
    "fastapi": Where(_WEB),
    "h11": Where(_WEB),
    "numpy": Where(("menura",)),
    "platformdirs": Where(("menura.settings",)),
    "prometheus_client": Where(_WEB),
    "pydantic": Where(_WEB),
    "python_multipart": Where(("menura.server.voices.form_parts",)),
    "rich": Where(("menura.cli",)),
    "safetensors": Where(_SAFETENSORS),
    "starlette": Where(_WEB),
    "torch": Where(("menura.nn", "menura.engines", *_OF_TORCH), but=_NO_MODEL),
    "typer": Where(("menura.cli",)),
    "uvicorn": Where(_WEB),
    "websockets": Where(_WEB),
    "wyoming": Where(_WEB),
}

# Inside the function of first use: what costs more than a cold start may take, and the extras.
AT_FIRST_USE: Mapping[str, Where] = {
    "av": Where(("menura.audio",)),
    "filelock": Where(("menura.voice_library.locking",)),
    "faster_whisper": Where(("menura.transcription",)),
    "hibari": Where(("menura.engines.builtin",)),
    "httpx": Where((*_STORE, "menura.cli")),
    "huggingface_hub": Where(_STORE),
    "menura": Where(("menura.cli",)),
    "modelscope": Where(_STORE),
    "resource": Where(("menura.engines.qwen3_tts.upstream_reader",)),  # there is none on Windows
    "rich": Where(("menura.cli",)),
    "sentencex": Where(("menura.text",)),
    "sounddevice": Where(("menura.cli",)),
    "soundfile": Where(("menura.audio",)),
    "soxr": Where(("menura.audio",)),
    "tokenizers": Where(("menura.text.byte_level_bpe",)),
    "torch": Where(("menura.runtime.devices",)),
}

# By a name that only a running program knows.
BY_NAME = ("menura", "menura.engines.registry")


def place_faults(module: Module) -> Iterator[str]:
    """What is wrong with where the module imports packages."""
    for found in imports_of(module):
        is_ours_or_pythons = found.package == "menura" or found.package in sys.stdlib_module_names
        if found.lazy or not is_ours_or_pythons:
            yield from _place_fault(module, found)


def _place_fault(module: Module, found: Import) -> Iterator[str]:
    table, name = (AT_FIRST_USE, "AT_FIRST_USE") if found.lazy else (AT_THE_TOP, "AT_THE_TOP")
    where = table.get(found.package)
    if where is None or not where.holds(module.name):
        other = "at the top of the file" if found.lazy else "inside the function of first use"
        yield (
            f"{module.at(found.line)} imports {found.package} in a place that is not listed: "
            f"import it {other}, take it from the module that has it, or, with a reason, list "
            f"this one in {name} in tests/house/test_import_places.py."
        )


def by_name_faults(module: Module) -> Iterator[str]:
    """Where a module imports by a computed name, which no check of directions can follow."""
    if module.name in BY_NAME:
        return
    for node in ast.walk(module.tree):
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        if name in ("import_module", "__import__"):
            yield f"{module.at(getattr(node, 'lineno', 0))} imports by name: use `import` instead."


def test_packages_are_imported_where_the_tables_say() -> None:
    no_faults(fault for module in modules() for fault in place_faults(module))


def test_only_the_package_and_the_registry_import_by_name() -> None:
    no_faults(fault for module in modules() for fault in by_name_faults(module))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("menura.api", "import torch"),
        ("menura.runtime.scheduler", "from torch import nn"),
        ("menura.engines.builtin.engine", "import torch.nn"),
        ("menura.engines.contract", "import torch"),
        ("menura.cli.doctor", "def f():\n    import torch"),
        ("menura.cli.main", "def f():\n    import numpy as np"),
        ("menura.audio.decode", "import av"),
        ("menura.text.plan", "def f():\n    import av"),
        ("menura.text.plan", "def f():\n    import json"),
        ("menura.api", "class C:\n    def f(self):\n        from menura import models"),
        ("menura.speech", "try:\n    import pandas\nexcept ImportError:\n    pandas = None"),
    ],
)
def test_a_package_in_the_wrong_place_is_found(name: str, text: str) -> None:
    assert len(list(place_faults(Module(name, text)))) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("menura.nn.norm", "import torch"),
        ("menura.engines.some_model.decoder", "from torch import nn"),
        ("menura.engines.contract", "if TYPE_CHECKING:\n    from torch import nn"),
        ("menura.audio.decode", "import io\nimport numpy\ndef f():\n    import av.filter"),
        ("menura.cli.say", "import typer\ndef f():\n    from menura import api"),
    ],
)
def test_a_package_in_its_place_is_left_alone(name: str, text: str) -> None:
    assert list(place_faults(Module(name, text))) == []


@pytest.mark.parametrize(
    "text", ["importlib.import_module('torch')", "__import__('torch')", "f = import_module"]
)
def test_an_import_by_name_is_found(text: str) -> None:
    assert len(list(by_name_faults(Module("menura.api", text)))) == 1
    assert list(by_name_faults(Module("menura", text))) == []
