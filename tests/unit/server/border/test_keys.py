import json
import re
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from menura.errors import InvalidValueError, OutputError, SettingsError
from menura.server.border.keys import KeyStore, key_file
from menura.server.routes import ALL_SCOPES, Scope

SPEAK = frozenset({Scope.SPEAK})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "keys.json"


def test_a_key_is_found_by_itself_alone(path: Path) -> None:
    store = KeyStore(path)
    made = store.add("laptop", SPEAK)
    assert re.fullmatch(r"menura_[A-Za-z0-9_-]{43}", made.key)
    assert store.find(made.key) == made.record
    assert (made.record.label, made.record.scopes) == ("laptop", SPEAK)
    for wrong in ("", made.key[:-1], made.key + "x", made.key.upper(), made.record.sha256,
                  made.record.id, "x" * 100_000, "\ud800"):  # fmt: skip
        assert store.find(wrong) is None


def test_the_file_holds_no_key_and_is_its_owners_alone(path: Path) -> None:
    store = KeyStore(path)
    made = store.add("laptop", SPEAK)
    assert made.key not in path.read_text()
    assert made.key.removeprefix("menura_") not in path.read_text()
    assert made.key not in repr(made)
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_keys_outlive_the_process(path: Path) -> None:
    made = KeyStore(path).add("laptop", SPEAK)
    again = KeyStore(path)
    assert again.find(made.key) == made.record
    assert again.records() == (made.record,)


def test_a_running_server_sees_what_is_added_and_removed(path: Path) -> None:
    running, command = KeyStore(path), KeyStore(path)
    made = command.add("laptop", SPEAK)
    assert running.find(made.key) == made.record
    assert running.by_id(made.record.id) == made.record
    command.remove(made.record.id)
    assert running.find(made.key) is None
    assert running.by_id(made.record.id) is None


def test_the_first_key_is_made_once_and_may_do_everything(path: Path) -> None:
    made = KeyStore(path).first_key()
    assert made is not None
    assert made.record.scopes == ALL_SCOPES
    assert KeyStore(path).first_key() is None


def test_a_key_for_this_run_stands_in_no_file(path: Path) -> None:
    store = KeyStore(path)
    key = store.add_for_this_run("say")
    record = store.find(key)
    assert record is not None
    assert record.scopes == ALL_SCOPES
    assert store.records() == ()
    assert not path.exists()
    store.add("laptop", SPEAK)
    assert store.find(key) == record
    assert KeyStore(path).find(key) is None


def test_removing_says_which_keys_there_are(path: Path) -> None:
    store = KeyStore(path)
    with pytest.raises(InvalidValueError, match="there are none"):
        store.remove("key_1")
    made = store.add("laptop", SPEAK)
    with pytest.raises(InvalidValueError, match=f"the keys are: {made.record.id}"):
        store.remove("key_1")
    assert store.remove(made.record.id) == made.record


@pytest.mark.parametrize("label", ["", "  ", "\x00\x1b", "x" * 81])
def test_a_label_has_words(label: str, path: Path) -> None:
    with pytest.raises(InvalidValueError, match="1 to 80 characters"):
        KeyStore(path).add(label, SPEAK)


def test_a_label_cannot_write_into_a_terminal(path: Path) -> None:
    assert KeyStore(path).add("a\x1b]0;b\u202e", SPEAK).record.label == "a]0;b"


def test_a_key_without_a_scope_is_refused(path: Path) -> None:
    with pytest.raises(InvalidValueError, match="speak, voices, admin"):
        KeyStore(path).add("laptop", frozenset())


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", '{"schema": 2, "cookie_secret": "", "keys": []}',
     '{"schema": 1, "cookie_secret": "00", "keys": []}', "[" * 100_000,
     '{"schema": 1, "cookie_secret": "%s", "keys": [{"id": "a"}]}' % ("0" * 64)],
)  # fmt: skip
def test_a_broken_file_is_an_error_at_the_start(content: str, path: Path) -> None:
    path.parent.mkdir()
    path.write_text(content)
    with pytest.raises(SettingsError, match="cannot be read as a list of keys"):
        KeyStore(path)


def test_a_file_that_breaks_while_the_server_runs_changes_nothing(path: Path) -> None:
    store = KeyStore(path)
    made = store.add("laptop", SPEAK)
    path.write_text("{")
    assert store.find(made.key) == made.record
    assert path.read_text() == "{"


def test_no_key_counts_after_the_file_was_removed(path: Path) -> None:
    store = KeyStore(path)
    made = store.add("laptop", SPEAK)
    path.unlink()
    assert store.find(made.key) is None


@pytest.mark.skipif(sys.platform == "win32", reason="its files have no such modes")
def test_a_file_that_others_can_read_is_closed_to_them(path: Path) -> None:
    KeyStore(path).add("laptop", SPEAK)
    path.chmod(0o644)
    KeyStore(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_writers_at_once_lose_no_key(path: Path) -> None:
    def add(number: int) -> str:
        return KeyStore(path).add(f"label {number}", SPEAK).record.id

    with ThreadPoolExecutor(8) as workers:
        ids = set(workers.map(add, range(24)))
    assert {record.id for record in KeyStore(path).records()} == ids
    assert len(ids) == 24


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("a file")
    with pytest.raises((OutputError, SettingsError)):
        KeyStore(tmp_path / "config" / "keys.json").add("laptop", SPEAK)


def test_signatures_are_those_of_the_file(path: Path) -> None:
    store = KeyStore(path)
    store.add("laptop", SPEAK)
    assert store.signature("a") == KeyStore(path).signature("a")
    assert store.signature("a") != store.signature("b")
    secret = json.loads(path.read_text())["cookie_secret"]
    content = path.read_text().replace(secret, "0" * 64)
    path.write_text(content)
    assert KeyStore(path).signature("a") != store.signature("a") or secret == "0" * 64


def test_the_keys_lie_in_the_users_configuration(tmp_path: Path) -> None:
    assert key_file() == tmp_path / "menura-home" / "config" / "keys.json"
