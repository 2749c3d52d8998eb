"""What there is of every model: what the catalogue knows, what is on the disk, what is in memory.

The disk is looked at again after a few seconds, and after each job of the store.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from menura import models
from menura.catalogue import PRESETS, KnownModel, known_models
from menura.errors import MenuraError, ModelNotFoundError
from menura.models import InstalledModel
from menura.server.models.clock import Clock, LoopClock
from menura.server.models.model_facts import ModelFacts
from menura.server.models.model_pool import LoadedModel, ModelPool
from menura.server.models.names import Names
from menura.server.store.jobs import StoreJobs

FRESH_S = 5.0
ABSENT = "absent"
COLD = "cold"


@dataclass(frozen=True)
class ShelfModel:
    """One model, with no place on this machine told.

    `title` says what it is. `download_bytes` is what a fresh pull brings, None where nobody knows.
    `missing` names what is not here. `state`: absent, or that of the pool; `rows` are spoken and
    `queue` wait; `rss_bytes` is 0 and `idle_s` None where it is not in memory.
    """

    name: str
    title: str
    engine: str
    n_bytes: int
    download_bytes: int | None
    is_complete: bool
    missing: tuple[str, ...]
    licence: str
    output_licence: str
    state: str
    rss_bytes: int
    rows: int
    queue: int
    idle_s: float | None
    device: str
    precision: str
    is_default: bool
    capabilities: tuple[str, ...]


@dataclass(frozen=True)
class _Look:
    """What was on the disk: when, after how many jobs, for which served models."""

    at: float
    key: tuple[int, int]
    found: Mapping[str, InstalledModel]


class Shelf:
    """The models of the catalogue, and those that the server was started with beside them."""

    def __init__(
        self, pool: ModelPool, names: Names, jobs: StoreJobs, clock: Clock | None = None
    ) -> None:
        self._pool = pool
        self._names = names
        self._jobs = jobs
        self._clock = clock or LoopClock()
        self._look: _Look | None = None
        self._looking = asyncio.Lock()

    async def models(self) -> tuple[ShelfModel, ...]:
        """All models: those that are served first, in their order."""
        found = await self._found()
        loaded = {model.name: model for model in self._pool.loaded()}
        rows = [await self._row(name, here, loaded.get(name)) for name, here in found.items()]
        return tuple(rows)

    async def one(self, name: str) -> ShelfModel:
        """One of them, by its own name. Raises: ModelNotFoundError: its folder is gone."""
        for model in await self.models():
            if model.name == name:
                return model
        raise ModelNotFoundError(f"the model {name!r} is not here any more.", param="model")

    async def _found(self) -> Mapping[str, InstalledModel]:
        """What is on the disk of each model, by the names that requests use."""
        async with self._looking:
            await self._names.refresh()
            key, now = (self._jobs.n_ended, self._names.generation), self._clock.now()
            look = self._look
            if look is None or look.key != key or now - look.at >= FRESH_S:
                sources = {name: self._names.source(name) for name in self._names.models()}
                look = _Look(now, key, await asyncio.to_thread(_looked, sources))
                self._look = look
            return look.found

    async def _row(self, name: str, here: InstalledModel, used: LoadedModel | None) -> ShelfModel:
        words = _Words.of_known(here.known) if here.known else await self._words(name)
        is_served = name in self._names.models()
        return ShelfModel(
            name=name,
            title=words.title,
            engine=words.engine,
            n_bytes=here.n_bytes,
            download_bytes=words.download_bytes,
            is_complete=is_served or here.is_complete,
            missing=here.missing,
            licence=words.licence,
            output_licence=words.output_licence,
            state=str(used.state) if used else COLD if is_served else ABSENT,
            rss_bytes=used.rss_bytes if used else 0,
            rows=used.rows if used else 0,
            queue=used.queue if used else 0,
            idle_s=round(used.idle_s, 1) if used and used.rss_bytes else None,
            device=used.device if used else "",
            precision=used.precision if used else "",
            is_default=name == self._names.default,
            capabilities=tuple(sorted(words.capabilities)),
        )

    async def _words(self, name: str) -> "_Words":
        """What a model says of itself; nothing where its files cannot be read."""
        try:
            return _Words.of_facts(await self._pool.describe(name))
        except MenuraError:  # it is shown all the same
            return _Words()


@dataclass(frozen=True)
class _Words:
    """What is said of a model, whoever says it."""

    title: str = ""
    engine: str = ""
    licence: str = ""
    output_licence: str = ""
    capabilities: frozenset[str] = frozenset()
    download_bytes: int | None = None

    @classmethod
    def of_known(cls, known: KnownModel) -> Self:
        """What the catalogue says."""
        return cls(
            title=known.description,
            engine=known.engine,
            licence=known.weights_licence,
            output_licence=known.output_licence,
            capabilities=known.capabilities,
            download_bytes=known.download_bytes,
        )

    @classmethod
    def of_facts(cls, facts: ModelFacts) -> Self:
        """What the model itself says."""
        presets = frozenset({PRESETS} if facts.voices else ())
        return cls(
            engine=facts.engine,
            licence=facts.licence,
            output_licence=facts.output_licence,
            capabilities=facts.capabilities | presets,
        )


def _looked(sources: Mapping[str, str]) -> dict[str, InstalledModel]:
    """What is on the disk of these models, and then of all others that the catalogue knows."""
    wanted = dict(sources)
    for known in known_models():
        wanted.setdefault(known.name, known.name)
    found = {}
    for name, source in wanted.items():
        with suppress(ModelNotFoundError):  # its folder is gone: nothing is left to tell
            found[name] = models.show(source)
    return found
