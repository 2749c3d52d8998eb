"""Our side of the comparison, as its own process too, so that both have the same threads.

    python -m tests.parity.echo_tts.our_side JOB.json INPUTS.npz OUT_FOLDER

Whole requests are calls of the public `speak`; the other groups ask the modules themselves.
"""

import json
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import torch
from numpy.typing import NDArray
from torch import Tensor

import menura
from menura.engines.echo_tts.voice_encoder import heard
from menura.references import reference
from tests.parity.echo_tts import cases, recorded
from tests.parity.echo_tts.our_model import (
    Arrays,
    FloatArray,
    block_arrays,
    codec_arrays,
    load,
)

PATCH = 4  # the frames that the speaker encoder reads as one position


class BatchRow:
    """A row's share of the noise that upstream draws for a whole batch."""

    def __init__(self, seed: int, row: int, n_rows: int) -> None:
        self.seed = seed
        self._row, self._n_rows = row, n_rows
        self._generator = torch.Generator().manual_seed(seed)

    def draw(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """The row's next numbers [shape]."""
        del name
        whole = torch.randn((self._n_rows, *shape[-2:]), generator=self._generator)
        return whole[self._row].reshape(shape)


class OurSide:
    """Our loaded models, and the job with its inputs."""

    def __init__(self, job: Mapping[str, Any], inputs: Arrays) -> None:
        self._job, self._inputs = job, inputs
        root = Path(job["root"]) / "jordand"
        self._folders = root / "echo-tts-base", root / "fish-s1-dac-min"
        self._model = load(*self._folders)

    def text(self) -> Arrays:
        """The ids and the words of each text, with and without normalising."""
        tokenizer = self._model.tokenizer
        found: Arrays = {}
        for i, text in enumerate(self._job["texts"]):
            for normalize in (True, False):
                ids = tokenizer.encode(text, normalize=normalize)
                words = tokenizer.normalized(text) if normalize else text
                found[f"ids.{i}.{normalize}"] = np.array(ids, np.int64)
                found[f"words.{i}.{normalize}"] = np.frombuffer(words.encode(), np.uint8)
        for i, (text, limit) in enumerate(self._job["cut"]):
            found[f"cut.{i}"] = np.array(tokenizer.encode(text, max_bytes=limit), np.int64)
        return found

    def codec(self) -> Arrays:
        """Every stage of the codec."""
        return codec_arrays(self._model, self._inputs)

    def speakers(self) -> Arrays:
        """The latents [T, C] of each reference, as long as upstream's options let it be."""
        found: Arrays = {}
        frame = self._model.config.autoencoder.samples_per_frame
        for name, (clip, options) in self._job["speakers"].items():
            most = options.get("max_speaker_latent_length", 6400) * frame
            found[name] = self._model.speaker(self._clip(clip)[:most])
        return found

    def blocks(self) -> Arrays:
        """The conditioning, the keys and values, and every trunk module at one time."""
        return block_arrays(self._model, {**self._inputs, "speaker": self._speaker()})

    def sampler(self) -> Arrays:
        """The latents [T, C] of each set of options, of another seed, a batch, and no speaker."""
        model, speaker = self._model, self._speaker()
        conditions = model.conditions(cases.TEXT, speaker)
        found: Arrays = {
            name: model.sample(cases.SAMPLER[name], conditions) for name in self._job["sampler"]
        }
        if "base" not in found:
            return found
        found["seed_1234"] = model.sample(cases.BASE, conditions, 1234)
        found["no_speaker"] = model.sample(cases.BASE, model.conditions(cases.TEXT, None))
        rows = [
            (model.conditions(text, speaker), BatchRow(0, row, len(cases.BATCH)))
            for row, text in enumerate(cases.BATCH)
        ]
        found["batch"] = np.stack(model.sample_rows(cases.BASE, rows))
        return found

    def blockwise(self) -> Arrays:
        """The latents [T, C] of blocks, with and without a continuation, and of joint guidance."""
        model, speaker = self._model, self._speaker()
        found: Arrays = {}
        for name, (options, n_before) in cases.BLOCKWISE.items():
            before = self._floats(f"continuation_{n_before}") if n_before else None
            found[name] = model.sample(options, model.conditions(cases.TEXT, speaker, before))
        found["joint"] = model.sample({"guidance": "joint"}, model.conditions(cases.TEXT, speaker))
        return found

    def resampled(self) -> Arrays:
        """What we read from each recorded file of another rate, [n]."""
        kept = recorded.read("files")
        return {
            name: heard_file(kept[f"{name}.file"], rate_hz)
            for name, rate_hz in cases.RESAMPLED.items()
        }

    def bf16(self) -> Arrays:
        """The latents [T, C] of two sets of options, with the transformer in bfloat16."""
        speaker = self._speaker()
        model = load(*self._folders, torch.bfloat16)
        conditions = model.conditions(cases.TEXT, speaker)
        return {name: model.sample(cases.SAMPLER[name], conditions) for name in self._job["bf16"]}

    def pipeline(self) -> Arrays:
        """Latents [T, C] and samples [n] of whole requests."""
        folder, codec_folder = self._folders
        tts = menura.load(folder, autoencoder=codec_folder, device="cpu", precision="exact")
        found: Arrays = {}
        for name in self._job["pipeline"]:
            case = cases.PIPELINE[name]
            if "pad_to_max_speaker_latent_length" in case.upstream:
                latents, samples = self._padded(case)
            else:
                latents, samples = self._spoken(tts, case)
            found |= {f"{name}.latents": latents, f"{name}.samples": samples}
        return found

    def files(self) -> Arrays:
        """What we read from each audio file of 44.1 kHz, [n]."""
        return {
            name: heard_file(self._inputs[f"file.{name}"], cases.RATE_HZ)
            for name in self._job["files"]
        }

    def _spoken(self, tts: menura.TTS, case: cases.Spoken) -> tuple[FloatArray, FloatArray]:
        """The latents [T, C] and samples [n] of the public call."""
        voice = None
        if case.seconds is not None:
            voice = tts.voice(self._clip(f"{case.seconds:.2f}"), rate_hz=cases.RATE_HZ)
        speech = tts.speak(
            cases.SPOKEN, voice=voice, split=False, seed=case.seed, **options_of(case)
        )
        assert speech.frames is not None
        return speech.frames.astype(np.float32, copy=False), speech.samples

    def _padded(self, case: cases.Spoken) -> tuple[FloatArray, FloatArray]:
        """The same with the last patch of the reference filled up by silence.

        Upstream's bucket shows the model a patch whose first frame is true, silence included.
        """
        assert case.seconds is not None
        clip = self._clip(f"{case.seconds:.2f}")
        patch = PATCH * self._model.config.autoencoder.samples_per_frame
        padded = np.pad(clip, (0, -len(clip) % patch))
        conditions = self._model.conditions(cases.SPOKEN, self._model.speaker(padded))
        latents = self._model.sample(cases.PIPELINE_OPTIONS, conditions, case.seed)
        return latents, self._model.decode(latents)

    def _clip(self, name: str) -> FloatArray:
        return self._floats(f"clip.{name}")

    def _floats(self, name: str) -> FloatArray:
        return self._inputs[name].astype(np.float32, copy=False)

    def _speaker(self) -> FloatArray:
        return self._model.speaker(self._clip(self._job["clip"]))


def heard_file(samples: NDArray[np.generic], rate_hz: int) -> FloatArray:
    """A file's samples [n, channels] as the autoencoder hears them in exact mode [m]."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reference.wav"
        soundfile.write(path, samples, rate_hz, subtype="FLOAT")
        return heard(reference(path, None, None), cases.RATE_HZ, is_exact=True)


def options_of(case: cases.Spoken) -> dict[str, Any]:
    """The options of the public call for a whole request."""
    given: dict[str, Any] = {
        name: value for name, value in cases.PIPELINE_OPTIONS.items() if value is not None
    }
    return given | {"normalize_text": case.normalize_text}


def main(job_file: str, input_file: str, out_folder: str) -> None:
    """Write one npz for each group of the job."""
    warnings.simplefilter("ignore")  # the clips are short, as they should be
    job = json.loads(Path(job_file).read_text("utf-8"))
    torch.set_num_threads(job["threads"])
    ours = OurSide(job, dict(np.load(input_file)))
    for group in (*job["groups"], *job["only_recorded"]):
        arrays: Arrays = getattr(ours, group)()
        np.savez(Path(out_folder) / f"{group}.npz", allow_pickle=False, **arrays)


if __name__ == "__main__":
    main(*sys.argv[1:])
