"""The catalogue agrees with its sources, and finds and suggests models by any of their names."""

import json
import re
from importlib.resources import files

import pytest

from menura.catalogue import (
    BUILTIN_REPO_ID,
    ExpectedFile,
    KnownModel,
    known_models,
    lookup,
    models_that,
    suggest,
)
from menura.engines.contract import Capability


def known(name: str) -> KnownModel:
    model = lookup(name)
    assert model is not None
    return model


def test_names_are_the_ones_that_commands_use() -> None:
    assert [model.name for model in known_models()] == [
        "builtin",
        "builtin-emma",
        "builtin-fenrir",
        "builtin-fable",
        "builtin-kore",
        "qwen3-tts-0.6b-base",
        "qwen3-tts-0.6b-customvoice",
        "qwen3-tts-1.7b-base",
        "qwen3-tts-1.7b-customvoice",
        "qwen3-tts-1.7b-voicedesign",
        "echo-tts-base",
    ]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("qwen3-tts-0.6b-base", "qwen3-tts-0.6b-base"),
        ("Qwen/Qwen3-TTS-12Hz-0.6B-Base", "qwen3-tts-0.6b-base"),
        ("qwen/qwen3-tts-12hz-1.7b-voicedesign", "qwen3-tts-1.7b-voicedesign"),
        ("Qwen3-TTS-12Hz-1.7B-CustomVoice", "qwen3-tts-1.7b-customvoice"),
        (" Echo-TTS-Base ", "echo-tts-base"),
        ("jordand/echo-tts-base", "echo-tts-base"),
        ("jordand/fish-s1-dac-min", "echo-tts-base"),
        ("BUILTIN", "builtin"),
    ],
)
def test_a_model_is_found_by_each_of_its_names(name: str, found: str) -> None:
    assert known(name).name == found


@pytest.mark.parametrize("name", ["", "qwen", "Qwen/Qwen3-TTS-12Hz-1.7B-Bass", BUILTIN_REPO_ID])
def test_other_names_and_shared_repositories_find_nothing(name: str) -> None:
    assert lookup(name) is None


def test_a_near_miss_is_suggested() -> None:
    assert suggest("qwen3-tts-0.6-base") == " Did you mean 'qwen3-tts-0.6b-base'?"
    assert suggest("Qwen/Qwen3-TTS-1.7B-VoiceDesign").endswith("-VoiceDesign'?")
    assert suggest("something else entirely") == ""


def test_sizes_are_the_published_ones() -> None:
    base = known("qwen3-tts-0.6b-base")
    assert base.download_bytes == 2_516_100_892
    assert not base.is_approximate
    assert base.n_parameters == 914_643_008
    design = known("qwen3-tts-1.7b-voicedesign")
    assert design.is_approximate
    assert design.n_parameters == 1_916_676_352
    assert known("builtin").download_bytes == 0


def test_weights_are_as_long_as_their_parameters_and_a_header() -> None:
    for model in known_models():
        if model.engine == "qwen3-tts" and model.n_parameters is not None:
            weights = next(f for f in model.repos[0].files if f.name == "model.safetensors")
            assert 40_000 < weights.likely_bytes - 2 * model.n_parameters < 70_000


def test_licences_bind_the_output_of_echo_only() -> None:
    assert known("echo-tts-base").licence == (
        "CC-BY-NC-SA-4.0 (generated speech too: CC-BY-NC-SA-4.0)"
    )
    assert {m.licence for m in known_models() if m.engine != "echo-tts"} == {"Apache-2.0"}


def test_models_that_can_do_something_come_smallest_first() -> None:
    assert models_that("Japanese")[0].name == "qwen3-tts-0.6b-customvoice"
    assert [model.name for model in models_that("clone")] == [
        "qwen3-tts-0.6b-base",
        "qwen3-tts-1.7b-base",
        "echo-tts-base",
    ]
    assert [model.name for model in models_that("instruct")] == ["qwen3-tts-1.7b-customvoice"]
    assert [model.name for model in models_that("design")] == ["qwen3-tts-1.7b-voicedesign"]
    assert models_that("klingon") == []


def test_capabilities_are_the_engine_contracts_words() -> None:
    words = {*Capability, "presets"}
    assert all(model.capabilities <= words for model in known_models())


def test_every_digest_is_whole_or_called_a_prefix() -> None:
    for model in known_models():
        for file in (file for repo in model.repos for file in repo.files):
            assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)
            assert re.fullmatch("([0-9a-f]{8})?", file.sha256_prefix)
            assert file.likely_bytes > 0


def test_the_built_in_voices_are_those_of_the_installed_library() -> None:
    registry = json.loads(files("hibari").joinpath("assets/voices.json").read_text("utf-8"))
    theirs = {
        f"builtin-{name}": ExpectedFile(
            f"voices/{voice['file']}", voice["bytes"], sha256=voice["sha256"]
        )
        for name, voice in registry.items()
        if not voice["bundled"]
    }
    ours = {m.name: m.repos[0].files[0] for m in known_models() if m.name.startswith("builtin-")}
    assert ours == theirs
