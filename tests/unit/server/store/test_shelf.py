"""The models that there are: of the catalogue, of the disk and of the memory, each told once."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from menura.catalogue import known_models
from menura.errors import ModelFilesError, ModelNotFoundError
from menura.server.models.model_facts import ModelFacts
from menura.server.models.model_pool import LoadedModel
from menura.server.models.model_stage import State
from menura.server.models.names import Names
from menura.server.store.jobs import StoreJobs
from menura.server.store.shelf import Shelf
from tests.spoken_orders import FACTS
from tests.unit.server.hand_clock import HandClock
from tests.unit.store.fake_hub import QWEN, cache_repo, files_of, use_clean_home

if TYPE_CHECKING:
    from menura.server.models.model_pool import ModelPool


@dataclass
class Pool:
    """A pool that only tells."""

    used: list[LoadedModel] = field(default_factory=list)
    is_broken: bool = False

    def loaded(self) -> list[LoadedModel]:
        return self.used

    async def describe(self, model: str) -> ModelFacts:
        if self.is_broken:
            raise ModelFilesError("/somewhere is damaged.")
        return replace(FACTS, model=model, licence="MIT")


@dataclass
class Scene:
    """A shelf with the tone's model beside the catalogue's."""

    folder: Path
    pool: Pool
    jobs: StoreJobs
    clock: HandClock
    names: Names
    shelf: Shelf


def played(folder: Path, act: Callable[[Scene], Awaitable[None]]) -> None:
    async def run() -> None:
        model = folder / "tones"
        model.mkdir()
        (model / "tone.json").write_text("{}")
        pool, jobs, clock = Pool(), StoreJobs(), HandClock()
        names = Names.at_start([str(model)], {}, str(model), clock=clock)
        shelf = Shelf(cast("ModelPool", pool), names, jobs, clock)
        await act(Scene(folder, pool, jobs, clock, names, shelf))

    asyncio.run(run())


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_clean_home(monkeypatch, tmp_path / "home")


def test_every_model_of_the_catalogue_is_there_and_what_is_served_comes_first(
    tmp_path: Path,
) -> None:
    async def act(scene: Scene) -> None:
        found = await scene.shelf.models()
        names = [model.name for model in found]
        assert names[:2] == ["tones", "builtin"]
        assert set(names[1:]) == {known.name for known in known_models()}
        tones, builtin = found[:2]
        assert (tones.state, tones.is_complete, tones.is_default) == ("cold", True, True)
        assert (tones.engine, tones.licence, tones.n_bytes) == ("tone", "MIT", 2)
        assert tones.capabilities == ("presets", "stream_text")
        assert (tones.download_bytes, tones.idle_s) == (None, None)
        assert (builtin.state, builtin.is_default, builtin.download_bytes) == ("cold", False, 0)
        echo = await scene.shelf.one("echo-tts-base")
        assert (echo.state, echo.is_complete, echo.n_bytes) == ("absent", False, 0)
        assert echo.output_licence == "CC-BY-NC-SA-4.0"
        assert len(echo.missing) == 2
        assert (echo.download_bytes or 0) > 10**9
        assert str(tmp_path) not in str(found)

    played(tmp_path, act)


def test_what_is_in_memory_is_told_as_the_pool_tells_it(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.pool.used = [
            LoadedModel("tones", State.READY, 2, 3, 1000, "cpu", "fp32", 1.26, n_restarts=0)
        ]
        tones = await scene.shelf.one("tones")
        assert (tones.state, tones.rows, tones.queue, tones.rss_bytes) == ("ready", 2, 3, 1000)
        assert (tones.device, tones.precision, tones.idle_s) == ("cpu", "fp32", 1.3)

    played(tmp_path, act)


def test_a_model_that_cannot_be_read_is_shown_still(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.pool.is_broken = True
        tones = await scene.shelf.one("tones")
        assert (tones.engine, tones.licence, tones.capabilities) == ("", "", ())

    played(tmp_path, act)


def test_the_disk_is_looked_at_again_after_a_while(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        assert (await scene.shelf.one("qwen3-tts-0.6b-base")).state == "absent"
        cache_repo(QWEN, files_of("qwen3-tts-0.6b-base"))
        assert (await scene.shelf.one("qwen3-tts-0.6b-base")).state == "absent"
        scene.clock.move(10)
        qwen = await scene.shelf.one("qwen3-tts-0.6b-base")
        assert qwen.is_complete
        assert qwen.n_bytes > 0

    played(tmp_path, act)


def test_a_model_whose_folder_is_gone_is_not_there(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        shutil.rmtree(scene.folder / "tones")
        with pytest.raises(ModelNotFoundError, match="not here any more"):
            await scene.shelf.one("tones")

    played(tmp_path, act)
