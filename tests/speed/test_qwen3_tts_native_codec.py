"""The native codec decoder keeps its bounds against the torch one, in every body that runs here."""

from pathlib import Path

import numpy as np
import pytest
import torch

from menura.engines.qwen3_tts import weights
from menura.engines.qwen3_tts.accelerate_codec import program
from menura.engines.qwen3_tts.config_files import read_config
from menura.engines.qwen3_tts.tiny import write
from menura.runtime.native.build import library, why_not
from menura.runtime.native.codec import NativeDecoder
from menura.runtime.native.codec_program import CodecMode

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "native kernels run here")

MOST_EXACT_ERROR = 1e-4  # of the samples' root mean square
LEAST_BF16_DB = 35.0
N_FRAMES = 100


@pytest.mark.parametrize("body", ["avx512", "avx2", "neon"])
def test_a_checkpoint_keeps_its_bounds(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = library()
    monkeypatch.setenv("MENURA_NATIVE_BODY", body)
    if not loaded.menura_body():
        pytest.skip(f"{body} does not run here")
    folder = write(tmp_path / "model")
    config = read_config(folder)
    decoder = weights.load(folder, config, torch.device("cpu"), torch.float32).codec_decoder
    sizes = config.codec.decoder
    codes = np.random.default_rng(0).integers(0, sizes.codebook_size, (N_FRAMES, 16))
    with torch.inference_mode():
        wanted = decoder(torch.from_numpy(codes.T.copy())[None])[0].numpy().astype(np.float64)
    errors = {}
    for mode in CodecMode:
        native = NativeDecoder(program(decoder, sizes, mode), 1)
        difference = native.decode(codes, native.new_state()) - wanted
        errors[mode] = np.sqrt(np.square(difference).mean() / np.square(wanted).mean())
    assert errors[CodecMode.EXACT] < MOST_EXACT_ERROR
    assert -20 * np.log10(errors[CodecMode.BF16]) > LEAST_BF16_DB
