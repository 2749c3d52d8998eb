"""`menura` with tiny Qwen3-TTS checkpoints: every variant speaks, and what one cannot is told."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

import menura
from menura.engines.qwen3_tts.tiny import Tiny, write
from tests.command_line import Ran, run

RATE_HZ = 24_000
FRAME = 1920
SAID = "A tone that beeps, again and again."
VARIANTS = {
    "base": Tiny("base"),
    "custom": Tiny("custom_voice"),
    "small": Tiny("custom_voice", "0b6"),
    "design": Tiny("voice_design"),
    "endless": Tiny("custom_voice", endless=True),
}


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of tiny models and of one recording."""
    folder = tmp_path_factory.mktemp("models")
    for name, tiny in VARIANTS.items():
        write(folder / name, tiny)
    time = np.arange(4 * RATE_HZ) / RATE_HZ
    beeps = 0.3 * np.sin(2 * np.pi * 180 * time) * (time % 0.5 < 0.4) * (time < 3.9)
    soundfile.write(folder / "me.wav", beeps, RATE_HZ)
    return folder


@pytest.fixture(autouse=True)
def here(checkpoints: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkpoints)


def say(model: str, text: str, *arguments: str) -> Ran:
    return run("say", text, "-m", f"./{model}", "--seed", "1", "--force", "-o", "a.wav", *arguments)


@pytest.mark.parametrize(
    ("model", "arguments", "voice"),
    [
        ("custom", [], "vivian"),
        ("custom", ["--voice", "Eric", "-l", "zh", "--instruct", "Angrily."], "eric"),
        ("custom", ["--voice", ""], None),
        ("small", ["--voice", "ryan"], "ryan"),
        ("design", ["--instruct", "A calm old man."], None),
        ("base", ["--ref", "me.wav"], "me"),
        ("base", ["--ref", "me.wav", "--ref-text", SAID], "me"),
    ],
)
@pytest.mark.parametrize("precision", ["exact", "auto"])
def test_every_variant_speaks(
    model: str, arguments: list[str], voice: str | None, precision: str
) -> None:
    limit = ["-p", "max_new_tokens=9", "--precision", precision, "--json"]
    ran = say(model, "Hello.", *arguments, *limit)
    assert ran.code == 0, ran.stderr
    samples, rate_hz = soundfile.read("a.wav", dtype="float32")
    assert rate_hz == RATE_HZ
    assert len(samples) % FRAME == 0
    assert 2 * FRAME <= len(samples) <= 8 * FRAME
    applied = ran.answer["applied"]
    assert isinstance(applied, dict)
    assert applied["voice"] == voice
    assert applied["precision"] == {"exact": "exact", "auto": "int8"}[precision]


def test_the_file_is_what_python_gives() -> None:
    say("custom", "Hello there.", "--voice", "ryan", "-p", "top_k=20")
    samples, _ = soundfile.read("a.wav", dtype="int16")
    speech = menura.load("./custom").speak("Hello there.", voice="ryan", top_k=20, seed=1)
    speech.save("b.wav")
    assert np.array_equal(samples, soundfile.read("b.wav", dtype="int16")[0])


def test_audio_leaves_through_a_pipe_while_it_is_made() -> None:
    ran = run("say", "Hello there.", "-m", "./base", "--ref", "me.wav", "--seed", "1",
              "-p", "max_new_tokens=9", "--stream", "--format", "pcm", "-o", "-")  # fmt: skip
    assert ran.code == 0
    tts = menura.load("./base")
    speech = tts.speak("Hello there.", voice=tts.voice("me.wav"), seed=1, max_new_tokens=9)
    assert len(ran.stdout) == 2 * len(speech.samples)


@pytest.mark.parametrize(
    ("model", "arguments", "code", "words"),
    [
        ("base", [], 2, "needs a voice: a recording (a Voice from tts.voice(clip); "),
        ("base", ["--voice", "vivian"], 3, "--ref FILE"),
        ("base", ["--ref", "me.wav", "--instruct", "x"], 4, "qwen3-tts-1.7b-customvoice"),
        ("custom", ["--ref", "me.wav"], 4, "qwen3-tts-0.6b-base"),
        ("custom", ["--voice", "cedar"], 3, "vivian, ryan, eric"),
        ("custom", ["-l", "klingon"], 2, "chinese, english"),
        ("custom", ["-p", "temperature=0"], 2, "do_sample=false"),
        ("custom", ["-p", "max_new_tokens=1"], 2, "at least 2"),
        ("custom", ["-p", "no_such=1"], 2, "max_new_tokens"),
        ("small", ["--instruct", "Angrily."], 4, "qwen3-tts-1.7b-customvoice"),
        ("design", ["--voice", "vivian"], 3, "say in instruct who speaks"),
    ],
)
def test_what_a_variant_cannot_do_is_told_with_what_would_work(
    model: str, arguments: list[str], code: int, words: str
) -> None:
    ran = say(model, "Hello.", *arguments)
    assert (ran.code, ran.stdout) == (code, b"")
    assert words in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_an_utterance_that_did_not_end_by_itself_is_told() -> None:
    ran = say("endless", "Hello.", "-p", "max_new_tokens=5")
    assert ran.code == 0
    assert "note: segment 1 ended at a limit (it reached max_new_tokens=5)" in ran.stderr
    assert "at a limit" not in say("custom", "Hello.").stderr


def test_what_is_doubtful_about_a_recording_is_a_note() -> None:
    ran = say("base", "Hello.", "--ref", "me.wav", "--ref-text", "Beep.", "-p", "max_new_tokens=4")
    assert ran.code == 0
    assert "note: the transcript would take about" in ran.stderr
    assert "VoiceWarning" not in ran.stderr


def test_voices_are_listed_with_languages_and_dialects() -> None:
    ran = run("voices", "list", "--model", "./custom", "--json")
    voices = ran.answer["voices"]
    assert isinstance(voices, list)
    assert [voice["name"] for voice in voices] == ["vivian", "ryan", "eric"]
    assert "sichuan_dialect" in voices[2]["languages"]
    assert "speaks Chinese in the sichuan dialect" in run("voices", "--model", "./custom").out
    assert "--ref FILE" in run("voices", "--model", "./base").out


def test_a_dry_run_plans_without_weights(tmp_path: Path) -> None:
    folder = write(tmp_path / "m", Tiny("custom_voice"))
    (folder / "model.safetensors").write_bytes(b"not weights")
    ran = run("say", "Hello. There.", "-m", folder, "--voice", "eric", "--plan", "--json")
    assert ran.code == 0
    assert [segment["text"] for segment in ran.segments] == ["Hello. There."]


def test_a_checkpoint_is_verified_tensor_by_tensor(tmp_path: Path) -> None:
    assert run("models", "verify", "./base").code == 0
    folder = write(tmp_path / "m", Tiny("custom_voice"))
    (folder / "model.safetensors").write_bytes(Path("base/model.safetensors").read_bytes())
    ran = run("models", "verify", folder)
    assert ran.code == 1
    assert "tensor speaker_encoder.asp.conv.bias is not expected" in ran.out
