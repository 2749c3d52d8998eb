from pathlib import Path

import pytest

from menura.cli.load_bench import TEXTS, Result, percentile, result_of
from menura.cli.load_run import Answer, Arrival, Call
from tests.command_line import run


def answer(first_s: float, *, at_s: float = 0.0, status: int = 200, reason: str = "") -> Answer:
    found = Answer(Call(at_s, "x", "pcm"), status, reason, ended_s=first_s, audio_s=3.0)
    found.arrivals, found.content = [Arrival(first_s, 10)], bytearray(10)
    return found


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([], 50, None),
        ([1.0], 99, 1.0),
        ([1.0, 2.0, 3.0, 4.0], 50, 2.0),
        ([1.0, 2.0, 3.0, 4.0], 90, 4.0),
        ([float(n) for n in range(1, 101)], 99, 99.0),
    ],
)
def test_a_percentile_is_one_of_the_values(
    values: list[float], share: int, expected: float | None
) -> None:
    assert percentile(values, share) == expected


def test_a_result_counts_what_came_back() -> None:
    late = answer(2.0, at_s=4.0)
    late.arrivals.append(Arrival(9.0, 20))
    late.content, late.ended_s = bytearray(20), 8.0
    busy = [answer(0.1, status=429, reason="busy") for _ in range(2)]
    found = result_of(0.5, [answer(1.0), late, *busy, answer(1, status=0, reason="ReadError")])
    assert found == Result(
        rate=0.5,
        requests=5,
        good=2,
        dry=1,
        first_audio_p50_s=1.0,
        first_audio_p90_s=2.0,
        first_audio_p99_s=2.0,
        throughput=0.5,
        audio_s=6.0,
        errors={"429 busy": 2, "no answer ReadError": 1},
    )


def test_a_run_without_calls_is_no_division_by_zero() -> None:
    assert result_of(0.01, []).throughput == 0.0


def test_our_texts_are_of_several_lengths() -> None:
    lengths = sorted(map(len, TEXTS))
    assert (lengths[0] < 10, lengths[-1] > 300) == (True, True)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ([], "no server of yours is running: give its URL, or --start"),
        (["127.0.0.1:8000"], "is no address"),
        (["http://127.0.0.1:9", "--start"], "not both"),
        (["http://127.0.0.1:9", "--rate", "0"], "--rate=0.0 is not allowed"),
        (["http://127.0.0.1:9", "--duration", "nan"], "--duration=nan is not allowed"),
        (["http://127.0.0.1:9", "--format", "m4a"], "'m4a' is not one that servers speak"),
    ],
)
def test_what_cannot_be_measured_is_refused(flags: list[str], words: str) -> None:
    ran = run("bench", "serve", *flags)
    assert ran.code == 2
    assert words in ran.stderr


def test_a_server_that_does_not_answer_is_told() -> None:
    ran = run("bench", "serve", "http://127.0.0.1:9")
    assert ran.code == 1
    assert "the server at http://127.0.0.1:9 does not speak: no answer ConnectError" in ran.stderr


def test_a_file_without_texts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "texts").write_text("\n \n")
    ran = run("bench", "serve", "http://127.0.0.1:9", "--texts", tmp_path / "texts")
    assert (ran.code, "holds no text" in ran.stderr) == (2, True)
