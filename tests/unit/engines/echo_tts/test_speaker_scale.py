import pytest
import torch

from menura.engines.echo_tts.dit import Keys
from menura.engines.echo_tts.schedule import times
from menura.engines.echo_tts.speaker_scale import SpeakerContext, SpeakerScale

SPEAKER: Keys = tuple((torch.full((1, 1, 1), 2.0), torch.full((1, 1, 1), 4.0)) for _ in range(3))


def factors(context: SpeakerContext) -> list[float]:
    """The factor of every layer, the same for keys and values."""
    assert context.keys is not None
    of_keys = [key.item() / 2 for key, _ in context.keys]
    assert of_keys == [value.item() / 4 for _, value in context.keys]
    return of_keys


def pass_steps(context: SpeakerContext, n_steps: int = 4) -> list[float]:
    """The first layer's factor in every step of a block."""
    seen, schedule = [], times(n_steps)
    for step in range(n_steps):
        seen.append(factors(context)[0])
        context.leave(schedule[step], schedule[step + 1])
    return seen


@pytest.mark.parametrize(
    ("max_layers", "expected"),
    [(None, [1.5, 1.5, 1.5]), (2, [1.5, 1.5, 1.0]), (24, [1.5, 1.5, 1.5]), (0, [1.0, 1.0, 1.0])],
)
def test_keys_and_values_of_the_first_layers_are_scaled(
    max_layers: int | None, expected: list[float]
) -> None:
    context = SpeakerContext(SPEAKER, SpeakerScale(1.5, max_layers, min_t=0.9))
    assert factors(context) == [1.0, 1.0, 1.0]
    context.enter_block()
    assert factors(context) == expected


@pytest.mark.parametrize(
    ("min_t", "expected"),
    [
        (0.9, [1.5, 1.0, 1.0, 1.0]),  # the times are 0.999, 0.749, 0.4995, 0.24975, 0
        (0.5, [1.5, 1.5, 1.0, 1.0]),
        (0.4995, [1.5, 1.5, 1.5, 1.0]),
        (0.0, [1.5, 1.5, 1.5, 1.5]),
        (1.0, [1.5, 1.5, 1.5, 1.5]),
    ],
)
def test_the_step_that_goes_below_min_t_is_the_last_scaled_one(
    min_t: float, expected: list[float]
) -> None:
    context = SpeakerContext(SPEAKER, SpeakerScale(1.5, None, min_t))
    context.enter_block()
    assert pass_steps(context) == expected


def test_taking_the_scale_back_gives_the_very_keys_of_before() -> None:
    context = SpeakerContext(SPEAKER, SpeakerScale(1.25, None, min_t=0.9))
    context.enter_block()
    pass_steps(context)
    assert context.keys is SPEAKER


@pytest.mark.parametrize(
    ("compounds", "min_t", "expected"),
    [
        (False, 0.0, [1.5, 1.5, 1.5]),
        (True, 0.0, [1.5, 2.25, 3.375]),
        (True, 0.9, [1.5, 1.5, 1.5]),
    ],
)
def test_only_a_compounding_scale_that_is_never_taken_back_grows_from_block_to_block(
    compounds: bool, min_t: float, expected: list[float]
) -> None:
    context = SpeakerContext(SPEAKER, SpeakerScale(1.5, None, min_t, compounds=compounds))
    first_factors = []
    for _ in expected:
        context.enter_block()
        first_factors.append(pass_steps(context)[0])
    assert first_factors == expected


def test_no_speaker_stays_none_and_no_scale_changes_nothing() -> None:
    without = SpeakerContext(None, SpeakerScale(1.5, None, min_t=0.9))
    without.enter_block()
    assert without.keys is None
    plain = SpeakerContext(SPEAKER, None)
    plain.enter_block()
    plain.leave(torch.tensor(0.999), torch.tensor(0.0))
    assert plain.keys is SPEAKER
