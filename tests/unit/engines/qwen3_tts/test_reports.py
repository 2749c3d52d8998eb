"""What broke for users of this model elsewhere must not break here.

The numbers are those of the project's list of public reports. What has a place of its own is tested
there: 1, 4, 8 in `test_retries.py`; 2 in `test_watchdog.py` and here; 6 in `test_sampling.py` and
`test_generate.py`; 18, 32, 58, 60 in `test_engine.py`; 20 and 22 in `test_clip.py`; 36 in
`test_voice_files.py`; 37 in `test_golden_codes.py`; 39 to 41 in `test_codec_stream.py`; 50 in
`test_generate.py` and `test_engine.py`. 9 and 21 need ears.
"""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import menura
from menura.audio.clip_checks import VoiceWarning
from menura.audio.encoders import open_file
from menura.audio.formats import format_for
from menura.audio.tags import Tags
from menura.engines.qwen3_tts import watchdog
from menura.engines.qwen3_tts.engine import Qwen3TTSEngine
from menura.engines.qwen3_tts.tiny import Tiny, write
from menura.errors import (
    InvalidValueError,
    MenuraError,
    NumericsError,
    UnreadableAudioError,
    VoiceNotFoundError,
)
from menura.runtime.seeding import derive
from menura.speech import FinishReason, FloatArray, SpeechRequest

Loader = Callable[[Tiny], menura.TTS]
RATE_HZ = 24_000
FRAME = 1920
SAID = "A tone that beeps, again and again."
BASE, CUSTOM = Tiny("base"), Tiny("custom_voice")


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Loader:
    """Tiny models, each written and loaded once."""
    loaded: dict[Tiny, menura.TTS] = {}

    def model(tiny: Tiny) -> menura.TTS:
        if tiny not in loaded:
            loaded[tiny] = menura.load(write(tmp_path_factory.mktemp("tiny"), tiny))
        return loaded[tiny]

    return model


def beeps(seconds: float = 4.0) -> FloatArray:
    """Bursts of a tone, with a pause at the end."""
    time = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    burst = (time % 0.5 < 0.4) & (time < seconds - 0.1)
    return (0.3 * np.sin(2 * np.pi * 180 * time) * burst).astype(np.float32)


def frames_of(speech: menura.Speech) -> NDArray[np.generic]:
    assert speech.frames is not None
    return speech.frames


def embedding_of(voice: menura.Voice) -> FloatArray:
    assert voice.embedding is not None
    return voice.embedding


def written(path: Path) -> Path:
    """The beeps in a file of the format of its ending."""
    with open_file(path, format_for(path), RATE_HZ, Tags("", "", "", None)) as encoder:
        encoder.write(beeps())
    return path


def test_a_row_in_near_silence_is_ended_and_says_so(
    load: Loader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2: room tone to the cap, long after the text."""
    monkeypatch.setattr(watchdog, "SILENT_LEVEL", 2.0)  # so everything is silence
    tts = load(Tiny("custom_voice", endless=True))
    speech = tts.speak("Hello.", seed=1)
    n_silent = round(watchdog.SILENT_S * 12.5)
    assert speech.finish is FinishReason.LENGTH
    assert n_silent <= len(frames_of(speech)) <= n_silent + 2 * 4  # a piece is heard with the next
    assert "silen" in speech.segments[0].reason


@pytest.mark.parametrize("ending", ["wav", "flac", "mp3", "m4a", "opus"])
def test_a_recording_is_taken_as_a_path_a_text_or_bytes_in_any_container(
    load: Loader, ending: str, tmp_path: Path
) -> None:
    """25, 30, 31: a path where samples were expected; mp4 and m4a; no SoX on the machine."""
    path = written(tmp_path / f"me.{ending}")
    tts = load(BASE)
    found = [tts.voice(given, transcript=SAID) for given in (path, str(path), path.read_bytes())]
    expected = embedding_of(tts.voice(beeps(), transcript=SAID, rate_hz=RATE_HZ))
    for voice in found:
        assert np.array_equal(embedding_of(voice), embedding_of(found[0]))
        assert np.corrcoef(embedding_of(voice), expected)[0, 1] > 0.99
    assert [voice.label for voice in found] == ["me", "me", "clip"]


def test_stereo_is_mixed_and_resampled_inside(load: Loader) -> None:
    """27: a stereo file had to be mixed by hand."""
    import soundfile  # noqa: PLC0415 - as everywhere, at first use

    left, right = beeps(), -0.5 * beeps()
    file = BytesIO()
    soundfile.write(file, np.stack([left, right], axis=1), RATE_HZ, format="WAV", subtype="FLOAT")
    tts = load(BASE)
    stereo = tts.voice(file.getvalue(), transcript=SAID)
    mono = tts.voice(0.25 * left, transcript=SAID, rate_hz=RATE_HZ)
    assert stereo.codes is not None
    assert mono.codes is not None
    assert np.array_equal(stereo.codes, mono.codes)


@pytest.mark.parametrize("text", ["UklGRiQAAABXQVZFZm10IBAAAAA/AQAB", "data:audio/wav;base64,UklG"])
def test_a_text_is_a_path_and_never_guessed_to_be_audio(load: Loader, text: str) -> None:
    """29: base64 that holds a slash was taken for a path."""
    with pytest.raises(UnreadableAudioError, match="could not be read"):
        load(BASE).voice(text)


@pytest.mark.parametrize("scale", [32768.0, 1e30, 3e38])
def test_samples_beyond_full_scale_are_refused(load: Loader, scale: float) -> None:
    """35: a clip that overflows somewhere inside ends in a voice of NaN."""
    samples = (beeps() / np.float32(0.3) * np.float32(scale)).astype(np.float32)
    with pytest.raises(InvalidValueError, match="full scale is 1"):
        load(BASE).voice(samples, rate_hz=RATE_HZ)


def test_the_stage_that_gave_no_numbers_is_named(tmp_path: Path) -> None:
    """35: `invalid audio` said nothing of where."""
    tts = menura.load(write(tmp_path, CUSTOM), precision="fp32")
    decoder = tts.engine.parts["codec_decoder"]
    for name, parameter in decoder.named_parameters():
        if name == "output_conv.conv.bias":
            parameter.data = torch.full_like(parameter, torch.nan)
    with pytest.raises(NumericsError, match="samples that are not numbers"):
        tts.speak("Hello.", seed=1, max_new_tokens=4)
    with pytest.raises(NumericsError, match="samples that are not numbers"):
        list(tts.stream("Hello.", seed=1, max_new_tokens=4))


@pytest.mark.parametrize(("transcript", "mode"), [(SAID, "in_context"), (None, "x_vector")])
def test_how_a_voice_was_made_is_said(load: Loader, transcript: str | None, mode: str) -> None:
    """23: cloning by the embedding alone, unnoticed."""
    tts = load(BASE)
    voice = tts.voice(beeps(), transcript=transcript, rate_hz=RATE_HZ)
    speech = tts.speak("Kurz.", voice=voice, language="de", seed=1, max_new_tokens=4)
    assert speech.applied["voice_mode"] == mode
    assert speech.applied["language"] == "german"


def test_a_reference_ends_at_a_frame_and_in_silence(load: Loader) -> None:
    """17, 18: the end of the reference was heard before the words."""
    tts = load(BASE)
    voice = tts.voice(beeps(), transcript=SAID, rate_hz=RATE_HZ)
    assert voice.codes is not None
    assert len(voice.codes) == np.ceil((4.0 + 0.5) * 12.5)
    speech = tts.speak("Hello.", voice=voice, seed=2, max_new_tokens=9)
    together = np.concatenate([voice.codes, frames_of(speech).astype(np.int64)])
    engine = tts.engine
    assert isinstance(engine, Qwen3TTSEngine)
    whole = engine.codec.decode(together)
    assert len(speech.samples) == len(frames_of(speech)) * FRAME
    assert np.abs(whole[len(voice.codes) * FRAME :] - speech.samples).max() <= 1e-5


@pytest.mark.parametrize("variant", ["base", "custom_voice", "voice_design"])
def test_a_long_text_is_segmented_with_one_voice_and_seeds_of_one(
    load: Loader, variant: str
) -> None:
    """43, 44: one long pass drifts; pieces sent apart each get their own voice."""
    tts = load(Tiny(variant))
    voice = tts.voice(beeps(), rate_hz=RATE_HZ) if variant == "base" else None
    text = "今天的天气非常好，我们一起去公园散步吧。" * 20
    speech = tts.speak(text, voice=voice, language="zh", seed=5, max_new_tokens=4)
    assert len(speech.segments) > 1
    assert "".join(segment.text for segment in speech.segments) == text
    for i, segment in enumerate(speech.segments):
        assert segment.seed == derive(5, i, 0)
        again = tts.speak(
            segment.text, voice=voice, language="zh", seed=segment.seed, max_new_tokens=4
        )
        part = speech.samples[segment.sample_start : segment.sample_end]
        n_spoken = len(again.samples)
        assert np.array_equal(part[:n_spoken], again.samples)
        assert not part[n_spoken:].any()  # the pause after it


@pytest.mark.parametrize("mode", ["in_context", "x_vector"])
def test_several_clones_together_are_each_clone_alone(load: Loader, mode: str) -> None:
    """45, 47: batched clones lost words, and short rows ended in the noise of long ones."""
    tts = load(BASE)
    voice = tts.voice(beeps(), transcript=SAID, mode=mode, rate_hz=RATE_HZ)
    texts = ("Hi.", "A text that is a good deal longer than the first.", "你好！", "Five, six.")
    requests = [
        SpeechRequest(text, voice, seed=i, options={"max_new_tokens": 6 + 5 * i})
        for i, text in enumerate(texts)
    ]
    together = tts.speak_many(requests)
    for request, speech in zip(requests, together, strict=True):
        [alone] = tts.speak_many([request])
        assert np.array_equal(speech.samples, alone.samples)
        assert np.array_equal(frames_of(speech), frames_of(alone))
        assert len(speech.samples) == len(frames_of(speech)) * FRAME


@pytest.mark.parametrize("voice", ["cedar", "vivain", "Vivian, very happy", "0", "alloy"])
@pytest.mark.parametrize("strict", [True, False])
def test_an_unknown_voice_is_an_error_that_lists_the_models_own(
    load: Loader, voice: str, strict: bool
) -> None:
    """53, 54, 57: it crashed, was replaced without a word, or took style words for a name."""
    with pytest.raises(VoiceNotFoundError, match="vivian, ryan, eric") as caught:
        load(CUSTOM).speak("Hello.", voice=voice, strict=strict)
    assert caught.value.param == "voice"
    if voice == "vivain":
        assert "Did you mean 'vivian'?" in caught.value.message


def test_every_voice_that_is_listed_speaks_in_any_case(load: Loader) -> None:
    """55: every speaker was refused, even those that the message named."""
    tts = load(CUSTOM)
    audio = [
        tts.speak("Hello.", voice=spelt(preset.name), seed=1, max_new_tokens=4).samples
        for preset in tts.voices()
        for spelt in (str.lower, str.upper, str.title)
    ]
    for i in range(0, len(audio), 3):
        assert np.array_equal(audio[i], audio[i + 1])
        assert np.array_equal(audio[i], audio[i + 2])
    assert not np.array_equal(audio[0], audio[3])


def test_a_model_without_presets_says_how_to_give_a_voice(load: Loader) -> None:
    """34: a recording that was never used, and a random voice."""
    with pytest.raises(
        InvalidValueError, match=r"tts\.voice\(clip\); on the command line --ref FILE"
    ):
        load(BASE).speak("Hello.")
    with pytest.raises(VoiceNotFoundError, match="say in instruct who speaks"):
        load(Tiny("voice_design")).speak("Hello.", voice="vivian")
    for broken in (b"", b"RIFF", b"\0" * 1000):
        with pytest.raises(MenuraError):
            load(BASE).voice(broken)


def test_style_words_belong_to_instruct_and_change_what_is_said(load: Loader) -> None:
    """57: style words were to stand in the voice's name."""
    tts = load(CUSTOM)
    plain, happy = (
        tts.speak("Hello.", voice="Vivian", instruct=words, seed=1, max_new_tokens=6)
        for words in (None, "very happy")
    )
    assert happy.applied["instruct"] == "very happy"
    assert not np.array_equal(plain.samples, happy.samples)


def test_a_dialect_comes_with_its_speaker_and_cannot_be_asked_for(load: Loader) -> None:
    """58: a dialect that was asked for gave Mandarin, and `auto` differed between ports."""
    tts = load(CUSTOM)

    def language(voice: str, asked: str | None) -> object:
        speech = tts.speak("你好", voice=voice, language=asked, seed=1, max_new_tokens=3)
        return speech.applied["language"]

    for asked in (None, "auto", "Auto", "chinese", "zh", "zh-CN"):
        assert language("eric", asked) == "sichuan_dialect"
    assert language("eric", "english") == "english"
    assert language("ryan", None) == "auto"
    with pytest.raises(InvalidValueError, match="not one of this model's"):
        language("ryan", "sichuan_dialect")
    listed = {preset.name: preset.description for preset in tts.voices()}
    assert listed["eric"] == "speaks Chinese in the sichuan dialect"


def test_what_is_doubtful_about_a_recording_is_said_once_and_no_error(load: Loader) -> None:
    """20, 22: a transcript of a part of the clip, and a clip that is long."""
    with pytest.warns(VoiceWarning) as caught:
        load(BASE).voice(np.tile(beeps(), 8), transcript="Only this.", rate_hz=RATE_HZ)
    said = [str(warning.message) for warning in caught]
    assert len(said) == 2
    assert "32 s" in said[0]
    assert "says less than the clip" in said[1]
    assert {Path(warning.filename).name for warning in caught} == {Path(__file__).name}
