"""What the model is to see of a request, without any weights."""

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from menura.engines.contract import EngineSpec, VoicePrompt
from menura.engines.echo_tts.config import PUBLISHED
from menura.engines.echo_tts.description import spec_of
from menura.engines.echo_tts.guidance import Guidance, Rescale
from menura.engines.echo_tts.prompt import EchoPrompt, Running, build
from menura.engines.echo_tts.speaker_scale import SpeakerScale
from menura.engines.echo_tts.tokenizer import EchoTokenizer
from menura.errors import InvalidValueError
from menura.speech import FloatArray, SpeechRequest, Spoken, Voice, validate

SPEC: EngineSpec = spec_of(PUBLISHED, "weights")
TEXT = "She opened the window."


def latents(n_frames: int, n_flat: int = 0) -> FloatArray:
    """Latents [T, 80] that move, then some that do not."""
    draws = np.random.Generator(np.random.PCG64(1)).standard_normal((n_frames, 80))
    return np.concatenate([draws, np.zeros((n_flat, 80))]).astype(np.float32)


VOICE = Voice("me", VoicePrompt("echo-tts", "weights", "latents", {"latents": latents(40)}))


def prompt(
    text: str = TEXT,
    given: Mapping[str, object] | None = None,
    *,
    voice: Voice | None = None,
    before: Spoken | None = None,
    is_exact: bool = False,
) -> EchoPrompt:
    manner = validate(SpeechRequest(text, voice=voice, options=given or {}), SPEC)
    return build(
        text, replace(manner, before=before), Running(PUBLISHED, EchoTokenizer(), "full", is_exact)
    )


def test_a_text_becomes_its_bytes_after_the_beginning_and_a_speaker() -> None:
    assert bytes(prompt().ids) == b"\0[S1] She opened the window."
    assert bytes(prompt(given={"normalize_text": False}).ids) == b"\0She opened the window."


def test_the_settings_are_those_of_the_options() -> None:
    settings = prompt().settings
    assert settings.n_steps == 40
    assert settings.guidance == Guidance(3.0, 8.0, 0.5, 1.0, joint=False)
    assert settings.truncation_factor is None
    assert settings.rescale is None
    assert settings.speaker_scale is None
    assert settings.n_frames == 640
    assert settings.block_sizes is None
    flat = prompt(given={"preset": "Independent-Low-CFG-Flat", "guidance": "joint"}).settings
    assert flat.guidance == Guidance(3.0, 3.0, 0.5, 1.0, joint=True)
    assert flat.truncation_factor == 0.8
    assert flat.rescale == Rescale(1.2, 3.0)


def test_a_forced_voice_compounds_as_upstreams_only_where_it_is_exact() -> None:
    given = {"speaker_kv_scale": 1.5, "speaker_kv_min_t": 0.9, "speaker_kv_max_layers": 12}
    for is_exact in (False, True):
        found = prompt(given=given, voice=VOICE, is_exact=is_exact).settings.speaker_scale
        assert found == SpeakerScale(1.5, 12, 0.9, compounds=is_exact)


def test_a_voice_is_forced_only_where_there_is_one() -> None:
    with pytest.raises(InvalidValueError, match="none is given") as caught:
        prompt(given={"speaker_kv_scale": 1.5, "speaker_kv_min_t": 0.9})
    assert caught.value.param == "speaker_kv_scale"


def test_what_has_no_effect_without_a_voice_is_told_where_it_was_asked_for() -> None:
    asked = prompt(given={"cfg_scale_speaker": 5})
    assert asked.applied["without_effect"] == ["cfg_scale_speaker: no voice is given"]
    assert "without_effect" not in prompt().applied
    assert "without_effect" not in prompt(given={"cfg_scale_speaker": 5}, voice=VOICE).applied


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"num_steps": 9, "block_sizes": "8,8", "block_steps": "2,3"},
            ["num_steps: block_steps gives each block its own"],
        ),
        ({"rescale_k": 1.2}, ["rescale_k: rescale_sigma is not given"]),
        ({"rescale_sigma": 3.0}, ["rescale_sigma: rescale_k is not given"]),
    ],
)
def test_an_option_that_does_nothing_is_told(given: dict[str, object], said: list[str]) -> None:
    found = prompt(given=given)
    assert found.settings.rescale is None
    assert found.applied["without_effect"] == said
    options = found.applied["options"]
    assert isinstance(options, dict)
    assert options[said[0].partition(":")[0]] is None


def test_a_voice_is_forced_in_all_layers_where_more_are_asked_for() -> None:
    given = {"speaker_kv_scale": 1.5, "speaker_kv_min_t": 0.9, "speaker_kv_max_layers": 24}
    assert "without_effect" not in prompt(given=given, voice=VOICE).applied
    more = prompt(given=given | {"speaker_kv_max_layers": 25}, voice=VOICE)
    told = ["speaker_kv_max_layers: the model has only 24 layers"]
    assert more.applied["without_effect"] == told


def test_joint_guidance_takes_the_voices_scale_even_where_no_voice_is_given() -> None:
    joint = prompt(given={"cfg_scale_speaker": 5, "guidance": "joint"})
    assert "without_effect" not in joint.applied


def test_applied_holds_every_option_as_it_is_used() -> None:
    applied = prompt(given={"length": "auto", "num_steps": 8, "guidance": "joint"}).applied
    options = applied["options"]
    assert isinstance(options, dict)
    assert options.keys() == {facts.name for facts in SPEC.options.facts()}
    assert options["num_steps"] == 8
    assert options["cfg_scale_text"] == 3.0
    assert applied["guidance"] == "joint"
    assert applied["length"] == "auto"
    assert options["sequence_length"] is None
    window = applied["sequence_length"]
    assert isinstance(window, int)
    assert window < 100
    found = prompt(given={"sequence_length": 441})
    assert found.sampled_s == 441 * 2048 / 44_100
    blocks = prompt(given={"block_sizes": "32,128", "block_steps": "8,15"}).applied
    assert blocks["length"] == "blocks"
    assert blocks["sequence_length"] == 160
    used = blocks["options"]
    assert isinstance(used, dict)
    assert used["block_sizes"] == [32, 128]
    assert used["block_steps"] == [8, 15]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"preset": "Independent-Low-CFG-Flat", "cfg_scale_text": 0},
        {"sequence_length": 37},
        {"sequence_length": 37, "length": "full"},
        {"length": "auto", "num_steps": 8},
        {"block_sizes": "32,128", "block_steps": "8,15"},
        {"block_sizes": "32,128"},
        {"rescale_k": 1.2},
        {"continue_segments": True, "guidance": "joint"},
    ],
)
@pytest.mark.parametrize("voice", [None, VOICE])
def test_the_options_that_were_applied_can_be_given_again(
    given: dict[str, object], voice: Voice | None
) -> None:
    first = prompt(given=given, voice=voice)
    options = first.applied["options"]
    assert isinstance(options, dict)
    again = prompt(given=json.loads(json.dumps(options)), voice=voice)
    assert again.settings == first.settings
    assert again.applied["options"] == options
    assert "without_effect" not in again.applied


@pytest.mark.parametrize(("n_bytes", "is_allowed"), [(762, True), (763, False)])
def test_a_text_is_never_cut(n_bytes: int, is_allowed: bool) -> None:
    text = "é" * (n_bytes // 2) + "a" * (n_bytes % 2)
    if is_allowed:
        assert len(prompt(text).ids) == 768
        return
    with pytest.raises(InvalidValueError, match=r"769 bytes .* at most 768 .* split") as caught:
        prompt(text)
    assert caught.value.param == "text"


def test_a_segment_goes_on_from_the_speech_of_the_one_before() -> None:
    spoken = Spoken("It was early.", latents(66, n_flat=30))
    found = prompt(before=spoken)
    assert bytes(found.ids) == b"\0[S1] It was early. She opened the window."
    assert found.continuation is not None
    assert np.array_equal(found.continuation, spoken.frames[:64])  # whole patches
    assert found.settings.block_sizes == (576,)
    assert found.settings.block_steps == (40,)
    assert "not_continued" not in found.applied


def test_a_segment_without_room_starts_anew_and_says_so() -> None:
    long = prompt(before=Spoken("It was early.", latents(620)))
    assert long.continuation is None
    assert long.settings.block_sizes is None
    assert bytes(long.ids) == b"\0[S1] She opened the window."
    assert long.applied["not_continued"] == [
        "'She opened the window.': the segment before it left room for 0.9 s (20 frames)"
    ]
    wordy = prompt(before=Spoken("a" * 750, latents(64)))
    assert wordy.continuation is None
    assert "768 bytes" in str(wordy.applied["not_continued"])


def test_a_segment_after_one_without_speech_starts_anew() -> None:
    assert prompt(before=Spoken("Oh.", latents(0, n_flat=40))).continuation is None


def test_more_text_than_the_window_holds_is_told() -> None:
    text = "She opened the window, and the cold air of the morning came in. " * 10
    told = prompt(text).applied["rushed"]
    assert told == [f"{text[:40]!r}: about 41 s of speech in 29.7 s"]
    assert "rushed" not in prompt().applied
    assert "rushed" in prompt(given={"sequence_length": 20}).applied
    assert "rushed" not in prompt(text[: len(text) // 2], given={"length": "auto"}).applied
