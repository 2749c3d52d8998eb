"""From the loop's deliveries to audio: pace, pauses, places, and the finished speech."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import cast

import numpy as np

from menura.audio.stretch import Stretch
from menura.engines.contract import EngineSpec, Prompt, RowStep
from menura.errors import MenuraError
from menura.planning import SpeechPlan
from menura.runtime.scheduler import Delivered
from menura.speech import (
    AudioChunk,
    FinishReason,
    FloatArray,
    Frames,
    SegmentReport,
    Speech,
    Spoken,
)
from menura.text.cleaning import label
from menura.text.duration import expected_seconds
from menura.text.unwanted import REMOVED

_NO_SAMPLES = np.zeros(0, np.float32)


class Take:
    """One request's audio while it is made. Streamed and whole speech both come from here.

    With `keep`, the audio is kept for `speech()`; without, only its places are noted.
    """

    def __init__(self, plan: SpeechPlan, spec: EngineSpec, *, keep: bool) -> None:
        self.applied = dict(plan.applied)
        self.error: MenuraError | None = None
        self.segments: list[SegmentReport] = []
        self._plan = plan
        self._expected_s = plan.expected_s
        # What each segment's speech should take, before it: [n + 1], so that no move adds them up.
        self._before_s = list(accumulate((s.expected_s for s in plan.segments), initial=0.0))
        self._rate_hz = spec.sample_rate_hz
        self._keep = keep
        self._kept: list[FloatArray] = []
        self._frames: list[Frames] = []
        self._segment_frames: list[Frames] = []
        self._done: dict[int, float] = {}
        self._sampled_s, self._speech_s = 0.0, 0.0  # in the windows that are known
        self.before: Spoken | None = None
        self._stretch: Stretch | None = None
        self._words: list[str] = []
        self._n_samples = 0
        self._segment_start = 0

    @property
    def finish(self) -> FinishReason:
        """How it ended: the worst of its segments, or `cancelled` while some are missing."""
        if self.error is not None:
            return FinishReason.ERROR
        if len(self.segments) < max(len(self._plan.segments), 1):
            return FinishReason.CANCELLED
        reasons = {report.finish for report in self.segments}
        return FinishReason.LENGTH if FinishReason.LENGTH in reasons else FinishReason.STOP

    @property
    def sampled_s(self) -> float:
        """About how much audio the model makes, in seconds; 0 where the words come later.

        Segments whose window is not known yet are taken to be like those where it is.
        """
        is_known = self._sampled_s and self._speech_s
        share = self._sampled_s / self._speech_s if is_known else 1.0
        return self._expected_s * share

    @property
    def done(self) -> float:
        """The share of the work that is done, as far as the model tells it: from 0 to 1."""
        n_ended, total_s = len(self.segments), self._before_s[-1]
        if not total_s:
            return float(n_ended > 0)
        under_way_s = sum(
            share * self._plan.segments[segment].expected_s for segment, share in self._done.items()
        )
        return (self._before_s[n_ended] + under_way_s) / total_s

    def hear(self, words: Iterable[str]) -> Iterator[str]:
        """The words as they come, without what is no text; noted for the segment's report."""
        return map(self.hear_piece, words)

    def hear_piece(self, piece: str) -> str:
        """The piece without what is no text, noted."""
        kept = REMOVED.sub("", piece)
        self.note({"dropped_characters": Counter(map(label, REMOVED.findall(piece)))})
        self._words.append(kept)
        return kept

    def prepare(self, prompt: Prompt) -> None:
        """Note what a prompt says of itself, and how much audio is made for it."""
        self.note(prompt.applied)
        if prompt.sampled_s is not None:
            self._sampled_s += prompt.sampled_s
            self._speech_s += expected_seconds(prompt.text or "")

    def note(self, applied: Mapping[str, object]) -> None:
        """What a prompt says of itself: lists are joined over the segments, counts are added."""
        for name, value in applied.items():
            before = self.applied.get(name)
            if isinstance(before, list) and isinstance(value, list):
                self.applied[name] = before + [entry for entry in value if entry not in before]
            elif isinstance(before, dict) and isinstance(value, Counter):
                self.applied[name] = dict(Counter(before) + value)
            else:
                self.applied[name] = value

    def add(self, delivered: Delivered) -> AudioChunk | None:
        """The chunk that a delivery makes, or None where nothing is to be heard yet."""
        step = delivered.step
        if step.finish is not None and delivered.given_up:
            again = {"segment": delivered.segment, "reasons": list(delivered.given_up)}
            self.note({"retries": [again]})
        if step.finish is FinishReason.ERROR:
            self.error = step.error or MenuraError("the model gave an error without a reason.")
            return None
        if step.done is not None:
            self._done[delivered.segment] = step.done
        if step.is_news:
            return None
        if step.frames is not None:
            self._segment_frames.append(step.frames)
        samples = self._paced(step)
        ends = step.finish is not None
        if ends:
            samples = self._end_segment(delivered, samples)
        if len(samples) == 0 and not ends:
            return None
        self._n_samples += len(samples)
        if self._keep:
            self._kept.append(samples)
        if ends:
            self._segment_start = self._n_samples
        return AudioChunk(samples, self._rate_hz, delivered.segment, is_final=ends)

    def speech(self, writer: Callable[[Speech, Path], None]) -> Speech:
        """The finished speech. Its audio is there only with `keep`."""
        return Speech(
            samples=np.concatenate(self._kept) if self._kept else _NO_SAMPLES,
            sample_rate_hz=self._rate_hz,
            frames=cast("Frames", np.concatenate(self._frames)) if self._frames else None,
            segments=tuple(self.segments),
            finish=self.finish,
            applied=self.applied,
            error=self.error,
            writer=writer,
        )

    def _end_frames(self, text: str) -> None:
        """Put the segment's frames where they belong, and remember it for the segment after it."""
        if self._segment_frames:
            self.before = Spoken(text, cast("Frames", np.concatenate(self._segment_frames)))
            if self._keep:
                self._frames.append(self.before.frames)
            self._segment_frames = []

    def _paced(self, step: RowStep) -> FloatArray:
        """The step's samples at the asked pace; the stretcher starts afresh for each segment."""
        samples = _NO_SAMPLES if step.samples is None else step.samples
        if self._plan.stretch == 1.0:
            return samples
        if self._stretch is None:
            self._stretch = Stretch(self._plan.stretch, self._rate_hz)
        samples = self._stretch.write(samples)
        if step.finish is not None:
            samples = np.concatenate([samples, self._stretch.close()])
            self._stretch = None
        return samples

    def _end_segment(self, delivered: Delivered, samples: FloatArray) -> FloatArray:
        """The segment's last samples with the pause after it; its place is noted."""
        index, step = delivered.segment, delivered.step
        assert step.finish is not None
        planned = self._plan.segments[index] if self._plan.segments else None
        words = "".join(self._words)
        self.segments.append(
            SegmentReport(
                text=planned.text if planned else words,
                start=planned.start if planned else 0,
                end=planned.end if planned else len(words),
                sample_start=self._segment_start,
                sample_end=self._n_samples + len(samples),
                seed=self._plan.seed_of(index, len(delivered.given_up)),
                finish=step.finish,
                reason=step.reason,
                trimmed_s=step.trimmed_s,
            )
        )
        self._done.pop(index, None)  # it counts whole now
        self._end_frames(self.segments[-1].text)
        pause_s = planned.pause_s / self._plan.speed if planned else 0.0
        pause = np.zeros(round(pause_s * self._rate_hz), np.float32)
        return np.concatenate([samples, pause]) if len(pause) else samples
