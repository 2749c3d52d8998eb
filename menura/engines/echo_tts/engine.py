"""Echo-TTS as an engine: finds, describes and loads its checkpoints, and makes rows of requests.

Read in this order: `config.py`, `encoders.py`, `dit.py`, `autoencoder.py`, `latents.py`,
`prompt.py`, `generate.py`, then this file.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import nn

from menura.engines.contract import (
    EngineSpec,
    LoadArguments,
    Match,
    NoiseSource,
    Prompt,
    Stage,
    TensorShapes,
    VoicePrompt,
)
from menura.engines.echo_tts import tensor_shapes, tiny, weights
from menura.engines.echo_tts.accelerate import accelerate, dtype_of
from menura.engines.echo_tts.autoencoder import Autoencoder
from menura.engines.echo_tts.config_files import read_config
from menura.engines.echo_tts.decoder import ROW_TOLERANCES, EchoDecoder
from menura.engines.echo_tts.description import ENGINE, spec_of
from menura.engines.echo_tts.footprint import working_bytes
from menura.engines.echo_tts.live_row import Loaded
from menura.engines.echo_tts.model_files import (
    AUTOENCODER_FOLDER,
    PCA_FILE,
    find_autoencoder,
    is_echo,
)
from menura.engines.echo_tts.options import AUTO, FULL, EchoOptions
from menura.engines.echo_tts.playout import Decoding
from menura.engines.echo_tts.prompt import EchoPrompt, Running, build
from menura.engines.echo_tts.schedule import Schedules
from menura.engines.echo_tts.tokenizer import EchoTokenizer
from menura.engines.echo_tts.voice_encoder import EchoVoiceEncoder, check_prompt, fingerprint_of
from menura.engines.echo_tts.voice_keys import VoiceKeys
from menura.errors import InvalidValueError, ModelFilesError, UnsupportedError, did_you_mean
from menura.runtime.torch_devices import EXACT, choose_device
from menura.runtime.torch_noise import TorchNoise
from menura.speech import Manner, Reference

AUTOENCODER = "autoencoder"
_BLOCKWISE = ("block_sizes", "continue_segments")


class EchoTTSEngine:
    """A loaded checkpoint. Its parts stay the plain modules that they are."""

    def __init__(self, folder: Path, arguments: LoadArguments) -> None:
        is_exact = arguments.precision == EXACT
        device = choose_device(arguments.device)
        dtype = dtype_of(arguments.precision, device)
        beside = _autoencoder_folder(folder, arguments.extra)
        self.config = read_config(folder, beside)
        self.tokenizer = EchoTokenizer()
        # The autoencoder stays in float32, the format of its file.
        parts = weights.load(folder, beside, self.config, device, dtype, codec_dtype=torch.float32)
        self.autoencoder = Autoencoder(
            parts.encoder, parts.quantizer, parts.decoder, self.config.autoencoder
        )
        self.dit = parts.dit
        self._linear = accelerate(parts.dit, is_exact=is_exact)
        self._parts = parts
        self._is_exact = is_exact
        self._dtype = dtype
        self._device = device
        self._autoencoder_fingerprint = weights.autoencoder_fingerprint(beside)
        self._spec = spec_of(self.config, fingerprint_of(folder, beside))
        self._loaded = Loaded(
            config=self.config,
            dit=parts.dit,
            schedules=Schedules(parts.dit),
            voices=VoiceKeys(parts.dit),
            decoding=Decoding(self.autoencoder, parts.projection),
            is_exact=is_exact,
        )
        self._voices = EchoVoiceEncoder(
            self.autoencoder, parts.projection, self._spec.fingerprint, is_exact=is_exact
        )

    @classmethod
    def recognises(cls, folder: Path) -> Match | None:
        """The claim on a folder that holds the transformer, or the projection of its latents.

        What is missing or damaged there, loading says.
        """
        if not is_echo(folder):
            return None
        has_pca = (folder / PCA_FILE).is_file()
        return Match(
            ENGINE, f"it holds {PCA_FILE}" if has_pca else "its tensors have the names of Echo-TTS"
        )

    @classmethod
    def describe(cls, folder: Path | None, extra: Mapping[str, object]) -> EngineSpec:
        """The spec of the checkpoint in a folder. Raises: ModelFilesError, InvalidValueError."""
        found = _given(folder)
        beside = _autoencoder_folder(found, extra)
        return spec_of(read_config(found, beside), fingerprint_of(found, beside))

    @classmethod
    def load(cls, folder: Path | None, arguments: LoadArguments) -> "EchoTTSEngine":
        """The loaded checkpoint.

        Raises: ModelFilesError; InvalidValueError: an argument, device or precision that there is
            not; UnsupportedError: a device that is not here.
        """
        if arguments.threads is not None:
            torch.set_num_threads(arguments.threads)
        return cls(_given(folder), arguments)

    @classmethod
    def saved_voices(cls, folder: Path | None, path: Path) -> tuple[VoicePrompt, ...]:
        """Never a voice. Raises: UnsupportedError: upstream saves none."""
        del folder, path
        raise UnsupportedError(
            "Echo-TTS has no saved prompts of its own: make the voice from its recording.",
            param="model",
        )

    @classmethod
    def tiny(cls, folder: Path) -> Path | None:
        """The folder, with a random model of the published layout and its autoencoder in it."""
        return tiny.write(folder)

    @classmethod
    def expected_tensors(cls, folder: Path) -> Mapping[str, TensorShapes]:
        """The tensors of the model and of its autoencoder, with their shapes.

        Raises: ModelFilesError.
        """
        return tensor_shapes.expected_tensors(folder)

    @property
    def spec(self) -> EngineSpec:
        """What this checkpoint is and can do."""
        return self._spec

    @property
    def parts(self) -> Mapping[str, nn.Module]:
        """The modules by name."""
        return {
            "dit": self.dit,
            "autoencoder_encoder": self.autoencoder.encoder,
            "quantizer": self.autoencoder.quantizer,
            "autoencoder_decoder": self.autoencoder.decoder,
        }

    @property
    def stages(self) -> Mapping[Stage, tuple[str, ...]]:
        """The parts that each stage needs."""
        return {
            Stage.VOICE: ("autoencoder_encoder", "quantizer"),
            Stage.GENERATE: ("dit",),
            Stage.AUDIO: ("quantizer", "autoencoder_decoder"),
        }

    @property
    def applied(self) -> Mapping[str, object]:
        """How it runs, and how far rows that run together may differ from each alone."""
        return {
            "device": str(self._device),
            "precision": EXACT if self._is_exact else str(self._dtype).removeprefix("torch."),
            "threads": torch.get_num_threads(),
            "linear": self._linear,
            "row_tolerance": ROW_TOLERANCES[self._dtype],
            "autoencoder_fingerprint": self._autoencoder_fingerprint,
        }

    def encode_voice(self, reference: Reference, mode: str) -> VoicePrompt:
        """The voice of a recording: its latents. Raises: InvalidValueError, AudioTooLargeError."""
        return self._voices.encode(reference, mode)

    def build_prompt(self, text: str | None, manner: Manner) -> EchoPrompt:
        """The utterance for one segment.

        Raises: UnsupportedError: the voice is of other weights, or the checkpoint has no blockwise
            tensors; InvalidValueError: the options contradict each other or the text, or the voice
            is not sound.
        """
        assert text is not None, "the model needs the whole text before it speaks"
        options = manner.options
        assert isinstance(options, EchoOptions)
        self._check_voice(manner.voice)
        self._check_retries(options)
        self._check_blockwise(options)
        prompt = build(text, manner, self._running)
        if prompt.settings.block_sizes is not None:
            self._parts.load_blockwise()
            accelerate(self.dit, is_exact=self._is_exact)
        return prompt

    def noise(self, seed: int) -> NoiseSource:
        """The row's randomness for a seed: that of upstream's generator on the CPU."""
        return TorchNoise(seed)

    def decoder(self, rows: int) -> EchoDecoder:
        """A decoder with this many rows, all free."""
        return EchoDecoder(self._loaded, rows)

    def working_bytes(self, stage: Stage, prompt: Prompt) -> int:
        """An upper estimate of the stage's memory beside the weights, in bytes."""
        assert isinstance(prompt, EchoPrompt)
        return working_bytes(stage, prompt, self.config)

    @property
    def _running(self) -> Running:
        """What prompts depend on: on a CPU 30 s of latents for a word would take minutes."""
        is_slow = self._device.type == "cpu" and not self._is_exact
        return Running(self.config, self.tokenizer, AUTO if is_slow else FULL, self._is_exact)

    def _check_voice(self, voice: str | VoicePrompt | None) -> None:
        """Nothing, or an error for a voice that other weights made, or that is not sound."""
        if not isinstance(voice, VoicePrompt):
            return
        if voice.fingerprint != self._spec.fingerprint:
            raise UnsupportedError(
                "the voice was made by other weights than those that are loaded; make it again "
                "with tts.voice(clip).",
                param="voice",
            )
        check_prompt(voice, self.config)

    def _check_retries(self, options: EchoOptions) -> None:
        if self._is_exact and options.retries:
            raise InvalidValueError(
                f"retries={options.retries} is not allowed with precision='exact', which draws "
                "once, as upstream does: leave it out, or load with precision='auto'.",
                param="retries",
            )

    def _check_blockwise(self, options: EchoOptions) -> None:
        """Nothing, or UnsupportedError where blocks are asked of a checkpoint without them."""
        asked = [name for name in _BLOCKWISE if getattr(options, name)]
        if asked and not self._parts.has_blockwise:
            raise UnsupportedError(
                f"{asked[0]} needs the model's tensors for earlier latents, and this checkpoint "
                f"was saved without them: leave {asked[0]} out, or load the whole echo-tts-base.",
                param=asked[0],
            )


def _given(folder: Path | None) -> Path:
    assert folder is not None, "a checkpoint is a folder"
    return folder


def _autoencoder_folder(folder: Path, extra: Mapping[str, object]) -> Path:
    """The autoencoder's folder: the one that was given, else the one inside or beside the model's.

    Raises: InvalidValueError: another argument, or no path; ModelFilesError: there is none.
    """
    for name in extra.keys() - {AUTOENCODER}:
        raise InvalidValueError(
            f"{name!r} is not an argument of Echo-TTS, which has: {AUTOENCODER}."
            + did_you_mean(name, [AUTOENCODER]),
            param=name,
        )
    given = extra.get(AUTOENCODER)
    if given is None:
        return _found_autoencoder(folder)
    if not isinstance(given, (str, os.PathLike)) or not os.fspath(given):
        raise InvalidValueError(
            f"{AUTOENCODER}={given!r} is not allowed: it must be the folder of the autoencoder.",
            param=AUTOENCODER,
        )
    found = Path(os.fsdecode(given)).expanduser()
    if not found.is_dir():
        raise InvalidValueError(
            f"{AUTOENCODER}={str(given)!r} is no folder: give the folder of {AUTOENCODER_FOLDER}.",
            param=AUTOENCODER,
        )
    return found


def _found_autoencoder(folder: Path) -> Path:
    found = find_autoencoder(folder)
    if found is None:
        raise ModelFilesError(
            f"Echo-TTS needs the autoencoder, and a folder {AUTOENCODER_FOLDER!r} is neither in "
            f"{folder} nor beside it: put one there, or bring both with: menura models pull "
            f"echo-tts-base (in Python, {AUTOENCODER}=... of load may name any folder)."
        )
    return found
