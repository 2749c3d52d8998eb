from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from menura.audio.findings import Severity
from menura.audio.recording_checks import Measured, found

# Ten seconds with pauses of 0.2 s at the ends.
HEARD = np.ones(500, np.bool_)
HEARD[:10] = HEARD[-10:] = False
GOOD = Measured(HEARD, HEARD, (), (), -20.0, 40.0, 12_000.0)


def heard(*spans: tuple[int, int], n_blocks: int = 500) -> Measured:
    """Sound in these blocks, all of it speech."""
    blocks = np.zeros(n_blocks, np.bool_)
    for first, after in spans:
        blocks[first:after] = True
    return replace(GOOD, heard=blocks, speech=blocks)


def told(measured: Measured) -> list[tuple[str, Severity]]:
    return [(finding.code, finding.severity) for finding in found(measured)]


def test_nothing_is_said_of_a_good_recording() -> None:
    assert told(GOOD) == []


@pytest.mark.parametrize(
    ("measured", "code", "severity"),
    [
        (heard((10, 55)), "too_short", Severity.REFUSE),
        (heard((10, 150), n_blocks=160), "too_short", Severity.WARN),
        (heard((10, 1600), n_blocks=1610), "long", Severity.WARN),
        (replace(GOOD, speech=HEARD & (np.arange(500) < 150)), "little_speech", Severity.WARN),
        (replace(GOOD, snr_db=14.9), "noisy", Severity.WARN),
        (replace(GOOD, lufs=-40.1), "quiet", Severity.WARN),
        (replace(GOOD, bandwidth_hz=4_000.0), "narrow_band", Severity.WARN),
        (replace(GOOD, clipped=((1.0, 1.1),)), "clipped", Severity.NOTE),
        (replace(GOOD, clipped=((1.0, 1.1),) * 3), "clipped", Severity.WARN),
        (replace(GOOD, clipped=((1.0, 1.4),)), "clipped", Severity.WARN),
        (heard((10, 500)), "ends_in_sound", Severity.WARN),
        (heard((0, 490)), "starts_in_sound", Severity.NOTE),
        (heard((100, 490)), "silence_at_ends", Severity.NOTE),
        (heard((10, 200), (300, 490)), "long_silence", Severity.NOTE),
        (replace(GOOD, second_speaker=((2.0, 4.0),)), "several_speakers", Severity.WARN),
    ],
)
def test_each_fault_is_told_alone(measured: Measured, code: str, severity: Severity) -> None:
    kinds = [kind for kind in told(measured) if kind[0] != "silence_at_ends" or kind[0] == code]
    assert kinds == [(code, severity)]


@pytest.mark.parametrize(
    "measured",
    [
        replace(GOOD, snr_db=15.0),
        replace(GOOD, lufs=-40.0),
        heard((10, 160), n_blocks=170),  # 3 s
        heard((10, 1510), n_blocks=1520),  # 30 s
        heard((10, 200), (275, 490)),  # a pause of 1.5 s
        heard((25, 475)),  # half a second at the ends
        heard((2, 498)),  # a breath at the ends
    ],
)
def test_nothing_is_said_at_the_very_limits(measured: Measured) -> None:
    assert told(measured) == []


def test_findings_point_at_their_places() -> None:
    def spans(measured: Measured) -> Sequence[tuple[float, float]]:
        [finding] = found(measured)
        return finding.spans

    assert spans(heard((10, 500))) == ((9.7, 10.0),)
    assert spans(heard((0, 490))) == ((0.0, 0.3),)
    assert spans(heard((100, 490))) == ((0.0, 2.0),)
    assert spans(heard((10, 200), (300, 490))) == ((4.0, 6.0),)
    assert spans(replace(GOOD, clipped=((1.0, 1.1),))) == ((1.0, 1.1),)


def test_every_finding_says_what_it_means_and_what_to_do() -> None:
    everything = replace(
        heard((0, 40), (300, 310), (490, 500)),
        speech=np.zeros(500, np.bool_),
        snr_db=-3.0,
        lufs=-70.0,
        bandwidth_hz=0.0,
        clipped=((0.0, 1.0),),
        second_speaker=((0.0, 1.0),),
    )
    for finding in found(everything):
        assert finding.says[0].isupper()
        assert finding.says.endswith(".")
        assert finding.do.endswith(".")


def test_the_silence_is_told_where_it_is() -> None:
    [at_start] = found(heard((100, 490)))
    assert "2.0 s at the start;" in at_start.says
    assert " at the end" not in at_start.says
    [at_both] = found(heard((100, 400)))
    assert "2.0 s at the start and 2.0 s at the end;" in at_both.says
    assert at_both.spans == ((0.0, 2.0), (8.0, 10.0))


@pytest.mark.parametrize(("loss_db", "codes"), [(6.0, []), (19.9, []), (20.1, ["channels_cancel"])])
def test_channels_that_cancel_each_other_out_are_told(loss_db: float, codes: list[str]) -> None:
    assert [code for code, _ in told(replace(GOOD, mixing_loss_db=loss_db))] == codes
