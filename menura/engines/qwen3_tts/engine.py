"""Qwen3-TTS as an engine: finds, describes and loads its checkpoints, and makes rows of requests.

Read in this order: `config.py`, `talker.py`, `code_predictor.py`, `codec.py`, `prompt.py`,
`generate.py`, then this file.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import nn

from menura.engines.contract import (
    Capability,
    EngineSpec,
    LoadArguments,
    Match,
    NoiseSource,
    Prompt,
    Stage,
    TensorShapes,
    VoicePrompt,
)
from menura.engines.qwen3_tts import accelerate, tensor_shapes, tiny, upstream_voices
from menura.engines.qwen3_tts.clip import LONGEST_SILENCE_S
from menura.engines.qwen3_tts.config import Qwen3TTSConfig
from menura.engines.qwen3_tts.config_files import read_config
from menura.engines.qwen3_tts.decoder import QwenDecoder
from menura.engines.qwen3_tts.description import ENGINE, spec_of
from menura.engines.qwen3_tts.footprint import working_bytes
from menura.engines.qwen3_tts.live_row import Loaded, Utterance
from menura.engines.qwen3_tts.native_rows import MAX_ROWS
from menura.engines.qwen3_tts.options import GenerationOptions, resolve
from menura.engines.qwen3_tts.playout import ReferenceStreams
from menura.engines.qwen3_tts.prompt import CODES, Layout, Wording, build
from menura.engines.qwen3_tts.tokenizer import read_tokenizer
from menura.engines.qwen3_tts.voice_encoder import VoiceEncoder, check_prompt, fingerprint_of
from menura.errors import InvalidValueError, UnsupportedError, did_you_mean
from menura.runtime.torch_devices import EXACT
from menura.runtime.torch_noise import TorchNoise
from menura.speech import Manner, Reference

SILENCE = "reference_silence_s"
# Silence after a reference, so that what is spoken starts from a pause.
SILENCE_S = 0.5
_MODEL_TYPE = "qwen3_tts"


class Qwen3TTSEngine:
    """A loaded checkpoint. Its parts stay the plain modules that they are."""

    def __init__(self, folder: Path, arguments: LoadArguments) -> None:
        is_exact = arguments.precision == EXACT
        self._silence_s = _silence_s(arguments.extra, is_exact=is_exact)
        self.config = read_config(folder)
        self.tokenizer = read_tokenizer(folder, self.config)
        fingerprint = fingerprint_of(folder)
        self.running = accelerate.load(folder, self.config, fingerprint, arguments)
        self.models = self.running.models
        self.codec = self.running.codec
        max_rows = MAX_ROWS if self.running.is_native else 1
        self._spec = spec_of(self.config, fingerprint, max_rows)
        self._is_exact = is_exact
        self._references = ReferenceStreams(self.codec)

    @classmethod
    def recognises(cls, folder: Path) -> Match | None:
        """The claim on a folder whose `config.json` names this kind of model."""
        try:
            found = json.loads((folder / "config.json").read_text("utf-8"))
        except (OSError, ValueError, RecursionError):  # no JSON, or nested without end
            return None
        if not isinstance(found, dict) or found.get("model_type") != _MODEL_TYPE:
            return None
        return Match(ENGINE, f"its config.json has the model_type {_MODEL_TYPE!r}")

    @classmethod
    def describe(cls, folder: Path | None, extra: Mapping[str, object]) -> EngineSpec:
        """The spec of the checkpoint in a folder. Raises: ModelFilesError, InvalidValueError."""
        _silence_s(extra, is_exact=False)
        found = _given(folder)
        return spec_of(read_config(found), fingerprint_of(found), accelerate.rows_that_pay())

    @classmethod
    def load(cls, folder: Path | None, arguments: LoadArguments) -> "Qwen3TTSEngine":
        """The loaded checkpoint.

        Raises: ModelFilesError; InvalidValueError: an argument, device or precision that there is
            not; UnsupportedError: a device that is not here.
        """
        if arguments.threads is not None:
            torch.set_num_threads(arguments.threads)
        return cls(_given(folder), arguments)

    @classmethod
    def saved_voices(cls, folder: Path | None, path: Path) -> tuple[VoicePrompt, ...]:
        """The voices of a prompt file that upstream saved, for the checkpoint in `folder`.

        Raises: UnsupportedError: this model cannot clone; InvalidValueError: the file is not one,
            or holds more than plain tensors and texts; ModelFilesError.
        """
        return _saved_voices(path, read_config(_given(folder)), cls.describe(folder, {}))

    @classmethod
    def tiny(cls, folder: Path) -> Path | None:
        """The folder, with a random Base model of the published layout in it."""
        return tiny.write(folder)

    @classmethod
    def expected_tensors(cls, folder: Path) -> Mapping[str, TensorShapes]:
        """The tensors of the model and of its codec, with their shapes. Raises: ModelFilesError."""
        return tensor_shapes.expected_tensors(folder)

    @property
    def spec(self) -> EngineSpec:
        """What this checkpoint is and can do."""
        return self._spec

    @property
    def parts(self) -> Mapping[str, nn.Module]:
        """The modules by name.

        In a fast mode they are mapped now, with their numbers as the files store them, and what
        runs is a packed copy.

        Raises: ModelFilesError: the files have changed since the model was loaded.
        """
        loaded = self.running.parts()
        parts: dict[str, nn.Module] = {
            "talker": loaded.talker,
            "code_predictor": loaded.code_predictor,
            "codec_encoder": loaded.codec_encoder,
            "codec_decoder": loaded.codec_decoder,
        }
        if loaded.speaker_encoder is not None:
            parts["speaker_encoder"] = loaded.speaker_encoder
        return parts

    @property
    def stages(self) -> Mapping[Stage, tuple[str, ...]]:
        """The parts that each stage needs."""
        speaker = ("speaker_encoder",) if self.config.speaker_encoder else ()
        return {
            Stage.VOICE: (*speaker, "codec_encoder"),
            Stage.GENERATE: ("talker", "code_predictor"),
            Stage.AUDIO: ("codec_decoder",),
        }

    @property
    def applied(self) -> Mapping[str, object]:
        """How it runs. Without `exact`, an utterance is watched."""
        return {**self.running.applied, "watched": not self._is_exact}

    def encode_voice(self, reference: Reference, mode: str) -> VoicePrompt:
        """The voice of a recording, in context where its transcript is known.

        Raises: UnsupportedError: this model cannot clone; InvalidValueError, AudioTooLargeError.
        """
        prompt = self._voice_encoder().encode(reference, mode)
        codes = prompt.arrays.get(CODES)
        if self.running.is_native and codes is not None:
            # Else the first words in this voice would wait for it.
            self._references.start(codes.astype(np.int64, copy=False))
        return prompt

    def import_voices(self, path: Path) -> tuple[VoicePrompt, ...]:
        """The voices of a prompt file that upstream saved; this model must be the one they are of.

        Raises: UnsupportedError: this model cannot clone; InvalidValueError: the file is not one,
            or holds more than plain tensors and texts.
        """
        return _saved_voices(path, self.config, self._spec)

    def build_prompt(self, text: str | None, manner: Manner) -> Utterance:
        """The utterance for one segment; `text` is None where it comes later, in pieces.

        Raises: UnsupportedError: the voice is of another model, or this model cannot clone;
            InvalidValueError: the options contradict each other, or the voice is not sound.
        """
        self._check_voice(manner.voice)
        options = manner.options
        assert isinstance(options, GenerationOptions)
        if self._is_exact and options.retries:
            raise InvalidValueError(
                f"retries={options.retries} is not allowed with precision='exact', which draws "
                "once, as upstream does: leave it out, or load with precision='auto'.",
                param="retries",
            )
        shows_whole_text = self.config.variant != "base" and text is not None
        generation = resolve(options, self.config.generation, non_streaming_mode=shows_whole_text)
        layout = Layout.WHOLE if generation.non_streaming_mode else Layout.STREAMING
        wording = Wording(layout, generation.parse_special_tokens)
        plan = build(text, manner, self.config, self.tokenizer, wording)
        applied = {**plan.applied, "options": dict(generation.applied)}
        if isinstance(manner.voice, VoicePrompt):
            applied["voice_mode"] = manner.voice.mode
        return Utterance(text=text, applied=applied, plan=plan, generation=generation)

    def noise(self, seed: int) -> NoiseSource:
        """The row's randomness for a seed: that of upstream after `torch.manual_seed`."""
        return TorchNoise(seed)

    def decoder(self, rows: int) -> QwenDecoder:
        """A decoder with this many rows, all free."""
        return QwenDecoder(
            Loaded(
                self.config, self.tokenizer, self.models, self.running.frames, self.codec,
                self._references,
                is_exact=self._is_exact,
                apart=self.running.is_native,
                helper=self.running.helper,
            ),
            rows,
        )  # fmt: skip

    def working_bytes(self, stage: Stage, prompt: Prompt) -> int:
        """An upper estimate of the stage's memory beside the weights, in bytes."""
        assert isinstance(prompt, Utterance)
        return working_bytes(stage, prompt, self.config)

    def _voice_encoder(self) -> VoiceEncoder:
        """What makes voices. Raises: UnsupportedError: this model cannot clone."""
        speaker_encoder = self.running.speaker_encoder()
        if speaker_encoder is None:
            raise _cannot_clone(self._spec)
        return VoiceEncoder(speaker_encoder, self.codec, self._spec.fingerprint, self._silence_s)

    def _check_voice(self, voice: str | VoicePrompt | None) -> None:
        """Nothing, or an error for a voice that other weights made."""
        if not isinstance(voice, VoicePrompt):
            return
        if not self._spec.clones:
            choices = self._spec.voice_choices()
            raise UnsupportedError(
                f"{self._spec.model!r} cannot speak like a recording. Speak with the Base model "
                f"that made this voice, or choose a voice of this model: {choices}.",
                param="voice",
                needs=Capability.CLONE,
            )
        if voice.fingerprint != self._spec.fingerprint:
            raise UnsupportedError(
                "the voice was made by other weights than those that are loaded; make it again "
                "with tts.voice(clip).",
                param="voice",
            )
        check_prompt(voice, self.config)


def _saved_voices(path: Path, config: Qwen3TTSConfig, spec: EngineSpec) -> tuple[VoicePrompt, ...]:
    if not spec.clones:
        raise _cannot_clone(spec)
    prompts = upstream_voices.read(path, spec.fingerprint)
    for prompt in prompts:
        check_prompt(prompt, config)
    return prompts


def _cannot_clone(spec: EngineSpec) -> UnsupportedError:
    return UnsupportedError(
        f"{spec.model!r} cannot speak like a recording; a Base model can.",
        param="voice",
        needs=Capability.CLONE,
    )


def _given(folder: Path | None) -> Path:
    assert folder is not None, "a checkpoint is a folder"
    return folder


def _silence_s(extra: Mapping[str, object], *, is_exact: bool) -> float:
    """The silence after a reference in seconds, from the arguments of `load`.

    Raises: InvalidValueError: another argument, or a value out of range.
    """
    for name in extra.keys() - {SILENCE}:
        raise InvalidValueError(
            f"{name!r} is not an argument of Qwen3-TTS, which has: {SILENCE}."
            + did_you_mean(name, [SILENCE]),
            param=name,
        )
    given = extra.get(SILENCE, 0.0 if is_exact else SILENCE_S)
    seconds = float(given) if isinstance(given, int | float) else -1.0
    if isinstance(given, bool) or not 0 <= seconds <= LONGEST_SILENCE_S:
        raise InvalidValueError(
            f"{SILENCE}={given!r} is not allowed: it must be a number from 0 to "
            f"{LONGEST_SILENCE_S:g} (seconds).",
            param=SILENCE,
        )
    return seconds
