from pathlib import Path

import pytest

from menura.errors import InvalidValueError
from menura.server.models.model_facts import facts_of
from menura.server.voices.names_taken import checked_name
from tests.tone.engine import ToneEngine
from tests.unit.server.served_models import parts_at


def checked(folder: Path, given: str) -> str:
    models = [("tone", facts_of(ToneEngine().spec)), ("damaged", None)]
    return checked_name(parts_at(folder / "models"), given, models)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (" Anna ", "Anna"),
        ("A\u202enna", "Anna"),
        ("A: B", "A: B"),
        ("lower", "lower"),
        ("声", "声"),
    ],
)
def test_free_names_are_kept_composed(tmp_path: Path, given: str, kept: str) -> None:
    assert checked(tmp_path, given) == kept


@pytest.mark.parametrize(
    "given",
    [
        "ALLOY",
        "high",
        "ＨＩＧＨ",
        "choir:x",
        "tts-1: x",
        "",
        "lib:x",
        "tone",
        "TTS-1",
        "tts-1-hd",
        "gpt-4o-mini-tts",
    ],
)
def test_names_that_mean_something_else_are_refused(tmp_path: Path, given: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        checked(tmp_path, given)
    assert caught.value.param == "name"
