"""The built-in voice: equal to its library, honest about what it cannot do, never downloading."""

import socket
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hibari import Hibari

import menura
from menura.engines.builtin import config
from menura.engines.builtin.engine import BuiltinEngine, BuiltinPrompt
from menura.engines.contract import Delivery, LoadArguments
from menura.errors import (
    InvalidValueError,
    ModelFilesError,
    ModelNotFoundError,
    NoAudioError,
    NothingToSpeakError,
    UnsupportedError,
)
from menura.speech import SpeechRequest


@pytest.fixture(scope="module")
def library() -> Hibari:
    return Hibari()


@pytest.fixture
def tts(monkeypatch: pytest.MonkeyPatch) -> menura.TTS:
    """The built-in voice on a machine without a network."""

    def refuse(*_: object) -> None:
        raise AssertionError("the built-in voice reached for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    return menura.load()


@pytest.mark.parametrize("seed", [0, 7, 2**62])
@pytest.mark.parametrize("speed", [0.5, 1.0, 1.7])
def test_a_segment_is_what_the_library_gives(
    tts: menura.TTS, library: Hibari, seed: int, speed: float
) -> None:
    text = "On the 3rd of March, 1,250 people paid $9.99 each. Dr. Smith was late."
    expected = library(text, speed=speed, seed=seed)
    assert np.array_equal(tts.speak(text, seed=seed, speed=speed).samples, expected)


def test_speed_beyond_the_librarys_own_is_stretched_and_said(
    tts: menura.TTS, library: Hibari
) -> None:
    speech = tts.speak("The birch canoe slid on the smooth planks.", seed=1, speed=4.0)
    native = library("The birch canoe slid on the smooth planks.", seed=1, speed=2.0)
    assert len(speech.samples) == round(len(native) / 2)
    assert speech.applied["speed"] == 4.0
    assert speech.applied["stretched"] == 2.0


def test_a_long_text_is_its_segments_one_after_another(tts: menura.TTS, library: Hibari) -> None:
    text = "\n\n".join(f"This is paragraph number {n}. It says what it says." for n in range(4))
    speech = tts.speak(text, seed=3)
    assert len(speech.segments) > 1
    for segment in speech.segments:
        samples = speech.samples[segment.sample_start : segment.sample_end]
        assert np.array_equal(samples, library(segment.text, seed=segment.seed))


def test_hard_wrapped_prose_is_read_without_a_break_at_each_line(
    tts: menura.TTS, library: Hibari
) -> None:
    wrapped = (
        "The birch canoe slid on the smooth planks that had been laid by the\n"
        "water long before anybody living there could remember who did so."
    )
    expected = library(wrapped.replace("\n", " "), seed=1)
    assert np.array_equal(tts.speak(wrapped, seed=1).samples, expected)
    assert not np.array_equal(library(wrapped, seed=1), expected)
    verse = "Roses are red,\nViolets are blue."
    assert tts.speak(verse, seed=1).segments[0].text == verse


@pytest.mark.parametrize(
    ("text", "script", "model"),
    [
        ("你好，世界", "han", "qwen3-tts"),
        ("Say 你好 to her.", "han", "qwen3-tts"),
        ("Привет, мир", "cyrillic", "qwen3-tts"),
        ("こんにちは", "kana", "qwen3-tts"),
        ("안녕하세요", "hangul", "qwen3-tts"),
        ("Καλημέρα", "greek", ""),
        ("مرحبا", "arabic", ""),
        ("שלום", "hebrew", ""),
        ("สวัสดี", "thai", ""),
        ("नमस्ते", "devanagari", ""),
    ],
)
def test_letters_of_other_scripts_are_refused_naming_a_model_that_can(
    tts: menura.TTS, text: str, script: str, model: str
) -> None:
    with pytest.raises(UnsupportedError, match=script) as caught:
        tts.speak(text)
    assert model in caught.value.message
    assert ("odel that can" in caught.value.message) == bool(model)
    assert caught.value.exit_code == 4


@pytest.mark.parametrize("text", ["naïve café", "5 µm at 20 °C", "Ærøskøbing", "The Ω of it", "½"])
def test_letters_that_english_texts_hold_are_read(tts: menura.TTS, text: str) -> None:
    speech = tts.speak(text, seed=1)
    assert len(speech.samples) > 4_000
    assert "read_without_accent" not in speech.applied


def test_an_accent_that_the_library_would_drop_is_read_without_and_said(
    tts: menura.TTS, library: Hibari
) -> None:
    assert library("ế").size == 0
    speech = tts.speak("Ask Nguyễn Thế.", seed=1)
    assert speech.applied["read_without_accent"] == ["ế", "ễ"]
    assert np.array_equal(speech.samples, library("Ask Nguyen The.", seed=1))


def test_markdown_links_are_text_and_not_phonemes(tts: menura.TTS, library: Hibari) -> None:
    text = "See the [docs](/guide/) now."
    assert np.array_equal(
        tts.speak(text, seed=1).samples, library("See the [docs] (/guide/) now.", seed=1)
    )
    asked = tts.speak(text, seed=1, inline_phonemes=True)
    assert np.array_equal(asked.samples, library(text, seed=1))


@pytest.mark.parametrize("text", ["™", "☃ ☃", "ĸ"])
def test_a_text_of_which_nothing_would_be_read_is_an_error_and_never_silence(
    tts: menura.TTS, library: Hibari, text: str
) -> None:
    assert library(text).size == 0
    with pytest.raises(menura.MenuraError) as caught:
        tts.speak(text, seed=1)
    assert type(caught.value) in (NothingToSpeakError, NoAudioError, UnsupportedError)


def test_the_decoder_itself_never_passes_silence_for_speech(tts: menura.TTS) -> None:
    built = tts.engine.build_prompt("x", tts.plan(SpeechRequest("x")).manner)
    assert isinstance(built, BuiltinPrompt)
    prompt = replace(built, spoken="ĸ")
    decoder = tts.engine.decoder(1)
    decoder.admit(0, prompt, tts.engine.noise(1), Delivery())
    [step] = decoder.step()
    assert isinstance(step.error, NoAudioError)


def test_voices_that_are_not_here_are_listed_with_the_command_that_brings_them(
    tts: menura.TTS,
) -> None:
    missing = {preset.name: preset.missing for preset in tts.voices()}
    assert missing["heart"] == ""
    assert set(missing) == {"heart", "emma", "fenrir", "fable", "kore"}
    with pytest.raises(ModelNotFoundError, match="menura models pull builtin-emma") as caught:
        tts.speak("Hello.", voice="emma")
    assert caught.value.exit_code == 3


def test_a_voice_file_is_used_where_it_is_here(library: Hibari) -> None:
    other = config.package_folder() / "assets" / "hibari.onnx"
    engine = BuiltinEngine.load(None, LoadArguments(extra={"voice_files": {"fenrir": str(other)}}))
    assert {v.name for v in engine.spec.voices if not v.missing} == {"heart", "fenrir"}
    samples = engine.library_voice("fenrir")("Hello.", seed=1)
    assert np.array_equal(samples, library("Hello.", seed=1))
    extra = {"voice_files": {"fenrir": str(other)}, "default_voice": "fenrir"}
    assert BuiltinEngine.describe(None, extra).default_voice == "fenrir"


def test_a_voice_file_that_went_away_is_an_error_and_not_a_download(tmp_path: Path) -> None:
    engine = BuiltinEngine(config.Voices({"emma": tmp_path / "gone.onnx"}), threads=1)
    with pytest.raises(ModelFilesError, match="menura models pull builtin-emma"):
        engine.library_voice("emma")


def test_what_it_cannot_do_is_said(tts: menura.TTS) -> None:
    with pytest.raises(UnsupportedError, match="qwen3-tts"):
        tts.speak("Guten Tag.", language="german")
    with pytest.raises(UnsupportedError, match="qwen3-tts"):
        tts.voice(np.zeros(24_000, np.float32), rate_hz=24_000)
    with pytest.raises(UnsupportedError, match="instruct"):
        tts.speak("Hello.", instruct="Whisper.")
    assert tts.plan(SpeechRequest("Hello.", language="en-US")).applied["language"] == "english"


@pytest.mark.parametrize("arguments", [{"device": "cuda"}, {"precision": "bf16"}])
def test_a_device_or_precision_that_it_has_not_is_refused(arguments: dict[str, str]) -> None:
    with pytest.raises(UnsupportedError, match=next(iter(arguments))):
        menura.load(**arguments)  # type: ignore[arg-type]


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="autoencoder"):
        menura.load(autoencoder="somewhere")


def test_a_device_of_the_settings_is_a_wish_and_one_asked_for_is_strict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MENURA_DEVICE", "cuda:0")
    monkeypatch.setenv("MENURA_PRECISION", "bf16")
    applied = menura.load().speak("Hello.", seed=1).applied
    unheeded = applied["settings_not_heeded"]
    assert isinstance(unheeded, dict)
    assert set(unheeded) == {"device", "precision"}
    with pytest.raises(UnsupportedError, match="cuda"):
        menura.load(device="cuda:0")


@pytest.mark.parametrize("arguments", [{"device": "gpu"}, {"precision": "nonsense"}])
def test_a_device_or_precision_that_nothing_has_is_a_bad_value(arguments: dict[str, str]) -> None:
    with pytest.raises(menura.MenuraError) as caught:
        menura.load(**arguments)  # type: ignore[arg-type]
    assert caught.value.exit_code == 2


def test_a_failure_of_the_library_is_its_segments_alone(
    tts: menura.TTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Hibari.from_ids

    def fails_on_long(self: Hibari, ids: list[int], *more: object) -> object:
        if len(ids) > 30:
            raise RuntimeError("the runtime asked for 80 GB")
        return real(self, ids, *more)

    monkeypatch.setattr(Hibari, "from_ids", fails_on_long)
    texts = ["Hello.", "A sentence that is far too long for a library which fails.", "Bye."]
    good, bad, late = tts.speak_many([SpeechRequest(text, seed=1) for text in texts])
    assert good.error is None
    assert late.error is None
    assert "80 GB" in str(bad.error)


@pytest.mark.parametrize(
    "text",
    [
        "." * 100_000 + "a",
        "😄" * 6_000 + " hi",
        "Z" + "\u0301" * 5_000 + "algo",
        ". " * 6_000 + "1",
    ],
)
def test_a_heap_of_characters_that_nobody_reads_costs_next_to_nothing(
    tts: menura.TTS, text: str
) -> None:
    speech = tts.speak(text, seed=1)
    assert 0.3 < speech.seconds < 4.0
    assert speech.segments[-1].end == len(text)
    dropped = speech.applied["dropped_characters"]
    assert isinstance(dropped, dict)
    assert sum(dropped.values()) > 2_900


@pytest.mark.parametrize(
    "text",
    [
        "Title\n================\n\nText.",
        "A: B\n##########\nText.",
        "Chapter one " + "=" * 500 + " 5 pages",
        "Chapter one " + ". " * 500 + " 5 pages",
        "Hello " + "," * 20_000 + " a",
        "* * *\n\nThe end.\n\n-----",
    ],
)
def test_drawn_lines_are_not_read_and_the_plan_is_near_the_truth(
    tts: menura.TTS, text: str
) -> None:
    planned = tts.plan(SpeechRequest(text, seed=1))
    assert tts.speak(text, seed=1).seconds < planned.expected_s + 2.0
