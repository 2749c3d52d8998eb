"""Our side of the comparison, as its own process too, so that both have the same threads.

    python -m tests.parity.qwen3_tts.our_side JOB.json INPUTS.npz UPSTREAM_FOLDER OUT_FOLDER

A single case is one call of the public `speak`. A batch runs as rows of one decoder, each with its
share of the noise that upstream draws for the whole batch, and with upstream's reference codes.
"""

import json
import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import menura
from menura.engines.contract import Delivery, RowStep
from menura.engines.qwen3_tts.engine import Qwen3TTSEngine
from menura.engines.qwen3_tts.prompt_rows import embed
from menura.speech import SpeechRequest, validate
from tests.parity.qwen3_tts.cases import BATCHED, SINGLE, Case, Line

Arrays = dict[str, NDArray[np.generic]]


class BatchNoise:
    """One stream of noise that every draw of a batch takes a row each from, as upstream's does."""

    def __init__(self, seed: int, n_rows: int) -> None:
        self.seed = seed
        self._n_rows = n_rows
        self._generator = torch.Generator().manual_seed(seed)
        self._draws: list[Tensor] = []

    def take(self, draw: int, row: int, shape: tuple[int, ...]) -> Tensor:
        """The numbers [shape] of a row's draw, which is the whole batch's draw of that number."""
        while len(self._draws) <= draw:
            numbers = torch.empty(self._n_rows, *shape).exponential_(generator=self._generator)
            self._draws.append(numbers)
        return self._draws[draw][row]


class RowNoise:
    """A row's share of a batch's noise."""

    def __init__(self, batch: BatchNoise, row: int) -> None:
        self._batch, self._row, self._n_drawn = batch, row, 0

    @property
    def seed(self) -> int:
        """The batch's seed."""
        return self._batch.seed

    def draw(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """The row's next numbers [shape]."""
        del name
        self._n_drawn += 1
        return self._batch.take(self._n_drawn - 1, self._row, shape)


class OurSide:
    """Our models by folder, and the clips that the cases speak like."""

    def __init__(self, folders: Mapping[str, str], inputs: Arrays) -> None:
        self._folders = folders
        self._inputs = inputs
        self._loaded: dict[str, menura.TTS] = {}

    def model(self, checkpoint: str) -> menura.TTS:
        """The loaded model of a checkpoint."""
        if checkpoint not in self._loaded:
            folder = self._folders[checkpoint]
            self._loaded[checkpoint] = menura.load(folder, device="cpu", precision="exact")
        return self._loaded[checkpoint]

    def engine(self, checkpoint: str) -> Qwen3TTSEngine:
        """The engine of a checkpoint."""
        engine = self.model(checkpoint).engine
        assert isinstance(engine, Qwen3TTSEngine)
        return engine

    def speak(self, case: Case) -> Arrays:
        """Codes, audio, prompt rows and voice of a single case."""
        tts = self.model(case.checkpoint)
        [line] = case.lines
        voice = self._voice(case, line)
        speech = tts.speak(
            line.text, voice=line.voice if voice is None else voice, language=line.language,
            instruct=line.instruct, seed=case.seed, split=False, strict=False, **_options(case),
        )  # fmt: skip
        assert speech.frames is not None
        found: Arrays = {"codes_0": speech.frames, "wave_0": speech.samples}
        found["rows"] = self._rows(case, line, voice)
        if voice is not None and voice.embedding is not None:
            found["embedding_0"] = voice.embedding
        if voice is not None and voice.codes is not None:
            found["reference_0"] = voice.codes
        return found

    def speak_batch(self, case: Case, upstream: Mapping[str, NDArray[np.generic]]) -> Arrays:
        """Codes and audio of each line of a batch."""
        engine = self.engine(case.checkpoint)
        decoder = engine.decoder(len(case.lines))
        noise = BatchNoise(case.seed, len(case.lines))
        for row, line in enumerate(case.lines):
            voice = self._voice(case, line)
            if voice is not None:
                voice = _with_arrays(voice, upstream, 0 if case.cached else row)
            prompt = engine.build_prompt(line.text, self._manner(case, line, voice))
            decoder.admit(row, prompt, RowNoise(noise, row), Delivery())
        steps: list[RowStep] = []
        while decoder.live:
            steps += decoder.step()
        found: Arrays = {}
        for step in steps:
            assert step.error is None, step.error
            if step.samples is not None and step.frames is not None:
                found |= {f"codes_{step.row}": step.frames, f"wave_{step.row}": step.samples}
        return found

    def _voice(self, case: Case, line: Line) -> menura.Voice | None:
        if line.clip is None:
            return None
        clip = self._inputs[line.clip].astype(np.float32, copy=False)
        mode = "x_vector" if line.x_vector else "auto"
        rate_hz = int(self._inputs[f"rate_{line.clip}"])
        return self.model(case.checkpoint).voice(
            clip, transcript=line.transcript, mode=mode, rate_hz=rate_hz
        )

    def _manner(self, case: Case, line: Line, voice: menura.Voice | None) -> menura.speech.Manner:
        request = SpeechRequest(
            line.text, line.voice if voice is None else voice, line.language, line.instruct,
            strict=False, options=_options(case),
        )  # fmt: skip
        return validate(request, self.model(case.checkpoint).spec)

    def _rows(self, case: Case, line: Line, voice: menura.Voice | None) -> NDArray[np.float32]:
        """The rows [T, D] that the talker sees first."""
        engine = self.engine(case.checkpoint)
        prompt = engine.build_prompt(line.text, self._manner(case, line, voice))
        models = engine.models
        rows = embed(prompt.plan, engine.config, models.talker, models.code_predictor).rows
        return np.asarray(rows.numpy(), np.float32)


def _options(case: Case) -> dict[str, bool | int | float]:
    """Upstream's, with its way of reading control tokens in a text."""
    return {"parse_special_tokens": True, **case.options}


def _with_arrays(
    voice: menura.Voice, upstream: Mapping[str, NDArray[np.generic]], row: int
) -> menura.Voice:
    """The voice with the codes and embedding that upstream made in its batch."""
    arrays = {"embedding": upstream[f"embedding_{row}"]}
    if f"reference_{row}" in upstream:
        arrays["codes"] = upstream[f"reference_{row}"]
    return replace(voice, prompt=replace(voice.prompt, arrays=arrays))


def main(job_file: str, input_file: str, upstream_folder: str, out_folder: str) -> None:
    """Write one npz for each case, and those of the codec and of the texts."""
    warnings.simplefilter("ignore")  # the clips are short, as they should be
    job = json.loads(Path(job_file).read_text("utf-8"))
    torch.set_num_threads(job["threads"])
    inputs = dict(np.load(input_file))
    ours = OurSide(job["folders"], inputs)
    upstream, out = Path(upstream_folder), Path(out_folder)
    by_name = {case.name: case for case in (*SINGLE, *BATCHED)}
    for given in job["cases"]:
        case = replace(by_name[given["name"]], seed=given["seed"])
        if case.is_batch:
            found = ours.speak_batch(case, np.load(upstream / f"{case.name}.npz"))
        else:
            found = ours.speak(case)
        np.savez(out / f"{case.name}.npz", allow_pickle=False, **found)
    if job["codec"]:
        codec = ours.engine(job["codec"]).codec
        outputs: Arrays = {}
        for name, value in inputs.items():
            if name.startswith("encode"):
                rate_hz = 16_000 if name.startswith("encode16k") else codec.sample_rate_hz
                outputs[name] = codec.encode(value.astype(np.float32), rate_hz)
            elif name.startswith("decode"):
                outputs[name] = codec.decode(value.astype(np.int64))
        np.savez(out / "codec.npz", allow_pickle=False, **outputs)
    for checkpoint in job["tokenizers"]:
        encode = ours.engine(checkpoint).tokenizer.encode
        ids: Arrays = {
            f"ids_{i}": np.array(encode(text, parse_special_tokens=True), np.int64)
            for i, text in enumerate(job["texts"])
        }
        np.savez(out / f"text_{checkpoint}.npz", allow_pickle=False, **ids)


if __name__ == "__main__":
    main(*sys.argv[1:])
