"""A fast mode on the CPU: loading, first audio, one stream, and several at once.

    python -m bench.qwen3_tts.fast_mode FOLDER --threads N --frames N [--precision int8]

The first run packs the weights into the cache; `bench.run` does not count its first turn. Where the
machine is shared, `calm_turns` tells calm turns from disturbed ones.
"""

import time
from statistics import median

import numpy as np

from bench.qwen3_tts.stopwatch import CLIP_RATE_HZ, SEED, task
from bench.stopwatch import Stopwatch, tell

with Stopwatch() as IMPORTING:
    import menura
    from menura.engines.contract import Delivery
    from menura.engines.qwen3_tts.engine import Qwen3TTSEngine
    from menura.speech import SpeechRequest, validate

from bench.qwen3_tts.watched_frames import watched

TEXT = "The birch canoe slid on the smooth planks, and the ship left"  # 60 characters
TRANSCRIPT = (
    "Glue the sheet to the dark blue background. It is easy to tell the depth of a well. These "
    "days a chicken leg is a rare dish."
)
CLIP_S = 10
ROWS = (1, 2, 4, 8)
FRAME_S = 0.08


def main() -> None:
    """Measure, and print the figures."""
    asked = task()
    with Stopwatch() as loading:
        tts = menura.load(
            asked.folder, device="cpu", precision=asked.precision, threads=asked.n_threads
        )
    figures = {"import_s": IMPORTING.wall_s, "load_s": loading.wall_s}
    voices = {mode: encoded(tts, mode) for mode in ("x_vector", "in_context")}
    # A preset's prompt has the rows of a voice by embedding, with the whole text before it speaks.
    figures["first_preset_s"] = first_audio_s(tts, voices["x_vector"], is_whole=True)
    figures["first_x_vector_s"] = first_audio_s(tts, voices["x_vector"])
    figures["first_in_context_s"] = first_audio_s(tts, voices["in_context"])
    figures["again_in_context_s"] = first_audio_s(tts, voices["in_context"])
    for n_rows in ROWS:
        figures |= steps(tts, voices["x_vector"], asked.n_frames, n_rows)
    tell(figures)


def encoded(tts: menura.TTS, mode: str, seed: int = SEED) -> menura.Voice:
    """A voice of this mode, of noise as long as a good clip."""
    draws = np.random.default_rng(seed)
    clip = draws.normal(0, 0.1, CLIP_S * CLIP_RATE_HZ).astype(np.float32)
    return tts.voice(clip, transcript=TRANSCRIPT, mode=mode, rate_hz=CLIP_RATE_HZ)


def first_audio_s(tts: menura.TTS, voice: menura.Voice, *, is_whole: bool = False) -> float:
    """Seconds until the first piece of a stream; `is_whole`: all of the text comes first."""
    with Stopwatch() as waiting:
        stream = tts.stream(TEXT, voice=voice, language="english", seed=SEED, max_new_tokens=9,
                            non_streaming_mode=is_whole)  # fmt: skip
        next(stream)
    stream.close()
    return waiting.wall_s


def steps(tts: menura.TTS, voice: menura.Voice, n_frames: int, n_rows: int) -> dict[str, float]:
    """Seconds of several streams: mean step (also over a frame's), its frames, the first step."""
    engine = tts.engine
    assert isinstance(engine, Qwen3TTSEngine)
    before = engine.running
    frames = watched(engine)
    decoder = engine.decoder(n_rows)
    request = SpeechRequest(TEXT, voice, "english", options={"max_new_tokens": n_frames + 1})
    manner = validate(request, tts.spec)
    for row in range(n_rows):
        prompt = engine.build_prompt(TEXT, manner)
        decoder.admit(row, prompt, engine.noise(SEED + row), Delivery(1, 4))
    took: list[float] = []
    while decoder.live:
        began = time.perf_counter()
        decoder.step()
        took.append(time.perf_counter() - began)
    for row in range(n_rows):
        decoder.release(row)
    engine.running = before
    later = took[1:]  # the first one reads the prompts
    step_s = sum(later) / len(later)
    return {
        f"step_of_{n_rows}_s": step_s,
        f"frames_of_{n_rows}_s": median(frames.wall),
        f"rtf_of_{n_rows}": step_s / FRAME_S,
        f"start_of_{n_rows}_s": took[0],
    }


if __name__ == "__main__":
    main()
