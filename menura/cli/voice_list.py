"""The work of `menura voices`: a model's preset voices, as a table or as one JSON object."""

from menura import api, settings
from menura.cli.terminal import emit, emit_json, emit_table
from menura.cli.voices import VoicesFlags
from menura.engines.contract import EngineSpec, PresetVoice
from menura.errors import SettingsError, did_you_mean


def show(flags: VoicesFlags) -> None:
    """Nothing; the voices stand on stdout.

    Raises: SettingsError: the settings' default voice is none of them; as `api.describe`.
    """
    spec = api.describe(flags.model)
    default = _default_voice(spec)
    if flags.json:
        voices = [
            {
                "name": voice.name,
                "languages": list(voice.languages),
                "description": voice.description,
                "here": not voice.missing,
                "is_default": voice.name == default,
                "missing": voice.missing,
            }
            for voice in spec.voices
        ]
        capabilities = sorted(spec.capabilities)
        emit_json({"model": spec.model, "capabilities": capabilities, "voices": voices})
        return
    emit_table(
        ("voice", "languages", "description", "on this machine"),
        [
            (voice.name, ", ".join(voice.languages), voice.description, _here(voice, default))
            for voice in spec.voices
        ],
    )
    if not spec.voices:
        emit(f"{spec.model} has no preset voices: {spec.voice_choices()}.")


def _here(voice: PresetVoice, default: str | None) -> str:
    if voice.name != default:
        return voice.missing or "yes"
    return f"the default; {voice.missing}" if voice.missing else "yes, the default"


def _default_voice(spec: EngineSpec) -> str | None:
    """The voice that speaks when none is named: the settings' one where it is for this model."""
    chosen = settings.load()
    wanted = chosen.default_voice
    if not wanted or spec.model != chosen.default_model:
        return spec.default_voice
    names = {voice.name.casefold(): voice.name for voice in spec.voices}
    if wanted.casefold() not in names:
        source = chosen.sources["default_voice"]
        raise SettingsError(
            f"{source}: the voice {wanted!r} is not one of this model's: {spec.voice_choices()}."
            + did_you_mean(wanted, names.values()),
            param="default_voice",
        )
    return names[wanted.casefold()]
