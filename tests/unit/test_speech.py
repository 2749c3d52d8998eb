import numpy as np
import pytest

import menura
from menura.errors import MenuraError
from menura.speech import FinishReason, Speech


def test_a_speech_without_a_writer_says_so(tmp_path: "object") -> None:
    speech = Speech(np.zeros(8, np.float32), 8, None, (), FinishReason.STOP, {})
    assert speech.seconds == 1.0
    with pytest.raises(MenuraError, match="no encoder"):
        speech.save("never.wav")


def test_every_public_name_resolves() -> None:
    for name in menura.__all__:
        assert getattr(menura, name).__name__ == name
    assert dir(menura) == sorted(menura.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = menura.nothing
