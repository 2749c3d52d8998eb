"""From a name to the class that loads it; wishes that a model cannot heed are told."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from menura import model_choice, settings
from menura.engines.builtin.engine import BuiltinEngine
from menura.engines.contract import Engine, EngineClass, LoadArguments
from menura.errors import InvalidValueError, ModelNotFoundError, UnsupportedError
from tests.tone.engine import ToneEngine


def test_a_name_leads_to_its_class(tmp_path: Path) -> None:
    folder = ToneEngine.tiny(tmp_path)
    assert folder is not None
    engine_class, found = model_choice.found(folder)
    assert engine_class is cast("EngineClass", ToneEngine)
    assert found.folder == folder
    engine_class, found = model_choice.found("builtin")
    assert engine_class is cast("EngineClass", BuiltinEngine)
    assert found.folder is None


@pytest.mark.parametrize("name", ["", None, 3])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidValueError, match="must be a name or a folder"):
        model_choice.found(name)


def test_a_model_that_is_not_here_is_said() -> None:
    with pytest.raises(ModelNotFoundError):
        model_choice.found("nothing")


class Picky:
    """An engine that runs on the CPU in its own precision alone."""

    @classmethod
    def load(cls, folder: Path | None, arguments: LoadArguments) -> Engine:
        del folder
        for param in ("device", "precision"):
            if getattr(arguments, param) != "auto":
                raise UnsupportedError(f"no {param}", param=param)
        return cast("Engine", "loaded")


def loaded(
    sources: Mapping[str, str], device: str, precision: str = "auto"
) -> tuple[object, dict[str, str]]:
    chosen = replace(settings.Settings(), sources=sources)
    arguments = LoadArguments(device, precision)
    return model_choice.loaded(cast("EngineClass", Picky), None, arguments, chosen)


def test_what_the_settings_wish_is_left_out_and_told() -> None:
    sources = {"device": "environment", "precision": "settings.toml"}
    assert loaded(sources, device="cuda", precision="int8") == (
        "loaded", {"device": "no device", "precision": "no precision"},
    )  # fmt: skip


def test_what_was_asked_for_is_strict() -> None:
    with pytest.raises(UnsupportedError, match="no device"):
        loaded({"device": "flag"}, device="cuda")
