"""How a checkpoint runs: in torch, or its transformers and codec in the CPU's native kernels.

In the kernels the weights are packed, once for each mode, into files of the cache; what is left for
torch is small. Where the kernels cannot run, the reason is logged and reported, and torch does all:
in 8 bits if it can, else in float32.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch

from menura.engines.contract import LoadArguments
from menura.engines.qwen3_tts import accelerate_codec, accelerate_torch, weights
from menura.engines.qwen3_tts.accelerate_codec import NativeCodecDecoder
from menura.engines.qwen3_tts.codec import Codec
from menura.engines.qwen3_tts.codec_helper import CodecHelper
from menura.engines.qwen3_tts.config import Qwen3TTSConfig
from menura.engines.qwen3_tts.generate import Models, OneByOne
from menura.engines.qwen3_tts.native_rows import MAX_ROWS, N_SLOTS, NativeRows
from menura.engines.qwen3_tts.prefix_states import PrefixStates
from menura.engines.qwen3_tts.speaker_encoder import SpeakerEncoder
from menura.engines.qwen3_tts.stored_weights import StoredWeights
from menura.engines.qwen3_tts.utterance_row import FrameMaker
from menura.engines.qwen3_tts.weights import Parts
from menura.errors import UnsupportedError
from menura.runtime import devices
from menura.runtime.devices import usable_cores
from menura.runtime.native import build, codec_program, frame, packing
from menura.runtime.native.codec import NativeDecoder, aligned
from menura.runtime.native.codec_program import CodecMode, Program
from menura.runtime.native.frame import FrameSizes, FrameStep
from menura.runtime.native.packing import Origin, Packed, Source
from menura.runtime.torch_devices import AUTO, EXACT, NATIVE, choose_device, choose_dtype

# What `auto` takes: the fastest mode within the bounds of `tests/speed/test_qwen3_tts_quality.py`.
AUTO_MODE = "int8"
# What the kernels call it. Of all that is read for a frame, the code predictor is three quarters:
# in 4 bits it saves most, and 4 bits for the talker as well would lose too much.
_KERNEL_MODES = {"bf16": "bf16", "int8": "int8", "int4": "int8-int4"}


@dataclass(frozen=True)
class Bounds:
    """How far a mode may be from float32.

    `score_error`: the scores' distance over their length. `cosine`: the least of any layer's states
    and of any position. `codec_db`: the samples' distance from the exact codec's, below them.
    """

    score_error: float
    cosine: float
    codec_db: float = 35.0


BOUNDS: Mapping[str, Bounds] = {
    "bf16": Bounds(score_error=0.01, cosine=0.999),
    "int8": Bounds(score_error=0.03, cosine=0.999),
}
# On more threads a piece takes less time than it would beside the talker, which then waits for it.
_MOST_LENDING = 4
_NAMES = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Running:
    """A loaded checkpoint: what reads prompts, who makes frames and samples, and how, in words.

    `parts` gives all parts, `speaker_encoder` the one that voices need; in the kernels they are
    mapped when they are asked for. `is_native`: frames of many rows pay together, and prompts that
    begin alike are known. `helper`: who decodes pieces beside the talker, where that pays.
    """

    models: Models
    parts: Callable[[], Parts]
    speaker_encoder: Callable[[], SpeakerEncoder | None]
    frames: FrameMaker
    codec: Codec
    applied: Mapping[str, object]
    is_native: bool
    helper: CodecHelper | None = None


def load(
    folder: Path, config: Qwen3TTSConfig, fingerprint: str, arguments: LoadArguments
) -> Running:
    """The checkpoint, running as the arguments ask. `fingerprint` names its packed files.

    Raises: ModelFilesError; InvalidValueError: there is no such device; UnsupportedError: the
        device is not here, or cannot run in the precision.
    """
    device = choose_device(arguments.device)
    mode = native_mode(arguments.precision, device)
    if mode is None:
        return _in_torch(folder, config, arguments.precision, device)
    try:
        return _in_kernels(folder, config, fingerprint, mode, arguments.threads or usable_cores())
    except UnsupportedError as error:
        why = error.message
    running, why = _without_kernels(folder, config, arguments.precision, why)
    how = running.applied["precision"]
    _log.warning("Qwen3-TTS runs in torch (%s), slower than in its native kernels: %s", how, why)
    return replace(running, applied={**running.applied, "fallback": why})


def _without_kernels(
    folder: Path, config: Qwen3TTSConfig, precision: str, why: str
) -> tuple[Running, str]:
    """What torch makes of a precision of the kernels, which are not here, and why not more.

    Raises: UnsupportedError: only the kernels have it.
    """
    if precision in (AUTO, AUTO_MODE):
        lacking = devices.why_no_int8()
        if not lacking:
            return _in_int8(folder, config), why
        why = f"{why}; and {lacking}"
    if precision in NATIVE:
        raise UnsupportedError(
            f"precision {precision!r} runs in native kernels, and here {why}. "
            "Without them, precision='fp32' and 'exact' run everywhere.",
            param="precision",
        )
    return _in_torch(folder, config, precision, torch.device("cpu")), why


def native_mode(precision: str, device: torch.device) -> str | None:
    """The kernels' mode for a precision on a device; None where torch runs it.

    Raises: UnsupportedError: the precision is one of the kernels', and the device is no CPU.
    """
    if device.type == "cpu":
        return AUTO_MODE if precision == AUTO else precision if precision in _KERNEL_MODES else None
    if precision in NATIVE:
        raise UnsupportedError(
            f"precision {precision!r} runs on the CPU, and the device is {device}: leave precision "
            "out, or use device='cpu'.",
            param="precision",
        )
    return None


def rows_that_pay() -> int:
    """How many rows move together in the mode that `auto` takes on this machine."""
    is_native = choose_device(AUTO).type == "cpu" and not frame.why_not()
    return MAX_ROWS if is_native else 1


def _in_torch(
    folder: Path, config: Qwen3TTSConfig, precision: str, device: torch.device
) -> Running:
    dtype = choose_dtype(precision, device)
    # The codec stays in float32: its snakes hold exponentials of their weights.
    parts = weights.load(folder, config, device, dtype, codec_dtype=torch.float32)
    applied = {
        "device": str(parts.talker.codec_head.weight.device),
        "precision": EXACT if precision == EXACT else _NAMES[dtype],
        "path": "torch",
        "threads": torch.get_num_threads(),
    }
    return _of_parts(parts, config, applied)


def _in_int8(folder: Path, config: Qwen3TTSConfig) -> Running:
    """The transformers in torch with weights of 8 bits."""
    parts = accelerate_torch.in_int8(StoredWeights(folder, config))
    applied = {
        "device": "cpu",
        "precision": "int8",
        "path": "torch",
        "threads": torch.get_num_threads(),
        "codec": accelerate_torch.quicken(parts.codec_decoder),
    }
    return _of_parts(parts, config, applied)


def _of_parts(parts: Parts, config: Qwen3TTSConfig, applied: Mapping[str, object]) -> Running:
    """Modules of torch, which make the frames of one row after another."""
    models = Models(parts.talker, parts.code_predictor)
    return Running(
        models=models,
        parts=lambda: parts,
        speaker_encoder=lambda: parts.speaker_encoder,
        frames=OneByOne(models),
        codec=Codec(lambda: parts.codec_encoder, parts.codec_decoder, config.codec),
        applied=applied,
        is_native=False,
    )


def _in_kernels(
    folder: Path, config: Qwen3TTSConfig, fingerprint: str, mode: str, n_threads: int
) -> Running:
    if why := frame.why_not():
        raise UnsupportedError(why)
    build.library()  # a compiler that fails does so before gigabytes are packed
    stored = StoredWeights(folder, config)
    place = packing.folder() / fingerprint
    digest = stored.digest()
    decoder = _packed_decoder(place, stored, config, digest)
    packed = _packed_models(place, stored, config, mode, digest)
    step = FrameStep(frame_sizes(config), _KERNEL_MODES[mode], packed.arrays, n_threads)
    program = _program(decoder)
    native_decoder = NativeCodecDecoder(NativeDecoder(program, n_threads))
    helper = _helper(program, n_threads) if 1 < n_threads <= _MOST_LENDING else None
    applied: dict[str, object] = {
        "device": "cpu",
        "precision": mode,
        "path": f"native {step.body}",
        "threads": n_threads,
        "codec": str(program.mode),
    }
    if packed.not_kept or decoder.not_kept:
        applied["packed_again_next_time"] = packed.not_kept or decoder.not_kept
    return Running(
        models=stored.prompt_models(),
        parts=lambda: stored.parts,
        speaker_encoder=lambda: stored.speaker_encoder,
        frames=NativeRows(step, config.talker, PrefixStates()),
        codec=Codec(lambda: stored.codec_encoder, native_decoder, config.codec),
        applied=applied,
        is_native=True,
        helper=helper,
    )


def _helper(program: Program, n_threads: int) -> CodecHelper:
    """A second decoder with the same weights, for the core that the threads lend."""
    decoder = NativeDecoder(program, n_threads)
    return CodecHelper(NativeCodecDecoder(decoder, is_beside=True), decoder)


def frame_sizes(config: Qwen3TTSConfig) -> FrameSizes:
    """The sizes that the kernels are told."""
    predictor = config.talker.code_predictor
    return FrameSizes(
        talker=config.talker.transformer,
        predictor=predictor.transformer,
        n_codebooks=config.talker.n_codebooks,
        talker_vocab_size=config.talker.codec_vocab_size,
        codebook_size=predictor.codebook_size,
        max_rows=MAX_ROWS,
        n_slots=N_SLOTS,
    )


def _packed_models(
    place: Path, stored: StoredWeights, config: Qwen3TTSConfig, mode: str, digest: str
) -> Packed:
    """Talker and code predictor in the kernels' order."""
    sizes, kind = frame_sizes(config), _KERNEL_MODES[mode]

    def sources() -> Sequence[Source]:
        stored.check()
        return [
            Source(entry.name, entry.n_bytes, partial(frame.pack, entry, stored.read, sizes, kind))
            for entry in frame.layout(sizes, kind)
        ]

    origin = Origin(f"lm {frame.KERNEL_VERSION}", kind, digest)
    return packing.opened(Path(f"{place}-{mode}.packed"), origin, sources)


def _packed_decoder(
    place: Path, stored: StoredWeights, config: Qwen3TTSConfig, digest: str
) -> Packed:
    """The codec's decoder as the kernels' program."""

    def sources() -> Sequence[Source]:
        stored.check()
        decoder = stored.codec_decoder()
        made = accelerate_codec.program(decoder, config.codec.decoder, CodecMode.BF16)
        arrays = {"ops": made.ops.view("u1").reshape(-1), "weights": made.weights}
        return [Source(name, len(array), partial(_same, array)) for name, array in arrays.items()]

    origin = Origin(f"codec {codec_program.PROGRAM_VERSION}", str(CodecMode.BF16), digest)
    return packing.opened(Path(f"{place}-codec.packed"), origin, sources)


def _program(packed: Packed) -> Program:
    ops = packed.arrays["ops"].view(codec_program.OP)
    return Program(CodecMode.BF16, ops, aligned(packed.arrays["weights"]))


def _same(array: packing.Bytes) -> packing.Bytes:
    return array
