"""Forty odd texts through `menura say -f FILE`: no crash, no lost character, clear errors."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

import menura
from tests.command_line import run
from tests.unit.text.odd_texts import NOTHING_TO_SPEAK, ODD_TEXTS

_SHORT_CHARACTERS = 400

# A lone surrogate is no character that a UTF-8 file can hold.
WRITABLE = {
    name: text
    for name, text in ODD_TEXTS.items()
    if not any("\ud800" <= character <= "\udfff" for character in text)
}
SHORT = [name for name, text in WRITABLE.items() if len(text) <= _SHORT_CHARACTERS]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    (folder / "tone").mkdir(parents=True)
    (folder / "tone" / "tone.json").write_text("{}")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def built_in_voice() -> menura.TTS:
    return menura.load()


@pytest.fixture
def loaded_once(built_in_voice: menura.TTS, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading the voice for each of the texts would take most of the time."""
    monkeypatch.setattr("menura.api.load", lambda *_, **__: built_in_voice)


def written(name: str) -> str:
    # With a mark of its own, the file's text may begin with one too.
    Path("text.txt").write_bytes(WRITABLE[name].encode("utf-8-sig"))
    return "text.txt"


def test_there_are_about_forty_and_most_are_short() -> None:
    assert len(WRITABLE) >= 38
    assert len(SHORT) >= 30


@pytest.mark.parametrize("name", WRITABLE)
def test_a_plan_loses_no_character(name: str) -> None:
    ran = run("say", "-m", "tone", "-f", written(name), "--plan", "--json")
    if name in NOTHING_TO_SPEAK:
        assert (ran.code, list(ran.answer)) == (6, ["error"])
        return
    assert ran.code == 0
    text, place = WRITABLE[name], 0
    for segment in ran.segments:
        start, end = segment["start"], segment["end"]
        assert isinstance(start, int)
        assert isinstance(end, int)
        assert (start, end > start) == (place, True)
        place = end
    assert place == len(text)


@pytest.mark.parametrize("name", SHORT)
def test_the_built_in_voice_speaks_it_or_says_why_not(name: str, loaded_once: None) -> None:
    ran = run("say", "-f", written(name), "-o", "a.wav")
    allowed = {6} if name in NOTHING_TO_SPEAK else {0, 4}
    assert ran.code in allowed, ran.stderr
    assert Path("a.wav").exists() == (ran.code == 0)
    if ran.code == 0:
        samples, _ = soundfile.read("a.wav", dtype="float32")
        assert float(np.abs(samples).max()) > 0.01
    else:
        assert ran.stderr.startswith("error: ")
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("text", ["⑴ ⑵", "2⁻¹ volts", "∫₀¹ x dx", "x₁₂ and x²", "① first", "½ ⅓"])
def test_the_built_in_voice_reads_digits_of_every_shape(text: str, loaded_once: None) -> None:
    assert run("say", text, "-o", "a.wav").code == 0
