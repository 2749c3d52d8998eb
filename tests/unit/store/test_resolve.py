"""Names, ids and folders lead to a whole model that is here, or to the command that brings it."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from menura.catalogue import ECHO
from menura.errors import ModelNotFoundError
from menura.models import Source, builtin_voice_file, builtin_voice_files, resolve
from menura.store.resolve import locate
from tests.unit.store.fake_hub import QWEN, SMALL, cache_repo, files_of, known, sha256

pytestmark = pytest.mark.usefixtures("no_network")


def echo_files(place: int) -> dict[str, bytes]:
    return {file.name: file.name.encode() for file in ECHO.repos[place].files}


def write_folder(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("name", ["qwen3-tts-0.6b-base", QWEN, QWEN.lower()])
def test_a_cached_model_is_found_by_any_of_its_names(name: str) -> None:
    snapshot = cache_repo(QWEN, files_of(QWEN))
    found = resolve(name)
    assert (found.name, found.source) == ("qwen3-tts-0.6b-base", Source.CACHE)
    assert found.folder == snapshot
    assert found.known == known(QWEN)
    assert found.arguments == {}


def test_an_unknown_repository_is_found_by_its_id_if_it_is_cached() -> None:
    snapshot = cache_repo(SMALL, {"config.json": b"{}"})
    found = resolve(SMALL)
    assert (found.source, found.folders, found.known) == (Source.CACHE, (snapshot,), None)


def test_a_complete_older_revision_serves_where_the_newest_is_not_whole() -> None:
    older = cache_repo(QWEN, files_of(QWEN), commit="a" * 40)
    cache_repo(QWEN, {"config.json": b"{}"}, commit="b" * 40)
    assert resolve(QWEN).folder == older


def test_of_two_whole_revisions_main_comes_first() -> None:
    cache_repo(QWEN, files_of(QWEN), commit="b" * 40)
    main = cache_repo(QWEN, files_of(QWEN), commit="a" * 40)
    os.utime(main, (1, 1))
    assert resolve(QWEN).folder == main


def test_a_model_that_is_not_here_names_the_command_size_and_licence() -> None:
    with pytest.raises(ModelNotFoundError) as caught:
        resolve("jordand/echo-tts-base")
    assert "menura models pull echo-tts-base (7.5 GB, licence CC-BY-NC-SA-4.0" in (
        caught.value.message
    )
    assert caught.value.param == "model"


def test_a_model_that_is_not_whole_names_what_is_missing() -> None:
    snapshot = cache_repo(QWEN, files_of(QWEN))
    (snapshot / "vocab.json").resolve().unlink()
    with pytest.raises(ModelNotFoundError, match=r"only partly .*\(missing: vocab\.json\)"):
        resolve(QWEN)


def test_echo_is_two_folders() -> None:
    model = cache_repo("jordand/echo-tts-base", echo_files(0))
    with pytest.raises(ModelNotFoundError, match="missing: jordand/fish-s1-dac-min"):
        resolve("echo-tts-base")
    codec = cache_repo("jordand/fish-s1-dac-min", echo_files(1))
    found = resolve("echo-tts-base")
    assert found.folders == (model, codec)
    assert found.arguments == {"autoencoder": codec}


@pytest.mark.parametrize("codec_place", ["model/fish-s1-dac-min", "fish-s1-dac-min"])
def test_an_echo_folder_brings_its_codec_inside_or_beside_it(
    tmp_path: Path, codec_place: str
) -> None:
    model = write_folder(tmp_path / "model", echo_files(0))
    codec = write_folder(tmp_path / codec_place, echo_files(1))
    found = resolve(model)
    assert (found.folders, found.known) == ((model, codec), ECHO)


def test_an_echo_folder_takes_its_codec_from_the_cache(tmp_path: Path) -> None:
    model = write_folder(tmp_path / "echo-tts-base", echo_files(0))
    codec = cache_repo("jordand/fish-s1-dac-min", echo_files(1))
    found = resolve(tmp_path)
    assert found.folders == (model, codec)
    assert found.arguments == {"autoencoder": codec}


def test_an_echo_folder_without_a_codec_is_found_and_says_what_is_missing(tmp_path: Path) -> None:
    model = write_folder(tmp_path / "echo-tts-base", echo_files(0))
    found = resolve(tmp_path)
    assert (found.folders, found.arguments) == ((model,), {})
    assert locate(tmp_path).missing == ("jordand/fish-s1-dac-min",)


def test_a_whole_codec_comes_before_one_that_lacks_a_file(tmp_path: Path) -> None:
    model = write_folder(tmp_path / "model", echo_files(0))
    part = write_folder(tmp_path / "fish-s1-dac-min", {"config.json": b"{}"})
    assert resolve(model).arguments == {"autoencoder": part}
    assert locate(model).missing == ("pytorch_model.safetensors",)
    whole = cache_repo("jordand/fish-s1-dac-min", echo_files(1))
    assert resolve(model).arguments == {"autoencoder": whole}


def test_a_users_codec_needs_no_configuration_file(tmp_path: Path) -> None:
    model = write_folder(tmp_path / "model", echo_files(0))
    weights = {"pytorch_model.safetensors": b""}
    codec = write_folder(tmp_path / "model" / "fish-s1-dac-min", weights)
    assert locate(model).missing == ()
    assert resolve(model).arguments == {"autoencoder": codec}


def test_a_plain_folder_is_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_folder(tmp_path / "my model", {"config.json": b"{}"})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for given in (folder, str(folder), "my model", "./my model", "~/my model"):
        found = resolve(given)
        assert (found.source, found.folder, found.known) == (Source.FOLDER, folder, None)


def test_a_folder_is_recognised_by_its_configuration(tmp_path: Path) -> None:
    config = {"model_type": "qwen3_tts", "tts_model_size": "1b7", "tts_model_type": "voice_design"}
    folder = write_folder(tmp_path / "x", {"config.json": json.dumps(config).encode()})
    assert resolve(folder).known == known("qwen3-tts-1.7b-voicedesign")


@pytest.mark.parametrize("content", [b"[" * 100_000, b"\xff", b"[]", b'{"a":' + b"9" * 5000])
def test_a_configuration_that_cannot_be_read_recognises_nothing(
    tmp_path: Path, content: bytes
) -> None:
    assert resolve(write_folder(tmp_path / "x", {"config.json": content})).known is None


def test_a_repository_folder_of_the_cache_stands_for_its_snapshot() -> None:
    snapshot = cache_repo(SMALL, {"config.json": b"{}"})
    assert resolve(snapshot.parent.parent).folder == snapshot
    assert resolve(snapshot).folder == snapshot


def test_a_catalogue_name_means_the_catalogue_and_an_id_may_be_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "builtin").mkdir()
    assert resolve("builtin").source is Source.BUILTIN
    clone = write_folder(tmp_path / QWEN, {"config.json": b"{}"})
    assert resolve(QWEN).folder == clone


MODELSCOPE_PLACES = {
    "now": "models/Qwen--Qwen3-TTS-12Hz-0.6B-Base/snapshots/master",
    "2024, own folder": "models/Qwen/Qwen3-TTS-12Hz-0___6B-Base",
    "2024": "hub/models/Qwen/Qwen3-TTS-12Hz-0___6B-Base",
    "2023": "hub/Qwen/Qwen3-TTS-12Hz-0.6B-Base",
    "2023, own folder": "Qwen/Qwen3-TTS-12Hz-0___6B-Base",
}


@pytest.mark.parametrize("layout", sorted(MODELSCOPE_PLACES))
def test_modelscopes_cache_is_searched_in_each_of_its_layouts(home: Path, layout: str) -> None:
    folder = write_folder(home / "modelscope" / MODELSCOPE_PLACES[layout], files_of(QWEN))
    assert resolve(QWEN).folder == folder


def test_modelscopes_default_cache_is_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MODELSCOPE_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    place = tmp_path / ".cache" / "modelscope" / MODELSCOPE_PLACES["2024"]
    write_folder(place, files_of(QWEN))
    assert resolve(QWEN).folder == place


def test_a_modelscope_folder_that_holds_another_model_is_not_taken(home: Path) -> None:
    config = {"model_type": "qwen3_tts", "tts_model_size": "1b7", "tts_model_type": "base"}
    files = {**files_of(QWEN), "config.json": json.dumps(config).encode()}
    write_folder(home / "modelscope" / MODELSCOPE_PLACES["now"], files)
    with pytest.raises(ModelNotFoundError):
        resolve(QWEN)


UNKNOWN = {
    "qwen3-tts-0.6-base": "is not a known model; .* Did you mean 'qwen3-tts-0.6b-base'",
    "Qwen/Qwen3-TTS-12Hz-0.6B-Bas": "pull Qwen/Qwen3-TTS-12Hz-0.6B-Bas Did you mean",
    "someone/else": "If the hub has it, bring it with: menura models pull someone/else",
    "./missing": "looks like a folder, but there is no such folder",
    "~nobody-here/x": "looks like a folder",
    "C:\\models\\x": "looks like a folder",
    "../../etc/passwd": "looks like a folder",
    "https://huggingface.co/Qwen/x": "is an address; give the hub id",
    "": "is not a known model",
    "a\0b": "is not a known model",
    "x" * 10_000: "is not a known model",
    "y" * 300 + "/z": "pull yyy",
}


@pytest.mark.parametrize("name", sorted(UNKNOWN), ids=range(len(UNKNOWN)))
def test_what_is_no_model_is_said_in_the_words_that_help(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # from where a checkout stands, the name may lead to a file
    with pytest.raises(ModelNotFoundError, match=UNKNOWN[name]) as caught:
        resolve(name)
    assert len(caught.value.message) < 1000


def test_the_built_in_voice_is_there_with_the_voices_that_were_pulled() -> None:
    found = resolve("builtin")
    assert (found.source, found.folders, found.folder) == (Source.BUILTIN, (), None)
    assert found.arguments == {"voice_files": {}}
    file = builtin_voice_file("heart")
    assert file is not None
    assert file.name == "hibari.onnx"
    assert file.is_file()


def test_a_voice_that_was_not_pulled_names_the_command() -> None:
    assert builtin_voice_file("emma") is None
    assert builtin_voice_file("../heart") is None
    with pytest.raises(ModelNotFoundError, match="pull builtin-emma"):
        resolve("builtin-emma")


def test_a_pulled_voice_is_found_if_it_has_its_size() -> None:
    emma = known("builtin-emma").repos[0]
    name = emma.files[0].name
    snapshot = cache_repo(emma.hub_id, {name: b"short"})
    assert builtin_voice_file("emma") is None
    os.truncate(snapshot / name, emma.files[0].n_bytes or 0)
    assert builtin_voice_files() == {"emma": snapshot / name}
    files = {"emma": snapshot / name}
    assert resolve("builtin").arguments == {"voice_files": files}
    assert resolve("builtin-emma").arguments == {"voice_files": files, "default_voice": "emma"}


def test_the_librarys_own_download_is_used_if_its_digest_is_right(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    emma = known("builtin-emma")
    own = write_folder(home / "hibari", {"bf_emma.int8.onnx": b"voice"}) / "bf_emma.int8.onnx"
    assert builtin_voice_file("emma") is None
    file = replace(emma.repos[0].files[0], sha256=sha256(b"voice"))
    changed = replace(emma, repos=(replace(emma.repos[0], files=(file,)),))
    monkeypatch.setattr("menura.store.resolve.lookup", lambda _: changed)
    assert builtin_voice_file("builtin-emma") == own
    shutil.rmtree(own.parent)
    assert builtin_voice_file("emma") is None


def test_a_file_that_is_given_as_a_model_names_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"")
    with pytest.raises(ModelNotFoundError) as caught:
        resolve(str(file))
    assert caught.value.message == (
        f"model {str(file)!r} is a file, and a model is a folder: give {str(tmp_path)!r}."
    )
