from pathlib import Path

import pytest

from menura.errors import InvalidValueError
from menura.server.server_settings import ServerSettings, entries, is_loopback, pairs


def settings(**values: object) -> ServerSettings:
    return ServerSettings.parse(values)


def test_the_defaults_are_a_loopback_address_with_a_key_and_no_foreign_page() -> None:
    chosen = settings()
    chosen.check()
    assert (chosen.host, chosen.asks_for_keys, chosen.origins) == ("127.0.0.1", True, frozenset())
    assert chosen.allowed_hosts == {"localhost", "127.0.0.1", "::1"}


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("[::1]", True), ("LocalHost", True),
     ("0.0.0.0", False), ("::", False), ("192.168.1.2", False), ("example.com", False),
     ("localhost.example.com", False)],
)  # fmt: skip
def test_only_this_machines_own_addresses_are_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.com"])
def test_others_never_reach_a_server_without_a_key_unless_it_is_said_twice(host: str) -> None:
    settings(host=host).check()
    with pytest.raises(InvalidValueError, match="can be reached from outside") as caught:
        settings(host=host, no_key=True).check()
    assert caught.value.param == "no_key"
    settings(host=host, no_auth_i_understand=True).check()
    settings(host="127.0.0.1", no_key=True).check()


def test_wyoming_stays_on_this_machine_unless_it_is_said() -> None:
    settings(wyoming_port=10200).check()
    with pytest.raises(InvalidValueError, match="Wyoming knows no keys"):
        settings(wyoming_port=10200, wyoming_host="0.0.0.0").check()
    settings(wyoming_port=1, wyoming_host="0.0.0.0", wyoming_open_i_understand=True).check()
    settings(wyoming_host="0.0.0.0").check()


def test_entries_are_divided_by_commas_or_by_lines() -> None:
    assert entries(" a, b ,,c") == ("a", "b", "c")
    assert entries("a, b\n") == ("a, b",)
    assert entries("") == ()


def test_pairs_have_a_name_and_a_value() -> None:
    assert pairs("voices", "me=/x/a=b.safetensors, you = c") == (
        ("me", "/x/a=b.safetensors"), ("you", "c"),
    )  # fmt: skip
    for wrong in ("me", "=x", "me=", "me=a,ME=b"):
        with pytest.raises(InvalidValueError):
            pairs("voices", wrong)


def test_voice_files_and_aliases_are_read() -> None:
    chosen = settings(voices="me=a.safetensors", voice_aliases="alloy=me", model_aliases="x=y")
    assert chosen.voice_files == {"me": Path("a.safetensors")}
    assert (chosen.voice_alias_map, chosen.model_alias_map) == ({"alloy": "me"}, {"x": "y"})


def test_named_origins_and_presets_are_allowed() -> None:
    chosen = settings(cors="https://Example.com/, app://obsidian.md", cors_preset="koboldai")
    assert {"https://example.com", "app://obsidian.md", "https://lite.koboldai.net"} <= (
        chosen.origins
    )


@pytest.mark.parametrize("wrong", ["*", "null", "example.com", "https://*.example.com",
                                   "https://example.com/page", "https://"])  # fmt: skip
def test_an_origin_is_one_site(wrong: str) -> None:
    with pytest.raises(InvalidValueError, match="must be an origin such as"):
        settings(cors=wrong).check()


def test_an_unknown_preset_is_an_error() -> None:
    with pytest.raises(InvalidValueError, match="open-webui, sillytavern, koboldai"):
        settings(cors_preset="openwebui").check()


@pytest.mark.parametrize("wrong", ["*", "*.example.com", "a b", "http://a", "a:80", "a/b"])
def test_a_host_name_is_one_name(wrong: str) -> None:
    with pytest.raises(InvalidValueError, match="no name of a host") as no:
        settings(host_names=f"fine.example,{wrong}").check()
    assert no.value.param == "host_names"


@pytest.mark.parametrize("name", ["speech.example.org", "my_host", "[::1]", "10.0.0.1"])
def test_a_host_name_may_be_an_address(name: str) -> None:
    settings(host_names=name).check()


def test_host_names_come_on_top_and_every_address_is_one_where_it_listens_on_all() -> None:
    chosen = settings(host="0.0.0.0", host_names="Menura.local")
    assert "menura.local" in chosen.allowed_hosts
    assert (chosen.allows_any_address, settings().allows_any_address) == (True, False)


def test_uploads_are_bounded_and_voices_need_consent() -> None:
    assert (settings().max_upload_bytes, settings().require_consent) == (25_000_000, True)
    assert settings(max_upload_mb=1).max_upload_bytes == 1_000_000
    for wrong in (0, 101):
        with pytest.raises(InvalidValueError):
            settings(max_upload_mb=wrong)
