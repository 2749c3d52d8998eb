import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from menura import __version__, settings
from menura.errors import OutputError
from menura.server.state_file import (
    ServerState,
    Unusable,
    find,
    published,
    speech_settings,
)
from menura.settings import folders

STATE = ServerState(
    address="http://127.0.0.1:8000",
    key="menura_secret",
    models={"tone": "/models/tone"},
    settings={"device": "auto", "threads": None, "sentence_pause_s": 0.15},
    max_characters=4096,
)


def path() -> Path:
    return folders().state / "server.json"


def reason() -> str:
    found = find()
    assert isinstance(found, Unusable)
    return found.reason


def test_what_is_published_is_found() -> None:
    with published(STATE) as file:
        assert file == path()
        assert find() == STATE
    assert reason() == ""


def test_only_the_user_may_read_it() -> None:
    before = os.umask(0)
    try:
        with published(STATE):
            assert stat.S_IMODE(path().stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_a_file_that_others_may_read_is_not_used() -> None:
    with published(STATE):
        path().chmod(0o640)
        assert reason().endswith("can be read by others (mode 640, and 600 is needed)")


def test_a_file_of_another_user_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with published(STATE):
        monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
        assert reason().endswith("belongs to another user")


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    with published(STATE) as file:
        assert file is not None
        target = file.rename(tmp_path / "elsewhere")
        file.symlink_to(target)
        assert "cannot be read" in reason()
        file.unlink()


def test_a_pipe_is_no_file() -> None:
    path().parent.mkdir(parents=True)
    os.mkfifo(path(), 0o600)
    assert reason().endswith("is not a file")


def test_a_file_that_no_server_holds_is_not_used() -> None:
    with published(STATE):
        content = path().read_bytes()
    path().write_bytes(content)
    path().chmod(0o600)
    assert reason().endswith("was left by a server that has ended")


def test_another_version_is_not_used() -> None:
    with published(replace(STATE, version="0.0.0")):
        assert reason() == f"the server is Menura 0.0.0, and this is {__version__}"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b"[" * 100_000,
        json.dumps({"version": __version__}).encode(),
        json.dumps({**vars(STATE), "pid": "1"}).encode(),
        json.dumps({**vars(STATE), "more": 1}).encode(),
    ],
)
def test_what_is_no_state_is_not_used(content: bytes) -> None:
    with published(STATE):
        path().write_bytes(content)
        assert reason() != ""


def test_the_first_server_stays_the_one_that_is_found() -> None:
    with published(STATE):
        with published(replace(STATE, address="http://127.0.0.1:9000")) as second:
            assert second is None
            assert find() == STATE
        assert find() == STATE


def test_a_stale_file_is_replaced_and_the_new_one_removed() -> None:
    path().parent.mkdir(parents=True)
    path().write_text("{}")
    with published(STATE):
        assert find() == STATE
    assert list(path().parent.iterdir()) == []


def test_somebody_elses_file_is_left_there() -> None:
    with published(STATE):
        path().unlink()
        path().write_text("mine")
    assert path().read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_told() -> None:
    folders().state.parent.mkdir(parents=True)
    folders().state.write_text("")
    with pytest.raises(OutputError, match=r"server\.json' cannot be written"), published(STATE):
        pass


def test_the_key_is_in_no_words_about_the_state() -> None:
    assert "menura_secret" not in repr(STATE)


def test_settings_of_speech_leave_out_what_each_request_says() -> None:
    chosen = settings.load({"default_model": "x", "mark": False, "device": "cpu", "threads": 2})
    found = speech_settings(chosen)
    assert found.keys().isdisjoint({"default_model", "mark"})
    assert (found["device"], found["threads"]) == ("cpu", 2)
    assert json.loads(json.dumps(found)) == found


def test_a_wish_and_an_order_are_told_apart() -> None:
    ordered = speech_settings(settings.load({"precision": "int8"}))
    environment = {"MENURA_PRECISION": "int8", "MENURA_HOME": str(folders().state.parent)}
    wished = speech_settings(settings.load(environment=environment))
    assert ordered["precision"] == wished["precision"] == "int8"
    assert ordered != wished
