import errno
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from menura.cli import terminal
from menura.errors import InvalidValueError, OutputError
from tests.command_line import Stream


@pytest.mark.parametrize(
    ("given_text", "seen"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\x1b[2J\x1b[Hb", "ab"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("\x1bcreset", "reset"),
        ("\x9b31mred", "31mred"),
        ("one\r\ntwo\tthree", "one two three"),
        ("bell\x07 and nul\x00", "bell and nul"),
        ("evil\u202etxt", "eviltxt"),
        ("lone\udc80", "lone"),
        ("نمی\u200cخواهم", "نمی\u200cخواهم"),
        ("[bold]not markup[/bold] :smile:", "[bold]not markup[/bold] :smile:"),
    ],
)
def test_visible_takes_out_what_steers_a_terminal(given_text: str, seen: str) -> None:
    assert terminal.visible(given_text) == seen


@given(st.text())
def test_visible_is_one_line_without_control_characters(text: str) -> None:
    seen = terminal.visible(text)
    assert not any(c < " " or "\x7f" <= c <= "\x9f" for c in seen)
    assert terminal.visible(seen) == seen


def test_shortened_marks_what_it_cut() -> None:
    assert terminal.shortened("abcdef", 6) == "abcdef"
    assert terminal.shortened("abcdefg", 6) == "abcde…"
    assert terminal.shortened("abcd efg", 6) == "abcd…"


def test_colours_need_a_terminal_and_no_wish_against_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout", Stream())
    assert terminal.accent("x", "stdout") == "x"
    monkeypatch.setattr("sys.stdout", Stream(terminal=True))
    assert terminal.accent("x", "stdout") == "\x1b[36mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal.accent("x", "stdout") == "x"


def test_json_is_one_ascii_object(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.emit_json({"text": "é\u202e\x1b\udc80", "path": Path("a"), "n": np.int64(3)})
    out = capsys.readouterr().out
    assert out.isascii()
    assert json.loads(out) == {"text": "é\u202e\x1b\udc80", "path": "a", "n": 3}


def test_json_refuses_what_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TypeError, match="object has no place"):
        terminal.emit_json({"x": object()})
    assert capsys.readouterr().out == ""


def test_a_table_aligns_and_reads_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.emit_table(("name", "n"), [("[red]a[/red]", "1"), ("b\x1b[1m", "10")], numbers={"n"})
    assert capsys.readouterr().out.splitlines() == [
        "name           n",
        "[red]a[/red]   1",
        "b             10",
    ]


def test_a_terminal_without_colours_gets_no_sequence_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in ("COLUMNS", "LINES"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stdout", out := Stream(terminal=True))
    terminal.emit_table(("name",), [("a",)])
    terminal.emit_facts([("name", "a")])
    assert b"\x1b" not in out.bytes.getvalue()
    monkeypatch.delenv("NO_COLOR")
    terminal.emit_table(("name",), [("a",)])
    assert b"\x1b[2mname" in out.bytes.getvalue()


def test_a_closed_stream_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    assert not terminal.is_terminal("stderr")
    closed = Stream(terminal=True)
    closed.close()
    monkeypatch.setattr("sys.stderr", closed)
    assert not terminal.is_terminal("stderr")


def test_data_for_a_closed_output_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(InvalidValueError, match="standard output is closed"):
        terminal.emit("x")
    with pytest.raises(InvalidValueError, match="standard output is closed"):
        terminal.emit_json({})
    with pytest.raises(InvalidValueError, match="standard output is closed"):
        terminal.emit_table(("name",), [("a",)])


def test_words_for_a_closed_stderr_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    terminal.note("x")
    terminal.error_line("x")


def test_a_place_that_takes_nothing_is_named() -> None:
    with pytest.raises(OutputError, match=r"^it cannot be written: No space left on device\.$"):
        fail_to_write(OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(BrokenPipeError):
        fail_to_write(BrokenPipeError(errno.EPIPE, "Broken pipe"))


def fail_to_write(error: OSError) -> None:
    with terminal.writing_to("it"):
        raise error


def test_a_row_in_a_pipe_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.emit_table(("name",), [("word " * 400,)])
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_facts_leave_out_the_empty_ones(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.emit_facts([("a", "1"), ("b", ""), ("c", "3")], indent="  ")
    assert capsys.readouterr().out.splitlines() == ["  a           1", "  c           3"]


def test_an_error_is_one_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.error_line("first\nsecond \x1b[31m")
    assert capsys.readouterr() == ("", "error: first second\n")
