"""What a speaker agreed to: which voices need words about it, and what counts as some."""

from dataclasses import replace

from menura.errors import ConsentError
from menura.voice_library.labels import is_visible
from menura.voice_library.new_voice import NewVoice
from menura.voice_library.record import Consent, SourceKind, VoiceRecord, VoiceSource, today


def needs_consent(source: VoiceSource) -> bool:
    """Whether a person speaks in it: a recording, or something of which nothing else is known."""
    return source.kind in (SourceKind.RECORDING, SourceKind.IMPORT)


def words_in(given: str | None) -> str:
    """The words of a consent; empty where nothing of it can be seen."""
    return given.strip() if given and is_visible(given) else ""


def given_today(text: str | None) -> Consent | None:
    """The consent of this day, or None where the text holds no words."""
    return Consent(words, today()) if (words := words_in(text)) else None


def with_consent(new: NewVoice, text: str | None, *, needed: bool = True) -> NewVoice:
    """The voice with the consent that it brings, else with the one in the text.

    Raises: ConsentError: there is neither, and it is needed.
    """
    brought = new.consent
    if brought is not None and words_in(brought.text):
        return new
    given = given_today(text)
    if given is None and needed and needs_consent(new.source):
        raise no_consent()
    return new if given is None else replace(new, consent=given)


def check_change(record: VoiceRecord, consent: Consent | None) -> None:
    """Nothing, where the record may have this consent instead of its own.

    Raises: ConsentError: it would take away the words of a person who speaks in it.
    """
    if needs_consent(record.source) and not words_in(consent.text if consent else None):
        raise no_consent()


def no_consent() -> ConsentError:
    """The error for a recording without the words of its speaker."""
    return ConsentError(
        "a recording of a person needs consent: write down what its speaker agreed to, such as "
        "'I record my own voice' or 'Anna agreed by mail on 1 May'.",
        param="consent",
    )
