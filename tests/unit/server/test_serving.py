import errno
import socket
from dataclasses import fields
from pathlib import Path

import pytest

from menura import settings
from menura.errors import InvalidValueError, MenuraError, ModelNotFoundError
from menura.server.models.pool_limits import PoolLimits, ReaderLimits
from menura.server.server_settings import ServerSettings
from menura.server.serving import address_of, listening, parts_of, pool_limits


def test_a_free_port_is_taken_and_given_back() -> None:
    with listening("127.0.0.1", 0, "--port") as sock:
        host, port = sock.getsockname()
        assert host == "127.0.0.1"
        assert address_of(sock) == f"http://127.0.0.1:{port}"
        with socket.create_connection((host, port), timeout=10):
            pass
    with listening("127.0.0.1", port, "--port"):
        pass


def test_a_port_in_use_is_told_with_its_flag() -> None:
    with listening("127.0.0.1", 0, "--port") as sock:
        port = sock.getsockname()[1]
        with (
            pytest.raises(MenuraError, match=f"^port {port} of 127.0.0.1 is in use") as caught,
            listening("127.0.0.1", port, "--wyoming"),
        ):
            pass
    assert caught.value.param == "--wyoming"
    assert "--wyoming 0" in caught.value.message


@pytest.mark.parametrize("host", ["203.0.113.7", "no host at all"])
def test_an_address_of_others_is_refused(host: str) -> None:
    with (
        pytest.raises(InvalidValueError, match=host) as caught,
        listening(host, 0, "--port"),
    ):
        pass
    assert caught.value.param == "--host"


def test_a_port_without_rights_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(sock: socket.socket, address: object) -> None:
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("socket.socket.bind", refuse)
    with (
        pytest.raises(MenuraError, match=r"^port 80 needs more rights"),
        listening("127.0.0.1", 80, "--port"),
    ):
        pass


def test_localhost_is_an_address_of_ipv4() -> None:
    with listening("localhost", 0, "--port") as sock:
        assert sock.family == socket.AF_INET


def test_every_address_is_reached_by_the_loopback_one() -> None:
    with listening("0.0.0.0", 0, "--port") as sock:
        assert address_of(sock, "tcp") == f"tcp://127.0.0.1:{sock.getsockname()[1]}"


def test_the_pools_limits_are_the_settings() -> None:
    """Every limit comes from a setting of its own: none keeps the pool's default by mistake."""
    values: dict[str, object] = {
        "queue": 1, "per_key": 2, "queue_s": 3.0, "rows": 4, "idle_s": 5.0, "max_models": 6,
        "load_s": 7.0, "hang_s": 8.0, "buffer_s": 9.0, "full_s": 10.0, "request_s": 11.0,
        "stall_s": 12.0, "parked": 13, "pause_s": 14.0,
    }  # fmt: skip
    found = pool_limits(ServerSettings.parse(values))
    numbers = [getattr(found, field.name) for field in fields(PoolLimits) if field.name != "reader"]
    numbers += [getattr(found.reader, field.name) for field in fields(ReaderLimits)]
    assert sorted(numbers) == list(range(1, 15))


def test_the_parts_have_the_models_that_were_given(tmp_path: Path) -> None:
    (tmp_path / "tone").mkdir()
    (tmp_path / "tone" / "tone.json").write_text("{}")
    limits = ServerSettings(models=f"{tmp_path / 'tone'}\n")
    parts = parts_of(limits, settings.load({"mark": False}))
    assert parts.names.default == "tone"
    assert parts.names.folders() == {"tone": tmp_path / "tone"}
    assert parts.mark is False


def test_a_model_that_is_not_here_is_an_error() -> None:
    with pytest.raises(ModelNotFoundError):
        parts_of(ServerSettings(models="nowhere"), settings.load())
