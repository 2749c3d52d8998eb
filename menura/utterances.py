"""One utterance of a request: a plan on its way through the loop, in its place in the request."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from menura.runtime.scheduler import Delivered
from menura.speech import AudioChunk, FinishReason, SegmentReport
from menura.takes import Take


@dataclass(frozen=True)
class Place:
    """Where an utterance begins in its request, counted in segments, characters and samples."""

    segment: int = 0
    character: int = 0
    sample: int = 0


@dataclass
class Utterance:
    """One plan on its way through the loop, whose request `number` it is.

    `n_characters`: how many of the request's characters are its, as far as they have come.
    `n_before`: those of its text that were put before them. `pause`: the silent samples before its
    first. `hears`: its words come while it is spoken, until it `is_closed`.
    """

    take: Take
    n_characters: int
    place: Place = Place()
    pause: int = 0
    n_before: int = 0
    hears: bool = False
    is_closed: bool = False
    number: int = -1
    n_samples: int = 0

    @property
    def is_over(self) -> bool:
        """Whether all of its segments have left."""
        return self.take.finish is not FinishReason.CANCELLED

    @property
    def after(self) -> Place:
        """Where the next utterance begins, once this one is over."""
        return Place(
            self.place.segment + len(self.take.segments),
            self.place.character + self.n_characters,
            self.place.sample + self.n_samples,
        )

    def add(self, delivered: Delivered) -> Iterator[AudioChunk | SegmentReport]:
        """What is heard with a delivery, and the segment that ends with it, both in their place.

        Raises: MenuraError: the utterance has failed.
        """
        chunk = self.take.add(delivered)
        if self.take.error is not None:
            raise self.take.error
        if chunk is None:
            return
        samples = chunk.samples
        if self.pause and not self.n_samples:
            samples = np.concatenate([np.zeros(self.pause, np.float32), samples])
        self.n_samples += len(samples)
        yield replace(chunk, samples=samples, segment=self.place.segment + chunk.segment)
        if chunk.is_final:
            yield self._placed(self.take.segments[-1])

    def _placed(self, report: SegmentReport) -> SegmentReport:
        """The report, counted over the request."""
        first, sample = self.place.character, self.place.sample + self.pause
        end = self.n_characters if self.hears else max(report.end - self.n_before, 0)
        return replace(
            report,
            start=first + max(report.start - self.n_before, 0),
            end=first + end,
            sample_start=sample + report.sample_start,
            sample_end=sample + report.sample_end,
        )
