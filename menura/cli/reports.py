"""What `menura say` answers: one JSON object, or a line for people. A plan has the same shape.

`timings`, in seconds since the command began: `load_s` until the model is ready (or a server was
found that has it), `first_audio_s` until the first samples, `total_s` until all is written. `rtf`
is the time after loading for each second of audio, so 0.1 means ten times faster than it is heard.
"""

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from menura.cli.quantities import duration
from menura.cli.terminal import accent, dim, note, shortened, visible
from menura.planning import SpeechPlan
from menura.speech import FinishReason, SegmentReport

SPOKEN_BY = "this process"
_LISTED = 5
_REMARKS = {
    "without_effect": "without effect",
    "not_continued": "not gone on from the segment before",
    "rushed": "too much text for its window",
}


class Outcome(Protocol):
    """What is known of a speech when it has ended, whoever made it."""

    @property
    def applied(self) -> dict[str, object]:
        """What was really used."""
        ...

    @property
    def segments(self) -> tuple[SegmentReport, ...]:
        """Its segments."""
        ...

    @property
    def finish(self) -> FinishReason:
        """How it ended."""
        ...


@dataclass(frozen=True)
class Speaker:
    """Who spoke, and why it was no server where there is one."""

    name: str = SPOKEN_BY
    server_not_used: str = ""


@dataclass(frozen=True)
class Timings:
    """Seconds since the command began, and the time after loading for a second of audio."""

    load_s: float
    first_audio_s: float
    total_s: float
    rtf: float


@dataclass(frozen=True)
class Spoken:
    """One finished speech: where it is, how long it is, how it came about."""

    path: str | None
    seconds: float
    sample_rate_hz: int
    stream: Outcome
    timings: Timings
    speaker: Speaker = Speaker()

    def as_json(self) -> dict[str, object]:
        """The answer to --json."""
        return {
            "path": self.path,
            "seconds": round(self.seconds, 6),
            "sample_rate_hz": self.sample_rate_hz,
            "finish": str(self.stream.finish),
            "applied": self.stream.applied,
            "segments": [
                {
                    "text": segment.text,
                    "start": segment.start,
                    "end": segment.end,
                    "sample_start": segment.sample_start,
                    "sample_end": segment.sample_end,
                    "seed": segment.seed,
                    "finish": str(segment.finish),
                }
                | ({"reason": segment.reason} if segment.reason else {})
                | ({"trimmed_s": round(segment.trimmed_s, 3)} if segment.trimmed_s else {})
                for segment in self.stream.segments
            ],
            "timings": {name: round(value, 4) for name, value in vars(self.timings).items()},
            "spoken_by": self.speaker.name,
        } | self._why_no_server()

    def _why_no_server(self) -> dict[str, object]:
        reason = self.speaker.server_not_used
        return {"server_not_used": visible(reason)} if reason else {}

    def line(self) -> str:
        """The closing line for people."""
        applied, timings = self.stream.applied, self.timings
        made_s = timings.total_s - timings.load_s
        where = {None: "played", "-": "stdout"}.get(self.path) or visible(str(self.path))
        speed = f", {1 / timings.rtf:.1f} x real time" if timings.rtf > 0 else ""
        facts = [f"voice {applied['voice']}"] if applied.get("voice") else []
        facts += [str(applied.get("model")), f"seed {applied.get('seed')}"]
        if licence := applied.get("output_licence"):
            facts.append(f"licence {licence}")
        told = f"{duration(self.seconds)} of audio, made in {duration(made_s)}{speed}"
        return f"{accent(where, 'stderr')}  {told}  {dim(visible(' · '.join(facts)), 'stderr')}"


def plan_as_json(plan: SpeechPlan, sample_rate_hz: int) -> dict[str, object]:
    """The same object before anything is spoken: no path and timings, durations are estimates."""
    return {
        "seconds": None,
        "expected_s": round(plan.expected_s, 3),
        "sample_rate_hz": sample_rate_hz,
        "finish": None,
        "applied": plan.applied,
        "segments": [
            {
                "text": segment.text,
                "start": segment.start,
                "end": segment.end,
                "expected_s": round(segment.expected_s / plan.speed, 3),
                "pause_s": segment.pause_s / plan.speed,
                "boundary": str(segment.boundary),
                "seed": plan.seed_of(index),
            }
            for index, segment in enumerate(plan.segments)
        ],
    }


def warn_of(applied: Mapping[str, object], told: Collection[str] = ()) -> list[str]:
    """The lines that say what was asked for and not done; those not told yet stand on stderr."""
    lines = warnings_of(applied)
    for line in lines:
        if line not in told:
            warn(line)
    return lines


def warn(line: str) -> None:
    """Nothing; the line stands on stderr as a note."""
    note(f"{accent('note:', 'stderr')} {visible(line)}")


@contextmanager
def doubts_told() -> Iterator[None]:
    """A block in which a voice is made; what is doubtful about its recording is told as notes."""
    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("always", UserWarning)
        yield
    for doubt in doubts:
        warn(str(doubt.message))


def warnings_of(applied: Mapping[str, object]) -> list[str]:
    """What was asked for and is not done, or done otherwise, in words."""
    ignored, dropped = applied.get("ignored"), applied.get("dropped_characters")
    lines: list[str] = []
    if isinstance(ignored, Mapping):
        lines += [f"ignored {name}: {why}" for name, why in ignored.items()]
    if isinstance(dropped, Mapping) and dropped:
        named = [f"{name} ({count}x)" for name, count in dropped.items()]
        lines.append(f"left out of the text, as nothing to be spoken: {', '.join(named)}")
    accents = applied.get("read_without_accent")
    if isinstance(accents, list) and accents:
        lines.append(f"read without their accents: {' '.join(map(str, accents))}")
    unheeded = applied.get("settings_not_heeded")
    if isinstance(unheeded, Mapping):
        lines += [f"the setting {name} is not heeded: {why}" for name, why in unheeded.items()]
    defaults = applied.get("voice_defaults")
    left_out = defaults.get("left_out") if isinstance(defaults, Mapping) else None
    if isinstance(left_out, Mapping):
        lines += [f"the voice's own {name} is not used: {why}" for name, why in left_out.items()]
    for name, words in _REMARKS.items():
        found = applied.get(name)
        if isinstance(found, list):
            lines += [f"{words}: {entry}" for entry in found]
    cut = applied.get("cut_inside_word")
    if isinstance(cut, list) and cut:
        lines.append(f"a run without spaces was too long and was cut, in {_segments(cut)}")
    return lines


def limits_of(segments: Sequence[SegmentReport]) -> list[str]:
    """A line if any segment ended at a limit and not by itself, with what may help."""
    ended = [i for i, segment in enumerate(segments) if segment.finish is FinishReason.LENGTH]
    if not ended:
        return []
    reasons = dict.fromkeys(segments[i].reason for i in ended if segments[i].reason)
    why = f" ({'; '.join(reasons)})" if reasons else ""
    return [f"{_segments(ended)} ended at a limit{why}; another --seed may end by itself"]


def _segments(numbers: Sequence[int]) -> str:
    """The segments, given from 0, in words that count from 1; many are counted, not listed."""
    numbers = [number + 1 for number in numbers]
    if len(numbers) == 1:
        return f"segment {numbers[0]}"
    if len(numbers) <= _LISTED:
        return f"segments {', '.join(map(str, numbers))}"
    first, last = min(numbers), max(numbers)
    all_between = last - first + 1 == len(numbers)
    place = f"{first} to {last}" if all_between else f"between {first} and {last}"
    return f"{len(numbers)} segments ({place})"


def preview(text: str) -> str:
    """The beginning of a segment's text, for a table."""
    return shortened(text, 60)
