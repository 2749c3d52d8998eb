"""Upstream's saved voices: plain tensors are taken, and nothing of a file runs in this process."""

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import menura
from menura.engines.qwen3_tts import upstream_reader, upstream_voices
from menura.engines.qwen3_tts.engine import Qwen3TTSEngine
from menura.engines.qwen3_tts.tiny import Tiny, write
from menura.errors import InvalidValueError, UnsupportedError

CODES = torch.arange(32).reshape(2, 16)
EMBEDDING = torch.linspace(-1, 1, 64)


def item(**changes: object) -> dict[str, object]:
    """One voice in context, as upstream saves it."""
    return {
        "ref_code": CODES,
        "ref_spk_embedding": EMBEDDING,
        "x_vector_only_mode": False,
        "icl_mode": True,
        "ref_text": "What I say.",
    } | changes


def by_embedding() -> dict[str, object]:
    return item(ref_code=None, x_vector_only_mode=True, icl_mode=False, ref_text=None)


def saved(tmp_path: Path, what: object, **arguments: bool) -> Path:
    path = tmp_path / "prompt.pt"
    torch.save(what, path, **arguments)
    return path


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader without its own process, which takes seconds to start."""

    def run(path: Path, made: Path, time_limit_s: float) -> None:
        assert upstream_reader.main(path, made) == 0

    monkeypatch.setattr(upstream_reader, "_limit_memory", lambda: None)
    monkeypatch.setattr(upstream_voices, "_run_reader", run)


def test_voices_of_upstream_are_taken_in_both_modes(tmp_path: Path) -> None:
    path = saved(tmp_path, {"items": [item(), by_embedding()]})
    in_context, alone = upstream_voices.read(path, "weights")
    assert (in_context.engine, in_context.fingerprint) == ("qwen3-tts", "weights")
    assert (in_context.mode, in_context.transcript) == ("in_context", "What I say.")
    assert np.array_equal(in_context.arrays["codes"], CODES.numpy())
    assert np.array_equal(in_context.arrays["embedding"], EMBEDDING.numpy())
    assert (alone.mode, alone.transcript) == ("x_vector", None)
    assert alone.arrays.keys() == {"embedding"}


@pytest.mark.usefixtures("in_this_process")
def test_numbers_of_other_widths_become_ours(tmp_path: Path) -> None:
    narrow = item(ref_code=CODES.to(torch.int32), ref_spk_embedding=EMBEDDING.bfloat16())
    [voice] = upstream_voices.read(saved(tmp_path, {"items": [narrow]}), "")
    assert voice.arrays["codes"].dtype == np.int64
    assert voice.arrays["embedding"].dtype == np.float32


class Sentinel:
    """Unpickled, it leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[Callable[[str, str], object], tuple[str, str]]:
        return open, (self.path, "w")


@pytest.mark.parametrize("is_archive", [True, False])
def test_a_file_that_would_run_code_runs_nothing(is_archive: bool, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    path = tmp_path / "prompt.pt"
    if is_archive:
        torch.save({"items": [item(ref_text=Sentinel(ran))]}, path)
    else:
        path.write_bytes(pickle.dumps(Sentinel(ran)))
    with pytest.raises(InvalidValueError, match="could run code" if is_archive else "no archive"):
        upstream_voices.read(path, "")
    assert not ran.exists()


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ([1], "list 'items'"),
        ({"items": []}, "1 to 64 voices"),
        ({"items": [item()] * 65}, "1 to 64 voices"),
        ({"items": [3]}, "item 0 is no object"),
        ({"items": [item(ref_spk_embedding=None)]}, "ref_spk_embedding is no tensor"),
        ({"items": [item(ref_code=CODES.float())]}, "ref_code is a torch.float32"),
        ({"items": [item(ref_code=torch.zeros(1, dtype=torch.long).expand(10**12, 16))]},
         "ref_code is a torch.int64"),
        ({"items": [item(ref_text=None)]}, "ref_text is no text"),
    ],
)  # fmt: skip
def test_a_reader_says_what_is_wrong_with_a_file(
    what: object, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(upstream_reader, "_limit_memory", lambda: None)  # not of this process
    made = tmp_path / "made.safetensors"
    assert upstream_reader.main(saved(tmp_path, what), made) == 1
    assert said in capsys.readouterr().err
    assert not made.exists()


def test_a_reader_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    path = saved(tmp_path, {"items": [item()]})
    with pytest.raises(InvalidValueError, match=r"took over 0\.01 s"):
        upstream_voices.read(path, "", time_limit_s=0.01)


def test_a_file_that_unpacks_to_too_much_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream_voices, "MAX_BYTES", 500)
    with pytest.raises(InvalidValueError, match="over 500"):
        upstream_voices.read(saved(tmp_path, {"items": [item()]}), "")


@pytest.mark.usefixtures("in_this_process")
def test_numbers_that_are_none_are_refused(tmp_path: Path) -> None:
    broken = item(ref_spk_embedding=torch.full((64,), torch.nan))
    with pytest.raises(InvalidValueError, match="numbers are not sound"):
        upstream_voices.read(saved(tmp_path, {"items": [broken]}), "")


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="No such file"):
        upstream_voices.read(tmp_path / "prompt.pt", "")


@pytest.mark.usefixtures("in_this_process")
def test_a_model_speaks_with_a_voice_of_upstream_and_refuses_another_widths(
    tmp_path: Path,
) -> None:
    tts = menura.load(write(tmp_path))
    assert isinstance(tts.engine, Qwen3TTSEngine)
    [prompt] = tts.engine.import_voices(saved(tmp_path, {"items": [item()]}))
    speech = tts.speak("Hi.", voice=menura.Voice("Ada", prompt), seed=1, max_new_tokens=4)
    assert speech.frames is not None
    assert speech.applied["voice_mode"] == "in_context"
    wide = item(ref_spk_embedding=torch.zeros(65))
    with pytest.raises(InvalidValueError, match=r"float32 \[64\]"):
        tts.engine.import_voices(saved(tmp_path, {"items": [wide]}))


def test_a_model_that_cannot_clone_takes_no_voice(tmp_path: Path) -> None:
    engine = menura.load(write(tmp_path, Tiny("custom_voice"))).engine
    assert isinstance(engine, Qwen3TTSEngine)
    with pytest.raises(UnsupportedError, match="Base model"):
        engine.import_voices(tmp_path / "prompt.pt")
