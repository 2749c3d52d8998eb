import errno
import json
import re
import signal
from pathlib import Path

import pytest
import typer

import menura
from menura import errors
from menura.cli import signals
from menura.cli.failures import EXIT_CODES, exit_code_of
from menura.errors import MenuraError, ModelNotFoundError
from tests.command_line import Stream


def outcome(error: BaseException, *, as_json: bool = False) -> int:
    def run() -> None:
        raise error

    return exit_code_of(run, as_json=as_json, debug=False)


def every_error() -> list[type[MenuraError]]:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    return [kind for kind in kinds if issubclass(kind, MenuraError)]


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_every_error_ends_with_its_own_documented_code(
    kind: type[MenuraError], capsys: pytest.CaptureFixture[str]
) -> None:
    assert outcome(kind("it broke.", param="x")) == kind.exit_code
    assert kind.exit_code in EXIT_CODES
    assert capsys.readouterr() == ("", "error: it broke.\n")


def test_what_works_is_zero() -> None:
    assert exit_code_of(lambda: None, as_json=False, debug=False) == 0


def test_an_exit_keeps_its_code() -> None:
    assert outcome(typer.Exit(5)) == 5


def test_json_has_the_error_on_stdout_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(ModelNotFoundError("no \x1b[31mmodel.", param="model"), as_json=True) == 3
    out, err = capsys.readouterr()
    assert err == "error: no model.\n"
    wanted = {"message": "no model.", "code": "model_not_found", "param": "model"}
    assert json.loads(out) == {"error": wanted}


def test_an_interruption_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(KeyboardInterrupt()) == 130
    assert capsys.readouterr() == ("", "interrupted\n")


def test_a_failed_system_call_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(OSError(28, "No space left on device", "a.wav")) == 1
    assert capsys.readouterr().err == "error: a.wav: No space left on device.\n"


def test_debug_shows_where_it_comes_from_and_keeps_the_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert exit_code_of(raising_model_not_found, as_json=True, debug=True) == 3
    out, err = capsys.readouterr()
    assert err.startswith("Traceback (most recent call last):\n")
    assert "in raising_model_not_found" in err
    assert err.endswith("\nerror: it broke.\n")
    assert json.loads(out)["error"]["code"] == "model_not_found"


def raising_model_not_found() -> None:
    raise ModelNotFoundError("it broke.")


class WordlessError(Exception):
    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (KeyError("a"), "KeyError: 'a'"),
        (MemoryError(), "MemoryError"),
        (RuntimeError("two\nlines."), "RuntimeError: two lines"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "UnicodeDecodeError: 'utf-8' codec"),
        (WordlessError(), "WordlessError"),
    ],
)
def test_any_other_exception_is_one_line_too(
    error: Exception, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert outcome(error, as_json=True) == 1
    out, err = capsys.readouterr()
    assert err.startswith(f"error: unexpected {line}")
    assert err.endswith(". --debug shows where.\n")
    assert err.count("\n") == 1
    answer = json.loads(out)["error"]
    assert (answer["code"], answer["param"]) == ("failure", None)
    assert f"error: {answer['message']}\n" == err


class FullStream(Stream):
    """A stream whose device has no room."""

    number = errno.ENOSPC

    def write(self, text: str) -> int:
        raise OSError(self.number, "No space left on device")


class ClosedPipe(FullStream):
    """A stream whose reader went away."""

    number = errno.EPIPE


def test_an_answer_that_cannot_be_written_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout", FullStream())
    assert outcome(ModelNotFoundError("no model."), as_json=True) == 3
    assert capsys.readouterr().err == (
        "error: no model.\nerror: standard output cannot be written: No space left on device.\n"
    )


def test_without_a_standard_output_the_line_is_still_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout", None)
    assert outcome(ModelNotFoundError("no model."), as_json=True) == 3
    assert capsys.readouterr().err.startswith("error: no model.\nerror: standard output is closed")


@pytest.mark.parametrize("stream", [None, FullStream(), ClosedPipe()])
def test_that_nobody_hears_the_line_keeps_the_code(
    stream: Stream | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", stream)
    assert outcome(ModelNotFoundError("no model.")) == 3


def test_a_reader_who_went_away_is_no_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert outcome(BrokenPipeError(errno.EPIPE, "Broken pipe")) == 141
    monkeypatch.setattr("sys.stdout", ClosedPipe())
    assert outcome(ModelNotFoundError("no model."), as_json=True) == 141
    assert capsys.readouterr().err == "error: no model.\n"


@pytest.mark.parametrize(
    ("number", "told"),
    [(signal.SIGINT, "interrupted\n"), (signal.SIGTERM, ""), (signal.SIGHUP, "")],
)
@pytest.mark.parametrize("error", [SystemExit(1), ImportError("numpy"), MenuraError("it broke.")])
def test_what_comes_after_a_signal_comes_of_it(
    error: BaseException,
    number: int,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(signals, "arrived", lambda: number)
    assert outcome(error, as_json=True) == 128 + number
    out, err = capsys.readouterr()
    assert (err, json.loads(out)["error"]["code"]) == (told, "interrupted")


def test_an_end_of_the_process_without_a_signal_is_left_alone() -> None:
    with pytest.raises(SystemExit):
        outcome(SystemExit(3))


def test_the_readme_lists_the_same_exit_codes() -> None:
    readme = (Path(menura.__file__).parents[1] / "README.md").read_text("utf-8")
    codes = re.findall(r"^\| (\d+) \| ", readme, re.MULTILINE)
    assert sorted(map(int, codes)) == sorted(EXIT_CODES)


def test_every_code_of_the_errors_is_told() -> None:
    codes = {kind.exit_code for kind in every_error()}
    signals_ = {
        128 + signal.SIGHUP,
        128 + signal.SIGINT,
        128 + signal.SIGPIPE,
        128 + signal.SIGTERM,
    }
    assert set(EXIT_CODES) == {0} | codes | signals_
