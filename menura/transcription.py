"""What is said in a recording, and when each word is said, by Whisper (the extra `asr`).

The weights are those that the setting `asr_model` names, and they are on this machine already:
nothing is downloaded here. It runs on the CPU.
"""

import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from menura import languages, settings
from menura.audio.pcm import FloatArray
from menura.audio.resample import resample
from menura.errors import (
    EngineNotInstalledError,
    InvalidValueError,
    ModelFilesError,
    ModelNotFoundError,
    UnsupportedError,
    did_you_mean,
)

if TYPE_CHECKING:
    from faster_whisper import WhisperModel

RATE_HZ = 16_000
SIZES = ("tiny", "tiny.en", "base", "base.en", "small", "small.en", "medium", "medium.en",
         "large-v1", "large-v2", "large-v3")  # fmt: skip
INSTALL = "pip install 'menura[asr]'"


@dataclass(frozen=True)
class Word:
    """One word as it is heard, with the space before it where there is one, and when."""

    text: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Transcript:
    """What is said in a recording. `language` is its two letters, as in ISO 639-1."""

    text: str
    language: str
    words: tuple[Word, ...]


def transcribe(samples: FloatArray, rate_hz: int, language: str | None = None) -> Transcript:
    """What is said in samples [n]; the language is told from the sound where none is given.

    Raises: EngineNotInstalledError, ModelNotFoundError: the message names the command that brings
        what is missing; ModelFilesError; UnsupportedError: the weights do not know the language.
    """
    model = _loaded(str(weights()), settings.load().threads or 0)
    code = None if language is None else languages.code_of(language)
    if code is not None and code not in model.supported_languages:
        raise UnsupportedError(
            f"language {language!r} is not one that {settings.load().asr_model!r} transcribes; "
            "leave the language out, write the transcript by hand, or set asr_model to weights "
            "for more languages, such as 'base'.",
            param="language",
            needs=languages.name_of(code),
        )
    heard = resample(samples.astype(np.float32), rate_hz, RATE_HZ)
    parts, info = model.transcribe(
        heard, language=code, word_timestamps=True, condition_on_previous_text=False
    )
    words = tuple(
        Word(str(word.word), float(word.start), float(word.end))
        for part in parts
        for word in part.words or ()
    )
    return Transcript("".join(word.text for word in words).strip(), str(info.language), words)


def weights() -> Path:
    """The folder of the weights that the setting `asr_model` names; a quick look, nothing loads.

    Raises: EngineNotInstalledError, ModelNotFoundError, InvalidValueError: why there is none, and
        what to do.
    """
    if importlib.util.find_spec("faster_whisper") is None:
        raise EngineNotInstalledError(
            f"transcribing needs a package that is not installed: {INSTALL}, or write the "
            "transcript by hand.",
            param="transcribe",
        )
    name = settings.load().asr_model
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    return _cached(name, _hub_id(name))


def _hub_id(name: str) -> str:
    if name in SIZES:
        return f"Systran/faster-whisper-{name}"
    if name.count("/") == 1 and not name.startswith((".", "/", "~")):
        return name
    raise InvalidValueError(
        f"asr_model {name!r} is no folder, and not one of: {', '.join(SIZES)}, or a hub id such as "
        "'Systran/faster-whisper-base'." + did_you_mean(name, SIZES),
        param="asr_model",
    )


def _cached(name: str, hub_id: str) -> Path:
    """The folder in the hub's cache. Raises: ModelNotFoundError."""
    from faster_whisper import download_model  # noqa: PLC0415

    try:
        return Path(download_model(hub_id, local_files_only=True))
    except (OSError, ValueError) as error:  # not there, or a name that no hub has
        raise ModelNotFoundError(
            f"the weights that transcribe (asr_model = {name!r}) are not on this machine: "
            f"hf download {hub_id}, or write the transcript by hand.",
            param="asr_model",
        ) from error


@lru_cache(maxsize=1)
def _loaded(folder: str, threads: int) -> "WhisperModel":
    """The weights, which the next recording needs too."""
    from faster_whisper import WhisperModel  # noqa: PLC0415

    try:
        return WhisperModel(
            folder, device="cpu", compute_type="int8", cpu_threads=threads, local_files_only=True
        )
    except (RuntimeError, ValueError, OSError) as error:
        raise ModelFilesError(
            f"the weights in {folder!r} (asr_model) cannot be used: {error}. Give a folder with "
            "model.bin, config.json and tokenizer.json in the form of CTranslate2.",
            param="asr_model",
        ) from error
