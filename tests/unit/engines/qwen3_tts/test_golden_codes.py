"""The codes are upstream's: a few cases of `make parity` whose codes were kept in a file."""

from pathlib import Path

import numpy as np
import pytest

import menura
from menura.speech import SpeechRequest
from tests.parity.qwen3_tts import golden
from tests.parity.qwen3_tts.cases import CLIPS, SINGLE
from tests.parity.qwen3_tts.sides import write_checkpoint

CASES = {case.name: case for case in SINGLE if case.name in golden.NAMES}


def test_the_file_holds_every_case() -> None:
    assert golden.read().keys() == CASES.keys()


@pytest.mark.filterwarnings("ignore::menura.engines.qwen3_tts.clip.VoiceWarning")
@pytest.mark.parametrize("name", golden.NAMES)
def test_the_codes_are_upstreams(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    [line] = case.lines
    folder = write_checkpoint(tmp_path / "model", case.checkpoint, seed=0)
    tts = menura.load(folder, device="cpu", precision="exact")
    voice: menura.Voice | str | None = line.voice
    if line.clip is not None:
        samples, rate_hz = CLIPS[line.clip]
        voice = tts.voice(samples, transcript=line.transcript, rate_hz=rate_hz)
    request = SpeechRequest(
        line.text, voice, line.language, line.instruct, case.seed, split=False,
        options=case.options,
    )  # fmt: skip
    [speech] = tts.speak_many([request])
    assert speech.frames is not None
    assert np.array_equal(speech.frames, golden.read()[name])
