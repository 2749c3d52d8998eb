"""From what the user asked to what will be spoken: segments, voice, seeds, and what is really used.

A plan needs a model's spec but no loaded model, so a dry run shows exactly what a real run does.
"""

from dataclasses import dataclass, replace

from menura import catalogue
from menura.engines import registry
from menura.engines.contract import EngineSpec
from menura.errors import UnsupportedError
from menura.runtime.seeding import derive, fresh_seed
from menura.speech import Manner, SpeechRequest, Spoken, validate
from menura.text import plan as text_plan
from menura.text.scripts import unreadable
from menura.text.turns import longest_tag_bytes, with_turns

# The language that a model must speak to read a script; for the rest the script's name is shown.
_LANGUAGE_OF = {
    "han": "chinese",
    "kana": "japanese",
    "hangul": "korean",
    "cyrillic": "russian",
    "greek": "greek",
    "arabic": "arabic",
    "hebrew": "hebrew",
    "thai": "thai",
    "devanagari": "hindi",
}


@dataclass(frozen=True)
class SpeechPlan:
    """One request, ready to be spoken: its segments in order, and how they are spoken.

    `stretch` is the part of the speed that the model does not do itself. `segments` is empty where
    the words come later.
    """

    manner: Manner
    segments: tuple[text_plan.Segment, ...]
    seed: int
    speed: float
    stretch: float
    applied: dict[str, object]

    def seed_of(self, segment: int, attempt: int = 0) -> int:
        """The seed that a segment draws from, at its first attempt (0) or a later one."""
        return derive(self.seed, segment, attempt)

    @property
    def goes_on(self) -> bool:
        """Whether each segment is to go on from the one before it."""
        return _goes_on(self.manner)

    def manner_after(self, before: Spoken | None) -> Manner:
        """The manner of a segment that comes after what was spoken before."""
        return replace(self.manner, before=before) if self.goes_on else self.manner

    @property
    def expected_s(self) -> float:
        """The expected duration in seconds, pauses included."""
        speech = sum(segment.expected_s for segment in self.segments)
        return (speech + sum(segment.pause_s for segment in self.segments)) / self.speed


def plan(
    request: SpeechRequest, spec: EngineSpec, pauses: text_plan.Pauses, *, words: bool = False
) -> SpeechPlan:
    """The request's plan. With `words`, its text comes later, in pieces, as one segment.

    Raises: NothingToSpeakError; InvalidValueError; UnsupportedError, which names a model that can.
    """
    try:
        manner = validate(request, spec)
        segments = () if words else _segments(request, manner, spec, pauses)
    except UnsupportedError as error:
        raise UnsupportedError(
            error.message + who_can(error.needs), param=error.param, needs=error.needs
        ) from error
    seed = fresh_seed() if request.seed is None else int(request.seed)
    stretch = request.speed / manner.speed
    return SpeechPlan(
        manner=manner,
        segments=segments,
        seed=seed,
        speed=float(request.speed),
        stretch=stretch,
        applied=_applied(request, manner, spec, segments) | {"seed": seed, "stretched": stretch},
    )


def _segments(
    request: SpeechRequest, manner: Manner, spec: EngineSpec, pauses: text_plan.Pauses
) -> tuple[text_plan.Segment, ...]:
    longest_s = _longest_s(manner, spec)
    segments = text_plan.segments(
        request.text,
        language=manner.language or (spec.languages[0] if len(spec.languages) == 1 else None),
        max_s=longest_s,
        max_bytes=_longest_bytes(request.text, spec, longest_s),
        pauses=pauses,
        split=request.split,
    )
    check_letters(request.text, spec)
    return tuple(with_turns(segments, spec.turn_tag) if spec.turn_tag else segments)


def _goes_on(manner: Manner) -> bool:
    return bool(getattr(manner.options, "continue_segments", False))


def _longest_s(manner: Manner, spec: EngineSpec) -> float:
    """The most speech of one segment, in seconds."""
    if _goes_on(manner) and spec.max_continued_s is not None:
        return spec.max_continued_s
    return spec.max_segment_s


def _longest_bytes(text: str, spec: EngineSpec, longest_s: float) -> int | None:
    """The most bytes of a segment's text; fewer where options shorten the segments.

    A segment that goes on from another one is read with that one's words and a space before it, and
    one that begins inside a turn with its tag.
    """
    if spec.max_segment_bytes is None:
        return None
    longest = spec.max_segment_bytes
    if longest_s < spec.max_segment_s:
        longest = int(longest * longest_s / spec.max_segment_s) - 1
    return longest - (longest_tag_bytes(text, spec.turn_tag) if spec.turn_tag else 0)


def check_letters(text: str, spec: EngineSpec) -> None:
    """Nothing, or UnsupportedError where the text has letters that the model cannot read."""
    if spec.alphabet is None:
        return
    for script, letters in unreadable(text, spec.alphabet).items():
        shown = " ".join(letters[:8]) + (" ..." if len(letters) > 8 else "")
        raise UnsupportedError(
            f"{spec.model!r} reads {', '.join(spec.languages)} and cannot read these letters of "
            f"the text ({script}): {shown}.",
            param="text",
            needs=_LANGUAGE_OF.get(script, script),
        )


def who_can(needs: str) -> str:
    """` A model that can: ...` for an ability or a language; empty where none is known."""
    able = catalogue.models_that(needs) if needs else []
    here = [model.name for model in able if model.engine in registry.names()]
    if here or not able:
        return f" A model that can: {', '.join(here)}." if here else ""
    names = ", ".join(model.name for model in able)
    return f" Models that can, once this version has their engine: {names}."


def _applied(
    request: SpeechRequest,
    manner: Manner,
    spec: EngineSpec,
    segments: tuple[text_plan.Segment, ...],
) -> dict[str, object]:
    dropped: dict[str, int] = {}
    for segment in segments:
        for entry in segment.dropped:
            dropped[entry.character] = dropped.get(entry.character, 0) + entry.count
    applied: dict[str, object] = {
        "engine": spec.engine,
        "model": spec.model,
        "voice": manner.voice_label,
        "language": manner.language or "auto",
        "instruct": manner.instruct,
        "speed": float(request.speed),
        "split": request.split,
        "options": manner.options.filled().as_given(),
        "ignored": dict(manner.ignored),
        "dropped_characters": dropped,
    }
    cut = [index for index, segment in enumerate(segments) if segment.cut_inside_word]
    if cut:
        applied["cut_inside_word"] = cut
    if spec.output_licence:
        applied["output_licence"] = spec.output_licence
    return applied
