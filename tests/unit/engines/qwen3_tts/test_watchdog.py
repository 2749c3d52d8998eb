import numpy as np

from menura.engines.qwen3_tts.watchdog import Watchdog

RATE_HZ = 10.0
SAMPLES_HZ = 1000


def n_frames_until_alarm(codes: list[int], expected_s: float | None = None) -> int | None:
    watchdog = Watchdog(RATE_HZ)
    if expected_s is not None:
        watchdog.expect(expected_s)
    for count, code in enumerate(codes, start=1):
        watchdog.note(code)
        if watchdog.alarm:
            return count
    return None


def test_without_an_expected_duration_there_is_no_budget() -> None:
    assert n_frames_until_alarm([n * n % 97 for n in range(5000)]) is None


def test_the_budget_is_thrice_the_expected_duration_and_eight_seconds() -> None:
    assert n_frames_until_alarm(list(range(5000)), expected_s=2.0) == 140


def test_codes_that_repeat_for_three_seconds_are_noticed() -> None:
    assert n_frames_until_alarm([5, 9] + [7] * 100) == 2 + 30
    assert n_frames_until_alarm([1, 2, 3, 4] * 20) == 30


def test_a_longer_pattern_or_a_shorter_repeat_is_speech() -> None:
    assert n_frames_until_alarm([1, 2, 3, 4, 5] * 40) is None
    assert n_frames_until_alarm(([7] * 29 + [8]) * 10) is None


def test_five_seconds_of_near_silence_are_noticed_across_pieces() -> None:
    watchdog = Watchdog(RATE_HZ)
    quiet = np.full(SAMPLES_HZ, 1e-4, np.float32)
    loud = np.full(SAMPLES_HZ, 0.1, np.float32)
    for piece in (quiet, quiet, loud, quiet, quiet, quiet, quiet):
        watchdog.hear(piece, SAMPLES_HZ)
    assert watchdog.alarm == ""
    watchdog.hear(quiet, SAMPLES_HZ)
    assert watchdog.alarm == "it was silent for 5 s"
