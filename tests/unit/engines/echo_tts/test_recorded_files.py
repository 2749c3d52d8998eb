"""Files of other rates are heard as upstream hears them, through torchaudio's resampler."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.parity.echo_tts import cases, recorded
from tests.parity.echo_tts.our_side import heard_file

Arrays = dict[str, NDArray[np.generic]]
KEPT = recorded.read("files")


@pytest.mark.parametrize(("name", "rate_hz"), cases.RESAMPLED.items())
def test_a_file_is_heard_as_upstream_hears_it(
    name: str, rate_hz: int, agree: Callable[[Arrays, Arrays], None]
) -> None:
    agree({name: heard_file(KEPT[f"{name}.file"], rate_hz)}, {name: KEPT[name]})


def test_the_loud_file_was_turned_down() -> None:
    assert np.abs(KEPT["loud_float_16k.file"]).max() > 1.5
    assert np.abs(KEPT["loud_float_16k"]).max() == 1.0
