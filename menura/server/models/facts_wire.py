"""What a model is and can do, as it crosses the pipe: `ModelFacts` as JSON, both ways."""

from dataclasses import asdict

from menura.engines.contract import PresetVoice, ReferenceRules, TranscriptUse
from menura.server.models.frames import Frame, FrameError
from menura.server.models.model_facts import ModelFacts, OptionWords, Value


def to_json(facts: ModelFacts) -> dict[str, object]:
    """The facts as a JSON object: sets in alphabetical order, all else under its own name.

    An alphabet is one text of all its letters.
    """
    alphabet = None if facts.alphabet is None else "".join(sorted(facts.alphabet))
    lists = {"capabilities": sorted(facts.capabilities), "alphabet": alphabet}
    return {**asdict(facts), **lists}


def from_json(frame: Frame) -> ModelFacts:
    """The facts of a JSON object. Raises: FrameError."""
    return ModelFacts(
        engine=frame.text("engine"),
        model=frame.text("model"),
        variant=frame.text("variant"),
        sample_rate_hz=frame.whole("sample_rate_hz"),
        languages=frame.texts("languages"),
        voices=tuple(map(_voice, frame.all_inside("voices"))),
        default_voice=frame.text("default_voice") if frame.has("default_voice") else None,
        options=tuple(map(_option, frame.all_inside("options"))),
        capabilities=frozenset(frame.texts("capabilities")),
        speaks_without_voice=frame.flag("speaks_without_voice"),
        alphabet=frozenset(frame.text("alphabet")) if frame.has("alphabet") else None,
        native_speed=_pair(frame, "native_speed"),
        max_segment_s=frame.number("max_segment_s"),
        max_segment_bytes=(
            frame.whole("max_segment_bytes") if frame.has("max_segment_bytes") else None
        ),
        max_continued_s=frame.number("max_continued_s") if frame.has("max_continued_s") else None,
        turn_tag=frame.text("turn_tag"),
        max_rows=frame.whole("max_rows"),
        fingerprint=frame.text("fingerprint"),
        reference=_rules(frame.inside("reference")) if frame.has("reference") else None,
        licence=frame.text("licence"),
        output_licence=frame.text("output_licence"),
    )


def _voice(frame: Frame) -> PresetVoice:
    return PresetVoice(
        name=frame.text("name"),
        languages=frame.texts("languages"),
        description=frame.text("description"),
        missing=frame.text("missing"),
    )


def _option(frame: Frame) -> OptionWords:
    return OptionWords(
        name=frame.text("name"),
        kind=frame.text("kind"),
        default=_default(frame),
        optional=frame.flag("optional"),
        minimum=frame.number("minimum") if frame.has("minimum") else None,
        maximum=frame.number("maximum") if frame.has("maximum") else None,
        choices=frame.texts("choices"),
        pattern=frame.text("pattern"),
        unit=frame.text("unit"),
        help=frame.text("help"),
    )


def _default(frame: Frame) -> Value:
    default = frame.head.get("default")
    if isinstance(default, list):
        return tuple(Frame({"entry": entry}).whole("entry") for entry in default)
    if default is None or isinstance(default, bool | int | float | str):
        return default
    raise FrameError("'default' is no option's value")


def _rules(frame: Frame) -> ReferenceRules:
    transcript = frame.text("transcript")
    if transcript not in list(TranscriptUse):
        raise FrameError(f"{transcript!r} is no use of a transcript")
    return ReferenceRules(
        transcript=TranscriptUse(transcript),
        shortest_s=frame.number("shortest_s"),
        good_s=_pair(frame, "good_s"),
        best_s=_pair(frame, "best_s"),
        longest_s=frame.number("longest_s"),
        way_with=frame.text("way_with"),
        way_without=frame.text("way_without"),
    )


def _pair(frame: Frame, name: str) -> tuple[float, float]:
    pair = frame.listed(name)
    if len(pair) != 2:
        raise FrameError(f"{name!r} must have two numbers")
    first, second = (Frame({name: number}).number(name) for number in pair)
    return first, second
