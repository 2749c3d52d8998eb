"""`menura say --plan`: what would be spoken and how, with no model loaded and nothing written."""

from pathlib import Path

from menura import api
from menura.cli.audio_output import chosen_target
from menura.cli.quantities import duration
from menura.cli.reports import plan_as_json, preview, warn, warn_of
from menura.cli.request import check_reference, request_of
from menura.cli.say import SayFlags
from menura.cli.terminal import emit, emit_facts, emit_json, emit_table
from menura.cli.text_input import read_text
from menura.cli.voice_choice import with_model
from menura.engines.contract import Capability, EngineSpec, VoicePrompt
from menura.errors import InvalidValueError, UnsupportedError
from menura.planning import SpeechPlan, who_can
from menura.speech import Voice


def show(flags: SayFlags) -> None:
    """Nothing; the plan stands on stdout. Raises: what speaking would raise before it begins."""
    check_reference(flags)
    text = read_text(flags.text, flags.file)
    target = chosen_target(flags)
    flags = with_model(flags)
    spec = api.describe(flags.model)
    voice = None if flags.ref is None else _voice_to_come(spec, flags.ref)
    plan = api.preview(request_of(flags, text, voice), spec)
    if flags.json:
        emit_json(plan_as_json(plan, spec.sample_rate_hz))
        return
    if target.misnamed:
        warn(target.misnamed)
    warn_of(plan.applied)
    _show_summary(plan, spec, flags, target.name or "played")
    emit()
    emit_table(
        ("#", "characters", "expected", "pause", "text"),
        [
            (
                str(number),
                f"{segment.start}-{segment.end}",
                f"{segment.expected_s / plan.speed:.1f} s",
                f"{segment.pause_s / plan.speed:.2f} s",
                preview(segment.text),
            )
            for number, segment in enumerate(plan.segments, start=1)
        ],
        numbers={"#", "characters", "expected", "pause"},
    )


def _show_summary(plan: SpeechPlan, spec: EngineSpec, flags: SayFlags, output: str) -> None:
    values = plan.manner.options.filled().as_given()
    options = {name: value for name, value in values.items() if value is not None}
    n_segments = len(plan.segments)
    rows = {
        "model": spec.model,
        "voice": plan.manner.voice_label or "the model's own",
        "language": plan.manner.language or "by the text",
        "instruct": plan.manner.instruct or "",
        "speed": f"{plan.speed:g}" + (" (time-stretched)" if plan.stretch != 1 else ""),
        "seed": f"{plan.seed}{'' if flags.seed is not None else ' (drawn; --seed keeps it)'}",
        "options": ", ".join(f"{name}={as_typed(value)}" for name, value in options.items())
        + (" (the others as the model says)" if len(options) < len(values) else ""),
        "output": output,
        "expected": f"{duration(plan.expected_s)} in {n_segments} segment{'s'[: n_segments != 1]}",
        "licence": spec.output_licence,
    }
    emit_facts(rows.items())


def as_typed(value: object) -> str:
    """An option's value as it is given to `-p`."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _voice_to_come(spec: EngineSpec, clip: Path) -> Voice:
    """A voice that stands for the one that speaking would make of the clip.

    Raises: UnsupportedError: the model cannot clone; InvalidValueError: there is no such file.
    """
    if Capability.CLONE not in spec.capabilities:
        raise UnsupportedError(
            f"{spec.model!r} cannot speak like a recording." + who_can(Capability.CLONE),
            param="--ref",
            needs=Capability.CLONE,
        )
    if not clip.is_file():
        raise InvalidValueError(f"there is no recording {str(clip)!r}.", param="--ref")
    return Voice(clip.stem, VoicePrompt(spec.engine, spec.fingerprint, mode="auto", arrays={}))
