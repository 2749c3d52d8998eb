"""`menura voices show`, and a voice's facts as other verbs tell them: in words and as JSON."""

from menura.cli.dry_run import as_typed
from menura.cli.quantities import duration
from menura.cli.terminal import accent, emit_facts, emit_json, note, visible
from menura.cli.voice_flags import OneVoice
from menura.voice_library.library import LibraryVoice, VoiceLibrary
from menura.voice_library.record import SourceKind, VoiceDefaults

_NOT_KNOWN = "not known; some models speak closer with it: --ref-text"


def show(flags: OneVoice) -> None:
    """Nothing; what is known of a voice stands on stdout. Raises: as `VoiceLibrary.find`."""
    voice = VoiceLibrary().find(flags.name)
    if flags.json:
        emit_json(as_json(voice))
        return
    record = voice.record
    text = record.clips[0].transcript or _NOT_KNOWN if record.clips else ""
    emit_facts(
        [
            ("voice", record.label),
            ("id", record.id),
            ("language", record.language or "not said"),
            ("made from", _origin(voice)),
            ("recording", recording(voice)),
            ("says", text),
            ("consent", _consent(voice)),
            ("filled in", filled_in(record.defaults)),
            ("notes", record.notes),
            ("preview", "yes" if record.preview else ""),
            ("made on", record.made_on),
            ("folder", str(voice.folder)),
        ]
    )


def as_json(voice: LibraryVoice) -> dict[str, object]:
    """What --json tells of a voice: the fields of the server's voice, and where it is."""
    record = voice.record
    consent = record.consent
    source = record.source
    defaults = record.defaults
    return {
        "id": record.id,
        "label": record.label,
        "language": record.language,
        "notes": record.notes,
        "made_on": record.made_on,
        "source": {
            "kind": str(source.kind),
            "model": source.model,
            "description": source.description,
            "preset": source.preset,
            "seed": source.seed,
        },
        "consent": consent and {"text": consent.text, "given_on": consent.given_on},
        "clips": [
            {
                "seconds": clip.seconds,
                "sample_rate_hz": clip.sample_rate_hz,
                "transcript": clip.transcript,
            }
            for clip in record.clips
        ],
        "defaults": {
            "model": defaults.model,
            "language": defaults.language,
            "instruct": defaults.instruct,
            "speed": defaults.speed,
            "options": dict(defaults.options),
        },
        "has_preview": record.preview is not None,
        "folder": str(voice.folder),
    }


def done(voice: LibraryVoice, *words: str) -> None:
    """Nothing; a line on stderr names the voice and says what became of it."""
    note(f"{accent(visible(voice.label), 'stderr')}  {visible(', '.join(filter(None, words)))}")


def recording(voice: LibraryVoice) -> str:
    """The voice's recording in a few words; empty where it has none."""
    clips = voice.record.clips
    if not clips:
        return ""
    first = clips[0]
    text = "with its text" if first.transcript else "its text is not known"
    return f"{duration(first.seconds)} at {first.sample_rate_hz} Hz, {text}"


def source_word(voice: LibraryVoice) -> str:
    """What the voice was made from, in a word or two."""
    source = voice.record.source
    if source.kind is SourceKind.PRESET:
        return f"{source.preset} of {source.model}"
    if source.kind is SourceKind.DESIGN:
        return "a description"
    return "a recording" if source.kind is SourceKind.RECORDING else "a file"


def filled_in(defaults: VoiceDefaults) -> str:
    """What the voice's defaults fill into a request, as flags of `menura say`; empty if nothing."""
    flags = [
        f"--{name} {value}"
        for name, value in (
            ("model", defaults.model),
            ("language", defaults.language),
            ("instruct", defaults.instruct),
            ("speed", None if defaults.speed == 1 else f"{defaults.speed:g}"),
        )
        if value is not None
    ]
    return " ".join(flags + [f"-p {name}={as_typed(v)}" for name, v in defaults.options.items()])


def _origin(voice: LibraryVoice) -> str:
    source = voice.record.source
    if source.kind is not SourceKind.DESIGN:
        return source_word(voice)
    seed = "" if source.seed is None else f", seed {source.seed}"
    by = f" ({source.model}{seed})" if source.model else ""
    return f"the description {source.description!r}{by}"


def _consent(voice: LibraryVoice) -> str:
    consent = voice.record.consent
    if consent is None:
        return "none" if voice.record.source.kind is SourceKind.RECORDING else ""
    recorded = ", recorded" if consent.recording else ""
    return f"{consent.text} ({consent.given_on}{recorded})"
