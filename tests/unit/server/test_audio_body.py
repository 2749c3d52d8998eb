import asyncio
import base64
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from starlette.types import Message, Scope

from menura.audio.encoders import encode_stream
from menura.audio.pcm import FloatArray
from menura.errors import (
    DeadlineError,
    InvalidValueError,
    MenuraError,
    NoAudioError,
    NumericsError,
)
from menura.server.audio_body import Speaking, SpeechAnswer
from menura.server.border.request_log import RequestNotes
from menura.server.encoding import AudioWish, SpeechEncoder
from menura.server.models.clock import Clock, LoopClock
from menura.server.models.performance import Begun, Chunk, Order, Performance
from menura.server.models.pool_limits import ReaderLimits
from menura.speech import FinishReason, SegmentReport, SpeechRequest
from tests.unit.audio.reference_decoders import tags_by_av, tone
from tests.unit.server.asgi_wire import Wire, post
from tests.unit.server.hand_clock import HandClock

RATE_HZ = 8_000
ORDER = Order("tone", SpeechRequest("Hello there.", instruct="slow"), "me", request_id="r-1")
APPLIED: dict[str, object] = {"model": "tone", "voice": "löw", "seed": 7}
BEGUN = Begun("tone", "löw", APPLIED, RATE_HZ, 7)
REPORT = SegmentReport("Hello there.", 0, 12, 0, 800, 7, FinishReason.STOP)
DIED = MenuraError("the model's process /somewhere/x died")


class NoReins:
    """What a performance tells its process: only that it was cancelled is of interest here."""

    def __init__(self) -> None:
        self.n_cancelled = 0
        self.are_wanted = False

    def say(self, text: str) -> None: ...
    def flush(self) -> None: ...
    def end_words(self) -> None: ...
    def hold(self) -> None: ...
    def go_on(self) -> None: ...
    async def drained(self) -> None: ...

    def cancel(self) -> None:
        self.n_cancelled += 1


class Stage:
    """A speaker whose performances do what a test's script says."""

    def __init__(
        self,
        script: Callable[[Performance], None],
        stall_s: float = 60,
        clock: Clock | None = None,
    ) -> None:
        self.reins = NoReins()
        self.n_closed = 0
        self.performance: Performance | None = None
        self._script = script
        self._stall_s = stall_s
        self._clock = clock or LoopClock()

    async def speak(self, order: Order) -> Performance:
        limits = ReaderLimits(stall_s=self._stall_s)
        on_close = self._closed
        self.performance = Performance(order, self.reins, limits, self._clock, on_close)
        self.performance.begin(BEGUN)
        self._script(self.performance)
        return self.performance

    def _closed(self) -> None:
        self.n_closed += 1


def speaks(*pieces: FloatArray, error: MenuraError | None = None) -> Callable[[Performance], None]:
    def script(performance: Performance) -> None:
        for piece in pieces:
            performance.hear(Chunk(piece, 0))
        if error is not None:
            performance.fail(error)
        else:
            performance.report(REPORT)
            performance.end(FinishReason.STOP, {**APPLIED, "tones": True})

    return script


def speaking(name: str = "wav", **changes: object) -> Speaking:
    wish = AudioWish(name, whole=bool(changes.pop("whole", False)))
    return replace(Speaking(ORDER, wish), **changes)  # type: ignore[arg-type]  # a test's words


def noted(notes: RequestNotes) -> Scope:
    """A request as the application's gate hands it on."""
    scope = post("/", {})
    scope["state"] = {"notes": notes}
    return scope


def answered(stage: Stage, what: Speaking, wire: Wire | None = None) -> tuple[Wire, RequestNotes]:
    """The answer that a client has got, and what the request log will say."""
    wire = wire or Wire()
    notes = RequestNotes("r-1", "POST")
    scope = noted(notes)

    async def run() -> None:
        await wire.receive()
        await SpeechAnswer(stage, what)(scope, wire.receive, wire.send)

    try:
        asyncio.run(run())
    finally:
        assert stage.n_closed == (stage.performance is not None)
    return wire, notes


SECOND = tone(RATE_HZ, RATE_HZ)
PIECES = np.array_split(SECOND, 5)


@pytest.mark.parametrize("name", ["mp3", "opus", "aac", "flac", "wav"])
def test_a_streamed_answer_is_one_encoder_s_bytes_sent_as_they_come(name: str) -> None:
    wire, notes = answered(Stage(speaks(*PIECES)), speaking(name))
    expected = list(encode_stream(PIECES, name, RATE_HZ))
    assert wire.status == 200
    assert wire.is_complete
    assert len(wire.pieces) > 2
    untagged = speaking(name, mark=False)
    assert len(wire.body) > len(b"".join(expected)) or name == "aac"  # the mark
    body = answered(Stage(speaks(*PIECES)), untagged)[0].body
    assert body.endswith(expected[-1])
    assert (notes.model, notes.characters, notes.audio_s) == ("tone", 16, 1.0)
    assert notes.finish == "stop"
    assert notes.first_audio_s is not None


def test_the_headers_say_what_is_really_spoken() -> None:
    applied = {**APPLIED, "ignored": {"instruct": "it cannot", "language": "it cannot"}}

    def script(performance: Performance) -> None:
        performance.begin(replace(BEGUN, applied=applied))
        speaks(SECOND)(performance)

    what = speaking("mp3", ignored=("user", "x\r\ny: 1"))
    wire, _ = answered(Stage(script), what)
    assert wire.headers == {
        "content-type": "audio/mpeg",
        "x-accel-buffering": "no",
        "x-sample-rate": "8000",
        "x-seed": "7",
        "x-model": "tone",
        "x-voice": "l%C3%B6w",
        "x-menura-ignored": "user, x%0D%0Ay:%201, instructions, language",
    }


def test_pcm_says_its_own_rate() -> None:
    wire, _ = answered(Stage(speaks(SECOND)), speaking("pcm"))
    assert wire.headers["x-sample-rate"] == "24000"
    assert len(wire.body) == 2 * 24_000


@pytest.mark.parametrize("name", ["mp3", "opus", "aac", "flac", "wav", "pcm", "f32"])
def test_a_whole_file_has_its_length_and_how_it_ended(name: str) -> None:
    wire, _ = answered(Stage(speaks(*PIECES)), speaking(name, whole=True))
    assert int(wire.headers["content-length"]) == len(wire.body)
    assert wire.headers["x-finish"] == "stop"
    assert "x-accel-buffering" not in wire.headers
    assert wire.is_complete


def test_a_file_says_that_its_speech_is_synthetic() -> None:
    wire, _ = answered(Stage(speaks(SECOND)), speaking("flac"))
    assert "synthetic=1" in tags_by_av(wire.body)["comment"]
    wire, _ = answered(Stage(speaks(SECOND)), speaking("flac", mark=False))
    assert "synthetic" not in str(tags_by_av(wire.body))


@pytest.mark.parametrize("name", ["mp3", "wav", "pcm"])
def test_events_carry_the_same_bytes_and_end_with_the_usage(name: str) -> None:
    wire, _ = answered(Stage(speaks(*PIECES)), speaking(name, as_events=True))
    *deltas, done = wire.events
    assert wire.headers["content-type"] == "text/event-stream"
    assert {str(delta["type"]) for delta in deltas} == {"speech.audio.delta"}
    audio = b"".join(base64.b64decode(str(delta["audio"])) for delta in deltas)
    assert audio == answered(Stage(speaks(*PIECES)), speaking(name))[0].body
    assert done["type"] == "speech.audio.done"
    assert done["usage"] == {"input_tokens": 16, "output_tokens": 100, "total_tokens": 116}
    assert done["menura"] == {
        "finish": "stop",
        "model": "tone",
        "voice": "löw",
        "seed": 7,
        "sample_rate_hz": 24_000 if name == "pcm" else RATE_HZ,
        "seconds": 1.0,
        "ignored": [],
        "applied": {**APPLIED, "tones": True},
        "segments": [
            {
                "text": "Hello there.",
                "start": 0,
                "end": 12,
                "sample_start": 0,
                "sample_end": 800,
                "seed": 7,
                "finish": "stop",
                "reason": "",
                "trimmed_s": 0.0,
            }
        ],
    }


def test_a_client_of_http_1_0_gets_a_file_whose_length_shows_what_is_missing() -> None:
    wire, notes = Wire(), RequestNotes("r-1", "POST")
    scope = {**noted(notes), "http_version": "1.0"}

    async def run() -> None:
        await wire.receive()
        await SpeechAnswer(Stage(speaks(*PIECES)), speaking("wav"))(scope, wire.receive, wire.send)

    asyncio.run(run())
    assert wire.headers["content-length"] == str(len(wire.body))
    assert int.from_bytes(wire.body[4:8], "little") == len(wire.body) - 8


@pytest.mark.parametrize("whole", [False, True])
def test_events_of_floats_begin_with_what_is_applied(whole: bool) -> None:
    what = speaking("f32", as_events=True, whole=whole)
    wire, _ = answered(Stage(speaks(*[SECOND] * 5)), what)
    first, *deltas, _ = wire.events
    assert first == {"type": "menura.begun", "applied": APPLIED, "sample_rate_hz": RATE_HZ}
    audio = b"".join(base64.b64decode(str(delta["audio"])) for delta in deltas)
    assert audio == SECOND.tobytes() * 5
    assert "content-length" not in wire.headers


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("as_events", [False, True])
@pytest.mark.parametrize("name", ["mp3", "wav"])
def test_what_fails_before_the_first_bytes_is_raised_and_nothing_is_sent(
    name: str, as_events: bool, whole: bool
) -> None:
    wire = Wire()
    pieces = PIECES if whole and not as_events else [SECOND[:10]] if name == "mp3" else []
    stage = Stage(speaks(*pieces, error=DIED))
    with pytest.raises(MenuraError) as raised:
        answered(stage, speaking(name, as_events=as_events, whole=whole), wire)
    assert raised.value is DIED
    assert not wire.has_begun


def test_what_fails_after_the_first_bytes_cuts_the_answer_without_an_end() -> None:
    wire = Wire()
    with pytest.raises(MenuraError) as raised:
        answered(Stage(speaks(SECOND, error=DIED)), speaking("wav"), wire)
    assert raised.value is DIED
    assert wire.status == 200
    assert wire.body
    assert not wire.is_complete


def test_events_tell_the_error_in_general_words_and_are_cut_then() -> None:
    wire = Wire()
    with pytest.raises(MenuraError) as raised:
        answered(Stage(speaks(SECOND, error=DIED)), speaking("wav", as_events=True), wire)
    assert raised.value is DIED
    *_, last = wire.events
    assert last["type"] == "error"
    assert isinstance(last["error"], dict)
    assert last["error"].keys() == {"message", "type", "param", "code"}
    assert last["error"]["code"] == "failure"
    assert "r-1" in last["error"]["message"]
    assert "/somewhere" not in last["error"]["message"]
    assert not wire.is_complete


def test_samples_that_are_no_numbers_cut_the_answer_too() -> None:
    wire = Wire()
    nan = np.full(800, np.nan, np.float32)
    with pytest.raises(NumericsError):
        answered(Stage(speaks(SECOND, nan)), speaking("wav"), wire)
    assert not wire.is_complete


def test_a_speech_without_a_sample_is_an_error_and_no_empty_file() -> None:
    wire = Wire()
    with pytest.raises(NoAudioError):
        answered(Stage(speaks()), speaking("wav"), wire)
    assert not wire.has_begun


def test_a_speech_that_was_stopped_never_looks_complete() -> None:
    def script(performance: Performance) -> None:
        performance.hear(Chunk(SECOND, 0))
        performance.end(FinishReason.CANCELLED, APPLIED)

    wire = Wire()
    with pytest.raises(MenuraError, match="ended before its end: cancelled"):
        answered(Stage(script), speaking("wav"), wire)
    assert not wire.is_complete


def test_a_speech_that_ended_at_a_limit_is_complete_and_says_so() -> None:
    def script(performance: Performance) -> None:
        performance.hear(Chunk(SECOND, 0))
        performance.end(FinishReason.LENGTH, APPLIED)

    wire, notes = answered(Stage(script), speaking("wav", whole=True))
    assert wire.headers["x-finish"] == "length"
    assert notes.finish == "length"


def test_an_order_that_cannot_be_spoken_is_raised() -> None:
    class Refuses(Stage):
        async def speak(self, order: Order) -> Performance:
            raise InvalidValueError("no.", param="seed")

    wire = Wire()
    with pytest.raises(InvalidValueError) as no:
        answered(Refuses(speaks()), speaking(), wire)
    assert no.value.param == "seed"
    assert not wire.has_begun


@pytest.mark.parametrize(
    ("param", "field"),
    [
        ("text", "input"),
        ("instruct", "instructions"),
        ("seed", "seed"),
        ("top_k", "options.top_k"),
        (None, None),
    ],
)
def test_errors_name_the_field_as_the_client_does(param: str | None, field: str | None) -> None:
    refused = InvalidValueError("no.", param=param)
    with pytest.raises(InvalidValueError) as no:
        answered(Stage(speaks(error=refused)), speaking())
    assert no.value.param == field
    wire = Wire()
    late = Stage(speaks(SECOND, error=InvalidValueError("no.", param=param)))
    with pytest.raises(InvalidValueError):
        answered(late, speaking(as_events=True), wire)
    told = wire.events[-1]["error"]
    assert isinstance(told, dict)
    assert told["param"] == field


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> list[SpeechEncoder]:
    """The encoders that were released, in that order."""
    found: list[SpeechEncoder] = []
    discard = SpeechEncoder.discard

    def noted_discard(encoder: SpeechEncoder) -> None:
        found.append(encoder)
        discard(encoder)

    monkeypatch.setattr(SpeechEncoder, "discard", noted_discard)
    return found


def test_the_encoder_is_released_however_it_ends(released: list[SpeechEncoder]) -> None:
    answered(Stage(speaks(SECOND)), speaking("mp3"))
    assert len(released) == 1
    with pytest.raises(MenuraError):
        answered(Stage(speaks(SECOND, error=DIED)), speaking("mp3"))
    assert len(released) == 2
    hang_up_after(1, "wav", as_events=False)
    assert len(released) == 3


def test_a_client_that_leaves_with_the_last_byte_has_had_a_complete_answer() -> None:
    class Leaves(Wire):
        async def send(self, message: Message) -> None:
            await super().send(message)
            if self.is_complete:
                self.hang_up()
                await asyncio.sleep(0)
                await asyncio.sleep(0)

    wire, notes = answered(Stage(speaks(SECOND)), speaking("wav"), Leaves())
    assert wire.is_complete
    assert notes.finish == "stop"


def hang_up_after(n_pieces: int, name: str, *, as_events: bool) -> tuple[Wire, Stage, RequestNotes]:
    """A client that goes when it has so many pieces of a speech that never ends."""
    wire = Wire()
    notes = RequestNotes("r-1", "POST")

    def endless(performance: Performance) -> None:
        for piece in PIECES[:n_pieces]:
            performance.hear(Chunk(piece, 0))

    stage = Stage(endless)

    async def run() -> int:
        await wire.receive()
        scope = noted(notes)
        answer = SpeechAnswer(stage, speaking(name, as_events=as_events))
        task = asyncio.create_task(answer(scope, wire.receive, wire.send))
        await wire.until(lambda wire: len(wire.pieces) >= n_pieces) if n_pieces else None
        wire.hang_up()
        await task
        return len(asyncio.all_tasks())

    assert asyncio.run(run()) == 1
    return wire, stage, notes


@pytest.mark.parametrize("as_events", [False, True])
@pytest.mark.parametrize("n_pieces", [0, 1, 4])
def test_a_client_that_hangs_up_ends_the_work(n_pieces: int, as_events: bool) -> None:
    wire, stage, notes = hang_up_after(n_pieces, "wav", as_events=as_events)
    assert stage.reins.n_cancelled == 1
    assert stage.n_closed == 1
    assert not wire.is_complete
    assert notes.finish == "cancelled"


def test_a_client_that_hangs_up_leaves_the_queue() -> None:
    class Full(Stage):
        was_left = False

        async def speak(self, order: Order) -> Performance:
            try:
                await asyncio.Event().wait()
                raise AssertionError
            except asyncio.CancelledError:
                self.was_left = True
                raise

    wire, stage = Wire(), Full(speaks())

    async def run() -> None:
        await wire.receive()
        scope = noted(RequestNotes("r-1", "POST"))
        task = asyncio.create_task(SpeechAnswer(stage, speaking())(scope, wire.receive, wire.send))
        await asyncio.sleep(0)
        wire.hang_up()
        await task

    asyncio.run(run())
    assert stage.was_left
    assert not wire.has_begun


@pytest.mark.parametrize("as_events", [False, True])
def test_a_client_that_takes_nothing_is_cut(as_events: bool) -> None:
    wire = Wire()
    wire.reads.clear()
    stage = Stage(speaks(*PIECES), stall_s=0.02)
    with pytest.raises(DeadlineError):
        answered(stage, speaking("wav", as_events=as_events), wire)
    assert not wire.has_begun


def test_a_client_that_takes_a_long_chunk_slowly_but_steadily_is_not_cut() -> None:
    clock = HandClock()

    class Slow(Wire):
        async def send(self, message: Message) -> None:
            clock.move(40)
            await super().send(message)

    long = np.tile(SECOND, 20)
    what = speaking("f32", as_events=True)
    wire, notes = answered(Stage(speaks(long), 60, clock), what, Slow())
    assert len(wire.events) > 10
    assert notes.finish == "stop"


def test_two_answers_at_once_hold_their_own_audio() -> None:
    async def one(tone_hz: float) -> bytes:
        wire = Wire()
        await wire.receive()
        samples = tone(4 * RATE_HZ, RATE_HZ, tone_hz)
        scope = noted(RequestNotes("r-1", "POST"))
        stage = Stage(speaks(*np.array_split(samples, 3)))
        await SpeechAnswer(stage, speaking("f32"))(scope, wire.receive, wire.send)
        assert wire.body == samples.tobytes()
        return wire.body

    async def run() -> set[bytes]:
        return set(await asyncio.gather(*(one(200 + 10 * n) for n in range(20))))

    assert len(asyncio.run(run())) == 20
