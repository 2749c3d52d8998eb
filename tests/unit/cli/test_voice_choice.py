from pathlib import Path

import pytest

from menura.catalogue import CLONE, known_models
from menura.cli import voice_choice
from menura.cli.say import SayFlags
from menura.cli.voice_choice import with_model
from menura.errors import UnsupportedError
from menura.voice_library.record import SourceKind, VoiceDefaults, VoiceSource
from tests.kept_voices import kept

CLONING = [model for model in known_models() if CLONE in model.capabilities]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the models that are on this machine; a test may add some."""
    names: list[str] = []

    def found() -> list[object]:
        return [model for model in known_models() if model.name in names]

    monkeypatch.setattr(voice_choice, "models_here", found)
    return names


def model_for(voice: str | None, model: str | None = None) -> str | None:
    return with_model(SayFlags(voice=voice, model=model)).model


def test_the_one_model_here_that_clones_is_taken(here: list[str]) -> None:
    kept()
    here += ["builtin", CLONING[0].name]
    assert model_for("anna") == CLONING[0].name
    assert model_for("lib:Anna") == CLONING[0].name


def test_a_model_that_is_named_is_left_alone(here: list[str]) -> None:
    kept(defaults=VoiceDefaults(model=CLONING[1].name))
    assert model_for("Anna", "builtin") == "builtin"
    assert model_for(None) is None
    assert model_for("nobody") is None
    assert model_for("gone.safetensors") is None


def test_the_voices_own_model_is_taken_first(here: list[str]) -> None:
    kept(defaults=VoiceDefaults(model=CLONING[1].name))
    here += [model.name for model in CLONING]
    assert model_for("Anna") == CLONING[1].name


def test_a_preset_speaks_with_its_model(here: list[str]) -> None:
    kept(source=VoiceSource(SourceKind.PRESET, "builtin", preset="heart"))
    assert model_for("Anna") == "builtin"


def test_a_default_model_that_clones_stays(
    here: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept()
    for model in (CLONING[0].name, str(tmp_path)):  # a folder of the user's may be able to
        monkeypatch.setenv("MENURA_DEFAULT_MODEL", model)
        assert model_for("Anna") is None


def test_the_default_models_own_voice_wins(here: list[str]) -> None:
    kept("Heart", defaults=VoiceDefaults(model=CLONING[1].name))
    assert model_for("heart") is None
    assert model_for("lib:heart") == CLONING[1].name


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], f"none is on this machine. Bring one with: menura models pull {CLONING[0].name}"),
        ([model.name for model in CLONING[:2]], "several on this machine can: "),
    ],
)
def test_no_choice_is_made_where_there_is_none(
    here: list[str], names: list[str], words: str
) -> None:
    kept()
    here += names
    with pytest.raises(UnsupportedError, match="edit Anna --default-model") as raised:
        model_for("Anna")
    assert words in raised.value.message


@pytest.mark.parametrize("model", ["../../evil", "/tmp", "./m", "org/unknown", "~", "m"])
def test_a_model_that_is_a_place_in_somebodys_words_is_not_taken(
    model: str,
    here: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "org" / "unknown").mkdir(parents=True)
    (tmp_path / "m").mkdir()
    monkeypatch.chdir(tmp_path)
    kept(defaults=VoiceDefaults(model=model))
    here.append(CLONING[0].name)
    assert model_for("Anna") == CLONING[0].name
    assert "is not taken" in capsys.readouterr().err


def test_the_name_in_a_command_is_one_word_of_a_shell(here: list[str]) -> None:
    kept("$(touch pwn) `id`")
    with pytest.raises(UnsupportedError, match=r"edit '\$\(touch pwn\) `id`' --default-model"):
        model_for("$(touch pwn) `id`")
