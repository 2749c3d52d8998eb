import asyncio
from pathlib import Path
from typing import cast

import pytest
from fastapi import FastAPI, Request

from menura import transcription
from menura.errors import ModelNotFoundError
from menura.server import catalogue
from menura.server.catalogue import models_of, one_model, voices_of
from menura.server.routes import ServerParts
from tests.unit.server.served_models import DescribingPool, parts_at, saved_voice


@pytest.fixture
def parts(tmp_path: Path) -> ServerParts:
    return parts_at(tmp_path / "models")


def shown(parts: ServerParts, model: str) -> dict[str, object]:
    app = FastAPI()
    app.state.parts = parts
    return asyncio.run(one_model(Request({"type": "http", "app": app}), model)).model_dump()


def test_models_come_with_the_default_first_in_both_keys(parts: ServerParts) -> None:
    found = asyncio.run(models_of(parts))
    assert [entry.id for entry in found.data][:2] == ["tone", "choir"]
    assert found.data == found.models
    assert found.max_characters == 4096
    first = found.model_dump()["data"][0]
    assert (first["object"], first["created"], first["owned_by"]) == ("model", 0, "menura")
    assert first["menura"]["is_default"]
    assert first["menura"]["sample_rate_hz"] == 8_000
    assert first["menura"]["capabilities"] == ("clone", "stream_text")
    option = first["menura"]["options"][0]
    assert option == {
        "name": "frames_per_word",
        "kind": option["kind"],
        "default": 2,
        "minimum": 1,
        "maximum": 50,
        "choices": (),
        "unit": "",
        "help": "How long a word sounds.",
    }


def test_voices_of_other_models_say_so_in_their_ids(parts: ServerParts) -> None:
    found = asyncio.run(voices_of(parts))
    ids = [voice.id for voice in found.data]
    assert ids[:4] == ["low", "high", "choir:low", "choir:high"]
    assert found.data == found.voices
    assert found.data[3].model_dump() == {
        "id": "choir:high",
        "voice_id": "choir:high",
        "object": "audio.voice",
        "name": "high (choir)",
        "model": "choir",
        "language": "zh",
        "languages": ("zh",),
        "description": "",
        "category": "premade",
        "labels": {"model": "choir", "language": "zh"},
        "preview_url": None,
        "voice": None,
    }


def test_a_broken_model_does_not_break_the_lists(parts: ServerParts) -> None:
    cast("DescribingPool", parts.pool).broken.add("choir")
    models = asyncio.run(models_of(parts)).data
    assert [(entry.id, entry.menura is None) for entry in models][:2] == [
        ("tone", False),
        ("choir", True),
    ]
    voices = asyncio.run(voices_of(parts)).data
    assert "choir:low" not in {voice.id for voice in voices}


def test_one_model_is_shown_by_its_name_or_an_alias(parts: ServerParts) -> None:
    assert shown(parts, "choir")["id"] == "choir"
    assert shown(parts, "tts-1")["id"] == "tone"
    with pytest.raises(ModelNotFoundError):
        shown(parts, "nothing")


def test_a_saved_voice_is_listed_as_a_cloned_one(tmp_path: Path) -> None:
    parts = parts_at(tmp_path / "models", {"Me": saved_voice(tmp_path)})
    found = {voice.id: voice for voice in asyncio.run(voices_of(parts)).data}
    assert (found["Me"].category, found["low"].category) == ("cloned", "premade")
    # It speaks all languages of its model, and none of them is its own.
    assert (found["Me"].language, found["Me"].languages) == (None, ("en", "zh"))
    assert found["Me"].labels == {"model": "tone"}
    assert found["low"].language == "en"


@pytest.mark.parametrize("is_there", [True, False])
def test_the_list_says_whether_the_server_can_transcribe(
    parts: ServerParts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, is_there: bool
) -> None:
    looks: list[int] = []

    def weights() -> Path:
        looks.append(1)
        if not is_there:
            raise ModelNotFoundError("the weights that transcribe are not on this machine.")
        return tmp_path

    monkeypatch.setattr(transcription, "weights", weights)
    monkeypatch.setattr(catalogue, "_LOOK_AGAIN_S", float("inf"))
    catalogue._can_transcribe.cache_clear()
    lists = [asyncio.run(voices_of(parts)) for _ in range(3)]
    assert [found.can_transcribe for found in lists] == [is_there] * 3
    assert len(looks) == 1  # asked once, and remembered for a while
    assert not asyncio.run(voices_of(parts, for_everybody=True)).can_transcribe
    catalogue._can_transcribe.cache_clear()
