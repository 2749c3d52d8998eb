"""The chunks of one speech as they are made, and words that come while they are spoken."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, suppress
from types import TracebackType
from typing import Self

from menura.engines.contract import Delivery, EngineSpec
from menura.errors import InvalidValueError, NothingToSpeakError
from menura.planning import SpeechPlan, check_letters
from menura.runtime.scheduler import Delivered
from menura.speech import AudioChunk, FinishReason, SegmentReport
from menura.takes import Take
from menura.text.scripts import speakable


class SpeechStream(Iterator[AudioChunk]):
    """The chunks of one speech as they are made, and what is known of it so far.

    Use it in a `with` statement, or call `close`, to stop early.
    """

    def __init__(self, take: Take, deliveries: Generator[Delivered, None, None]) -> None:
        self._take = take
        self._closed = False
        self._moves = self._run(deliveries)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> AudioChunk:
        return next(chunk for chunk in self._moves if chunk is not None)

    def moves(self) -> Iterator[AudioChunk | None]:
        """The chunks, with None for work that gives nothing to hear yet: a time to look at `done`.

        It takes from the same speech as iterating does.
        """
        return self._moves

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop: the row is free at once. What was handed out stays valid.

        From another thread than the one that iterates, the row is free after its current step.
        """
        self._closed = True
        with suppress(ValueError):  # it is running: it sees the flag before it goes on
            self._moves.close()

    @property
    def applied(self) -> dict[str, object]:
        """What is really used: seed, voice, language, options, and what was left out."""
        return self._take.applied

    @property
    def segments(self) -> tuple[SegmentReport, ...]:
        """The segments that have ended."""
        return tuple(self._take.segments)

    @property
    def finish(self) -> FinishReason:
        """How it ended; `cancelled` while it has not."""
        return self._take.finish

    @property
    def sampled_s(self) -> float:
        """About how much audio the model makes, in seconds; 0 where the words come later.

        Of a model that fills windows, it is more than what is heard of them.
        """
        return self._take.sampled_s

    @property
    def done(self) -> float:
        """The share of the work that is done, as far as the model tells it: from 0 to 1."""
        return self._take.done

    def _run(
        self, deliveries: Generator[Delivered, None, None]
    ) -> Generator[AudioChunk | None, None, None]:
        with closing(deliveries):
            for delivered in deliveries:
                if self._closed:
                    return
                chunk = self._take.add(delivered)
                if self._take.error is not None:
                    raise self._take.error
                yield chunk


def first_frame_on(planned: SpeechPlan) -> Delivery:
    """A delivery from the first frame on; engines whose chunk sizes are options name them there."""
    options = planned.manner.options
    first = getattr(options, "first_chunk_frames", 1)
    return Delivery(first, getattr(options, "chunk_frames", 4))


def check_is_words(text: object) -> None:
    """Nothing, or InvalidValueError where the text is no iterable of pieces."""
    if isinstance(text, bytes) or not isinstance(text, Iterable):
        message = f"text must be a str or an iterable of str, not {type(text).__name__}."
        raise InvalidValueError(message, param="text")


def checked_words(words: Iterable[str], spec: EngineSpec) -> Iterator[str]:
    """The words as they come. Raises: NothingToSpeakError at the end, UnsupportedError at once."""
    anything = False
    for piece in words:
        if not isinstance(piece, str):
            raise InvalidValueError(
                f"the text's pieces must be str, not {type(piece).__name__}.", param="text"
            )
        check_letters(piece, spec)
        anything = anything or speakable(piece)
        yield piece
    if not anything:
        raise NothingToSpeakError("the text came to its end without anything to speak.")
