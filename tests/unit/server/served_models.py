"""What a server of two models knows, without a process: real names and facts, and a pool of words.

`tone` is the default model; `choir` is the same engine under another name.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

import numpy as np

from menura import voices
from menura.errors import ModelFilesError
from menura.server.models.model_facts import ModelFacts, facts_of
from menura.server.models.names import Names
from menura.server.routes import ServerParts
from menura.server.server_settings import ServerSettings
from menura.speech import Reference, Voice
from tests.tone.engine import ToneEngine

if TYPE_CHECKING:
    from menura.server.border.keys import KeyStore
    from menura.server.border.metrics import Metrics
    from menura.server.models.model_pool import ModelPool


class DescribingPool:
    """A pool that can only describe; `broken` are models whose files cannot be read."""

    def __init__(self) -> None:
        self.broken: set[str] = set()

    async def describe(self, model: str) -> ModelFacts:
        if model in self.broken:
            raise ModelFilesError(f"/somewhere/{model} is damaged.")
        return facts_of(ToneEngine().spec)


def parts_at(folder: Path, saved: Mapping[str, Path] = MappingProxyType({})) -> ServerParts:
    """The parts that the handlers of speech and of lists use; `saved` are voices' files."""
    models = [folder / "tone", folder / "choir"]
    for model in models:
        model.mkdir(parents=True)
        (model / "tone.json").write_text("{}")
    names = Names.at_start([str(model) for model in models], saved, str(models[0]))
    return ServerParts(
        pool=cast("ModelPool", DescribingPool()),
        names=names,
        keys=cast("KeyStore", None),  # never asked for here
        limits=ServerSettings(),
        metrics=cast("Metrics", None),
    )


def saved_voice(folder: Path) -> Path:
    """The file of a voice that the tone engine made of a clip."""
    clip = Reference(np.full(800, 0.25, np.float32), 8_000)
    voice = Voice("me", ToneEngine().encode_voice(clip, "auto"))
    voices.save(voice, folder / "me.safetensors")
    return folder / "me.safetensors"
