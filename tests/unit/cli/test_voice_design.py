from dataclasses import replace
from types import SimpleNamespace

import pytest

from menura.catalogue import KnownModel, known_models
from menura.cli import voice_design
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.new_voice import NewVoice
from menura.voice_library.record import SourceKind, VoiceRecord, VoiceSource
from tests.command_line import Ran, run
from tests.kept_voices import kept, new_voice

DESIGNER = "qwen3-tts-1.7b-voicedesign"


class Drawing:
    """A model that draws voices, and what was asked of it."""

    def __init__(self) -> None:
        self.loaded: list[str] = []
        self.seeds: list[int] = []
        self.words: list[tuple[str, str | None, str | None]] = []

    def load(self, name: str) -> SimpleNamespace:
        self.loaded.append(name)
        return SimpleNamespace()

    def drawn(
        self, tts: SimpleNamespace, description: str, label: str, *, text: str | None,
        language: str | None, seed: int,
    ) -> NewVoice:  # fmt: skip
        self.seeds.append(seed)
        self.words.append((description, text, language))
        source = VoiceSource(SourceKind.DESIGN, DESIGNER, description, seed=seed)
        return replace(new_voice(label), source=source, consent=None, language=language)


@pytest.fixture
def drawing(monkeypatch: pytest.MonkeyPatch) -> Drawing:
    drawing = Drawing()
    here: list[KnownModel] = [model for model in known_models() if model.name == DESIGNER]
    monkeypatch.setattr(voice_design, "models_here", lambda: here)
    monkeypatch.setattr("menura.api.load", drawing.load)
    monkeypatch.setattr(voice_design, "drawn", drawing.drawn)
    return drawing


def design(*arguments: str, typed: str | None = None) -> Ran:
    if typed is None:
        return run("voices", "design", "Captain", *arguments)
    terminals = ["stdin", "stderr"]
    return run("voices", "design", "Captain", *arguments, stdin=typed.encode(), terminals=terminals)


def record() -> VoiceRecord:
    [voice] = VoiceLibrary().voices()
    return voice.record


def test_a_person_chooses_one_of_three_takes(drawing: Drawing) -> None:
    ran = design("-d", "An old man.", "--seed", "7", "-l", "de", "--notes", "Gruff.", typed="2\n")
    assert ran.code == 0, ran.stderr
    assert drawing.loaded == [DESIGNER]
    assert drawing.seeds == [7, 8, 9]
    assert drawing.words[0] == ("An old man.", None, "german")
    for number, seed in ((1, 7), (2, 8), (3, 9)):
        assert f"take {number}" in ran.stderr
        assert f"3.0 s, seed {seed}" in ran.stderr
    found = record()
    assert (found.label, found.source.seed, found.notes) == ("Captain", 8, "Gruff.")
    assert found.source.description == "An old man."


def test_a_take_can_be_kept_without_a_question(drawing: Drawing) -> None:
    answer = design("-d", "An old man.", "--seed", "7", "--keep", "2", "--json").answer
    assert drawing.seeds == [8]
    source = answer["source"]
    assert isinstance(source, dict)
    assert (source["kind"], source["seed"]) == ("design", 8)


def test_one_take_needs_no_choice_and_seeds_are_drawn(drawing: Drawing) -> None:
    assert design("-d", "An old man.", "--takes", "1", "--say", "Ahoy.", "-m", "x").code == 0
    assert drawing.loaded == ["x"]
    assert drawing.words == [("An old man.", "Ahoy.", None)]
    [seed] = drawing.seeds
    assert 0 <= seed < 2**53


def test_a_person_is_asked_who_speaks(drawing: Drawing) -> None:
    assert design(typed="An old man.\n1\n").code == 0
    assert drawing.words[0][0] == "An old man."


def test_takes_can_be_played(drawing: Drawing, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[int] = []
    monkeypatch.setattr(voice_design, "_play", lambda take: played.append(take.source.seed))
    design("-d", "An old man.", "--seed", "7", "--play", typed="1\n")
    assert played == [7, 8, 9]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-d", "x"], "nobody is here to choose a take"),
        (["--keep", "1"], "say who speaks with --describe TEXT"),
        (["-d", "x", "--takes", "0"], "from 1 to 9"),
        (["-d", "x", "--takes", "10"], "from 1 to 9"),
        (["-d", "x", "--keep", "0"], "from 1 to 9"),
    ],
)
def test_what_cannot_be_chosen_is_refused_before_anything_is_drawn(
    drawing: Drawing, arguments: list[str], words: str
) -> None:
    ran = design(*arguments)
    assert ran.code == 2
    assert words in ran.stderr
    assert drawing.loaded == []


def test_a_name_that_is_taken_is_refused_before_anything_is_drawn(drawing: Drawing) -> None:
    kept("Captain")
    assert "already" in design("-d", "x", "--keep", "1").stderr
    assert drawing.loaded == []


def test_without_a_model_the_one_to_bring_is_named() -> None:
    ran = design("-d", "x", "--keep", "1")
    assert ran.code == 3
    assert f"menura models pull {DESIGNER}" in ran.stderr
