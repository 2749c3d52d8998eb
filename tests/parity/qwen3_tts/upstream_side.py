"""Upstream's side of the comparison: a script for the environment in which qwen-tts is installed.

    python upstream_side.py JOB.json INPUTS.npz OUT_FOLDER

It speaks every case of the job, encodes and decodes the inputs, tokenises the texts, and writes one
npz for each. It imports nothing of Menura and nothing of Menura imports it.
"""

import importlib.machinery
import json
import logging
import os
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

SAMPLING_RATE_HZ = 24_000
# Only upstream's 25 Hz tokenizer uses torchaudio, and no torchaudio pairs with the pinned torch.
ABSENT = ("torchaudio", "torchaudio.compliance", "torchaudio.compliance.kaldi")


def upstream_package() -> Any:
    """The package qwen_tts, imported beside empty modules in the place of torchaudio."""
    os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
    logging.getLogger("sox").setLevel(logging.ERROR)
    import transformers  # noqa: PLC0415 - first: it looks for torchaudio while it is imported

    transformers.logging.set_verbosity_error()
    modules = {name: types.ModuleType(name) for name in ABSENT}
    for name, module in modules.items():
        module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        module.__path__ = []
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(modules[parent], child, module)
    sys.modules.update(modules)
    import qwen_tts  # noqa: PLC0415

    return qwen_tts


class Upstream:
    """Upstream's models by folder, and the clips that its cases speak like."""

    def __init__(self, folders: Mapping[str, str], clips: Mapping[str, Any]) -> None:
        self._package = upstream_package()
        self._folders = folders
        self._clips = clips
        self._models: dict[str, Any] = {}

    def model(self, checkpoint: str) -> Any:
        """The loaded model of a checkpoint."""
        if checkpoint not in self._models:
            folder = self._folders[checkpoint]
            self._models[checkpoint] = self._package.Qwen3TTSModel.from_pretrained(folder)
        return self._models[checkpoint]

    def speak(self, case: Mapping[str, Any]) -> dict[str, Any]:
        """Codes, audio, prompt rows and voices of one case."""
        import torch  # noqa: PLC0415

        model = self.model(case["checkpoint"])
        voices = self._voices(model, case["lines"])
        arguments = self._arguments(case, voices)
        speak = {
            "base": model.generate_voice_clone,
            "custom_voice": model.generate_custom_voice,
            "voice_design": model.generate_voice_design,
        }[case["kind"]]
        seen: dict[str, Any] = {}
        with Watch(model.model, seen):
            torch.manual_seed(case["seed"])
            waves, rate_hz = speak(**arguments)
        assert rate_hz == SAMPLING_RATE_HZ
        found = {f"codes_{i}": codes.numpy() for i, codes in enumerate(seen["codes"])}
        found |= {f"wave_{i}": wave for i, wave in enumerate(waves)}
        found["rows"] = seen["rows"].numpy()
        for i, voice in enumerate(voices):
            found[f"embedding_{i}"] = voice.ref_spk_embedding.numpy()
            if voice.ref_code is not None:
                found[f"reference_{i}"] = voice.ref_code.numpy()
        return found

    def _voices(self, model: Any, lines: list[Mapping[str, Any]]) -> list[Any]:
        """Upstream's voice prompts, which it encodes in one batch."""
        if lines[0]["clip"] is None:
            return []
        voices = model.create_voice_clone_prompt(
            ref_audio=[self._clip(line["clip"]) for line in lines],
            ref_text=[line["transcript"] for line in lines],
            x_vector_only_mode=[line["x_vector"] for line in lines],
        )
        return list(voices)

    def _clip(self, name: str) -> tuple[Any, int]:
        return self._clips[name], int(self._clips[f"rate_{name}"])

    def _arguments(self, case: Mapping[str, Any], voices: list[Any]) -> dict[str, Any]:
        lines = case["lines"]
        arguments: dict[str, Any] = {
            "text": [line["text"] for line in lines],
            "language": [line["language"] or "Auto" for line in lines],
            **case["options"],
        }
        if case["kind"] == "custom_voice":
            arguments["speaker"] = [line["voice"] for line in lines]
        if case["kind"] != "base":
            arguments["instruct"] = [line["instruct"] or "" for line in lines]
        elif case["cached"]:
            # Encoded from the first clip alone, and used for every line.
            arguments["voice_clone_prompt"] = voices[:1]
        else:
            arguments["ref_audio"] = [self._clip(line["clip"]) for line in lines]
            arguments["ref_text"] = [line["transcript"] for line in lines]
            arguments["x_vector_only_mode"] = [line["x_vector"] for line in lines]
        return arguments


class Watch:
    """While it is open, notes what the model draws and the rows of its first prompt."""

    def __init__(self, model: Any, seen: dict[str, Any]) -> None:
        self._model, self._seen = model, seen
        self._generate = model.generate

    def __enter__(self) -> None:
        self._model.generate = self._noting_generate
        self._hook = self._model.talker.register_forward_pre_hook(self._note_rows, with_kwargs=True)

    def __exit__(self, *raised: object) -> None:
        del self._model.generate
        self._hook.remove()

    def _noting_generate(self, **arguments: Any) -> Any:
        result = self._generate(**arguments)
        self._seen["codes"] = result[0]
        return result

    def _note_rows(self, module: Any, given: Any, named: Mapping[str, Any]) -> None:
        del module, given
        rows = named.get("inputs_embeds")
        if rows is not None and "rows" not in self._seen:
            self._seen["rows"] = rows.detach().clone()


def codec_outputs(model: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What upstream's codec makes of each input, by the same name."""
    import torch  # noqa: PLC0415

    codec = model.model.speech_tokenizer
    outputs: dict[str, Any] = {}
    for name, value in inputs.items():
        if name.startswith("encode"):
            rate_hz = 16_000 if name.startswith("encode16k") else SAMPLING_RATE_HZ
            outputs[name] = codec.encode(value, sr=rate_hz).audio_codes[0].numpy()
        elif name.startswith("decode"):
            outputs[name] = codec.decode({"audio_codes": torch.from_numpy(value)})[0][0]
    return outputs


def main(job_file: str, input_file: str, out_folder: str) -> None:
    """Write one npz for each case, and those of the codec and of the texts."""
    import torch  # noqa: PLC0415

    job = json.loads(Path(job_file).read_text("utf-8"))
    torch.set_num_threads(job["threads"])
    inputs = dict(np.load(input_file))
    upstream = Upstream(job["folders"], inputs)
    out = Path(out_folder)
    for case in job["cases"]:
        np.savez(out / f"{case['name']}.npz", **upstream.speak(case))
    if job["codec"]:
        np.savez(out / "codec.npz", **codec_outputs(upstream.model(job["codec"]), inputs))
    for checkpoint in job["tokenizers"]:
        encode = upstream.model(checkpoint).processor
        ids: dict[str, Any] = {f"ids_{i}": np.asarray(encode(text=text)["input_ids"][0], np.int64)
               for i, text in enumerate(job["texts"])}  # fmt: skip
        np.savez(out / f"text_{checkpoint}.npz", **ids)


if __name__ == "__main__":
    main(*sys.argv[1:])
