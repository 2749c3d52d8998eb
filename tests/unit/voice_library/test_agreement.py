from dataclasses import replace

import pytest

from menura.errors import ConsentError
from menura.voice_library.agreement import check_change, given_today, with_consent, words_in
from menura.voice_library.new_voice import record_of
from menura.voice_library.record import Consent, SourceKind, VoiceSource, today
from tests.kept_voices import CONSENT, new_voice

UNSEEN = ["", " \n", "\u200b", "\u2060\u200d", "\ufe0f", "\u3164"]
OF_PEOPLE = [SourceKind.RECORDING, SourceKind.IMPORT]
MADE_UP = [SourceKind.DESIGN, SourceKind.PRESET]


@pytest.mark.parametrize("text", [None, *UNSEEN])
def test_what_nobody_sees_is_no_consent(text: str | None) -> None:
    assert words_in(text) == ""
    assert given_today(text) is None


def test_a_consent_is_given_today() -> None:
    assert given_today(f" {CONSENT} ") == Consent(CONSENT, today())


@pytest.mark.parametrize("kind", OF_PEOPLE)
@pytest.mark.parametrize("text", UNSEEN)
def test_a_voice_of_a_person_needs_words(kind: SourceKind, text: str) -> None:
    new = new_voice(source=VoiceSource(kind), consent=Consent(text, "2026-11-30"))
    for bare in (new, replace(new, consent=None)):
        with pytest.raises(ConsentError):
            with_consent(bare, text)
        assert with_consent(bare, text, needed=False) == bare
        made = with_consent(bare, CONSENT)
        assert made.consent == Consent(CONSENT, today())


@pytest.mark.parametrize("kind", MADE_UP)
def test_a_voice_of_nobody_needs_none(kind: SourceKind) -> None:
    new = new_voice(source=VoiceSource(kind, "m"), consent=None)
    assert with_consent(new, None) == new


def test_the_consent_that_comes_along_stays() -> None:
    new = new_voice()
    assert with_consent(new, "Other words.") == new


def test_a_consent_is_changed_and_not_taken_away() -> None:
    record = record_of(new_voice(), "voice_" + "0" * 32)
    check_change(record, Consent("By mail.", "2026-11-30"))
    for consent in (None, Consent("\u200b", "2026-11-30")):
        with pytest.raises(ConsentError):
            check_change(record, consent)
        check_change(replace(record, source=VoiceSource(SourceKind.DESIGN, "m")), consent)
