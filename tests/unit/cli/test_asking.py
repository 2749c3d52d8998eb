from contextlib import redirect_stderr
from unittest import mock

import pytest
import typer

from menura.cli.asking import answer_to, can_ask, confirm_removal, number_to
from menura.cli.commands import JsonFlags
from menura.cli.voice_questions import asked_text, consent_of
from menura.errors import ConsentError, InvalidValueError
from tests.command_line import Stream

ASKS, ANSWERS = JsonFlags(), JsonFlags(json=True)


class Person:
    """Somebody at a terminal who types the lines."""

    def __init__(self, typed: str) -> None:
        self.typed = Stream(typed.encode(), terminal=True)
        self.screen = Stream(terminal=True)

    def __enter__(self) -> "Person":
        self._stdin = mock.patch("sys.stdin", self.typed)
        self._stderr = redirect_stderr(self.screen)
        self._stdin.start()
        self._stderr.__enter__()
        return self

    def __exit__(self, *of: object) -> None:
        self._stderr.__exit__(None, None, None)
        self._stdin.stop()

    @property
    def seen(self) -> str:
        return self.screen.bytes.getvalue().decode()


def test_only_a_person_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not can_ask(ASKS)
    with Person(""):
        assert can_ask(ASKS)
        assert not can_ask(ANSWERS)


def test_an_answer_comes_without_spaces_and_the_question_stays_off_stdout(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Person("  Me. \n") as person:
        assert answer_to("Who?", "A hint.") == "Me."
    assert "A hint." in person.seen
    assert "Who?" in person.seen
    assert capsys.readouterr().out == ""


def test_enter_gives_the_default() -> None:
    with Person("\n"):
        assert answer_to("What?", default="This.") == "This."


def test_a_number_is_asked_for_until_one_is_given() -> None:
    with Person("0\nfour\n4\n2\n"):
        assert number_to("Which", 3) == 2


def test_the_end_of_the_input_is_no_answer() -> None:
    with Person(""), pytest.raises(typer.Abort):
        number_to("Which", 3)


def test_removal_needs_a_yes() -> None:
    confirm_removal(ASKS, "it", yes=True)
    with pytest.raises(InvalidValueError, match="--yes"):
        confirm_removal(ASKS, "it", yes=False)
    with Person("n\n"), pytest.raises(typer.Abort):
        confirm_removal(ASKS, "it", yes=False)
    with Person("y\n"):
        confirm_removal(ASKS, "it", yes=False)


def test_the_text_may_stay_open() -> None:
    assert asked_text(ASKS) is None
    assert asked_text(ANSWERS, heard="Hello.") == "Hello."
    with Person("\nHello.\n\nHullo.\n"):
        assert asked_text(ASKS) is None
        assert asked_text(ASKS) == "Hello."
        assert asked_text(ASKS, heard="Hello.") == "Hello."
        assert asked_text(ASKS, heard="Hello.") == "Hullo."


def test_the_consent_may_not() -> None:
    with pytest.raises(ConsentError, match="--consent TEXT"):
        consent_of(ANSWERS, None)
    with Person("\n"), pytest.raises(ConsentError):
        consent_of(ASKS, None)
    with Person("My own voice.\n"):
        assert consent_of(ASKS, None) == "My own voice."
    assert consent_of(ANSWERS, " My own voice. ") == "My own voice."


@pytest.mark.parametrize("given", ["", " ", "\u200b", "\u2060\u200d \ufe0f"])
def test_words_that_nobody_sees_are_no_consent(given: str) -> None:
    with pytest.raises(ConsentError, match="--consent TEXT"):
        consent_of(ANSWERS, given)
    with Person("My own voice.\n"):
        assert consent_of(ASKS, given) == "My own voice."
