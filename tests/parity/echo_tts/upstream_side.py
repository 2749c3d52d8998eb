"""Upstream's side of the comparison: a script for the environment in which echo-tts is installed.

    python -m tests.parity.echo_tts.upstream_side JOB.json INPUTS.npz OUT_FOLDER

It writes one npz for each group of comparisons that the job asks for. Modules are named as in
upstream's tree; the leading axis of one row is left out. It imports nothing of Menura.
"""

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import torch

from tests.parity.echo_tts.upstream_hooks import hooked, listening
from tests.parity.echo_tts.upstream_package import RATE_HZ, Loaded, load

Arrays = dict[str, Any]
NO_SPEAKER = torch.zeros(1, 4, 80), torch.zeros(1, 4, dtype=torch.bool)
CODEC_STAGES = (
    "encoder", *(f"encoder.block.{i}" for i in range(5)), "encoder.block.4.block.4",
    "encoder.block.4.block.5", "quantizer.downsample", "quantizer.downsample.0",
    "quantizer.downsample.0.0", "quantizer.pre_module", "quantizer.semantic_quantizer",
    "quantizer.quantizer", "quantizer.post_module", "quantizer.upsample", "quantizer.upsample.0",
    *(f"decoder.model.{i}" for i in range(5)),
)  # fmt: skip


class Upstream:
    """Upstream's loaded models, and the job with its inputs."""

    def __init__(self, job: Mapping[str, Any], inputs: Arrays) -> None:
        self._job, self._inputs = job, inputs
        self._loaded = load(Path(job["root"]))
        self._speech = self._loaded.package.inference

    def text(self) -> Arrays:
        """The ids and the words of each text, with and without normalising."""
        found: Arrays = {}
        for i, text in enumerate(self._job["texts"]):
            for normalize in (True, False):
                ids, words = self._speech.tokenizer_encode(
                    text, normalize=normalize, return_normalized_text=True
                )
                found[f"ids.{i}.{normalize}"] = ids.numpy().astype(np.int64)
                found[f"words.{i}.{normalize}"] = np.frombuffer(words.encode(), np.uint8)
        for i, (text, limit) in enumerate(self._job["cut"]):
            ids, mask = self._speech.get_text_input_ids_and_mask([text], max_length=limit)
            found[f"cut.{i}"] = ids[mask].numpy().astype(np.int64)
        return found

    def codec(self) -> Arrays:
        """Every stage of the codec from a clip and back, and the projection to latents."""
        codec, pca, speech = self._loaded.codec, self._loaded.pca, self._speech
        audio = torch.from_numpy(self._inputs["codec"])[None, None]
        with hooked(codec, CODEC_STAGES.__contains__) as stages:
            z_q = codec.encode_zq(audio)
            codec.decode_zq(z_q)
        found = {name: stages[name][0] for name in CODEC_STAGES}
        codes, lengths = codec.encode(audio)
        latents = speech.ae_encode(codec, pca, audio)
        random = torch.from_numpy(self._inputs["random_latents"])[None]
        flat = torch.from_numpy(self._inputs["flat"])[None]
        return found | {
            "codes": codes[0].T,
            "z_q": z_q[0].T,
            "latents": latents[0],
            "z_q_of_latents": (latents / pca.latent_scale @ pca.pca_components + pca.pca_mean)[0],
            "decoded": codec.decode_zq(z_q)[0, 0],
            "decoded_codes": codec.decode(codes, lengths)[0][0, 0],
            "reconstructed": speech.ae_reconstruct(codec, pca, audio)[0, 0],
            "decoded_random": speech.ae_decode(codec, pca, random)[0, 0],
            "decoded_flat": speech.crop_audio_to_flattening_point(
                speech.ae_decode(codec, pca, flat), flat[0]
            )[0, 0],
        }

    def speakers(self) -> Arrays:
        """The latents of each reference, and how many of them are true."""
        found: Arrays = {}
        for name, (clip, options) in self._job["speakers"].items():
            latents, mask = self._speaker(clip, **options)
            found |= {name: latents[0], f"{name}.n_true": np.array(int(mask.sum()))}
        return found

    def blocks(self) -> Arrays:
        """The conditioning encoders, the keys and values, and every trunk module at one time."""
        latents, mask = self._speaker(self._job["clip"])
        ids, text_mask = self._text(self._job["text"])
        return listening(
            self._loaded.model, ids=ids, text_mask=text_mask, speaker=latents, speaker_mask=mask,
            x=torch.from_numpy(self._inputs["x"])[None], time=self._job["t"],
            prefix=torch.from_numpy(self._inputs["prefix"])[None],
        )  # fmt: skip

    def sampler(self) -> Arrays:
        """The latents of each set of sampler options, of another seed, a batch, and no speaker."""
        latents, mask = self._speaker(self._job["clip"])
        ids, text_mask = self._text(self._job["text"])
        base = self._job["base"]
        found = {
            name: self._sample(latents, mask, ids, text_mask, 0, base | options)[0]
            for name, options in self._job["sampler"].items()
        }
        if "base" not in found:
            return found
        found["seed_1234"] = self._sample(latents, mask, ids, text_mask, 1234, base)[0]
        found["no_speaker"] = self._sample(*NO_SPEAKER, ids, text_mask, 0, base)[0]
        ids, text_mask = self._text(*self._job["batch"])
        rows = latents.repeat(2, 1, 1), mask.repeat(2, 1)
        found["batch"] = self._sample(*rows, ids, text_mask, 0, base)
        return found

    def bf16(self) -> Arrays:
        """The latents of two sets of options, with the transformer in bfloat16."""
        latents, mask = self._speaker(self._job["clip"])
        ids, text_mask = self._text(self._job["text"])
        self._loaded = load(Path(self._job["root"]), torch.bfloat16)
        return {
            name: self._sample(
                latents, mask, ids, text_mask, 0, self._job["base"] | self._job["bf16"][name]
            )[0]
            for name in self._job["bf16"]
        }

    def pipeline(self) -> Arrays:
        """Latents and samples of whole requests."""
        found: Arrays = {}
        options = self._job["pipeline_options"]
        for name, asked in self._job["pipeline"].items():
            clip = None if asked["clip"] is None else self._clip(asked["clip"])

            def sample(model: Any, *given: Any, name: str = name) -> Any:
                latents = self._speech.sample_euler_cfg_independent_guidances(
                    model, *given, **options
                )
                found[f"{name}.latents"] = latents[0]
                return latents

            samples, _ = self._speech.sample_pipeline(
                self._loaded.model, self._loaded.codec, self._loaded.pca, sample,
                self._job["spoken"], clip, asked["seed"], **asked["upstream"],
            )  # fmt: skip
            found[f"{name}.samples"] = samples[0, 0]
        return found

    def files(self) -> Arrays:
        """What upstream reads from each audio file of 44.1 kHz."""
        found: Arrays = {}
        with tempfile.TemporaryDirectory() as folder:
            for name in self._job["files"]:
                path = str(Path(folder) / f"{name}.wav")
                soundfile.write(path, self._inputs[f"file.{name}"], RATE_HZ, subtype="FLOAT")
                found[name] = self._speech.load_audio(path)[0]
        return found

    def _clip(self, name: str) -> Any:
        return torch.from_numpy(self._inputs[f"clip.{name}"])[None]

    def _speaker(self, clip: str, **options: Any) -> Any:
        loaded: Loaded = self._loaded
        return self._speech.get_speaker_latent_and_mask(
            loaded.codec, loaded.pca, self._clip(clip), **options
        )

    def _text(self, *texts: str) -> Any:
        return self._speech.get_text_input_ids_and_mask(list(texts), max_length=None)

    def _sample(self, *given: Any) -> Any:
        *conditions, seed, options = given
        return self._speech.sample_euler_cfg_independent_guidances(
            self._loaded.model, *conditions, seed, **options
        )


def main(job_file: str, input_file: str, out_folder: str) -> None:
    """Write one npz for each group of the job."""
    job = json.loads(Path(job_file).read_text("utf-8"))
    torch.set_num_threads(job["threads"])
    torch.set_grad_enabled(False)
    upstream = Upstream(job, dict(np.load(input_file)))
    for group in job["groups"]:
        found = getattr(upstream, group)()
        arrays: Arrays = {name: np.asarray(value) for name, value in found.items()}
        np.savez(Path(out_folder) / f"{group}.npz", **arrays)


if __name__ == "__main__":
    main(*sys.argv[1:])
