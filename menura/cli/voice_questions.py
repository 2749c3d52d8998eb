"""What is asked of the person who makes a voice: what is said in the recording, and the consent."""

from menura.cli.asking import answer_to, can_ask
from menura.cli.commands import JsonFlags
from menura.errors import ConsentError
from menura.voice_library.agreement import words_in

_TEXT_HINT = "Word for word, some models come much closer with it. Enter leaves it open."
_HEARD_HINT = "This was heard. Enter keeps it, or write it as it is said."
_CONSENT_HINT = (
    "It is kept with the voice: for example 'My own voice.' or 'Anna Berg, by mail, for the book.'"
)


def asked_text(flags: JsonFlags, heard: str | None = None) -> str | None:
    """What is said in the recording; None where it stays open or there is nobody to ask."""
    if not can_ask(flags):
        return heard
    hint = _HEARD_HINT if heard else _TEXT_HINT
    return answer_to("What is said in the recording?", hint, heard or "") or None


def consent_of(flags: JsonFlags, given: str | None) -> str:
    """Who speaks and what they agreed to, as it was given, else as it is answered now.

    Raises: ConsentError: there is nobody to ask, or no answer.
    """
    words = words_in(given)
    if not words and can_ask(flags):
        words = words_in(answer_to("Who speaks in it, and what did they agree to?", _CONSENT_HINT))
    if not words:
        raise no_consent()
    return words


def no_consent() -> ConsentError:
    """The error for a voice of a person that nobody said anything about."""
    return ConsentError(
        "a voice of a recording is kept only with its speaker's consent: say who speaks and "
        "what they agreed to with --consent TEXT (for your own voice: --consent 'My own "
        "voice.').",
        param="--consent",
    )
