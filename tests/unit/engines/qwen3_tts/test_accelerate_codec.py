import numpy as np
import pytest
from numpy.typing import NDArray

from menura.engines.qwen3_tts.accelerate_codec import NativeCodecDecoder, layers, program
from menura.engines.qwen3_tts.codec import Codec, FloatArray
from menura.engines.qwen3_tts.codec_decoder import CodecDecoder
from menura.runtime.native.build import why_not
from menura.runtime.native.codec import NativeDecoder
from menura.runtime.native.codec_layers import Conv, folded
from menura.runtime.native.codec_program import CodecMode
from tests.unit.engines.qwen3_tts.random_codec import (
    CODEBOOK_SIZE,
    N_CODEBOOKS,
    SAMPLES_PER_FRAME,
    random_codec,
)
from tests.unit.runtime.native import codec_twin

needs_kernels = pytest.mark.skipif(bool(why_not()), reason=why_not() or "native kernels run here")


def codes(n_frames: int, seed: int = 1) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, CODEBOOK_SIZE, (n_frames, N_CODEBOOKS))


def torch_decoder(codec: Codec) -> CodecDecoder:
    assert isinstance(codec.decoder, CodecDecoder)
    return codec.decoder


def native(codec: Codec, mode: CodecMode = CodecMode.EXACT) -> Codec:
    """The same codec with its decoder on the native kernels."""
    made = program(torch_decoder(codec), codec.config.decoder, mode)
    return Codec(lambda: codec.encoder, NativeCodecDecoder(NativeDecoder(made, 1)), codec.config)


def near(samples: FloatArray, wanted: FloatArray) -> None:
    np.testing.assert_allclose(samples, wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("window", [1, 3, 72])
def test_the_layers_are_the_decoder(window: int) -> None:
    codec = random_codec(window)
    listed = list(layers(torch_decoder(codec), codec.config.decoder))
    near(codec_twin.decode(listed, codes(9)), codec.decode(codes(9)))
    fewer = list(folded(listed))
    near(codec_twin.decode(fewer, codes(9)), codec.decode(codes(9)))
    assert sum(isinstance(layer, Conv) for layer in fewer) < sum(
        isinstance(layer, Conv) for layer in listed
    )


@needs_kernels
@pytest.mark.parametrize("n_frames", [0, 1, 299, 300, 301, 650])
def test_whole_clips_are_those_of_the_torch_decoder(n_frames: int) -> None:
    codec = random_codec()
    near(native(codec).decode(codes(n_frames)), codec.decode(codes(n_frames)))


@needs_kernels
@pytest.mark.parametrize("mode", list(CodecMode))
@pytest.mark.parametrize("size", [1, 4, 7, 310])
def test_a_stream_gives_the_same_samples_on_the_same_grid(size: int, mode: CodecMode) -> None:
    codec = native(random_codec(), mode)
    stream = codec.stream()
    pieces = [stream.decode(codes(310)[first : first + size]) for first in range(0, 310, size)]
    assert np.array_equal(np.concatenate(pieces), codec.decode(codes(310)))


@needs_kernels
@pytest.mark.parametrize("n_heard", [3, 290, 300, 340])
def test_a_stream_goes_on_from_what_it_has_only_heard(n_heard: int) -> None:
    codec = native(random_codec())
    decoded, heard = codec.stream(), codec.stream()
    decoded.decode(codes(360)[:n_heard])
    heard.hear(codes(360)[:n_heard])
    assert np.array_equal(heard.decode(codes(360)[n_heard:]), decoded.decode(codes(360)[n_heard:]))


@needs_kernels
def test_a_reference_is_decoded_once_for_all_its_utterances() -> None:
    codec, reference = native(random_codec()), codes(290)
    voice = codec.stream()
    voice.decode(reference)
    for seed in (5, 6):
        said = codes(40, seed)
        spoken = voice.copy()
        samples = np.concatenate([spoken.decode(said[:3]), spoken.decode(said[3:])])
        whole = codec.decode(np.concatenate([reference, said]))
        assert np.array_equal(samples, whole[290 * SAMPLES_PER_FRAME :])
    assert voice.n_frames == 290
