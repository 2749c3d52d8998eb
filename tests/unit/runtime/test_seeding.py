import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from menura.runtime.seeding import SeedNoise, derive, fresh_seed
from menura.speech import MAX_SEED

SEEDS = st.integers(0, MAX_SEED)


@given(SEEDS)
def test_the_first_attempt_at_the_first_segment_draws_from_the_seed_itself(seed: int) -> None:
    assert derive(seed, 0, 0) == seed


def test_other_segments_draw_from_the_documented_hash() -> None:
    digest = hashlib.sha256(b"7/2/1").digest()
    assert derive(7, 2, 1) == int.from_bytes(digest[:8], "big") % 2**63


@given(SEEDS, st.integers(0, 1000), st.integers(0, 10))
def test_every_derived_seed_is_a_seed(seed: int, segment: int, attempt: int) -> None:
    assert 0 <= derive(seed, segment, attempt) <= MAX_SEED


def test_segments_and_attempts_draw_differently() -> None:
    seeds = {derive(5, segment, attempt) for segment in range(20) for attempt in range(5)}
    assert len(seeds) == 100


def test_fresh_seeds_differ() -> None:
    assert len({fresh_seed() for _ in range(20)}) == 20


def test_fresh_seeds_stay_whole_in_every_reader_of_json() -> None:
    assert all(float(seed) == seed < 2**53 for seed in (fresh_seed() for _ in range(100)))


def test_a_stream_goes_on_and_does_not_depend_on_the_other_streams() -> None:
    alone = SeedNoise(3)
    expected = [alone.draw("a", (2, 2)) for _ in range(3)]
    mixed = SeedNoise(3)
    found = []
    for _ in range(3):
        mixed.draw("b", (5,))
        found.append(mixed.draw("a", (2, 2)))
    assert np.array_equal(np.stack(expected), np.stack(found))
    assert not np.array_equal(expected[0], expected[1])
    assert mixed.seed == 3
