"""Whole requests through the public door give upstream's recorded latents and samples."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import menura
from tests.parity.echo_tts import cases, recorded
from tests.parity.echo_tts.our_side import options_of

Arrays = dict[str, NDArray[np.generic]]
Agree = Callable[[Arrays, Arrays], None]
KEPT = recorded.read("pipeline")
# Upstream's padding of the text changes nothing; that of the reference shows the model more of it.
CASES = ("text_only", "short", "text_bucket", "raw_text")


@pytest.fixture(scope="module")
def tts(checkpoint: Path) -> menura.TTS:
    return menura.load(
        checkpoint, autoencoder=checkpoint / "fish-s1-dac-min", device="cpu", precision="exact"
    )


@pytest.mark.filterwarnings("ignore::menura.audio.clip_checks.VoiceWarning")
@pytest.mark.parametrize("name", CASES)
def test_a_request_gives_upstreams_latents_and_samples(
    name: str, tts: menura.TTS, agree: Agree
) -> None:
    case = cases.PIPELINE[name]
    voice = None
    if case.seconds is not None:
        voice = tts.voice(cases.clip(case.seconds), rate_hz=cases.RATE_HZ)
    speech = tts.speak(cases.SPOKEN, voice=voice, split=False, seed=case.seed, **options_of(case))
    assert speech.frames is not None
    assert speech.frames.dtype == np.float32
    ours: Arrays = {f"{name}.latents": speech.frames, f"{name}.samples": speech.samples}
    agree(ours, {key: KEPT[key] for key in ours})
