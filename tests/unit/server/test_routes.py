from pathlib import Path

import pytest

from menura.server.routes import NO_BODY, SMALL_JSON, TEXT_JSON, Scope
from tests.unit.server.http_parts import site_at


def test_a_body_may_grow_with_the_longest_text() -> None:
    assert TEXT_JSON.largest(4096) == 64 * 1024 + 12 * 4096
    assert SMALL_JSON.largest(4096) == 16 * 1024
    assert NO_BODY.largest(4096) == 0


def test_the_longest_text_fits_however_it_is_written(tmp_path: Path) -> None:
    worst = '{"text": "' + "\\ud83d\\ude00" * 4096 + '"}'
    assert len(worst) <= TEXT_JSON.largest(4096)


@pytest.mark.parametrize(("opened", "status"), [(False, 401), (True, 200)])
def test_the_voice_list_opens_by_a_switch_alone(opened: bool, status: int, tmp_path: Path) -> None:
    client = site_at(tmp_path, open_voice_list=opened).client()
    assert client.get("/list").status_code == status
    assert client.post("/echo", json={"text": "a"}).status_code == 401


def test_scopes_are_three_words() -> None:
    assert list(Scope) == ["speak", "voices", "admin"]
