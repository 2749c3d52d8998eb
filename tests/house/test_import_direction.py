"""Who may import whom: values move down the layers, so a lower layer never knows a higher one."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.house.source import Module, imports_of, modules, no_faults, within

_DATA = ("menura.errors", "menura.languages", "menura.options", "menura.speech")
_CONTRACT = "menura.engines.contract"
_REGISTRY = "menura.engines.registry"
# Parts of the contract, which everybody else imports from there.
_SPEC = ("menura.engines.engine_spec", "menura.engines.reference_rules")
_ENGINES = (_CONTRACT, _REGISTRY)
_PARTS = ("menura.nn", "menura.audio", "menura.text")
_STORE = ("menura.catalogue", "menura.models", "menura.store")
_DOOR = ("menura.api", "menura.references", "menura.streams", "menura.takes", "menura.planning",
         "menura.saving", "menura.voices", "menura.projects", "menura.model_loop", "menura.errands",
         "menura.utterances", "menura.calls", "menura.worded_calls", "menura.desk",
         "menura.model_choice", "menura.voice_files", "menura.voice_library",
         "menura.transcription")  # fmt: skip

# What the terminal and the server work with.
_FACE = (*_DATA, "menura.settings", "menura.audio", "menura.text", *_ENGINES, "menura.catalogue",
         "menura.models", "menura.api", "menura.streams", "menura.planning", "menura.saving",
         "menura.voices", "menura.voice_files", "menura.voice_library", "menura.transcription",
         "menura.projects")  # fmt: skip


@dataclass(frozen=True)
class Layer:
    """Modules, and what they may import of Menura beside their own package."""

    modules: tuple[str, ...]
    may_import: tuple[str, ...]


# The first row that holds a module decides. Names stand for everything below them too.
LAYERS = (
    Layer(("menura.errors", "menura.languages"), ()),
    Layer(("menura.options",), ("menura.errors",)),
    Layer(
        ("menura.speech", "menura.settings"),
        ("menura.errors", "menura.languages", "menura.options"),
    ),
    Layer(_SPEC, ("menura.errors", "menura.options", *_SPEC)),
    Layer((_CONTRACT,), (*_DATA, *_SPEC)),
    Layer((_REGISTRY,), ("menura.errors", _CONTRACT)),
    Layer(_PARTS, ("menura.errors",)),
    Layer(("menura.runtime",), (*_DATA, "menura.settings", "menura.nn", _CONTRACT)),
    Layer(("menura.engines",), (*_DATA, *_PARTS, "menura.runtime", _CONTRACT)),
    Layer(_STORE, (*_DATA, "menura.settings", "menura.runtime", *_ENGINES, *_STORE)),
    Layer(
        _DOOR,
        (*_DATA, *_PARTS, "menura.settings", "menura.runtime", *_ENGINES, *_STORE, *_DOOR),
    ),
    Layer(
        ("menura.server",),
        (
            *_FACE,
            "menura.runtime.devices",
            "menura.runtime.whole_file",
            "menura.desk",
            "menura.errands",
        ),
    ),
    Layer(
        ("menura.cli",),
        (*_FACE, "menura.runtime.devices", "menura.runtime.native.build", "menura.server"),
    ),
    Layer(("menura.__main__",), ("menura.cli",)),
)  # fmt: skip
_EVERYBODY = "menura.__version__"


def _own_package(module: str) -> str:
    """The package whose modules may import each other: an engine's folder, or `menura.audio`."""
    depth = 3 if within(module, ["menura.engines"]) else 2
    return ".".join(module.split(".")[:depth])


def direction_faults(module: Module) -> Iterator[str]:
    """What is wrong with the module's imports of Menura."""
    layer = next((row for row in LAYERS if within(module.name, row.modules)), None)
    if layer is None:
        yield (
            f"{module.path} stands in no layer: add {module.name} to LAYERS in "
            "tests/house/test_import_direction.py, with what it may import."
        )
        return
    allowed = (*layer.may_import, _own_package(module.name), _EVERYBODY)
    for found in imports_of(module):
        if found.package == "menura" and found.name != "menura" and not within(found.name, allowed):
            yield (
                f"{module.at(found.line)} imports {found.name}, which {module.name} may not: it "
                f"may import {', '.join(layer.may_import) or 'nothing'}. Pass the value in, or "
                "move the code to the layer that knows both."
            )


def test_every_module_imports_only_lower_layers() -> None:
    # The package itself names its public parts for later; empty packages import nothing.
    inner = [module for module in modules() if module.name != "menura" and module.text]
    no_faults(fault for module in inner for fault in direction_faults(module))


def test_import_menura_imports_nothing_of_its_own() -> None:
    [package] = [module for module in modules() if module.name == "menura"]
    no_faults(
        f"{package.at(found.line)} imports {found.name}: name it in _HOME instead, so that "
        "`import menura` stays free."
        for found in imports_of(package)
        if found.package == "menura"
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("menura.errors", "import menura.options"),
        ("menura.speech", "from menura import settings"),
        ("menura.text.plan", "from menura.audio.decode import decode"),
        ("menura.audio.pcm", "def f():\n    from menura.runtime import worker"),
        ("menura.nn.norm", "import menura\nmenura.load()"),
        ("menura.nn.norm", "import menura as m\nm.load()"),
        ("menura.nn.norm", "from menura import *"),
        ("menura.runtime.scheduler", "from menura.engines.builtin import engine"),
        ("menura.engines.builtin.engine", "from menura.engines.other.config import N"),
        ("menura.engines.builtin.engine", "import menura.api"),
        ("menura.models", "from menura.engines.builtin.config import spec"),
        ("menura.api", "from menura.cli.main import main"),
        ("menura.cli.say", "from menura.runtime.scheduler import run"),
        ("menura.server.app", "from menura.cli.main import main"),
        ("menura.speech", "if not TYPE_CHECKING:\n    import menura.api"),
        ("menura.newcomer", ""),
    ],
)
def test_a_wrong_direction_is_found(name: str, text: str) -> None:
    assert len(list(direction_faults(Module(name, text)))) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "menura.text.plan",
            "from menura.text import scripts\nfrom menura.errors import MenuraError",
        ),
        ("menura.speech", "if TYPE_CHECKING:\n    from menura.engines.contract import EngineSpec"),
        ("menura.engines.builtin.engine", "from menura.engines.builtin import config"),
        ("menura.audio.tags", "from menura import __version__"),
        ("menura.store.hub", "import menura\nprint(menura.__version__)"),
        ("menura.api", "from menura.engines import registry\nimport numpy"),
    ],
)
def test_a_right_direction_is_left_alone(name: str, text: str) -> None:
    assert list(direction_faults(Module(name, text))) == []
