import pytest

from menura.engines.echo_tts.generate import SamplerSettings
from menura.engines.echo_tts.guidance import Guidance
from menura.engines.echo_tts.work import Workload

GUIDED = Guidance(text=3.0, speaker=8.0, min_t=0.5, max_t=1.0)


def settings(
    n_steps: int,
    guidance: Guidance,
    n_frames: int,
    sizes: tuple[int, ...] | None = None,
    steps: tuple[int, ...] | None = None,
) -> SamplerSettings:
    return SamplerSettings(
        n_steps=n_steps,
        guidance=guidance,
        truncation_factor=None,
        rescale=None,
        speaker_scale=None,
        n_frames=n_frames,
        block_sizes=sizes,
        block_steps=steps,
    )


def test_guided_steps_count_their_lanes_and_decoding_counts_three() -> None:
    work = Workload(settings(4, GUIDED, 100), has_voice=True)
    # t = 0.999, 0.749 are guided by three lanes, 0.4995 and 0.25 are not: 3 + 3 + 1 + 1, and 3
    shares = [work.share(n_steps, 0) for n_steps in range(5)]
    assert shares == pytest.approx([0, 3 / 11, 6 / 11, 7 / 11, 8 / 11])
    assert work.share(4, 50) == pytest.approx(9.5 / 11)
    assert work.share(4, 100) == 1.0


def test_without_a_voice_a_guided_step_has_two_lanes() -> None:
    work = Workload(settings(4, GUIDED, 100), has_voice=False)
    assert work.share(1, 0) == pytest.approx(2 / 9)


def test_blocks_count_by_their_length_and_their_own_steps() -> None:
    plain = Guidance(text=0.0, speaker=0.0, min_t=0.0, max_t=1.0)
    work = Workload(settings(40, plain, 40, (8, 32), (2, 1)), has_voice=True)
    total = 8 * 2 + 32 * 1 + 3 * 40
    assert work.share(2, 8) == pytest.approx((16 + 24) / total)
    assert work.share(3, 40) == 1.0
