"""What a server of two models knows, without a process: real names and facts, and a pool of words.

`tone` is the default model; `choir` is the same engine under another name.
"""

from pathlib import Path
from typing import TYPE_CHECKING, cast

from menura.errors import ModelFilesError
from menura.server.model_facts import ModelFacts, facts_of
from menura.server.names import Names
from menura.server.routes import ServerParts
from menura.server.server_settings import ServerSettings
from tests.tone.engine import ToneEngine

if TYPE_CHECKING:
    from menura.server.keys import KeyStore
    from menura.server.metrics import Metrics
    from menura.server.model_pool import ModelPool


class DescribingPool:
    """A pool that can only describe; `broken` are models whose files cannot be read."""

    def __init__(self) -> None:
        self.broken: set[str] = set()

    async def describe(self, model: str) -> ModelFacts:
        if model in self.broken:
            raise ModelFilesError(f"/somewhere/{model} is damaged.")
        return facts_of(ToneEngine().spec)


def parts_at(folder: Path, **settings: object) -> ServerParts:
    """The parts that the handlers of speech and of lists use."""
    models = [folder / "tone", folder / "choir"]
    for model in models:
        model.mkdir(parents=True)
        (model / "tone.json").write_text("{}")
    names = Names.at_start([str(model) for model in models], {}, str(models[0]))
    return ServerParts(
        pool=cast("ModelPool", DescribingPool()),
        names=names,
        keys=cast("KeyStore", None),  # never asked for here
        limits=ServerSettings.parse(settings),
        metrics=cast("Metrics", None),
    )
