"""A speech whose words come while it is spoken, as a live connection sees it.

The connection's reader gives words at any time, also while the order still waits for its turn; the
connection's writer takes the performance when it is there. Words that came before are kept in
order until then.
"""

from collections import deque
from collections.abc import Awaitable, Callable

from menura.errors import InvalidValueError
from menura.server.models.performance import Performance
from menura.text.scripts import speakable

_Verb = Callable[[Performance], Awaitable[None]]


class LiveSpeech:
    """The words of one speech, of at most `max_characters`, and where they are to go."""

    def __init__(self, max_characters: int) -> None:
        self.has_ended = False
        self.text = ""
        self._max_characters = max_characters
        self._performance: Performance | None = None
        self._waiting: deque[_Verb] = deque()
        self._is_giving = False
        self._flushes: deque[int] = deque()
        self._n_covered = 0
        self._n_flushed = 0

    async def say(self, text: str) -> None:
        """Give more words. Raises: InvalidValueError: there are too many, or the text has ended."""
        self._check_open()
        if len(self.text) + len(text) > self._max_characters:
            raise InvalidValueError(
                f"the text of this speech is over {self._max_characters:,} characters: "
                "speak it in several.",
                param="text",
            )
        if text:
            self.text += text
            await self._give(lambda performance: performance.say(text))

    async def flush(self) -> None:
        """Have the words so far spoken to their end, whatever follows."""
        self._check_open()
        place = len(self.text)
        if not self._flushes or self._flushes[-1] != place:
            self._flushes.append(place)
        if place > self._n_flushed:  # an order is not kept alive by flushes alone
            self._n_flushed = place
            await self._give(lambda performance: performance.flush())

    async def end(self) -> None:
        """Say that the text is complete."""
        self._check_open()
        self.has_ended = True
        await self._give(lambda performance: performance.end_words())

    async def begin(self, performance: Performance) -> None:
        """Give the performance the words that have come, and all further ones as they come."""
        self._performance = performance
        await self._give_waiting()

    @property
    def has_begun(self) -> bool:
        """Whether the performance is there, so that only words may be missing."""
        return self._performance is not None

    def cover(self, n_characters: int) -> None:
        """Note that the text is spoken up to this place (code points from its beginning)."""
        self._n_covered = max(self._n_covered, n_characters)

    def flushed(self) -> list[int]:
        """The places of the flushes before which nothing is left to speak, each given once."""
        done = []
        while self._flushes and not speakable(self.text[self._n_covered : self._flushes[0]]):
            done.append(self._flushes.popleft())
        return done

    def _check_open(self) -> None:
        if self.has_ended:
            raise InvalidValueError("the text has ended: nothing can come after its end.")

    async def _give(self, verb: _Verb) -> None:
        self._waiting.append(verb)
        await self._give_waiting()

    async def _give_waiting(self) -> None:
        """Give what waits, in order; a second caller leaves it to the first."""
        if self._performance is None or self._is_giving:
            return
        self._is_giving = True
        try:
            while self._waiting:
                await self._waiting.popleft()(self._performance)
        finally:
            self._is_giving = False
