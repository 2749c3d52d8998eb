import unicodedata

import pytest

from menura.errors import NothingToSpeakError
from menura.text.plan import segments, speakable
from tests.unit.text.odd_texts import NOTHING_TO_SPEAK, ODD_TEXTS

SPOKEN = sorted(ODD_TEXTS.keys() - NOTHING_TO_SPEAK)


@pytest.mark.parametrize("name", SPOKEN)
def test_an_odd_text_is_planned_without_loss(name: str) -> None:
    text = ODD_TEXTS[name]

    planned = segments(text)

    assert "".join(text[part.start : part.end] for part in planned) == text
    assert max(part.expected_s for part in planned) <= 25.0
    assert all(speakable(part.text) for part in planned)
    assert all(unicodedata.is_normalized("NFC", part.text) for part in planned)
    assert not any(
        unicodedata.category(character) in {"Cc", "Cs"} and character not in "\t\n"
        for part in planned
        for character in part.text
    )


@pytest.mark.parametrize("name", sorted(NOTHING_TO_SPEAK))
def test_a_text_with_nothing_to_speak_is_refused(name: str) -> None:
    with pytest.raises(NothingToSpeakError, match="nothing to speak") as raised:
        segments(ODD_TEXTS[name])

    assert raised.value.param == "text"


def test_the_only_words_cut_are_the_runs_that_are_too_long_alone() -> None:
    cut = {
        name for name in SPOKEN if any(part.cut_inside_word for part in segments(ODD_TEXTS[name]))
    }

    assert cut == {"single-word million", "very long number", "one long URL"}
