"""Requests, words and cancels that arrive while the loop runs, proved with the tone engine."""

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest

from menura.engines.contract import (
    Delivery,
    EndOfText,
    FinishReason,
    NoiseSource,
    RowStep,
    Words,
)
from menura.errors import MenuraError
from menura.runtime.scheduler import ARRIVED, Delivered, Job, Jobs, run
from menura.speech import Manner, SpeechRequest, validate
from tests.tone.engine import ToneDecoder, ToneEngine, heard_hz, tone_hz

ENGINE = ToneEngine()
EACH_FRAME = Delivery(1, 1)

Errand = Callable[[Jobs], object]


class Script:
    """Arrivals that come at given looks, counted from 0; a blocking look brings the next one."""

    def __init__(self, *errands: tuple[int, Errand], tells: bool = False) -> None:
        self.open = True
        self.n_looks = 0
        self.n_blocked = 0
        self._errands = deque(errands)
        self._tells = tells

    def take_in(self, jobs: Jobs, *, wait: bool) -> bool:
        is_due = bool(self._errands) and (wait or self._errands[0][0] <= self.n_looks)
        self.n_blocked += wait
        self.n_looks += 1
        if is_due:
            self._errands.popleft()[1](jobs)
        elif wait:
            self.open = False
        return is_due and self._tells


def manner(**options: object) -> Manner:
    return validate(SpeechRequest("x", options={"frames_per_word": 1} | options), ENGINE.spec)


def jobs_for(segments: list[str | None], retries: int = 0, seed: int = 2) -> list[Job]:
    how = manner()
    return [
        Job(
            index,
            partial(ENGINE.build_prompt, text, how),
            partial(noise, seed + 2 * index),
            EACH_FRAME,
            retries,
        )
        for index, text in enumerate(segments)
    ]


def noise(seed: int, attempt: int) -> NoiseSource:
    return ENGINE.noise(seed + attempt)


def submit(*segments: str | None, hears: bool = False, in_turn: bool = False) -> Errand:
    return lambda jobs: jobs.submit(jobs_for(list(segments)), hears=hears, in_turn=in_turn)


def say(request: int, *texts: str, ends: bool = False) -> Errand:
    def errand(jobs: Jobs) -> None:
        for text in texts:
            jobs.say(request, Words(text))
        if ends:
            jobs.say(request, EndOfText())

    return errand


def heard(delivered: list[Delivered], request: int) -> list[int]:
    pieces = [d.step.samples for d in delivered if d.request == request]
    return heard_hz(np.concatenate([piece for piece in pieces if piece is not None]))


def tones(text: str) -> list[int]:
    return [tone_hz(word) for word in text.split()]


def free_at_the_end(decoder: ToneDecoder) -> bool:
    return len(decoder.free_rows) == len(decoder._rows)


def test_requests_that_arrive_join_between_two_steps() -> None:
    script = Script((0, submit("a b c d e f")), (2, submit("x y")), (3, submit("u")))
    decoder = ToneDecoder(3)
    delivered = list(run(decoder, Jobs(arrivals=script)))
    assert heard(delivered, 0) == tones("a b c d e f")
    assert heard(delivered, 1) == tones("x y")
    assert heard(delivered, 2) == tones("u")
    order = [d.request for d in delivered]
    assert order[:4] == [0, 0, 0, 1]  # at the first one's third step
    assert free_at_the_end(decoder)


def test_the_loop_goes_on_while_more_may_come_and_blocks_for_it() -> None:
    script = Script((0, submit("a")), (99, submit("b")), (99, submit("c")))
    decoder = ToneDecoder(1)
    delivered = list(run(decoder, Jobs(arrivals=script)))
    assert [heard(delivered, request) for request in range(3)] == [*map(tones, "abc")]
    assert script.n_blocked == 3 + 2  # each that came, and the end, which blocks nobody
    assert decoder.n_steps == 6 + 1  # two for each word, and a harmless one after the end


def test_what_is_worth_telling_comes_out_of_the_loop_at_once() -> None:
    script = Script((0, lambda _: None), (0, submit("a")), tells=True)
    decoder = ToneDecoder(1)
    loop = run(decoder, Jobs(arrivals=script))
    assert next(loop) is ARRIVED
    assert decoder.n_steps == 0
    assert next(loop) is ARRIVED
    assert next(loop).request == 0


@pytest.mark.parametrize("n_before", range(1, 4))
def test_a_cancel_that_arrives_frees_the_row_before_the_next_step(n_before: int) -> None:
    script = Script((0, submit("ENDLESS", "ENDLESS")), (n_before, lambda jobs: jobs.cancel(0)))
    decoder = ToneDecoder(2)
    delivered = list(run(decoder, Jobs(arrivals=script)))
    assert len(delivered) == n_before
    assert decoder.n_steps == n_before + 1  # the last one moves no row
    assert free_at_the_end(decoder)


def test_a_cancel_frees_a_row_that_gives_nothing_step_after_step() -> None:
    jobs = [
        Job(
            0,
            partial(ENGINE.build_prompt, "ENDLESS", manner()),
            lambda _: ENGINE.noise(1),
            Delivery(),
        )
    ]
    script = Script((0, lambda j: j.submit(jobs)), (5, lambda j: j.cancel(0)), (6, submit("x")))
    decoder = ToneDecoder(1)
    delivered = list(run(decoder, Jobs(arrivals=script)))
    assert heard(delivered, 1) == tones("x")
    assert decoder.n_steps < 10


def test_pushed_words_are_spoken_as_they_come() -> None:
    script = Script(
        (0, submit(None, hears=True)),
        (9, say(0, "one ", "two ")),
        (99, say(0, "three")),
        (99, say(0, ends=True)),
    )
    decoder = ToneDecoder(1)
    delivered = list(run(decoder, Jobs(arrivals=script)))
    assert heard(delivered, 0) == tones("one two three")
    assert delivered[-1].step.finish is FinishReason.STOP


def test_a_row_that_waits_for_words_does_not_hold_up_its_neighbour() -> None:
    script = Script(
        (0, submit(None, hears=True)), (1, submit("x y z")), (99, say(0, "one", ends=True))
    )
    delivered = list(run(ToneDecoder(2), Jobs(arrivals=script)))
    assert [d.request for d in delivered[:3]] == [1, 1, 1]
    assert heard(delivered, 0) == tones("one")


def test_pushed_words_are_given_again_to_a_new_attempt() -> None:
    def errand(jobs: Jobs) -> None:
        [job] = jobs_for([None], retries=1, seed=1)
        request = jobs.submit([job], hears=True)
        say(request, "UNLUCKY ", "two", ends=True)(jobs)

    delivered = list(run(ToneDecoder(1), Jobs(arrivals=Script((0, errand)))))
    assert heard(delivered, 0) == tones("UNLUCKY two")
    assert delivered[-1].given_up == ("segment 0: the model gave no audio.",)


def test_words_for_a_request_that_is_over_are_nothing() -> None:
    script = Script((0, submit("a")), (99, say(0, "late")))
    assert heard(list(run(ToneDecoder(1), Jobs(arrivals=script))), 0) == tones("a")


def test_a_held_request_finishes_its_segment_and_begins_no_other() -> None:
    script = Script(
        (0, submit("a b", "c d", in_turn=True)),
        (1, lambda jobs: jobs.hold(0)),
        (99, submit("x")),
        (99, lambda jobs: jobs.go_on(0)),
    )
    decoder = ToneDecoder(1)
    delivered = list(run(decoder, Jobs(arrivals=script)))
    assert heard(delivered, 0) == tones("a b c d")
    order = [(d.request, d.segment) for d in delivered]
    assert order.index((1, 0)) < order.index((0, 1))
    assert free_at_the_end(decoder)


def test_hold_and_go_on_without_effect_change_nothing() -> None:
    def both(jobs: Jobs) -> None:
        jobs.hold(0)
        jobs.go_on(0)
        jobs.go_on(0)
        jobs.hold(7)
        jobs.go_on(7)

    script = Script((0, submit("a b", "c", "d e")), (1, both), (2, both))
    assert heard(list(run(ToneDecoder(2), Jobs(arrivals=script))), 0) == tones("a b c d e")


def test_requests_without_a_row_take_turns_segment_by_segment() -> None:
    jobs = Jobs()
    for text in ("a", "b", "c"):
        jobs.submit(jobs_for([text, text, text]))
    order = [d.request for d in run(ToneDecoder(1), jobs) if d.step.samples is not None]
    assert order == [0, 1, 2, 0, 1, 2, 0, 1, 2]


def test_thousands_of_requests_are_looked_at_only_in_their_turn() -> None:
    class Counting(Jobs):
        n_asked = 0

        def _may_join(self, request: int) -> bool:
            Counting.n_asked += 1
            return super()._may_join(request)

    jobs = Counting()
    for _ in range(3_000):
        jobs.submit(jobs_for(["a"]))
    delivered = list(run(ToneDecoder(4), jobs))
    assert {d.request for d in delivered} == set(range(3_000))
    assert Counting.n_asked < 10 * 3_000


def test_pulled_words_of_several_requests_take_turns() -> None:
    pulled: list[str] = []

    def words(name: str) -> Iterator[str]:
        for _ in range(3):
            pulled.append(name)
            yield f"{name} "

    jobs = Jobs()
    for name in "ab":
        jobs.submit(jobs_for([None]), words(name))
    delivered = list(run(ToneDecoder(2), jobs))
    assert pulled == ["a", "b"] * 3
    assert heard(delivered, 0) == tones("a a a")


def test_a_lost_row_is_an_error_although_more_may_arrive() -> None:
    class Losing(ToneDecoder):
        @property
        def live(self) -> int:
            return 0

        def step(self) -> list[RowStep]:
            return []

    script = Script((0, submit("a")), (99, submit("b")))
    with pytest.raises(MenuraError, match="lost a row"):
        list(run(Losing(1), Jobs(arrivals=script)))
