import pytest

from menura.server.border.keys import KeyStore, key_file
from menura.server.routes import Scope
from tests.command_line import run


def test_a_key_is_printed_alone_and_known() -> None:
    ran = run("keys", "add", "Open WebUI", "--scope", "speak", "--scope", "admin")
    key = ran.out.strip()
    record = KeyStore(key_file()).find(key)
    assert record is not None
    assert record.label == "Open WebUI"
    assert record.scopes == frozenset({Scope.SPEAK, Scope.ADMIN})
    assert ran.stderr == f"{record.id}  admin, speak; the key is shown this once\n"


def test_without_a_scope_it_may_speak() -> None:
    answer = run("keys", "add", "app", "--json").answer
    assert (answer["label"], answer["scopes"]) == ("app", ["speak"])
    assert str(answer["key"]).startswith("menura_")


def test_the_list_shows_no_key() -> None:
    made = run("keys", "add", "app", "--json").answer
    listed = run("keys", "list", "--json").answer
    assert listed == {"keys": [{name: made[name] for name in ("id", "label", "scopes", "made_on")}]}
    ran = run("keys")
    assert str(made["id"]) in ran.out
    assert str(made["key"]) not in ran.out


def test_without_keys_the_list_says_how_to_make_one() -> None:
    assert "menura keys add LABEL" in run("keys").out
    assert run("keys", "--json").answer == {"keys": []}


def test_a_key_can_be_removed() -> None:
    made = run("keys", "add", "app", "--json").answer
    ran = run("keys", "remove", str(made["id"]))
    assert (ran.code, ran.stderr) == (0, f"{made['id']}  removed (app)\n")
    assert KeyStore(key_file()).find(str(made["key"])) is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["add", "app", "--scope", "speek"], "Did you mean 'speak'?"),
        (["add", " "], "it must have 1 to"),
        (["remove", "key_x"], "there is no key 'key_x'; there are none"),
    ],
)
def test_what_is_wrong_is_told(arguments: list[str], words: str) -> None:
    ran = run("keys", *arguments)
    assert ran.code == 2
    assert words in ran.stderr
