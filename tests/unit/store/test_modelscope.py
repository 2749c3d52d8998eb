"""ModelScope's own package brings the files; Menura finds, records and checks them."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from menura.errors import DiskFullError, DownloadError, EngineNotInstalledError
from menura.models import Phase, pull, resolve, verify
from tests.unit.store.fake_hub import (
    QWEN,
    files_of,
)


def use_fake_modelscope(patch: pytest.MonkeyPatch, home: Path, failure: str = "") -> None:
    """A package `modelscope` that writes files into its cache as the real one does."""
    errors = ModuleType("modelscope.hub.errors")

    class NotExistError(Exception):
        """The real one derives from Exception too."""

    errors.NotExistError = NotExistError  # type: ignore[attr-defined]
    download = ModuleType("modelscope.hub.file_download")

    def model_file_download(model_id: str, file_path: str, revision: str | None = None) -> str:
        if failure:
            raise NotExistError(failure)
        path = home / "modelscope" / "models" / model_id.replace("/", "--")
        path = path / "snapshots" / (revision or "master") / file_path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files_of(QWEN)[file_path])
        return str(path)

    download.model_file_download = model_file_download  # type: ignore[attr-defined]
    hub_package = ModuleType("modelscope.hub")
    hub_package.errors = errors  # type: ignore[attr-defined]
    for module in (ModuleType("modelscope"), hub_package, errors, download):
        patch.setitem(sys.modules, module.__name__, module)


@pytest.mark.usefixtures("no_network")
def test_modelscope_brings_the_same_files_into_its_own_cache(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_fake_modelscope(monkeypatch, home)
    steps = list(pull(QWEN, source="modelscope"))
    folder = home / "modelscope" / "models" / QWEN.replace("/", "--") / "snapshots" / "master"
    assert resolve(QWEN).folders == (folder,)
    assert steps[-1].phase is Phase.DONE
    report = verify(QWEN)
    assert [file.name for file in report.files if not file.sha256] == []
    (folder / "merges.txt").write_bytes(b"damaged!!!")
    assert not verify(QWEN).ok


@pytest.mark.usefixtures("no_network")
def test_modelscope_failures_and_a_missing_package_are_clear(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "modelscope", None)
    with pytest.raises(EngineNotInstalledError, match="pip install modelscope"):
        list(pull(QWEN, source="modelscope"))
    use_fake_modelscope(monkeypatch, home, failure="gone")
    with pytest.raises(DownloadError, match=r"ModelScope could not bring config\.json.*gone"):
        list(pull(QWEN, source="modelscope"))


@pytest.mark.usefixtures("no_network")
def test_a_full_disk_is_noticed_before_modelscope_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 5}))
    with pytest.raises(DiskFullError, match=r"needs 2,516,100,892 more bytes.* 5 free"):
        list(pull(QWEN, source="modelscope"))
