from dataclasses import dataclass, replace
from itertools import pairwise

import pytest

from menura.engines.contract import EngineSpec
from menura.options import Options, option
from menura.planning import SpeechPlan, plan
from menura.speech import SpeechRequest
from menura.text.plan import Pauses


@dataclass(frozen=True)
class _Halving(Options):
    """Options of a model whose segments may go on from one another."""

    continue_segments: bool = option(False, help="whether a segment holds the one before too")


SPEC = EngineSpec(
    engine="bytes",
    model="bytes-1",
    variant="",
    sample_rate_hz=44_100,
    frame_rate_hz=None,
    languages=("thai",),
    voices=(),
    default_voice=None,
    options=_Halving,
    speaks_without_voice=True,
    max_segment_bytes=762,
)
# Three bytes a letter: 25 s of it are about 940 bytes.
THAI = "ภาษาไทยเขียนติดกันไม่มีเว้นวรรคระหว่างคำ" * 20


def _sizes(spec: EngineSpec, *, goes_on: bool = False, split: bool = True) -> list[int]:
    request = SpeechRequest(THAI, split=split, options={"continue_segments": goes_on})
    planned: SpeechPlan = plan(request, spec, Pauses())
    assert "".join(THAI[part.start : part.end] for part in planned.segments) == THAI
    return [len(part.text.encode()) for part in planned.segments]


def test_a_model_of_bytes_gets_no_segment_over_its_limit() -> None:
    wide = replace(SPEC, max_segment_s=60.0)
    assert max(_sizes(replace(wide, max_segment_bytes=None))) > 762
    assert max(_sizes(wide)) <= 762


def test_segments_that_go_on_share_the_limit_with_the_one_before() -> None:
    sizes = _sizes(replace(SPEC, max_segment_s=60.0, max_continued_s=30.0), goes_on=True)
    assert all(before + 1 + after <= 762 for before, after in pairwise(sizes))


def test_a_text_that_is_not_split_is_left_to_the_engine() -> None:
    assert _sizes(SPEC, split=False) == [len(THAI.encode())]


@pytest.mark.parametrize("max_segment_bytes", [None, 10_000])
def test_a_limit_that_is_not_reached_changes_nothing(max_segment_bytes: int | None) -> None:
    unlimited = _sizes(replace(SPEC, max_segment_bytes=None))
    assert _sizes(replace(SPEC, max_segment_bytes=max_segment_bytes)) == unlimited
