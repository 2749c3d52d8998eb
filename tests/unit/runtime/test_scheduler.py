"""The loop, proved with the tone engine: order, joining, leaving, words, failures, cancelling."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from menura.engines.contract import Delivery, FinishReason, NoiseSource, Prompt, RowStep
from menura.errors import MenuraError, NoAudioError, NumericsError, UnsupportedError
from menura.runtime.scheduler import Delivered, Job, Jobs, run
from menura.speech import Manner, SpeechRequest, validate
from tests.tone.engine import FRAME, ToneDecoder, ToneEngine, ToneOptions, heard_hz, tone_hz

ENGINE = ToneEngine()
EACH_FRAME = Delivery(1, 1)


def manner(**options: object) -> Manner:
    return validate(SpeechRequest("x", options={"frames_per_word": 1} | options), ENGINE.spec)


def jobs_for(
    segments: list[str | None],
    delivery: Delivery = EACH_FRAME,
    seed: int = 2,
    retries: int = 0,
    **options: object,
) -> list[Job]:
    """The attempt k at segment i draws from the seed `seed + 2 * i + k`."""
    how = manner(**options)
    return [
        Job(
            index,
            partial(ENGINE.build_prompt, text, how),
            partial(noise, seed + 2 * index),
            delivery,
            retries,
        )
        for index, text in enumerate(segments)
    ]


def noise(seed: int, attempt: int) -> NoiseSource:
    return ENGINE.noise(seed + attempt)


def heard(delivered: list[Delivered], request: int) -> list[int]:
    pieces = [d.step.samples for d in delivered if d.request == request]
    return heard_hz(np.concatenate([piece for piece in pieces if piece is not None]))


def tones(text: str) -> list[int]:
    return [tone_hz(word) for word in text.split()]


def free_at_the_end(decoder: ToneDecoder) -> bool:
    return len(decoder.free_rows) == len(decoder._rows)


def test_segments_leave_in_order_although_they_run_together() -> None:
    jobs = Jobs()
    jobs.submit(jobs_for(["one two three four five", "six", "seven eight"]))
    decoder = ToneDecoder(3)
    delivered = list(run(decoder, jobs))
    assert [d.segment for d in delivered] == sorted(d.segment for d in delivered)
    assert heard(delivered, 0) == tones("one two three four five six seven eight")
    assert decoder.n_steps == 6  # the longest segment's five frames, and its end
    assert free_at_the_end(decoder)


def test_one_row_gives_what_many_rows_give() -> None:
    texts: list[str | None] = ["a b c", "d", "e f", "g h i j", "k"]
    results = []
    for rows in (1, 2, 5):
        jobs = Jobs()
        jobs.submit(jobs_for(texts))
        steps = [d.step.samples for d in run(ToneDecoder(rows), jobs)]
        results.append(np.concatenate([samples for samples in steps if samples is not None]))
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


def test_no_segment_starts_further_ahead_than_allowed() -> None:
    jobs = Jobs(ahead=1)
    jobs.submit(jobs_for(["a a a a a a", "b", "c", "d"]))
    decoder = ToneDecoder(4)
    loop = run(decoder, jobs)
    next(loop)
    assert len(decoder.free_rows) == 2


def test_in_turn_a_segment_starts_when_the_one_before_has_left() -> None:
    jobs = Jobs()
    jobs.submit(jobs_for(["a b", "c", "d e"]), in_turn=True)
    decoder = ToneDecoder(3)
    delivered = list(run(decoder, jobs))
    assert heard(delivered, 0) == tones("a b c d e")
    assert decoder.n_steps == 3 + 2 + 3  # each segment's frames and its end, none at one time
    assert free_at_the_end(decoder)


def test_news_of_a_row_leave_at_once_whatever_its_place() -> None:
    jobs = Jobs()
    jobs.submit(jobs_for(["a b c d e f", "TOIL"]))
    delivered = list(run(ToneDecoder(2), jobs))
    news = [(d.segment, d.step.done) for d in delivered if d.step.is_news]
    assert news == [(1, 0.25), (1, 0.5), (1, 0.75)]
    heard_of = [d.segment for d in delivered if not d.step.is_news]
    assert heard_of == sorted(heard_of)
    assert [d.segment for d in delivered][:2] == [0, 1]
    assert heard(delivered, 0) == tones("a b c d e f TOIL")


def test_requests_share_the_rows_evenly() -> None:
    jobs = Jobs()
    jobs.submit(jobs_for(["a a a", "a a a", "a a a", "a a a"]))
    jobs.submit(jobs_for(["b"]))
    decoder = ToneDecoder(2)
    first = next(d for d in run(decoder, jobs) if d.request == 1)
    assert first.step.samples is not None
    assert decoder.n_steps == 1  # the second request did not wait for the first one's segments


def test_a_request_joins_while_another_is_spoken() -> None:
    jobs = Jobs()
    jobs.submit(jobs_for(["a b c d e f"]))
    decoder = ToneDecoder(2)
    delivered = []
    for count, item in enumerate(run(decoder, jobs)):
        delivered.append(item)
        if count == 1:
            jobs.submit(jobs_for(["x y"]))
    assert heard(delivered, 0) == tones("a b c d e f")
    assert heard(delivered, 1) == tones("x y")
    assert [d.request for d in delivered].index(1) < len(delivered) - 3
    assert decoder.n_steps == 7


@pytest.mark.parametrize("n_before", range(8))
def test_closing_the_loop_frees_every_row_at_every_point(n_before: int) -> None:
    jobs = Jobs()
    jobs.submit(jobs_for(["a b c", "d ENDLESS"]))
    decoder = ToneDecoder(2)
    loop = run(decoder, jobs)
    for _ in range(n_before):
        next(loop)
    loop.close()
    assert free_at_the_end(decoder)


@pytest.mark.parametrize("n_before", range(1, 5))
def test_a_cancelled_request_leaves_within_one_step_and_the_other_goes_on(n_before: int) -> None:
    jobs = Jobs()
    cancelled = jobs.submit(jobs_for(["a ENDLESS", "b ENDLESS"]))
    other = jobs.submit(jobs_for(["x y z u v w"]))
    decoder = ToneDecoder(3)
    delivered = []
    loop = run(decoder, jobs)
    for count, item in enumerate(loop, start=1):
        delivered.append(item)
        if count == n_before:
            jobs.cancel(cancelled)
            steps_then = decoder.n_steps
        if count > n_before:
            assert item.request == other
            if decoder.n_steps > steps_then + 1:
                assert len(decoder.free_rows) >= 2
    assert heard(delivered, other) == tones("x y z u v w")
    assert free_at_the_end(decoder)


@pytest.mark.parametrize(
    ("word", "error"),
    [
        ("FAIL", MenuraError),
        ("NAN", NumericsError),
        ("SILENT", NoAudioError),
        ("REFUSED", UnsupportedError),
    ],
)
def test_one_rows_failure_ends_its_request_only(word: str, error: type[MenuraError]) -> None:
    jobs = Jobs()
    bad = jobs.submit(jobs_for([word, "never heard"]))
    good = jobs.submit(jobs_for(["x y z"]))
    decoder = ToneDecoder(3)
    delivered = list(run(decoder, jobs))
    [failure] = [d.step for d in delivered if d.request == bad]
    assert failure.finish is FinishReason.ERROR
    assert type(failure.error) is error
    assert heard(delivered, good) == tones("x y z")
    assert free_at_the_end(decoder)


def test_a_failure_waits_for_its_turn_so_that_earlier_audio_is_not_lost() -> None:
    jobs = Jobs()
    jobs.submit(jobs_for(["a b c d", "FAIL", "e"]))
    delivered = list(run(ToneDecoder(3), jobs))
    assert heard(delivered[:-1], 0) == tones("a b c d")
    assert delivered[-1].segment == 1
    assert delivered[-1].step.finish is FinishReason.ERROR


def test_an_error_of_the_whole_step_reaches_the_caller_and_frees_the_rows() -> None:
    jobs = Jobs()
    jobs.submit(jobs_for(["a CRASH", "b"]))
    decoder = ToneDecoder(2)
    with pytest.raises(RuntimeError, match="crashed"):
        list(run(decoder, jobs))
    assert free_at_the_end(decoder)


def test_a_limit_is_reported_as_such() -> None:
    jobs = Jobs()
    jobs.submit(jobs_for(["a b LIMIT c"]))
    delivered = list(run(ToneDecoder(1), jobs))
    assert heard(delivered, 0) == tones("a b")
    assert delivered[-1].step.finish is FinishReason.LENGTH


def test_a_slow_row_does_not_hold_up_its_neighbour() -> None:
    jobs = Jobs()
    jobs.submit(jobs_for(["DELAY"]))
    fast = jobs.submit(jobs_for(["x y z"]))
    order = [d.request for d in run(ToneDecoder(2), jobs)]
    assert order[:3] == [fast, fast, fast]


def test_words_are_pulled_only_when_no_row_can_move() -> None:
    pulled: list[str] = []

    def words() -> Iterator[str]:
        for piece in ("one two ", "three ", "four"):
            pulled.append(piece)
            yield piece

    jobs = Jobs()
    jobs.submit(jobs_for([None]), words())
    loop = run(ToneDecoder(1), jobs)
    next(loop)
    assert pulled == ["one two "]
    next(loop)
    assert pulled == ["one two "]
    next(loop)
    assert pulled == ["one two ", "three "]
    assert len(list(loop)) == 2  # the fourth word, and the end
    assert pulled == ["one two ", "three ", "four"]


def test_an_error_of_the_words_reaches_the_caller_and_frees_the_row() -> None:
    def words() -> Iterator[str]:
        yield "one "
        raise ConnectionError("the language model went away")

    jobs = Jobs()
    jobs.submit(jobs_for([None]), words())
    decoder = ToneDecoder(1)
    with pytest.raises(ConnectionError):
        list(run(decoder, jobs))
    assert free_at_the_end(decoder)


def test_a_decoder_that_loses_a_row_is_an_error_and_not_a_hang() -> None:
    class Losing(ToneDecoder):
        @property
        def live(self) -> int:
            return 0

        def step(self) -> list[RowStep]:
            return []

    jobs = Jobs()
    jobs.submit(jobs_for(["a"]))
    with pytest.raises(MenuraError, match="no row can move"):
        list(run(Losing(1), jobs))


def test_whole_delivery_gives_the_same_samples_in_one_piece() -> None:
    pieces = []
    for delivery in (Delivery(), Delivery(1, 1), Delivery(2, 3)):
        jobs = Jobs()
        jobs.submit(jobs_for(["a b c d e f g"], delivery))
        pieces.append([d.step.samples for d in run(ToneDecoder(1), jobs)])
    whole, single, chunked = ([s for s in group if s is not None] for group in pieces)
    assert [len(samples) // FRAME for samples in whole] == [7]
    assert [len(samples) // FRAME for samples in single] == [1] * 7
    assert [len(samples) // FRAME for samples in chunked] == [2, 3, 2]
    assert np.array_equal(whole[0], np.concatenate(single))
    assert np.array_equal(whole[0], np.concatenate(chunked))


def test_a_prompt_is_built_only_when_its_row_is_free() -> None:
    built: list[int] = []

    def build(index: int) -> Prompt:
        built.append(index)
        return ENGINE.build_prompt("a b c", manner())

    jobs = Jobs()
    draws = partial(noise, 1)
    jobs.submit([Job(index, partial(build, index), draws, EACH_FRAME) for index in range(5)])
    loop = run(ToneDecoder(1), jobs)
    next(loop)
    assert built == [0]
    assert isinstance(manner().options, ToneOptions)
    loop.close()


def spoken(
    segments: list[str | None], delivery: Delivery, seed: int, retries: int = 1, rows: int = 1
) -> list[Delivered]:
    jobs = Jobs()
    jobs.submit(jobs_for(segments, delivery, seed, retries))
    decoder = ToneDecoder(rows)
    delivered = list(run(decoder, jobs))
    assert free_at_the_end(decoder)
    return delivered


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("UNLUCKY", "it reached a limit"),
        ("UNSOUND", "segment 0: the model gave samples that are not numbers."),
        ("MUTE", "segment 0: the model gave no audio."),
    ],
)
def test_a_segment_that_went_wrong_is_drawn_again(word: str, reason: str) -> None:
    unlucky = spoken([f"a {word} b"], Delivery(), seed=1)
    lucky = spoken([f"a {word} b"], Delivery(), seed=2)
    assert [d.step.finish for d in unlucky] == [FinishReason.STOP]
    assert unlucky[0].given_up == (reason,)
    assert lucky[0].given_up == ()
    samples, expected = unlucky[0].step.samples, lucky[0].step.samples
    assert samples is not None
    assert expected is not None
    assert np.array_equal(samples, expected)


@pytest.mark.parametrize(("seed", "retries"), [(1, 0), (2, 0), (2, 5)])
def test_nothing_is_drawn_again_without_need_or_leave(seed: int, retries: int) -> None:
    [delivered] = spoken(["a UNLUCKY"], Delivery(), seed, retries)
    assert delivered.step.finish is (FinishReason.LENGTH if seed % 2 else FinishReason.STOP)
    assert delivered.given_up == ()


@pytest.mark.parametrize("word", ["LIMIT", "NAN"])
def test_the_last_attempt_counts_however_it_ends(word: str) -> None:
    [delivered] = spoken([f"a {word}"], Delivery(), seed=1, retries=3)
    assert delivered.step.finish in (FinishReason.LENGTH, FinishReason.ERROR)
    assert len(delivered.given_up) == 3


@pytest.mark.parametrize("word", ["FAIL", "REFUSED"])
def test_what_no_draw_can_mend_is_not_drawn_again(word: str) -> None:
    [delivered] = spoken([word], Delivery(), seed=1, retries=3)
    assert delivered.step.finish is FinishReason.ERROR
    assert delivered.given_up == ()


def test_what_has_left_is_not_drawn_again() -> None:
    delivered = spoken(["a UNLUCKY b"], EACH_FRAME, seed=1)
    assert heard(delivered, 0) == tones("a")
    assert delivered[-1].step.finish is FinishReason.LENGTH
    assert delivered[-1].given_up == ()


def test_before_its_first_sample_left_a_stream_is_drawn_again() -> None:
    delivered = spoken(["UNLUCKY a"], EACH_FRAME, seed=1)
    assert heard(delivered, 0) == tones("UNLUCKY a")
    assert all(d.given_up == ("segment 0: the model gave no audio.",) for d in delivered)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_segment_that_ran_ahead_is_drawn_again_and_keeps_its_place(rows: int) -> None:
    jobs = Jobs()
    first, second, third = jobs_for(["a a a a a", "b UNLUCKY b", "c"], EACH_FRAME, 2, retries=1)
    second = replace(second, noise=partial(noise, 1))
    jobs.submit([first, second, third])
    decoder = ToneDecoder(rows)
    delivered = list(run(decoder, jobs))
    assert [d.segment for d in delivered] == sorted(d.segment for d in delivered)
    # With one row it is the next to leave, so its first word has left when the second fails.
    again = "b UNLUCKY b" if rows > 1 else "b"
    assert heard(delivered, 0) == tones(f"a a a a a {again} c")
    assert {d.segment for d in delivered if d.given_up} == ({1} if rows > 1 else set())
    assert free_at_the_end(decoder)


@pytest.mark.parametrize("seeds", [(1, 2), (1, 3, 2)])
def test_words_are_given_again_to_each_new_attempt(seeds: tuple[int, ...]) -> None:
    [job] = jobs_for([None], Delivery(), retries=2)
    job = replace(job, noise=lambda attempt: ENGINE.noise(seeds[attempt]))
    jobs = Jobs()
    jobs.submit([job], iter(["one ", "two UNLUCKY ", "three"]))
    delivered = list(run(ToneDecoder(1), jobs))
    assert heard(delivered, 0) == tones("one two UNLUCKY three")
    assert delivered[-1].step.finish is FinishReason.STOP
    assert len(delivered[-1].given_up) == len(seeds) - 1


def test_samples_of_an_earlier_attempt_are_not_counted_for_a_silent_one() -> None:
    [delivered] = spoken(["MUTE LIMIT"], Delivery(), seed=2)
    assert delivered.given_up == ("it reached a limit",)
    assert isinstance(delivered.step.error, NoAudioError)


@pytest.mark.parametrize("n_before", range(1, 4))
def test_a_request_cancelled_between_attempts_is_gone(n_before: int) -> None:
    jobs = Jobs()
    cancelled = jobs.submit(jobs_for(["a LIMIT"], Delivery(), 1, retries=1000))
    other = jobs.submit(jobs_for(["x y z"]))
    decoder = ToneDecoder(2)
    delivered = []
    for count, item in enumerate(run(decoder, jobs), start=1):
        delivered.append(item)
        if count == n_before:
            jobs.cancel(cancelled)
    assert {d.request for d in delivered} == {other}
    assert heard(delivered, other) == tones("x y z")
    assert free_at_the_end(decoder)
