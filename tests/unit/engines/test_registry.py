"""Engines of other packages: found by a real entry point, and never able to stop the others."""

import sys
from pathlib import Path

import pytest

import menura
from menura.engines import registry
from menura.errors import EngineNotInstalledError, ModelFilesError


def install(folder: Path, package: str, entry_point: str, code: str | None = None) -> None:
    """A package with one entry point, as pip would leave it."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[menura.engines]\n{entry_point}\n")
    if code is not None:
        (folder / f"{package}.py").write_text(code)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


BROKEN = {
    "raises": ("broken_raises:Engine", "raise RuntimeError('bad build')", "bad build"),
    "lacks": ("broken_lacks:Engine", "", "Engine"),
    "misnames": ("broken_misnames:Engine", "from json import nothing", "nothing"),
    "gone": ("broken_gone:Engine", None, "broken_gone"),
    "empty": ("", "", "cannot be used"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_engine_is_named_and_the_others_go_on(
    site: Path, kind: str, tone: menura.TTS
) -> None:
    value, code, word = BROKEN[kind]
    install(site, f"broken_{kind}", f"{kind} = {value}", code)
    with pytest.raises(EngineNotInstalledError, match=word) as caught:
        registry.engine_class(kind)
    assert kind in caught.value.message
    folder = site.parent / "model"
    folder.mkdir()
    (folder / "tone.json").write_text("{}")
    assert menura.load(folder).spec.engine == "tone"


def test_an_engine_whose_look_fails_is_reported_and_the_others_go_on(site: Path) -> None:
    code = (
        "class Engine:\n    @classmethod\n"
        "    def recognises(cls, folder):\n        raise OSError('no disk')\n"
    )
    install(site, "looks_badly", "looks = looks_badly:Engine", code)
    empty = site.parent / "empty"
    empty.mkdir()
    with pytest.raises(ModelFilesError, match="no disk"):
        registry.recognise(empty)
    (empty / "tone.json").write_text("{}")
    assert registry.recognise(empty) == "tone"


def test_an_entry_point_with_an_extra_is_found(site: Path) -> None:
    install(site, "with_extra", "extra = with_extra:Engine [fast]", "class Engine: pass\n")
    assert registry.engine_class("extra").__name__ == "Engine"  # type: ignore[attr-defined]


def test_a_package_that_an_engine_needs_is_named_with_the_command(site: Path) -> None:
    install(site, "needs_torch", "hungry = needs_torch:Engine", "import torch_that_is_not_there\n")
    with pytest.raises(
        EngineNotInstalledError, match="pip install torch_that_is_not_there"
    ) as caught:
        registry.engine_class("hungry")
    assert caught.value.exit_code == 7


def test_a_model_engine_without_torch_names_our_extra(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    install(site, "torch_engine", "deep = torch_engine:Engine", "import torch\n")
    with pytest.raises(EngineNotInstalledError, match=r"pip install 'menura\[torch\]'"):
        registry.engine_class("deep")


def test_two_packages_with_one_engine_name_are_an_error_that_names_both(site: Path) -> None:
    install(site, "twin_a", "twin = twin_a:Engine", "class Engine: pass\n")
    install(site, "twin_b", "twin = twin_b:Engine", "class Engine: pass\n")
    with pytest.raises(
        EngineNotInstalledError, match=r"twin_a:Engine.*twin_b:Engine|twin_b.*twin_a"
    ):
        registry.engine_class("twin")


def test_nobody_replaces_our_own_engine(site: Path) -> None:
    install(site, "usurper", "builtin = usurper:Engine", "class Engine: pass\n")
    assert registry.engine_class("builtin").__name__ == "BuiltinEngine"  # type: ignore[attr-defined]
    assert registry.names().count("builtin") == 1


def test_two_engines_that_claim_a_folder_are_an_error_with_their_reasons(site: Path) -> None:
    code = (
        "from menura.engines.contract import Match\n"
        "class Engine:\n    @classmethod\n    def recognises(cls, folder):\n"
        "        return Match('eager', 'it claims everything')\n"
    )
    install(site, "eager_engine", "eager = eager_engine:Engine", code)
    folder = site.parent / "model"
    folder.mkdir()
    (folder / "tone.json").write_text("{}")
    with pytest.raises(ModelFilesError, match="it claims everything") as caught:
        registry.recognise(folder)
    assert "tone.json" in caught.value.message


def test_an_unknown_engine_says_what_is_here() -> None:
    with pytest.raises(EngineNotInstalledError, match="builtin, qwen3-tts, echo-tts, tone"):
        registry.engine_class("no-such-engine")
