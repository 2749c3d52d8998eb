import pytest

from menura.cli.quantities import duration, estimate, size


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.31, "0.31 s"),
        (2.06, "2.1 s"),
        (59.94, "59.9 s"),
        (60, "1 min 00 s"),
        (200, "3 min 20 s"),
        (3600, "1 h 00 min"),
        (3725, "1 h 02 min"),
    ],
)
def test_durations_read_well(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [
        (0, "0 B"),
        (245, "245 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (7_936_868, "7.9 MB"),
        (99_600_000, "100 MB"),
        (999_600, "1.0 MB"),
        (3_857_413_744, "3.9 GB"),
        (4_100_000_000_000, "4.1 TB"),
    ],
)
def test_sizes_read_well(n_bytes: int, words: str) -> None:
    assert size(n_bytes) == words


def test_an_estimated_size_says_so() -> None:
    assert size(3_833_402_000, about=True) == "~3.8 GB"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 s"),
        (4.4, "4 s"),
        (33.0, "35 s"),
        (59.0, "1 min"),
        (571.0, "9 min 30 s"),
        (1501.0, "25 min"),
        (3725.0, "1 h 02 min"),
    ],
)
def test_an_estimate_is_round(seconds: float, words: str) -> None:
    assert estimate(seconds) == words
