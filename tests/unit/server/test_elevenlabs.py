import pytest
from pydantic import ValidationError

from menura.errors import InvalidValueError
from menura.server.elevenlabs import TextToSpeechBody, wish_of
from menura.server.encoding import AudioWish
from menura.server.speech import SpeechBody


@pytest.mark.parametrize(
    ("given", "wish"),
    [
        ("mp3_44100_128", AudioWish("mp3", whole=True)),
        ("mp3_22050_32", AudioWish("mp3", whole=True)),
        ("opus_48000_64", AudioWish("opus", whole=True)),
        ("pcm_16000", AudioWish("pcm", rate_hz=16_000, whole=True)),
        ("pcm_44100", AudioWish("pcm", rate_hz=44_100, whole=True)),
        ("wav_8000", AudioWish("wav", rate_hz=8_000, whole=True)),
    ],
)
def test_their_output_formats(given: str, wish: AudioWish) -> None:
    assert wish_of(given, whole=True) == wish


@pytest.mark.parametrize("given", ["", "mp3", "ulaw_8000", "pcm_1", "pcm_99999", "mp3_44100_128x"])
def test_other_output_formats_are_refused(given: str) -> None:
    with pytest.raises(InvalidValueError, match="such as mp3_44100_128 or pcm_24000") as no:
        wish_of(given, whole=False)
    assert no.value.param == "output_format"


def test_a_body_of_theirs_in_our_words() -> None:
    body = TextToSpeechBody.model_validate(
        {
            "text": "Hello.",
            "model_id": "eleven_multilingual_v2",
            "language_code": "en",
            "seed": 4,
            "voice_settings": {"stability": 0.5, "speed": 1.1},
            "previous_text": "Well.",
            "options": 5,
        }
    )
    assert body.as_speech("low", stream=False) == SpeechBody(
        input="Hello.", voice="low", language="en", seed=4, speed=1.1, stream=False
    )
    assert body.ignored == ("previous_text", "options", "voice_settings.stability")


def test_a_model_of_ours_is_kept() -> None:
    body = TextToSpeechBody(text="Hello.", model_id="choir")
    assert body.as_speech("low", stream=True).model == "choir"
    assert body.ignored == ()


@pytest.mark.parametrize("given", [{}, {"text": 5}, {"text": "x", "voice_settings": {"speed": 9}}])
def test_a_wrong_body_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TextToSpeechBody.model_validate(given)
