"""The tiny checkpoint that upstream's numbers were recorded on, loaded once for all tests."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from menura.engines.echo_tts import tiny
from tests.parity.echo_tts import our_model, recorded
from tests.parity.echo_tts.our_model import OurModel

Arrays = dict[str, NDArray[np.generic]]


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the tiny transformer, with its autoencoder inside."""
    return tiny.write(tmp_path_factory.mktemp("echo_tts"))


@pytest.fixture(scope="session")
def our_tiny(checkpoint: Path) -> OurModel:
    """Its parts, with those for blocks."""
    return our_model.load(checkpoint, checkpoint / "fish-s1-dac-min")


@pytest.fixture(scope="session")
def agree() -> Callable[[Arrays, Arrays], None]:
    """A check that our arrays are the kept ones of the same names."""

    def check(ours: Arrays, kept: Arrays) -> None:
        distances = recorded.distances(ours, kept)
        assert distances
        wrong = {name: apart for name, apart in distances.items() if apart > recorded.BOUND}
        assert not wrong

    return check
