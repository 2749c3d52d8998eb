from pathlib import Path

import pytest
from starlette.requests import HTTPConnection

from menura.server.border.credentials import SESSION_S, Credentials, check_scope, key_of
from menura.server.border.guards import Origin
from menura.server.border.keys import KeyStore, NewKey
from menura.server.border.metrics import Metrics
from menura.server.border.problems import Problem
from menura.server.routes import ALL_SCOPES, Caller, Scope
from menura.server.server_settings import ServerSettings

SPEAK = frozenset({Scope.SPEAK})
OWN_PAGE = Origin(is_page=True)
OTHER_SITE = Origin(is_page=True, allowed_site="https://a.example")


class Door:
    """Credentials with one key, and a clock moved by hand."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.now = 1000.0
        self.keys = KeyStore(folder / "keys.json")
        self.made: NewKey = self.keys.add("laptop", SPEAK)
        limits = ServerSettings.parse(settings)
        self.credentials = Credentials(self.keys, limits, Metrics(), lambda: self.now)

    def caller(self, connection: HTTPConnection) -> Caller:
        return self.credentials.caller(connection)

    def status(self, connection: HTTPConnection) -> int:
        with pytest.raises(Problem) as caught:
            self.credentials.caller(connection)
        return caught.value.status_code

    def cookie(self) -> str:
        return f"{self.credentials.cookie}={self.credentials.sign_in(asking(), self.made.key)[1]}"


def asking(
    headers: dict[str, str] | None = None,
    *,
    method: str | None = "GET",
    origin: Origin | None = None,
    client: str = "10.0.0.1",
) -> HTTPConnection:
    named = [(name.encode(), value.encode("latin-1")) for name, value in (headers or {}).items()]
    return HTTPConnection({
        "type": "http" if method else "websocket",
        **({"method": method} if method else {}),
        "headers": named,
        "client": (client, 1),
        "state": {"origin": origin or Origin()},
    })  # fmt: skip


@pytest.fixture
def door(tmp_path: Path) -> Door:
    return Door(tmp_path)


def test_a_key_is_taken_from_either_header(door: Door) -> None:
    expected = Caller(door.made.record.id, SPEAK, door.made.record.id)
    for headers in (
        {"authorization": f"Bearer {door.made.key}"},
        {"authorization": f"bearer   {door.made.key} "},
        {"xi-api-key": door.made.key},
        {"authorization": "Basic abc", "xi-api-key": door.made.key},
        {"authorization": "Bearer ", "xi-api-key": door.made.key},
    ):
        assert door.caller(asking(headers)) == expected


def test_no_key_and_a_wrong_key_are_told_apart_and_neither_comes_in(door: Door) -> None:
    for headers, code in (
        ({}, "missing_key"),
        ({"authorization": "Basic abc"}, "missing_key"),
        ({"authorization": door.made.key}, "missing_key"),
        ({"authorization": "Bearer menura_wrong"}, "wrong_key"),
        ({"authorization": f"Bearer {door.made.record.sha256}"}, "wrong_key"),
        ({"authorization": "Bearer x", "xi-api-key": door.made.key}, "wrong_key"),
    ):
        with pytest.raises(Problem) as caught:
            door.caller(asking(headers))
        assert (caught.value.status_code, caught.value.code) == (401, code)
        assert caught.value.answer().headers["www-authenticate"] == "Bearer"


def test_guessing_is_slowed_and_locks_nobody_out(door: Door) -> None:
    wrong = asking({"authorization": "Bearer x"})
    right = asking({"authorization": f"Bearer {door.made.key}"})
    assert [door.status(wrong) for _ in range(22)] == [401] * 20 + [429] * 2
    assert door.caller(right).owner == door.made.record.id
    assert door.status(asking({"authorization": "Bearer x"}, client="10.0.0.2")) == 401
    assert door.status(asking()) == 401


def test_a_slowed_guesser_is_told_when_and_that_a_retry_is_no_use(door: Door) -> None:
    for _ in range(20):
        door.status(asking({"xi-api-key": "x"}))
    with pytest.raises(Problem) as caught:
        door.caller(asking({"xi-api-key": "x"}))
    headers = caught.value.answer().headers
    assert headers["x-should-retry"] == "false"
    assert 1 <= int(headers["retry-after"]) <= 61


def test_a_cookie_counts_for_reading_and_from_the_servers_own_page(door: Door) -> None:
    cookie = {"cookie": f"a=b; {door.cookie()}"}
    assert door.caller(asking(cookie)).key_id == door.made.record.id
    assert door.caller(asking(cookie, method="POST", origin=OWN_PAGE)).scopes == SPEAK
    assert door.caller(asking(cookie, method=None, origin=OWN_PAGE)).scopes == SPEAK


@pytest.mark.parametrize(
    ("method", "origin"),
    [("POST", None), ("DELETE", None), (None, None), ("GET", OTHER_SITE), ("POST", OTHER_SITE),
     (None, OTHER_SITE)],
)  # fmt: skip
def test_a_cookie_alone_does_nothing_for_others(
    method: str | None, origin: Origin | None, door: Door
) -> None:
    assert door.status(asking({"cookie": door.cookie()}, method=method, origin=origin)) == 401


def test_a_cookie_ends_with_its_time_and_with_its_key(door: Door) -> None:
    cookie = {"cookie": door.cookie()}
    door.now += SESSION_S - 1
    door.caller(asking(cookie))
    door.now += 1
    assert door.status(asking(cookie)) == 401
    door.now -= 1
    door.keys.remove(door.made.record.id)
    assert door.status(asking(cookie)) == 401


def test_a_changed_cookie_is_none(door: Door) -> None:
    cookie = door.cookie()
    key_id, until, signature = cookie.removeprefix(f"{door.credentials.cookie}=").split(".")
    for forged in ("", ".", "..", "a.b.c", f"{key_id}.{int(until) + 1}.{signature}",
                   f"{key_id}.{until}.{'0' * 64}", f"{key_id}.{until}.", f"{key_id}.x.{signature}",
                   f"{key_id}.{until}.\xe9"):  # fmt: skip
        assert door.status(asking({"cookie": f"{door.credentials.cookie}={forged}"})) == 401


def test_the_cookie_is_not_the_key(door: Door) -> None:
    assert door.made.key not in door.cookie()
    assert door.status(asking({"authorization": f"Bearer {door.cookie()}"})) == 401


def test_signing_in_with_a_wrong_key_counts_as_guessing(door: Door) -> None:
    def attempt() -> int:
        with pytest.raises(Problem) as caught:
            door.credentials.sign_in(asking(), "x")
        return caught.value.status_code

    assert [attempt() for _ in range(21)] == [401] * 20 + [429]


def test_without_keys_this_machine_may_do_everything(tmp_path: Path) -> None:
    door = Door(tmp_path, no_key=True)
    free = door.caller(asking({"authorization": "Bearer sk-not-needed"}))
    assert free == Caller("", ALL_SCOPES, "address 10.0.0.1")


def test_without_keys_strangers_may_speak_and_a_real_key_adds_to_it(tmp_path: Path) -> None:
    door = Door(tmp_path, host="0.0.0.0", no_auth_i_understand=True)
    assert Scope.ADMIN not in door.caller(asking()).scopes
    assert Scope.SPEAK in door.caller(asking()).scopes
    admin = door.keys.add("admin", ALL_SCOPES)
    assert door.caller(asking({"xi-api-key": admin.key})).scopes == ALL_SCOPES


def test_a_missing_scope_is_named() -> None:
    caller = Caller("key_1", SPEAK, "key_1")
    check_scope(caller, Scope.SPEAK)
    with pytest.raises(Problem, match="'admin'") as caught:
        check_scope(caller, Scope.ADMIN)
    assert caught.value.status_code == 403


def test_the_bearer_header_wins() -> None:
    assert key_of(asking({"authorization": "Bearer a", "xi-api-key": "b"})) == "a"
