"""ModelScope's own package brings the files; Menura finds, records and checks them."""

import errno
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from menura.catalogue import ExpectedFile, lookup
from menura.errors import DiskFullError, DownloadError, EngineNotInstalledError
from menura.models import Hub, Phase, pull, resolve
from menura.store.records import FileRecord, read_record
from menura.store.verify import verify
from tests.unit.store.fake_hub import QWEN, files_of, known, sha256


def use_fake_modelscope(
    patch: pytest.MonkeyPatch, home: Path, failure: str = "", disk_error: int = 0
) -> None:
    """A package `modelscope` that writes files into its cache as the real one does."""
    errors = ModuleType("modelscope.hub.errors")

    class NotExistError(Exception):
        """The real one derives from Exception too."""

    errors.NotExistError = NotExistError  # type: ignore[attr-defined]
    download = ModuleType("modelscope.hub.file_download")

    def model_file_download(model_id: str, file_path: str, revision: str | None = None) -> str:
        if failure:
            raise NotExistError(failure)
        if disk_error:
            raise OSError(disk_error, "the disk says no")
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


def expect_stand_ins(
    patch: pytest.MonkeyPatch, expected: dict[str, ExpectedFile] | None = None
) -> None:
    """The catalogue knows the stand-ins' sizes and SHA-256, or what `expected` has instead."""
    files = tuple(
        (expected or {}).get(name, ExpectedFile(name, len(content), sha256=sha256(content)))
        for name, content in files_of(QWEN).items()
    )
    model = known(QWEN)
    small = replace(model, repos=(replace(model.repos[0], files=files),))
    patch.setattr("menura.store.pull.lookup", lambda name: small if name == QWEN else lookup(name))


def modelscope_folder(home: Path, revision: str = "master") -> Path:
    return home / "modelscope" / "models" / QWEN.replace("/", "--") / "snapshots" / revision


@pytest.mark.usefixtures("no_network")
def test_modelscope_brings_the_same_files_into_its_own_cache(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_fake_modelscope(monkeypatch, home)
    expect_stand_ins(monkeypatch)
    steps = list(pull(QWEN, source="modelscope"))
    folder = modelscope_folder(home)
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


OTHERS = {
    "size": (ExpectedFile("merges.txt", 5), "it has 10 bytes, expected 5"),
    "SHA-256": (ExpectedFile("merges.txt", 10, sha256="0" * 64), f"expected {'0' * 64}"),
    "first digits": (ExpectedFile("merges.txt", 10, sha256_prefix="00000000"), "expected 00000000"),
}


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("case", sorted(OTHERS))
def test_another_file_than_the_catalogues_is_refused_named_and_left_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    expected, message = OTHERS[case]
    use_fake_modelscope(monkeypatch, home)
    expect_stand_ins(monkeypatch, {"merges.txt": expected})
    with pytest.raises(DownloadError) as caught:
        list(pull(QWEN, source="modelscope"))
    left = modelscope_folder(home) / "merges.txt"
    assert caught.value.message.startswith(f"merges.txt of {QWEN} from ModelScope is not the file")
    assert message in caught.value.message
    assert f"left at {left}:" in caught.value.message
    assert left.read_bytes() == b"merges.txt"
    assert read_record(Hub.MODELSCOPE, QWEN, "") is None


@pytest.mark.usefixtures("no_network")
def test_a_revision_asked_for_by_name_may_have_other_sizes_but_no_other_sha256(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_fake_modelscope(monkeypatch, home)
    expect_stand_ins(monkeypatch, {"merges.txt": ExpectedFile("merges.txt", 5)})
    list(pull(QWEN, source="modelscope", revision="v1"))
    record = read_record(Hub.MODELSCOPE, QWEN, "")
    assert record is not None
    assert record.files["merges.txt"] == FileRecord(10, sha256(b"merges.txt"))
    expect_stand_ins(monkeypatch, {"merges.txt": OTHERS["SHA-256"][0]})
    with pytest.raises(DownloadError, match="its SHA-256 is"):
        list(pull(QWEN, source="modelscope", revision="v1"))


@pytest.mark.usefixtures("no_network")
def test_a_disk_that_becomes_full_under_modelscope_is_called_full(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for disk_error in (errno.ENOSPC, errno.EDQUOT):
        use_fake_modelscope(monkeypatch, home, disk_error=disk_error)
        with pytest.raises(DiskFullError, match="became full") as caught:
            list(pull(QWEN, source="modelscope"))
        assert str(home / "modelscope") in caught.value.message
