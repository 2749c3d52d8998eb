import json
import signal

import pytest
import typer

from menura import errors
from menura.cli.failures import EXIT_CODES, exit_code_of, stop_on_signals
from menura.errors import MenuraError, ModelNotFoundError


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


def test_debug_shows_where_it_comes_from() -> None:
    with pytest.raises(MenuraError, match="it broke"):
        exit_code_of(raising_menura_error, as_json=False, debug=True)


def raising_menura_error() -> None:
    raise MenuraError("it broke.")


def test_a_bug_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        outcome(ZeroDivisionError())


def test_a_signal_to_stop_ends_by_an_exception() -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        stop_on_signals()
        with pytest.raises(SystemExit) as ended:
            signal.raise_signal(signal.SIGTERM)
        assert ended.value.code == 143
    finally:
        signal.signal(signal.SIGTERM, before)
