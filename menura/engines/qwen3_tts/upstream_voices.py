"""Voices that upstream saved: files of `torch.save` with `{"items": [...]}`, one item a voice.

Such a file is a pickle. It is opened by torch's reader of plain tensors alone, in a process of its
own with little memory and time, which hands back a safetensors file: nothing else of it gets here.
"""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from menura.engines.contract import VoicePrompt
from menura.engines.qwen3_tts.description import ENGINE
from menura.engines.qwen3_tts.prompt import CODES, EMBEDDING, IN_CONTEXT, X_VECTOR
from menura.errors import InvalidValueError, ModelFilesError
from menura.runtime.array_files import read_arrays

MAX_BYTES = 64 * 2**20
TIME_LIMIT_S = 60.0
MAX_HEADER_BYTES = 32 * 2**20  # the transcripts of 64 voices
ITEMS = "items"
_READER = "menura.engines.qwen3_tts.upstream_reader"


def read(path: Path, fingerprint: str, *, time_limit_s: float = TIME_LIMIT_S) -> tuple[
    VoicePrompt, ...
]:  # fmt: skip
    """The voices of a file. It does not say whose they are: `fingerprint` names the weights.

    Raises: InvalidValueError: it cannot be read, is no such file, is too large, or holds more than
        plain tensors and texts.
    """
    _check_size(path)
    with TemporaryDirectory(prefix="menura-") as folder:
        made = Path(folder) / "voices.safetensors"
        _run_reader(path, made, time_limit_s)
        try:
            found = read_arrays(made, max_bytes=2 * MAX_BYTES, max_header_bytes=MAX_HEADER_BYTES)
        except ModelFilesError as error:
            raise _refused(path, "its numbers are not sound") from error
    transcripts: list[str | None] = json.loads(found.metadata[ITEMS])
    return tuple(
        _voice(found.arrays, index, transcript, fingerprint)
        for index, transcript in enumerate(transcripts)
    )


def _voice(
    arrays: Mapping[str, NDArray[np.generic]],
    index: int,
    transcript: str | None,
    fingerprint: str,
) -> VoicePrompt:
    own = {
        name: arrays[f"{index}.{name}"]
        for name in (CODES, EMBEDDING)
        if f"{index}.{name}" in arrays
    }
    mode = IN_CONTEXT if CODES in own else X_VECTOR
    return VoicePrompt(ENGINE, fingerprint, mode, own, transcript)


def _check_size(path: Path) -> None:
    """Nothing, for an archive whose files are small when they are unpacked, too."""
    try:
        with zipfile.ZipFile(path) as archive:
            n_bytes = sum(entry.file_size for entry in archive.infolist())
    except OSError as error:
        raise _refused(path, error.strerror or str(error)) from error
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise _refused(path, "it is no archive of torch.save") from error
    if n_bytes > MAX_BYTES:
        raise _refused(path, f"it unpacks to {n_bytes:,} bytes, over {MAX_BYTES:,}")


def _run_reader(path: Path, made: Path, time_limit_s: float) -> None:
    """Nothing; the other process wrote the voices to `made`, or said why it did not."""
    # The same packages as here, but nothing from the current folder.
    places = os.pathsep.join(str(Path(place).resolve()) for place in sys.path if place)
    command = [sys.executable, "-P", "-m", _READER, str(path), str(made)]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": places},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=time_limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _refused(path, f"reading it took over {time_limit_s:g} s") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        shown = "".join(c for c in (said[-1] if said else "") if c.isprintable())[:200]
        raise _refused(path, shown or f"its reader ended with {done.returncode}")


def _refused(path: Path, why: str) -> InvalidValueError:
    return InvalidValueError(
        f"{path} is not taken as upstream's saved voices: {why}. Make the voice from its recording "
        "with tts.voice(clip).",
        param="voice",
    )
