import json
import logging
import sys
from collections.abc import Iterator

import pytest

from menura.server.border.request_log import LOGGER, LogLines, RequestNotes, set_up, write


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    writers = [logging.getLogger(name) for name in ("menura", "uvicorn", "asyncio")]
    before = [(writer.handlers, writer.level, writer.propagate) for writer in writers]
    yield
    for writer, (handlers, level, propagate) in zip(writers, before, strict=True):
        writer.handlers, writer.propagate = handlers, propagate
        writer.setLevel(level)


def record(message: str = "request", **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("menura", logging.INFO, "a.py", 1, message, None, None)
    made.created, made.msecs = 1000.25, 250.0
    made.__dict__.update(extra)
    return made


def test_a_line_says_what_is_known() -> None:
    notes = RequestNotes("req_1", "POST", route="/a", status=200, characters=0, audio_s=1.23456)
    assert notes.line() == {
        "request_id": "req_1", "method": "POST", "route": "/a", "status": 200, "bytes_out": 0,
        "seconds": 0.0, "characters": 0, "audio_s": 1.2346,
    }  # fmt: skip


def test_both_formats_say_the_same() -> None:
    line = {"route": "/a", "status": 200}
    as_json = json.loads(LogLines(as_json=True).format(record(request=line)))
    assert as_json == {
        "time": "1970-01-01T00:16:40.250Z", "level": "info", "message": "request", **line,
    }  # fmt: skip
    assert LogLines(as_json=False).format(record(request=line)) == (
        '1970-01-01T00:16:40.250Z info request route="/a" status=200'
    )


@pytest.mark.parametrize("as_json", [True, False])
def test_no_message_can_write_a_second_line(as_json: bool) -> None:
    odd = LogLines(as_json=as_json).format(record("a\r\nlevel=error\x1b[31m\u2028", request={}))
    assert len(odd.splitlines()) == 1
    assert "\x1b" not in odd


@pytest.mark.parametrize("as_json", [True, False])
def test_a_trace_stays_on_its_line_and_leaves_out_the_errors_words(as_json: bool) -> None:
    words = "what somebody wanted spoken"
    try:
        raise KeyError(words)
    except KeyError:
        made = record(exc_info=sys.exc_info())
    line = LogLines(as_json=as_json).format(made)
    assert len(line.splitlines()) == 1
    assert "KeyError" in line
    assert "test_request_log.py" in line
    assert words not in line


def test_the_time_is_measured_to_the_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER.name)
    notes = RequestNotes("req_1", "GET")
    notes.started -= 100
    write(notes)
    assert 100 <= notes.seconds < 200
    assert caplog.records[0].__dict__["request"]["seconds"] >= 100


def test_the_process_writes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    set_up("json")
    write(RequestNotes("req_1", "GET"))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert json.loads(shown.err)["request_id"] == "req_1"


def test_what_a_requests_own_line_says_is_not_said_twice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_up("text")
    writer = logging.getLogger("uvicorn.error")
    writer.error("ASGI callable returned without completing response.")
    assert capsys.readouterr().err == ""
    writer.error("Something else.")
    assert "Something else." in capsys.readouterr().err
