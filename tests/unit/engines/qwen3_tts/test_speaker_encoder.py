import json
from pathlib import Path

import numpy as np
import pytest
import torch

from menura.engines.qwen3_tts.config import SpeakerEncoderConfig
from menura.engines.qwen3_tts.speaker_encoder import SpeakerEncoder, log_mel
from menura.errors import InvalidValueError
from menura.speech import FloatArray
from tests.unit.engines.qwen3_tts.tiny_parts import loaded

# Recorded from upstream (qwen-tts 0.1.1) for this clip on the tiny checkpoint.
GOLDEN = json.loads(Path(__file__).with_name("golden_rows.json").read_text("utf-8"))


def _encoder() -> SpeakerEncoder:
    encoder = loaded("base", "0b6").parts.speaker_encoder
    assert encoder is not None
    return encoder


def _clip(n_samples: int = 24_000) -> FloatArray:
    t = np.arange(n_samples) / 24_000
    clip = 0.4 * np.sin(2 * np.pi * 220 * t) * (1 + np.sin(2 * np.pi * 3 * t)) / 2
    return np.asarray(clip, np.float32)


def test_the_mel_frames_are_upstreams() -> None:
    mel = log_mel(torch.from_numpy(_clip())[None], _encoder().config)
    assert list(mel[0].T.shape) == GOLDEN["mel_shape"]
    assert mel[0, 40].tolist() == pytest.approx(GOLDEN["mel_frame_40"], abs=2e-4)


def test_the_embedding_is_upstreams() -> None:
    embedding = _encoder().embed(_clip())
    assert embedding.dtype == np.float32
    assert embedding.tolist() == pytest.approx(GOLDEN["embedding"], abs=2e-4)


def test_the_shortest_clip_still_has_an_embedding_and_a_shorter_one_is_refused() -> None:
    encoder = _encoder()
    assert encoder.least_samples == 1280
    assert np.isfinite(encoder.embed(_clip(1280))).all()
    with pytest.raises(InvalidValueError, match=r"1279 samples .* at least 1280 \(53 ms\)"):
        encoder.embed(_clip(1279))


def test_a_clip_that_mirrors_less_may_be_shorter() -> None:
    config = SpeakerEncoderConfig(
        sample_rate_hz=24_000, n_mels=128, embedding_size=4, channels=(8, 8, 8),
        kernel_sizes=(3, 1, 1), dilations=(1, 1, 1), attention_channels=4, res2net_scale=2,
        squeeze_channels=4,
    )  # fmt: skip
    encoder = SpeakerEncoder(config).eval()
    assert encoder.least_samples == 512
    assert encoder.embed(_clip(512)).shape == (4,)


def test_the_clip_is_not_changed_and_silence_is_no_error() -> None:
    silence = np.zeros(24_000, np.float32)
    silence.setflags(write=True)
    assert np.isfinite(_encoder().embed(silence)).all()
    assert not silence.any()
