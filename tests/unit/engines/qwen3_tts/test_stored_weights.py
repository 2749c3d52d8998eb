"""A checkpoint that is mapped gives torch's parts the numbers that loading it in float32 gives."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from menura.engines.qwen3_tts import weights
from menura.engines.qwen3_tts.config_files import read_config
from menura.engines.qwen3_tts.stored_weights import StoredWeights
from menura.engines.qwen3_tts.tiny import Tiny, write
from menura.errors import ModelFilesError


@pytest.mark.parametrize("size", ["0b6", "1b7"])
def test_rows_and_voices_are_those_of_float32(size: str, tmp_path: Path) -> None:
    folder = write(tmp_path, Tiny("base", size))
    config = read_config(folder)
    plain = weights.load(folder, config, torch.device("cpu"), torch.float32)
    stored = StoredWeights(folder, config).parts
    ids = torch.arange(12)[None]
    assert torch.equal(stored.talker.embed_text(ids), plain.talker.embed_text(ids))
    assert torch.equal(stored.talker.embed_code(ids), plain.talker.embed_code(ids))
    for codebook in (1, 15):
        found = stored.code_predictor.embed(codebook, ids)
        assert torch.equal(found, plain.code_predictor.embed(codebook, ids))
    assert stored.speaker_encoder is not None
    assert plain.speaker_encoder is not None
    wanted = dict(plain.speaker_encoder.named_parameters())
    for name, parameter in stored.speaker_encoder.named_parameters():
        assert torch.equal(parameter, wanted[name])


def test_what_the_kernels_run_stays_as_it_is_stored(tmp_path: Path) -> None:
    folder = write(tmp_path)
    parts = StoredWeights(folder, read_config(folder)).parts
    for module in (parts.talker.transformer, parts.talker.codec_head, parts.code_predictor):
        assert {parameter.dtype for parameter in module.parameters()} == {torch.bfloat16}


def test_single_parameters_are_read_by_our_names(tmp_path: Path) -> None:
    folder = write(tmp_path)
    stored = StoredWeights(folder, read_config(folder))
    stored.check()
    found = stored.read("talker.codec_head.weight")
    published = load_file(folder / "model.safetensors")["talker.codec_head.weight"]
    assert torch.equal(torch.from_numpy(found), published.float())


def test_a_tensor_that_is_missing_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path)
    path = folder / "model.safetensors"
    tensors = load_file(path)
    del tensors["talker.codec_head.weight"]
    save_file(tensors, path, metadata={"format": "pt"})
    with pytest.raises(ModelFilesError, match=r"'talker\.codec_head\.weight' is missing"):
        StoredWeights(folder, read_config(folder)).check()


def test_numbers_of_both_files_are_looked_at(tmp_path: Path) -> None:
    for name in ("model.safetensors", "speech_tokenizer/model.safetensors"):
        folder = write(tmp_path / name.partition("/")[0])
        path = folder / name
        tensors = load_file(path)
        broken = max(tensors, key=lambda tensor: tensors[tensor].numel())
        tensors[broken].view(-1)[-1] = torch.inf
        save_file(tensors, path, metadata={"format": "pt"})
        stored = StoredWeights(folder, read_config(folder))
        with pytest.raises(ModelFilesError, match="NaN or infinity"):
            stored.check()


def test_prompts_need_no_blocks(tmp_path: Path) -> None:
    folder = write(tmp_path)
    stored = StoredWeights(folder, read_config(folder))
    models, parts = stored.prompt_models(), stored.parts
    assert len(models.talker.transformer.blocks) == 0
    assert len(models.code_predictor.transformer.blocks) == 0
    ids = torch.arange(12)[None]
    assert torch.equal(models.talker.embed_text(ids), parts.talker.embed_text(ids))
    assert torch.equal(models.talker.embed_code(ids), parts.talker.embed_code(ids))
    for codebook in (1, 15):
        found = models.code_predictor.embed(codebook, ids)
        assert torch.equal(found, parts.code_predictor.embed(codebook, ids))


def test_other_sizes_are_another_digest(tmp_path: Path) -> None:
    folder = write(tmp_path)
    config = read_config(folder)
    decoder = replace(config.codec.decoder, sliding_window=config.codec.decoder.sliding_window + 1)
    other = replace(config, codec=replace(config.codec, decoder=decoder))
    sampling = replace(config, generation=replace(config.generation, top_k=7))
    digests = [StoredWeights(folder, found).digest() for found in (config, other, sampling)]
    assert digests[0] != digests[1]
    assert digests[0] == digests[2]


def test_parts_are_not_taken_from_files_that_have_changed(tmp_path: Path) -> None:
    folder = write(tmp_path)
    stored = StoredWeights(folder, read_config(folder))
    path = folder / "speech_tokenizer" / "model.safetensors"
    save_file(load_file(path), path, metadata={"format": "pt"})
    with pytest.raises(ModelFilesError, match="has changed since"):
        stored.codec_encoder  # noqa: B018
