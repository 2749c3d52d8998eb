import pytest

from menura.engines.echo_tts.config import PUBLISHED
from menura.engines.echo_tts.options import EchoOptions
from menura.engines.echo_tts.window import Rate, Window, least_frames, window_of
from menura.errors import InvalidValueError

RATE = Rate(PUBLISHED.autoencoder.frame_rate_hz, PUBLISHED.dit.patch_size)
SENTENCE = "She opened the window, and the cold air of the morning came in."


def window(
    text: str = SENTENCE, *, usual: str = "auto", n_before: int = 0, **given: object
) -> Window:
    options = EchoOptions.parse(given).filled()
    return window_of(options, text, RATE, usual=usual, n_before=n_before)


def seconds(n_frames: int) -> float:
    return n_frames / RATE.frame_rate_hz


@pytest.mark.parametrize("text", ["Hello", "Hi!", "No", "7", "Hello."])
def test_a_single_word_gets_a_short_window_and_not_30_s_of_noise(text: str) -> None:
    found = window(text)
    assert found.length == "auto"
    assert found.n_frames == 44  # 2 s in whole patches
    assert 2.0 <= seconds(found.n_frames) < 2.2


def test_an_auto_window_has_a_margin_over_the_expected_duration() -> None:
    found = window(SENTENCE)
    assert found.n_frames % 4 == 0
    assert 1.35 * 3.5 < seconds(found.n_frames) < 1.35 * 5.0 + 1.5


def test_a_window_is_never_longer_than_the_model_was_trained_on() -> None:
    assert window(SENTENCE * 40).n_frames == 640


def test_the_usual_length_holds_only_where_nothing_is_said() -> None:
    assert window(usual="full") == Window(640, "full")
    assert window(length="full").n_frames == 640
    assert window(usual="full", length="auto").length == "auto"
    assert window(sequence_length=37) == Window(37, "full")


def test_blocks_say_themselves_how_much_is_made() -> None:
    found = window(block_sizes="32,128,480", block_steps="8,15,20")
    assert found == Window(640, None, (32, 128, 480), (8, 15, 20))
    assert window(block_sizes="32,32", num_steps=9).block_steps == (9, 9)


@pytest.mark.parametrize("sizes", ["33", "32,30", "1"])
def test_blocks_that_fill_no_whole_patches_are_refused(sizes: str) -> None:
    with pytest.raises(InvalidValueError, match="multiple of 4") as caught:
        window(block_sizes=sizes)
    assert caught.value.param == "block_sizes"


def test_a_window_that_goes_on_from_other_latents_is_one_block_in_the_room_that_is_left() -> None:
    found = window(SENTENCE * 3, n_before=300)
    assert found.n_frames == 340
    assert found.block_sizes == (340,)
    assert found.block_steps == (40,)
    short = window(n_before=300, sequence_length=37, num_steps=7)
    assert short == Window(40, "full", (40,), (7,))


def test_the_least_frames_of_a_text_are_those_without_a_margin() -> None:
    assert least_frames("Hi!", RATE) == 44
    assert 44 < least_frames(SENTENCE, RATE) < window(SENTENCE).n_frames
