import pytest

from menura import languages
from menura.text.duration import expected_seconds
from menura.voice_library.samples import SAMPLES, sample_text


@pytest.mark.parametrize("language", SAMPLES)
def test_a_sample_takes_as_long_as_a_good_clip(language: str) -> None:
    assert 6 < expected_seconds(sample_text(language)) < 15
    assert language in languages.LANGUAGES.values()


def test_a_language_goes_by_its_name_or_code() -> None:
    assert sample_text("de-AT") == sample_text("German") == SAMPLES["german"]


@pytest.mark.parametrize("language", [None, "klingon", "auto"])
def test_english_is_said_where_there_is_no_other(language: str | None) -> None:
    assert sample_text(language) == SAMPLES["english"]
