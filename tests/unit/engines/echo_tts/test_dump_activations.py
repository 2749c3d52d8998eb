"""The bench's dump of activations: every block at one time, with what the model was given."""

import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from bench.echo_tts import dump_activations
from bench.echo_tts.activations import paths
from tests.parity.echo_tts.our_model import OurModel


def dumped(monkeypatch: pytest.MonkeyPatch, *words: object) -> None:
    monkeypatch.setattr(sys, "argv", ["dump_activations", *map(str, words)])
    dump_activations.main()


def test_a_dump_holds_every_block_and_its_input(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.safetensors"
    codec = checkpoint / "fish-s1-dac-min"
    dumped(monkeypatch, checkpoint, out, "--autoencoder", codec, "--t", 0.5, "--frames", 8)
    found = load_file(out)
    assert [found[f"plain.blocks.{i}"].shape for i in range(3)] == [(8, 96)] * 3
    assert found["plain.v_pred"].shape == found["in.x"].shape == (8, 80)
    assert found["kv.text.2.k"].shape == (*found["in.ids"].shape, 4, 24)
    assert found["in.t"].item() == 0.5
    assert not any("blocks.0.attention" in name for name in found)


def test_the_same_input_gives_the_same_dump_and_another_time_does_not(
    checkpoint: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    paths_of = [tmp_path / f"{i}.safetensors" for i in range(3)]
    for path, t in zip(paths_of, (0.7, 0.7, 0.6), strict=True):
        dumped(monkeypatch, checkpoint, path, "--t", t, "--frames", 4, "--all")
    one, again, other = map(load_file, paths_of)
    assert one.keys() == again.keys() == other.keys()
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not torch.equal(one["plain.blocks.0"], other["plain.blocks.0"])
    assert torch.equal(one["cond.text_norm"], other["cond.text_norm"])
    dumped(monkeypatch, "--compare", paths_of[0], paths_of[2])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(one)
    assert any(line.split() == ["cond.text_norm", "0", "0"] for line in lines)


def test_every_module_of_the_transformer_has_upstreams_name(our_tiny: OurModel) -> None:
    found = paths(our_tiny.dit)
    with_weights = {
        path
        for path, module in our_tiny.dit.named_modules()
        if any(True for _ in module.parameters(recurse=False))
    }
    assert with_weights <= set(found.values())
    assert len(found) == len(set(found.values())) + 3  # an encoder is also its last block
