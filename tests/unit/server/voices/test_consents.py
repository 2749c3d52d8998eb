import json
import os
import stat
from pathlib import Path

import pytest

from menura.errors import InvalidValueError, OutputError
from menura.server.border.problems import Problem
from menura.server.voices.consents import ConsentStore

UNKNOWN = "cons_" + "0" * 32


@pytest.fixture
def store(tmp_path: Path) -> ConsentStore:
    return ConsentStore(tmp_path / "consents")


def test_a_consent_is_kept_found_renamed_and_removed(store: ConsentStore, tmp_path: Path) -> None:
    made = store.add("  Anna\u202e ", "en-US", b"fLaC")
    assert (made.name, made.language) == ("Anna", "en-US")
    assert made.id.startswith("cons_")
    assert store.all() == (made,)
    assert store.find(made.id) == made
    assert store.recording(made) == b"fLaC"
    assert ConsentStore(tmp_path / "consents").rename(made.id, "Änne").name == "Änne"
    assert store.find(made.id).name == "Änne"
    assert store.find(made.id).created_at == made.created_at > 1.6e9
    store.remove(made.id)
    assert store.all() == ()
    assert list((tmp_path / "consents").iterdir()) == []


def test_what_is_there_explains_itself(store: ConsentStore, tmp_path: Path) -> None:
    made = store.add("Anna", "en", b"fLaC")
    content = json.loads((tmp_path / "consents" / made.id / "consent.json").read_text())
    assert content == {"schema": 1, "id": made.id, "name": "Anna", "language": "en",
                       "made_on": made.made_on}  # fmt: skip


@pytest.mark.parametrize(
    "given", [UNKNOWN, "", "..", "../consents", "cons_", "/etc", "\x00", "cons_" + "0" * 31 + "/"]
)
def test_a1_every_miss_is_the_same(store: ConsentStore, given: str) -> None:
    store.add("Anna", "en", b"fLaC")
    for ask in (store.find, store.remove, lambda word: store.rename(word, "Anna")):
        with pytest.raises(Problem) as caught:
            ask(given)
        assert (caught.value.status_code, caught.value.code) == (404, "consent_not_found")
        assert caught.value.message == "There is no consent with this id."


def test_a3_a_link_is_not_followed(store: ConsentStore, tmp_path: Path) -> None:
    made = store.add("Anna", "en", b"fLaC")
    folder = tmp_path / "consents" / made.id
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Problem):
        store.find(made.id)
    assert store.all() == ()
    folder.unlink()
    (tmp_path / "elsewhere").rename(folder)
    (folder / "recording.flac").unlink()
    (folder / "recording.flac").symlink_to("/etc/hostname")
    with pytest.raises(Problem):
        store.recording(made)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"schema": 2}', '{"schema": 1, "more": 1}', '{"schema": 1, "id": "cons_1"}'],
)
def test_a_damaged_consent_is_left_out(store: ConsentStore, tmp_path: Path, text: str) -> None:
    good = store.add("Anna", "en", b"fLaC")
    bad = store.add("Berta", "en", b"fLaC")
    (tmp_path / "consents" / bad.id / "consent.json").write_text(text)
    assert store.all() == (good,)


def test_a_name_is_checked_and_called_as_clients_do(store: ConsentStore) -> None:
    for name in ("", " ", "\u200b", "x" * 81):
        with pytest.raises(InvalidValueError) as caught:
            store.add(name, "en", b"fLaC")
        assert caught.value.param == "name"
    assert store.all() == ()


def test_a44_a_kill_before_the_rename_leaves_nothing_that_is_seen(
    store: ConsentStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", _disk_refuses)
        with pytest.raises(OutputError):
            store.add("Anna", "en", b"fLaC")
    assert list((tmp_path / "consents").iterdir()) == []
    half = tmp_path / "consents" / ".making-0"
    half.mkdir()
    os.utime(half, (0, 0))
    (tmp_path / "consents" / ".removing-0").mkdir()
    assert store.all() == ()
    made = store.add("Anna", "en", b"fLaC")
    assert [path.name for path in (tmp_path / "consents").iterdir()] == [made.id]


def _disk_refuses(*_: object) -> Path:
    raise PermissionError(13, "not allowed")


def test_a_rename_meets_a_removal(store: ConsentStore, monkeypatch: pytest.MonkeyPatch) -> None:
    made = store.add("Anna", "en", b"fLaC")
    find = ConsentStore.find

    def find_then_remove(self: ConsentStore, given: str) -> object:
        found = find(self, given)
        with monkeypatch.context() as patch:
            patch.setattr(ConsentStore, "find", find)
            self.remove(given)
        return found

    monkeypatch.setattr(ConsentStore, "find", find_then_remove)
    with pytest.raises(Problem):
        store.rename(made.id, "Berta")


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps a user's files from others by itself")
def test_consents_are_for_their_user_alone(store: ConsentStore, tmp_path: Path) -> None:
    def modes() -> set[int]:
        paths = (tmp_path / "consents", *(tmp_path / "consents").rglob("*"))
        return {stat.S_IMODE(path.stat().st_mode) for path in paths}

    mask = os.umask(0)
    try:
        made = store.add("Anna", "en", b"fLaC")
        assert modes() == {0o700, 0o600}
        for path in (tmp_path / "consents", *(tmp_path / "consents").rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        store.rename(made.id, "Ben")
        assert modes() == {0o700, 0o600}
    finally:
        os.umask(mask)
