import os
from pathlib import Path

import pytest

from menura.catalogue import known_models
from menura.voice_library import own_models
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.own_models import CHOSEN_FILE, choose, model_of, named
from menura.voice_library.record import SourceKind, VoiceDefaults, VoiceSource
from tests.kept_voices import kept

PLACES = ["/abs", "../../x", "./m", "~", "m", "org/unknown", "a/b/c", "", "\0", "C:\\x"]


@pytest.mark.parametrize("model", PLACES)
def test_a_place_is_no_name(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "org" / "unknown").mkdir(parents=True)
    (tmp_path / "m").mkdir()
    monkeypatch.chdir(tmp_path)
    assert named(model) is None


def test_a_known_model_is_named_whatever_lies_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = next(model for model in known_models() if model.repos and "/" in model.repos[0].hub_id)
    (tmp_path / known.repos[0].hub_id).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert named("BuiltIn") == "builtin"
    name = named(known.repos[0].hub_id)
    assert name is None or "/" not in name  # a name, with which no folder is looked for


def test_a_voice_says_its_model_or_its_presets() -> None:
    library = VoiceLibrary()
    assert model_of(library, kept("A")) is None
    assert model_of(library, kept("B", defaults=VoiceDefaults(model="builtin"))) == "builtin"
    preset = VoiceSource(SourceKind.PRESET, "builtin", preset="heart")
    assert model_of(library, kept("C", source=preset)) == "builtin"
    stranger = VoiceSource(SourceKind.PRESET, "../../x", preset="heart")
    assert model_of(library, kept("D", source=stranger)) is None


def test_a_folder_counts_for_the_voice_that_its_user_chose_it_for(tmp_path: Path) -> None:
    library = VoiceLibrary()
    anna = kept("Anna", defaults=VoiceDefaults(model=str(tmp_path)))
    ben = kept("Ben", defaults=VoiceDefaults(model=str(tmp_path)))
    assert model_of(library, anna) is None
    choose(library, anna)
    assert model_of(library, anna) == str(tmp_path)
    assert model_of(library, ben) is None
    other = library.edit(anna.id, defaults=VoiceDefaults(model="/elsewhere"))
    assert model_of(library, other) is None
    choose(library, library.edit(anna.id, defaults=VoiceDefaults(model="builtin")))
    assert (library.folder / CHOSEN_FILE).read_text() == "{}"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"x": 1}', "[" * 100_000])
def test_a_list_that_is_not_sound_chooses_nothing(text: str, tmp_path: Path) -> None:
    library = VoiceLibrary()
    anna = kept("Anna", defaults=VoiceDefaults(model=str(tmp_path)))
    (library.folder / CHOSEN_FILE).write_text(text)
    assert model_of(library, anna) is None
    choose(library, anna)
    assert model_of(library, anna) == str(tmp_path)


def test_a_model_that_is_not_here_has_no_spec(tmp_path: Path) -> None:
    assert own_models.spec_of("org/unknown") is None
    spec = own_models.spec_of("builtin")
    assert spec is not None
    assert spec.model == "builtin"


@pytest.mark.skipif(os.name == "nt", reason="Windows tells owners otherwise")
def test_the_users_own_folder_is_taken(tmp_path: Path) -> None:
    own_models.check_owner(tmp_path)
