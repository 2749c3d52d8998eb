"""`menura voices list`: the user's voices and a model's own, as tables or as one JSON object.

Without --model nothing is asked of models with large engines, so that the list comes at once.
"""

from menura import api, settings
from menura.cli.reports import warn
from menura.cli.terminal import dim, emit, emit_json, emit_table
from menura.cli.voice_facts import as_json, source_word
from menura.cli.voice_fit import fit_as_json, in_short
from menura.cli.voice_flags import ListFlags
from menura.engines.contract import EngineSpec, PresetVoice
from menura.errors import MenuraError, SettingsError, did_you_mean
from menura.voice_library.fit import fit
from menura.voice_library.library import BrokenVoice, LibraryVoice, VoiceLibrary


def show(flags: ListFlags) -> None:
    """Nothing; the voices stand on stdout.

    Raises: SettingsError: the settings' default voice is none of them; as `api.describe`.
    """
    library = VoiceLibrary()
    kept, broken = library.voices(), library.broken()
    spec = _spec(flags.model, is_needed=not kept)
    asked_of = None if flags.model is None else spec
    if flags.json:
        emit_json(_answer(asked_of, spec, kept, broken))
        return
    if kept:
        _show_kept(kept, asked_of)
        emit()
    if spec is not None:
        _show_presets(spec)
    if broken:
        emit()
        emit_table(("set aside", "why"), [(each.name, each.reason) for each in broken])
    if not kept and flags.model is None:
        emit()
        emit(dim("Make a voice of your own: menura voices add NAME RECORDING", "stdout"))


def _spec(model: str | None, *, is_needed: bool) -> EngineSpec | None:
    """What the model is; None where nobody asked for it, it is not to be had, and others are."""
    try:
        return api.describe(model)
    except MenuraError as error:
        if is_needed or model is not None:
            raise
        warn(error.message)
        return None


def _answer(
    asked_of: EngineSpec | None,
    spec: EngineSpec | None,
    kept: tuple[LibraryVoice, ...],
    broken: tuple[BrokenVoice, ...],
) -> dict[str, object]:
    default = None if spec is None else _default_voice(spec)
    return {
        "model": None if spec is None else spec.model,
        "capabilities": [] if spec is None else sorted(spec.capabilities),
        "voices": [
            {
                "name": voice.name,
                "languages": list(voice.languages),
                "description": voice.description,
                "here": not voice.missing,
                "is_default": voice.name == default,
                "missing": voice.missing,
            }
            for voice in (() if spec is None else spec.voices)
        ],
        "library": [
            as_json(voice)
            | ({} if asked_of is None else {"fit": fit_as_json(fit(voice, asked_of))})
            for voice in kept
        ],
        "broken": [{"name": each.name, "reason": each.reason} for each in broken],
    }


def _show_kept(kept: tuple[LibraryVoice, ...], spec: EngineSpec | None) -> None:
    header = ["your voice", "language", "made from", "recording"]
    if spec is not None:
        header.append(f"with {spec.model}")
    rows = [
        (
            voice.label,
            voice.record.language or "-",
            source_word(voice),
            _clip(voice),
            *([] if spec is None else [in_short(fit(voice, spec))]),
        )
        for voice in kept
    ]
    emit_table(header, rows)


def _clip(voice: LibraryVoice) -> str:
    if not voice.record.clips:
        return "-"
    first = voice.record.clips[0]
    return f"{first.seconds:.1f} s, {'with' if first.transcript else 'without'} text"


def _show_presets(spec: EngineSpec) -> None:
    default = _default_voice(spec)
    if not spec.voices:
        emit(f"{spec.model} has no preset voices: {spec.voice_choices()}.")
        return
    emit_table(
        ("voice", "languages", "description", "on this machine"),
        [
            (voice.name, ", ".join(voice.languages), voice.description, _here(voice, default))
            for voice in spec.voices
        ],
    )


def _here(voice: PresetVoice, default: str | None) -> str:
    if voice.name != default:
        return voice.missing or "yes"
    return f"the default; {voice.missing}" if voice.missing else "yes, the default"


def _default_voice(spec: EngineSpec) -> str | None:
    """The model's voice that speaks when none is named: that of the settings, where it is one."""
    chosen = settings.load()
    wanted = chosen.default_voice
    if not wanted or spec.model != chosen.default_model:
        return spec.default_voice
    names = {voice.name.casefold(): voice.name for voice in spec.voices}
    if wanted.casefold() not in names and VoiceLibrary().has(wanted):
        return None  # it is one of the user's own
    if wanted.casefold() not in names:
        source = chosen.sources["default_voice"]
        raise SettingsError(
            f"{source}: the voice {wanted!r} is not one of this model's: {spec.voice_choices()}."
            + did_you_mean(wanted, names.values()),
            param="default_voice",
        )
    return names[wanted.casefold()]
