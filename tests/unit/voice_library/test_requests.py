"""A name means a preset, then a library voice; the voice's defaults fill what was not said."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import menura
from menura import api
from menura.engines.contract import Capability
from menura.errors import InvalidValueError, SettingsError, UnsupportedError, VoiceNotFoundError
from menura.speech import SpeechRequest
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.record import SourceKind, VoiceDefaults, VoiceSource
from menura.voice_library.requests import Filled, meant, preset_behind, with_defaults
from tests.kept_voices import SAID, beeps, flac_of, kept
from tests.tone.engine import ToneEngine

SPEC = ToneEngine().spec
DEFAULTS = VoiceDefaults(
    language="zh", instruct="calmly", speed=2.0, options={"loudness": 0.25, "top_k": 3}
)


def filled(defaults: VoiceDefaults = DEFAULTS, spec: Any = SPEC, **request: Any) -> Filled:
    return with_defaults(SpeechRequest("alpha", **request), defaults, spec)


# Which voice a name means.


def test_a_models_own_voice_wins_and_a_prefix_forces_the_library() -> None:
    low, anna = kept("LOW"), kept("Anna")
    library = VoiceLibrary()
    assert meant("low", SPEC, library) is None
    assert meant("lib:low", SPEC, library) == low
    assert meant("anna", SPEC, library) == anna
    assert meant(anna.id, SPEC, library) == anna
    assert meant(None, SPEC, library) is None
    assert meant("", SPEC, library) is None


def test_a_name_that_is_nobodys_is_said_with_what_there_is() -> None:
    for word in ("nobody", "lib:nobody"):
        with pytest.raises(VoiceNotFoundError, match="`menura voices list` shows them") as none:
            meant(word, SPEC, VoiceLibrary())
        assert none.value.param == "voice"
    kept("Anna")
    with pytest.raises(VoiceNotFoundError) as no:
        meant("Ana", SPEC, VoiceLibrary())
    assert no.value.message == (
        "there is no voice 'Ana' in the voice library or in 'tone'; the library has Anna, and the "
        "model has low, high. Did you mean 'Anna'? `menura voices list` shows them."
    )
    assert no.value.param == "voice"
    with pytest.raises(VoiceNotFoundError) as long:
        meant("x" * 10_000, SPEC, VoiceLibrary())
    assert len(long.value.message) < 700


@pytest.mark.parametrize("given", ["my anna", "My Anna.wav"])
def test_a_recording_that_was_dropped_into_the_folder_is_not_passed_over(given: str) -> None:
    """Report 34: it is said that it lies there, and what makes a voice of it."""
    folder = VoiceLibrary().folder
    folder.mkdir(parents=True)
    (folder / "My Anna.wav").write_bytes(b"RIFF")
    with pytest.raises(VoiceNotFoundError, match=r"'My Anna\.wav' lies there, but .*import"):
        meant(given, SPEC, VoiceLibrary())
    with pytest.raises(VoiceNotFoundError) as other:
        meant("nobody", SPEC, VoiceLibrary())
    assert "lies there" not in other.value.message


def test_a_voice_of_a_preset_is_that_preset_on_its_own_model() -> None:
    voice = kept("Deep", source=VoiceSource(SourceKind.PRESET, "tone", preset="LOW"))
    assert preset_behind(voice, SPEC) == "low"
    assert preset_behind(voice, replace(SPEC, model="other")) is None
    assert preset_behind(voice, replace(SPEC, voices=())) is None
    assert preset_behind(kept("Anna"), SPEC) is None


# What its defaults fill in.


def test_defaults_fill_what_the_request_does_not_say() -> None:
    found = filled()
    assert found.request == SpeechRequest(
        "alpha", language="zh", speed=2.0, options={"loudness": 0.25}
    )
    assert found.used == {"language": "zh", "speed": 2.0, "options": {"loudness": 0.25}}
    assert found.left_out.keys() == {"instruct", "top_k"}


def test_what_the_request_says_stands() -> None:
    given: dict[str, Any] = {"language": "en", "instruct": "loud", "options": {"loudness": 1.0}}
    found = filled(speed=1.5, **given)
    assert found.request == SpeechRequest("alpha", speed=3.0, **given)
    assert found.used == {"speed": 3.0}
    assert found.left_out.keys() == {"top_k"}


def test_what_the_model_does_not_know_is_left_out_with_the_reason() -> None:
    odd = VoiceDefaults(language="german", options={"loudness": 9, "colour": "blue"})
    found = filled(odd)
    assert found.request == SpeechRequest("alpha")
    assert found.left_out.keys() == {"language", "loudness", "colour"}
    assert "does not speak 'german'" in found.left_out["language"]
    assert "from 0 to 1" in found.left_out["loudness"]


def test_instructions_are_for_the_models_that_take_them() -> None:
    able = replace(SPEC, capabilities=frozenset({Capability.INSTRUCT}))
    assert filled(spec=able).request.instruct == "calmly"


@pytest.mark.parametrize(("own", "asked", "used"), [
    (2.0, 4.0, 4.0), (0.5, 0.25, 0.25), (0.5, 2.0, 1.0), (1.0, 2.0, 2.0),
])  # fmt: skip
def test_the_pace_is_the_voices_own_times_what_is_asked(
    own: float, asked: float, used: float
) -> None:
    assert filled(VoiceDefaults(speed=own), speed=asked).request.speed == used


def test_a_speed_that_is_none_is_left_for_the_check(tone: menura.TTS) -> None:
    kept("Anna", defaults=DEFAULTS)
    with pytest.raises(InvalidValueError, match="speed="):
        tone.speak("alpha", voice="Anna", speed="fast")  # type: ignore[arg-type]


# All the way.


def test_a_library_voice_speaks_by_its_label(tone: menura.TTS) -> None:
    voice = kept("Anna")
    spoken = tone.speak("alpha beta", voice="anna", seed=1)
    same = tone.speak("alpha beta", voice=tone.voice("lib:Anna"), seed=1)
    assert np.array_equal(spoken.samples, same.samples)
    assert (spoken.applied["voice"], spoken.applied["voice_id"]) == ("Anna", voice.id)
    assert "voice_defaults" not in spoken.applied
    assert "voice_id" not in same.applied
    assert tone.voice("lib:Anna").prompt.transcript == SAID


def test_what_a_voice_filled_in_is_told(tone: menura.TTS) -> None:
    kept("Anna", defaults=DEFAULTS)
    spoken = tone.speak("alpha beta", voice="lib:Anna", seed=1)
    assert spoken.applied["language"] == "chinese"
    assert spoken.applied["speed"] == 2.0
    defaults = spoken.applied["voice_defaults"]
    assert isinstance(defaults, dict)
    assert defaults["options"] == {"loudness": 0.25}
    assert defaults["left_out"].keys() == {"instruct", "top_k"}


def test_a_voice_of_a_preset_is_spoken_as_the_preset_under_its_own_label(
    tone: menura.TTS,
) -> None:
    voice = kept("Deep", source=VoiceSource(SourceKind.PRESET, "tone", preset="high"))
    spoken = tone.speak("alpha", voice="Deep", seed=1)
    assert np.array_equal(spoken.samples, tone.speak("alpha", voice="high", seed=1).samples)
    assert (spoken.applied["voice"], spoken.applied["voice_id"]) == ("Deep", voice.id)


def test_a_dry_run_says_the_same_and_makes_nothing(
    tone: menura.TTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept("Anna", defaults=DEFAULTS)
    request = SpeechRequest("alpha beta", voice="Anna", seed=1)
    real = tone.plan(request)
    monkeypatch.setattr(ToneEngine, "encode_voice", None)
    dry = api.preview(request, tone.spec, tone.settings)
    assert dry.applied == real.applied
    assert dry.segments == real.segments
    assert dry.manner.voice_label == real.manner.voice_label == "Anna"
    given = api.preview(request, tone.spec, library=VoiceLibrary())
    assert given.applied == real.applied


def test_a_model_that_cannot_clone_says_so_before_anything_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept("Anna")
    monkeypatch.setattr(VoiceLibrary, "reference", None)
    with pytest.raises(UnsupportedError, match="cannot speak like a recording") as no:
        menura.load("builtin").speak("Hello.", voice="Anna")
    assert no.value.needs == "clone"


def test_a_voice_that_was_removed_is_not_spoken_with(tone: menura.TTS) -> None:
    kept("Anna")
    tone.speak("alpha", voice="Anna")
    VoiceLibrary().remove("Anna")
    with pytest.raises(VoiceNotFoundError, match="there is no voice 'Anna'"):
        tone.speak("alpha", voice="Anna")
    with pytest.raises(VoiceNotFoundError):
        tone.speak("alpha", voice="lib:Anna")
    with pytest.raises(VoiceNotFoundError):
        tone.voice("lib:Anna")


def test_a_stereo_clip_of_another_rate_is_mixed_and_resampled_inside(tone: menura.TTS) -> None:
    """Report 27, and 25: nobody mixes down or resamples by hand."""
    stereo = np.stack([beeps(2.0, 44_100)] * 2, axis=1)
    clip = flac_of(stereo.astype(np.float32), 44_100)
    made = tone.voice(clip)
    assert made.embedding is not None
    alone = tone.voice(flac_of(beeps(2.0, 44_100), 44_100))
    assert np.allclose(made.prompt.arrays["embedding"], alone.prompt.arrays["embedding"], rtol=1e-4)


def test_the_settings_default_voice_may_be_the_librarys(tone: menura.TTS) -> None:
    kept("Anna")
    settings = replace(tone.settings, default_model="tone", default_voice="Anna")
    planned = api.preview(SpeechRequest("alpha"), tone.spec, settings)
    assert planned.manner.voice_label == "Anna"
    nobody = replace(settings, default_voice="nobody", sources={"default_voice": "flag"})
    with pytest.raises(SettingsError, match="nor is it in the voice library"):
        api.preview(SpeechRequest("alpha"), tone.spec, nobody)


def test_channels_that_cancel_each_other_out_are_no_voice(tone: menura.TTS) -> None:
    left = beeps(2.0)
    stereo = np.stack([left, -left], axis=1)
    for clip, rate_hz in ((flac_of(stereo), None), (stereo, 24_000)):
        with pytest.raises(InvalidValueError, match="cancel each other out") as caught:
            tone.voice(clip, rate_hz=rate_hz)
        assert caught.value.param == "clip"
