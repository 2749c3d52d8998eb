import logging

import pytest
from starlette.requests import Request

from menura.server.border import audit
from menura.server.border.request_log import RequestNotes
from menura.server.routes import ALL_SCOPES, Caller


@pytest.mark.parametrize(("key", "told"), [("key_1", {"key": "key_1"}), ("", {})])
def test_a_line_says_who_did_what_to_which(
    key: str, told: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    state = {"caller": Caller(key, ALL_SCOPES, key), "notes": RequestNotes("req_1", "POST")}
    with caplog.at_level(logging.INFO, "menura.server.audit"):
        audit.note(Request({"type": "http", "state": state}), "voice removed", "voice_1")
    [record] = caplog.records
    assert record.getMessage() == "voice removed"
    assert record.__dict__["request"] == {**told, "id": "voice_1", "request_id": "req_1"}
